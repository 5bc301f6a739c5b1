"""The sources of a text, numbered, below it; what was cited of each when it is opened."""

from collections.abc import Sequence

from agent_tui.conversation.citations import Source
from agent_tui.text import SafeText, clean
from agent_tui.tui.links import shown_url
from agent_tui.tui.transcript.blocks import Block, Modes
from agent_tui.tui.transcript.entries import EntryPart
from agent_tui.tui.transcript.lines import Prefix, Runs, linked
from agent_tui.tui.transcript.parts import Part, plain_parts


class SourcesBlock(Block):
    """One row a source: its number, its title, its address."""

    kind = "sources"

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__()
        self._sources = sources
        self.foldable = any(quote.text for source in sources for quote in source.quotes)

    def is_open(self, modes: Modes) -> bool:
        return modes.tools_open if self.expanded is None else self.expanded

    def compose(self, modes: Modes) -> None:
        self.parts = self._all() if self.is_open(modes) else list(map(self._entry, self._sources))

    def _all(self) -> list[Part]:
        parts: list[Part] = []
        for source in self._sources:
            parts += [self._entry(source), *self._quotes(source)]
        return parts

    @property
    def _indent(self) -> str:
        return " " * (len(str(self._sources[-1].number)) + 3)

    def _entry(self, source: Source) -> Part:
        mark = f"[{source.number}]".ljust(len(self._indent))
        title = clean(source.title) or shown_url(source.url)
        tail: Runs = []
        if source.title and source.url:
            tail.append((shown_url(source.url), linked("url", source.url)))
        places = [quote.place for quote in source.quotes if quote.place]
        if places:
            tail.append((f"{'  ' if tail else ''}{', '.join(places)}", "muted"))
        return EntryPart([(title, linked("", source.url))], tail, mark, "cite")

    def _quotes(self, source: Source) -> list[Part]:
        parts: list[Part] = []
        for quote in source.quotes:
            if text := SafeText(quote.text):
                hang = [(f"{self._indent} ", "")]
                first = Prefix([(f"{self._indent}“", "muted")], hang)
                parts += plain_parts(f"{text}”", "muted", prefix=first, rest=Prefix(hang, hang))
        return parts

    def source(self) -> str:
        return "\n".join(part.source() for part in self._all())
