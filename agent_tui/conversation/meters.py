"""Meters: what a conversation counts as it goes: usage, the prompt cache, the context."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from agent_tui.agent.events import AgentEvent, MessageEndEvent
from agent_tui.agent.messages import AgentMessage, AssistantMessage, OpaqueContent
from agent_tui.conversation.cache_lens import CacheLens
from agent_tui.conversation.events import (
    CacheEvent,
    ContextChangedEvent,
    ConversationEvent,
    NoticeEvent,
)
from agent_tui.conversation.request_look import RequestLook, RequestReader, scaled
from agent_tui.conversation.usage import InfoOf, UsageMeter, UsageTotals
from agent_tui.messages_api import usage_details
from agent_tui.messages_api.errors import ApiError

log = logging.getLogger(__name__)

NOTABLE_TOKENS = 1024
"""A smaller loss of the cache is shown in the panel, but not worth a word in between."""

TTL_S = {"5m": 300.0, "1h": 3600.0, "off": 300.0}
"""By the setting `cache`. A server that keeps prompts unasked keeps them for minutes."""


class RequestWatch:
    """Looks at each request before it goes out; give it to make_stream_function (on_request)."""

    def __init__(self, cache: str = "5m") -> None:
        self.lens = CacheLens(TTL_S[cache])
        self._reader = RequestReader()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> None:
        try:
            self.lens.sent(self.look(request))
        except Exception:  # a meter must never keep a request from going out
            log.exception("a request could not be looked at")

    def look(self, request: dict[str, Any]) -> RequestLook:
        """At a request that is not sent."""
        with self._lock:
            return self._reader.read(request)


class Meters:
    """Give it every AgentEvent; it tells the counts as ConversationEvents."""

    def __init__(
        self,
        info_of: InfoOf,
        emit: Callable[[ConversationEvent], None],
        watch: RequestWatch | None = None,
    ) -> None:
        self._info_of = info_of
        self._emit = emit
        self._usage = UsageMeter(info_of)
        self._watch = watch or RequestWatch()
        self.context: ContextChangedEvent | None = None
        """As last told; None before the first."""
        self.cache: CacheEvent | None = None
        """Of the last answer."""

    @property
    def totals(self) -> UsageTotals:
        return self._usage.totals

    @property
    def last_break(self) -> CacheEvent | None:
        return self._watch.lens.last_break

    def begin(
        self, messages: Sequence[AgentMessage], answers: Sequence[AssistantMessage] = ()
    ) -> None:
        """Anew, with what a session holds already. answers: see UsageMeter.begin()."""
        self._usage.begin(messages, answers)
        self._watch.lens.begin()
        self.context = self.cache = None

    def told(self) -> list[ConversationEvent]:
        """What was told last of each."""
        last = [self.last_break, self.cache, self.context]
        return [self.totals.event(), *(event for event in last if event is not None)]

    def windows_known(self) -> bool:
        """More is known of the models now; True when that changes what was told of the context."""
        totals = self.totals
        if not totals.answers:
            return False
        window = self._info_of(totals.answers[-1].model).context_window
        changed, totals.context_window = window != totals.context_window, window
        if changed and self.context is not None:
            self.context = replace(self.context, window=window)
            self._emit(self.context)
        return changed

    def on_event(self, event: AgentEvent) -> None:
        answer = self._usage.on_event(event)
        if answer is None:
            return
        self._emit(self.totals.event())
        assert isinstance(event, MessageEndEvent)
        assert isinstance(event.message, AssistantMessage)
        usage = event.message.usage
        assert usage is not None
        served = any(isinstance(block, OpaqueContent) for block in event.message.content)
        self.cache = self._watch.lens.answered(answer.number, usage, summed=served)
        if self.cache is not None:
            self._emit(self.cache)
            if self.cache.broke and self.cache.lost >= NOTABLE_TOKENS:
                self._emit(NoticeEvent("info", cache_words(self.cache)))
        look = self._watch.lens.request
        if look is not None:
            prompt, output = usage_details.context_parts(usage)
            sources: dict[str, int] = {**scaled(look.sources, prompt)}
            if output:
                sources["answer"] = output
            self._tell_context(sources, exact=bool(prompt), model=event.message.model)

    def count_beside(self, message: AssistantMessage) -> None:
        """An answer that is no part of the conversation, but costs: the context is as it was."""
        totals = self.totals
        before = (totals.context_tokens, totals.context_window)
        if totals.add(message, self._info_of) is not None:
            totals.context_tokens, totals.context_window = before
            self._emit(totals.event())

    async def measure(
        self,
        build: Callable[[], dict[str, Any]],
        count: Callable[[dict[str, Any]], Awaitable[int | None]],
    ) -> None:
        """Tell what the next request would hold: build() gives its body, in a thread; count()
        asks the service for its tokens, None where it cannot say."""
        try:
            request = await asyncio.to_thread(build)
        except ApiError:
            return  # there is nothing to send yet
        look = await asyncio.to_thread(self._watch.look, request)
        total: int | None = None
        try:
            total = await count(request)
        except ApiError as error:
            log.info("the tokens of the context could not be counted: %s", error)
        sources = look.sources if total is None else scaled(look.sources, total)
        self._tell_context({**sources}, exact=total is not None, model=look.model)

    def _tell_context(self, sources: dict[str, int], *, exact: bool, model: str) -> None:
        window = self._info_of(model).context_window
        self.context = ContextChangedEvent(sources, sum(sources.values()), exact, window)
        self._emit(self.context)


def cache_words(event: CacheEvent) -> str:
    """A sentence on a break: what was not found, and what was."""
    if event.read:
        return (
            f"Only an older beginning was found in the prompt cache: {event.detail}. "
            f"{event.read:,} tokens were read from it, {event.lost:,} more that it held were not."
        )
    return (
        f"The prompt cache starts anew: {event.detail}. "
        f"{event.lost:,} tokens that it held were not read from it."
    )
