"""The palette (Ctrl+P).

Workarounds for Textual 8.2:

- PgUp and PgDn before its list is laid out (in a tiny terminal, or right after it opened) raise
  KeyError and would end the app. Remove when they do not; tests/tui/test_broken_screen.py presses
  them.
- Enter before the list has what fits does nothing, or takes a row of the list before. Here it
  waits for that list and chooses its first row.
"""

import contextlib
from functools import partial

from textual import on
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from agent_tui.tui.themes import THEMES


class Commands(Provider):
    """What the app offers (get_system_commands), in its order: Textual's own sorts by name."""

    async def discover(self) -> Hits:
        for command in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(command.title, command.callback, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self.app.get_system_commands(self.screen):
            if (score := matcher.match(command.title)) > 0:
                shown = matcher.highlight(command.title)
                yield Hit(score, shown, command.callback, help=command.help)


class Themes(Provider):
    """Our own first, then Textual's; the one in force is marked."""

    @property
    def names(self) -> list[str]:
        own = [theme.name for theme in THEMES]
        return own + sorted(set(self.app.available_themes) - set(own))

    def _choose(self, name: str) -> None:
        self.app.theme = name

    def _mark(self, name: str) -> Content:
        return Content.styled("  in force", "$muted") if name == self.app.theme else Content("")

    async def discover(self) -> Hits:
        for name in self.names:
            shown = Content.assemble(name, self._mark(name))
            yield DiscoveryHit(shown, partial(self._choose, name), text=name)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name in self.names:
            if (score := matcher.match(name)) > 0:
                shown = Content.assemble(matcher.highlight(name), self._mark(name))
                yield Hit(score, shown, partial(self._choose, name), text=name)


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
