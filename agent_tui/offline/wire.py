"""The wire format of a reply: the message as JSON, as SSE events, in pieces.

Event names, key order and the place of each value follow recorded streams of the service
(ping after message_start; an empty partial_json first; a program's call whole in its start).
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_tui.offline.prompt_cache import CacheShare
from agent_tui.offline.token_count import text_tokens

Part = Literal["start", "thinking", "text", "arguments", "block", "end"]
"""What of a reply an event carries; the journal says in which one a client left."""

_PIECE = re.compile(r"\s*(?:\w{1,8}|[^\w\s]{1,4})|\s+")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(slots=True)
class Reply:
    """One assistant message, and how its values are spread over the stream.

    in_message_start: content, container and stop_reason all come inside message_start, and
    message_stop follows at once (how a program's continuation was recorded).
    partial_json: by block index, text streamed verbatim in place of that block's input (a call
    cut by max_tokens, or one whose JSON is broken on purpose).
    program: set when the last block is a code_execution call whose code is to run for real.
    """

    content: list[dict[str, Any]]
    stop_reason: str | None = "end_turn"
    stop_sequence: str | None = None
    stop_details: dict[str, Any] | None = None
    container: dict[str, Any] | None = None
    container_at: Literal["message_start", "message_delta"] = "message_delta"
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    in_message_start: bool = False
    program: "ProgramStart | None" = None
    partial_json: dict[int, str] = field(default_factory=dict[int, str])


@dataclass(slots=True, frozen=True)
class ProgramStart:
    """How a program's waiting is told. stop_reason: of each response that leaves it waiting.

    name_container: False leaves the container out of the last response, as a run of 2025 did.
    """

    stop_reason: str = "tool_use"
    name_container: bool = True


@dataclass(slots=True, frozen=True)
class WireEvent:
    """One SSE event. size: characters of content in it, which is what paces a stream."""

    name: str
    data: dict[str, Any]
    part: Part
    size: int = 0

    def encode(self) -> bytes:
        return b"event: %s\ndata: %s\n\n" % (self.name.encode(), json_bytes(self.data))


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dumps(value: Any) -> str:
    """Compact JSON as the service writes it; non-ASCII stays readable."""
    return _ENCODER.encode(value)


def json_bytes(value: Any) -> bytes:
    """dumps as UTF-8; a lone surrogate, which UTF-8 cannot hold, stays an escape."""
    try:
        return dumps(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def make_id(prefix: str, *seed: object) -> str:
    """An id of the service's look ("msg_01" + 22 characters) that follows from its seed."""
    digest = hashlib.sha256("\x1f".join(str(s) for s in seed).encode("utf-8", "replace"))
    number = int.from_bytes(digest.digest(), "big")
    letters: list[str] = []
    for _ in range(22):
        number, rest = divmod(number, 62)
        letters.append(_BASE62[rest])
    return f"{prefix}01{''.join(letters)}"


def request_seed(body: dict[str, Any]) -> str:
    """What a request asks, as a hash: ids made from it are equal for equal requests."""
    asked = [body.get("model"), body.get("system"), body.get("messages")]
    text = json.dumps(asked, sort_keys=True)  # ASCII, so lone surrogates cannot break it
    return hashlib.sha256(text.encode()).hexdigest()


def program_block(block_id: str, code: str) -> dict[str, Any]:
    """The model's call of code_execution."""
    return {
        "type": "server_tool_use",
        "id": block_id,
        "name": "code_execution",
        "input": {"code": code},
        "caller": {"type": "direct"},
    }


def pieces(text: str, size: int | None = None) -> Iterator[str]:
    """Cuts text as a model streams it: by `size` characters, else by short words."""
    if size is not None:
        for start in range(0, len(text), size):
            yield text[start : start + size]
        return
    yield from _PIECE.findall(text)


def message_json(reply: Reply, *, message_id: str, model: str) -> dict[str, Any]:
    """The whole message, as a request without `stream` gets it."""
    message: dict[str, Any] = {
        "model": model,
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "content": reply.content,
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        "stop_details": reply.stop_details,
        "usage": reply.usage,
    }
    if reply.container is not None:
        message["container"] = reply.container
    return message


