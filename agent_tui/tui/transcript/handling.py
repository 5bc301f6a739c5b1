"""Handling: what a block does when it is clicked, or a key is pressed on it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_tui.tui.transcript import signals
from agent_tui.tui.transcript.blocks import Block
from agent_tui.tui.transcript.folding import Folding
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.parts import Picture
from agent_tui.tui.transcript.tool_blocks import ToolBlock
from agent_tui.tui.transcript.viewport import Viewport

if TYPE_CHECKING:
    from agent_tui.tui.transcript.transcript import Transcript


class Handling:
    """Of one transcript. finish: end what is half made; show: bring the view to the screen;
    folded: called when a block has been folded or opened."""

    def __init__(
        self,
        transcript: "Transcript",
        layout: Layout,
        view: Viewport,
        folding: Folding,
        *,
        finish: Callable[[], None],
        show: Callable[[], None],
        folded: Callable[[], None],
    ) -> None:
        self._transcript, self._layout, self._view = transcript, layout, view
        self._folding = folding
        self._finish, self._show, self._folded = finish, show, folded

    def click(self, y: int) -> bool:
        """A click on this row of the screen; False: nothing there answers to it."""
        if not 0 <= y < len(self._view.frame):
            return False
        spot = self._view.frame[y].spot
        block = self._layout.blocks[spot.block]
        part = block.parts[spot.part]
        if spot.row < (block.gap if spot.part == 0 else part.gap):
            return False
        if part.pictures:
            return self.look(block, part.pictures[0])
        if not block.folds_at(spot.part):
            return False
        self.toggle(block)
        return True

    def enter(self, block: Block) -> None:
        """Enter on it: fold or open it; look at the images of one that does neither."""
        if block.foldable or not self.look(block):
            self.toggle(block)

    def toggle(self, block: Block) -> None:
        """Fold it, or open it; its first line stays where it is on the screen."""
        self._finish()
        view = self._view
        if block.foldable:
            self._folding.one(block)
            self._folded()
        if isinstance(block, ToolBlock):
            self._tell(signals.ToolOpened(self._transcript, block.call_id))
        if view.following and view.frame:
            view.following = False
            view.top = view.frame[0].spot
            view.settle()
            view.catch_end()
        self._show()

    def look(self, block: Block, first: Picture | None = None) -> bool:
        """Show its images on a page; False: it has none. first: which of them comes first."""
        pictures = list(block.pictures())
        if not pictures:
            return False
        at = pictures.index(first) if first in pictures else 0
        self._tell(signals.ImageWanted(self._transcript, pictures, at))
        return True

    def _tell(self, signal: signals.Signal) -> None:
        self._transcript.post_message(signal)
