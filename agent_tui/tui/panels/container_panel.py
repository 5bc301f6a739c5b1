"""The code-execution container: which one, what it does, how long it lives."""

from textual.content import Content

from agent_tui.text import SafeText
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import count, elapsed, fit, one_line
from agent_tui.tui.plain import Drawn
from agent_tui.tui.presenter import ContainerState

EXPIRES_SOON_S = 60


class ContainerPanel(Drawn):
    """show() draws a state; now: seconds since 1970."""

    def __init__(self, glyphs: Glyphs = UNICODE, *, id: str | None = None) -> None:
        super().__init__(glyphs, id=id)
        self._state = ContainerState()
        self._now = 0.0

    def show(self, state: ContainerState, now: float) -> None:
        self._state, self._now = state, now
        self.refresh()

    def render(self) -> Content:
        state = self._state
        if not state.id:
            return Content.styled(" no container yet", "$muted")
        width = self.size.width - 2
        lines = [
            Content.assemble(
                " ", (fit(one_line(state.id, 200), width - 10, self.glyphs.ellipsis), "bold"),
                (f"  {one_line(state.location, 20)}", "$muted"),
            ),
            self._activity(),
        ]  # fmt: skip
        if (expiry := self._expiry()) is not None:
            lines.append(expiry)
        if state.programs:
            lines.append(Content.styled(f" {count(state.programs, 'program')}", "$muted"))
        if state.files:
            lines.append(Content.styled(" files", "$muted"))
            files = [self._fit(_file_line(file), width) for file in state.files[:8]]
            lines += [Content("   " + file) for file in files]
            if len(state.files) > 8:
                lines.append(Content.styled(f"   +{len(state.files) - 8} more", "$muted"))
        if state.last_output:
            lines.append(Content.styled(" last output", "$muted"))
            tail = SafeText(state.last_output[-4000:]).rstrip().split("\n")[-8:]
            lines += [Content("   " + self._fit(line.expandtabs(4), width)) for line in tail]
        return Content("\n").join(lines)

    def _fit(self, line: str, width: int) -> str:
        return fit(line, width - 3, self.glyphs.ellipsis)

    def _activity(self) -> Content:
        glyphs, state = self.glyphs, self._state
        match state.state:
            case "busy":
                return Content.styled(f" {glyphs.running} running a program", "$accent")
            case "paused":
                waits = f", waiting for {count(state.pending, 'call')}" if state.pending else ""
                return Content.styled(f" {glyphs.paused} paused{waits}", "$waiting")
            case "expired":
                return Content.styled(f" {glyphs.stopped} expired; the next is fresh", "$failed")
            case _:
                return Content.styled(f" {glyphs.done} {one_line(state.state, 20)}", "$done")

    def _expiry(self) -> Content | None:
        left = self._state.seconds_left(self._now)
        parts: list[str] = []
        if left is not None and self._state.state != "expired":
            parts.append(f"expires in {elapsed(left)}" if left else "expired")
        if self._state.reused:
            parts.append(f"reused {count(self._state.reused, 'time')}")
        if not parts:
            return None
        soon = left is not None and left < EXPIRES_SOON_S
        return Content.styled(" " + "   ".join(parts), "$waiting" if soon else "$muted")


def _file_line(file: dict[str, object]) -> str:
    name = one_line(file.get("name") or file.get("filename") or file.get("file_id") or "?", 120)
    size = file.get("size") or file.get("size_bytes")
    return f"{name}  {_size(size)}" if isinstance(size, int) else name


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
