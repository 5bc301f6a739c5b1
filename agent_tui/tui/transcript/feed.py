"""Feed: events and stored messages → blocks.

It reads AgentEvents and ConversationEvents in their order and hands each to the feed of its
kind: calls, the API's own blocks, what was said. The streaming text and thinking are its own.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    StreamEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
)
from agent_tui.agent.repair_turns import INTERRUPTED
from agent_tui.tui.lines import elapsed
from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.api_feed import ApiFeed
from agent_tui.tui.transcript.blocks import Block, Delivery, Modes, TextBlock
from agent_tui.tui.transcript.calls import Calls
from agent_tui.tui.transcript.endings import ending
from agent_tui.tui.transcript.floating import Floating
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.notices import NoticeBlock
from agent_tui.tui.transcript.page import Page
from agent_tui.tui.transcript.program_block import ProgramBlock
from agent_tui.tui.transcript.said import Said
from agent_tui.tui.transcript.texts import Texts
from agent_tui.tui.transcript.thinking import ThinkingBlock
from agent_tui.tui.transcript.tool_blocks import ToolBlock

_BEGINS = frozenset({
    "thinking_start", "thinking_delta", "toolcall_start", "toolcall_end", "opaque",
})  # fmt: skip
"""Events behind which no text flows on."""

_FLOWS_ON = frozenset({"text_delta", "toolcall_delta"})


class Feed:
    """Changes `layout` as events say. clock: seconds, for elapsed times."""

    def __init__(self, layout: Layout, modes: Modes, clock: Callable[[], float]) -> None:
        self._page = Page(layout, modes, clock)
        self._api = ApiFeed(self._page)
        self._calls = Calls(self._page, self._api)
        self._said = Said(self._page)
        self._texts = Texts(self._page)
        self._floating = Floating(self._page, self._api)

    # --- in ----------------------------------------------------------------------------

    def clear(self) -> None:
        self._page.clear()
        self._calls.clear()
        self._api.clear()
        self._said.clear()
        self._floating.clear()
        self._texts.new_answer()

    @property
    def live(self) -> list[Block]:
        """Blocks that show an elapsed time now."""
        return self._page.live

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
                self._calls.start(event)
            case "tool_execution_update":
                self._calls.update(event)
            case "tool_execution_end":
                self._calls.end(event)
            case "permission_request":
                self._calls.asked(event)
            case "permission_resolved":
                self._calls.answered(event)
            case "user_command":
                self._said.user_command(event)
            case "queue_delivered":
                self._said.delivered(event)
            case "container_changed":
                self._api.know_files(event.files)
            case "retry":
                self._retry(event)
            case "notice":
                self.add(NoticeBlock(event.level, event.text))
            case "agent_end":
                self._calls.end_all()
                self._api.end_all()
                self._page.all_still()
            case _:
                pass

    def flush(self) -> None:
        """Bring what changed to the layout; costs what changed since the last time."""
        for _ in self.flush_steps():
            pass

    @staticmethod
    def may_close(event: Any) -> bool:
        """The event may end a text: what has come of it is better split before, by
        split_steps(), than at one go. It may be all that came since the last frame."""
        return getattr(getattr(event, "event", None), "type", "") not in _FLOWS_ON

    def split_steps(self) -> Iterator[None]:
        """Split what was taken, in small steps."""
        return self._page.split_steps()

    def flush_steps(self) -> Iterator[None]:
        """flush() in small steps."""
        self._floating.sink()
        yield from self._page.flush_steps()

    def load(
        self,
        messages: Iterable[Any],
        deliveries: Mapping[str, tuple[Delivery, str]] | None = None,
    ) -> None:
        """A stored conversation; texts are split only when they are looked at."""
        self._said.know(deliveries or {})
        running, asked = self._calls.open_ids(), self._api.running()
        for message in messages:
            if isinstance(message, AssistantMessage):
                self._new_answer(message.id)
                self._stored_answer(message)
            elif isinstance(message, ToolResultMessage):
                self._calls.result(message)
            else:
                self._said.stored(message)
        self._calls.give_up(self._calls.open_ids() - running)
        self._api.end_all(but=asked)
        self.flush()

    def call_will_not_run(self, call_id: str) -> None:
        """See Transcript."""
        self._calls.will_not_run(call_id)

    def line_of_call(
        self, caller: Mapping[str, Any] | None, name: str, arguments: Mapping[str, Any]
    ) -> int | None:
        """See Transcript."""
        program = self._api.block((caller or {}).get("tool_id"))
        return program.line_of(name, arguments) if isinstance(program, ProgramBlock) else None

    def add(self, block: Block, message_id: str = "") -> None:
        """Append a block of any kind. message_id: of the answer that it belongs to."""
        if isinstance(block, NoticeBlock | TextBlock) and not message_id:
            self._floating.add(block)
        else:
            self._page.add(block, message_id)

    # --- the streaming answer ----------------------------------------------------------

    def _message_start(self, event: MessageStartEvent) -> None:
        message = event.message
        if isinstance(message, AssistantMessage):
            self._new_answer(message.id)
        elif isinstance(message, ToolResultMessage):
            self._calls.result(message)
        else:
            self._said.message(message)

    def _new_answer(self, message_id: str) -> None:
        self._texts.settle()
        self._page.new_answer(message_id)
        self._texts.new_answer()

    def _update(self, update: MessageUpdateEvent) -> None:
        page = self._page
        if update.message_id != page.message_id:
            self._new_answer(update.message_id)
        event: StreamEvent = update.event
        if event.type in _BEGINS:
            self._texts.settle()
        match event.type:
            case "text_delta":
                self._texts.delta(event.index, event.delta)
            case "text_end":
                self._texts.end(event.index, event.block)
            case "thinking_delta":
                block = page.streaming.get(event.index)
                if not isinstance(block, ThinkingBlock) or block.done:
                    block = page.begin(event.index, ThinkingBlock(page.clock()))
                was_open = block.is_open(page.modes)
                block.tokens += event.estimated_tokens
                if event.delta:
                    block.take(event.delta)
                opened = block.is_open(page.modes)
                page.touch(block, 1 if was_open and opened and len(block.parts) > 1 else 0)
            case "toolcall_delta":
                block = page.streaming.get(event.index)
                if isinstance(block, ToolBlock) and event.partial:
                    block.add_arguments(event.partial)
                    page.touch(block)
            case "thinking_start":
                page.begin(event.index, ThinkingBlock(page.clock()))
            case "thinking_end":
                self._end_thinking(event.index, event.block)
            case "toolcall_start" | "toolcall_end":
                self._calls.call(event.index, event.block, done=event.type == "toolcall_end")
            case "opaque":
                self._api.event(event)
            case "container":
                self._api.container(event.container.id, page.message_id)
            case _:
                pass

    def _end_thinking(self, index: int, content: ThinkingContent) -> None:
        page = self._page
        block = page.streaming.get(index)
        if not isinstance(block, ThinkingBlock):
            block = page.begin(index, ThinkingBlock(page.clock()))
        block.redacted = content.redacted is not None
        block.close(page.clock())
        page.unwatch(block)
        page.touch(block)

    def _message_end(self, event: MessageEndEvent) -> None:
        message = event.message
        if not isinstance(message, AssistantMessage):
            return
        page = self._page
        if message.id != page.message_id or (message.content and not page.streaming):
            self._new_answer(message.id)
            self._stored_answer(message)
            return
        self._texts.settle()
        for index, block in page.streaming.items():
            content = message.content[index] if index < len(message.content) else None
            if isinstance(block, TextBlock) and block.streaming:
                page.touch(block, block.close())
            elif isinstance(block, ThinkingBlock) and not block.done:
                block.close(page.clock())
                page.touch(block)
            elif isinstance(block, ToolBlock):
                if isinstance(content, ToolCall) and content.cut_arguments is not None:
                    block.cut([])
                    page.touch(block)
                elif isinstance(content, ToolCall) and not content.complete:
                    block.stop()
                    page.touch(block)
            elif (
                isinstance(block, ApiBlock)
                and not block.done
                and message.stop_reason in INTERRUPTED
            ):
                block.stop()
                page.touch(block)
        page.streaming.clear()
        self._mark_end(message)

    def _mark_end(self, message: AssistantMessage) -> None:
        if (notice := ending(message)) is not None:
            self.add(notice, message.id)

    def _stored_answer(self, message: AssistantMessage) -> None:
        for content in message.content:
            match content:
                case TextContent():
                    self._texts.stored(content)
                    continue
                case _:
                    self._texts.settle()
            match content:
                case ThinkingContent():
                    block = ThinkingBlock()
                    block.redacted = content.redacted is not None
                    block.take(content.thinking)
                    block.close(None)
                    self.add(block, message.id)
                case ToolCall():
                    interrupted = message.stop_reason in INTERRUPTED
                    self._calls.stored(content, interrupted=interrupted)
                case OpaqueContent():
                    self._api.stored(content, message.id)
        self._texts.settle()
        if message.container is not None:
            self._api.container(message.container.id, message.id)
        self._mark_end(message)

    # --- tried again -------------------------------------------------------------------

    def _retry(self, event: Any) -> None:
        if event.strikes:
            self._strike(event.strikes)
        if not event.attempt:
            self.add(NoticeBlock("info", "asked again; this takes the place of the answer before"))
            return
        reason = event.reason.rstrip(" .:")
        wait = f" in {elapsed(math.ceil(event.wait_s))}" if event.wait_s else ""
        text = f"{reason}; trying again{wait} (try {event.attempt + 1})"
        self.add(NoticeBlock("warning", text))

    def _strike(self, message_id: str) -> None:
        for block in reversed(self._page.layout.blocks):
            if block.message_id == message_id:
                if isinstance(block, ToolBlock):
                    self._calls.struck(block)
                self._page.strike(block)
            elif block.kind == "prompt":
                break
