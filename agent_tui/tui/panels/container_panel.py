"""The code-execution container: which one, what it does, what it ran, how long it lives.

It counts down by itself, once a second, and only while it is seen and something counts.
"""

import time
from collections.abc import Callable
from typing import Any

from textual.content import Content
from textual.timer import Timer

from agent_tui.conversation.events import ContainerChangedEvent, ProgramRun
from agent_tui.messages_api.container import parse_time
from agent_tui.text import SafeText, counted, duration, file_size, until
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import elapsed, fit, left_right, one_line
from agent_tui.tui.plain import Drawn

EXPIRES_SOON_S = 60
ANSWER_SOON_S = 60
"""A countdown below these seconds stands out."""

RUNS_SHOWN = 5
FILES_SHOWN = 12
OUTPUT_LINES = 8


class ContainerPanel(Drawn):
    """show() draws what was told last. clock: seconds since 1970: expiry comes from outside, so
    it is compared with the time of day."""

    def __init__(
        self,
        glyphs: Glyphs = UNICODE,
        *,
        id: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(glyphs, id=id)
        self._clock = clock
        self._event: ContainerChangedEvent | None = None
        self._seen = False
        self._ticker: Timer | None = None

    def show(self, event: ContainerChangedEvent | None) -> None:
        self._event = event
        self._keep_time()
        self.refresh()

    # --- time --------------------------------------------------------------------------

    @property
    def counting(self) -> bool:
        """Something in it changes with time alone."""
        event = self._event
        if event is None or not event.id or event.state == "expired":
            return False
        running = any(run.state == "running" for run in event.runs)
        counts = event.answer_due_at is not None or event.held_until is not None
        return running or counts or self._left(event) is not None

    @property
    def ticking(self) -> bool:
        """Its timer runs."""
        return self._ticker is not None

    def on_show(self) -> None:
        self._seen = True
        self._keep_time()
        self.refresh()

    def on_hide(self) -> None:
        self._seen = False
        self._keep_time()

    def _keep_time(self) -> None:
        wanted = self._seen and self.counting
        if wanted and self._ticker is None:
            self._ticker = self.set_interval(1.0, self._tick)
        elif not wanted and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def _tick(self) -> None:
        self.refresh()
        self._keep_time()

    def _left(self, event: ContainerChangedEvent) -> float | None:
        expiry = parse_time(event.expires_at)
        return None if expiry is None else expiry - self._clock()

    # --- drawing -----------------------------------------------------------------------

    def render(self) -> Content:
        event = self._event
        if event is None or not event.id:
            lines = [Content.styled(" no container yet", "$muted")]
            if event is not None:
                lines += self._attached_lines(event)
            return Content("\n").join(lines)
        lines = [
            self._id_line(event),
            self._state_line(event),
            *self._countdowns(event),
            *self._sums(event),
            *(self._run_line(run) for run in event.runs[-RUNS_SHOWN:]),
            *self._file_lines(event),
            *self._attached_lines(event),
            *self._output_lines(event),
        ]
        return Content("\n").join(lines)

    @property
    def _width(self) -> int:
        return max(8, self.size.width - 2)

    def _fit(self, text: str, width: int) -> str:
        return fit(text, width, self.glyphs.ellipsis)

    def _id_line(self, event: ContainerChangedEvent) -> Content:
        where = one_line(event.location, 12)
        room = self._width - len(where) - 3
        id = one_line(event.id, 80)
        if len(id) > room:
            id = self.glyphs.ellipsis + id[-max(1, room - len(self.glyphs.ellipsis)) :]
        return Content.assemble(
            " ", left_right(Content.styled(id, "bold"), Content.styled(where, "$muted"),
                            self._width, ellipsis=self.glyphs.ellipsis),
        )  # fmt: skip

    def _state_line(self, event: ContainerChangedEvent) -> Content:
        glyphs = self.glyphs
        left = self._left(event)
        over = left is not None and left <= 0 and event.state != "busy"
        state = "expired" if over else event.state
        match state:
            case "busy":
                run = next((r for r in reversed(event.runs) if r.state == "running"), None)
                which = _title(run) if run else "a program"
                return Content.styled(f" {glyphs.running} busy: {which} runs", "$accent")
            case "paused" if event.held_until is not None:
                return Content.styled(f" {glyphs.paused} paused, given up", "$waiting")
            case "paused":
                calls = counted(event.pending, "call")
                return Content.styled(f" {glyphs.paused} paused, waiting for {calls}", "$waiting")
            case "expired":
                return Content.styled(f" {glyphs.stopped} expired; the next is fresh", "$failed")
            case "created":
                return Content.styled(f" {glyphs.info} created, no program yet", "$muted")
            case _:
                return Content.styled(f" {glyphs.done} {one_line(state, 20)}", "$done")

    def _countdowns(self, event: ContainerChangedEvent) -> list[Content]:
        lines: list[Content] = []
        left = self._left(event)
        parts: list[str] = []
        if left is not None and left > 0 and event.state != "expired":
            parts.append(f"expires in {until(left, elapsed)}")
        if event.reused:
            parts.append(f"reused {counted(event.reused, 'time')}")
        if parts:
            soon = left is not None and 0 < left < EXPIRES_SOON_S
            lines.append(Content.styled(" " + "   ".join(parts), "$waiting" if soon else "$muted"))
        if event.held_until is not None and event.state == "paused":
            held = elapsed(max(0.0, event.held_until - self._clock()))
            lines.append(Content.styled(f" the service holds it for {held}", "$muted"))
        if event.answer_due_at is not None:
            due = event.answer_due_at - self._clock()
            text = f" answer due in {elapsed(due)}" if due > 0 else " the answer is overdue"
            style = "$failed" if due <= 0 else "$waiting" if due < ANSWER_SOON_S else "$muted"
            lines.append(Content.styled(text, style))
        return lines

    def _sums(self, event: ContainerChangedEvent) -> list[Content]:
        """First of this container, then of the session, which may have had others before."""
        lines: list[Content] = []
        session = Content.styled(" in the whole session", "$muted")
        if event.programs:
            parts: list[tuple[str, str]] = [(f" programs  {event.programs:,}", "$muted")]
            if event.calls:
                parts.append((f"   {counted(event.calls, 'call')}", "$muted"))
            if event.failed:
                parts.append((f"   {event.failed:,} failed", "$failed"))
            lines.append(Content.assemble(*parts))
        if event.kept_out_tokens_estimate:
            tokens = counted(event.kept_out_tokens_estimate, "token")
            lines.append(session)
            text = f" kept out of context {self.glyphs.about} {tokens}"
            lines.append(Content.styled(self._fit(text, self._width), "$muted"))
        if event.round_trips_saved:
            if not event.kept_out_tokens_estimate:
                lines.append(session)
            text = f" round trips saved {event.round_trips_saved:,}"
            lines.append(Content.styled(text, "$muted"))
        return lines

    def _run_line(self, run: ProgramRun) -> Content:
        glyphs = self.glyphs
        glyph, style = {
            "written": (glyphs.running, "$muted"),
            "running": (glyphs.running, "$accent"),
            "done": (glyphs.done, "$done"),
            "failed": (glyphs.failed, "$failed"),
        }.get(run.state, (glyphs.stopped, "$muted"))
        words: list[str] = []
        if run.error_code:
            words.append(one_line(run.error_code, 30).replace("_", " "))
        elif run.exit_code is not None:
            words.append(f"exit {run.exit_code}")
        elif run.state == "written":
            words.append("being written")
        elif run.state == "stopped":
            words.append("stopped")
        if run.calls:
            failed = f"{run.failed:,} of {run.calls:,} failed"
            words.append(failed if run.failed else counted(run.calls, "call"))
        left = Content.assemble(
            " ", (f"{glyph} ", style), _title(run), ("  " + "  ".join(words), "$muted")
        )
        return left_right(
            left, Content.styled(self._time_of(run), "$muted"), self._width + 1,
            ellipsis=glyphs.ellipsis,
        )  # fmt: skip

    def _time_of(self, run: ProgramRun) -> str:
        if run.state == "running" and run.started_at is not None:
            return elapsed(self._clock() - run.started_at)
        if run.seconds is None:
            return ""
        mark = f"{self.glyphs.about} " if run.about else ""
        return mark + duration(run.seconds)

    def _file_lines(self, event: ContainerChangedEvent) -> list[Content]:
        if not event.files:
            return []
        shown = [_file(file) for file in event.files[-FILES_SHOWN:]]
        if len(event.files) > len(shown):
            shown.insert(0, f"+{len(event.files) - len(shown)} earlier")
        return [Content.styled(" files", "$muted"), *self._flow(shown)]

    def _attached_lines(self, event: ContainerChangedEvent) -> list[Content]:
        """Uploads that wait for the next message."""
        if not event.attached:
            return []
        head = Content.styled(f" {self.glyphs.follow_up} with your next message", "$accent")
        return [head, *self._flow([_file(file) for file in event.attached])]

    def _flow(self, items: list[str]) -> list[Content]:
        """Side by side as long as they fit."""
        width = self._width - 2
        rows: list[str] = []
        for item in items:
            if rows and len(rows[-1]) + 3 + len(item) <= width:
                rows[-1] += "   " + item
            else:
                rows.append(item)
        return [Content("   " + self._fit(row, width)) for row in rows]

    def _output_lines(self, event: ContainerChangedEvent) -> list[Content]:
        text = SafeText(event.last_output[-4000:]).rstrip()
        if not text:
            return []
        lines = text.split("\n")[-OUTPUT_LINES:]
        return [
            Content.styled(" last output", "$muted"),
            *(Content("   " + self._fit(line.expandtabs(4), self._width - 2)) for line in lines),
        ]


def _title(run: ProgramRun) -> str:
    return f"program {run.number}" if run.number else "bash"


def _file(file: dict[str, Any]) -> str:
    name = one_line(file.get("name") or file.get("filename") or file.get("file_id") or "?", 60)
    size = file.get("size")
    return f"{name}  {file_size(size)}" if isinstance(size, int) else name
