"""What a request holds, part by part: a digest of each part, and how many tokens it may be.

Read from the body as it goes out. A request repeats nearly all of the one before, and the
builder hands out the same objects for it, so what was looked at once is known by identity:
only what is new is hashed and measured.
"""

import base64
import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from pydantic_core import to_json

from agent_tui.conversation.token_estimate import estimate_tokens
from agent_tui.image_head import image_size

Source = Literal[
    "system", "tools", "prompts", "answers", "thinking", "calls", "results", "server", "images"
]
SOURCES: Final[tuple[Source, ...]] = (
    "system", "tools", "prompts", "answers", "thinking", "calls", "results", "server", "images"
)  # fmt: skip
"""In the order of a request. prompts: what the user said; server: blocks of the API's own tools
and whatever else the API sent."""

PIXELS_PER_TOKEN: Final = 750
IMAGE_TOKENS: Final = 1500
"""Of an image whose size cannot be read."""
BLOCK_TOKENS: Final = 4
"""What the frame of a message or a call costs, about."""

UNSETTLED: Final = 4
"""Messages at the end of a request that are others in the next: their marks move on."""
FORGET_FROM: Final = 2000
"""Parts that are known one by one; they are found out again when they come again."""

Json = dict[str, Any]
Digest = bytes


@dataclass(slots=True, frozen=True)
class MessageLook:
    """One message of a request. blocks: their digests; tokens: by source."""

    role: str
    blocks: tuple[Digest, ...]
    tokens: Counter[Source]


@dataclass(slots=True, frozen=True)
class RequestLook:
    """One request. tools: digest by name, in order; parameters: what else the cache depends on,
    by name, in words. sources: estimated tokens of all of it; what it has nothing of is left
    out."""

    model: str
    system: Digest
    tools: dict[str, Digest]
    parameters: dict[str, str]
    messages: tuple[MessageLook, ...]
    sources: dict[Source, int]


@dataclass(slots=True)
class _Known:
    """What was found out of one object. The object is kept, so that its id stays its own."""

    of: object
    digest: Digest
    tokens: Counter[Source] = field(default_factory=Counter[Source])


class RequestReader:
    """Looks at each request of a conversation. One at a time; any thread."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._sizes: dict[tuple[Source, Digest], Counter[Source]] = {}
        """By content: some parts (tools, what carries a cache mark) are made anew each time."""
        self._settled: list[Json] = []
        """The messages of the last request that the next will most likely hold unchanged, ..."""
        self._looks: list[MessageLook] = []
        self._program_calls: set[str] = set()
        self._tokens: Counter[Source] = Counter()
        """... the looks at them, and the sum of their tokens."""

    def read(self, request: Json) -> RequestLook:
        """request: build_request's body. It must not change afterwards."""
        messages = cast(list[Json], request.get("messages") or [])
        looks = self._look_at(messages)
        tokens: Counter[Source] = Counter()
        system = [cast(Json, b) for b in cast(list[Any], request.get("system") or [])]
        tokens["system"] = sum(estimate_tokens(str(b.get("text", ""))) for b in system)
        tools: dict[str, Digest] = {}
        for tool in cast(list[Json], request.get("tools") or []):
            part = self._part(tool, "tools")
            name = tool.get("name") or tool.get("mcp_server_name") or tool.get("type")
            tools[str(name)] = part.digest
            tokens.update(part.tokens)
        for source, count in self._tokens.items():
            tokens[source] += count
        for look in looks[len(self._looks) :]:
            tokens.update(look.tokens)
        return RequestLook(
            str(request.get("model") or ""),
            _hash([_unmarked(block) for block in system]),
            tools,
            _parameters(request),
            tuple(looks),
            {source: tokens[source] for source in SOURCES if tokens[source]},
        )

    def _look_at(self, messages: list[Json]) -> list[MessageLook]:
        """The looks at all of them; only those behind the settled ones are looked at."""
        if messages[: len(self._settled)] != self._settled:
            self._settled, self._looks, self._tokens = [], [], Counter()
            self._program_calls.clear()
        if len(self._known) > FORGET_FROM:
            self._known.clear()
            self._sizes.clear()
        begin = len(self._settled)
        fresh = [self._look(message) for message in messages[begin:]]
        settling = max(0, len(messages) - UNSETTLED - begin)
        for look in fresh[:settling]:
            self._tokens.update(look.tokens)
        looks = self._looks + fresh
        self._settled += messages[begin : begin + settling]
        self._looks += fresh[:settling]
        return looks

    def _look(self, message: Json) -> MessageLook:
        role = str(message["role"])
        tokens: Counter[Source] = Counter()
        digests: list[Digest] = []
        for block in cast(list[Json], message["content"]):
            part = self._part(block, _source(role, block))
            digests.append(part.digest)
            if not self._is_of_a_program(block):
                tokens.update(part.tokens)
        return MessageLook(role, tuple(digests), tokens)

    def _is_of_a_program(self, block: Json) -> bool:
        """A call that a program made, or its result: the model never reads either (facts)."""
        match block.get("type"):
            case "tool_use":
                made = cast(Json, block.get("caller") or {}).get("type", "direct") != "direct"
                if made:
                    self._program_calls.add(str(block.get("id")))
                return made
            case "tool_result":
                return block.get("tool_use_id") in self._program_calls
            case _:
                return False

    def _part(self, block: Json, source: Source) -> _Known:
        found = self._known.get(id(block))
        if found is None or found.of is not block:
            found = self._known[id(block)] = self._find_out(block, source)
        return found

    def _find_out(self, block: Json, source: Source) -> _Known:
        if block.get("type") == "image":
            return self._image(block)
        inner = block.get("content")
        if block.get("type") != "tool_result" or not isinstance(inner, list):
            digest = _hash(_unmarked(block))
            tokens = self._sizes.get((source, digest))
            if tokens is None:
                tokens = Counter[Source]({source: _tokens_of(block) + BLOCK_TOKENS})
                self._sizes[source, digest] = tokens
            return _Known(block, digest, tokens)
        # A result with images is made anew for each request; its images are not.
        parts = [self._part(cast(Json, part), source) for part in cast(list[Any], inner)]
        frame = {k: v for k, v in _unmarked(block).items() if k != "content"}
        tokens = Counter[Source]({source: BLOCK_TOKENS})
        for part in parts:
            tokens.update(part.tokens)
        return _Known(block, _hash([frame, *(p.digest.hex() for p in parts)]), tokens)

    def _image(self, block: Json) -> _Known:
        data: Any = cast(Json, block.get("source") or {}).get("data")
        if not isinstance(data, str):
            return _Known(block, _hash(_unmarked(block)), Counter({"images": IMAGE_TOKENS}))
        found = self._known.get(id(data))
        if found is None or found.of is not data:
            digest = hashlib.blake2b(data.encode("utf-8", "replace"), digest_size=16).digest()
            found = _Known(data, digest, Counter({"images": _image_tokens(data)}))
            self._known[id(data)] = found
        return _Known(block, found.digest, found.tokens)