def stream_events(
    reply: Reply, *, message_id: str, model: str, chunk_size: int | None = None
) -> Iterator[WireEvent]:
    """The events of a reply in the order of the service, message_stop last."""
    if reply.in_message_start:
        message = message_json(reply, message_id=message_id, model=model)
        yield _event("message_start", "start", message=message)
        yield _event("message_stop", "end")
        return
    yield from opening_events(reply, message_id=message_id, model=model)
    yield from content_events(reply, chunk_size=chunk_size)
    yield from closing_events(reply)


def opening_events(reply: Reply, *, message_id: str, model: str) -> Iterator[WireEvent]:
    message = message_json(reply, message_id=message_id, model=model)
    opening = message | {"content": [], "stop_reason": None, "stop_sequence": None}
    opening["stop_details"] = None
    opening["usage"] = reply.usage | {"output_tokens": 1}
    if reply.container is not None and reply.container_at != "message_start":
        del opening["container"]
    yield _event("message_start", "start", message=opening)
    yield WireEvent("ping", {"type": "ping"}, "start")


def content_events(
    reply: Reply, *, first: int = 0, chunk_size: int | None = None
) -> Iterator[WireEvent]:
    """first: the index of the reply's first block in its message."""
    for index, block in enumerate(reply.content):
        partial = reply.partial_json.get(index)
        yield from _block_events(first + index, block, chunk_size, partial)


def closing_events(reply: Reply) -> Iterator[WireEvent]:
    delta: dict[str, Any] = {
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        "stop_details": reply.stop_details,
    }
    if reply.container is not None and reply.container_at == "message_delta":
        delta["container"] = reply.container
    usage = {k: v for k, v in reply.usage.items() if k not in _START_ONLY_USAGE}
    yield _event("message_delta", "end", delta=delta, usage=usage)
    yield _event("message_stop", "end")


_START_ONLY_USAGE = {"cache_creation", "service_tier", "inference_geo"}


def _event(name: str, part: Part, size: int = 0, **fields: Any) -> WireEvent:
    return WireEvent(name, {"type": name, **fields}, part, size)


def _delta(index: int, part: Part, size: int, kind: str, **fields: Any) -> WireEvent:
    delta = {"type": kind, **fields}
    return _event("content_block_delta", part, size, index=index, delta=delta)


def _block_events(
    index: int, block: dict[str, Any], chunk_size: int | None, partial_json: str | None
) -> Iterator[WireEvent]:
    def start(part: Part, **emptied: Any) -> WireEvent:
        return _event("content_block_start", part, index=index, content_block=block | emptied)

    match block.get("type"):
        case "text":
            part: Part = "text"
            citations: list[Any] = block.get("citations") or []
            yield start("text", text="", **({"citations": []} if citations else {}))
            for piece in pieces(block.get("text", ""), chunk_size):
                yield _delta(index, "text", len(piece), "text_delta", text=piece)
            for citation in citations:
                yield _delta(index, "text", 0, "citations_delta", citation=citation)
        case "thinking":
            part = "thinking"
            yield start("thinking", thinking="", signature="")
            for piece in pieces(block.get("thinking", ""), chunk_size):
                yield _delta(index, "thinking", len(piece), "thinking_delta", thinking=piece)
            signature = block.get("signature", "")
            yield _delta(index, "thinking", 0, "signature_delta", signature=signature)
        case "tool_use" | "server_tool_use" | "mcp_tool_use" if not _called_by_program(block):
            part = "arguments"
            yield start("arguments", input={})
            text = partial_json
            if text is None:
                text = dumps(block["input"]) if block.get("input") else ""
            yield _delta(index, "arguments", 0, "input_json_delta", partial_json="")
            for piece in pieces(text, chunk_size):
                yield _delta(index, "arguments", len(piece), "input_json_delta", partial_json=piece)
        case "compaction":
            part = "block"
            yield start("block", content=None)
            yield _delta(index, "block", 0, "compaction_delta", content=block.get("content"))
        case _:
            part = "block"
            yield start("block")
    yield _event("content_block_stop", part, index=index)


def _called_by_program(block: dict[str, Any]) -> bool:
    caller = block.get("caller")
    return isinstance(caller, dict) and caller.get("type", "direct") != "direct"


# --- tokens -----------------------------------------------------------------------


_IDS = {"id", "tool_use_id", "tool_id", "signature"}


