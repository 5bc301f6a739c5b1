"""ContainerWatch: the state of the code-execution container, told as it changes."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from agent_tui.agent.events import (
    AgentEndEvent,
    AgentEvent,
    DoneEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolExecutionEndEvent,
)
from agent_tui.agent.messages import AssistantMessage, Container
from agent_tui.conversation.events import ContainerChangedEvent, ProgramRun
from agent_tui.conversation.token_estimate import estimate_tokens
from agent_tui.messages_api.container import ContainerState
from agent_tui.messages_api.container_programs import Program

RUNS_TOLD = 50
"""Programs told one by one; more are counted only."""


class ContainerWatch:
    """Feed it every AgentEvent. Says nothing before a first container has an id.

    last: what was told last, for a face that comes later.
    """

    def __init__(
        self,
        emit: Callable[[ContainerChangedEvent], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._emit = emit
        self._clock = clock
        self._state = ContainerState(estimate_tokens)
        self._known: dict[str, dict[str, Any]] = {}
        self._asked: set[str] = set()
        self._attached: list[dict[str, Any]] = []
        self._expiry: asyncio.TimerHandle | None = None
        self.last: ContainerChangedEvent | None = None
        self._found_files: Callable[[list[str]], None] | None = None

    def tell_files_to(self, fn: Callable[[list[str]], None]) -> None:
        """fn gets the ids of files of which nothing is known yet; know_file() says it then."""
        self._found_files = fn
        self._ask_for_files()

    def enter(self, container: Container | None, messages: Iterable[Any] = ()) -> None:
        """Begin anew with what a session knows: its live container, its history."""
        self._state = ContainerState(estimate_tokens)
        self._state.replay(messages, container)
        self._attached = []
        self.last = None
        self._tell()

    def lost(self) -> None:
        """The service says that it is gone; the last id is told as expired."""
        self._state.gone(self._clock())
        self._tell()

    def forgotten(self) -> None:
        """The user has given it up; told with an empty id."""
        self._state.forgotten(self._clock())
        if self.last is not None:
            self._tell(given_up=True)

    def struck(self) -> None:
        """The last answer is taken back, to be tried again."""
        self._state.struck()
        self._tell()

    def attached(self, files: list[dict[str, Any]]) -> None:
        """What goes out with the next message of the user."""
        self._attached = files
        self._tell(given_up=self._state.last_id is None)

    def know_file(self, file_id: str, facts: dict[str, Any]) -> None:
        """name, size, media_type of a file: told with it from here on."""
        self._known[file_id] = facts
        self._tell()

    def close(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()

    def on_event(self, event: AgentEvent) -> None:
        now = self._clock()
        match event:
            case MessageUpdateEvent():
                if not self._state.feed(event.event, now):
                    return
            case MessageEndEvent(message=AssistantMessage() as message):
                self._state.feed(DoneEvent(message), now)
            case ToolExecutionEndEvent():
                text = event.result.text
                if not self._state.answered(event.tool_call_id, failed=event.is_error, text=text):
                    return
            case AgentEndEvent():
                self._state.interrupted(now)
            case _:
                return
        self._tell()

    # --- telling -----------------------------------------------------------------------

    def _tell(self, *, given_up: bool = False) -> None:
        state = self._state
        known = state.last_id
        if known is None and not given_up:
            return
        event = self._event(known or "")
        if event != self.last:
            self.last = event
            self._watch_expiry()
            self._emit(event)
            self._ask_for_files()

    def _event(self, id: str) -> ContainerChangedEvent:
        state = self._state
        totals = state.totals
        return ContainerChangedEvent(
            id,
            state.state_at(self._clock()),
            state.expires_at,
            pending=state.awaited,
            reused=state.reused,
            programs=totals.programs,
            last_output=state.last_output,
            files=[self._file(file) for file in state.files],
            created_at=state.created_at,
            answer_due_at=state.answer_due_at,
            calls=totals.calls,
            failed=totals.failed,
            runs=[_run(p) for p in list(state.programs.values())[-RUNS_TOLD:]],
            kept_out_tokens_estimate=state.kept_out,
            round_trips_saved=state.round_trips_saved,
            attached=list(self._attached),
            held_until=state.held_until,
        )

    def _file(self, file: dict[str, Any]) -> dict[str, Any]:
        return {**file, **self._known.get(str(file.get("file_id")), {})}

    def _ask_for_files(self) -> None:
        if self._found_files is None:
            return
        ids = [str(file.get("file_id")) for file in self._state.files if file.get("file_id")]
        new = [id for id in ids if id not in self._known and id not in self._asked]
        if new:
            self._asked.update(new)
            self._found_files(new)

    def _watch_expiry(self) -> None:
        """Tell that it has expired, or lets a program go, though nothing else happens then."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        now = self._clock()
        ends = [self._state.seconds_left(now)]
        if self._state.held_until is not None:
            ends.append(self._state.held_until - now)
        left = min((left for left in ends if left is not None and left > 0), default=None)
        if left is None or self._state.lost:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # nobody to tell: a conversation that is being made
        self._expiry = loop.call_later(left + 0.05, self._tell)


def _run(program: Program) -> ProgramRun:
    return ProgramRun(
        program.id,
        program.number,
        program.state,
        program.started_at,
        program.seconds,
        program.about,
        program.exit_code,
        program.error_code,
        program.calls,
        program.failed,
    )
