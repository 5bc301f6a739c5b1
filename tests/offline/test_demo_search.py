"""The demo finds a deferred tool before it calls it, once."""

from typing import Any

from agent_tui.offline.demo.guide import demo_reply
from agent_tui.offline.demo.search import search_blocks
from agent_tui.offline.rules import validate_request

FINDER = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
TOOL: dict[str, Any] = {"name": "zoo__feed", "input_schema": {"type": "object"}}
DEFERRED = TOOL | {"defer_loading": True}


def body(*tools: dict[str, Any], messages: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    said = messages or [{"role": "user", "content": "call zoo__feed"}]
    return {"model": "demo", "max_tokens": 4000, "messages": said, "tools": list(tools)}


def kinds(request: dict[str, Any]) -> list[str]:
    assert validate_request(request) == []
    return [block["type"] for block in demo_reply(request).content]


def test_a_deferred_tool_is_searched_for_before_it_is_called() -> None:
    request = body(DEFERRED, FINDER)
    assert kinds(request) == ["text", "server_tool_use", "tool_search_tool_result", "tool_use"]
    content = demo_reply(request).content
    assert content[1]["name"] == FINDER["name"] and "feed" in content[1]["input"]["query"]
    assert content[2]["tool_use_id"] == content[1]["id"]
    (found,) = content[2]["content"]["tool_references"]
    assert found == {"type": "tool_reference", "tool_name": "zoo__feed"}


def test_what_is_loaded_or_was_found_before_is_not_searched_for() -> None:
    assert kinds(body(TOOL, FINDER)) == ["text", "tool_use"]
    first = demo_reply(body(DEFERRED, FINDER)).content
    call = next(block for block in first if block["type"] == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "fed"}
    messages = [
        {"role": "user", "content": "call zoo__feed"},
        {"role": "assistant", "content": first},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": "call zoo__feed"},
    ]
    assert kinds(body(DEFERRED, FINDER, messages=messages)) == ["text", "tool_use"]
    assert search_blocks("zoo__feed", body(DEFERRED), [], "seed") == [], "nothing can search"
