"""A batch: the tool calls of one assistant message, in parallel or one after another.

Each call executes in a task of its own, so that stopping it is apart from the cancelling of
the loop; all events are emitted by the loop's task, in the order in which things happened.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_tui.agent.control import (
    GRACE_S,
    SLICE_S,
    RunControl,
    Stop,
    StopReason,
    leave_behind,
)
from agent_tui.agent.events import (
    AgentEvent,
    MessageEndEvent,
    MessageStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.loop_config import AgentLoopConfig, Emit
from agent_tui.agent.messages import AssistantMessage, ToolCall, ToolResultMessage
from agent_tui.agent.tool_calls import (
    ExecutedToolCallOutcome,
    FinalizedToolCallOutcome,
    PreparedToolCall,
    create_tool_result_message,
    error_result,
    execute_prepared_tool_call,
    finalize_executed_tool_call,
    prepare_tool_call,
    stopped_unstarted,
    with_words,
    words_of,
)
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult

log = logging.getLogger(__name__)

_STOPPED_RUNNING: dict[StopReason, str] = {
    "aborted": "Interrupted: the user stopped the run while this call was running.",
    "stopped": "Interrupted: the user stopped this call.",
    "skipped": "Interrupted by the user.",
}
_END = object()
"""In the news of a batch: the call has ended (anything else is an update)."""


@dataclass(slots=True, eq=False)
class _Entry:
    """One call of a batch on its way.

    waiting → starting (its start event) → asking (before_tool_call) → prepared → running →
    closed; it may close early from each.
    """

    call: ToolCall
    state: Literal["waiting", "starting", "asking", "prepared", "running", "closed"] = "waiting"
    stop: Stop = field(default_factory=Stop)
    prepared: PreparedToolCall | None = None
    executed: ExecutedToolCallOutcome | None = None
    context: ToolContext | None = None
    task: "asyncio.Task[FinalizedToolCallOutcome] | None" = None
    alarm: asyncio.TimerHandle | None = None
    started_at: float = 0.0
    outcome: FinalizedToolCallOutcome | None = None
    message: ToolResultMessage | None = None


class ToolBatch:
    """The calls of one assistant message. A RunControl reaches in to stop or skip them.

    not_run: ids of calls that never execute, with the text of their error results.
    """

    def __init__(
        self,
        message: AssistantMessage,
        tools: Sequence[AgentTool],
        config: AgentLoopConfig,
        emit: Emit,
        control: RunControl,
        not_run: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message
        self._tools = tools
        self._config = config
        self._emit = emit
        self.control = control
        self._not_run = not_run or {}
        self._loop = asyncio.get_running_loop()
        self.entries = [_Entry(call) for call in message.tool_calls]
        self._news: deque[tuple[_Entry, Any]] = deque()
        self._arrived = asyncio.Event()
        control.waiting_calls[:] = [entry.call.id for entry in self.entries]
        for entry in self.entries:
            if (words := control.stopped_early.get(entry.call.id)) is not None:
                entry.stop.set("stopped", words)
        if control.aborted:
            self.stop_all("aborted")
        elif control.skip_unstarted:
            self.skip_unstarted()

    @property
    def sequential(self) -> bool:
        """One sequential tool among the called makes the whole batch so."""
        called = {entry.call.name for entry in self.entries}
        return (
            len(self._not_run) == len(self.entries)
            or self._config.tool_execution == "sequential"
            or any(t.execution_mode == "sequential" for t in self._tools if t.name in called)
        )

    # --- from outside, at once -------------------------------------------------------

    def stop_all(self, reason: StopReason) -> None:
        for entry in self.entries:
            if entry.state != "closed":
                entry.stop.set(reason)

    def stop_call(self, tool_call_id: str, words: str = "") -> bool:
        for entry in self.entries:
            if entry.call.id == tool_call_id and entry.state != "closed":
                entry.stop.set("stopped", words)
                return True
        return False

    def skip_unstarted(self) -> None:
        """A call that was announced goes on, unless it waits for leave (an approval)."""
        for entry in self.entries:
            if entry.state in ("waiting", "asking", "prepared"):
                entry.stop.set("skipped")

    @property
    def calls_left(self) -> int:
        """Calls that will still run, or run now."""
        return sum(e.state != "closed" and e.stop.reason is None for e in self.entries)

    # --- the loop's side -------------------------------------------------------------

    async def begin(self, entry: _Entry) -> None:
        """tool_execution_start and prepare_tool_call; an immediate outcome closes the call."""
        call = entry.call
        entry.state = "starting"
        await self._send(ToolExecutionStartEvent(call.id, call.name, call.arguments, call.caller))
        if call.id in self._not_run:
            self._close(entry, error_result(self._not_run[call.id]))
            return
        entry.state = "asking"
        ready = await prepare_tool_call(call, self._tools, self.message, self._config, entry.stop)
        if isinstance(ready, PreparedToolCall):
            entry.prepared, entry.state = ready, "prepared"
        else:
            self._close(entry, ready.result)

    def launch(self, entry: _Entry) -> None:
        """Start the execution of a prepared call, unless it was stopped meanwhile."""
        if entry.prepared is None or entry.state != "prepared":
            return
        if entry.stop.reason is not None:
            self._close(entry, error_result(stopped_unstarted(entry.stop)))
            return
        call_id = entry.call.id
        entry.state = "running"
        self.control.waiting_calls.remove(call_id)
        self.control.running_calls.append(call_id)
        entry.context = ToolContext(call_id, lambda partial: self._tell(entry, partial))
        entry.started_at = self._loop.time()
        entry.task = self._loop.create_task(self._execute(entry, entry.prepared, entry.context))
        entry.task.add_done_callback(lambda task: self._ended(entry, task))
        entry.stop.add(lambda: self._cancel(entry))

    async def emit_until_closed(self, entries: Sequence[_Entry]) -> None:
        """Emit updates and ends, as they come, until every one of these calls has ended."""
        slice_end = self._loop.time() + SLICE_S
        while True:
            while self._news:
                entry, partial = self._news.popleft()
                await self._emit_news(entry, partial)
                if self._loop.time() >= slice_end:
                    await asyncio.sleep(0)
                    slice_end = self._loop.time() + SLICE_S
            if all(entry.state == "closed" for entry in entries):
                return
            self._arrived.clear()
            await self._arrived.wait()
            slice_end = self._loop.time() + SLICE_S

    async def emit_result(self, entry: _Entry) -> ToolResultMessage:
        """The diagram's emitToolResultMessage."""
        assert entry.message is not None
        await self._send(MessageStartEvent(entry.message))
        await self._send(MessageEndEvent(entry.message))
        return entry.message

    @property
    def terminates(self) -> bool:
        """Every result says terminate: the batch counts as no calls."""
        return all(e.outcome is not None and e.outcome.result.terminate for e in self.entries)

    def cancel(self) -> None:
        """The loop itself was cancelled: no call may outlive it."""
        for entry in self.entries:
            if entry.task is not None and not entry.task.done():
                entry.state = "closed"
                entry.task.cancel()
            if entry.alarm is not None:
                entry.alarm.cancel()

    # --- inside ----------------------------------------------------------------------

    async def _execute(
        self, entry: _Entry, prepared: PreparedToolCall, context: ToolContext
    ) -> FinalizedToolCallOutcome:
        entry.executed = await execute_prepared_tool_call(prepared, context)
        return await finalize_executed_tool_call(entry.executed, self.message, self._config)

    def _cancel(self, entry: _Entry) -> None:
        if entry.state != "running" or entry.task is None or entry.context is None:
            return
        entry.context.cancelled.set()
        entry.task.cancel()
        entry.alarm = self._loop.call_later(GRACE_S, self._give_up, entry, entry.task)

    def _give_up(self, entry: _Entry, task: "asyncio.Task[Any]") -> None:
        """The call did not end when cancelled: the run goes on without it."""
        leave_behind(task, f"the tool {entry.call.name} ({entry.call.id})")
        if entry.context is not None:
            entry.context.close()
        if entry.executed is not None:
            self._close(entry, entry.executed.result)
        else:
            text = f"It did not stop within {GRACE_S:g} s; what it does may still go on."
            self._close(entry, error_result(f"{self._interrupted(entry)} {text}"))

    def _ended(self, entry: _Entry, task: "asyncio.Task[FinalizedToolCallOutcome]") -> None:
        if entry.alarm is not None:
            entry.alarm.cancel()
        if entry.state == "closed":
            if not task.cancelled():
                task.exception()  # leave_behind logs it; here it counts as seen
            return
        if not task.cancelled() and task.exception() is None:
            self._close(entry, task.result().result)
        elif entry.executed is not None:
            # Stopped in after_tool_call: the tool itself had finished, and that is kept.
            self._close(entry, entry.executed.result)
        elif task.cancelled():
            self._close(entry, error_result(self._interrupted(entry)))
        else:
            failure = task.exception()
            assert failure is not None
            log.error("the tool %s broke off", entry.call.name, exc_info=failure)
            self._close(entry, error_result(words_of(failure)))

    def _interrupted(self, entry: _Entry) -> str:
        if entry.stop.reason is None:
            return f"The tool {entry.call.name} was cancelled from inside."
        return with_words(_STOPPED_RUNNING[entry.stop.reason], entry.stop.words)

    def _close(self, entry: _Entry, result: ToolResult) -> None:
        control, call_id = self.control, entry.call.id
        running = entry.state == "running"
        duration = self._loop.time() - entry.started_at if running else 0.0
        entry.state = "closed"
        entry.outcome = FinalizedToolCallOutcome(entry.call, result, round(duration * 1000))
        entry.message = create_tool_result_message(entry.outcome)
        (control.running_calls if running else control.waiting_calls).remove(call_id)
        self._news.append((entry, _END))
        self._arrived.set()

    def _tell(self, entry: _Entry, partial: Any) -> None:
        self._news.append((entry, partial))
        self._arrived.set()

    async def _emit_news(self, entry: _Entry, partial: Any) -> None:
        call = entry.call
        if partial is not _END:
            await self._send(ToolExecutionUpdateEvent(call.id, call.name, partial, call.caller))
            return
        assert entry.message is not None and entry.outcome is not None
        await self._send(
            ToolExecutionEndEvent(
                call.id,
                call.name,
                entry.message,
                entry.message.is_error,
                entry.outcome.duration_ms,
                call.caller,
            )
        )

    async def _send(self, event: AgentEvent) -> None:
        waiting = self._emit(event)
        if waiting is not None:
            await waiting


async def execute_tool_calls(batch: ToolBatch) -> list[ToolResultMessage]:
    """Run a batch the way its config and its tools ask for; results in call order."""
    control = batch.control
    control.enter_batch(batch)
    try:
        if batch.sequential:
            return await execute_tool_calls_sequential(batch)
        return await execute_tool_calls_parallel(batch)
    except BaseException:
        batch.cancel()
        raise
    finally:
        control.leave_batch()


async def execute_tool_calls_sequential(batch: ToolBatch) -> list[ToolResultMessage]:
    """One call after another, each with its result message before the next starts."""
    results: list[ToolResultMessage] = []
    for entry in batch.entries:
        await batch.begin(entry)
        batch.launch(entry)
        await batch.emit_until_closed((entry,))
        results.append(await batch.emit_result(entry))
    return results


async def execute_tool_calls_parallel(batch: ToolBatch) -> list[ToolResultMessage]:
    """All are prepared in call order before any executes; then all execute at once."""
    for entry in batch.entries:
        await batch.begin(entry)
        await batch.emit_until_closed(())
    for entry in batch.entries:
        batch.launch(entry)
    await batch.emit_until_closed(batch.entries)
    return [await batch.emit_result(entry) for entry in batch.entries]
