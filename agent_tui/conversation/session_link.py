"""SessionLink: a conversation's record on disk; one session at a time, changed by /clear and
/resume. What is written when is the business of the room sessions/.
"""

import asyncio
import logging
from collections.abc import Callable

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import AgentEvent
from agent_tui.agent.messages import Container
from agent_tui.sessions.store import Session
from agent_tui.sessions.subscriber import SessionRecorder

log = logging.getLogger(__name__)

Notify = Callable[[str], None]


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

    async def switch(self, session: Session) -> None:
        """Close the present session and go on in this one. Only while the agent is idle."""
        old = self.session
        self._detach()
        # What waits stays queued in its own session; here it is only taken out of sight.
        self._agent.queue.reset()
        # At once, so that what is said while the old one closes goes into the new one.
        self._recorder = SessionRecorder(session, notify=self._notify)
        self.attach()
        await asyncio.to_thread(old.close)

    async def on_event(self, event: AgentEvent) -> None:
        await self._recorder.on_event(event)

    def strike(self, message_id: str) -> None:
        """A broken sample goes to a dead branch: its retry has the same parent (DESIGN)."""
        try:
            self.session.set_aside(message_id)
        except KeyError:
            log.warning("message %s was not recorded, so it cannot be set aside", message_id)

    def container(self, container: Container | None) -> None:
        self.session.record_container(container)

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
