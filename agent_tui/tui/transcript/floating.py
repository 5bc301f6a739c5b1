"""Floating: notices that come while a program runs stand below its tree, however it grows.

The transcript only ever gains blocks at its end. So a notice that calls have come behind is
taken out and put there again, at most once a frame.
"""

from agent_tui.tui.transcript.api_feed import ApiFeed
from agent_tui.tui.transcript.notices import NoticeBlock
from agent_tui.tui.transcript.page import Page
from agent_tui.tui.transcript.program_block import ProgramBlock
from agent_tui.tui.transcript.program_tree import ProgramCallBlock, ProgramGroup, ProgramOutput


class Floating:
    """Knows the notices that may have to move."""

    def __init__(self, page: Page, api: ApiFeed) -> None:
        self._page, self._api = page, api
        self._notices: list[NoticeBlock] = []

    def clear(self) -> None:
        self._notices.clear()

    def add(self, notice: NoticeBlock) -> None:
        self._page.add(notice)
        running = (block for block in self._api.running() if not block.struck)
        if any(isinstance(block, ProgramBlock) for block in running):
            self._notices.append(notice)

    def sink(self) -> None:
        """Before a frame is laid out: below what has come of the tree."""
        if not self._notices:
            return
        layout = self._page.layout
        first = self._notices[0].index
        behind = layout.blocks[first + 1 :]
        tree = ProgramCallBlock | ProgramGroup | ProgramOutput
        if any(isinstance(block, tree) for block in behind):
            for notice in self._notices:
                self._page.strike(notice)
            layout.regap(first, len(layout.blocks))
            moved = [notice.again() for notice in self._notices]
            self._notices.clear()
            for notice in moved:
                self.add(notice)
        elif any(not isinstance(block, NoticeBlock) for block in behind):
            self._notices.clear()  # the conversation went on below them
