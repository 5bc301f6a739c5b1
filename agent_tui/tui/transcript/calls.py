"""Calls: the tool calls of a conversation, from their first argument to their result."""

from collections.abc import Callable, Mapping
from typing import Any

from agent_tui.agent.events import (
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import ToolCall, ToolResultMessage
from agent_tui.tui.transcript.api_feed import ApiFeed
from agent_tui.tui.transcript.cut_arguments import so_far
from agent_tui.tui.transcript.page import Page
from agent_tui.tui.transcript.program_block import ProgramBlock
from agent_tui.tui.transcript.program_tree import ProgramCallBlock
from agent_tui.tui.transcript.tool_blocks import ToolBlock


class Calls:
    """Keeps the ToolBlocks that are not answered yet and changes them as events say."""

    def __init__(self, page: Page, api: ApiFeed) -> None:
        self._page = page
        self._api = api
        self._blocks: dict[str, ToolBlock] = {}

    def clear(self) -> None:
        self._blocks.clear()

    def block(
        self, call_id: str, name: str, caller: Mapping[str, Any] | None, index: int | None = None
    ) -> ToolBlock:
        """The block of this call; a new one if it is not known. index: on the wire."""
        page = self._page
        tool = self._blocks.get(call_id)
        if tool is None:
            tool = self._blocks[call_id] = self._new(call_id, name, caller)
            page.add(tool, page.message_id)
        if index is not None:
            page.streaming[index] = tool
        return tool

    def _new(self, call_id: str, name: str, caller: Mapping[str, Any] | None) -> ToolBlock:
        clock = self._page.clock
        if caller is None or caller.get("type") == "direct":
            return ToolBlock(call_id, name, clock)
        program = self._api.block(caller.get("tool_id"))
        if isinstance(program, ProgramBlock):
            return ProgramCallBlock(call_id, name, clock, program)
        tool = ToolBlock(call_id, name, clock)
        tool.caller = caller
        return tool

    def call(self, index: int, call: ToolCall, *, done: bool) -> None:
        """A call of the answer that streams began, or is whole."""
        tool = self.block(call.id, call.name, call.caller, index)
        if done or call.arguments:
            tool.set_arguments(call.arguments)
        self._page.touch(tool)

    def stored(self, call: ToolCall, *, interrupted: bool) -> None:
        """interrupted: its answer broke off, so none of its calls ran."""
        tool = self.block(call.id, call.name, call.caller)
        tool.set_arguments(call.arguments)
        if call.cut_arguments is not None:
            tool.cut(so_far(call))
        elif interrupted or not call.complete:
            tool.stop()
        self._page.touch(tool)

    # --- running -----------------------------------------------------------------------

    def start(self, event: ToolExecutionStartEvent) -> None:
        tool = self.block(event.tool_call_id, event.tool_name, event.caller)
        tool.set_arguments(event.arguments)
        tool.start()
        if self._asking:
            tool.hold()
        self._page.watch(tool)
        self._page.touch(tool)

    def update(self, event: ToolExecutionUpdateEvent) -> None:
        tool = self.block(event.tool_call_id, event.tool_name, event.caller)
        tool.update(event.partial)
        self._page.touch(tool)

    def end(self, event: ToolExecutionEndEvent) -> None:
        tool = self.block(event.tool_call_id, event.tool_name, event.caller)
        tool.end(event.result, event.duration_ms, event.is_error)
        self._page.unwatch(tool)
        self._page.touch(tool)

    def result(self, message: ToolResultMessage) -> None:
        """The message that answers a call; of a stored one it is all there is."""
        tool = self.block(message.tool_call_id, message.tool_name, None)
        if tool.result is None:
            tool.end(message, None)
            self._page.unwatch(tool)
        self._page.touch(tool)
        self._blocks.pop(message.tool_call_id, None)

    def will_not_run(self, call_id: str) -> None:
        if (tool := self._blocks.get(call_id)) is not None:
            tool.will_not_run()
            self._page.touch(tool)

    # --- asking ------------------------------------------------------------------------

    def asked(self, event: Any) -> None:
        """A permission_request: it waits for the user, and the others wait for it."""
        tool = self.block(event.tool_call_id, event.tool_name, event.caller)
        if event.arguments:
            tool.set_arguments(event.arguments)
        tool.ask()
        self._page.touch(tool)
        self._change(ToolBlock.hold)

    def answered(self, event: Any) -> None:
        if (tool := self._blocks.get(event.tool_call_id)) is not None:
            tool.answered()
            self._page.touch(tool)
        if not self._asking:
            self._change(ToolBlock.release)

    @property
    def _asking(self) -> bool:
        return any(tool.state == "waiting" for tool in self._blocks.values())

    def _change(self, change: Callable[[ToolBlock], bool]) -> None:
        for tool in self._blocks.values():
            if change(tool):
                self._page.touch(tool)

    # --- ending ------------------------------------------------------------------------

    def open_ids(self) -> set[str]:
        """Ids of the calls without a result."""
        return set(self._blocks)

    def give_up(self, call_ids: set[str]) -> None:
        """A stored history that ends here answers none of these."""
        for call_id in call_ids:
            tool = self._blocks.pop(call_id)
            tool.unanswered()
            self._page.touch(tool)

    def struck(self, tool: ToolBlock) -> None:
        self._blocks.pop(tool.call_id, None)

    def end_all(self) -> None:
        """The run is over: nothing shows as going on."""
        for tool in self._blocks.values():
            if tool.state not in ("done", "failed", "stopped"):
                tool.stop()
                self._page.touch(tool)
        self._blocks.clear()
