"""A history in which searches found tools, after some of these tools are gone."""

import json
from typing import Any

from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import AssistantMessage, OpaqueContent, TextContent, UserMessage
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.messages_api.request import build_request
from agent_tui.messages_api.server_tools import TOOL_SEARCH_TOOL, server_tool
from agent_tui.offline.rules import validate_request

SEARCH: dict[str, Any] = {
    "type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25",
    "input": {"query": "zoo"},
}  # fmt: skip
FOUND: dict[str, Any] = {
    "type": "tool_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "tool_search_tool_search_result",
        "tool_references": [
            {"type": "tool_reference", "tool_name": "zoo__feed"},
            {"type": "tool_reference", "tool_name": "farm__feed"},
        ],
    },
}
HISTORY = convert_to_llm([
    UserMessage(content="Find it."),  # type: ignore[arg-type]
    AssistantMessage(
        content=[OpaqueContent(raw=SEARCH), OpaqueContent(raw=FOUND), TextContent(text="Found.")]
    ),
    UserMessage(content="Go on."),  # type: ignore[arg-type]
])  # fmt: skip


async def _nothing(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
    raise AssertionError("never run here")


def tool(name: str, *, deferred: bool = True) -> AgentTool:
    wire = {"defer_loading": True} if deferred else {}
    return AgentTool(name, "", {"type": "object"}, _nothing, wire=wire)


def body(*tools: AgentTool) -> dict[str, Any]:
    context = LLMContext("Be brief.", HISTORY, [server_tool(TOOL_SEARCH_TOOL), *tools])
    return build_request("demo", context, StreamOptions())


def references(request: dict[str, Any]) -> list[str]:
    return [
        reference["tool_name"]
        for message in request["messages"]
        for block in message["content"]
        if block["type"] == "tool_search_tool_result"
        for reference in block["content"]["tool_references"]
    ]


def test_what_is_there_is_sent_back_as_it_came() -> None:
    request = body(tool("zoo__feed"), tool("farm__feed"))
    assert references(request) == ["zoo__feed", "farm__feed"]
    assert validate_request(request) == []


def test_a_tool_that_is_gone_is_found_no_more() -> None:
    before = json.dumps(FOUND)
    request = body(tool("farm__feed", deferred=False))
    assert references(request) == ["farm__feed"]
    assert validate_request(request) == []
    assert references(body()) == []
    assert json.dumps(FOUND) == before, "the record is never changed"


def test_no_cache_mark_stands_on_a_deferred_tool() -> None:
    request = body(tool("a"), tool("zoo__z"), tool("m", deferred=False))
    marked = [t["name"] for t in request["tools"] if "cache_control" in t]
    assert len(marked) == 1
    assert not next(t for t in request["tools"] if t["name"] == marked[0]).get("defer_loading")
    assert validate_request(body(tool("zoo__feed"), tool("farm__feed"))) == []
