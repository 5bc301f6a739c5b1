"""ServerConfig: how one MCP server is reached and what of it may be used, as written."""

from dataclasses import dataclass, field
from typing import Any, Literal

from agent_tui.mcp_servers.types import Approval, Exposure


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server. Values are as written: ${VAR} is not expanded here (see variables.py).

    extra: fields this version does not know; kept and written back.
    """

    name: str
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    enabled: bool = True
    connect_timeout_s: float = 30.0
    list_timeout_s: float = 30.0
    call_timeout_s: float = 300.0
    enabled_tools: tuple[str, ...] | None = None
    disabled_tools: tuple[str, ...] = ()
    approval: dict[str, Approval] = field(default_factory=dict[str, Approval])
    exposure: dict[str, Exposure] = field(default_factory=dict[str, Exposure])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
