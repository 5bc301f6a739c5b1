"""Ticking: elapsed times that move, with a timer that runs only while one is there."""

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

from agent_tui.tui.transcript.feed import Feed
from agent_tui.tui.transcript.viewport import Viewport

TICK_S = 0.2
"""Seconds between two looks at running elapsed times."""


class Ticking:
    """tick: called while the timer runs; it calls touch() where the screen may change."""

    def __init__(self, widget: Widget, feed: Feed, view: Viewport, tick: Callable[[], None]):
        self._widget, self._feed, self._view, self._tick = widget, feed, view, tick
        self._timer: Timer | None = None

    def watch(self) -> None:
        """Let the timer run, or not, by what is live now."""
        live = bool(self._feed.live)
        if live and self._timer is None:
            self._timer = self._widget.set_interval(TICK_S, self._tick)
        elif not live and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def touch(self) -> bool:
        """What shows a time on the screen has to be laid out anew; False: nothing does."""
        visible = {row.spot.block for row in self._view.frame}
        touched = False
        for block in self._feed.live:
            if block.index in visible and block.parts:
                block.parts[0].touch()
                touched = True
            for other in block.ticked():
                if other.parts:
                    other.parts[0].touch()
        return touched
