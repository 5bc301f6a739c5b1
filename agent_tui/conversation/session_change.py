"""SessionChange: the way of a conversation from its session into another one."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_tui import paths
from agent_tui.agent.agent import Agent, AgentBusyError
from agent_tui.agent.loop import ThinkingLevel
from agent_tui.conversation.container_files import ContainerFiles
from agent_tui.conversation.events import ConversationEvent, SettingChangedEvent
from agent_tui.conversation.meters import Meters
from agent_tui.conversation.model_call import ModelCall
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.conversation.session_link import SessionLink
from agent_tui.conversation.session_settings import SessionSettings
from agent_tui.conversation.tool_offer import ToolOffer
from agent_tui.conversation.toolset import Toolset
from agent_tui.drafts import Draft
from agent_tui.sessions.store import Session


@dataclass(slots=True)
class SessionChange:
    """cwd: of new sessions. of_session: the settings that another session goes on with; None:
    those of now. mask: what may stand in no file. busy: a run is on. carry: what is queued comes
    along."""

    cwd: str
    agent: Agent
    link: SessionLink
    model_call: ModelCall
    toolset: Toolset
    tool_offer: ToolOffer
    files: ContainerFiles
    meters: Meters
    models: ModelChoice
    of_session: SessionSettings | None
    mask: Callable[[str], str] | None
    busy: Callable[[], bool]
    carry: Callable[[], bool]
    emit: Callable[[ConversationEvent], None]

    @property
    def keeps(self) -> bool:
        """What is said is written down (False: --no-session)."""
        session = self.link.session
        return session.path is not None and not session.read_only

    async def begin_new(self) -> None:
        """See Conversation.clear."""
        old = self.link.session
        new = (
            Session.create(self.cwd, paths.home(), mask=self.mask, face=old.face)
            if self.keeps
            else Session.in_memory(self.cwd)
        )
        if old.model is not None:
            new.record_model(old.model)
        if old.thinking is not None:
            new.record_thinking(old.thinking)
        new.record_tools(self.toolset.choices())
        await self._enter(new)

    async def open(self, session: Session) -> None:
        """See Conversation.open_session."""
        if self.of_session is None:
            return await self._enter(session)
        settings = self.of_session.of(session)
        before = self.models.name
        model = await self.models.go_on_with(settings.model)
        try:
            await self._enter(session, model, settings.thinking)
        except AgentBusyError:  # a run began while the endpoint was asked
            self.models.name = before
            raise

    async def _enter(
        self, session: Session, model: str = "", thinking: ThinkingLevel | None = None
    ) -> None:
        """model, thinking: to go on with; "" and None: those of now. Nothing is awaited before
        the new session is in place."""
        if self.busy():
            raise AgentBusyError
        old, draft = self.link.session, self.link.session.draft
        before = self._settings()
        self.agent.set_model(model or self.agent.state.model, thinking)
        for (name, was), now in zip(before.items(), self._settings().values(), strict=True):
            if was != now:
                self.emit(SettingChangedEvent(name, now))
        closing = self.link.switch(session, carry=self.carry())
        self.model_call.enter(session)
        choices = self.of_session.tools(session) if self.of_session else session.tools
        self.tool_offer.enter(choices)
        self.files.enter(session.uploads)
        self.meters.begin(self.agent.state.messages, session.answers())
        self.emit(self.meters.totals.event())
        # What is in the composer goes with the screen, not with the session left behind: a crash
        # in between leaves it in both, rather than in none.
        if draft and not session.draft:
            self.link.draft(draft)
            await self.link.written()
        if not old.closed:
            old.record_draft(Draft())
        await closing

    def _settings(self) -> dict[str, str]:
        state = self.agent.state
        return {"model": state.model, "thinking": state.thinking_level}
