"""The last line: what the agent does, with what, at what cost; at the right the keys for now."""

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer

from agent_tui.money import money
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import fit_content, one_line
from agent_tui.tui.plain import Drawn
from agent_tui.tui.status_state import StatusState

_STYLES = {
    "ready": "$done", "starting": "$muted", "waiting": "$accent", "streaming": "$accent",
    "tools": "$accent", "stopping": "$waiting",
}  # fmt: skip

_WAYS_OUT = ("stop", "back", "cancel", "close", "let it go on")


def _leads(word: str) -> int:
    """1: this hint leads out or stops, 2: to the help; 0: neither."""
    return 1 if word in _WAYS_OUT else 2 if word == "help" else 0


class StatusLine(Drawn):
    """show() draws a state; flash() shows a short sentence for a while: in place of the keys, in a
    mode before them."""

    hints: reactive[tuple[tuple[str, str], ...]] = reactive(())
    folder: reactive[str] = reactive("")
    demo: reactive[bool] = reactive(False)
    flashed: reactive[str] = reactive("")
    in_mode: reactive[bool] = reactive(False)
    """The keys are those of a mode: they stay, whatever is said."""

    def __init__(self, glyphs: Glyphs = UNICODE, *, id: str | None = None) -> None:
        super().__init__(glyphs, id=id)
        self.state = StatusState()
        self._flash_timer: Timer | None = None

    def show(self, state: StatusState) -> None:
        self.state = state
        self.refresh()

    def flash(self, text: str, seconds: float = 3.0) -> None:
        """A short sentence; it leaves after `seconds`."""
        self.flashed = one_line(text, 300)
        if self._flash_timer is not None:
            self._flash_timer.stop()
        self._flash_timer = self.set_timer(seconds, self._flash_over)

    def _flash_over(self) -> None:
        self.flashed = ""

    def parts(self, narrow: bool) -> list[str]:
        """What stands after the status word, most needed first."""
        state = self.state
        model = one_line(state.model, 60)
        if narrow:
            model = model.removeprefix("claude-")
        elif state.thinking and state.thinking != "off":
            model = f"{model} {one_line(state.thinking, 20)}"
        percent = state.context_percent
        parts = [
            model,
            "" if percent is None else f"{percent} %" if narrow else f"context {percent} %",
            money(state.cost, state.cost_at_least, self.glyphs.at_least),
        ]
        rate = state.rate if state.status != "tools" else state.last_rate
        if not narrow and rate is not None:
            parts.append(f"{rate:.0f} tok/s")
        return [part for part in parts if part]

    def silence(self, narrow: bool = False) -> str:
        """How long the server has not been heard, and when the request is tried again (A20)."""
        silent, limit = self.state.silent_s, self.state.silence_limit_s
        if not silent:
            return ""
        told = limit is not None and silent <= limit and not narrow
        return f" no answer for {silent} s" + (f" (asks again at {limit:g} s)" if told else "")

    def render(self) -> Content:
        width = self.size.width
        narrow = width < 80
        between = f" {self.glyphs.info} "
        status = "waiting" if self.state.retrying else self.state.status
        left = Content.assemble(
            " ", (status, _STYLES.get(status, "")), (self.silence(narrow), "$waiting")
        )
        if self.flashed and self.in_mode:
            return self._flash_before_keys(width)
        if self.demo and narrow and self.state.model != "demo":
            left = Content.assemble(left, (f"{between}demo", "$waiting"))
        # What is said for a few seconds is said whole; the rest is there again after it.
        # Before numbers come the keys that stop, lead back and help.
        kept = cell_len(self.flashed) + 4 if self.flashed else self._most_needed(narrow)
        most = width - kept + 1
        for part in self.parts(narrow):
            longer = Content.assemble(left, (f"{between}{part}", "$muted"))
            if longer.cell_length >= most:
                break
            left = longer
        right = self._right(width - left.cell_length - (3 if self.flashed else 1))
        folder = f"{between}{self.folder}"
        if self.folder and left.cell_length + len(folder) + right.cell_length + 3 <= width:
            left = Content.assemble(left, (folder, "$muted"))
        space = width - left.cell_length - right.cell_length
        return Content.assemble(left, " " * max(0, space), right).truncate(width)

    def _flash_before_keys(self, width: int) -> Content:
        """In a mode its keys stay: a sentence stands before them, cut."""
        room = max(width // 2, width - self._cells(self._ordered()[:3])) - 2
        said = Content.styled(self.flashed, "$waiting")
        said = fit_content(said, max(1, min(cell_len(self.flashed), room)), self.glyphs.ellipsis)
        right = self._keys(width - said.cell_length - 3)
        space = width - said.cell_length - right.cell_length - 1
        return Content.assemble(" ", said, " " * max(0, space), right).truncate(width)

    @staticmethod
    def _cells(hints: list[tuple[str, str]]) -> int:
        return sum(cell_len(f"{key} {word}  ") for key, word in hints)

    def _most_needed(self, narrow: bool) -> int:
        """Cells of the hints that no number may push out: the first, the way out and the help;
        of a narrow line the first two."""
        hints = self._ordered()
        if narrow:
            return self._cells(hints[:2])
        last = max((at for at, hint in enumerate(hints) if _leads(hint[1])), default=0)
        return self._cells(hints[: last + 1])

    def _ordered(self) -> list[tuple[str, str]]:
        """In the order of use: behind the first comes the way out, then the help."""
        first, rest = list(self.hints[:1]), list(self.hints[1:])
        return first + sorted(rest, key=lambda hint: _leads(hint[1]) or 3)

    def _right(self, room: int) -> Content:
        if self.flashed:
            text = Content.styled(self.flashed + " ", "$waiting")
            return fit_content(text, room, self.glyphs.ellipsis) if room > 4 else Content("")
        return self._keys(room)

    def _keys(self, room: int) -> Content:
        right = Content("")
        for key, word in self._ordered():
            hint = Content.assemble((key, ""), (f" {word}", "$muted"))
            longer = Content.assemble(right, "  ", hint) if right else hint
            if longer.cell_length + 1 > room:
                break
            right = longer
        return Content.assemble(right, " ") if right else right
