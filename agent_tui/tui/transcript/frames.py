"""Frames: when the transcript works, and how long at a time.

What comes is put into a buffer that is read at most 30 times a second by a coroutine that
ends when the buffer is empty: idle costs nothing. A frame is made in slices of at most 5 ms,
between which the event loop is free for keys.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from textual.widget import Widget

FRAME_S = 1 / 30
"""Seconds between two readings of the buffer while text streams."""

FLOOD_FRAME_S = 1 / 10
"""The same while more than a screenful comes with each frame: nobody reads that."""

CALM_FRAME_S = 1 / 4
"""The same with reduced motion: fewer, larger steps."""

SLICE_S = 0.005
"""Seconds of work on the event loop before it is given back."""

_SHARE = 3.0
"""A frame that cost t seconds is followed by at least _SHARE * t of rest."""


class Frames:
    """The frame buffer of one widget. make: a generator that takes what is in `buffer` and
    brings it to the screen, yielding between small steps."""

    def __init__(self, widget: Widget, make: Callable[[], Iterator[None]]) -> None:
        self.buffer: deque[Any] = deque()
        self.flood = self.calm = False
        self._widget = widget
        self._make = make
        self._job: Iterator[None] | None = None
        self._running = False
        self._spent = 0.0
        self._last = 0.0

    @property
    def busy(self) -> bool:
        """A frame is being made, or one will be."""
        return self._running or bool(self.buffer)

    @property
    def making(self) -> bool:
        """A frame is half made."""
        return self._job is not None

    def put(self, event: Any) -> None:
        self.buffer.append(event)
        if not self._running:
            self.start()

    def start(self) -> None:
        """Begin if something waits and the widget can show it."""
        if self.buffer and not self._running and self._widget.is_running:
            self._running = True
            self._widget.run_worker(self._run(), group="transcript", name="frames")

    def finish(self) -> None:
        """End the frame that is half made, before something else changes the view."""
        if self._job is not None:
            job, self._job = self._job, None
            for _ in job:
                pass

    async def _run(self) -> None:
        try:
            while self.buffer:
                step = FLOOD_FRAME_S if self.flood else FRAME_S
                rest = max(CALM_FRAME_S if self.calm else step, self._spent * _SHARE)
                await asyncio.sleep(max(0.0, self._last + rest - time.monotonic()))
                self._spent = 0.0
                self._job = self._make()
                while self._slice():  # noqa: ASYNC110 - the work itself is what is waited for
                    await asyncio.sleep(0)
                self._last = time.monotonic()
        finally:
            self._running = False

    def _slice(self) -> bool:
        """Work for at most SLICE_S; False when the frame is done."""
        job = self._job
        if job is None:
            return False
        begin = now = time.perf_counter()
        for _ in job:
            now = time.perf_counter()
            if now - begin > SLICE_S:
                self._spent += now - begin
                return True
        self._spent += time.perf_counter() - begin
        self._job = None
        return False
