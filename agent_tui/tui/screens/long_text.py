"""LongText: the text of a question, as long as it may be, drawn line by line (Line API).

A Static lays out all of its text at each change: 4,000 lines took 180 ms (Textual 8.2). Here
only the lines in view cost anything but their wrapping.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agent_tui.text import SafeText

LineLook = Literal["plain", "muted", "added", "removed", "note"]
TextLine = tuple[str, LineLook]
"""A line of foreign text, without its newline, and how it looks."""

TAB = 4


def wrap(text: str, width: int) -> Iterator[str]:
    """`text`, one safe line, in pieces of at most `width` cells; nothing is left out. Broken
    behind a space where one is in the last third, else anywhere."""
    start = 0
    while start < len(text):
        end = _fitting(text, start, width)
        if end < len(text):
            space = text.rfind(" ", start + 2 * (end - start) // 3, end)
            end = space + 1 if space >= 0 else end
        yield text[start:end]
        start = end
    if not text:
        yield ""


def _fitting(text: str, start: int, width: int) -> int:
    """Where a piece from `start` ends that fills at most `width` cells; at least one character."""
    end = start + width
    if text[start:end].isascii():
        return max(start + 1, min(end, len(text)))
    used = 0
    for at in range(start, len(text)):
        used += get_character_cell_size(text[at])
        if used > width:
            return max(start + 1, at)
    return len(text)


def _safe(line: TextLine) -> Iterator[TextLine]:
    """The line made safe; more than one where it holds a newline after all (a name may): raw in
    a row it would move the terminal's cursor."""
    for text in SafeText(line[0]).expandtabs(TAB).split("\n"):
        yield text, line[1]


class LongText(ScrollView, can_focus=False):
    """Grows with its text up to max-height, then it scrolls."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "long--plain", "long--muted", "long--added", "long--removed", "long--note",
    }  # fmt: skip

    def __init__(self, lines: Sequence[TextLine], *, classes: str) -> None:
        super().__init__(classes=classes)
        self._lines: list[TextLine] = [safe for line in lines for safe in _safe(line)]
        self._rows: list[TextLine] = []
        self._width = 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._lay_out(width)
        return len(self._rows)

    def on_resize(self) -> None:
        self._lay_out(self.scrollable_content_region.width)

    def _lay_out(self, width: int) -> None:
        if width == self._width or width < 1:
            return
        self._width = width
        rows: list[TextLine] = []
        for text, look in self._lines:
            rows.extend((row, look) for row in wrap(text, width))
        self._rows = rows
        self.virtual_size = Size(width, len(self._rows))

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        width, base = self.size.width, self.rich_style
        if at >= len(self._rows):
            return Strip.blank(width, base)
        text, look = self._rows[at]
        style = base + self.get_component_rich_style(f"long--{look}", partial=True)
        return Strip([Segment(text, style)], cell_len(text)).adjust_cell_length(width, base)
