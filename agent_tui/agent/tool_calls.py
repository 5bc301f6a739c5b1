"""One tool call, as in the diagram's "8. Execute tool calls": prepare, execute, finalize.

A call never raises: whatever its tool, its hooks or its arguments do becomes an error result.
Batches of calls are in tool_batch.py.
"""

import copy
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from agent_tui.agent.control import Stop, Stopped, run_stoppable
from agent_tui.agent.loop_config import (
    AfterToolCallContext,
    AgentLoopConfig,
    BeforeToolCallContext,
    BeforeToolCallResult,
)
from agent_tui.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, text_content
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.text import cut

log = logging.getLogger(__name__)

NOT_RUN: dict[str, str] = {
    "max_tokens": "Not run: the output limit cut the answer, so its arguments may be incomplete. "
    "Send smaller calls.",
    "refusal": "Not run: the answer was declined.",
    "model_context_window_exceeded": "Not run: the context window was full before the answer "
    "was complete.",
}
"""Why no call of a message with this stop reason runs (DESIGN, The loop's rules)."""

REPEATED_ID = "Not run: this call had the id of another call of the same answer, which ran."

STOPPED_UNSTARTED: dict[str, str] = {
    "aborted": "Not run: the user stopped the run before this call started.",
    "stopped": "Not run: the user stopped this call before it started.",
    "skipped": "Skipped by the user, who sent a message before this call started.",
}


STOPPED_WRITING = "Not run: the user stopped this call before its arguments were complete."
ENDED_BESIDE = "Not run: the user stopped the answer at another call before this one was complete."

CUT_ARGUMENT_CHARS = 300
"""So much of the arguments of a call that was stopped while it was written its result says."""


@dataclass(slots=True)
class PreparedToolCall:
    """A call that may execute: its tool and its validated arguments."""

    kind: ClassVar[Literal["prepared"]] = "prepared"
    tool_call: ToolCall
    tool: AgentTool
    arguments: dict[str, Any]


@dataclass(slots=True)
class ImmediateToolCallOutcome:
    """A call that does not execute (unknown, invalid, refused, stopped): its result is here."""

    kind: ClassVar[Literal["immediate"]] = "immediate"
    tool_call: ToolCall
    result: ToolResult


@dataclass(slots=True)
class ExecutedToolCallOutcome:
    """What execute() gave, or its failure as an error result."""

    prepared: PreparedToolCall
    result: ToolResult


@dataclass(slots=True)
class FinalizedToolCallOutcome:
    """The result that counts, after after_tool_call. duration_ms: of the execution."""

    tool_call: ToolCall
    result: ToolResult
    duration_ms: int = 0


def error_result(text: str, *, terminate: bool = False) -> ToolResult:
    return ToolResult(text_content(text), is_error=True, terminate=terminate)


def with_words(text: str, words: str) -> str:
    """The sentence, and what the user said about it."""
    words = words.strip()
    return f"{text.removesuffix('.')}: {words}" if words else text


def stopped_unstarted(stop: Stop) -> str:
    """For a call that was stopped before it started."""
    assert stop.reason is not None
    return with_words(STOPPED_UNSTARTED[stop.reason], stop.words)


def stopped_writing(call: ToolCall, stop: Stop) -> str:
    """For a call that ended while its arguments streamed: why, and how they began, as the call
    itself goes back without them."""
    text = with_words(STOPPED_WRITING, stop.words) if stop.reason is not None else ENDED_BESIDE
    came = (call.cut_arguments or "").strip()
    if came and not call.arguments:
        text += f"\nSo far they were: {cut(came, CUT_ARGUMENT_CHARS)}"
    return text


def words_of(error: BaseException) -> str:
    """The text of an exception; its class where it has none."""
    return str(error).strip() or type(error).__name__


