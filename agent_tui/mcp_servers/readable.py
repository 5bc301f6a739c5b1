"""Messages of servers that no parser takes: mended where that can be said in a line, else the id
of the call that is to fail. Whoever waits for such an answer would wait until its time is over.

What is beyond a parser (nested too deeply, a number of thousands of digits) is replaced where it
stands by a text that says so: one such schema or value costs itself and not the whole answer.
"""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 128
"""Levels; pydantic's parser gives up at 200, and a schema may have 64 (schemas.py)."""
MAX_DIGITS = 4_000
"""Of one number; Python reads none of more than 4,300."""
UNREADABLE = -32700
"""Code of our own errors in place of an answer that is not JSON (JSON-RPC: parse error)."""
UNREADABLE_WORDS = "The server's answer cannot be read: it is not valid JSON."
IN_THREAD = 64 * 1024
"""Bytes above which a message is read in a thread."""

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.?)*+(?:"|\Z)|[\[{]|[\]}]'
    rf"|(?<![\d.])-?\d{{{MAX_DIGITS + 1},}}+(?![.eE])",
    re.DOTALL,
)
_VALUE = re.compile(r'\s*:\s*(?P<value>"[^"\\]{0,200}"|-?\d{1,18}(?![\d.eE]))?')


@dataclass(slots=True)
class Read:
    """Messages that the SDK knows (JSONRPCMessage): one, those of a batch, or none. troubles:
    what had to be mended or could not be read, a clause each, with the server as "it"."""

    messages: list[Any]
    troubles: list[str] = field(default_factory=list[str])


def read_message(data: bytes) -> Read:
    """The messages in `data`. An answer that breaks the rules becomes an error for its call."""
    from mcp_types import jsonrpc_message_adapter as adapter

    start = data.lstrip()[:1]
    if start not in (b"{", b"["):
        return Read([])
    if start == b"{":
        try:
            return Read([adapter.validate_json(data, by_name=False)])
        except ValueError:
            pass
    text, troubles = _decoded(data)
    scan = _Scan(text)
    try:
        value = json.loads(scan.text, strict=False)
    except (ValueError, RecursionError):
        if scan.answer_to is None:
            return Read([])
        return Read(
            [adapter.validate_python(unreadable(scan.answer_to))],
            ["an answer of it is not valid JSON, so its call has failed"],
        )
    found: list[Any] = []
    for item in value if isinstance(value, list) else [value]:
        try:
            found.append(adapter.validate_python(mended(item), by_name=False))
        except (ValueError, RecursionError):
            continue
    return Read(found, [*troubles, *scan.troubles] if found else [])


def unreadable(request_id: int | str | None) -> dict[str, Any]:
    """The error that a call gets whose answer cannot be read."""
    error = {"code": UNREADABLE, "message": UNREADABLE_WORDS}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def mended(item: Any) -> Any:
    """An invalid answer as an error answer with its id; all else as it is."""
    if not isinstance(item, dict) or "method" in item or not isinstance(item.get("id"), int | str):
        return item
    error = item.get("error")
    if isinstance(item.get("result"), dict) and error is None:
        return {"jsonrpc": "2.0", "id": item["id"], "result": item["result"]}
    code, text = -32603, "The server sent an answer that is not valid JSON-RPC."
    if isinstance(error, dict):
        text = str(error.get("message") or text)
        code = error["code"] if type(error.get("code")) is int else code
    elif error:
        text = str(error)
    return {"jsonrpc": "2.0", "id": item["id"], "error": {"code": code, "message": text}}


def _decoded(data: bytes) -> tuple[str, list[str]]:
    try:
        return data.decode(), []
    except UnicodeDecodeError:
        said = "an answer of it is not UTF-8: what cannot be read of it is replaced"
        return data.decode("utf-8", "replace"), [said]


class _Scan:
    """One look through a text that is JSON or nearly so. text: without what no parser takes.
    answer_to: the id at its top where it is an answer, None where it is none."""

    def __init__(self, text: str) -> None:
        self.troubles: list[str] = []
        self.answer_to: int | str | None = None
        is_call = False
        pieces: list[str] = []
        depth = kept_to = deep_from = 0
        for token in _TOKEN.finditer(text):
            first = token[0][0]
            if first in "[{":
                depth += 1
                if depth == MAX_DEPTH + 1:
                    deep_from = token.start()
            elif first in "]}":
                depth -= 1
                if depth == MAX_DEPTH:
                    pieces += [text[kept_to:deep_from], self._left_out(_TOO_DEEP)]
                    kept_to = token.end()
            elif depth > MAX_DEPTH:
                continue
            elif first != '"':
                pieces += [text[kept_to : token.start()], self._left_out(_TOO_LONG)]
                kept_to = token.end()
            elif depth == 1 and token[0] in ('"id"', '"method"'):
                after = _VALUE.match(text, token.end())
                is_call = is_call or (after is not None and token[0] == '"method"')
                if after is not None and token[0] == '"id"' and after["value"]:
                    self.answer_to = json.loads(after["value"])
        if is_call:
            self.answer_to = None
        self.text = "".join([*pieces, text[kept_to:]]) if pieces else text

    def _left_out(self, what: str) -> str:
        trouble = f"{what} in an answer of it is left out"
        if trouble not in self.troubles:
            self.troubles.append(trouble)
        return json.dumps(f"[left out: {what}]")


_TOO_DEEP = f"what is nested more than {MAX_DEPTH} levels deep"
_TOO_LONG = f"a number of more than {MAX_DIGITS:,} digits"


# --- streams of events --------------------------------------------------------------------

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")

Mend = Callable[[bytes], Awaitable[bytes]]
"""Takes the data of an event and gives what the SDK can read of it, or the same."""


async def mended_events(pieces: AsyncIterator[bytes], mend: Mend) -> AsyncIterator[bytes]:
    """A stream of server-sent events whose messages can all be read. An event is passed on as
    soon as it is whole."""
    held = bytearray()
    async for piece in pieces:
        look_from = max(0, len(held) - 3)
        held += piece
        done = 0
        while (end := _EVENT_END.search(held, look_from)) is not None:
            event = bytes(held[done : end.end()])
            done = look_from = end.end()
            yield await _mended_event(event, mend)
        del held[:done]
    if held:
        yield bytes(held)


async def _mended_event(event: bytes, mend: Mend) -> bytes:
    lines = event.splitlines()
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    whole = b"\n".join(data)
    if not whole.lstrip().startswith((b"{", b"[")):
        return event
    better = await mend(whole)
    if better is whole:
        return event
    others = [line for line in lines if line and not line.startswith(b"data:")]
    return b"\n".join([*others, b"data: " + better]) + b"\n\n"
