"""MCP servers: one task each, legal tool names and schemas, results mapped.
The SDK is imported inside functions only.
"""
