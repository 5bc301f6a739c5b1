"""The approval of one call: what exactly will run, who asks, and the answers."""

import time
from collections.abc import Callable, Sequence
from typing import Literal

from textual.content import Content

from agent_tui import paths
from agent_tui.conversation.events import PermissionDelayedEvent, PermissionRequestEvent
from agent_tui.conversation.readable import readable_arguments
from agent_tui.text import counted
from agent_tui.tui import messages as m
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import one_line
from agent_tui.tui.screens.inline import InlineDialog
from agent_tui.tui.screens.long_text import LineLook, LongText, TextLine

MAX_CHARS = 60_000
"""Shown in the box; more than that is read with `o` in the editor."""

_DIFF_LOOKS: dict[str, LineLook] = {"+": "added", "-": "removed", "@": "muted", "\\": "muted"}


def _diff_lines(request: PermissionRequestEvent) -> list[TextLine]:
    """The path as it was given, and the diff without its two lines of file names."""
    body = request.diff.rstrip("\n").split("\n")[2:]
    lines: list[TextLine] = [(str(request.arguments.get("path")), "muted")]
    return lines + [(line, _DIFF_LOOKS.get(line[:1], "plain")) for line in body]


def _keys(pairs: Sequence[tuple[str, str]]) -> Content:
    """("y", "once"), ... in one line."""
    return Content("   ").join(Content.assemble(key, (f" {word}", "$muted")) for key, word in pairs)


class ApprovalDialog(InlineDialog):
    """Posts PermissionAnswered. Unfocused only y and n act, and y only when all can be seen."""

    BODY_ROWS = 12
    """A diff of one line and its surroundings stands in it."""

    def __init__(
        self,
        request: PermissionRequestEvent,
        glyphs: Glyphs = UNICODE,
        *,
        clock: Callable[[], float] = time.monotonic,
        line: int | None = None,
    ) -> None:
        """line: of the program that asks, None where it is not certain."""
        self.request = request
        self._line = line
        self.full_text = readable_arguments(
            "" if request.server else request.tool_name, request.arguments
        )
        self._read_all = False
        self._gives_up_at: float | None = None
        super().__init__(glyphs, clock=clock)

    @property
    def is_cut(self) -> bool:
        return not self.request.diff and len(self.full_text) > MAX_CHARS

    def make_body(self) -> LongText:
        return LongText(self.lines(), classes="dialog-body")

    def redraw_body(self) -> None:
        """What will run does not change."""

    def lines(self) -> list[TextLine]:
        """All that will run: a write or an edit as its diff, else the arguments."""
        lines: list[TextLine] = []
        if self.request.note:
            lines.append((self.request.note, "note"))
        if self.request.diff:
            return lines + _diff_lines(self.request)
        text = self.full_text[:MAX_CHARS]
        lines.extend((line, "plain") for line in text.split("\n"))
        if self.is_cut:
            rest = counted(len(self.full_text) - MAX_CHARS, "more character")
            lines.append((f"{self.glyphs.ellipsis} {rest}: o to read all", "note"))
        return lines

    def title(self) -> Content:
        name, server = self.request.tool_name, ""
        if self.request.server:
            name = self.request.server_tool
            server = f" of {one_line(self.request.server, 40, self.glyphs.ellipsis)}"
        return Content.assemble(
            (one_line(name, 60, self.glyphs.ellipsis), "bold"), (server, "$muted"),
            " wants to run", (self._asker(), "$muted"),
        )  # fmt: skip

    def _asker(self) -> str:
        caller = self.request.caller
        if caller is None or caller.get("type", "direct") == "direct":
            return ""
        number = self.request.program
        where = "" if self._line is None else f", line {self._line}"
        return f"   asked by {'a program' if number is None else f'program {number}'}{where}"

    def delayed(self, event: PermissionDelayedEvent) -> None:
        """The program that asked will not wait much longer: from now on its time is shown."""
        self._gives_up_at = self._clock() + event.limit_s - event.waited_s
        self.relabel()
        if self.is_attached:
            self.set_interval(1, self.relabel)

    def on_mount(self) -> None:
        if self._gives_up_at is not None:
            self.set_interval(1, self.relabel)

    def _label(self) -> str:
        label = super()._label()
        if self._gives_up_at is None:
            return label
        left = round(self._gives_up_at - self._clock())
        if left <= 0:
            return f"{label}: the program has probably given up"
        return f"{label}: the program gives up in about {left // 60}:{left % 60:02d}"

    def keys(self) -> Content:
        """Without the focus r and a are reached by F4 first."""
        first = [("y", "once"), ("n", "no"), (self._focused("r"), "no, with a reason")]
        second = [(self._focused("a"), f"always for {self._always()}")]
        if self.is_cut:
            first.append((self._focused("o"), "read all"))
        return Content("\n").join(_keys(pairs) for pairs in (first, second))

    def _focused(self, key: str) -> str:
        return key if self.expanded else f"F4 {key}"

    def _always(self) -> str:
        """The rule, without what the box shows anyway."""
        rule = self.request.rule or self.request.tool_name
        for shown in ("exactly this command", "exactly this path"):
            before, found, _ = rule.partition(f": {shown}: ")
            if found:
                rule = f"{before}: {shown}"
        return one_line(paths.with_tilde(rule), 100, self.glyphs.ellipsis)

    def knows(self, key: str) -> bool:
        return key in ("y", "n")

    def take_key(self, key: str, *, focused: bool) -> bool:
        if key == "y" and not focused and (self.is_cut or not self.all_visible):
            self.post_message(m.Flash("It is longer than what is shown: F4 to read and answer."))
            return True
        if key in ("y", "a") and self.is_cut and not self._read_all:
            if focused:
                self.post_message(m.Flash("It is longer than the box can hold: o to read it all."))
            return focused
        match key:
            case "y":
                self._answer("allow")
            case "n":
                self._answer("deny")
            case "a" if focused:
                self._answer("allow_always")
            case "r" if focused:
                self._answer("reason")
            case "o" if focused:
                self._read_all = True
                self.post_message(m.ReadAll(self.full_text))
            case _:
                return False
        return True

    def _answer(self, decision: Literal["allow", "allow_always", "deny", "reason"]) -> None:
        self.post_message(m.PermissionAnswered(self.request.request_id, decision))
