"""The palette (Ctrl+P).

Workaround for Textual 8.2: PgUp and PgDn before its list is laid out (in a tiny terminal, or
right after it opened) raise KeyError and would end the app. Remove when they do not;
tests/tui/test_broken_screen.py presses them.
"""

import contextlib

from textual.command import CommandPalette


class CalmPalette(CommandPalette):
    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):
            super()._action_command_list(action)
