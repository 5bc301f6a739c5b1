"""Cursor: the block that the keyboard is on, for opening, copying and going on from it."""

from collections.abc import Callable

from agent_tui.tui.transcript.blocks import Block
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.painting import Painter
from agent_tui.tui.transcript.viewport import Viewport


def opens(block: Block) -> bool:
    """It can be folded or opened."""
    return block.foldable and bool(block.parts)


def shows(block: Block) -> bool:
    """It takes rows and says something."""
    return block.shows and not block.struck


def is_prompt(block: Block) -> bool:
    """A message of the user."""
    return block.kind == "prompt" and not block.struck


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

    @property
    def _on_screen(self) -> set[int]:
        return {row.spot.block for row in self._view.frame}

    def point(self, where: Callable[[Block], bool]) -> None:
        """Be on the screen: stay, or go to the lowest such block there."""
        seen = self._on_screen
        if self.block is None or self.block.index not in seen:
            lowest = (self._layout.blocks[index] for index in sorted(seen, reverse=True))
            self.put(next((block for block in lowest if where(block)), None))

    def move(self, step: int, where: Callable[[Block], bool]) -> bool:
        """To the next such block, from the cursor or from the screen's edge, and bring it into
        view; False if there is none. The caller shows the view."""
        view = self._view
        if self.block is not None:
            index = self.block.index + step
        else:
            index = view.frame[0 if step > 0 else -1].spot.block if view.frame else 0
        block = self._find(index, step, where)
        if block is None:
            return False
        self.put(block)
        if block.index not in self._on_screen:
            view.following = False
            view.top = Spot(block.index, 0, 0)
            view.settle()
        return True

    def jump(self, step: int, where: Callable[[Block], bool]) -> bool:
        """To the next such block, from the cursor if it is on one that is on the screen, else
        from what is at the top, and put it there. The caller shows the view."""
        view, here = self._view, self.block
        if not view.frame:
            return False
        if here is not None and where(here) and here.index in self._on_screen:
            index = here.index + step
        elif view.following:
            index = len(self._layout.blocks) - (step < 0)
        else:
            first = view.frame[0].spot
            within = first.part > 0 or first.row > self._layout.blocks[first.block].gap
            index = first.block - (not within) if step < 0 else first.block + 1
        block = self._find(index, step, where)
        if block is None:
            return False
        self.put(block)
        view.following = False
        view.top = Spot(block.index, 0, block.gap)
        view.settle()
        view.catch_end()
        return True

    def _find(self, index: int, step: int, where: Callable[[Block], bool]) -> Block | None:
        blocks = self._layout.blocks
        while 0 <= index < len(blocks):
            if where(blocks[index]):
                return blocks[index]
            index += step
        return None
