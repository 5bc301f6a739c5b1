"""The loop of the mission's diagram: run_agent_loop and continue_agent_loop.

The order of events, and what may go out when, is that of DESIGN "The loop's rules". The loop
is a function with a sink for events; Agent puts a transcript and a queue around it.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from agent_tui.agent.control import RunControl, Stopped, run_stoppable
from agent_tui.agent.events import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    MessageEndEvent,
    MessageStartEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from agent_tui.agent.llm_messages import PAUSES, awaits_results_only
from agent_tui.agent.loop_config import (
    AfterToolCallContext,
    AfterToolCallResult,
    AgentContext,
    AgentLoopConfig,
    BeforeToolCallContext,
    BeforeToolCallResult,
    Emit,
    LLMContext,
    NextTurnSnapshot,
    PrepareNextTurnContext,
    StreamFunction,
    StreamOptions,
    ThinkingLevel,
)
from agent_tui.agent.messages import AgentMessage, AssistantMessage, ToolResultMessage
from agent_tui.agent.streaming import send, stream_assistant_response
from agent_tui.agent.tool_batch import ToolBatch, execute_tool_calls
from agent_tui.agent.tool_calls import NOT_RUN, REPEATED_ID

__all__ = [
    "AfterToolCallContext",
    "AfterToolCallResult",
    "AgentContext",
    "AgentLoopConfig",
    "BeforeToolCallContext",
    "BeforeToolCallResult",
    "Emit",
    "LLMContext",
    "NextTurnSnapshot",
    "PrepareNextTurnContext",
    "StreamFunction",
    "StreamOptions",
    "ThinkingLevel",
    "continue_agent_loop",
    "run_agent_loop",
]

log = logging.getLogger(__name__)

T = TypeVar("T")

_RUNS_CALLS = frozenset({"tool_use", "end_turn", "stop_sequence"}) | PAUSES
"""After any other stop reason no call of the message runs (DESIGN)."""

_REASONS = {
    "end_turn": "the answer is complete",
    "stop_sequence": "the answer reached a stop sequence",
    "tool_use": "the model asked for tools but named none",
    "max_tokens": "the output limit cut the answer",
    "model_context_window_exceeded": "the context window is full",
    "refusal": "the model declined to answer",
    "aborted": "stopped by the user",
}


async def run_agent_loop(
    prompts: Sequence[AgentMessage],
    context: AgentContext,
    config: AgentLoopConfig,
    emit: Emit,
    control: RunControl | None = None,
) -> list[AgentMessage]:
    """Run from these prompts until the agent would stop; gives the messages it added.

    context.messages grows by them. emit gets every event, in order. control: to abort.
    What the model, a tool or a hook does wrong never raises; what emit raises does.
    """
    run = _Run(context, config, emit, control or RunControl())
    return await run.from_prompts(prompts)


async def continue_agent_loop(
    context: AgentContext,
    config: AgentLoopConfig,
    emit: Emit,
    control: RunControl | None = None,
) -> list[AgentMessage]:
    """As run_agent_loop, from the context as it stands, without a new message.

    Its last message must be one that the model answers (user or toolResult), or an assistant
    message that the API paused.
    """
    run = _Run(context, config, emit, control or RunControl())
    return await run.from_context()


class _Run:
    """The state of one run of the loop."""

    def __init__(
        self, context: AgentContext, config: AgentLoopConfig, emit: Emit, control: RunControl
    ) -> None:
        self._context = context
        self._config = config
        self._emit = emit
        self._control = control
        self._new_messages: list[AgentMessage] = []
        self._model = config.model
        self._thinking_level: ThinkingLevel = config.thinking_level
        self._configured = (config.model, config.thinking_level)
        self._used_ids = _call_ids(context.messages)
        self._repeated: set[str] = set()
        self._pauses = 0

    async def from_prompts(self, prompts: Sequence[AgentMessage]) -> list[AgentMessage]:
        await self._send(AgentStartEvent())
        await self._send(TurnStartEvent())
        for prompt in prompts:
            await self._inject(prompt)
        return await self._main_loop()

    async def from_context(self) -> list[AgentMessage]:
        await self._send(AgentStartEvent())
        await self._send(TurnStartEvent())
        return await self._main_loop(poll=not awaits_results_only(self._context.messages))

    async def _main_loop(self, *, poll: bool = True) -> list[AgentMessage]:
        """The diagram's "3. Main loop"; ends with agent_end."""
        pending = await self._poll(self._config.get_steering_messages) if poll else []
        first_turn = True
        while True:
            if not first_turn:
                await self._send(TurnStartEvent())
            first_turn = False
            for message in pending:
                if self._control.aborted:
                    break  # taken but not injected: its owner puts it back
                await self._inject(message)
            pending = []

            message = await self._stream_assistant_response()
            if message.stop_reason in ("error", "aborted"):
                await self._send(TurnEndEvent(message, []))
                return await self._end(_reason(message))

            results, goes_on, reason = await self._execute_tool_calls(message)
            self._control.end_turn()
            await self._send(TurnEndEvent(message, results))
            stops = await self._prepare_next_turn(message, results)
            if self._control.aborted:
                return await self._end("stopped by the user")
            if stops:
                return await self._end("asked to stop after this turn")

            if goes_on and awaits_results_only([message, *results]):
                if self._paused_too_often(results):
                    return await self._end(
                        f"the API paused this turn {self._pauses} times in a row; "
                        "continue to let it go on"
                    )
                continue
            self._pauses = 0
            pending = await self._poll(self._config.get_steering_messages)
            if not pending and not goes_on:
                pending = await self._poll(self._config.get_follow_up_messages)
                if not pending:
                    return await self._end(reason)
            if self._control.aborted:
                return await self._end("stopped by the user")

    async def _inject(self, message: AgentMessage) -> None:
        await self._send(MessageStartEvent(message))
        self._push(message)
        await self._send(MessageEndEvent(message))

    async def _stream_assistant_response(self) -> AssistantMessage:
        config = self._config
        if self._configured != (config.model, config.thinking_level):
            # The user chose another model meanwhile: newer than what a snapshot said.
            self._configured = (config.model, config.thinking_level)
            self._model, self._thinking_level = self._configured
        message, self._repeated = await stream_assistant_response(
            self._context,
            config,
            self._model,
            self._thinking_level,
            self._emit,
            self._control,
            self._used_ids,
        )
        self._new_messages.append(message)
        return message

    async def _execute_tool_calls(
        self, message: AssistantMessage
    ) -> tuple[list[ToolResultMessage], bool, str]:
        """The diagram's "7." and "8.": results, whether the run goes on by itself, and why not."""
        runs = message.stop_reason in _RUNS_CALLS
        if not message.tool_calls:
            return [], message.stop_reason in PAUSES, _reason(message)
        self._control.set_phase("tools")
        batch = ToolBatch(
            message,
            self._control.offered,
            self._config,
            self._emit,
            self._control,
            not_run={
                call.id: REPEATED_ID if runs else _not_run(message.stop_reason)
                for call in message.tool_calls
                if not runs or call.id in self._repeated
            },
        )
        results = await execute_tool_calls(batch)
        self._context.messages.extend(results)
        self._new_messages.extend(results)
        if not runs:
            return results, False, _reason(message)
        if batch.terminates:
            return results, False, "a tool ended the run"
        return results, True, ""

    async def _prepare_next_turn(
        self, message: AssistantMessage, results: list[ToolResultMessage]
    ) -> bool:
        """The diagram's "9.": prepare_next_turn, then whether should_stop_after_turn says so.
        After an abort neither is called."""
        config = self._config
        if config.prepare_next_turn is not None:
            hook = config.prepare_next_turn
            snapshot = await self._ask(hook, self._next_turn(message, results))
            if snapshot is not None:
                self._take(snapshot)
        if config.should_stop_after_turn is not None:
            hook = config.should_stop_after_turn
            return bool(await self._ask(hook, self._next_turn(message, results)))
        return False

    def _next_turn(
        self, message: AssistantMessage, results: list[ToolResultMessage]
    ) -> PrepareNextTurnContext:
        return PrepareNextTurnContext(message, results, self._context, self._new_messages)

    def _take(self, snapshot: NextTurnSnapshot) -> None:
        if snapshot.context is not None:
            self._context = snapshot.context
            self._used_ids = _call_ids(snapshot.context.messages)
        if snapshot.model is not None:
            self._model = snapshot.model
        if snapshot.thinking_level is not None:
            self._thinking_level = snapshot.thinking_level

    async def _ask(
        self,
        hook: Callable[[PrepareNextTurnContext], Awaitable[T]],
        context: PrepareNextTurnContext,
    ) -> T | None:
        """A hook's answer; None when it raised (logged) or the run was aborted meanwhile."""

        async def call() -> T:
            return await hook(context)

        try:
            return await run_stoppable(call(), self._control.stop, "a hook of the loop")
        except Stopped:
            return None
        except Exception:
            log.exception("a hook of the loop raised; the run goes on without its answer")
            return None

    def _paused_too_often(self, results: list[ToolResultMessage]) -> bool:
        """The API pauses turn after turn, and nothing of ours comes between."""
        self._pauses = 0 if results else self._pauses + 1
        return self._pauses >= self._config.max_pauses

    async def _poll(
        self, source: Callable[[], Awaitable[list[AgentMessage]]] | None
    ) -> list[AgentMessage]:
        if source is None or self._control.aborted:
            return []
        try:
            return list(await source())
        except Exception:
            log.exception("queued messages could not be taken; the run goes on without them")
            return []

    def _push(self, message: AgentMessage) -> None:
        self._context.messages.append(message)
        self._new_messages.append(message)

    async def _end(self, reason: str) -> list[AgentMessage]:
        await self._send(AgentEndEvent(self._new_messages, reason))
        return self._new_messages

    async def _send(self, event: AgentEvent) -> None:
        await send(self._emit, event)


def _call_ids(messages: Sequence[AgentMessage]) -> set[str]:
    return {call.id for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls}


def _not_run(stop_reason: str) -> str:
    return NOT_RUN.get(
        stop_reason, f"Not run: the answer stopped for an unknown reason ({stop_reason})."
    )


def _reason(message: AssistantMessage) -> str:
    """Why a run ends with this message, in words."""
    if message.stop_reason == "error":
        return f"the request failed: {message.error_message or message.error_type or 'no reason'}"
    known = _REASONS.get(message.stop_reason)
    return known or f"the model stopped for an unknown reason ({message.stop_reason})"
