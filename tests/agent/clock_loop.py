"""An event loop whose clock jumps to the next timer when nothing is ready: delays take no real
time, and everything happens in the same order each time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class NothingWillHappen(RuntimeError):
    """The loop waits, but no timer is set and nothing else can wake it: a deadlock."""


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.loop: ClockLoop | None = None

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout is None or timeout > 0:
            assert self.loop is not None
            if not ready:
                if timeout is None:
                    raise NothingWillHappen
                self.loop.now += timeout
        return ready


class ClockLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector = _JumpingSelector()
        self.now = 0.0
        super().__init__(selector)
        selector.loop = self

    def time(self) -> float:
        return self.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a ClockLoop. Raises AssertionError when a task is left running."""
    loop = ClockLoop()
    try:
        asyncio.set_event_loop(loop)
        result = loop.run_until_complete(main)
        left = [task for task in asyncio.all_tasks(loop) if not task.done()]
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        assert not left, f"tasks left running: {left}"
        return result
    finally:
        asyncio.set_event_loop(None)
        loop.close()
