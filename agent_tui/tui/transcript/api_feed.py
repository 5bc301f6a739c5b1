"""ApiFeed: the API's own blocks (server tools, their results, anything new) as they come."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from agent_tui.agent.messages import OpaqueContent
from agent_tui.tui.transcript.api_blocks import ApiBlock
from agent_tui.tui.transcript.api_kinds import make_block
from agent_tui.tui.transcript.page import Page
from agent_tui.tui.transcript.program_block import ProgramBlock


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
                page.touch(block, 1 if block.grows else 0)
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
        block.placed(page)
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
        block.placed(self._page)

    def container(self, container_id: str, message_id: str) -> None:
        """An answer names the container that its programs run in."""
        for block in reversed(self._page.layout.blocks):
            if block.message_id != message_id:
                return
            if isinstance(block, ProgramBlock):
                block.container = container_id
                self._page.touch(block)

    def know_files(self, files: Iterable[Mapping[str, Any]]) -> None:
        """Names and sizes of files that programs made."""
        known = {
            str(file.get("file_id")): (str(file["name"]), file.get("size"))
            for file in files
            if file.get("name")
        }
        new = {id for id, facts in known.items() if self._page.files.get(id) != facts}
        self._page.files |= known
        for block in self._asked.values() if new else ():
            if isinstance(block, ProgramBlock):
                block.files_known(new)

    def _remember(self, raw: Mapping[str, Any], block: ApiBlock) -> None:
        if isinstance(call_id := raw.get("id"), str):
            self._asked[call_id] = block

    def running(self) -> set[ApiBlock]:
        """The blocks whose result has not come."""
        return {block for block in self._asked.values() if not block.done and not block.stopped}

    def end_all(self, but: Collection[ApiBlock] = ()) -> None:
        """The run, or the history, is over: nothing shows as going on."""
        for block in self._asked.values():
            if block not in but and not block.done and not block.stopped:
                block.stop()
                self._page.touch(block)
