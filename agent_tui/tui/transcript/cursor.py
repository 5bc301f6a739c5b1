"""Cursor: the block that the keyboard is on, for opening and folding without a mouse."""

from agent_tui.tui.transcript.blocks import Block
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.painting import Painter
from agent_tui.tui.transcript.viewport import Viewport


class Cursor:
    """block: where it is; None: nowhere yet."""

    def __init__(self, layout: Layout, view: Viewport, painter: Painter) -> None:
        self.block: Block | None = None
        self._layout = layout
        self._view = view
        self._painter = painter

    def put(self, block: Block | None) -> None:
        self.block = block
        self._painter.cursor = None if block is None else block.index

    def move(self, step: int) -> bool:
        """To the next block that can be opened, from the cursor or from the screen's edge,
        and bring it into view; False if there is none. The caller shows the view."""
        blocks, view = self._layout.blocks, self._view
        if self.block is not None:
            index = self.block.index + step
        else:
            index = view.frame[0 if step > 0 else -1].spot.block if view.frame else 0
        while 0 <= index < len(blocks):
            block = blocks[index]
            if block.foldable and block.parts:
                self.put(block)
                if index not in {row.spot.block for row in view.frame}:
                    view.following = False
                    view.top = Spot(index, 0, 0)
                    view.settle()
                return True
            index += step
        return False
