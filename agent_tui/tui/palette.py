"""The palette (Ctrl+P).

Workarounds for Textual 8.2:

- PgUp and PgDn before its list is laid out (in a tiny terminal, or right after it opened) raise
  KeyError and would end the app. Remove when they do not; tests/tui/test_broken_screen.py presses
  them.
- Enter before the list has what fits does nothing, or takes a row of the list before. Here it
  waits for that list and chooses its first row.
"""

import contextlib

from textual import on
from textual.command import CommandPalette
from textual.widgets import Input
from textual.worker import Worker, WorkerState


class CalmPalette(CommandPalette):
    _enter_waits = False

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):
            super()._action_command_list(action)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        group = self._GATHER_COMMANDS_GROUP
        if any(w.node is self and w.group == group and not w.is_finished for w in self.workers):
            event.stop()
            event.prevent_default()
            self._enter_waits = True

    @on(Input.Changed)
    def _typed_on(self) -> None:
        self._enter_waits = False

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """The list is there."""
        gathered = event.worker.group == self._GATHER_COMMANDS_GROUP
        if gathered and event.state == WorkerState.SUCCESS and self._enter_waits:
            self._enter_waits = False
            self._select_or_command()
