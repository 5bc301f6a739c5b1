"""Feed: events and stored messages → blocks.

It reads AgentEvents and ConversationEvents in their order and keeps the blocks of what is
still going on at hand. The only place that knows both worlds.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    StreamEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.conversation.events import QueueDeliveredEvent
from agent_tui.text import clean
from agent_tui.tui.lines import elapsed
from agent_tui.tui.transcript.blocks import (
    BashBlock,
    Block,
    Delivery,
    Modes,
    PromptBlock,
    TextBlock,
)
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.notices import NoticeBlock, SeparatorBlock
from agent_tui.tui.transcript.thinking import ThinkingBlock
from agent_tui.tui.transcript.tool_blocks import OpaqueBlock, ToolBlock

_STOPS = {
    "max_tokens": "the answer was cut: it reached the limit of output tokens",
    "model_context_window_exceeded": "the answer was cut: the context window is full",
    "refusal": "the model declined to answer",
}


def _details(message: AssistantMessage) -> str:
    """What the API says of a refusal: " (category): explanation" (fault A36)."""
    details = message.stop_details or {}
    category, explanation = (clean(str(details.get(k) or "")) for k in ("category", "explanation"))
    return (f" ({category})" if category else "") + (f": {explanation}" if explanation else "")


B = TypeVar("B", bound=Block)


class Feed:
    """Changes `layout` as events say. clock: seconds, for elapsed times."""

    def __init__(self, layout: Layout, modes: Modes, clock: Callable[[], float]) -> None:
        self._layout = layout
        self._modes = modes
        self._clock = clock
        self._message_id = ""
        self._streaming: dict[int, Block] = {}
        self._tools: dict[str, ToolBlock] = {}
        self._programs: dict[str, OpaqueBlock] = {}
        self._deliveries: dict[str, tuple[Delivery, str]] = {}
        self._prompts: dict[str, PromptBlock] = {}
        self._dirty: dict[Block, int] = {}
        self._live: dict[Block, None] = {}
        self._drains: dict[TextBlock, None] = {}

    # --- in ----------------------------------------------------------------------------

    def clear(self) -> None:
        self._streaming.clear()
        self._tools.clear()
        self._programs.clear()
        self._prompts.clear()
        self._dirty.clear()
        self._live.clear()
        self._drains.clear()

    @property
    def live(self) -> list[Block]:
        """Blocks that show an elapsed time now."""
        return [block for block in self._live if block.live]

    def apply(self, event: Any) -> None:
        """Take one event. What it changed is brought to the layout by flush()."""
        match event.type:
            case "message_update":
                self._update(event)
            case "message_start":
                self._message_start(event)
            case "message_end":
                self._message_end(event)
            case "tool_execution_start":
                self._tool_start(event)
            case "tool_execution_update":
                self._tool_update(event)
            case "tool_execution_end":
                self._tool_end(event)
            case "permission_request":
                tool = self._tool(event.tool_call_id, event.tool_name, event.caller)
                if event.arguments:
                    tool.set_arguments(event.arguments)
                tool.ask()
                self._touch(tool)
                self._touch_those(ToolBlock.hold)
            case "permission_resolved":
                if (tool := self._tools.get(event.tool_call_id)) is not None:
                    tool.answered()
                    self._touch(tool)
                if not self._asking:
                    self._touch_those(ToolBlock.release)
            case "queue_delivered":
                self._delivered(event)
            case "retry":
                if event.strikes:
                    self._strike(event.strikes)
                wait, reason = elapsed(math.ceil(event.wait_s)), event.reason.rstrip(" .:")
                text = f"{reason}; trying again in {wait} (try {event.attempt + 1})"
                self.add(NoticeBlock("warning", text))
            case "notice":
                self.add(NoticeBlock(event.level, event.text))
            case "agent_end":
                self._end_all()
            case _:
                pass

    def flush(self) -> None:
        """Bring what changed to the layout; costs what changed since the last time."""
        for _ in self.flush_steps():
            pass

    def flush_steps(self) -> Iterator[None]:
        """flush() in small steps."""
        for block in list(self._drains):
            while block.waiting:
                self._touch(block, block.drain_some())
                yield
        self._drains.clear()
        dirty, self._dirty = self._dirty, {}
        for block, first in dirty.items():
            if isinstance(block, TextBlock):
                self._layout.changed(block, first)
            elif isinstance(block, ThinkingBlock) and first > 0:
                self._layout.changed(block, block.grown())
            else:
                block.make(self._modes)
                self._layout.changed(block)

    def load(
        self,
        messages: Iterable[Any],
        deliveries: Mapping[str, tuple[Delivery, str]] | None = None,
    ) -> None:
        """A stored conversation; texts are split only when they are looked at."""
        self._deliveries.update(deliveries or {})
        running = set(self._tools)
        for message in messages:
            # How it was delivered may not be known of a stored message: then nothing is claimed.
            if (item := getattr(message, "queue_item_id", None)) is not None:
                self._deliveries.setdefault(item, ("prompt", ""))
            if isinstance(message, AssistantMessage):
                self._stored_answer(message)
            elif isinstance(message, ToolResultMessage):
                self._result(message)
            else:
                self._other(message)
        for call_id in self._tools.keys() - running:
            tool = self._tools.pop(call_id)
            tool.stop()
            self._touch(tool)
        self.flush()

    def add(self, block: Block, message_id: str = "") -> None:
        """Append a block of any kind."""
        block.message_id = message_id
        block.make(self._modes)
        self._layout.add(block)

    # --- the streaming answer ----------------------------------------------------------

    def _message_start(self, event: MessageStartEvent) -> None:
        message = event.message
        if isinstance(message, AssistantMessage):
            self._message_id = message.id
            self._streaming.clear()
        elif isinstance(message, ToolResultMessage):
            self._result(message)
        else:
            self._other(message)

    def _update(self, update: MessageUpdateEvent) -> None:
        if update.message_id != self._message_id:
            self._message_id = update.message_id
            self._streaming.clear()
        event: StreamEvent = update.event
        match event.type:
            case "text_delta":
                block = self._streaming.get(event.index)
                if not isinstance(block, TextBlock) or not block.streaming:
                    block = self._begin(event.index, TextBlock())
                block.take(event.delta)
                self._drains[block] = None
            case "thinking_delta":
                block = self._streaming.get(event.index)
                if not isinstance(block, ThinkingBlock) or block.done:
                    block = self._begin(event.index, ThinkingBlock(self._clock()))
                was_open = block.is_open(self._modes)
                block.take(event.delta)
                opened = block.is_open(self._modes)
                self._touch(block, 1 if was_open and opened and len(block.parts) > 1 else 0)
            case "toolcall_delta":
                block = self._streaming.get(event.index)
                if isinstance(block, ToolBlock) and event.partial:
                    block.add_arguments(event.partial)
                    self._touch(block)
            case "thinking_start":
                self._begin(event.index, ThinkingBlock(self._clock()))
            case "thinking_end":
                self._end_thinking(event.index, event.block)
            case "text_end":
                self._end_text(event.index, event.block)
            case "toolcall_start" | "toolcall_end":
                self._call(event.index, event.block, done=event.type == "toolcall_end")
            case "opaque":
                self._opaque(event)
            case _:
                pass

    def _begin(self, index: int, block: B) -> B:
        self.add(block, self._message_id)
        self._streaming[index] = block
        if block.live:
            self._live[block] = None
        return block

    def _end_text(self, index: int, content: TextContent) -> None:
        block = self._streaming.get(index)
        if not isinstance(block, TextBlock):
            if not content.text:
                return
            block = self._begin(index, TextBlock())
        if block.streaming and len(content.text) > block.received:
            block.take(content.text[block.received :])
        self._touch(block, block.close())

    def _end_thinking(self, index: int, content: ThinkingContent) -> None:
        block = self._streaming.get(index)
        if not isinstance(block, ThinkingBlock):
            block = self._begin(index, ThinkingBlock(self._clock()))
        block.redacted = content.redacted is not None
        block.close(self._clock())
        self._live.pop(block, None)
        self._touch(block)

    def _call(self, index: int, call: ToolCall, *, done: bool) -> None:
        tool = self._tool(call.id, call.name, call.caller, index)
        if done or call.arguments:
            tool.set_arguments(call.arguments)
        self._touch(tool)

    def _opaque(self, event: Any) -> None:
        block = self._streaming.get(event.index)
        if event.phase == "delta":
            if isinstance(block, OpaqueBlock) and event.partial:
                block.add_arguments(event.partial)
                self._touch(block)
            return
        content: OpaqueContent | None = event.block
        if content is None:
            return
        raw = content.raw
        if event.phase == "end" and isinstance(block, OpaqueBlock):
            block.close(raw)
            self._touch(block)
            return
        if (program := self._answered(raw)) is not None:
            if event.phase == "end":
                program.answer(raw)
                self._touch(program)
            return
        block = self._begin(event.index, OpaqueBlock(raw))
        if isinstance(raw.get("id"), str):
            self._programs[raw["id"]] = block
        if event.phase == "end":
            block.close(raw)
            self._touch(block)

    def _answered(self, raw: Mapping[str, Any]) -> OpaqueBlock | None:
        """The server_tool_use that this result block answers."""
        call_id = raw.get("tool_use_id")
        return self._programs.get(call_id) if isinstance(call_id, str) else None

    def _message_end(self, event: MessageEndEvent) -> None:
        message = event.message
        if not isinstance(message, AssistantMessage):
            return
        if message.id != self._message_id or (message.content and not self._streaming):
            self._message_id = message.id
            self._streaming.clear()
            self._stored_answer(message, streamed=False)
            return
        for index, block in self._streaming.items():
            content = message.content[index] if index < len(message.content) else None
            if isinstance(block, TextBlock) and block.streaming:
                self._touch(block, block.close())
            elif isinstance(block, ThinkingBlock) and not block.done:
                block.close(self._clock())
                self._touch(block)
            elif isinstance(block, ToolBlock):
                if isinstance(content, ToolCall) and not content.complete:
                    block.stop()
                    self._touch(block)
            elif (
                isinstance(block, OpaqueBlock)
                and not block.done
                and message.stop_reason in ("aborted", "error")
            ):
                block.stop()
                self._touch(block)
        self._streaming.clear()
        self._mark_end(message)

    def _mark_end(self, message: AssistantMessage) -> None:
        """How the answer ended, where that is not the usual way."""
        reason = message.stop_reason
        if reason == "aborted":
            self.add(NoticeBlock("info", "interrupted", glyph="stopped"), message.id)
        elif reason == "error":
            text = message.error_message or message.error_type or "the answer broke off"
            self.add(NoticeBlock("error", text), message.id)
        elif reason in _STOPS:
            self.add(NoticeBlock("warning", _STOPS[reason] + _details(message)), message.id)
        elif reason not in ("end_turn", "tool_use", "stop_sequence", "pause_turn", "compaction"):
            text = f"the answer ended for a reason this version does not know: {clean(reason)}"
            self.add(NoticeBlock("warning", text), message.id)

    # --- stored messages ---------------------------------------------------------------

    def _stored_answer(self, message: AssistantMessage, *, streamed: bool = True) -> None:
        for content in message.content:
            match content:
                case TextContent():
                    if content.text.strip():
                        self.add(TextBlock(content.text), message.id)
                case ThinkingContent():
                    block = ThinkingBlock()
                    block.redacted = content.redacted is not None
                    block.take(content.thinking)
                    block.close(None)
                    self.add(block, message.id)
                case ToolCall():
                    tool = self._tool(content.id, content.name, content.caller)
                    tool.set_arguments(content.arguments)
                    if not content.complete:
                        tool.stop()
                    self._touch(tool)
                case OpaqueContent():
                    if (program := self._answered(content.raw)) is not None:
                        program.answer(content.raw)
                        self._touch(program)
                        continue
                    block = OpaqueBlock(content.raw)
                    block.close(content.raw)
                    if isinstance(call_id := content.raw.get("id"), str):
                        self._programs[call_id] = block
                    self.add(block, message.id)
        self._mark_end(message)

    def _other(self, message: Any) -> None:
        match message:
            case UserMessage():
                self._prompt(message)
            case BashExecutionMessage():
                block = BashBlock(message.command, message.exclude)
                block.output = message.output
                block.exit_code = message.exit_code
                block.cancelled = message.cancelled
                self.add(block, message.id)
            case CompactionSummaryMessage():
                self.add(
                    SeparatorBlock("earlier turns were compacted", message.summary), message.id
                )
            case BranchSummaryMessage():
                self._separate("another branch was left", message.summary)
            case CustomMessage():
                note = clean(message.kind)
                self._prompt(message, note)
            case _:
                role = clean(getattr(message, "role", type(message).__name__))
                self.add(NoticeBlock("info", f"a message of a kind unknown here: {role}"))

    def _separate(self, label: str, summary: str) -> None:
        self.add(SeparatorBlock(label, summary))

    def _prompt(self, message: UserMessage | CustomMessage, note: str = "") -> None:
        images = sum(1 for block in message.content if block.type == "image")
        text = message.text
        if images:
            shown = f"[{images} image{'s' if images > 1 else ''}]"
            text = f"{text}\n{shown}" if text else shown
        block = PromptBlock(text, note=note)
        item = message.queue_item_id
        if item is not None:
            block.item_id = item
            block.delivery, landed = self._deliveries.pop(item, ("steer", note))
            block.note = clean(landed)
            self._prompts[item] = block
        self.add(block, message.id)

    def _delivered(self, event: QueueDeliveredEvent) -> None:
        kind: Delivery = "follow_up" if event.kind == "follow_up" else "steer"
        block = self._prompts.pop(event.item_id, None)
        if block is None:
            self._deliveries[event.item_id] = (kind, event.landed)
            return
        block.delivery, block.note = kind, clean(event.landed)
        self._touch(block)

    # --- tools -------------------------------------------------------------------------

    def _tool(
        self, call_id: str, name: str, caller: dict[str, Any] | None, index: int | None = None
    ) -> ToolBlock:
        tool = self._tools.get(call_id)
        if tool is None:
            tool = self._tools[call_id] = ToolBlock(call_id, name, self._clock)
            if caller and caller.get("type") != "direct":
                tool.caller = caller
            self.add(tool, self._message_id)
        if index is not None:
            self._streaming[index] = tool
        return tool

    def _tool_start(self, event: ToolExecutionStartEvent) -> None:
        tool = self._tool(event.tool_call_id, event.tool_name, event.caller)
        tool.set_arguments(event.arguments)
        tool.start()
        if self._asking:
            tool.hold()
        self._live[tool] = None
        self._touch(tool)

    def _tool_update(self, event: ToolExecutionUpdateEvent) -> None:
        tool = self._tool(event.tool_call_id, event.tool_name, event.caller)
        tool.update(event.partial)
        self._touch(tool)

    def _tool_end(self, event: ToolExecutionEndEvent) -> None:
        tool = self._tool(event.tool_call_id, event.tool_name, event.caller)
        tool.end(event.result, event.duration_ms, event.is_error)
        self._live.pop(tool, None)
        self._touch(tool)

    def _result(self, message: ToolResultMessage) -> None:
        tool = self._tool(message.tool_call_id, message.tool_name, None)
        if tool.result is None:
            tool.end(message, None)
            self._live.pop(tool, None)
        self._touch(tool)
        self._tools.pop(message.tool_call_id, None)

    # --- marks -------------------------------------------------------------------------

    def _touch(self, block: Block, first: int = 0) -> None:
        self._dirty[block] = min(first, self._dirty.get(block, first))

    @property
    def _asking(self) -> bool:
        return any(tool.state == "waiting" for tool in self._tools.values())

    def _touch_those(self, change: Callable[[ToolBlock], bool]) -> None:
        for tool in self._tools.values():
            if change(tool):
                self._touch(tool)

    def _strike(self, message_id: str) -> None:
        for block in reversed(self._layout.blocks):
            if block.message_id == message_id:
                block.struck = True
                self._live.pop(block, None)
                self._dirty.pop(block, None)
                if isinstance(block, ToolBlock):
                    self._tools.pop(block.call_id, None)
                self._layout.changed(block)
            elif block.kind == "prompt":
                break

    def _end_all(self) -> None:
        """The run is over: nothing shows as going on."""
        for tool in list(self._tools.values()):
            if tool.state not in ("done", "failed", "stopped"):
                tool.stop()
                self._touch(tool)
        for program in self._programs.values():
            if not program.done and not program.stopped:
                program.stop()
                self._touch(program)
        self._tools.clear()
        self._live.clear()
