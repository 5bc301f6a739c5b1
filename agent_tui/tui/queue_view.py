"""The queue above the composer: one line per message with its delivery point.

Focused (F3), each message can be edited, moved, withdrawn or made the other kind; what a key
asks for is posted as QueueAction.
"""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.reactive import reactive

from agent_tui.conversation.events import QueueEntry
from agent_tui.tui import messages as m
from agent_tui.tui.keys import bindings
from agent_tui.tui.lines import fit, left_right, one_line
from agent_tui.tui.plain import Drawn

MAX_LINES = 6


class QueueView(Drawn, can_focus=True):
    """Hidden while nothing is queued."""

    BINDINGS = bindings("queue")  # pyright: ignore[reportAssignmentType]

    FOCUS_ON_CLICK = False  # a letter typed after a click is meant for the draft

    entries: reactive[tuple[QueueEntry, ...]] = reactive(())
    selected_id: reactive[str] = reactive("")
    max_lines: reactive[int] = reactive(MAX_LINES)
    question: reactive[bool] = reactive(False)
    """A question takes Enter, which else would resume a paused queue."""

    def on_mount(self) -> None:
        self.display = False

    def show(self, entries: Sequence[QueueEntry]) -> None:
        known = {e.id for e in self.entries}
        added = [e.id for e in entries if e.id not in known]
        self.entries = tuple(entries)
        if added and not self.has_focus:
            self.selected_id = added[-1]
        self.display = bool(entries)
        if not entries and self.has_focus:
            self.post_message(m.QueueAction("back", None))
        if entries and self.selected_id not in {e.id for e in entries}:
            self.selected_id = entries[-1].id
        self._fit_height()
        self.refresh()  # entries are changed in place: equal is not the same

    def watch_max_lines(self) -> None:
        self._fit_height()

    def _fit_height(self) -> None:
        self.styles.height = max(1, min(len(self.entries), self.max_lines))

    @property
    def selected(self) -> int:
        return next((i for i, e in enumerate(self.entries) if e.id == self.selected_id), 0)

    def _window(self) -> tuple[int, int]:
        """First and past-last entry drawn; with more than fit, one line says how many more."""
        total, room = len(self.entries), self.max_lines
        if total <= room:
            return 0, total
        room -= 1
        top = min(max(0, self.selected - room + 1), total - room) if self.has_focus else 0
        return top, top + room

    def render(self) -> Content:
        width = self.size.width
        first, last = self._window()
        shown = self.entries[first:last]
        lines = [self._line(entry, width) for entry in shown]
        if (rest := len(self.entries) - len(shown)) > 0:
            hidden = (
                self.entries
                if self.max_lines == 1
                else (*self.entries[:first], *self.entries[last:])
            )
            paused = ", some paused" if any(e.state == "paused" for e in hidden) else ""
            if self.max_lines == 1:
                lines = [Content.styled(f" {len(self.entries)} queued{paused}", "$muted")]
            else:
                lines.append(Content.styled(f" +{rest} more{paused}", "$muted"))
        return Content("\n").join(lines)

    def _line(self, entry: QueueEntry, width: int) -> Content:
        paused = entry.state == "paused"
        still = paused or entry.state == "held"
        steers = entry.kind == "steer"
        glyph = self.glyphs.steer if steers else self.glyphs.follow_up
        glyph = self.glyphs.paused if still else glyph
        kind = "steer" if steers else "follow-up"
        here = self.has_focus and entry.id == self.selected_id
        colour = "$waiting" if still else "$accent"
        head = Content.assemble(" ", (glyph, colour), " ")
        if width >= 72:
            head = Content.assemble(head, (f"{kind:<11}", "$muted"))
        elif still:  # its sign no longer tells the kind
            head = Content.assemble(head, (f"{kind} ", "$muted"))
        cut = self.glyphs.ellipsis
        delivery = "paused: answer first" if paused and self.question else entry.delivery
        point = fit(one_line(delivery, 200, cut), max(8, width // 2 - 2), cut)
        text = one_line(entry.text, 400, cut)
        left = Content.assemble(head, (text, "reverse" if here else ""))
        return left_right(left, Content.styled(point + " ", "$muted"), width, ellipsis=cut)

    def on_click(self, event: events.Click) -> None:
        first, last = self._window()
        if first + event.y < last:
            self.selected_id = self.entries[first + event.y].id

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def _post(self, name: str) -> None:
        here = self.entries[self.selected].id if self.entries else None
        self.post_message(m.QueueAction(name, here))

    def action_up(self) -> None:
        self.selected_id = self.entries[max(0, self.selected - 1)].id

    def action_down(self) -> None:
        self.selected_id = self.entries[min(len(self.entries) - 1, self.selected + 1)].id

    def action_edit(self) -> None:
        self._post("edit")

    def action_withdraw(self) -> None:
        self._post("withdraw")

    def action_promote(self) -> None:
        self._post("promote")

    def action_demote(self) -> None:
        self._post("demote")

    def action_move_up(self) -> None:
        self._post("move_up")

    def action_move_down(self) -> None:
        self._post("move_down")

    def action_send_now(self) -> None:
        self._post("send_now")

    def action_pause(self) -> None:
        self._post("pause")

    def action_back(self) -> None:
        self._post("back")
