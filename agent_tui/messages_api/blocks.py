"""Content blocks while they stream: one class per kind, O(1) per delta.

Each block keeps the API's own start block as its template: keys in the API's order, with
every field, so that the finished block goes back value-equal (facts: thinking and server
blocks are replayed as they were sent). Parts are appended to lists and joined once.
"""

import json
import logging
import math
from typing import Any, cast

from agent_tui.agent.events import (
    OpaqueEvent,
    StreamEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agent_tui.agent.messages import (
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    new_id,
)
from agent_tui.messages_api.partial_json import PartialJson
from agent_tui.messages_api.wire_text import SurrogateJoiner, clean_tree
from agent_tui.text import whole_surrogates

_log = logging.getLogger(__name__)

Json = dict[str, Any]


class TextBlock:
    """A `text` block. citations_delta appends to its citations."""

    __slots__ = ("_joiner", "index", "parts", "template")

    def __init__(self, index: int, block: Json) -> None:
        self.index = index
        self.template = block
        self._joiner = SurrogateJoiner()
        text = block.get("text")
        self.parts: list[str] = [text] if isinstance(text, str) and text else []

    def start(self) -> list[StreamEvent]:
        events: list[StreamEvent] = [TextStartEvent(self.index)]
        events += [TextDeltaEvent(self.index, p) for p in self.parts]
        return events

    def delta(self, delta: Json) -> StreamEvent | None:
        if delta.get("type") == "text_delta":
            text = delta["text"]
            if not text.isascii() or self._joiner.held:
                text = self._joiner.add(text)
            if text:
                self.parts.append(text)
                return TextDeltaEvent(self.index, text)
            return None
        if delta.get("type") == "citations_delta":
            _append_citation(self.template, delta)
        else:
            _ignored(delta, "text")
        return None

    def close(self, *, complete: bool) -> list[StreamEvent]:
        rest = self._joiner.flush()
        events: list[StreamEvent] = []
        if rest:
            self.parts.append(rest)
            events.append(TextDeltaEvent(self.index, rest))
        self.parts = ["".join(self.parts)]  # content() is asked twice: one string for both
        if complete:
            events.append(TextEndEvent(self.index, self.content()))
        return events

    def content(self) -> TextContent:
        return TextContent(
            text="".join(self.parts), wire=_template(self.template, ("type", "text"), "text")
        )


class ThinkingBlock:
    """A `thinking` or `redacted_thinking` block. signature_delta replaces (it is whole)."""

    __slots__ = ("_joiner", "index", "parts", "redacted", "signature", "template")

    def __init__(self, index: int, block: Json) -> None:
        self.index = index
        self.template = block
        self._joiner = SurrogateJoiner()
        self.redacted: str | None = None
        if block.get("type") == "redacted_thinking":
            data = block.get("data")
            self.redacted = data if isinstance(data, str) else ""
        text, signature = block.get("thinking"), block.get("signature")
        self.parts: list[str] = [text] if isinstance(text, str) and text else []
        self.signature = signature if isinstance(signature, str) and signature else None

    def start(self) -> list[StreamEvent]:
        events: list[StreamEvent] = [ThinkingStartEvent(self.index)]
        events += [ThinkingDeltaEvent(self.index, p) for p in self.parts]
        return events

    def delta(self, delta: Json) -> StreamEvent | None:
        match delta.get("type"):
            case "thinking_delta":
                text = self._joiner.add(delta["thinking"])
                if text:
                    self.parts.append(text)
                tokens = delta.get("estimated_tokens")
                tokens = tokens if isinstance(tokens, int) and tokens > 0 else 0
                if text or tokens:
                    return ThinkingDeltaEvent(self.index, text, tokens)
            case "signature_delta":
                signature = delta.get("signature")
                self.signature = signature if isinstance(signature, str) and signature else None
                self.template.setdefault("signature", "")
            case _:
                _ignored(delta, "thinking")
        return None

    def close(self, *, complete: bool) -> list[StreamEvent]:
        rest = self._joiner.flush()
        events: list[StreamEvent] = []
        if rest:
            self.parts.append(rest)
            events.append(ThinkingDeltaEvent(self.index, rest))
        self.parts = ["".join(self.parts)]
        if complete:
            events.append(ThinkingEndEvent(self.index, self.content()))
        else:
            self.signature = None
        return events

    def content(self) -> ThinkingContent:
        if self.redacted is not None:
            return ThinkingContent(
                redacted=self.redacted, wire=_template(self.template, ("type", "data"), "data")
            )
        return ThinkingContent(
            thinking="".join(self.parts),
            signature=self.signature,
            wire=_template(
                self.template, ("type", "thinking", "signature"), "thinking", "signature"
            ),
        )


class CallBlock:
    """A `tool_use` block: input from the deltas, or whole from the start (a program's call)."""

    __slots__ = (
        "_joiner",
        "arguments",
        "complete",
        "id",
        "index",
        "input",
        "invalid",
        "partial",
        "parts",
        "template",
    )  # fmt: skip

    def __init__(self, index: int, block: Json, call_id: str) -> None:
        self.index = index
        self.template = block
        self.id = call_id
        self.parts: list[str] = []
        self.input = _start_input(block.get("input"))
        self.arguments: Json = self.input
        self.invalid: str | None = None
        self.complete = False
        self.partial = PartialJson()
        self._joiner = SurrogateJoiner()

    def start(self) -> list[StreamEvent]:
        return [ToolCallStartEvent(self.index, self.content())]

    def delta(self, delta: Json) -> StreamEvent | None:
        if delta.get("type") != "input_json_delta":
            _ignored(delta, "tool_use")
            return None
        text = delta["partial_json"]
        if not text.isascii() or self._joiner.held:
            text = self._joiner.add(text)
        if not text:
            return None
        self.parts.append(text)
        return ToolCallDeltaEvent(self.index, text, self.partial.feed(text))

    def close(self, *, complete: bool) -> list[StreamEvent]:
        if not complete:
            self.arguments = {} if self.parts else self.input
            return []
        rest = self._joiner.flush()
        if rest:
            self.parts.append(rest)
        self.arguments, self.invalid = _arguments(self.parts, self.input)
        self.complete = True
        return [ToolCallEndEvent(self.index, self.content())]

    @property
    def parses(self) -> bool:
        """The text so far is a whole JSON object (or there is none)."""
        return not self.parts or _arguments(self.parts, self.input)[1] is None

    def content(self) -> ToolCall:
        name = self.template.get("name")
        caller = self.template.get("caller")
        return ToolCall(
            id=self.id,
            name=name if isinstance(name, str) else "",
            arguments=self.arguments,
            caller=cast(Json, caller) if isinstance(caller, dict) else None,
            complete=self.complete,
            invalid_arguments=self.invalid,
            wire=_template(
                self.template, ("type", "id", "name", "input"), "id", "name", "input", "caller"
            ),
        )


class OpaqueBlock:
    """Any other block, verbatim. The input of server_tool_use and mcp_tool_use streams."""

    __slots__ = ("_joiner", "_texts", "complete", "index", "partial", "parts", "raw")

    def __init__(self, index: int, block: Json) -> None:
        self.index = index
        self.raw = block
        self.complete = False
        self.parts: list[str] = []
        self.partial = PartialJson()
        self._joiner = SurrogateJoiner()
        self._texts: dict[str, list[str]] = {}

    def start(self) -> list[StreamEvent]:
        return [OpaqueEvent(self.index, "start", self.content())]

    def delta(self, delta: Json) -> StreamEvent | None:
        kind = delta.get("type")
        if kind == "input_json_delta":
            text = self._joiner.add(delta["partial_json"])
            if not text:
                return None
            self.parts.append(text)
            return OpaqueEvent(self.index, "delta", None, text, self.partial.feed(text))
        match kind:
            case "compaction_delta":
                self.raw.update({k: clean_tree(v) for k, v in delta.items() if k != "type"})
            case "signature_delta":
                self.raw["signature"] = clean_tree(delta.get("signature"))
            case "citations_delta":
                _append_citation(self.raw, delta)
            case "text_delta" | "thinking_delta":
                key = "text" if kind == "text_delta" else "thinking"
                text = whole_surrogates(delta[key])
                self._texts.setdefault(key, []).append(text)
                return OpaqueEvent(self.index, "delta", None, text)
            case _:
                _ignored(delta, str(self.raw.get("type")))
        return None

    def close(self, *, complete: bool) -> list[StreamEvent]:
        if not complete:
            return []
        if any(p.strip() for p in self.parts):
            value, invalid = _arguments(self.parts, {})
            self.raw["input"] = value if invalid is None else invalid
            # an input that is no object cannot go back: the block is kept for the eye only
            self.complete = invalid is None
        else:
            self.complete = True
        self._settle_texts()
        return [OpaqueEvent(self.index, "end", self.content())]

    @property
    def parses(self) -> bool:
        return not self.parts or _arguments(self.parts, {})[1] is None

    def content(self) -> OpaqueContent:
        self._settle_texts()
        return OpaqueContent(raw=self.raw, complete=self.complete)

    def _settle_texts(self) -> None:
        for key, parts in self._texts.items():
            before = self.raw.get(key)
            self.raw[key] = (before if isinstance(before, str) else "") + "".join(parts)
        self._texts.clear()


Block = TextBlock | ThinkingBlock | CallBlock | OpaqueBlock


def make_block(index: int, block: Json, used_ids: set[str]) -> Block:
    """The streaming block for a content_block; its call's id is unique among `used_ids` (A14).

    block: cleaned by clean_tree, and the block's own from here on.
    """
    match block.get("type"):
        case "text":
            return TextBlock(index, block)
        case "thinking" | "redacted_thinking":
            return ThinkingBlock(index, block)
        case "tool_use":
            return CallBlock(index, block, _unique_id(block.get("id"), used_ids))
        case _:
            return OpaqueBlock(index, block)


def implied_block(delta: Json) -> Json | None:
    """The start block that a delta without one implies, or None (some servers omit starts)."""
    match delta.get("type"):
        case "text_delta" | "citations_delta":
            return {"type": "text", "text": ""}
        case "thinking_delta" | "signature_delta":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case _:
            return None


def _unique_id(value: Any, used: set[str]) -> str:
    base = value if isinstance(value, str) and value else f"toolu_{new_id()}"
    unique, n = base, 2
    while unique in used:
        unique, n = f"{base}_{n}", n + 1
    used.add(unique)
    return unique


def _start_input(value: Any) -> Json:
    if isinstance(value, str) and value.strip():
        return _arguments([value], {})[0]
    return cast(Json, value) if isinstance(value, dict) else {}


def _arguments(parts: list[str], start: Json) -> tuple[Json, str | None]:
    """(arguments, None), or ({}, the text) when it is no JSON object that can go back."""
    text = "".join(parts)
    if not text.strip():
        return start, None
    try:
        value: Any = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        value = clean_tree(value)
    except (ValueError, RecursionError):
        return {}, text
    return (cast(Json, value), None) if isinstance(value, dict) else ({}, text)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is out of range")
    return value


def _template(block: Json, plain: tuple[str, ...], *values: str) -> Json | None:
    """The block as `wire` template: None where it has just the plain keys, in plain order.

    The values that the content block holds itself are emptied, so that nothing is kept twice.
    """
    if tuple(block) == plain:
        return None
    return {k: None if k in values else v for k, v in block.items()}


def _append_citation(block: Json, delta: Json) -> None:
    citations = block.get("citations")
    if not isinstance(citations, list):
        citations = block["citations"] = []
    cast(list[Any], citations).append(clean_tree(delta.get("citation")))


def _ignored(delta: Json, kind: str) -> None:
    _log.info("delta %.60r on a %s block: ignored", delta.get("type"), kind)
