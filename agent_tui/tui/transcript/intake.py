"""Intake: what has come, on its way from the frame buffer to the blocks."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

from agent_tui.tui.transcript.blocks import Block
from agent_tui.tui.transcript.feed import Feed
from agent_tui.tui.transcript.frames import Frames
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.notices import NoticeBlock
from agent_tui.tui.transcript.stage import Stage

_log = logging.getLogger(__name__)

_STEP = 64
"""Events between two looks at the time."""


class ArrivalClock:
    """The seconds at which what is taken now has come; while nothing is taken, those of now. A
    time on the screen does not depend on when a frame was made."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.now = clock
        self.came: float | None = None

    def __call__(self) -> float:
        return self.now() if self.came is None else self.came


class Intake:
    """Of one transcript. The view is not changed here; `stage` is told how many rows came."""

    def __init__(
        self, frames: Frames, feed: Feed, layout: Layout, stage: Stage, clock: ArrivalClock
    ) -> None:
        self._frames, self._feed, self._layout, self._stage = frames, feed, layout, stage
        self._clock = clock
        self.came = 0
        """Rows that the last steps() brought."""

    def put(self, event: Any) -> None:
        """Take an event; the next frame shows it."""
        self._frames.put((event, self._clock.now()))

    def steps(self) -> Iterator[None]:
        """Bring all that is in the buffer now to the blocks, in small steps."""
        before = self._layout.total
        buffer = self._frames.buffer
        for number in range(len(buffer)):
            if not buffer:
                break
            event, came = buffer.popleft()
            if self._feed.may_close(event):
                yield from self._feed.split_steps()
            self._take(event, came)
            if number % _STEP == _STEP - 1:
                yield
        yield from self._feed.flush_steps()
        self._stage.count_missed(before)
        self.came = self._layout.total - before

    def drain(self) -> None:
        """The same at one go, after the frame that is half made."""
        self._frames.finish()
        buffer = self._frames.buffer
        if buffer:
            before = self._layout.total
            while buffer:
                self._take(*buffer.popleft())
            self._feed.flush()
            self._stage.count_missed(before)

    def add(self, block: Block) -> None:
        """A block of the program's own, below what has come."""
        self.drain()
        before = self._layout.total
        self._feed.add(block)
        self._stage.count_missed(before)

    def _take(self, event: Any, came: float) -> None:
        self._clock.came = came
        try:
            self._feed.apply(event)
        except Exception:  # one bad event must not end the conversation on screen
            _log.exception("an event could not be shown: %s", getattr(event, "type", event))
            text = "something that came could not be shown; the log file says what"
            self._feed.add(NoticeBlock("error", text))
        finally:
            self._clock.came = None
