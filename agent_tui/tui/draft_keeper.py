"""DraftKeeper: records the composer's draft once the keys rest, so that no crash loses it."""

import logging
from typing import TYPE_CHECKING

from textual.timer import Timer

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp

log = logging.getLogger(__name__)

REST_S = 0.5
"""The draft is recorded so long (seconds) after it changed last."""


class DraftKeeper:
    """changed() is called for each change of the draft and costs nothing of its size; record()
    hands the draft to the conversation, whose session writes it in a thread of its own."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._timer: Timer | None = None

    def changed(self) -> None:
        """Begin the rest anew."""
        if self._timer is None:
            self._timer = self._app.set_interval(REST_S, self._rested, pause=True)
        self._timer.reset()
        self._timer.resume()

    def _rested(self) -> None:
        if self._timer is not None:
            self._timer.pause()
        if self._app.desk.stopping:
            # What was sent meanwhile is on disk only when the stop has settled; until then the
            # draft that it was stays.
            self.changed()
        else:
            self.record()

    def record(self) -> None:
        """Now: at rest, and on every way out."""
        conversation = self._app.desk.conversation
        if conversation is None:
            return
        try:
            conversation.record_draft(self._app.composer.kept_draft())
        except Exception:
            log.exception("the draft could not be recorded")
