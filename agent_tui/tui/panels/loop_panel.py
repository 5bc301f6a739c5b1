"""The loop inspector: the diagram of the loop, live (SCREEN 3).

In one line where it fits, else downward with the way back drawn at its left.
"""

import textwrap
from collections.abc import Iterator
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from agent_tui.text import duration
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import elapsed
from agent_tui.tui.loop_state import NODES, LoopState, Node
from agent_tui.tui.plain import Drawn

_STYLES: Final = {"ahead": "$muted", "now": "bold $accent", "done": "", "passed": "$muted"}
_WAY_BACK: Final[tuple[Node, ...]] = ("steering", "follow-up")
"""Nodes from which the loop goes on with another turn."""


class LoopPanel(VerticalScroll, can_focus=False):
    """show() draws a state as it is at this moment."""

    def __init__(self, glyphs: Glyphs = UNICODE, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = LoopText(glyphs)

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, state: LoopState) -> None:
        self._text.state = state
        if self.is_on_screen:
            self._text.refresh(layout=True)

    def on_show(self) -> None:
        self._text.refresh(layout=True)


class LoopText(Drawn):
    """The lines of the panel."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs)
        self.state = LoopState()

    def render(self) -> Content:
        lines = [self._head(), Content("")]
        across = self._across()
        lines += [across] if across.cell_length <= self.size.width else self._down()
        lines += self._why()
        return Content("\n").join(lines)

    def _head(self) -> Content:
        state = self.state
        if state.turn is None:
            return Content.styled(" no run yet", "$muted")
        turn = f" turn {state.turn.number}   "
        seconds = state.seconds or 0.0
        if not state.running:
            return Content.assemble((turn, ""), (f"ended after {duration(seconds)}", "$muted"))
        word = "stopping" if state.stopping else "running"
        style = "$waiting" if state.stopping else "$accent"
        return Content.assemble((turn, ""), (f"{word} {elapsed(seconds)}", style))

    def _node(self, node: Node) -> Content:
        mark, detail = self.state.marks[node], self.state.detail(node)
        style = _STYLES[mark]
        glyph = {"now": self.glyphs.running, "done": self.glyphs.done}.get(mark, "")
        of_queue = {"steering": self.glyphs.steer, "follow-up": self.glyphs.follow_up}
        if detail and node in of_queue:
            glyph, detail = of_queue[node] + detail, ""
        glyph_style = {"now": "$accent", "done": "$done"}.get(mark, "$accent")
        parts: list[Content | tuple[str, str]] = [(node, style)]
        if glyph:
            parts.append((f" {glyph}", glyph_style))
        if detail:
            parts.append((f" {detail}", style))
        return Content.assemble(*parts)

    def _across(self) -> Content:
        arrow = Content.styled(f" {self.glyphs.arrow} ", "$muted")
        return Content.assemble("  ", arrow.join([self._node(node) for node in NODES]))

    def _down(self) -> Iterator[Content]:
        """The prompt above; below it the nodes of each turn, the way back beside them."""
        for node in NODES:
            if node == "prompt":
                rail = "   "
            elif node == "stream":
                rail = f" {self.glyphs.branch_start}"
            elif node == NODES[-1]:
                rail = f" {self.glyphs.branch_end}"
            elif node in _WAY_BACK:
                rail = f" {self.glyphs.branch}"
            else:
                rail = f" {self.glyphs.column} "
            rail = f"{rail:<4}"
            line = Content.assemble((rail, "$muted"), self._node(node))
            yield line.truncate(self.size.width)

    def _why(self) -> Iterator[Content]:
        state = self.state
        if state.went_on and state.running:
            yield from self._reason("last turn went on because", state.went_on)
        if state.will_go_on:
            yield from self._reason("this turn will go on because", state.will_go_on)
        elif state.will_end:
            yield from self._reason("as it stands, it ends after this turn", state.will_end)
        elif state.end_reason and not state.running:
            yield from self._reason("the run ended because", state.end_reason)

    def _reason(self, words: str, reason: str) -> Iterator[Content]:
        yield Content("")
        for line in textwrap.wrap(f"{words}:", max(10, self.size.width - 2)):
            yield Content.styled(f" {line}", "$muted")
        for line in textwrap.wrap(reason, max(10, self.size.width - 4)):
            yield Content("   " + line)
