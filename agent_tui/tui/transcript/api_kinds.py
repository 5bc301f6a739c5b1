"""Which class shows which block of the API."""

from collections.abc import Mapping
from typing import Any

from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.connector_blocks import (
    AdvisorBlock,
    McpCallBlock,
    McpListingBlock,
    ToolSearchBlock,
)
from agent_tui.tui.transcript.container_blocks import (
    ContainerEditorBlock,
    ContainerShellBlock,
    UploadBlock,
)
from agent_tui.tui.transcript.marks import CompactionBlock, FallbackBlock
from agent_tui.tui.transcript.program_block import ProgramBlock
from agent_tui.tui.transcript.web_blocks import WebFetchBlock, WebSearchBlock

_SERVER_TOOLS: dict[str, type[ApiBlock]] = {
    "web_search": WebSearchBlock,
    "web_fetch": WebFetchBlock,
    "code_execution": ProgramBlock,
    "bash_code_execution": ContainerShellBlock,
    "text_editor_code_execution": ContainerEditorBlock,
    "tool_search_tool": ToolSearchBlock,
    "tool_search_tool_regex": ToolSearchBlock,
    "tool_search_tool_bm25": ToolSearchBlock,
    "advisor": AdvisorBlock,
}
"""By the name of the tool, and for a result that answers no call by its type: the name and
`_tool_result` (of tool_search_tool the type is `tool_search_tool_result`)."""

_OTHERS: dict[str, type[ApiBlock]] = {
    "mcp_tool_use": McpCallBlock,
    "mcp_tool_result": McpCallBlock,
    "mcp_tool_listing": McpListingBlock,
    "container_upload": UploadBlock,
    "compaction": CompactionBlock,
    "fallback": FallbackBlock,
    "tool_search_tool_result": ToolSearchBlock,
}


def make_block(raw: Mapping[str, Any]) -> ApiBlock:
    """The block that shows this content block, by its type and name."""
    kind = str(raw.get("type", ""))
    if kind == "server_tool_use":
        made = _SERVER_TOOLS.get(str(raw.get("name", "")), ApiBlock)
    elif kind in _OTHERS:
        made = _OTHERS[kind]
    elif kind.endswith("_tool_result"):
        made = _SERVER_TOOLS.get(kind.removesuffix("_tool_result"), ApiBlock)
    else:
        made = ApiBlock
    return made(raw)
