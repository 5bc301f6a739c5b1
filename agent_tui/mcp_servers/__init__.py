"""MCP servers: one task each, legal tool names and schemas, results mapped.
Other rooms hold a McpManager and the plain data of types.py. The SDK is imported inside functions
only (it costs a second).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_tui.mcp_servers.asks import form_problem
    from agent_tui.mcp_servers.config import (
        ConfigError,
        ServerConfig,
        parse_server,
        server_from_command,
        server_from_json,
        server_from_url,
    )
    from agent_tui.mcp_servers.manager import McpManager
    from agent_tui.mcp_servers.names import server_prefix
    from agent_tui.mcp_servers.snapshots import config_lines
    from agent_tui.mcp_servers.types import McpError

_HOMES = {
    "McpManager": "manager",
    "McpError": "types",
    "ConfigError": "config",
    "ServerConfig": "config",
    "parse_server": "config",
    "server_from_command": "config",
    "server_from_json": "config",
    "server_from_url": "config",
    "config_lines": "snapshots",
    "form_problem": "asks",
    "server_prefix": "names",
}

__all__ = [
    "ConfigError",
    "McpError",
    "McpManager",
    "ServerConfig",
    "config_lines",
    "form_problem",
    "parse_server",
    "server_from_command",
    "server_from_json",
    "server_from_url",
    "server_prefix",
]


def __getattr__(name: str) -> Any:
    # On first use: `agent-tui --help` must not pay for a room it does not enter.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
