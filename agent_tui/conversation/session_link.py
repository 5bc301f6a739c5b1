"""SessionLink: a conversation's record on disk; one session at a time, changed by /clear and
/resume. What is written when is the business of the room sessions/.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import AgentEvent
from agent_tui.agent.message_queue import QueueItem, QueueKind
from agent_tui.agent.messages import (
    AssistantMessage,
    BashExecutionMessage,
    Container,
    ContainerUpload,
)
from agent_tui.drafts import Draft
from agent_tui.sessions.store import Session
from agent_tui.sessions.subscriber import SessionRecorder
from agent_tui.text import clean

log = logging.getLogger(__name__)

Notify = Callable[[str], None]


@dataclass(slots=True)
class Restored:
    """What a session brings back beside its messages and its queue, for a face.

    greeting: which session it is, "" for a new one. notices: what was damaged in it, and which
    uploads wait in it.
    deliveries: of queue items, id → (kind, where it landed). durations: milliseconds of each
    ended tool, by tool_call_id.
    """

    greeting: str = ""
    notices: list[str] = field(default_factory=list[str])
    draft: Draft = field(default_factory=Draft)
    deliveries: dict[str, tuple[QueueKind, str]] = field(
        default_factory=dict[str, tuple[QueueKind, str]]
    )
    durations: dict[str, int] = field(default_factory=dict[str, int])


class SessionLink:
    """Subscribe `on_event` to the agent before any face: what a face shows is on disk.

    notify gets each warning about reading or writing, a sentence for the user.
    """

    def __init__(self, session: Session, agent: Agent, notify: Notify) -> None:
        self._agent = agent
        self._notify = notify
        self._recorder = SessionRecorder(session, notify=notify)
        self._detach: Callable[[], None] = lambda: None

    @property
    def session(self) -> Session:
        return self._recorder.session

    def attach(self) -> None:
        """Put what the session holds (messages, queue) into the agent; record from here on."""
        session = self.session
        self._agent.replace_messages(session.messages())
        self._detach = self._recorder.attach_queue(self._agent.queue)
        for notice in session.notices:
            self._notify(notice)

    def restored(self) -> Restored:
        session = self.session
        return Restored(
            session.greeting,
            [*session.notices, *_waiting_uploads(session)],
            session.draft,
            {item: (how.kind, how.landed) for item, how in session.deliveries().items()},
            session.durations,
        )

    def switch(self, session: Session, *, carry: bool = False) -> Awaitable[None]:
        """Go on in this session, at once; only while the agent is idle. Await what is given: it
        closes the session before.

        carry: what waits in the queue comes along (it was queued behind the command that
        switches); else it stays queued in its own session.
        """
        old = self.session
        self._detach()
        queue = self._agent.queue
        carried = queue.items() if carry else []
        # Here it is only taken out of sight.
        queue.reset()
        # What is said while the old one closes goes into the new one.
        self._recorder = SessionRecorder(session, notify=self._notify)
        self.attach()
        if carried:
            session.record_carried(old)
        for item in carried:
            queue.add(item.kind, item.message, item.id, local=item.local)
        return self._close_old(old, carried)

    async def _close_old(self, old: Session, carried: Sequence[QueueItem]) -> None:
        if carried and await self.written():
            # Only now: a crash in between leaves them in both, rather than in none, and the new
            # session says that it has them (sessions/carried.py).
            for item in carried:
                old.record_queue("withdraw", item.id)
        await asyncio.to_thread(old.close)

    async def on_event(self, event: AgentEvent) -> None:
        await self._recorder.on_event(event)

    def strike(self, message_id: str) -> None:
        """A broken sample goes to a dead branch: its retry has the same parent (DESIGN)."""
        try:
            self.session.set_aside(message_id)
        except KeyError:
            log.warning("message %s was not recorded, so it cannot be set aside", message_id)

    def beside(self, answer: AssistantMessage) -> None:
        """An answer that is no part of the conversation, but costs: so it does when resumed."""
        if not self.session.closed:
            self.session.record_beside(answer)

    def container(self, container: Container | None) -> None:
        self.session.record_container(container)

    def uploads(self, waiting: list[ContainerUpload]) -> None:
        """Files that go with the user's next message; they are there again after a restart."""
        if not self.session.closed:
            self.session.record_uploads(waiting)

    def ran(self, message: BashExecutionMessage) -> None:
        """A command of the user has begun, or has ended and waits for the end of a run."""
        if not self.session.closed:
            self.session.record_ran(message)

    def draft(self, draft: Draft) -> None:
        """What stands in the composer now; nothing when the session is closed already."""
        if not self.session.closed:
            self.session.record_draft(draft)

    def mended(self, what: str, ids: list[str], text: str) -> None:
        """What requests leave out or add from here on (mending.py)."""
        if self.session.closed:
            log.warning("a request was mended after its session was closed")
            return
        self.session.record_mend(what, ids, text)

    async def written(self) -> bool:
        """Everything recorded so far is on disk; False if it could not be written."""
        return await self._recorder.written()

    async def close(self) -> None:
        await asyncio.to_thread(self.session.close)


def _waiting_uploads(session: Session) -> list[str]:
    """A word about files that go out with the next message: they were uploaded a while ago."""
    names = ", ".join(clean(upload.name or upload.file_id) for upload in session.uploads)
    return [f"Uploaded, goes with your next message: {names}."] if names else []
