"""The rules of a valid request, written from the facts page and independent of the repair.

check(messages) takes what a stream function is handed and raises AssertionError with the
rule that is broken.
"""

import json
import re
from typing import Any

from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")

Wire = list[tuple[str, list[dict[str, Any]]]]


def wire_form(messages: list[Message]) -> Wire:
    """(role, blocks) with neighbours of one role merged, as the API itself does."""
    wire: Wire = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = _blocks(message)
        if wire and wire[-1][0] == role:
            assert not (role == "assistant" and _calls(wire[-1][1])), (
                "text after an unanswered call in one assistant message"
            )
            wire[-1][1].extend(blocks)
        else:
            wire.append((role, blocks))
    return wire


def check_programs(messages: list[Message]) -> None:
    """In turns that have ended (user text follows), each call of a program names one that was
    started in that turn, by a kind of caller that exists."""
    turn: list[dict[str, Any]] = []
    for role, blocks in wire_form(messages):
        if role == "assistant":
            turn += blocks
        elif any(b["type"] != "tool_result" for b in blocks):
            started: set[str] = set()
            for block in turn:
                caller = block.get("caller") or {}
                if block["type"] in _SERVER_CALLS:
                    started.add(block["id"])
                elif block["type"] == "tool_use" and caller.get("type", "direct") != "direct":
                    assert caller.get("tool_id") in started, "its program comes before it"
                    assert caller["type"] == "code_execution_20260120"
            turn = []


def check(messages: list[Message]) -> None:
    wire = wire_form(messages)
    assert wire, "a request has messages"
    assert wire[0][0] == "user", "the first message is the user's"
    last = messages[-1]
    if isinstance(last, AssistantMessage):
        assert last.stop_reason in ("pause_turn", "compaction"), "the last message is the user's"
    _check_blocks(wire)
    _check_results(wire)
    _check_server_calls(wire)
    # Raises for lone surrogates.
    text = json.dumps(wire, ensure_ascii=False).encode().decode()
    assert "\\u0000" not in text, "no NUL"


def _blocks(message: Message) -> list[dict[str, Any]]:
    match message:
        case UserMessage():
            return [_user_block(b) for b in message.content] or [{"type": "nothing"}]
        case ToolResultMessage():
            return [
                {
                    "type": "tool_result",
                    "tool_use_id": message.tool_call_id,
                    "is_error": message.is_error,
                    "content": [_user_block(b) for b in message.content],
                }
            ]
        case AssistantMessage():
            return [_assistant_block(b) for b in message.content] or [{"type": "nothing"}]


def _user_block(block: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    return {"type": "image", "data": block.data, "media_type": block.media_type}


def _assistant_block(block: Any) -> dict[str, Any]:
    match block:
        case TextContent():
            return {"type": "text", "text": block.text}
        case ThinkingContent():
            return {
                "type": "thinking",
                "thinking": block.thinking,
                "signature": block.signature,
                "redacted": block.redacted,
            }
        case ToolCall():
            return {
                "type": "tool_use",
                "id": block.id,
                "name": block.name,
                "input": block.arguments,
                "caller": block.caller,
                "complete": block.complete,
            }
        case OpaqueContent():
            return {**block.raw, "complete": block.complete}
        case _:
            raise AssertionError(f"no block of an assistant: {block}")


def _calls(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [b for b in blocks if b["type"] == "tool_use"]


def _check_blocks(wire: Wire) -> None:
    ids: set[str] = set()
    for _, blocks in wire:
        for block in blocks:
            kind = block["type"]
            assert kind != "nothing", "no empty message"
            assert block.get("complete", True), "nothing half-streamed"
            if kind == "text":
                assert block["text"].strip(), "no blank text block"
            elif kind == "thinking":
                assert block["signature"] or block["redacted"] is not None, "thinking is signed"
            elif kind == "tool_use":
                assert _ID.fullmatch(block["id"]), f"a legal id: {block['id']!r}"
                assert block["id"] not in ids, f"ids are unique: {block['id']!r}"
                ids.add(block["id"])
                assert _NAME.fullmatch(block["name"]), f"a legal name: {block['name']!r}"
                assert isinstance(block["input"], dict), "the input is an object"
            elif kind == "tool_result":
                _check_result(block)


def _check_result(block: dict[str, Any]) -> None:
    content = block["content"]
    assert all(b["type"] != "text" or b["text"].strip() for b in content), "no blank text"
    if block["is_error"]:
        assert content, "an error result is not empty"
        assert all(b["type"] == "text" for b in content), "an error result holds only text"


def _check_results(wire: Wire) -> None:
    for number, (role, blocks) in enumerate(wire):
        results = [b for b in blocks if b["type"] == "tool_result"]
        if role == "assistant":
            assert not results, "results are the user's"
            answered = number + 1 < len(wire)
            assert answered or not _calls(blocks), "every call has a result"
            continue
        assert blocks[: len(results)] == results, "results come first, in one run"
        calls = _calls(wire[number - 1][1]) if number else []
        wanted = sorted(c["id"] for c in calls)
        assert sorted(r["tool_use_id"] for r in results) == wanted, "one result for each call"
        programmatic = {c["id"] for c in calls if (c["caller"] or {}).get("tool_id")}
        if programmatic:
            assert len(blocks) == len(results), "a program is answered with results only"
        for result in results:
            if result["tool_use_id"] in programmatic:
                assert all(b["type"] == "text" for b in result["content"]), "text only"


def _check_server_calls(wire: Wire) -> None:
    """A server's call gets its result before any user text, or the turn still goes on."""
    open_calls: set[str] = set()
    for role, blocks in wire:
        if role == "user":
            if any(b["type"] != "tool_result" for b in blocks):
                assert not open_calls, f"server calls without result: {open_calls}"
            continue
        for block in blocks:
            kind = block["type"]
            if kind in _SERVER_CALLS:
                open_calls.add(block["id"])
            elif kind.endswith("_tool_result"):
                assert block["tool_use_id"] in open_calls, "a server's result has its call"
                open_calls.discard(block["tool_use_id"])
