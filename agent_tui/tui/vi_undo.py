"""vi's undo: the texts before each change, so that all that was typed in one go is one step."""

from agent_tui.tui.vi_text import on_character
from agent_tui.tui.vi_types import Outcome

MOST_UNDONE = 200
"""Steps that are kept."""

Step = tuple[str, int]
"""A text and the cursor in it."""


class Undo:
    """Steps back and forth."""

    def __init__(self) -> None:
        self._back: list[Step] = []
        self._forth: list[Step] = []

    def clear(self) -> None:
        self._back.clear()
        self._forth.clear()

    def remember(self, text: str, cursor: int) -> None:
        """The text before a change."""
        self._back.append((text, cursor))
        del self._back[:-MOST_UNDONE]
        self._forth.clear()

    def back(self, text: str, cursor: int, count: int) -> Outcome:
        """u"""
        return _step(text, cursor, count, self._back, self._forth)

    def forth(self, text: str, cursor: int, count: int) -> Outcome:
        """Ctrl+R"""
        return _step(text, cursor, count, self._forth, self._back)


def _step(text: str, cursor: int, count: int, source: list[Step], other: list[Step]) -> Outcome:
    now, at = text, cursor
    for _ in range(min(count, len(source))):
        other.append((now, at))
        now, at = source.pop()
    if now == text:
        return Outcome(on_character(text, at))
    start, end, middle = difference(text, now)
    return Outcome(on_character(now, at), middle, start, end)


def difference(old: str, new: str) -> tuple[int, int, str]:
    """(start, end, text): replacing [start, end) of `old` by `text` makes `new`."""
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < most - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return start, len(old) - tail, new[start : len(new) - tail]
