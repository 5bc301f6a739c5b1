"""Searching: one search in a transcript, from the first letter to where it ends.

Work is done in slices off the critical path; the page shows the nearest match as soon as one is
known, while the rest is still counted. What a visit unfolds is folded again when it moves on.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from textual.widget import Widget

from agent_tui.tui.transcript.blocks import Block, Modes
from agent_tui.tui.transcript.counts import Counts
from agent_tui.tui.transcript.frames import SLICE_S
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.needle import Needle
from agent_tui.tui.transcript.places import Places, Span
from agent_tui.tui.transcript.viewport import Viewport


@dataclass(frozen=True, slots=True)
class SearchState:
    """position: of the match that is visited, from 1; 0: none, or not known yet. counting: total
    is what is known by now."""

    query: str = ""
    position: int = 0
    total: int = 0
    counting: bool = False


@dataclass(slots=True)
class _Origin:
    """Where one was: the rows on the screen then."""

    following: bool
    top: Spot
    bottom: Spot
    share: float
    width: int


class Searching:
    """show: bring the view to the screen. tell: the state changed. finish: end what is half
    made before the view is changed."""

    def __init__(
        self,
        widget: Widget,
        layout: Layout,
        view: Viewport,
        modes: Modes,
        *,
        finish: Callable[[], None],
        show: Callable[[], None],
        tell: Callable[[SearchState], None],
    ) -> None:
        self._widget, self._layout, self._view, self._modes = widget, layout, view, modes
        self._finish, self._show, self._tell = finish, show, tell
        self._origin: _Origin | None = None
        self._counts: Counts | None = None
        self._places: Places | None = None
        self._current: tuple[Block, int] | None = None
        self._at: tuple[int, int, int] | None = None
        """(block, part, which match of the part) of the current one, for its mark."""
        self._opened: dict[Block, bool | None] = {}
        self._wanted = 0
        self._running = False
        self._state = SearchState()

    # --- what the user does ------------------------------------------------------------

    @property
    def active(self) -> bool:
        return self._origin is not None

    @property
    def busy(self) -> bool:
        return self._running

    @property
    def state(self) -> SearchState:
        return self._state

    def look_for(self, query: str) -> None:
        """Search for another text, from where one was when the search began."""
        self._finish()
        if self._origin is None:
            view = self._view
            bottom = view.frame[-1].spot if view.frame else Spot(0, 0, 0)
            width = self._layout.look.width
            self._origin = _Origin(view.following, view.top, bottom, view.hold(), width)
            self._layout.watcher = self._changed
        needle = Needle(query)
        self._current = self._at = None
        self._wanted = 0
        self._places = Places(self._layout, needle) if needle else None
        self._counts = None
        if needle:
            blocks, origin = self._layout.blocks, self._origin
            start = len(blocks) if origin.following else origin.bottom.block
            self._counts = Counts(self._layout.blocks, needle, start, self._hidden)
        self._go_back()
        self._say()
        self._start()

    def step(self, by: int) -> None:
        """To the next match (1) or the one before (-1); round at the ends."""
        if self._counts is not None:
            self._wanted += by
            self._start()

    def leave(self, *, stay: bool) -> None:
        """End it. stay: where it has come to, with what is unfolded; else where one was."""
        if self._origin is None:
            return
        self._finish()
        if stay:
            self._opened.clear()
        else:
            self._go_back()
        self.forget()
        self._widget.refresh()

    def forget(self) -> None:
        """There is nothing left to search in, or it is over."""
        self._origin = self._counts = self._places = self._current = self._at = None
        self._opened.clear()
        self._layout.watcher = None
        self._say()

    @property
    def block(self) -> Block | None:
        """The block of the current match."""
        return self._current[0] if self._current else None

    def marks(self, spot: Spot) -> Sequence[tuple[Span, bool]]:
        """The matches in a row on the screen; True for the current one."""
        if self._places is None:
            return ()
        here = (spot.block, spot.part)
        found = self._places.marks(spot)
        return [(span, self._at == (*here, span[0])) for span in found]

    # --- work in slices ----------------------------------------------------------------

    def _changed(self, block: Block) -> None:
        if self._counts is not None:
            self._counts.changed(block)
            self._start()

    def _start(self) -> None:
        if not self._running and self._widget.is_running and self._counts is not None:
            self._running = True
            self._widget.run_worker(self._run(), group="search", name="search")

    async def _run(self) -> None:
        try:
            while (counts := self._counts) is not None:
                steps = self._steps(counts)
                while counts is self._counts and _slice(steps):
                    self._say()
                    await asyncio.sleep(0)
                self._say()
                if counts is self._counts and counts.done and not self._wanted:
                    return
                await asyncio.sleep(0)
        finally:
            self._running = False

    def _steps(self, counts: Counts) -> Iterator[None]:
        """Count, and visit what is asked for as soon as it is known."""
        for index in counts.steps():
            if self._current is None and not self._wanted:
                self._first(counts, index)
            yield
            if self._wanted:
                yield from self._walk(counts)
        if self._current is None and counts.total and not self._wanted:
            self._visit(*counts.find(0))
        yield from self._walk(counts)

    def _first(self, counts: Counts, index: int) -> None:
        """The last match that is not below the screen, as soon as it is counted."""
        origin, places = self._origin, self._places
        if origin is None or places is None or not counts[index] or index > origin.bottom.block:
            return
        ordinal = counts[index] - 1
        if index == origin.bottom.block and not origin.following:
            block = self._layout.ready(index)
            ordinal = places.count_before(block, origin.bottom.part + 1) - 1
        if ordinal >= 0:
            self._visit(index, ordinal)

    def _walk(self, counts: Counts) -> Iterator[None]:
        if not self._wanted or not counts.total:
            self._wanted = 0
            return
        by, self._wanted = self._wanted, 0
        if self._current is None:
            rank = 0 if by > 0 else counts.total - 1
        else:
            block, ordinal = self._current
            rank = (counts.rank(block.index, ordinal) + by) % counts.total
        yield
        self._visit(*counts.find(rank))

    def _say(self) -> None:
        counts = self._counts
        position = 0
        if counts is not None and self._current is not None and counts.above_done:
            block, ordinal = self._current
            position = counts.rank(block.index, ordinal) + 1
        state = SearchState(
            self._places.needle.query if self._places else "",
            position,
            counts.total if counts else 0,
            counts is not None and not counts.done,
        )
        if state != self._state:
            self._state = state
            self._tell(state)

    # --- where the page stands ---------------------------------------------------------

    def _hidden(self, block: Block) -> bool:
        return block.kind == "thinking" and self._modes.thinking == "hidden"

    def _visit(self, index: int, ordinal: int) -> None:
        """Show this match, unfolded."""
        places = self._places
        if places is None or index >= len(self._layout.blocks):
            return
        self._finish()
        block = self._layout.ready(index)
        way = () if self._shown_folded(block, ordinal) else tuple(block.way_in())
        self._fold_back(but=way)
        for outer in way:
            self._open(outer)
        self._current = (block, ordinal)
        spot, number = places.spot(block, ordinal)
        self._at = (spot.block, spot.part, number) if number >= 0 else None
        view = self._view
        if not any(row.spot == spot for row in view.frame) or way:
            view.top = spot
            view.scroll_by(-(view.height // 3))
        view.following = False  # what comes in below does not move the match
        self._show()
        self._widget.refresh()

    def _shown_folded(self, block: Block, ordinal: int) -> bool:
        """The line that stands for a folded block holds the match."""
        assert self._places is not None
        if not block.foldable or not block.parts:
            return False
        if not self._places.in_first_line(block, ordinal):
            return False
        rows = range(len(self._layout.rows(block, 0)))
        return any(self._places.marks(Spot(block.index, 0, row)) for row in rows)

    def _open(self, block: Block) -> None:
        if block not in self._opened:
            self._opened[block] = block.expanded
        self._expand(block, True)

    def _fold_back(self, but: Sequence[Block] = ()) -> None:
        for block in [block for block in self._opened if block not in but]:
            self._expand(block, self._opened.pop(block))

    def _expand(self, block: Block, expanded: bool | None) -> None:
        if block.expanded is expanded:
            return
        block.expanded = expanded
        for changed in (block, *block.dependents()):
            changed.make(self._modes)
            self._layout.changed(changed)

    def _go_back(self) -> None:
        """To where one was, folded as it was."""
        origin, view = self._origin, self._view
        self._fold_back()
        if origin is None:
            return
        view.following, view.top = origin.following, origin.top
        if not origin.following and self._layout.look.width != origin.width:
            view.restore(origin.share)
        self._show()
        self._widget.refresh()


def _slice(steps: Iterator[None]) -> bool:
    """Work for at most SLICE_S; False when all is done."""
    begin = time.perf_counter()
    return any(time.perf_counter() - begin > SLICE_S for _ in steps)
