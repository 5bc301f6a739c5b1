"""Colours: code that is shown is highlighted in a thread; its rows change when that is done."""

from collections.abc import Callable

from textual.widget import Widget

from agent_tui.tui.transcript.code import Code, LineRuns, highlighter
from agent_tui.tui.transcript.layout import Layout


class Colours:
    """changed: called on the event loop when rows have other colours now."""

    def __init__(self, widget: Widget, layout: Layout, changed: Callable[[], None]) -> None:
        self.waiting = 0
        """Pieces of code whose colours are not there yet."""
        self._widget = widget
        self._layout = layout
        self._changed = changed

    def ask(self, code: Code) -> None:
        self.waiting += 1
        highlighter.highlight(code, self._come)

    def _come(self, code: Code, colours: LineRuns | None) -> None:
        """In the highlighter's thread."""
        self._widget.call_later(self._take, code, colours)

    def _take(self, code: Code, colours: LineRuns | None) -> None:
        self.waiting -= 1
        if colours is not None:
            code.colours = colours
            self._layout.recoloured(code)
            self._changed()
