"""The help page: every key, from the one table, and every command."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from agent_tui.tui.keys import KeyTable, Where
from agent_tui.tui.lines import one_line
from agent_tui.tui.plain import SafeStatic

_PLACES: tuple[tuple[Where, str], ...] = (
    ("composer", "While you type"),
    ("screen", "Anywhere"),
    ("queue", "In the queue (F3)"),
)


KEYS_WIDE = 20
"""Cells of the left column."""


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
        with VerticalScroll(classes="modal-box", id="help-box"):
            yield SafeStatic(self.text())

    def text(self) -> Content:
        parts: list[Content] = []
        for where, heading in _PLACES:
            parts += [Content.styled(heading, "bold $accent")]
            parts += [*_table(self._keys.help_rows(where)), Content("")]
        parts.append(Content.styled("A question that waits", "bold $accent"))
        parts += _table(
            [
                ("y n", "once, no: from an empty line, 0.7 s after the last key"),
                ("a r", "always, no with a reason: after F4"),
            ]
        )
        if self._commands:
            parts += [Content(""), Content.styled("Commands", "bold $accent")]
            parts += _table([(one_line(form), one_line(word)) for _, form, word in self._commands])
        return Content("\n").join(parts)


def _table(rows: Sequence[tuple[str, str]]) -> list[Content]:
    return [Content.assemble(f"  {left:<{KEYS_WIDE}}  ", (right, "$muted")) for left, right in rows]
