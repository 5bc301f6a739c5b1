"""The context: what fills it, what the cache did with it, what it has cost.

Numbers stand in one column; one bar says how full the window is, quiet ones who fills it.
"""

import textwrap
from collections.abc import Iterator
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message

from agent_tui.conversation.context_words import SOURCE_WORDS
from agent_tui.money import money
from agent_tui.text import SafeText
from agent_tui.tui.context_state import ContextState
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import fit, left_right, one_line
from agent_tui.tui.plain import Drawn

LABEL: Final = 15
NUMBER: Final = 10
NARROWEST_BAR: Final = 4
FULL_SOON: Final = 0.8
FULL: Final = 0.95


class ContextPanel(VerticalScroll, can_focus=False):
    """show() draws a state. It asks for a count (CountWanted) when it is looked at and nothing
    that still holds was told."""

    class CountWanted(Message):
        """Somebody looks, and what the next request holds has not been told."""

    def __init__(self, glyphs: Glyphs = UNICODE, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ContextText(glyphs)
        self._seen = False

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, state: ContextState) -> None:
        self._text.state = state
        # A layout for nothing writes half the screen again, once a second.
        if self.is_on_screen and self._text.looks_otherwise():
            self._text.refresh(layout=True)
        self._ask()

    def on_show(self) -> None:
        self._seen = True
        self._text.refresh(layout=True)
        self._ask()

    def on_hide(self) -> None:
        self._seen = False

    def _ask(self) -> None:
        if self._seen and self._text.state.wants_count:
            self.post_message(self.CountWanted())


class ContextText(Drawn):
    """The lines of the panel."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self.state = ContextState()
        self._drawn = Content()

    def render(self) -> Content:
        self._drawn = Content("\n").join([*self._window(), *self._cache(), *self._session()])
        return self._drawn

    def looks_otherwise(self) -> bool:
        """Whether it would be drawn in another way than it was."""
        before = self._drawn
        now = self.render()
        return now.plain != before.plain or now.spans != before.spans

    # --- what fills it ---------------------------------------------------------------------

    def _window(self) -> Iterator[Content]:
        context = self.state.context
        if context is None:
            yield Content.styled(" nothing was sent yet", "$muted")
            yield Content("")
            return
        window = context.window
        share = context.total / window if window else None
        about = "" if context.exact else f"{self.glyphs.about} "
        of = f"{window:,}" if window else "?"
        style = "$failed" if share and share >= FULL else (
            "$waiting" if share and share >= FULL_SOON else "$accent"
        )  # fmt: skip
        left = Content.assemble(
            " ", (f"{about}{context.total:,}", "bold"), (f" of {of} tokens", "$muted")
        )
        percent = f"{100 * share:.0f} % " if share is not None else ""
        yield left_right(left, Content.styled(percent, style), self.size.width)
        if share is not None:
            yield Content.assemble(" ", self._bar(share, self.size.width - 2, style))
        yield Content("")
        largest = max(context.sources.values(), default=0)
        for source, tokens in context.sources.items():
            yield self._row(
                one_line(SOURCE_WORDS.get(source, source), LABEL),
                f"{tokens:,}",
                tokens / largest if largest else None,
            )
        said = "shares estimated, total counted" if context.exact else "estimated, not counted"
        yield Content.styled(f" {self.glyphs.about} {said}", "$muted")
        yield Content("")

    def _row(self, label: str, number: str, share: float | None = None, note: str = "") -> Content:
        """A safe label, its number at the right of its column, then a quiet bar or a word."""
        name = fit(label, LABEL, self.glyphs.ellipsis)
        line = Content.assemble(
            (f" {name:<{LABEL}}", "$muted"), f"{number:>{NUMBER}}", (f"  {note}", "$muted")
        )
        room = self.size.width - LABEL - NUMBER - 4
        if share is None or room < NARROWEST_BAR:
            return line.truncate(self.size.width)
        filled = max(1, round(share * room)) if share > 0 else 0
        return Content.assemble(line, (self.glyphs.bar * filled, "$muted"))

    def _bar(self, share: float, width: int, style: str) -> Content:
        room = max(1, width - len(self.glyphs.bar_left) - len(self.glyphs.bar_right))
        filled = min(room, max(1, round(share * room))) if share > 0 else 0
        return Content.assemble(
            (self.glyphs.bar_left, "$muted"),
            (self.glyphs.bar * filled, style),
            " " * (room - filled),
            (self.glyphs.bar_right, "$muted"),
        )

    # --- what the cache did -----------------------------------------------------------------

    def _cache(self) -> Iterator[Content]:
        cache = self.state.cache
        if cache is None:
            return
        yield Content(" cache, last request")
        whole = cache.read + cache.written + cache.uncached
        part = f"{100 * cache.read / whole:.0f} %" if whole else ""
        yield self._row("  read", f"{cache.read:,}", note=part)
        yield self._row("  written", f"{cache.written:,}")
        yield self._row("  not cached", f"{cache.uncached:,}")
        broken = self.state.last_break
        if broken is not None:
            words = f" {self.glyphs.warning} broke at answer {broken.number}: "
            yield Content.assemble(
                (words, "$waiting"), (f"{broken.lost:,} tokens not read", "$muted")
            ).truncate(self.size.width)
            for line in textwrap.wrap(str(SafeText(broken.detail)), max(10, self.size.width - 4)):
                yield Content("   " + line)
        yield Content("")

    # --- what it has cost -------------------------------------------------------------------

    def _session(self) -> Iterator[Content]:
        usage = self.state.usage
        if usage is None:
            return
        yield Content(" session")
        whole = usage.input + usage.cache_read + usage.cache_write
        part = f"{100 * usage.cache_read / whole:.0f} % from cache" if usage.cache_read else ""
        yield self._row("  in", f"{whole:,}", note=part)
        yield self._row("  out", f"{usage.output:,}")
        if usage.thinking is not None:
            yield self._row("    thinking", f"{usage.thinking:,}")
        for tool, requests in usage.server_tools.items():
            yield self._row(f"  {one_line(tool.replace('_', ' '), LABEL)}", f"{requests:,}")
        yield self._row("  cost", money(usage.cost, usage.cost_at_least, self.glyphs.at_least))
        if usage.rate is not None:
            yield self._row("  speed", f"{usage.rate:.0f}", note="tokens a second")
