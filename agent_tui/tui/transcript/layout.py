"""Layout: where every row of the transcript is, laying out only what is asked for.

Heights of what was never looked at are estimates; they become exact when it is. A Spot
names a row by block, part and row, so it stays right when heights elsewhere change.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from agent_tui.tui.transcript.blocks import Block, TextBlock
from agent_tui.tui.transcript.code import Code, CodePart
from agent_tui.tui.transcript.heights import Heights
from agent_tui.tui.transcript.lines import Line, Look, lay_runs
from agent_tui.tui.transcript.markdown import MarkdownPart
from agent_tui.tui.transcript.parts import Part

_log = logging.getLogger(__name__)

LINES_KEPT = 3000
"""Laid-out rows in the cache; about 1 kB each."""

CODES_COLOURED = 100
"""Pieces of code whose colours are kept."""

PARTS_KEPT = 8000
"""Parts of texts that were looked at once, before the oldest texts are put to sleep."""

_AWAKE_AT_LEAST = 16

BLANK = Line([], "")

_PART_BITS = 24
_ROW_BITS = 20


class Spot(NamedTuple):
    """A row: block index, part index in it, row in the part (gaps above it count)."""

    block: int
    part: int
    row: int

    @property
    def key(self) -> int:
        """One number that orders spots; the y of a text selection."""
        return (((self.block << _PART_BITS) | self.part) << _ROW_BITS) | self.row

    @classmethod
    def from_key(cls, key: int) -> "Spot":
        rest, row = key >> _ROW_BITS, key & ((1 << _ROW_BITS) - 1)
        return cls(rest >> _PART_BITS, rest & ((1 << _PART_BITS) - 1), row)


class Layout:
    """The blocks and their rows at one Look. highlight: called with code that could be
    coloured in the background; its parts are dropped by recoloured()."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.blocks: list[Block] = []
        self._tops = Heights()
        self._cache: OrderedDict[Part, int] = OrderedDict()
        self._cached = 0
        self._coloured: OrderedDict[Code, None] = OrderedDict()
        self._awake: OrderedDict[Block, None] = OrderedDict()
        self.highlight: Callable[[Code], None] | None = None
        self.watcher: Callable[[Block], None] | None = None
        """Called with each block that is new or another."""

    # --- changes -----------------------------------------------------------------------

    def clear(self) -> None:
        self.blocks.clear()
        self._tops = Heights()
        self._cache.clear()
        self._cached = 0
        self._awake.clear()
        self._coloured.clear()

    def add(self, block: Block) -> None:
        block.index = len(self.blocks)
        block.gap = self._gap(block)
        self.blocks.append(block)
        self._tops.append(0)
        self.changed(block)
        if isinstance(block, TextBlock) and block.streaming:
            self._awake[block] = None
            self._doze()

    def _gap(self, block: Block) -> int:
        """Blank rows above: none between lines that belong together."""
        index = block.index - 1
        while index >= 0:
            before = self.blocks[index]
            if before.shows:
                return 0 if (before.kind, block.kind) in _TOGETHER else 1
            index = index - 1 if before.below is None else before.below.index
        return 0

    def changed(self, block: Block, first: int = 0) -> None:
        """The parts of `block` from `first` on are new, changed or gone."""
        if not 0 <= block.index < len(self.blocks) or self.blocks[block.index] is not block:
            return  # it was cleared away
        if block.struck:
            block.parts = []
        if self.watcher is not None:
            self.watcher(block)
        heights = block.heights
        parts = block.parts
        if heights is None or first == 0:
            self._measure(block)
            return
        while len(heights) > len(parts):
            heights.pop()
        for index in range(min(first, len(heights)), len(parts)):
            rows = self._rows_of(block, index)
            if index < len(heights):
                heights.set(index, rows)
            else:
                heights.append(rows)
        self._tops.set(block.index, heights.total)

    def _measure(self, block: Block) -> None:
        if block.parts or block.struck:
            block.heights = Heights(self._rows_of(block, i) for i in range(len(block.parts)))
            self._tops.set(block.index, block.heights.total)
        else:
            # Not made yet (stored text), or nothing to show.
            block.heights = None
            rows = block.estimate(self.look.width)
            self._tops.set(block.index, rows + block.gap if rows else 0)

    def _rows_of(self, block: Block, index: int) -> int:
        part = block.parts[index]
        gap = block.gap if index == 0 else part.gap
        if part.measured == self.look.version:
            return part.rows + gap if part.rows else 0
        return part.estimate(self.look.width) + gap

    def restyle(self, look: Look) -> None:
        """Another width, theme or set of glyphs: nothing laid out counts any more."""
        self.look = replace(look, version=self.look.version + 1)
        for part in self._cache:
            part.lines = None
        self._cache.clear()
        self._cached = 0
        rows: list[int] = []
        width = self.look.width
        for block in self.blocks:
            block.heights = None
            height = 0 if block.struck else block.estimate(width)
            rows.append(height + block.gap if height else 0)
        self._tops = Heights(rows)

    def regap(self, first: int, end: int) -> None:
        """Blocks appeared or went (thinking hidden): the space above those from index `first`
        to before `end` anew."""
        for block in self.blocks[first:end]:
            gap = self._gap(block)
            if gap != block.gap:
                block.gap = gap
                self.changed(block)

    def recoloured(self, code: Code) -> None:
        """The colours of this code are known now; those of long ago are given up."""
        self._coloured[code] = None
        self._coloured.move_to_end(code)
        while len(self._coloured) > CODES_COLOURED:
            old, _ = self._coloured.popitem(last=False)
            old.colours, old.requested = None, False
        for part in list(self._cache):
            if (isinstance(part, CodePart) and part.code is code) or (
                isinstance(part, MarkdownPart) and code in part.codes
            ):
                self._forget(part)

    def _doze(self) -> None:
        """Texts that nobody has looked at for long keep their source and height only."""
        parts = sum(len(block.parts) for block in self._awake)
        for block in list(self._awake)[:-_AWAKE_AT_LEAST]:
            if parts <= PARTS_KEPT:
                return
            if isinstance(block, TextBlock) and not block.streaming:
                parts -= len(block.parts)
                del self._awake[block]
                block.sleep()
                block.heights = None

    # --- looking -----------------------------------------------------------------------

    @property
    def total(self) -> int:
        return self._tops.total

    def ready(self, index: int) -> Block:
        """The block with its parts made and measured (estimates count)."""
        block = self.blocks[index]
        if block in self._awake:
            self._awake.move_to_end(block)
        if block.heights is None and not block.struck:
            block.ready()
            if isinstance(block, TextBlock) and block not in self._awake:
                self._awake[block] = None
                self._doze()
            if block.parts:
                self._measure(block)
            else:
                block.heights = Heights()
                self._tops.set(index, 0)
        return block

    def lines(self, block: Block, index: int) -> list[Line]:
        """The rows of a part (without the gap above it), laid out now if need be."""
        part = block.parts[index]
        if isinstance(part, MarkdownPart) and part.lines is not None and part.stale:
            self._forget(part)
        if part.lines is None or part.measured != self.look.version:
            self._forget(part)
            lines = self._lay_out(part)
            part.lines = lines
            part.rows = len(lines)
            part.measured = self.look.version
            self._cache[part] = len(lines)
            self._cached += len(lines)
            self._evict()
            self._ask_for_colours(part)
            heights = block.heights
            if heights is not None and index < len(heights):
                difference = heights.set(index, self._rows_of(block, index))
                if difference:
                    self._tops.set(block.index, heights.total)
            return lines
        self._cache.move_to_end(part)
        return part.lines

    def _lay_out(self, part: Part) -> list[Line]:
        try:
            return part.lay_out(self.look)
        except Exception:  # a parser is foreign code: its failure costs the looks only
            _log.exception("a part could not be laid out")
            lines: list[Line] = []
            for line in part.source().split("\n"):
                lay_runs([(line, "")], self.look, lines)
            return lines

    def rows(self, block: Block, index: int) -> list[Line]:
        """The rows of a part with the gap above it."""
        lines = self.lines(block, index)
        gap = block.gap if index == 0 else block.parts[index].gap
        return [BLANK] * gap + lines if gap and lines else lines

    def _evict(self) -> None:
        while self._cached > LINES_KEPT and len(self._cache) > 1:
            part, count = self._cache.popitem(last=False)
            self._cached -= count
            part.lines = None

    def _forget(self, part: Part) -> None:
        count = self._cache.pop(part, None)
        if count is not None:
            self._cached -= count
        part.lines = None

    def _ask_for_colours(self, part: Part) -> None:
        if self.highlight is None:
            return
        if isinstance(part, CodePart):
            if part.code.wants_highlight:
                self.highlight(part.code)
        elif isinstance(part, MarkdownPart):
            for code in part.codes:
                if code.wants_highlight:
                    self.highlight(code)

    # --- spots -------------------------------------------------------------------------

    def y(self, spot: Spot) -> int:
        """The row number of a spot, by what is known of the heights above it."""
        if spot.block >= len(self.blocks):
            return self.total
        heights = self.ready(spot.block).heights
        inside = heights.before(min(spot.part, len(heights))) if heights else 0
        return self._tops.before(spot.block) + inside + spot.row

    def spot(self, y: int) -> Spot:
        """The spot of row number y (clamped)."""
        index, row = self._tops.find(max(0, min(y, self.total - 1)))
        if index >= len(self.blocks):
            return Spot(max(0, len(self.blocks) - 1), 0, 0)
        block = self.ready(index)
        heights = block.heights or Heights()
        part, row = heights.find(row)
        if part >= len(heights):
            return Spot(index, max(0, len(heights) - 1), 0)
        return Spot(index, part, row)

    def parts_from(self, block: int, part: int) -> Iterator[tuple[Block, int]]:
        """(block, part index) from there on, downward."""
        while block < len(self.blocks):
            current = self.ready(block)
            while part < len(current.parts):
                yield current, part
                part += 1
            block, part = block + 1, 0

    def parts_before(self, block: int, part: int) -> Iterator[tuple[Block, int]]:
        """(block, part index) above there, upward."""
        while True:
            while part > 0:
                part -= 1
                yield self.blocks[block], part
            block -= 1
            if block < 0:
                return
            part = len(self.ready(block).parts)


_TOGETHER = {
    ("tool", "tool"),
    ("thinking", "text"),
    ("thinking", "tool"),
    ("thinking", "thinking"),
    ("sources", "sources"),
    ("notice", "notice"),
}
