"""ContainerWatch: the state of the code-execution container, told as it changes."""

import time
from collections.abc import Callable

from agent_tui.agent.events import (
    AgentEndEvent,
    AgentEvent,
    DoneEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolExecutionEndEvent,
)
from agent_tui.agent.messages import AssistantMessage, Container
from agent_tui.conversation.events import ContainerChangedEvent
from agent_tui.messages_api.container import ContainerState

_TELLING = frozenset({"container", "opaque", "toolcall_end"})


class ContainerWatch:
    """Feed it every AgentEvent. Says nothing before a first container has an id."""

    def __init__(
        self,
        emit: Callable[[ContainerChangedEvent], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._emit = emit
        self._clock = clock
        self._state = ContainerState()
        self._told: ContainerChangedEvent | None = None

    def enter(self, container: Container | None) -> None:
        """Begin anew with what a session knows."""
        self._state = ContainerState()
        self._told = None
        if container is not None:
            self._state.id, self._state.expires_at = container.id, container.expires_at
            self._tell()

    def lost(self) -> None:
        """The service says that it is gone; the last id is told as expired."""
        if self._told is not None:
            self._state.lost()
            self._tell(self._told.id)

    def on_event(self, event: AgentEvent) -> None:
        match event:
            case MessageUpdateEvent() if event.event.type in _TELLING:
                self._state.feed(event.event, self._clock())
            case MessageEndEvent(message=AssistantMessage() as message):
                self._state.feed(DoneEvent(message), self._clock())
            case ToolExecutionEndEvent():
                self._state.answered(event.tool_call_id)
            case AgentEndEvent():
                self._state.interrupted()
            case _:
                return
        self._tell()

    def _tell(self, id: str | None = None) -> None:
        state = self._state
        known = id or state.id
        if known is None:
            return
        event = ContainerChangedEvent(
            known,
            state.state,
            state.expires_at,
            pending=len(state.pending),
            reused=state.reused,
            programs=state.programs,
            last_output=state.last_output,
            files=list(state.files),
        )
        if event != self._told:
            self._told = event
            self._emit(event)
