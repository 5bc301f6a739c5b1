"""The first line: the program's name, the folder with its branch, and what must not be missed."""

from textual.content import Content
from textual.reactive import reactive

from agent_tui.tui.lines import left_right
from agent_tui.tui.plain import Drawn


class HeaderLine(Drawn):
    """folder and warning are safe text; warning: "demo: scripted replies, no model"."""

    folder: reactive[str] = reactive("")
    warning: reactive[str] = reactive("")

    def render(self) -> Content:
        left = Content.assemble((" agent-tui", "bold"), (f"  {self.folder}", "$muted"))
        right = Content.styled(self.warning + " ", "$waiting") if self.warning else Content("")
        return left_right(left, right, self.size.width, ellipsis=self.glyphs.ellipsis)
