"""Small widgets without markup: one that draws itself, a line of text, thin rules."""

from typing import ClassVar

from textual.content import Content
from textual.reactive import reactive
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.text import SafeText
from agent_tui.tui.glyphs import ASCII, UNICODE, Glyphs
from agent_tui.tui.lines import left_right


class Drawn(Widget):
    """A widget that draws itself with the terminal's glyphs."""

    def __init__(
        self, glyphs: Glyphs = UNICODE, *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.glyphs = glyphs


class SafeStatic(Static):
    """A Static for foreign text: a str is made safe, and nothing is parsed as markup."""

    def __init__(self, content: str | Content = "", **kwargs: str | None) -> None:
        super().__init__(_safe(content), markup=False, **kwargs)  # type: ignore[arg-type]

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        super().update(_safe(content) if isinstance(content, str) else content, layout=layout)


def _safe(content: str | Content) -> Content:
    return content if isinstance(content, Content) else Content(SafeText(content))


class ThinRule(Drawn):
    """A thin line that parts things; it can carry a word at its left and one at its right."""

    label: reactive[str] = reactive("")
    note: reactive[str] = reactive("")
    """label: safe text at the left ("waiting for you"); note: at the right."""
    joint: reactive[int] = reactive(-1)
    """The column where a line from above ends, -1: none."""

    def render(self) -> Content:
        dash = self.glyphs.rule
        width = self.size.width
        left = Content("")
        if self.label:
            left = Content.assemble((dash + " ", "$rule"), (self.label, "$waiting"), " ")
        right = Content("")
        if self.note:
            right = Content.assemble(" ", (self.note, "$accent"), (" " + dash, "$rule"))
        if left.cell_length + right.cell_length >= width:
            return left_right(left, right, width, ellipsis=self.glyphs.ellipsis)
        middle = dash * (width - left.cell_length - right.cell_length)
        at = self.joint - left.cell_length
        if 0 <= at < len(middle):
            middle = middle[:at] + self.glyphs.tee_up + middle[at + 1 :]
        return Content.assemble(left, (middle, "$rule"), right)


class ColumnRule(Drawn):
    """A thin line from top to bottom. joints: rows where a thin rule meets it, by glyph."""

    joints: reactive[tuple[tuple[int, str], ...]] = reactive(())

    def render(self) -> Content:
        lines = [self.glyphs.column] * self.size.height
        for row, glyph in self.joints:
            if 0 <= row < len(lines):
                lines[row] = glyph
        return Content.styled("\n".join(lines), "$rule")


class _BlankBars(ScrollBarRender):
    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


def choose_scrollbars(glyphs: Glyphs) -> None:
    """Textual draws the ends of a scroll bar's thumb with block glyphs; ASCII has none."""
    ScrollBar.renderer = _BlankBars if glyphs is ASCII else ScrollBarRender
