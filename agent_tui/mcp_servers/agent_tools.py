"""Tools of servers as the loop knows tools: AgentTool, with a result for everything that can
happen, and progress as updates."""

from collections.abc import Callable
from typing import Any

from agent_tui.agent.tools import AgentTool, Execute, ToolContext, ToolResult
from agent_tui.mcp_servers.calls import call, error_text
from agent_tui.mcp_servers.connection import ServerConnection
from agent_tui.mcp_servers.lenient import raw_of
from agent_tui.mcp_servers.listing import ListedTool
from agent_tui.mcp_servers.results import Mapper
from agent_tui.mcp_servers.types import Exposure

Find = Callable[[str, str], "tuple[ServerConnection, ListedTool] | str"]
"""(server, tool) → where it is now, or a sentence that says why it is not there."""


def make_tool(
    tool: ListedTool, *, server: str, alias: str, exposure: Exposure | None, find: Find,
    mapper: Mapper,
) -> AgentTool:  # fmt: skip
    """The tool under its alias. Its execute looks the server up at each call, so it outlives a
    connection and says so when the server is gone."""
    description = tool.description or tool.title or f"The tool {tool.name} of {server}."
    return AgentTool(
        name=alias,
        description=description,
        parameters=tool.repaired.schema,
        execute=_execute(server, tool.name, alias, find, mapper),
        prepare_arguments=tool.repaired.accept if tool.repaired.changes_arguments else None,
        wire={"defer_loading": True} if exposure == "deferred" else {},
    )


def _execute(server: str, name: str, alias: str, find: Find, mapper: Mapper) -> Execute:
    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        found = find(server, name)
        if isinstance(found, str):
            return ToolResult.text(found, is_error=True)
        connection, tool = found
        restored = tool.repaired.restore(arguments)
        if not isinstance(restored, dict):
            return ToolResult.text("The arguments must be an object.", is_error=True)

        async def progress(done: float, total: float | None, message: str | None) -> None:
            partial: dict[str, Any] = {"progress": done}
            if total is not None:
                partial["total"] = total
            if message:
                partial["message"] = mapper.secrets.mask_result(message)
            ctx.update(partial)

        try:
            result = await call(connection, name, restored, progress)
        except Exception as error:
            text = mapper.secrets.mask(error_text(error, server))
            return ToolResult.text(text, is_error=True, details={"server": server, "tool": name})
        return await mapper.tool_result(
            raw_of(result), failed=result.is_error, server=server, tool=name, name=alias
        )

    return execute