def estimate_tokens(value: Any) -> int:
    """Tokens of a JSON value, estimated (token_count.py), at least 1.

    Base64 data of images and documents counts as 1500 tokens a piece, not by its length.
    """
    tokens = 0.0
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            tokens += text_tokens(item)
        elif isinstance(item, dict):
            if item.get("type") == "base64":
                tokens += 1500
                continue
            tokens += sum(text_tokens(key) + 1 for key in item)
            # An id is random: two of one length count alike.
            tokens += sum(len(str(item[key])) / 4 for key in _IDS & item.keys())
            stack += (value for key, value in item.items() if key not in _IDS)
        elif isinstance(item, list):
            tokens += 0.5
            stack += item
        else:
            tokens += 1
    return max(1, math.ceil(tokens))


def input_tokens(body: dict[str, Any]) -> int:
    """Estimated tokens of what the model reads of a request: system, tools, messages.

    The calls of a program and their results are between the client and the program: only what
    the program prints reaches the model.
    """
    parts = [body.get("system"), body.get("tools"), read_by_model(body.get("messages") or [])]
    return estimate_tokens([part for part in parts if part])


def read_by_model(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages without the calls of programs and without their results."""
    calls: set[str] = set()
    out: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        if not isinstance(content, list):
            out.append(message)
            continue
        for block in content:
            if block.get("type") == "tool_use" and _called_by_program(block):
                calls.add(str(block.get("id")))
        kept = [block for block in content if not _between_programs(block, calls)]
        if kept or not content:
            out.append({"role": message.get("role"), "content": kept})
    return out


def _between_programs(block: dict[str, Any], calls: set[str]) -> bool:
    if block.get("type") == "tool_use":
        return block.get("id") in calls
    return block.get("type") == "tool_result" and block.get("tool_use_id") in calls


def is_sampled(block: dict[str, Any]) -> bool:
    """Whether the model wrote a block: not a program's call, not a result."""
    kind = str(block.get("type"))
    return not kind.endswith("_tool_result") and not (
        kind == "tool_use" and _called_by_program(block)
    )


_INPUT_SIDE = {"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}


def fill_usage(
    reply: Reply,
    body: dict[str, Any],
    said_before: Sequence[dict[str, Any]] = (),
    *,
    cached: CacheShare | None = None,
) -> None:
    """Completes reply.usage with estimates; values already there (a scenario's) win.
    cached: what the prompt cache did for the request; a scenario's counts are left alone.

    said_before: blocks of the same message that came before the reply's: what the model wrote of
    them is output too, and the results among them it has read.
    """
    content = [*said_before, *reply.content]
    sampled = [block for block in content if is_sampled(block)]
    read = [block for block in content if str(block.get("type")).endswith("_tool_result")]
    share = CacheShare() if cached is None or _INPUT_SIDE & reply.usage.keys() else cached
    tokens = input_tokens(body) + (estimate_tokens(read) if read else 0)
    usage: dict[str, Any] = {
        **share.usage(tokens),
        "output_tokens": estimate_tokens(sampled) if sampled else 0,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }
    reply.usage = usage | reply.usage


def apply_limits(reply: Reply, body: dict[str, Any]) -> None:
    """Cuts a reply at the request's stop_sequences and max_tokens, as the service does.

    A call cut by max_tokens keeps the part of its JSON that fits: the client must not run it.
    """
    sequences = [s for s in body.get("stop_sequences") or [] if isinstance(s, str) and s]
    for index, block in enumerate(reply.content):
        if block.get("type") != "text" or not sequences:
            continue
        found = [(block["text"].find(s), s) for s in sequences if s in block["text"]]
        if found:
            at, sequence = min(found)
            block["text"] = block["text"][:at]
            del reply.content[index + (1 if at else 0) :]
            reply.stop_reason, reply.stop_sequence = "stop_sequence", sequence
            break
    budget = 4 * int(body.get("max_tokens") or 0)
    for index, block in enumerate(reply.content):
        kind = block.get("type")
        key = {"text": "text", "thinking": "thinking"}.get(str(kind))
        length = len(block[key]) if key else len(dumps(block.get("input") or {}))
        if length <= budget:
            budget -= length
            continue
        del reply.content[index + 1 :]
        if kind == "tool_use":
            reply.partial_json[index] = dumps(block.get("input") or {})[:budget]
            block["input"] = {}
        elif kind == "text" and budget:
            block["text"] = block["text"][:budget]
        else:
            # Thinking that does not fit is left out whole: cut, it would carry no signature.
            del reply.content[index:]
        reply.stop_reason, reply.stop_sequence = "max_tokens", None
        return
