"""The help page: every key, from the one table, and every command."""

import textwrap
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from agent_tui.tui.keys import KeyTable, Where
from agent_tui.tui.lines import one_line
from agent_tui.tui.plain import SafeStatic

_PLACES: tuple[tuple[Where, str], ...] = (
    ("composer", "While you type"),
    ("screen", "Anywhere"),
    ("search", "In the search line (Ctrl+F)"),
    ("transcript", "In the transcript (F8)"),
    ("queue", "In the queue (F3)"),
    ("tools", "In the calls of the side panel (F5)"),
    ("mcp", "In the MCP servers of the side panel (F7)"),
)


_MARKS = (
    ("@", "a file, a folder/ or a resource of a server goes along: type on to find it"),
    ("!command", "at its beginning: runs here at once, and the model sees what came of it"),
    ("!!command", "the same, but the model does not see it"),
    ("/command", "at its beginning: one of those below"),
)

_WORDS = (
    ("Enter in a list", "takes what you moved to, or what you began to type; a command that is "
                        "whole by that runs at once. What is typed in full is sent as it is"),
    ("turn", "all from your message on until the model asks for nothing more: a follow-up waits "
             "for its end, steering goes into it"),
)  # fmt: skip

KEYS_WIDE = 20
"""Cells of the left column."""


class _Page(SafeStatic):
    """Text that is made anew for each width it gets."""

    def __init__(self, text: Callable[[int], Content]) -> None:
        super().__init__(text(80))
        self._of_width = text
        self._width = 0

    def on_resize(self, event: events.Resize) -> None:
        if event.size.width != self._width:
            self._width = event.size.width
            self.update(self._of_width(self._width))


class HelpScreen(ModalScreen[None]):
    """Esc, F1, q or Enter leave it."""

    AUTO_FOCUS = "#help-box"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter,ctrl+c", "dismiss", "Leave", show=False, priority=True)
    ]

    def __init__(self, keys: KeyTable, commands: Sequence[tuple[str, str, str]]) -> None:
        super().__init__()
        self._keys, self._commands = keys, commands

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal-box", id="help-page"):
            with VerticalScroll(id="help-box"):
                yield _Page(self.text)
            yield SafeStatic("Up Down PgUp PgDn scroll   Esc leave", classes="modal-keys")

    def text(self, width: int) -> Content:
        parts: list[Content] = []
        for where, heading in _PLACES:
            parts += [Content.styled(heading, "bold $accent")]
            parts += [*_table(self._keys.help_rows(where), width), Content("")]
        parts.append(Content.styled("What a message may hold", "bold $accent"))
        parts += [*_table(_MARKS, width), Content("")]
        parts.append(Content.styled("Words", "bold $accent"))
        parts += [*_table(_WORDS, width), Content("")]
        parts.append(Content.styled("A question that waits", "bold $accent"))
        parts += _table(
            [
                ("y n", "once, no: from an empty line, 0.7 s after the last key"),
                ("", "held for 0.3 s: with another key it is text, Esc takes it back"),
                ("a r", "always, no with a reason: after F4"),
            ],
            width,
        )
        if self._commands:
            commands = [(one_line(form), one_line(word)) for _, form, word in self._commands]
            parts += [Content(""), Content.styled("Commands", "bold $accent")]
            parts += _table(commands, width)
        return Content("\n").join(parts)


def _table(rows: Sequence[tuple[str, str]], width: int) -> list[Content]:
    """Two columns; on a narrow screen what a key does stands below it."""
    indent = KEYS_WIDE + 4 if width >= 50 else 4
    lines: list[Content] = []
    for left, right in rows:
        words = textwrap.wrap(right, max(10, width - indent)) or [""]
        if len(left) > indent - 4:
            lines.append(Content(f"  {left}"))
        else:
            lines.append(Content.assemble(f"  {left:<{indent - 2}}", (words.pop(0), "$muted")))
        lines += [Content.styled(" " * indent + word, "$muted") for word in words]
    return lines
