"""Rate: how fast an answer streams."""

import time
from collections.abc import Callable

CHARS_PER_TOKEN = 4.0
"""A rough measure for the live rate; the real count replaces it when the server sends it."""
RATE_WINDOW_S = 3.0


class Rate:
    """Tokens a second over the last seconds of the stream under way."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._marks: list[tuple[float, int]] = []
        self._chars = 0
        self._began: float | None = None

    def begin(self) -> None:
        self._marks, self._chars, self._began = [], 0, None

    def add(self, chars: int) -> None:
        now = self._clock()
        if self._began is None:
            self._began = now
        self._chars += chars
        # At most ten marks a second, so a burst of deltas costs no list growth.
        if not self._marks or now - self._marks[-1][0] >= 0.1:
            self._marks.append((now, self._chars))
            if len(self._marks) > RATE_WINDOW_S * 12:
                del self._marks[0]

    def tokens_per_second(self) -> float | None:
        """None until half a second of stream has been seen."""
        now = self._clock()
        marks = [m for m in self._marks if now - m[0] <= RATE_WINDOW_S]
        if not marks or now - marks[0][0] < 0.5:
            return None
        return (self._chars - marks[0][1]) / CHARS_PER_TOKEN / (now - marks[0][0])
