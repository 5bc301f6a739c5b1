"""The API's own tools that can be switched on, and who may call a tool on the wire.

Types are the newest of the installed SDK's list (anthropic.types.beta, checked by a test),
but for code execution: facts, "Programmatic tool calling".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult

CODE_EXECUTION: Final = "code_execution"
CODE_EXECUTION_TYPE: Final = "code_execution_20260120"
"""The tool's type, and in `allowed_callers` the name of a program that runs in it."""

TOOL_SEARCH: Final = "tool_search_tool_bm25"
TOOL_SEARCH_TYPE: Final = "tool_search_tool_bm25_20251119"
"""Finds, by words, the tools that a request offers with `defer_loading`."""

MEMORY_TYPE: Final = "memory_20250818"
TOOLSET_TYPE: Final = "mcp_toolset"
"""A server of the connector (mcp_servers on the request); its tools have no names here."""

DIRECT: Final = "direct"


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that the service itself runs. about: for people, one line."""

    name: str
    type: str
    about: str


SERVER_TOOLS: Final = (
    ServerTool(CODE_EXECUTION, CODE_EXECUTION_TYPE, "run Python in a container of the service"),
    ServerTool("web_search", "web_search_20260318", "search the web, with citations"),
    ServerTool("web_fetch", "web_fetch_20260318", "read a page or PDF whose address was named"),
)


TOOL_SEARCH_TOOL: Final = ServerTool(
    TOOL_SEARCH, TOOL_SEARCH_TYPE, "find tools that are not loaded yet"
)
"""Offered by itself where tools are deferred."""


def server_tool(kind: ServerTool) -> AgentTool:
    """The tool as a request offers it. The service runs its calls, so execute() only says so."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult.text(f"{kind.name} is run by the service, not here.", is_error=True)

    return AgentTool(kind.name, kind.about, {"type": "object"}, execute, wire={"type": kind.type})


def is_server_run(tool: AgentTool) -> bool:
    """Whether the service runs the tool's calls."""
    kind = tool.wire.get("type")
    known = (TOOLSET_TYPE, TOOL_SEARCH_TYPE, *(tool.type for tool in SERVER_TOOLS))
    return kind in known


def is_deferred(tool: AgentTool) -> bool:
    """Whether the model sees the tool only once a search has found it."""
    return bool(tool.wire.get("defer_loading"))


def for_programs(tool: AgentTool) -> bool:
    """Whether a program in a container may call the tool, as the request will say."""
    callers = tool.wire.get("allowed_callers") or ()
    return any(str(caller).startswith("code_execution_") for caller in callers)


# --- the connector --------------------------------------------------------------------

CONNECTOR_BETA: Final = "mcp-client-2025-11-20"
"""Without this beta the API knows neither mcp_servers nor the toolset's type."""


@dataclass(slots=True)
class ConnectorTool(AgentTool):
    """An MCP server that the service connects to. server: its entry in mcp_servers."""

    server: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


def connector_tool(name: str, url: str, token: str | None = None) -> ConnectorTool:
    """All tools of the server, as a request offers them. token: sent as its authorization."""
    entry: dict[str, Any] = {"type": "url", "name": name, "url": url}
    if token is not None:
        entry["authorization_token"] = token
    tool = server_tool(ServerTool(name, TOOLSET_TYPE, "tools of a server, called by the service"))
    return ConnectorTool(
        name, tool.description, tool.parameters, tool.execute,
        wire={"type": TOOLSET_TYPE, "mcp_server_name": name}, server=entry,
    )  # fmt: skip


def connector_servers(tools: Sequence[AgentTool]) -> list[dict[str, Any]]:
    """The mcp_servers of a request that offers these tools."""
    return [tool.server for tool in tools if isinstance(tool, ConnectorTool)]


def needed_betas(tools: Sequence[AgentTool]) -> list[str]:
    """The betas without which a request may not offer these tools."""
    return [CONNECTOR_BETA] if connector_servers(tools) else []
