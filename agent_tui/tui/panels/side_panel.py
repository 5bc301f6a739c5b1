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
    """titles: of the tabs, in order; the panels come by fill(). edge: its left border."""

    def __init__(self, titles: Sequence[str], glyphs: Glyphs = UNICODE, *, id: str) -> None:
        super().__init__(id=id)
        self._titles, self._glyphs = tuple(titles), glyphs
        self._panels: list[Widget] = []
        self.edge = ColumnRule(glyphs, id="panel-edge")

    def compose(self) -> ComposeResult:
        tabs = Tabs(self._glyphs, id="panel-tabs")
        tabs.titles = self._titles
        yield self.edge
        with Vertical():
            yield tabs
            yield ThinRule(self._glyphs, classes="rule", id="panel-rule")
            yield ContentSwitcher(id="panel-switcher")

    async def fill(self, panels: Sequence[Widget]) -> None:
        """Put in the panels (each with an id), one for each title; the first is chosen."""
        self._panels = list(panels)
        for panel in panels[1:]:
            panel.display = False
        switcher = self.query_one(ContentSwitcher)
        await switcher.mount(*panels)
        switcher.current = panels[0].id

    def choose(self, index: int) -> None:
        index %= len(self._panels)
        self.query_one(Tabs).chosen = index
        self.query_one(ContentSwitcher).current = self._panels[index].id

    @property
    def shown(self) -> str:
        """The id of the one that is chosen; "" before there are any."""
        return (self._panels[self.query_one(Tabs).chosen].id or "") if self._panels else ""

    def show_panel(self, id: str) -> None:
        """The one whose widget has this id."""
        self.choose([panel.id for panel in self._panels].index(id))

    def choose_next(self) -> None:
        self.choose(self.query_one(Tabs).chosen + 1)

    def on_tabs_chosen(self, event: Tabs.Chosen) -> None:
        event.stop()
        self.choose(event.index)
