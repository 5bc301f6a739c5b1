"""Agent: one transcript, one queue, one run at a time, over run_agent_loop."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_tui.agent.control import Phase, RunControl
from agent_tui.agent.current_run import CurrentRun
from agent_tui.agent.delivery import delivery_point, hold_reason, landing
from agent_tui.agent.events import (
    AgentEndEvent,
    AgentEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from agent_tui.agent.llm_messages import PAUSES, awaits_results_only, convert_message
from agent_tui.agent.loop import (
    AgentContext,
    AgentLoopConfig,
    NextTurnSnapshot,
    ThinkingLevel,
)
from agent_tui.agent.message_queue import MessageQueue, QueueItem, QueueKind
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    ToolResultMessage,
    UserMessage,
    normalize_prompt,
)
from agent_tui.agent.partial import PartialMessage
from agent_tui.agent.tools import AgentTool

__all__ = ["Agent", "AgentBusyError", "AgentState", "Phase", "Subscriber"]

log = logging.getLogger(__name__)

Subscriber = Callable[[AgentEvent], Awaitable[None] | None]


class AgentBusyError(RuntimeError):
    """start() or continue_() while a run is on; use steer() or follow_up()."""

    def __init__(self) -> None:
        super().__init__(
            "The agent is running: use steer() or follow_up(), or wait until it is idle."
        )


@dataclass(slots=True)
class AgentState:
    """A live view; read it, do not write it."""

    phase: Phase
    turn: int
    """Of the current or last run, from 1; 0 before the first."""
    model: str
    thinking_level: ThinkingLevel
    messages: list[AgentMessage]
    """The transcript (all of it)."""
    running_calls: list[str]
    """Ids of calls executing now."""
    waiting_calls: list[str]
    """Ids of the batch's calls not yet started."""
    pending_program_calls: int
    """Calls of a paused program not yet answered on the wire (steering is held while > 0)."""


