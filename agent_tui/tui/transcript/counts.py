"""Counts: how often a needle is in each block, counted in small steps from where the user is.

What streams is read once: of a text that grows, only what has come since is compared.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent_tui.tui.transcript.blocks import Block
from agent_tui.tui.transcript.heights import Heights
from agent_tui.tui.transcript.needle import CHUNK, Needle, pieces

_STEP = 64
"""Small blocks counted in one step."""

_SMALL = 8192
"""Characters; a piece that is longer is a step of its own."""


@dataclass(slots=True)
class _Grown:
    """What was read of a text that grows: its pieces, the line they end in, matches before it."""

    pieces: int = 0
    line: str = ""
    before: int = 0


class Counts:
    """blocks: the transcript's own list, which grows. start: index of the block where to begin:
    it and those above come first, nearest first, then those below. skip: blocks not read."""

    def __init__(
        self, blocks: Sequence[Block], needle: Needle, start: int, skip: Callable[[Block], bool]
    ) -> None:
        self.needle = needle
        self._blocks = blocks
        self._skip = skip
        self._counts = Heights([0] * len(blocks))
        self._start = min(start, len(blocks) - 1)
        self._above = self._start
        self._below = self._start + 1
        self._changed: dict[Block, None] = {}
        self._grown: dict[Block, _Grown] = {}
        self._read = 0

    @property
    def total(self) -> int:
        """Matches found by now."""
        return self._counts.total

    @property
    def above_done(self) -> bool:
        """All blocks above the first one are counted: ranks are final."""
        return self._above < 0

    @property
    def done(self) -> bool:
        return self._above < 0 and self._below >= len(self._blocks) and not self._changed

    def __getitem__(self, index: int) -> int:
        return self._counts[index] if index < len(self._counts) else 0

    def rank(self, index: int, ordinal: int) -> int:
        """The place of a match of a block among all, from 0."""
        return self._counts.before(min(index, len(self._counts))) + ordinal

    def find(self, rank: int) -> tuple[int, int]:
        """(block index, which match in it) of the match in this place."""
        return self._counts.find(rank)

    def changed(self, block: Block) -> None:
        """A block is new or another."""
        if self._above < block.index < self._below:
            self._changed[block] = None

    def steps(self) -> Iterator[int]:
        """Count; gives after each step the index of a block that was counted."""
        blocks = 0
        while not self.done:
            index = self._next()
            for _ in self._count(index):
                yield index
            blocks += 1
            if self[index] or blocks % _STEP == 0 or self._read > CHUNK // 2:
                self._read = 0
                yield index

    def _next(self) -> int:
        if self._above >= 0:
            self._above -= 1
            return self._above + 1
        if self._changed:
            block = next(iter(self._changed))
            del self._changed[block]
            return block.index
        self._below += 1
        return self._below - 1

    def _count(self, index: int) -> Iterator[None]:
        while len(self._counts) <= index:
            self._counts.append(0)
        block = self._blocks[index]
        if block.struck or self._skip(block):
            self._counts.set(index, 0)
            return
        if block.growing:
            yield from self._count_growing(block)
            return
        self._grown.pop(block, None)
        found = 0
        for piece in pieces(block.texts()):
            found += self._in(block, piece)
            if len(piece) > _SMALL:
                yield
        self._counts.set(index, found)

    def _count_growing(self, block: Block) -> Iterator[None]:
        known = self._grown.setdefault(block, _Grown())
        texts = block.texts(known.pieces)
        known.pieces += len(texts)
        text = known.line + "".join(texts)
        whole = text.rfind("\n") + 1
        known.line = text[whole:]
        for piece in pieces([text[:whole]]):
            known.before += self._in(block, piece)
            if len(piece) > _SMALL:
                yield
        self._counts.set(block.index, known.before + self._in(block, known.line))

    def _in(self, block: Block, text: str) -> int:
        self._read += len(text)
        return self.needle.read(text, markdown=block.markdown).count(self.needle.text)