def _unmarked(block: Json) -> Json:
    """Without its cache mark, which moves on with each request."""
    return {k: v for k, v in block.items() if k != "cache_control"}


def _source(role: str, block: Json) -> Source:
    match block.get("type"):
        case "text":
            return "answers" if role == "assistant" else "prompts"
        case "thinking" | "redacted_thinking":
            return "thinking"
        case "tool_use":
            return "calls"
        case "tool_result":
            return "results"
        case "image":
            return "images"
        case _:
            return "server"


def _parameters(request: Json) -> dict[str, str]:
    thinking = cast(Json, request.get("thinking") or {})
    output = cast(Json, request.get("output_config") or {})
    found = {
        "thinking": thinking.get("type"),
        "thinking budget": thinking.get("budget_tokens"),
        "effort": output.get("effort"),
        "tool choice": cast(Json, request.get("tool_choice") or {}).get("type"),
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _hash(value: Any) -> Digest:
    return hashlib.blake2b(
        to_json(value, inf_nan_mode="null", fallback=str), digest_size=16
    ).digest()


def _tokens_of(value: Any) -> int:
    """Of all strings of a JSON value, keys too; signatures and other ciphers by their length."""
    total = 0
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            total += estimate_tokens(item)
        elif isinstance(item, dict):
            for key, inner in cast(Json, item).items():
                if key in ("signature", "cache_control") or key.endswith("id"):
                    continue
                if key.startswith("encrypted") or key == "data":
                    total += len(str(inner)) // 4
                    continue
                total += 2
                stack.append(inner)
        elif isinstance(item, list):
            stack += cast(list[Any], item)
        else:
            total += 1
    return total


def _image_tokens(data: str) -> int:
    try:
        size = image_size(base64.b64decode(data[: 4 * 16_384], validate=False))
    except ValueError:
        size = None
    if size is None:
        return IMAGE_TOKENS
    return max(1, min(IMAGE_TOKENS, round(size[0] * size[1] / PIXELS_PER_TOKEN)))


def scaled(parts: dict[Source, int], total: int) -> dict[Source, int]:
    """The parts brought to this total, in proportion; they sum up to it exactly."""
    whole = sum(parts.values())
    if not whole:
        return {}
    rounded: dict[Source, int] = {}
    rest: dict[Source, float] = {}
    for source, tokens in parts.items():
        exact = tokens * total / whole
        rounded[source] = int(exact)
        rest[source] = exact - rounded[source]
    missing = total - sum(rounded.values())
    for source in sorted(rest, key=lambda s: rest[s], reverse=True)[:missing]:
        rounded[source] += 1
    return {source: tokens for source, tokens in rounded.items() if tokens}
