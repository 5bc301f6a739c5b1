"""ApiFeed: the API's own blocks (server tools, their results, anything new) as they come."""

from collections.abc import Mapping
from typing import Any

from agent_tui.agent.messages import OpaqueContent
from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.api_kinds import make_block
from agent_tui.tui.transcript.page import Page


class ApiFeed:
    """Keeps the blocks that a later result block may answer."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._asked: dict[str, ApiBlock] = {}

    def clear(self) -> None:
        self._asked.clear()

    def block(self, call_id: object) -> ApiBlock | None:
        """The block of this server-side call: of a program, the one that made client calls."""
        return self._asked.get(call_id) if isinstance(call_id, str) else None

    def event(self, event: Any) -> None:
        """An OpaqueEvent of the answer that streams."""
        page = self._page
        block = page.streaming.get(event.index)
        if event.phase == "delta":
            if isinstance(block, ApiBlock) and event.partial:
                block.add_arguments(event.partial)
                page.touch(block)
            return
        content: OpaqueContent | None = event.block
        if content is None:
            return
        raw = content.raw
        if event.phase == "end" and isinstance(block, ApiBlock):
            block.close(raw)
            page.touch(block)
            return
        if (asked := self.block(raw.get("tool_use_id"))) is not None:
            if event.phase == "end":
                asked.answer(raw)
                page.touch(asked)
            return
        block = make_block(raw)
        if event.phase == "start":
            block.start(page.clock)
        page.begin(event.index, block)
        self._remember(raw, block)
        if event.phase == "end":
            block.close(raw)
            page.touch(block)

    def stored(self, content: OpaqueContent, message_id: str) -> None:
        """A block of a stored answer."""
        raw = content.raw
        if (asked := self.block(raw.get("tool_use_id"))) is not None:
            asked.answer(raw)
            self._page.touch(asked)
            return
        block = make_block(raw)
        block.close(raw)
        self._remember(raw, block)
        self._page.add(block, message_id)

    def _remember(self, raw: Mapping[str, Any], block: ApiBlock) -> None:
        if isinstance(call_id := raw.get("id"), str):
            self._asked[call_id] = block

    def end_all(self) -> None:
        """The run is over: nothing shows as going on."""
        for block in self._asked.values():
            if not block.done and not block.stopped:
                block.stop()
                self._page.touch(block)
