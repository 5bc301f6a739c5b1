"""The search line: what is looked for in the transcript, and which match of how many is seen."""

from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from agent_tui.text import clean
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.keys import KEYS, KeyTable
from agent_tui.tui.lines import left_right
from agent_tui.tui.plain import Drawn
from agent_tui.tui.transcript.searching import SearchState

LONGEST = 1000
"""Characters of what is looked for."""


@dataclass
class SearchTyped(Message):
    """The text to look for is another."""

    query: str


@dataclass
class SearchKey(Message):
    """A key of the search line (keys.py, "search"). name: next, previous, keep, leave."""

    name: str


class SearchLine(Drawn, can_focus=True):
    """One line, shown while a search is on. Its keys are handled in the order typed, as the
    composer's are."""

    sought: reactive[str] = reactive("")
    state: reactive[SearchState] = reactive(SearchState())

    def __init__(
        self, glyphs: Glyphs = UNICODE, keys: KeyTable | None = None, *, id: str | None = None
    ) -> None:
        super().__init__(glyphs, id=id)
        table = keys or KeyTable()
        own = [key for key in KEYS if key.where == "search"]
        self._names = {name: key.action for key in own for name in table.keys_of(key)}
        self.display = False
        self._kept = False
        """The text is that of the last search; what is typed replaces it."""

    def open(self) -> None:
        """Show it, with what was looked for last; typing replaces that."""
        self.display = self._kept = True
        self.screen.set_focus(self)  # at once: what is typed next is for here

    def close(self) -> None:
        self.display = False

    async def _on_key(self, event: events.Key) -> None:
        self.take(event)

    def take(self, event: events.Key) -> None:
        """Handle a key, also one that was on its way elsewhere when the line was opened."""
        if (name := self._names.get(event.key)) is not None:
            self.post_message(SearchKey(name))
        elif event.key in ("backspace", "ctrl+h"):
            self._type(self.sought[:-1])
        elif event.key == "ctrl+w":
            self._type(self.sought.rstrip().rpartition(" ")[0])
        elif event.key == "ctrl+u":
            self._type("")
        elif event.is_printable and event.character:
            self._type(("" if self._kept else self.sought) + event.character)
        else:
            return
        event.stop()
        event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        first = event.text.replace("\r", "\n").strip("\n").partition("\n")[0]
        self._type(self.sought + first)

    def _type(self, query: str) -> None:
        self._kept = False
        self.sought = query[:LONGEST]
        self.post_message(SearchTyped(self.sought))

    def render(self) -> Content:
        width = self.size.width
        cursor = self.glyphs.cursor if self.has_focus else ""
        room = max(8, width - 22)
        shown = clean(self.sought)
        while cell_len(shown) > room:  # the end is where one types
            shown = shown[max(1, (cell_len(shown) - room) // 2) :]
        left = Content.assemble((" / ", "$accent"), (shown, ""), (cursor, "$accent"))
        return left_right(left, self._found(), width, ellipsis=self.glyphs.ellipsis)

    def _found(self) -> Content:
        state = self.state
        if not state.query:
            return Content("")
        if not state.total:
            words = f"searching{self.glyphs.ellipsis} " if state.counting else "no match "
            return Content.styled(words, "$muted" if state.counting else "$waiting")
        more = "+" if state.counting else ""
        if not state.position:
            return Content.styled(f"{state.total:,}{more} found ", "$muted")
        return Content.styled(f"{state.position:,} of {state.total:,}{more} ", "$accent")
