"""Reads pastes that Textual 8.2 does not: broken ones and those without bracket marks.

- `ESC[200~` whose `ESC[201~` never comes swallows all further keys; after two silent seconds
  what came is handed on as a paste.
- Text pasted by a terminal without bracketed paste arrives as keys, each line end as Enter,
  which would send line by line. Several lines that arrive faster than anyone types are handed
  on as one paste; a single line with its Enter, as scripts send it, stays what it is.

Workaround for Textual 8.2 (drivers/linux_driver.py makes its XTermParser by that module's
name); tests/tui/test_terminal_input.py fails when the place moves. Remove when Textual can.
"""

import sys
import time
from collections.abc import Callable, Iterable

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.message import Message

BROKEN_AFTER_S = 2.0
"""Silence inside a bracketed paste after which its end is taken as lost."""
SAME_BURST_S = 0.005
"""Two reads closer than this come from a program or a paste; people need 30 ms and more."""
QUIET_S = 0.04
"""Silence that ends a burst."""


class PasteAwareParser(XTermParser):
    """feed() as XTermParser's; tick() is called by the driver every 0.1 s and after reads."""

    def __init__(self, debug: bool = False, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._last_read = float("-inf")
        self._tail = ""
        self._in_paste = False
        self._burst: list[str] = []
        self._held_enter = False

    def feed(self, data: str) -> Iterable[Message]:
        now = self._clock()
        gap, self._last_read = now - self._last_read, now
        if not data:
            yield from self._end_burst()
            yield from super().feed(data)
            return
        # A sequence that began in an earlier read goes on in this one: Textual waits for it.
        in_sequence = self._timeout_time is not None
        if self._in_paste or in_sequence or "\x1b" in data:
            yield from self._end_burst()
            self._watch_marks(data)
            yield from super().feed(data)
            return
        yield from self._feed_plain(data, gap)

    def _feed_plain(self, data: str, gap: float) -> Iterable[Message]:
        if self._burst or (self._held_enter and gap < QUIET_S):
            # More came before the pause: the Enter held back was a line end of a paste.
            if self._held_enter:
                self._held_enter = False
                self._burst.append("\r")
            self._burst.append(data)
            return
        yield from self._end_burst()
        lines = data.replace("\r\n", "\r").replace("\n", "\r")
        body, enter = (lines[:-1], "\r") if lines.endswith("\r") else (lines, "")
        if "\r" in body and len(data) > 2 and _is_text(data):
            self._burst.append(data)
            return
        if data.endswith("\r") and (body or gap < SAME_BURST_S) and _is_text(data):
            self._held_enter = True
            data = data[: len(data) - len(enter)]
        if data:
            yield from super().feed(data)

    def tick(self) -> Iterable[Message]:
        silent = self._clock() - self._last_read
        if silent >= QUIET_S:
            yield from self._end_burst()
        if self._in_paste and silent >= BROKEN_AFTER_S:
            self._in_paste = False
            yield from super().feed(BRACKETED_PASTE_END)
        yield from super().tick()

    def _end_burst(self) -> Iterable[Message]:
        """The pause has come: hand on what was gathered."""
        if self._burst:
            text, self._burst = "".join(self._burst), []
            yield events.Paste(text.replace("\x00", ""))
        if self._held_enter:
            self._held_enter = False
            yield from super().feed("\r")

    def _watch_marks(self, data: str) -> None:
        """Whether a bracketed paste is open after `data`; marks may be cut between reads."""
        seen = self._tail + data
        start, end = seen.rfind(BRACKETED_PASTE_START), seen.rfind(BRACKETED_PASTE_END)
        if start != end:
            self._in_paste = start > end
        self._tail = seen[-(len(BRACKETED_PASTE_END) - 1) :]


def _is_text(data: str) -> bool:
    """Only what a paste holds: printable characters, tabs and line ends."""
    return all(c.isprintable() or c in "\t\r\n" for c in data)


def mend_terminal_input() -> None:
    """Let Textual's driver read through PasteAwareParser (not on Windows, whose driver differs)."""
    if sys.platform == "win32":
        return
    from textual.drivers import linux_driver

    linux_driver.XTermParser = PasteAwareParser  # type: ignore[misc]
