"""What Ctrl+C means now (faults B20, B22): stop, clear, quit, and the way out of a run that
does not settle. Pure: the clock is handed in."""

import time
from collections.abc import Callable
from typing import Literal

QUIT_WITHIN_S = 1.0
FORCE_WITHIN_S = 2.0

Meaning = Literal["stop", "clear", "arm_quit", "quit", "arm_force", "force"]


class Interrupts:
    """press() says what this Ctrl+C does. Anything typed in between disarms."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._armed: Literal["quit", "force"] | None = None
        self._armed_at = float("-inf")

    def press(
        self, *, running: bool, stopping: bool, draft_empty: bool, last_key_at: float
    ) -> Meaning:
        """last_key_at: when the last other key came, by the same clock.

        Running: stop. Already stopping: the first arms, the second within 2 s leaves by force.
        Idle: a draft is cleared; on an empty one the first arms, the second within 1 s quits.
        """
        now = self._clock()
        armed = self._armed if last_key_at <= self._armed_at else None
        since = now - self._armed_at
        self._armed, self._armed_at = None, now
        if stopping:
            if armed == "force" and since <= FORCE_WITHIN_S:
                return "force"
            self._armed = "force"
            return "arm_force"
        if running:
            return "stop"
        if not draft_empty:
            return "clear"
        if armed == "quit" and since <= QUIT_WITHIN_S:
            return "quit"
        self._armed = "quit"
        return "arm_quit"
