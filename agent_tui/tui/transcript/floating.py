"""Floating: what comes while a program runs and is not of it stands below its tree, however it
grows: notices, and what commands of the user answer.

The transcript only ever gains blocks at its end. So a block that calls have come behind is
taken out and put there again, at most once a frame.
"""

from agent_tui.tui.transcript.api_feed import ApiFeed
from agent_tui.tui.transcript.blocks import TextBlock
from agent_tui.tui.transcript.notices import NoticeBlock
from agent_tui.tui.transcript.page import Page
from agent_tui.tui.transcript.program_block import ProgramBlock
from agent_tui.tui.transcript.program_tree import ProgramCallBlock, ProgramGroup, ProgramOutput

Floater = NoticeBlock | TextBlock


class Floating:
    """Knows the blocks that may have to move."""

    def __init__(self, page: Page, api: ApiFeed) -> None:
        self._page, self._api = page, api
        self._floaters: list[Floater] = []

    def clear(self) -> None:
        self._floaters.clear()

    def add(self, block: Floater) -> None:
        self._page.add(block)
        if self._program_runs():
            self._floaters.append(block)

    def _program_runs(self) -> bool:
        return any(isinstance(b, ProgramBlock) and not b.struck for b in self._api.running())

    def sink(self) -> None:
        """Before a frame is laid out: below what has come of the tree."""
        if not self._floaters:
            return
        layout = self._page.layout
        first = self._floaters[0].index
        behind = layout.blocks[first + 1 :]
        tree = ProgramCallBlock | ProgramGroup | ProgramOutput
        if any(isinstance(block, tree) for block in behind):
            for block in self._floaters:
                self._page.strike(block)
            layout.regap(first, len(layout.blocks))
            moved = [block.again() for block in self._floaters]
            self._floaters.clear()
            for block in moved:
                self.add(block)
        elif not self._program_runs() and any(block not in self._floaters for block in behind):
            self._floaters.clear()  # the conversation went on below them
