"""ToolChoice: with the focus (F5), one call of the timeline is chosen, and can be stopped alone."""

from collections.abc import Sequence

from textual.reactive import reactive
from textual.scroll_view import ScrollView

from agent_tui.tui import messages as m
from agent_tui.tui.keys import bindings
from agent_tui.tui.tools_state import ToolRow

ENDED = frozenset({"done", "failed", "stopped"})


class ToolChoice(ScrollView, can_focus=True):
    """Base of the tools panel, which says what its calls are and where they stand."""

    BINDINGS = bindings("tools")  # pyright: ignore[reportAssignmentType]

    FOCUS_ON_CLICK = False  # a letter typed after a click is meant for the draft

    chosen_id: reactive[str] = reactive("")

    def calls(self) -> Sequence[tuple[int, ToolRow]]:
        """Each call with its line, in the order shown."""
        raise NotImplementedError

    def is_chosen(self, row: ToolRow) -> bool:
        return self.has_focus and row.id == self.chosen_id

    def on_focus(self) -> None:
        """The call that is being written, else the first that can still be stopped, else the
        last one."""
        rows = [row for _, row in self.calls()]
        under_way = [
            row for row in rows if row.state not in ENDED and not (row.program or row.remote)
        ]
        written = (row for row in under_way if row.state == "arguments")
        first = next(written, (under_way or rows[-1:] or [None])[0])
        self.chosen_id = first.id if first is not None else ""
        self.watch_chosen_id()

    def on_blur(self) -> None:
        self.refresh()

    def watch_chosen_id(self) -> None:
        lines = (line for line, row in self.calls() if row.id == self.chosen_id)
        if self.has_focus and (line := next(lines, None)) is not None:
            top, height = round(self.scroll_y), self.size.height
            if not top <= line < top + height:
                self.scroll_to(y=line - height // 2, animate=False, immediate=True)
        self.refresh()

    def _move(self, step: int) -> None:
        ids = [row.id for _, row in self.calls()]
        if ids:
            at = ids.index(self.chosen_id) if self.chosen_id in ids else len(ids) - 1
            self.chosen_id = ids[max(0, min(len(ids) - 1, at + step))]

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def action_stop_call(self) -> None:
        if self.chosen_id:
            self.post_message(m.StopCallRequested(self.chosen_id))

    def action_stop_call_because(self) -> None:
        if self.chosen_id:
            self.post_message(m.StopCallRequested(self.chosen_id, asks_why=True))

    @property
    def under_way(self) -> bool:
        """A call is there that can be stopped."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """With no call to stop, its keys are letters like any other."""
        stops = action in ("stop_call", "stop_call_because")
        return self.under_way if stops else True

    def action_back(self) -> None:
        self.post_message(m.PanelLeft())
