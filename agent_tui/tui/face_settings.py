"""The screen's own settings: applied at the start and whenever one changes, without a restart.

A theme that is chosen from the palette, and a model or effort that is chosen by a command, are
remembered for later conversations (choices.py), unless the demo answers.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from agent_tui import choices
from agent_tui.conversation.results import CommandResult
from agent_tui.tui.key_problems import keys_table
from agent_tui.tui.themes import pick_theme

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.tui.app import AgentTuiApp

log = logging.getLogger(__name__)

OF_FACE: Final = frozenset({
    "theme", "show_panel", "show_thinking", "reduced_motion", "notify", "terminal_title",
    "progress", "remember_choices", "vi_keys",
})  # fmt: skip
"""Settings that hold at once on the screen."""


class FaceSettings:
    """begin() once, when the app is mounted; attach() for each conversation."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._theme = app.theme
        self._demo = True
        self._has_history = False

    def begin(self) -> None:
        app = self._app
        self._theme = app.theme
        self._calm()
        self._use_vi()
        app.theme_changed_signal.subscribe(app, lambda _: self._theme_changed())

    def loaded(self) -> None:
        """The settings are there in full (app.settings)."""
        self._calm()
        self._use_vi()
        self._app.signals.refresh()

    def attach(self, conversation: "Conversation", *, demo: bool) -> None:
        self._demo = demo
        conversation.held_settings.of_face = OF_FACE
        conversation.remember = self.remember
        conversation.add_command("keys", "/keys", "every key, and how to change one", self._keys)
        words = "two minutes: each feature by its key"
        conversation.add_command("tour", "/tour", words, self._app.tour.command)

    async def _keys(self, conversation: "Conversation", arguments: str) -> CommandResult:
        if arguments:
            return CommandResult(error="The form is: /keys")
        text = keys_table(self._app.key_table)
        if self._app.composer.vi is not None:
            from agent_tui.tui.vi_types import HELP

            text += f"\n\n{HELP}"
        return CommandResult(text=text)

    async def bring_history(self, conversation: "Conversation") -> None:
        """What was sent in this folder in earlier starts; once."""
        if self._has_history:
            return
        self._has_history = True
        size = getattr(self._app.settings, "history_size", 0) if conversation.keeps else 0
        history = self._app.history
        history.take(await asyncio.to_thread(history.open, conversation.cwd, size))

    def changed(self, conversation: "Conversation", name: str) -> None:
        """Of the conversation's settings this one has changed."""
        app = self._app
        if name not in OF_FACE:
            return
        app.settings = conversation.held_settings.loaded.settings
        match name:
            case "theme":
                self._theme = app.theme = pick_theme(app.settings.theme)
            case "show_panel":
                app.panel_open = app.settings.show_panel
                app.place_panel()
            case "show_thinking":
                app.transcript.set_thinking_mode(app.settings.show_thinking)
            case "reduced_motion":
                self._calm()
            case "vi_keys":
                self._use_vi()
            case _:
                app.signals.refresh()

    def _calm(self) -> None:
        calm = bool(getattr(self._app.settings, "reduced_motion", False))
        self._app.animation_level = "none" if calm else "full"
        self._app.transcript.calm = calm

    def _use_vi(self) -> None:
        self._app.composer.use_vi(bool(getattr(self._app.settings, "vi_keys", False)))

    def _theme_changed(self) -> None:
        app = self._app
        if app.theme != self._theme:  # somebody chose it, from the palette
            self._theme = app.theme
            self.remember("theme", app.theme)

    def remember(self, name: str, value: str) -> None:
        """A choice made on the screen; in the background."""
        wanted: Any = getattr(self._app.settings, "remember_choices", True)
        if wanted and not (self._demo and name != "theme"):
            self._app.run_worker(self._remember(name, value), group="remember", exit_on_error=False)

    async def _remember(self, name: str, value: str) -> None:
        try:
            await asyncio.to_thread(choices.remember, name, value)
        except OSError as error:
            log.warning("the choice of %s could not be kept: %s", name, error)
            self._app.notice("warning", f"The choice holds, but could not be kept: {error}")
