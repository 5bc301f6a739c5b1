"""Folding: one block, or all of a kind, folded or opened.

All at once may be ten thousand blocks. What is on the screen is made first, then the others in
slices, from there outward; the view holds its place meanwhile.
"""

import asyncio
import time
from collections.abc import Callable, Iterator

from textual.widget import Widget

from agent_tui.tui.transcript.blocks import Block, Modes
from agent_tui.tui.transcript.frames import SLICE_S
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.viewport import Viewport

SHOW_S = 0.1
"""Seconds between two looks at the screen while blocks above and below it change."""

_REGAP = 256
"""Blocks whose gaps are looked at in one step."""


class Folding:
    """show: bring the view to the screen."""

    def __init__(
        self,
        widget: Widget,
        layout: Layout,
        view: Viewport,
        modes: Modes,
        show: Callable[[], None],
    ) -> None:
        self._widget, self._layout, self._view, self._modes = widget, layout, view, modes
        self._show = show
        self._steps: Iterator[None] | None = None
        self._running = False

    @property
    def busy(self) -> bool:
        """Blocks wait to be made anew."""
        return self._steps is not None

    def one(self, block: Block) -> None:
        """Fold this block, or open it."""
        block.toggle(self._modes)
        for changed in (block, *block.dependents()):
            changed.make(self._modes)
            self._layout.changed(changed)

    def all(self, *kinds: str) -> None:
        """All blocks of these kinds stand as the mode says; single choices are forgotten."""
        blocks = [b for b in self._layout.blocks if b.kind in kinds and not b.struck]
        for block in blocks:
            block.expanded = None
        self._steps = self._all(kinds)
        self._slice()
        if self._steps is not None and not self._running and self._widget.is_running:
            self._running = True
            self._widget.run_worker(self._run(), group="folding", name="folding")

    def forget(self) -> None:
        """The blocks are gone."""
        self._steps = None

    def _all(self, kinds: tuple[str, ...]) -> Iterator[None]:
        blocks = list(self._layout.blocks)
        view = self._view
        end = view.following or not view.frame
        here = len(blocks) if end else view.frame[0].spot.block
        for block in (*blocks[here:], *reversed(blocks[:here])):
            if block.kind in kinds and not block.struck:
                block.make(self._modes)
                self._layout.changed(block)
                yield
        for start in range(0, len(blocks), _REGAP):
            self._layout.regap(start, start + _REGAP)
            yield

    def _slice(self) -> None:
        """Work for at most SLICE_S."""
        if (steps := self._steps) is None:
            return
        begin = time.perf_counter()
        if not any(time.perf_counter() - begin > SLICE_S for _ in steps):
            self._steps = None
            return
        frame = self._view.frame
        if frame:  # those that are seen, before the turn of all comes
            self._layout.regap(frame[0].spot.block, frame[-1].spot.block + 1)

    async def _run(self) -> None:
        try:
            shown = time.monotonic()
            while self.busy:
                await asyncio.sleep(0)
                self._slice()
                if not self.busy or time.monotonic() - shown > SHOW_S:
                    self._show()
                    shown = time.monotonic()
        finally:
            self._running = False
