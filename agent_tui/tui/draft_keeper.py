"""DraftKeeper: records the composer's draft once the keys rest, so that no crash loses it."""

import logging
from typing import TYPE_CHECKING

from textual.timer import Timer

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp

log = logging.getLogger(__name__)

REST_S = 0.5
"""The draft is recorded so long (seconds) after it changed last."""

LONGEST_S = 5.0
"""And at least as often (seconds) while the keys do not rest."""


class DraftKeeper:
    """changed() is called for each change of the draft and costs nothing of its size; record()
    hands the draft to the conversation, whose session writes it in a thread of its own."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._timer: Timer | None = None
        self._changed_at: float | None = None
        """When it changed first since it was recorded last."""

    def changed(self) -> None:
        """Begin the rest anew."""
        now = self._app.clock()
        if self._changed_at is None:
            self._changed_at = now
        if now - self._changed_at > LONGEST_S:
            self._rested()
        else:
            self._begin_rest()

    def _begin_rest(self) -> None:
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
            self._begin_rest()
        else:
            self.record()

    def record(self) -> None:
        """Now: at rest, and on every way out."""
        self._changed_at = None
        conversation = self._app.desk.conversation
        if conversation is None:
            return
        try:
            conversation.record_draft(self._app.composer.kept_draft())
        except Exception:
            log.exception("the draft could not be recorded")
