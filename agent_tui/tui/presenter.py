"""Turns events into what the panels and the status line show. Plain data, no Textual.

`apply` takes every event and says whether something visible may have changed. The cost of a
delta does not grow with what came before.
"""

import time
from collections.abc import Callable

from agent_tui.agent.events import (
    AgentEvent,
    OpaqueEvent,
    StreamEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    UsageEvent,
)
from agent_tui.agent.messages import AssistantMessage
from agent_tui.conversation.events import ContainerChangedEvent, ConversationEvent
from agent_tui.tui.context_state import ContextState
from agent_tui.tui.lines import one_line
from agent_tui.tui.loop_state import LoopState
from agent_tui.tui.rate import Rate
from agent_tui.tui.status_state import RetryState, StatusState
from agent_tui.tui.tools_state import ToolsState
from agent_tui.tui.transcript.cut_arguments import as_arguments
from agent_tui.tui.transcript.tool_text import was_stopped

SILENT_FROM_S = 3.0
"""A shorter silence of the server is not worth a word."""


class Presenter:
    """All the states; one per conversation on screen."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.tools = ToolsState(clock)
        self.loop = LoopState(clock)
        self.container: ContainerChangedEvent | None = None
        self.context = ContextState()
        self.status = StatusState()
        self.retry = RetryState()
        self.rate = Rate(clock)
        self._heard = clock()

    @property
    def moving(self) -> bool:
        """True while something shown changes with time alone: then the screen ticks."""
        return (
            self.tools.active
            or self.loop.running
            or self.status.status in ("waiting", "streaming", "stopping")
            or self.retry.attempt > 0
        )

    def stream(self, event: StreamEvent) -> bool:
        """One StreamEvent of the message under way; True when a panel has to be drawn anew."""
        self._over_retry()
        self._heard = self._clock()
        match event.type:
            case "text_delta" | "thinking_delta":
                self.rate.add(len(event.delta))
                return False
            case "toolcall_delta":
                self.rate.add(len(event.delta))
                return False
            case "toolcall_start" | "toolcall_end":
                return self._call(event)
            case "opaque":
                return self._opaque(event)
            case "usage":
                return self._usage(event)
            case _:
                return False

    def _call(self, event: ToolCallStartEvent | ToolCallEndEvent) -> bool:
        block = event.block
        self.tools.call_begins(block.id, block.name, block.caller)
        if event.type == "toolcall_end":
            self.tools.call_complete(block.id, block.arguments)
        return True

    def _opaque(self, event: OpaqueEvent) -> bool:
        if event.phase == "delta":
            self.rate.add(len(event.delta))
            return False
        if event.block is None:
            return False
        return self.tools.server_block(event.block.raw, whole=event.phase == "end")

    def _usage(self, event: UsageEvent) -> bool:
        usage = event.usage
        parts = (usage.input, usage.cache_read, usage.cache_write)
        if any(part is not None for part in parts):
            self.status.context_tokens = sum(part or 0 for part in parts) + (usage.output or 0)
        return False

    def apply(self, event: AgentEvent | ConversationEvent) -> bool:
        """Any event; True when what is shown may have changed. Unknown kinds change nothing."""
        in_loop = self.loop.apply(event)
        return self._apply(event) or in_loop

    def _apply(self, event: AgentEvent | ConversationEvent) -> bool:
        match event.type:
            case "message_update":
                return self.stream(event.event)
            case "message_start" if event.message.role == "assistant":
                self.rate.begin()
            case "message_end" if isinstance(event.message, AssistantMessage):
                for call in event.message.tool_calls:
                    if call.cut_arguments is not None:  # it had no end of its own
                        self.tools.call_complete(call.id, as_arguments(call))
            case "tool_execution_start":
                self.tools.starts(
                    event.tool_call_id, event.tool_name, event.arguments, event.caller
                )
            case "tool_execution_update":
                self.tools.output(event.tool_call_id, event.partial)
            case "tool_execution_end":
                self.tools.ends(
                    event.tool_call_id, event.is_error, event.duration_ms, was_stopped(event.result)
                )
            case "permission_request":
                self.tools.asks(event.tool_call_id, event.tool_name, event.arguments, event.caller)
            case "permission_resolved":
                self.tools.answered(event.tool_call_id)
            case "agent_end":
                self.tools.run_over()
            case "status":
                self._status_changed(event.status)
            case "usage":
                self.status.cost, self.status.cost_at_least = event.cost, event.cost_at_least
                self.status.context_tokens = event.context_tokens
                self.status.context_window = event.context_window
                self.status.last_rate = event.rate
                self.context.apply(event)
            case "cache" | "context":
                self.context.apply(event)
            case "setting_changed":
                if event.name in ("model", "thinking"):
                    setattr(self.status, event.name, event.value)
                    self.context.stale = True
            case "container_changed":
                self.container = event
            case "retry" if event.attempt:
                self.retry = RetryState(
                    event.attempt, self._clock() + event.wait_s, one_line(event.reason, 300)
                )
                self.status.retrying, self.status.rate = True, None
            case _:
                return False
        return True

    def clear(self) -> None:
        """A new conversation: what the panels show of the old one goes."""
        self.tools.clear()
        self.loop = LoopState(self._clock)
        self.container = None
        self.context = ContextState()

    def tick(self) -> None:
        """Once a second while `moving`."""
        streams = self._streaming and not self.status.retrying
        self.status.rate = self.rate.tokens_per_second() if streams else None
        self.status.silent_s = self._silence()

    def _silence(self) -> int:
        """Of the request that is out; while a retry waits there is none."""
        if self.status.status not in ("waiting", "streaming"):
            return 0
        silent = self._clock() - max(self._heard, self.retry.until)
        return int(silent) if silent >= SILENT_FROM_S else 0

    @property
    def _streaming(self) -> bool:
        return self.status.status == "streaming"

    def _status_changed(self, status: str) -> None:
        self.status.status = status
        self.status.silent_s = 0
        self._heard = self._clock()
        if status in ("ready", "streaming", "stopping"):
            self._over_retry()
        if status != "streaming":
            self.status.rate = None

    def _over_retry(self) -> None:
        if self.retry.attempt:
            self.retry = RetryState()
            self.status.retrying = False
