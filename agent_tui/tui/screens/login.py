"""Asks for a secret: what is typed is not shown, not logged and in no history."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from agent_tui.tui.plain import SafeStatic


class SecretScreen(ModalScreen[str | None]):
    """Gives the secret, or None when it was left (Esc, or nothing typed)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Leave", show=False, priority=True)
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal-box"):
            yield SafeStatic(self._title, classes="modal-title")
            yield SafeStatic(self._text, classes="modal-text")
            yield Input(password=True, compact=True, id="secret")
            yield SafeStatic("Enter store   Esc leave", classes="modal-keys")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)

    def action_leave(self) -> None:
        self.dismiss(None)
