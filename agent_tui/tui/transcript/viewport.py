"""Viewport: the rows of the transcript that are on the screen.

It either follows the end or holds the row at its top by a Spot, so that what the user
reads stays where it is while text streams in below and heights above become exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.lines import Line


@dataclass(slots=True)
class FrameRow:
    """A row on the screen and where it is in the transcript."""

    spot: Spot
    line: Line


class Viewport:
    """height rows of `layout`. following: stands at the end and goes with it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.height = 0
        self.following = True
        self.top = Spot(0, 0, 0)
        self.frame: list[FrameRow] = []

    @property
    def y(self) -> int:
        """The row number of the top row."""
        return self.layout.y(self.top)

    def steps(self) -> Iterator[None]:
        """Lay out what the next frame needs, a part a step; then `frame` is up to date."""
        if self.following:
            yield from self._fill_from_end()
        else:
            yield from self._fill_from_top()
        self.frame = self._collect()

    def settle(self) -> None:
        for _ in self.steps():
            pass

    def _fill_from_end(self) -> Iterator[None]:
        layout = self.layout
        need = self.height
        top = Spot(0, 0, 0)
        for block, part in layout.parts_before(len(layout.blocks), 0):
            rows = len(layout.rows(block, part))
            yield
            if rows >= need:
                top = Spot(block.index, part, rows - need)
                break
            need -= rows
        self.top = top

    def _fill_from_top(self) -> Iterator[None]:
        layout = self.layout
        self.top = self._valid(self.top)
        need = self.height + self.top.row
        for block, part in layout.parts_from(self.top.block, self.top.part):
            need -= len(layout.rows(block, part))
            yield
            if need <= 0:
                return
        # Less than a screenful is left below: this is the end.
        yield from self._fill_from_end()

    def _valid(self, spot: Spot) -> Spot:
        """The spot, moved to a row that exists if its part has become shorter."""
        blocks = self.layout.blocks
        if spot.block >= len(blocks):
            return Spot(max(0, len(blocks) - 1), 0, 0)
        block = self.layout.ready(spot.block)
        if not block.parts:
            return Spot(spot.block, 0, 0)
        if spot.part >= len(block.parts):
            part = len(block.parts) - 1
            return Spot(spot.block, part, max(0, len(self.layout.rows(block, part)) - 1))
        rows = len(self.layout.rows(block, spot.part))
        return Spot(spot.block, spot.part, min(spot.row, max(0, rows - 1)))

    def _collect(self) -> list[FrameRow]:
        frame: list[FrameRow] = []
        skip = self.top.row
        for block, part in self.layout.parts_from(self.top.block, self.top.part):
            rows = self.layout.rows(block, part)
            for number in range(skip, len(rows)):
                frame.append(FrameRow(Spot(block.index, part, number), rows[number]))
                if len(frame) >= self.height:
                    return frame
            skip = 0
        return frame

    # --- moving ------------------------------------------------------------------------

    def scroll_by(self, rows: int) -> None:
        """Move the top by exactly so many rows; lays out what comes by."""
        self.following = False
        if rows < 0:
            self._up(-rows)
        else:
            self._down(rows)
        self.settle()
        self.catch_end()

    def scroll_to(self, y: int) -> None:
        """Put row number y (by the heights known now) at the top."""
        self.following = False
        self.top = self.layout.spot(y)
        self.settle()
        self.catch_end()

    def to_end(self) -> None:
        self.following = True
        self.settle()

    def catch_end(self) -> None:
        """Whoever scrolls down to the last row follows again."""
        layout = self.layout
        if not self.frame or len(self.frame) < self.height:
            self.following = True
            self.settle()
            return
        last = self.frame[-1].spot
        block = layout.blocks[last.block]
        if last.row + 1 < len(layout.rows(block, last.part)):
            return
        below = layout.parts_from(last.block, last.part + 1)
        self.following = all(not layout.rows(block, part) for block, part in below)

    def _up(self, rows: int) -> None:
        self.top = self._valid(self.top)
        if rows <= self.top.row:
            self.top = self.top._replace(row=self.top.row - rows)
            return
        rows -= self.top.row
        top = Spot(0, 0, 0)
        for block, part in self.layout.parts_before(self.top.block, self.top.part):
            height = len(self.layout.rows(block, part))
            if height >= rows:
                top = Spot(block.index, part, height - rows)
                break
            rows -= height
        self.top = top

    def _down(self, rows: int) -> None:
        self.top = self._valid(self.top)
        rows += self.top.row
        last = self.top
        for block, part in self.layout.parts_from(self.top.block, self.top.part):
            height = len(self.layout.rows(block, part))
            if height > rows:
                self.top = Spot(block.index, part, rows)
                return
            rows -= height
            last = Spot(block.index, part, max(0, height - 1))
        self.top = last

    # --- another width -----------------------------------------------------------------

    def hold(self) -> float:
        """How far into its part the top row is: for restore() after a new layout."""
        block = self.layout.ready(self.top.block) if self.layout.blocks else None
        if block is None or self.top.part >= len(block.parts):
            return 0.0
        part = block.parts[self.top.part]
        lines = part.lines
        gap = block.gap if self.top.part == 0 else part.gap
        row = self.top.row - gap
        if lines is None or row <= 0:
            return 0.0
        size = sum(len(line.text) + 1 for line in lines)
        return sum(len(line.text) + 1 for line in lines[:row]) / max(1, size)

    def restore(self, share: float) -> None:
        if not self.layout.blocks:
            return
        block = self.layout.ready(min(self.top.block, len(self.layout.blocks) - 1))
        if self.top.part >= len(block.parts) or share <= 0:
            return
        rows = self.layout.rows(block, self.top.part)
        lines = self.layout.lines(block, self.top.part)
        goal = share * sum(len(line.text) + 1 for line in lines) + 0.5
        passed = 0
        for number, line in enumerate(lines):
            passed += len(line.text) + 1
            if passed > goal:
                self.top = self.top._replace(row=number + len(rows) - len(lines))
                return
