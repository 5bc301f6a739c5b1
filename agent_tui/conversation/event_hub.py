"""EventHub: hands AgentEvents and ConversationEvents on to whoever subscribed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from agent_tui.agent.events import AgentEvent
from agent_tui.conversation.events import ConversationEvent, NoticeEvent

log = logging.getLogger(__name__)

AnyEvent = AgentEvent | ConversationEvent
Subscriber = Callable[[AnyEvent], Awaitable[None] | None]


class EventHub:
    """A subscriber that throws is logged; the others still get the event. Notices from before
    anybody subscribed are kept for the first who does."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self._early: list[NoticeEvent] = []
        self._background: set[asyncio.Future[Any]] = set()

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """Gives the unsubscriber."""
        self._subscribers.append(fn)
        early, self._early = self._early, []
        for notice in early:
            self.emit(notice)
        return lambda: self._subscribers.remove(fn)

    def emit(self, event: ConversationEvent) -> None:
        """At once; what a subscriber returns to be awaited runs on as a task."""
        if not self._subscribers and isinstance(event, NoticeEvent):
            self._early.append(event)
        for fn in tuple(self._subscribers):
            try:
                result = fn(event)
            except Exception:
                log.exception("a subscriber failed on %s", event.type)
                continue
            if result is not None:
                task = asyncio.ensure_future(result)
                self._background.add(task)
                task.add_done_callback(self._background.discard)

    async def send(self, event: AgentEvent) -> None:
        """In the loop: subscribers are awaited in their order."""
        for fn in tuple(self._subscribers):
            try:
                result = fn(event)
                if result is not None:
                    await result
            except Exception:
                log.exception("a subscriber failed on %s", event.type)
