"""The built-in tools: read, write, edit, list, glob, grep, shell; and who may run what.
Each is an agent.tools.AgentTool made by a factory that knows the working folder.
"""
