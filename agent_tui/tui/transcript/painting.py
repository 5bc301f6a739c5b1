"""Painter: rows of the frame → strips for Textual.

Textual's own way pads, filters and divides every row again for every frame. A row that only
moved keeps its strip here, and with it all that Textual caches in it (measured: a frame of 50
rows costs a third).
"""

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from agent_tui.tui.transcript.clusters import steady
from agent_tui.tui.transcript.copying import marked
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.lines import Line
from agent_tui.tui.transcript.places import Span
from agent_tui.tui.transcript.viewport import FrameRow

_KEPT = 400
"""Strips kept; a few screenfuls."""


class Painter:
    """Paints for one widget. cursor: index of the block that the keyboard is on, or None.
    marks: the matches of a search in a row, None while there is no search."""

    def __init__(self, widget: Widget, layout: Layout) -> None:
        self.cursor: int | None = None
        self.marks: Callable[[Spot], Sequence[tuple[Span, bool]]] | None = None
        self._widget = widget
        self._layout = layout
        self._strips: dict[int, tuple[Line, Strip]] = {}

    def forget(self) -> None:
        """Another theme or filter: nothing painted counts any more."""
        self._strips.clear()

    @property
    def plain(self) -> bool:
        """The widget has no border or effect that only Textual's own way can paint."""
        widget = self._widget
        styles = widget.styles
        return (
            widget.opacity == 1
            and not (styles.border_top[0] or styles.border_left[0] or styles.outline_top[0])
            and not (styles.has_rule("tint") or styles.has_rule("hatch"))
        )

    def rows(self, frame: list[FrameRow], crop: Region) -> list[Strip]:
        """The rows of the widget in `crop`, over its whole width, padding and all."""
        widget = self._widget
        base = widget.rich_style
        filters = widget.get_line_filters()
        left, top = widget.styles.padding.left, widget.styles.padding.top
        width = widget.outer_size.width
        strips = [self._row(frame, y - top, left, width, base, filters) for y in crop.line_range]
        if crop.column_span != (0, width):
            return [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _row(
        self,
        frame: list[FrameRow],
        y: int,
        left: int,
        width: int,
        base: Style,
        filters: Sequence[LineFilter],
    ) -> Strip:
        key = None
        if not 0 <= y < len(frame):
            strip = Strip.blank(width, base)
        else:
            row = frame[y]
            pointed = self.cursor == row.spot.block and self._widget.has_focus
            marked = self.marks is not None and self.marks(row.spot)
            if not (pointed or marked) and self._widget.text_selection is None:
                key = row.spot.key
                known = self._strips.get(key)
                if known is not None and known[0] is row.line:
                    return known[1]
            strip = Strip([Segment(" " * left, base), *self._content(row, base)])
            strip = strip.extend_cell_length(width, base)
        background = self._widget.background_colors[1]
        for line_filter in filters:
            strip = strip.apply_filter(line_filter, background)
        if key is not None:
            if len(self._strips) > _KEPT:
                self._strips.clear()
            self._strips[key] = (frame[y].line, strip)
        return strip

    def content(self, frame: list[FrameRow], y: int) -> Strip:
        """Row y without padding, with the offsets that text selection reads."""
        base = self._widget.rich_style
        if not 0 <= y < len(frame):
            return Strip.blank(self._layout.look.width, base)
        return self._content(frame[y], base)

    def _content(self, row: FrameRow, base: Style) -> Strip:
        look = self._layout.look
        line = row.line
        if self.cursor == row.spot.block and self._widget.has_focus:
            base += look.palette["cursor"]
        segments = list(Segment.apply_style(line.segments, base)) or [Segment(" ", base)]
        if not look.whole_emoji:
            segments = [Segment(steady(text), style) for text, style, _ in segments]
        for (_, start, end), here in self.marks(row.spot) if self.marks is not None else ():
            style = look.palette["match-here" if here else "match"]
            segments = marked(segments, start, end, style)
        selection = self._widget.text_selection
        if selection is not None and (span := selection.get_span(row.spot.key)) is not None:
            style = self._widget.screen.get_component_rich_style("screen--selection")
            segments = marked(segments, *span, style)
        strip = Strip(segments).apply_offsets(0, row.spot.key)
        if strip.cell_length > look.width:
            return strip.crop(0, look.width)
        fill = base + look.palette[line.fill] if line.fill else base
        return strip.extend_cell_length(look.width, fill)
