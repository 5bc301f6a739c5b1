"""The cache lens: what the prompt cache did for each answer, and what broke it.

The service keeps the beginning of a request (tools, system, messages, in this order) and finds
it again only as it was. What it read and wrote it tells in the usage of each answer; when it
reads less than it held, two requests are compared part by part to say which change did it.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from agent_tui.agent.messages import Usage
from agent_tui.conversation.events import CacheCause, CacheEvent
from agent_tui.conversation.request_look import MessageLook, RequestLook
from agent_tui.messages_api.usage_details import cache_parts, is_split
from agent_tui.text import duration

SLACK_TOKENS = 16
"""So many fewer are not a break: services round."""
CUT_SHARE = 0.9
"""Of what a conversation that was cut back still holds, by estimate."""
MIN_TTL_S = 300.0

Change = tuple[CacheCause, str]
"""Which part, and what of it in words."""


class CacheLens:
    """sent() with each request as it goes out (any thread), answered() when its answer ended.

    ttl_s: how long the service keeps what was asked to be kept. clock: seconds.
    """

    def __init__(
        self, ttl_s: float = MIN_TTL_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ttl_s = ttl_s
        self._clock = clock
        self._sent: tuple[RequestLook, float] | None = None
        self._last: tuple[RequestLook, float] | None = None
        self._kept = 0
        self.last_break: CacheEvent | None = None

    @property
    def request(self) -> RequestLook | None:
        """The last request that went out."""
        return self._sent[0] if self._sent is not None else None

    def begin(self) -> None:
        """Another conversation: nothing is known of what the service holds."""
        self._sent = self._last = self.last_break = None
        self._kept = 0

    def sent(self, look: RequestLook) -> None:
        self._sent = (look, self._clock())

    def answered(self, number: int, usage: Usage, *, summed: bool = False) -> CacheEvent | None:
        """What the cache did for answer `number`; None where the server does not say. summed:
        its counts may be the sum of several samplings (server tools)."""
        if usage.cache_read is None and usage.cache_write is None:
            return None
        written = usage.cache_write or 0
        read, kept = cache_parts(usage)
        event = CacheEvent(number, read, written, usage.input or 0, expected=self._kept)
        if self._sent is not None and self._last is not None:
            event.expected = self._expected(read + written + (usage.input or 0))
        if self._last is not None and read < event.expected - SLACK_TOKENS:
            event.broke, event.lost = True, event.expected - read
            event.cause, event.detail = self._why()
            self.last_break = event
        # Of a sum nobody can tell what is kept; the next request is not judged by it.
        self._last, self._kept = self._sent, 0 if summed and not is_split(usage) else kept
        return event

    def _expected(self, whole: int) -> int:
        """Tokens that should be read, of a request of so many: all that is kept, but of a
        conversation that was cut back only what it still holds."""
        assert self._sent is not None and self._last is not None
        now, before = self._sent[0], self._last[0]
        if len(now.messages) >= len(before.messages):
            return self._kept
        same = common(before.messages, now.messages)
        held = sum(look.tokens.total() for look in before.messages[:same])
        said = sum(look.tokens.total() for look in now.messages)
        estimated = sum(now.sources.values())
        share = min(1.0, (estimated - said + held) / estimated) if estimated else 0.0
        return min(self._kept, int(whole * share * CUT_SHARE))

    def _why(self) -> Change:
        assert self._sent is not None and self._last is not None
        (now, at), (before, then) = self._sent, self._last
        found = list(changes(before, now))
        if found:
            return found[0][0], "; ".join(words for _, words in found)
        idle = at - then
        if idle >= self._ttl_s:
            kept = f"{self._ttl_s / 60:g} min"
            return "expired", f"{duration(idle)} had passed, and the service keeps it for {kept}"
        return "unknown", "nothing in the request had changed; the service did not keep it"


def changes(before: RequestLook, now: RequestLook) -> Iterator[Change]:
    """What differs of the beginning that two requests should share, in the cache's order."""
    if before.model != now.model:
        yield "model", f"the model changed from {before.model} to {now.model}"
    if tools := _tools(before.tools, now.tools):
        yield "tools", f"tools changed: {tools}"
    if before.system != now.system:
        yield "system", "the system prompt changed"
    if before.parameters != now.parameters:
        yield "parameters", _parameters(before.parameters, now.parameters)
    if history := _history(before.messages, now.messages):
        yield "history", history


def _tools(before: dict[str, bytes], now: dict[str, bytes]) -> str:
    changed = [name for name in now if name in before and before[name] != now[name]]
    parts = [
        ("added", [name for name in now if name not in before]),
        ("removed", [name for name in before if name not in now]),
        ("different", changed),
    ]
    said = [f"{word} {_some(names)}" for word, names in parts if names]
    if not said and list(before) != list(now):
        return "in another order"
    return ", ".join(said)


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _parameters(before: dict[str, str], now: dict[str, str]) -> str:
    names = [n for n in {**before, **now} if before.get(n) != now.get(n)]
    return "; ".join(f"{n} changed from {before.get(n, 'unset')} to {now.get(n, 'unset')}"
                     for n in names)  # fmt: skip


def _history(before: tuple[MessageLook, ...], now: tuple[MessageLook, ...]) -> str:
    """The first message that is not as it was; "" when the new request only goes on.

    The end of the old one may have grown: only what its last mark covered was kept, and that is
    everything up to its last user message.
    """
    kept = len(before)
    while kept and before[kept - 1].role != "user":
        kept -= 1
    at = common(before, now)
    if at >= kept:
        return ""
    if at >= len(now):
        return f"the conversation was cut after message {at}"
    whose = "yours" if now[at].role == "user" else "the model's"
    return f"message {at + 1} of {len(now)} ({whose}) is not as it was sent before"


def common(before: Sequence[MessageLook], now: Sequence[MessageLook]) -> int:
    """How many messages at the beginning are as they were; the last of them may have grown."""
    for at, (old, new) in enumerate(zip(before, now, strict=False)):
        if old is not new and (old.role != new.role or new.blocks[: len(old.blocks)] != old.blocks):
            return at
    return min(len(before), len(now))
