"""Places: where on the page a match is, of the many that Counts only counts.

Matches are counted in source texts; here the one that is visited is found in the rows that are
laid out, and the matches of the rows on the screen are found for marking them.
"""

from bisect import bisect_right
from collections.abc import Sequence

from agent_tui.tui.transcript.blocks import Block
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.lines import Line
from agent_tui.tui.transcript.needle import Needle

_GAP = 16_384
"""Characters between two parts in the source that no part shows (fences, blank lines)."""

_KEPT = 256

Span = tuple[int, int, int]
"""(which match of its part, first shown character, behind the last)."""


class Places:
    """The matches of one needle."""

    def __init__(self, layout: Layout, needle: Needle) -> None:
        self._layout = layout
        self.needle = needle
        self._spans: dict[tuple[int, int], tuple[Sequence[Line], dict[int, list[Span]]]] = {}

    # --- from a count to a row ---------------------------------------------------------

    def offset(self, block: Block, ordinal: int) -> int:
        """Where this match is in the block's text, -1 if it is not there any more."""
        return next(
            (at for n, (at, _) in enumerate(self.needle.found_in(self._text(block)))
             if n == ordinal), -1,
        )  # fmt: skip

    def in_first_line(self, block: Block, ordinal: int) -> bool:
        """Whether it is in the first line of the text, which a folded block shows."""
        text = self._text(block)
        return text.count(self.needle.text, 0, text.find("\n") % (len(text) + 1)) > ordinal

    def count_before(self, block: Block, part: int) -> int:
        """Matches of the block in the parts before this one."""
        starts = self._starts(block, text := self._text(block))
        end = starts[part] if part < len(starts) else len(text)
        return text.count(self.needle.text, 0, end)

    def spot(self, block: Block, ordinal: int) -> tuple[Spot, int]:
        """The row of a match of a block whose parts are made, and which match of its part it
        is (-1 where the rows do not show it word for word)."""
        text = self._text(block)
        offset = self.offset(block, ordinal)
        starts = self._starts(block, text)
        part = max(0, bisect_right(starts, max(0, offset)) - 1)
        begin = starts[part] if part < len(starts) else 0
        local = text.count(self.needle.text, begin, max(begin, offset))
        if part >= len(block.parts):
            return Spot(block.index, 0, 0), -1
        lines = self._layout.rows(block, part)
        for row, spans in sorted(self._spans_of(block.index, part, lines).items()):
            if any(number == local for number, _, _ in spans):
                return Spot(block.index, part, row), local
        end = starts[part + 1] if part + 1 < len(starts) else len(text)
        share = (offset - begin) / max(1, end - begin)
        return Spot(block.index, part, min(len(lines) - 1, int(share * len(lines)))), -1

    def _text(self, block: Block) -> str:
        return self.needle.read("".join(block.texts()), markdown=block.markdown)

    def _starts(self, block: Block, text: str) -> list[int]:
        """Where in the text each part begins; in order."""
        starts: list[int] = []
        at = 0
        for part in block.parts:
            source = self.needle.read(part.source(), markdown=block.markdown)
            first = next((line.strip() for line in source.split("\n", 8) if line.strip()), "")
            found = text.find(first, at, at + len(first) + _GAP) if first else -1
            starts.append(found if found >= 0 else at)
            if found >= 0:
                at = found + len(source.strip())
        return starts

    # --- rows on the screen ------------------------------------------------------------

    def marks(self, spot: Spot) -> Sequence[Span]:
        """The matches in this row, as it is laid out now."""
        block = self._layout.blocks[spot.block]
        if spot.part >= len(block.parts):
            return ()
        lines = self._layout.rows(block, spot.part)
        return self._spans_of(spot.block, spot.part, lines).get(spot.row, ())

    def _spans_of(self, block: int, part: int, lines: Sequence[Line]) -> dict[int, list[Span]]:
        known = self._spans.get((block, part))
        if known is not None and len(known[0]) == len(lines) and all(
            one is other for one, other in zip(known[0], lines, strict=True)
        ):  # fmt: skip
            return known[1]
        if len(self._spans) > _KEPT:
            self._spans.clear()
        spans = find_in_rows(self.needle, lines)
        self._spans[block, part] = (list(lines), spans)
        return spans


def find_in_rows(needle: Needle, lines: Sequence[Line]) -> dict[int, list[Span]]:
    """The matches in the rows of a part, also those that go over the end of a row."""
    texts: list[str] = []
    starts: list[int] = []
    size = 0
    for line in lines:
        body = line.shown[line.lead :]
        starts.append(size)
        text = body + ("\n" if line.join is None else line.join)
        texts.append(text)
        size += len(text)
    found: dict[int, list[Span]] = {}
    whole = needle.read("".join(texts), markdown=False)
    for number, (start, end) in enumerate(needle.found_in(whole)):
        row = bisect_right(starts, start) - 1
        while row < len(lines) and starts[row] < end:
            lead = lines[row].lead
            length = len(lines[row].shown) - lead
            first = max(0, start - starts[row])
            last = min(length, end - starts[row])
            if last > first:
                found.setdefault(row, []).append((number, first + lead, last + lead))
            row += 1
    return found
