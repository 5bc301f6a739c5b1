"""The side panel: a line of tabs and the panel that is chosen."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.plain import ColumnRule, Drawn, ThinRule


class Tabs(Drawn):
    """Titles in a row; the chosen one is bold. A click chooses."""

    titles: reactive[tuple[str, ...]] = reactive(())
    chosen: reactive[int] = reactive(0)

    class Chosen(Message):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def render(self) -> Content:
        parts = [
            Content.styled(title, "bold $accent" if at == self.chosen else "$muted")
            for at, title in enumerate(self.titles)
        ]
        return Content.assemble(" ", Content("  ").join(parts))

    def on_click(self, event: events.Click) -> None:
        edge = 1
        for at, title in enumerate(self.titles):
            if edge <= event.x < edge + len(title) + 2:
                self.post_message(self.Chosen(at))
            edge += len(title) + 2


class SidePanel(Horizontal):
    """panels: (title, widget with an id) in the order of the tabs. edge: its left border."""

    def __init__(
        self, panels: Sequence[tuple[str, Widget]], glyphs: Glyphs = UNICODE, *, id: str
    ) -> None:
        super().__init__(id=id)
        self._panels, self._glyphs = list(panels), glyphs
        self.edge = ColumnRule(glyphs, id="panel-edge")

    def compose(self) -> ComposeResult:
        tabs = Tabs(self._glyphs, id="panel-tabs")
        tabs.titles = tuple(title for title, _ in self._panels)
        yield self.edge
        with Vertical():
            yield tabs
            yield ThinRule(self._glyphs, classes="rule", id="panel-rule")
            with ContentSwitcher(initial=self._panels[0][1].id, id="panel-switcher"):
                for _, widget in self._panels:
                    yield widget

    def choose(self, index: int) -> None:
        index %= len(self._panels)
        self.query_one(Tabs).chosen = index
        self.query_one(ContentSwitcher).current = self._panels[index][1].id

    def show_panel(self, id: str) -> None:
        """The one whose widget has this id."""
        self.choose([widget.id for _, widget in self._panels].index(id))

    def choose_next(self) -> None:
        self.choose(self.query_one(Tabs).chosen + 1)

    def on_tabs_chosen(self, event: Tabs.Chosen) -> None:
        event.stop()
        self.choose(event.index)