async def prepare_tool_call(
    tool_call: ToolCall,
    tools: Sequence[AgentTool],
    message: AssistantMessage,
    config: AgentLoopConfig,
    stop: Stop,
) -> PreparedToolCall | ImmediateToolCallOutcome:
    """Lookup, prepare_arguments, validation, before_tool_call (the diagram's prepareToolCall).

    `stop` ends the wait for before_tool_call at once. Never raises.
    """

    def refuse(text: str, *, terminate: bool = False) -> ImmediateToolCallOutcome:
        return ImmediateToolCallOutcome(tool_call, error_result(text, terminate=terminate))

    if tool_call.cut_arguments is not None:
        return refuse(stopped_writing(tool_call, stop))
    if stop.reason is not None:
        return refuse(stopped_unstarted(stop))
    if tool_call.invalid_arguments is not None:
        return refuse(
            "The arguments are not valid JSON for an object: "
            f"{tool_call.invalid_arguments[:200]!r}. Send the call again with a JSON object."
        )
    if not tool_call.complete:
        return refuse("Not run: this call was cut off while its arguments streamed.")
    tool = next((t for t in tools if t.name == tool_call.name), None)
    if tool is None:
        names = ", ".join(t.name for t in tools) or "none"
        return refuse(f"There is no tool named {tool_call.name!r}. Tools: {names}.")
    try:
        # A copy: hooks and tools may change their arguments, the transcript may not change.
        raw: Any = copy.deepcopy(tool_call.arguments)
        if tool.prepare_arguments is not None:
            raw = tool.prepare_arguments(raw)
        if not isinstance(raw, dict):
            raise ValueError(f"The arguments of {tool.name} must be an object.")
        arguments = cast("dict[str, Any]", raw)
        if config.validate_arguments is not None:
            arguments = config.validate_arguments(tool.parameters, arguments)
        prepared = PreparedToolCall(tool_call, tool, arguments)
        if config.before_tool_call is not None:
            asked = BeforeToolCallContext(message, tool_call, tool, prepared.arguments)
            answer = await run_stoppable(
                _ask(config.before_tool_call, asked), stop, "before_tool_call"
            )
            if answer is not None and answer.block:
                reason = answer.reason or "This call was blocked."
                return refuse(reason, terminate=answer.terminate)
    except Stopped:
        return refuse(stopped_unstarted(stop))
    except Exception as error:
        log.info("the call %s of %s was not prepared", tool_call.id, tool_call.name, exc_info=True)
        return refuse(words_of(error))
    return prepared


async def _ask(
    hook: Callable[[BeforeToolCallContext], Awaitable[BeforeToolCallResult | None]],
    context: BeforeToolCallContext,
) -> BeforeToolCallResult | None:
    return await hook(context)


async def execute_prepared_tool_call(
    prepared: PreparedToolCall, context: ToolContext
) -> ExecutedToolCallOutcome:
    """Run the tool. An exception is an error result; only a cancelling goes through."""
    try:
        result = await prepared.tool.execute(prepared.tool_call.id, prepared.arguments, context)
        if not isinstance(result, ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"The tool {prepared.tool.name} gave back {type(result).__name__}, no ToolResult."
            )
    except Exception as error:
        log.info("the tool %s raised", prepared.tool.name, exc_info=True)
        result = error_result(words_of(error))
    finally:
        context.close()
    return ExecutedToolCallOutcome(prepared, result)


async def finalize_executed_tool_call(
    executed: ExecutedToolCallOutcome, message: AssistantMessage, config: AgentLoopConfig
) -> FinalizedToolCallOutcome:
    """after_tool_call may replace parts of the result; a throw of it is an error result."""
    prepared, result = executed.prepared, executed.result
    if config.after_tool_call is not None:
        try:
            change = await config.after_tool_call(
                AfterToolCallContext(
                    message, prepared.tool_call, prepared.tool, prepared.arguments, result
                )
            )
            if change is not None:
                result = ToolResult(
                    content=result.content if change.content is None else change.content,
                    is_error=result.is_error if change.is_error is None else change.is_error,
                    details=result.details if change.details is ... else change.details,
                    terminate=(result.terminate if change.terminate is None else change.terminate),
                )
        except Exception as error:
            log.info("after_tool_call of %s raised", prepared.tool.name, exc_info=True)
            result = error_result(words_of(error))
    return FinalizedToolCallOutcome(prepared.tool_call, result)


def create_tool_result_message(outcome: FinalizedToolCallOutcome) -> ToolResultMessage:
    """The message the model gets. Content that is no content gives an error result."""
    call, result = outcome.tool_call, outcome.result
    try:
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=result.content,
            is_error=bool(result.is_error),
            details=result.details,
        )
    except ValueError as error:
        log.warning("the result of %s is not valid", call.name, exc_info=True)
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=text_content(f"The tool {call.name} gave back no valid content: {error}"),
            is_error=True,
        )
