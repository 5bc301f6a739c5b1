"""Every way out: close the conversation within a bound, then end; by force if that hangs."""

import asyncio
from typing import TYPE_CHECKING

from agent_tui.conversation.closing import CLOSE_WITHIN_S, close_in_time
from agent_tui.conversation.going_on import how_to_go_on
from agent_tui.tui.glyphs import choose
from agent_tui.tui.terminal_restore import ExitLadder

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp


class Leaving:
    """ladder: the watchdog that forces the end (none in tests, where nothing may be killed)."""

    def __init__(self, app: "AgentTuiApp", ladder: ExitLadder | None) -> None:
        self._app, self._ladder = app, ladder
        self.code: int | None = None
        self.last_words = ""
        """Printed on stderr once the terminal is as it was."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def begin(self, code: int) -> None:
        """On the event loop. A second call forces the end where there is a ladder."""
        if self.code is not None:
            if self._ladder is not None:
                self._ladder.force(self.code or 130)
            return
        self.code = code
        if self._ladder is not None:
            self._ladder.begin(code)
        self._app.flash("leaving")
        self._app.run_worker(self._close(code), name="leaving", exit_on_error=False)

    def begin_from_signal(self, code: int) -> None:
        """In a signal handler: also right when the loop hangs or has not begun."""
        if self._ladder is not None:
            self._ladder.begin(code)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._after_signal, code)

    def _after_signal(self, code: int) -> None:
        if self.code is None:
            self.code = code
            self._app.run_worker(self._close(code), name="leaving", exit_on_error=False)

    def crashed(self) -> None:
        """The screen is about to go; what remains must not hang."""
        if self._ladder is not None and not self._ladder.begun:
            self._ladder.begin(1)

    async def _close(self, code: int) -> None:
        conversation = self._app.desk.conversation
        self._app.drafts.record()
        self._app.signals.end()
        if conversation is not None and not self.last_words:
            self.last_words = how_to_go_on(conversation, choose().at_least)
        if conversation is not None:
            await close_in_time(conversation, CLOSE_WITHIN_S)
        await asyncio.to_thread(self._app.history.close)
        self._app.exit(code, return_code=code)
