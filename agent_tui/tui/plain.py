"""Small widgets without markup: one that draws itself, a line of text, a thin rule."""

from textual.content import Content
from textual.reactive import reactive
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.text import SafeText
from agent_tui.tui.glyphs import UNICODE, Glyphs
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
            return left_right(left, right, width)
        middle = dash * (width - left.cell_length - right.cell_length)
        return Content.assemble(left, (middle, "$rule"), right)
