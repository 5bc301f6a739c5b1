"""Requests in few words, for the tests of the rules."""

import base64
import copy
import struct
from dataclasses import dataclass
from typing import Any

SEARCH = {"name": "search", "input_schema": {"type": "object", "properties": {"q": {}}}}
PROGRAM = {"type": "code_execution_20260120", "name": "code_execution"}
QUERY = {
    "name": "query",
    "input_schema": {"type": "object"},
    "allowed_callers": ["code_execution_20260120"],
}
MARK = {"cache_control": {"type": "ephemeral"}}


@dataclass
class Case:
    """says: a part of the message that the service gives (its path first)."""

    rule: str
    bad: Any
    good: Any
    says: str
    version: str = "2026-10-21"


def text(value: str = "hi", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": value, **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks),
    }


def assistant(*blocks: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks),
    }


def call(id_: str = "toolu_1", name: str = "search", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": {}, **more}


def result(id_: str = "toolu_1", content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def thinking(words: str = "hm", signature: str = "signed") -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def image(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": encoded},
    }


def png(width: int = 10, height: int = 10, size: int = 64) -> bytes:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return head.ljust(size, b"\0")


def request(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "demo", "max_tokens": 4000, "messages": list(messages) or [user("hi")]} | more


def without(body: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k != key}


def tool(**more: Any) -> dict[str, Any]:
    return copy.deepcopy(SEARCH) | more


def schema(**more: Any) -> dict[str, Any]:
    return request(tools=[tool(input_schema={"type": "object"} | more)])


def program() -> list[dict[str, Any]]:
    """A prompt, and a program that called `query` and waits."""
    return [
        user("how much did we sell?"),
        assistant(
            text("I'll add it up."),
            {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "code_execution",
                "input": {"code": "await query()"},
                "caller": {"type": "direct"},
            },
            program_call(),
        ),
    ]


def program_call(id_: str = "toolu_p", tool_id: str = "srvtoolu_1") -> dict[str, Any]:
    return call(id_, "query", caller={"type": "code_execution_20260120", "tool_id": tool_id})


def program_request(*messages: Any, **more: Any) -> dict[str, Any]:
    fields = {"tools": [PROGRAM, QUERY], "container": "container_1"} | more
    return request(*messages, **{k: v for k, v in fields.items() if v is not None})


DONE = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {
        "type": "code_execution_result",
        "stdout": "7",
        "stderr": "",
        "return_code": 0,
        "content": [],
    },
}

ASKED, CALLED = user("find it"), assistant(call())
TWO = assistant(call("toolu_1"), call("toolu_2"))
SEARCHED = {
    "type": "server_tool_use",
    "id": "srvtoolu_w",
    "name": "web_search",
    "input": {"query": "x"},
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_w", "content": []}
BIG = 5 * 1024 * 1024
