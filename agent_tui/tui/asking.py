"""Asks the user on behalf of the endpoint choice (conversation/opening.py): its Asker."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from agent_tui.tui.screens.choice import ChoiceDialog, OptionLike
from agent_tui.tui.screens.login import SecretScreen

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp


class ScreenAsker:
    """choose and ask_secret must be awaited in a Textual worker of the app."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app

    async def choose(
        self,
        title: str,
        text: str,
        options: Sequence[OptionLike],
        *,
        leave: str | None = None,
        wanted: bool = False,
    ) -> str:
        """The key of the option chosen; waits as long as it takes. leave: the key that Esc
        chooses; None where one of them must be chosen. wanted: the user asked for it."""
        dialog = ChoiceDialog(
            title, text, options, self._app.glyphs,
            leave=leave, wanted=wanted, clock=self._app.clock,
        )  # fmt: skip
        await self._app.dialogs.add(dialog)
        try:
            return await dialog.chosen
        finally:
            if await self._app.dialogs.close(dialog):
                self._app.composer.focus()

    async def ask_secret(self, title: str, text: str) -> str | None:
        """What was entered, unseen; None when the user left it."""
        return await self._app.push_screen_wait(SecretScreen(title, text))

    def settings_loaded(self, settings: Any) -> None:
        """The settings in full; the first paint knew only some of them."""
        self._app.settings_loaded(settings)

    def notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        self._app.notice(level, text)
