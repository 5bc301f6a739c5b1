"""MCP servers in a conversation: the manager's events, tools, questions and texts carried between
mcp_servers/ and the rest of the conversation. Nothing here speaks the protocol.
"""
