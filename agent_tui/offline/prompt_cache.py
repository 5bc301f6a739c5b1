"""The prompt cache, as the service keeps it: beginnings of requests, by their exact content.

A request's beginning is its tools, then its system prompt, then its messages (and before those
the thinking settings, which only they depend on). At each cache_control mark the service keeps
the beginning up to there, and looks for one it has kept: at the mark, or at one of the 20 blocks
before it. What is read is kept on for its whole time again.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

LOOK_BACK: Final = 20
"""Blocks from a mark, itself included."""
SMALLEST: Final = 1024
"""Tokens; a shorter beginning is not kept."""
TTL_S: Final = {"5m": 300.0, "1h": 3600.0}


@dataclass(slots=True, frozen=True)
class CacheShare:
    """Tokens of one request read from the cache and written to it, for five minutes or an hour."""

    read: int = 0
    written: int = 0
    written_1h: int = 0

    def usage(self, tokens: int) -> dict[str, Any]:
        """The input side of a usage object for a request of so many tokens."""
        written = self.written + self.written_1h
        return {
            "input_tokens": max(0, tokens - self.read - written),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }


@dataclass(slots=True, frozen=True)
class _Place:
    """The end of one block. key: of all up to here. tokens: of all up to here."""

    key: bytes
    tokens: float
    mark: str | None


class PromptCache:
    """One for a server. count: tokens of a JSON value. read_by_model: a request's messages
    without what never reaches the model (calls of programs, and their results)."""

    def __init__(
        self,
        count: Callable[[Any], float],
        read_by_model: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._count = count
        self._read_by_model = read_by_model
        self._clock = clock
        self._kept: dict[bytes, tuple[float, float]] = {}
        """Until when, and for how long after each use, by key."""
        self._last: tuple[dict[str, Any], CacheShare] | None = None

    def share(self, body: dict[str, Any]) -> CacheShare:
        """What the cache does for this request; asked again for the same one, the same."""
        if self._last is not None and self._last[0] is body:
            return self._last[1]
        share = self._use(list(self._places(body)))
        self._last = (body, share)
        return share

    def _use(self, places: list[_Place]) -> CacheShare:
        now = self._clock()
        self._kept = {key: kept for key, kept in self._kept.items() if kept[0] > now}
        marks = [at for at, place in enumerate(places) if place.mark is not None]
        found = max((self._found(places, at) for at in marks), default=-1)
        if found >= 0:
            key = places[found].key
            self._kept[key] = (now + self._kept[key][1], self._kept[key][1])
        read = round(places[found].tokens) if found >= 0 else 0
        reached, written = read, {"5m": 0, "1h": 0}
        for at in marks:
            place = places[at]
            if at <= found or place.tokens < SMALLEST:
                continue
            ttl = place.mark or "5m"
            self._kept[place.key] = (now + TTL_S[ttl], TTL_S[ttl])
            written[ttl] += round(place.tokens) - reached
            reached = round(place.tokens)
        return CacheShare(read, written["5m"], written["1h"])

    def _found(self, places: list[_Place], mark: int) -> int:
        """The last place that is kept, among those looked at from this mark; -1: none."""
        for at in range(mark, max(-1, mark - LOOK_BACK), -1):
            if places[at].key in self._kept:
                return at
        return -1

    def _places(self, body: dict[str, Any]) -> Iterator[_Place]:
        key = hashlib.sha256(str(body.get("model")).encode("utf-8", "replace")).digest()
        tokens = 0.0
        messages = self._read_by_model(_dicts(body.get("messages")))
        for block, frame in _blocks(body | {"messages": messages}):
            plain = {k: v for k, v in block.items() if k != "cache_control"}
            text = json.dumps([frame, plain], sort_keys=False)
            key = hashlib.sha256(key + text.encode("ascii")).digest()
            tokens += self._count(plain)
            yield _Place(key, tokens, _mark(block))


def _blocks(body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Every block in the cache's order, with what else its place depends on."""
    yield from ((tool, "tool") for tool in _dicts(body.get("tools")))
    system = body.get("system")
    if isinstance(system, str):
        yield {"type": "text", "text": system}, "system"
    else:
        yield from ((block, "system") for block in _dicts(system))
    settings = [body.get("thinking"), body.get("output_config"), body.get("tool_choice")]
    for message in _dicts(body.get("messages")):
        content, frame = message.get("content"), [settings, message.get("role")]
        if isinstance(content, str):
            yield {"type": "text", "text": content}, frame
        else:
            yield from ((block, frame) for block in _dicts(content))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _mark(block: dict[str, Any]) -> str | None:
    mark = block.get("cache_control")
    if not isinstance(mark, dict):
        return None
    return "1h" if mark.get("ttl") == "1h" else "5m"
