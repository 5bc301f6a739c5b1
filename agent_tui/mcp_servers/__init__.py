"""MCP servers: one task each, legal tool names and schemas, results mapped.
Comes with a later issue.
"""
