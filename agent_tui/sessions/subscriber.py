"""SessionRecorder: what an agent does goes into its session, in order and durably."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from agent_tui.agent.events import MessageEndEvent, MessageStartEvent, ToolExecutionEndEvent
from agent_tui.agent.message_queue import QueueItem, QueueKind
from agent_tui.agent.messages import AgentMessage, AssistantMessage
from agent_tui.sessions.store import Session
from agent_tui.sessions.tree import Delivered
from agent_tui.sessions.writer import Ticket

log = logging.getLogger(__name__)


class Queue(Protocol):
    """What is needed of a MessageQueue."""

    @property
    def paused(self) -> bool: ...
    def items(self) -> list[QueueItem]: ...
    def history(self) -> list[QueueItem]: ...
    def taken(self) -> list[QueueItem]: ...
    def add(
        self,
        kind: QueueKind,
        message: AgentMessage,
        item_id: str | None = None,
        *,
        local: bool = False,
    ) -> Any: ...
    def pause_waiting(self) -> None: ...
    def subscribe(self, fn: Callable[[], None]) -> Callable[[], None]: ...


class SessionRecorder:
    """Subscribe `on_event` to an Agent, before any face, and call `attach_queue` once.

    Args: notify gets each warning about writing (a sentence for the user). patience:
    seconds that one event waits for the disk; then the run goes on and the line follows.
    """

    def __init__(
        self,
        session: Session,
        *,
        notify: Callable[[str], None] | None = None,
        patience: float = 10.0,
    ) -> None:
        self._session = session
        self._notify = notify
        self._patience = patience
        self._seen: dict[str, tuple[AgentMessage, str]] = {}
        self._queue: Queue | None = None

    @property
    def session(self) -> Session:
        return self._session

    async def on_event(self, event: object) -> None:
        """Records messages as they end and tools as they end; returns when the record is on
        disk (or could not be written: then notify is called and the run goes on). Other
        events cost nothing."""
        match event:
            case MessageEndEvent() | ToolExecutionEndEvent() if self._session.closed:
                log.warning("a %s came after the session was closed", event.type)
            case MessageEndEvent():
                delivered = self._delivered(event.message)
                await self._durable(
                    self._session.append_message(event.message, delivered=delivered)
                )
            case MessageStartEvent(message=AssistantMessage()) if not self._session.closed:
                self._session.record_answer_began(event.message.id)
            case ToolExecutionEndEvent():
                await self._durable(
                    self._session.record_tool_outcome(event.result, duration_ms=event.duration_ms)
                )
            case _:
                pass

    def attach_queue(self, queue: Queue) -> Callable[[], None]:
        """Puts the items of the session back into the queue (paused, if it was), then records
        each change of it. Returns how to stop that."""
        self._queue = queue
        for item_id in sorted(self._session.carried):
            self._session.record_queue("withdraw", item_id)
        self._session.carried.clear()
        stored = self._session.queue_items()
        there = {item.id for item in queue.items()}
        for item in stored:
            if item.id not in there:
                message = item.message.model_copy(deep=True)
                queue.add(item.kind, message, item.id, local=item.local)
        if self._session.queue_paused:
            queue.pause_waiting()
        known = {item.id for item in stored}
        self._seen = {i.id: (i.message, i.text) for i in queue.items() if i.id in known}
        self.queue_changed(queue)
        return queue.subscribe(lambda: self.queue_changed(queue))

    def queue_changed(self, queue: Queue) -> None:
        """Records what differs from what the session knows. An item that is gone is withdrawn
        only if the queue says so: one that was taken is delivered by its message's record."""
        session = self._session
        if session.closed:
            log.warning("the queue changed after its session was closed")
            return
        known = {item.id for item in session.queue_items()}
        live = [item for item in queue.items() if not session.was_delivered(item.id)]
        for item in live:
            if item.id not in known:
                session.record_queue(
                    "add", item.id, kind=item.kind, message=item.message, local=item.local
                )
            elif self._is_edited(item):
                session.record_queue("edit", item.id, message=item.message)
        self._seen = {item.id: (item.message, item.text) for item in live}
        gone = known - {item.id for item in live}
        if gone:
            for item in queue.history():
                if item.id in gone and item.state == "withdrawn":
                    session.record_queue("withdraw", item.id)
        self._record_order(live)
        if queue.paused != session.queue_paused:
            session.record_queue("pause" if queue.paused else "resume")

    async def written(self) -> bool:
        """Waits until everything recorded so far is on disk; False if it could not be written,
        or not within the patience (then notify was called). For a face that must not say
        "accepted" before."""
        try:
            done = await asyncio.to_thread(self._session.flush, self._patience)
        except TimeoutError:
            self._say_slow()
            done = False
        self._say_warnings()
        return done

    def _delivered(self, message: AgentMessage) -> Delivered | None:
        """How a message of the queue goes out; None for one that was never queued."""
        taken = self._queue.taken() if self._queue is not None else []
        item = next((item for item in taken if item.message is message), None)
        return None if item is None else Delivered(item.kind, item.landed)

    def _is_edited(self, item: QueueItem) -> bool:
        message, text = self._seen.get(item.id, (None, ""))
        return message is not item.message or text != item.text

    def _record_order(self, live: list[QueueItem]) -> None:
        ids: dict[QueueKind, list[str]] = {"steer": [], "follow_up": []}
        for item in live:
            ids[item.kind].append(item.id)
        alive = {item.id for item in live}
        recorded: dict[QueueKind, list[str]] = {"steer": [], "follow_up": []}
        for item in self._session.queue_items():
            if item.id in alive:
                recorded[item.kind].append(item.id)
        if ids != recorded:
            self._session.record_queue("order", steer=ids["steer"], follow_up=ids["follow_up"])

    async def _durable(self, ticket: Ticket) -> None:
        try:
            await asyncio.wait_for(asyncio.wrap_future(ticket), self._patience)
        except TimeoutError:
            self._say_slow()
        self._say_warnings()

    def _say_slow(self) -> None:
        log.warning("the disk did not confirm a record in %s s", self._patience)
        self._say(
            f"The disk has not answered for {self._patience:.0f} s; the conversation goes "
            "on, and its record follows when the disk does."
        )

    def _say_warnings(self) -> None:
        for warning in self._session.warnings():
            self._say(warning)

    def _say(self, text: str) -> None:
        if self._notify is not None:
            self._notify(text)
