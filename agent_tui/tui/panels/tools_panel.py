"""The tools timeline: what runs, for how long, what is done; a program's calls below it.

Drawn line by line (Line API): only the lines in view cost anything.
"""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from agent_tui.text import counted, duration
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import elapsed, fit
from agent_tui.tui.panels.tool_choice import ToolChoice
from agent_tui.tui.tools_state import ToolRow, ToolsState
from agent_tui.tui.transcript.tool_text import NO_RESULT

_Line = list[tuple[str, str]]
"""Pieces of a line: (component class, safe text)."""


_WORDS = {"waiting": "next", "asking": "asks you", "ready": "ready"}
"""What stands for the time of a call that does not run yet."""


class ToolsPanel(ToolChoice):
    """show() draws a state; it follows what happens last unless the user has scrolled: the end,
    or the last call under way where many wait behind it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tools--text", "tools--muted", "tools--running", "tools--done", "tools--failed",
        "tools--stopped", "tools--chosen",
    }  # fmt: skip

    def __init__(self, glyphs: Glyphs = UNICODE, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.glyphs = glyphs
        self._state = ToolsState()
        self._now = 0.0
        self._rows: list[tuple[ToolRow | None, bool]] = []
        self._following = True
        self._goal = 0
        self._looks: dict[int, _Line] = {}
        """What was shown last, by line."""

    def show(self, state: ToolsState, now: float) -> None:
        """now: the clock of row.started."""
        self._state, self._now = state, now
        rows: list[tuple[ToolRow | None, bool]] = [(None, False)] if state.dropped else []
        for row in state.ordered():
            rows.append((row, False))
            if row.state == "running" and row.tail:
                rows.append((row, True))
        self._rows = rows
        self.virtual_size = Size(self.size.width, len(rows))
        self._keep_to_end()
        self._draw_what_differs()

    def _draw_what_differs(self) -> None:
        """Once a second the time of one row moves: only that row is written again."""
        top = round(self.scroll_y)
        looks = {y: self._pieces(y) for y in range(top, top + self.size.height)}
        for y, look in looks.items():
            if self._looks.get(y) != look:
                self.refresh_lines(y)
        self._looks = looks

    def calls(self) -> Sequence[tuple[int, ToolRow]]:
        rows = enumerate(self._rows)
        return [(line, row) for line, (row, is_tail) in rows if row is not None and not is_tail]

    @property
    def under_way(self) -> bool:
        return self._state.under_way

    def _keep_to_end(self) -> None:
        if self._following and not self.has_focus:
            self.call_after_refresh(self._go_to_end)

    def _go_to_end(self) -> None:
        if self.has_focus:
            return
        self._goal = self._scroll_of_now()
        self.scroll_to(y=self._goal, animate=False, immediate=True)
        self._following = True

    def _scroll_of_now(self) -> int:
        """The top line from which the last row that does not merely wait is in sight."""
        rows = self._rows
        last = len(rows) - 1
        while last > 0 and (row := rows[last][0]) is not None and row.state == "waiting":
            last -= 1
        ahead = min(len(rows) - 1 - last, self.size.height // 3)
        return max(0, min(self.max_scroll_y, last + 1 + ahead - self.size.height))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._following = round(new_value) in (self._goal, self.max_scroll_y)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._rows))
        self._keep_to_end()

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        pieces = self._pieces(y + self.scroll_offset.y)
        segments = [Segment(text, base + self._style(name)) for name, text in pieces]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def _pieces(self, at: int) -> _Line:
        if not self._rows and at == 0:
            return [("tools--muted", " no tool calls yet")]
        return self._line(*self._rows[at], self._width) if at < len(self._rows) else []

    @property
    def _width(self) -> int:
        """Cells beside the scrollbar, if there is one."""
        return self.scrollable_content_region.width

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)

    def _line(self, row: ToolRow | None, is_tail: bool, width: int) -> _Line:
        if row is None:
            return [("tools--muted", f" {counted(self._state.dropped, 'earlier call')}")]
        indent = " " + "  " * row.depth
        if is_tail:
            lines = f"{counted(row.lines, 'line')}  " if row.lines > 1 else ""
            text = f"{indent}  {lines}{row.tail}"
            return [("tools--muted", fit(text, width - 1, self.glyphs.ellipsis))]
        glyph, style = self._glyph(row)
        time = self._time(row)
        time_style = style if row.state == "running" else "tools--muted"
        if row.state == "running" and row.waits:
            time, time_style = f"paused for {row.waits}", "tools--stopped"
        name = fit(row.name, max(6, width // 3), self.glyphs.ellipsis)
        wide = max(9, cell_len(name))
        head = f"{name}{' ' * (wide - cell_len(name))} "
        room = width - cell_len(indent) - cell_len(glyph) - 1 - wide - 1 - cell_len(time) - 3
        argument = fit(row.argument, room, self.glyphs.ellipsis)
        fill = " " * max(1, room - cell_len(argument) + 2)
        return [
            (style, f"{indent}{glyph} "),
            ("tools--chosen" if self.is_chosen(row) else "tools--text", head),
            ("tools--muted", argument + fill),
            (time_style, time),
        ]

    def _glyph(self, row: ToolRow) -> tuple[str, str]:
        glyphs = self.glyphs
        running = glyphs.program if row.program else glyphs.running
        return {
            "arguments": (running, "tools--running"),
            "waiting": (glyphs.info, "tools--muted"),
            "asking": (glyphs.paused, "tools--stopped"),
            "ready": (glyphs.info, "tools--muted"),
            "running": (running, "tools--running"),
            "done": (glyphs.done, "tools--done"),
            "failed": (glyphs.failed, "tools--failed"),
            "stopped": (glyphs.stopped, "tools--stopped"),
        }[row.state]

    def _time(self, row: ToolRow) -> str:
        if row.state == "arguments":
            return "being written" if row.program else "arguments" + self.glyphs.ellipsis
        if (word := _WORDS.get(row.state)) is not None:
            return word
        if row.state == "running" and row.started is not None:
            return elapsed(self._now - row.started)
        if row.unanswered and row.state == "stopped":
            return NO_RESULT
        if row.state == "stopped" and (row.started is None or not row.seconds):
            return "not run"
        return duration(row.seconds) if row.seconds is not None else ""