class Agent:
    """See module docstring. All methods are for one event loop; none is thread-safe.

    Args: config (its get_*_messages are set by the Agent), system_prompt, messages (the
    transcript so far).
    """

    def __init__(
        self,
        config: AgentLoopConfig,
        *,
        system_prompt: str = "",
        messages: Sequence[AgentMessage] = (),
    ) -> None:
        self.queue = MessageQueue()
        self.config = config
        self.system_prompt = system_prompt
        self._state = AgentState(
            phase="idle",
            turn=0,
            model=config.model,
            thinking_level=config.thinking_level,
            messages=list(messages),
            running_calls=[],
            waiting_calls=[],
            pending_program_calls=0,
        )
        self._context_start: list[AgentMessage] = []
        self._context_from = 0
        """The model sees _context_start, then the transcript from here on."""
        self._subscribers: tuple[Subscriber, ...] = ()
        self._phase_subscribers: tuple[Callable[[Phase], None], ...] = ()
        self._idle = asyncio.Event()
        self._idle.set()
        self._run: CurrentRun | None = None

    @property
    def state(self) -> AgentState:
        return self._state

    @property
    def last_answer(self) -> AssistantMessage | None:
        """The newest assistant message of the transcript, whole or broken."""
        answers = (m for m in reversed(self._state.messages) if isinstance(m, AssistantMessage))
        return next(answers, None)

    @property
    def partial(self) -> PartialMessage | None:
        """The assistant message that streams now, for snapshots."""
        return self._run.control.partial if self._run is not None else None

    # --- runs ------------------------------------------------------------------------

    async def start(self, prompt: str | AgentMessage | Sequence[str | AgentMessage]) -> None:
        """Run from this prompt until idle. Raises AgentBusyError while running.

        Failures of the model are not raised: they are an assistant message with
        stop_reason "error". Returns only after agent_end's subscribers returned. Cancelling
        the caller aborts the run and lets it settle first.
        """
        await self.run_prompt_messages(normalize_prompt(prompt))

    async def run_prompt_messages(self, messages: Sequence[AgentMessage]) -> None:
        """The diagram's runPromptMessages: as start(), from messages."""
        self._check_idle()
        await self._run_to_end(list(messages))

    async def continue_(self) -> None:
        """Run on from the transcript (last message user or toolResult, or an answer that the
        API paused or whose calls a crash left open); after another assistant message it drains
        the queue as the prompt, else raises ValueError."""
        self.check_can_continue()
        if self._model_is_next():
            await self._run_to_end(None)
        else:
            await self._run_to_end([i.message for i in self._take_prompt()], poll=False)

    def check_can_continue(self) -> None:
        """What continue_() would raise now: AgentBusyError or ValueError."""
        self._check_idle()
        if self._model_is_next():
            return
        if not any(self.queue.deliverable(kind) for kind in ("steer", "follow_up")):
            if not self._state.messages:
                raise ValueError("There is nothing to continue: the conversation is empty.")
            raise ValueError(
                "There is nothing to continue: the last message is an assistant message and "
                "nothing is queued that may go out."
            )

    async def run_queued(self) -> bool:
        """Run with what is queued as the prompt, whatever the last message is (after an abort
        the queue is resumed so). False when nothing may go out. Raises AgentBusyError."""
        self._check_idle()
        items = self._take_prompt()
        if items:
            await self._run_to_end([item.message for item in items], poll=False)
        return bool(items)

    def abort(self) -> None:
        """Stop the run; returns at once; idempotent; nothing when idle. Queue untouched."""
        if self._run is not None:
            self._run.control.abort()

    def abort_tool(self, tool_call_id: str, reason: str = "") -> bool:
        """Stop one call: it gets an error result, the run goes on. Running, unstarted, or still
        being written: then the answer ends there and its stream is closed, save where a program
        or a call of the server waits in it (the call is then refused once it is whole).
        reason: for the model. False if there is no such call."""
        return self._run is not None and self._run.control.abort_tool(tool_call_id, reason)

    def send_now(self) -> bool:
        """Skip the batch's calls not yet started so that steering goes out. False when no run
        is on, it is stopping, or no steering may be taken (paused, locked, none)."""
        queue = self.queue
        waits = any(not (i.locked or queue.is_paused(i)) for i in queue.waiting("steer"))
        if self._run is None or self._run.control.aborted or not waits:
            return False
        self._run.control.send_now()
        return True

    async def wait_idle(self) -> None:
        """Until no run is on. Not from a subscriber: the run waits for those."""
        await self._idle.wait()

    # --- messages --------------------------------------------------------------------

    def steer(self, message: str | AgentMessage) -> QueueItem:
        """Queue for the next turn of this run (idle: for the next prompt's first request)."""
        return self._enqueue("steer", message)

    def follow_up(self, message: str | AgentMessage) -> QueueItem:
        """Queue for when the agent would stop."""
        return self._enqueue("follow_up", message)

    def _enqueue(self, kind: QueueKind, message: str | AgentMessage) -> QueueItem:
        if isinstance(message, str):
            message = UserMessage.model_validate({"content": message})
        elif isinstance(message, AssistantMessage | ToolResultMessage):
            raise ValueError("Only what a user says can be queued.")
        return self.queue.add(kind, message)

    async def add_message(self, message: AgentMessage) -> None:
        """Put a message into the transcript without a run (a command the user ran, a note).
        Raises AgentBusyError while running: then steer it."""
        self._check_idle()
        for event in (MessageStartEvent(message), MessageEndEvent(message)):
            waiting = self._emit(event)
            if waiting is not None:
                await waiting

    def drop_last_message(self) -> AgentMessage:
        """Take the last message out of the transcript (before a retry). Raises AgentBusyError,
        IndexError when it is empty."""
        self._check_idle()
        message = self._state.messages.pop()
        self._context_from = min(self._context_from, len(self._state.messages))
        return message

    def replace_messages(
        self,
        messages: Sequence[AgentMessage],
        *,
        context: Sequence[AgentMessage] | None = None,
    ) -> None:
        """Another transcript (branch, resumed or new session). context: what the model sees
        of it, when that is not all (after a compaction). Raises AgentBusyError."""
        self._check_idle()
        self._state.messages[:] = messages
        self._state.pending_program_calls = 0
        self._context_start = list(context or ())
        self._context_from = len(self._state.messages) if context is not None else 0

    def context_messages(self) -> list[AgentMessage]:
        """What the model sees of the transcript, before transform_context and conversion."""
        if self._context_from == 0:
            return list(self._state.messages)
        return [*self._context_start, *self._state.messages[self._context_from :]]

    def delivery_point(self, item: QueueItem, *, asking: bool = False) -> str:
        """When it will go out: "after 2 running tools", "after this answer", "when the turn
        ends", "held: a program is paused (2 calls)", "paused: Enter resumes", "with the next
        prompt". asking: a call waits for the user."""
        control = self._run.control if self._run is not None else None
        return delivery_point(item, self.queue, control, asking=asking)

    # --- subscribers -----------------------------------------------------------------

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """fn(event), awaited in order of subscription; a throw is logged, never ends the run."""
        self._subscribers = (*self._subscribers, fn)

        def unsubscribe() -> None:
            self._subscribers = tuple(f for f in self._subscribers if f is not fn)

        return unsubscribe

    def subscribe_phase(self, fn: Callable[[Phase], None]) -> Callable[[], None]:
        """fn(phase), called at once at each change ("stopping" within abort() itself)."""
        self._phase_subscribers = (*self._phase_subscribers, fn)

        def unsubscribe() -> None:
            self._phase_subscribers = tuple(f for f in self._phase_subscribers if f is not fn)

        return unsubscribe

    # --- settings --------------------------------------------------------------------

    def set_tools(self, tools: list[AgentTool]) -> None:
        """Takes effect at the next model request."""
        self.config.tools = list(tools)
        if self._run is not None:
            self._run.config.tools = self.config.tools
            self._run.context.tools = list(tools)

    def set_model(self, model: str, thinking_level: ThinkingLevel | None = None) -> None:
        """Takes effect at the next model request."""
        for config in (self.config, *([self._run.config] if self._run is not None else [])):
            config.model = model
            if thinking_level is not None:
                config.thinking_level = thinking_level
        self._state.model = self.config.model
        self._state.thinking_level = self.config.thinking_level

    # --- the run ---------------------------------------------------------------------

    def _check_idle(self) -> None:
        if self._run is not None:
            raise AgentBusyError

    def _model_is_next(self) -> bool:
        """The transcript ends with something the model answers."""
        for message in reversed(self.context_messages()):
            if isinstance(message, AssistantMessage):
                # Calls of the last message have no results: the program was killed meanwhile.
                broken_off = message.stop_reason not in ("error", "aborted") and message.tool_calls
                return message.stop_reason in PAUSES or bool(broken_off)
            if convert_message(message) is not None:
                return True
        return False

    def _take_prompt(self) -> list[QueueItem]:
        return self.queue.take("steer") or self.queue.take("follow_up")

    async def _run_to_end(self, prompts: list[AgentMessage] | None, *, poll: bool = True) -> None:
        """One run, in a task of its own: cancelling the caller must not cut a subscriber off."""
        run = CurrentRun(
            self.config,
            AgentContext(self.system_prompt, self.context_messages(), list(self.config.tools)),
            self.queue,
            RunControl(self._phase_changed),
            self._snapshot_taken,
        )
        self._run = run
        self._idle.clear()
        task = asyncio.get_running_loop().create_task(self._execute(run, prompts, poll=poll))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.done():
                raise
            run.control.abort()
            await asyncio.wait((task,))
            raise

    async def _execute(
        self, run: CurrentRun, prompts: list[AgentMessage] | None, *, poll: bool
    ) -> None:
        state = self._state
        state.turn = 0
        state.running_calls = run.control.running_calls
        state.waiting_calls = run.control.waiting_calls
        run.control.set_phase("waiting")
        try:
            await run.go(prompts, self._emit, poll=poll)
        except Exception as error:
            log.exception("the run ended by an unexpected error")
            waiting = self._emit(AgentEndEvent([], f"an unexpected error: {error}"))
            if waiting is not None:
                await waiting
            raise
        finally:
            self._settle(run)

    def _settle(self, run: CurrentRun) -> None:
        state = self._state
        self._run = None
        state.running_calls, state.waiting_calls = [], []
        state.pending_program_calls = 0
        state.model = self.config.model
        state.thinking_level = self.config.thinking_level
        # Taken, but the run ended before they were injected.
        self.queue.give_back(self.queue.taken())
        self.queue.hold(None)
        run.control.set_phase("idle")
        self._idle.set()

    def _snapshot_taken(self, snapshot: NextTurnSnapshot) -> None:
        """prepare_next_turn replaced something: a context stays, also for the next prompt."""
        if snapshot.context is not None:
            self._context_start = list(snapshot.context.messages)
            self._context_from = len(self._state.messages)
        self._state.model = snapshot.model or self._state.model
        self._state.thinking_level = snapshot.thinking_level or self._state.thinking_level

    def _phase_changed(self, phase: Phase) -> None:
        self._state.phase = phase
        for fn in self._phase_subscribers:
            try:
                fn(phase)
            except Exception:
                log.exception("a subscriber of the phase failed")

    # --- events ----------------------------------------------------------------------

    def _emit(self, event: AgentEvent) -> Awaitable[None] | None:
        """The loop's sink. Gives None when all subscribers were synchronous: a delta then
        costs no coroutine."""
        if not isinstance(event, MessageUpdateEvent):
            self._fold(event)
        for index, fn in enumerate(self._subscribers):
            try:
                waiting = fn(event)
            except Exception:
                log.exception("a subscriber failed on %s", event.type)
                continue
            if waiting is not None and inspect.isawaitable(waiting):
                return self._emit_rest(event, waiting, self._subscribers[index + 1 :])
        self._after(event)
        return None

    async def _emit_rest(
        self, event: AgentEvent, first: Awaitable[None], rest: Sequence[Subscriber]
    ) -> None:
        await _guarded(first, event)
        for fn in rest:
            try:
                waiting = fn(event)
            except Exception:
                log.exception("a subscriber failed on %s", event.type)
                continue
            if waiting is not None and inspect.isawaitable(waiting):
                await _guarded(waiting, event)
        self._after(event)

    def _fold(self, event: AgentEvent) -> None:
        """Keep the state in step, before any subscriber sees the event."""
        state = self._state
        match event:
            case TurnStartEvent():
                state.turn += 1
            case MessageStartEvent() if isinstance(event.message, AssistantMessage):
                state.pending_program_calls = 0  # the response began: they are answered
            case MessageEndEvent():
                state.messages.append(event.message)
                self._note_landing(event.message)
                if isinstance(event.message, AssistantMessage):
                    self._hold_for(event.message)
            case TurnEndEvent():
                if self._run is not None:
                    self._run.last_results = len(event.tool_results)
            case _:
                pass

    def _hold_for(self, message: AssistantMessage) -> None:
        """Hold steering while the next request may have no user text (DESIGN)."""
        calls = sum(c.programmatic and c.complete for c in message.tool_calls)
        holds = awaits_results_only([message])
        self.queue.hold(hold_reason(calls) if holds else None)
        self._state.pending_program_calls = calls if holds else 0

    def _note_landing(self, message: AgentMessage) -> None:
        """Before any subscriber sees it: where it landed is recorded with the message."""
        for item in self.queue.taken():
            if item.message is message:
                results = self._run.last_results if self._run else 0
                item.landed = landing(self._state.turn, results)

    def _after(self, event: AgentEvent) -> None:
        """After all subscribers, the session's record among them: the item is delivered."""
        if not isinstance(event, MessageEndEvent):
            return
        for item in self.queue.taken():
            if item.message is event.message:
                self.queue.commit(item.id, item.landed)


async def _guarded(waiting: Awaitable[None], event: AgentEvent) -> None:
    try:
        await waiting
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        log.warning("a subscriber was cancelled from inside on %s", event.type, exc_info=True)
    except Exception:
        log.exception("a subscriber failed on %s", event.type)
