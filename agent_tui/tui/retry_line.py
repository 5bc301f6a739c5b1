"""One line while a failed request waits for its next try; Esc ends the wait."""

import math

from textual.content import Content

from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import fit, left_right
from agent_tui.tui.plain import Drawn
from agent_tui.tui.status_state import RetryState


class RetryLine(Drawn):
    """Hidden while nothing waits."""

    def __init__(self, glyphs: Glyphs = UNICODE, *, id: str | None = None) -> None:
        super().__init__(glyphs, id=id)
        self._state = RetryState()
        self._now = 0.0

    def on_mount(self) -> None:
        self.display = False

    def show(self, state: RetryState, now: float) -> None:
        """now: the same clock as state.until."""
        self._state, self._now = state, now
        self.display = state.attempt > 0
        self.refresh()

    def render(self) -> Content:
        left_s = max(0, math.ceil(self._state.until - self._now))
        when = f"again in {left_s} s" if left_s else "trying again"
        width = self.size.width
        mark = Content.styled(f" {self.glyphs.paused} ", "$waiting")
        ahead = Content.assemble(
            (when, "$waiting"), (f" (try {self._state.attempt + 1})", "$muted")
        )  # fmt: skip
        stop = Content.assemble("Esc", (" stop ", "$muted"))
        # When it goes on is what one looks for here: the reason gives way first.
        room = width - mark.cell_length - ahead.cell_length - stop.cell_length - 5
        reason = fit(self._state.reason, room, self.glyphs.ellipsis)
        left = Content.assemble(mark, ahead)
        if reason and room >= 8:
            left = Content.assemble(mark, reason, f" {self.glyphs.info} ", ahead)
        return left_right(left, stop, width, ellipsis=self.glyphs.ellipsis)
