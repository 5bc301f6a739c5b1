"""Stage: puts the viewport's rows before Textual: where the view is, which rows to repaint,
how many came below while it does not follow."""

from collections.abc import Callable

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.lines import Line
from agent_tui.tui.transcript.viewport import FrameRow, Viewport


class Stage:
    """tell: called with the number of rows that came below, 0 when the view follows again."""

    def __init__(
        self, widget: ScrollView, layout: Layout, view: Viewport, tell: Callable[[int], None]
    ) -> None:
        self.placing = False
        """Textual is being told where the view is: its own scrolling must not answer."""
        self._widget = widget
        self._layout = layout
        self._view = view
        self._tell = tell
        self._shown: list[FrameRow] = []
        self._thumb = (0, 0)
        self._missed = 0  # rows that came below since the view let go of the end
        self._missed_told = 0

    def place(self, *, bar: bool) -> None:
        """Tell Textual where the view is and repaint the rows that differ. bar: draw the
        scroll bar in any case, not only where it would look different."""
        widget, total, height = self._widget, self._layout.total, self._view.height
        self.placing = True
        try:
            # Setting the reactive itself would lay out the whole screen for every frame.
            size = Size(self._layout.look.width, total)
            widget.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
            y = self._view.y
            widget.scroll_target_y = y
            widget.scroll_y = y
            thumb = (2 * height * height // max(1, total), 2 * height * y // max(1, total))
            if bar or thumb != self._thumb:
                self._thumb = thumb
                scrollbar = widget.vertical_scrollbar
                scrollbar.window_size = height
                scrollbar.window_virtual_size = total
                scrollbar.position = widget.scroll_y
        finally:
            self.placing = False
        self._repaint()
        if self._view.following:
            self._missed = 0
        self._tell_missed()

    def _repaint(self) -> None:
        old, new = self._shown, self._view.frame
        self._shown = new
        count = max(len(old), len(new))
        changed = [
            index
            for index in range(count)
            if index >= len(old)
            or index >= len(new)
            or not _looks_same(old[index].line, new[index].line)
        ]
        widget = self._widget
        if len(changed) * 2 > self._view.height:
            widget.refresh()
            return
        left, top = widget.styles.gutter.left, widget.styles.gutter.top
        width = self._layout.look.width
        for index in changed:
            widget.refresh(Region(left, top + index, width, 1))

    # --- below -------------------------------------------------------------------------

    def count_missed(self, before: int) -> None:
        """before: rows that there were when work began."""
        if not self._view.following:
            self._missed += max(0, self._layout.total - before)

    def forget_missed(self) -> None:
        self._missed = 0
        self._tell_missed()

    def _tell_missed(self) -> None:
        if self._missed != self._missed_told:
            self._missed_told = self._missed
            self._tell(self._missed)


def _looks_same(one: Line, other: Line) -> bool:
    return one is other or (one.segments == other.segments and one.fill == other.fill)
