"""Reads pastes that Textual 8.2 does not: with control characters, broken, without bracket marks.

- An escape sequence inside a bracketed paste reaches Textual's parser as keys: copied text could
  send itself or open an editor. What stands between the marks never goes through that parser.
- `ESC[200~` whose `ESC[201~` never comes swallows all further keys; after two silent seconds
  what came is handed on as a paste.
- Text pasted by a terminal without bracketed paste arrives as keys, each line end as Enter,
  which would send line by line. Several lines that arrive faster than anyone types are handed
  on as one paste; a single line with its Enter, as scripts send it, stays what it is, and so do
  two short lines with one Enter between them (TYPED_AT_ONCE).

- A byte that is no UTF-8 (a terminal of another encoding, a broken paste) ends the app.

Workaround for Textual 8.2 (drivers/linux_driver.py makes its XTermParser by that module's
name); tests/tui/test_terminal_input.py fails when the place moves. Remove when Textual can.
"""

import codecs
import os
import sys
import time
from collections.abc import Callable, Iterable

from textual import constants, events
from textual._xterm_parser import BRACKETED_PASTE_END as END
from textual._xterm_parser import BRACKETED_PASTE_START as START
from textual._xterm_parser import XTermParser
from textual.message import Message

from agent_tui.tui.terminal_answers import ANSWERS

BROKEN_AFTER_S = 2.0
"""Silence inside a bracketed paste after which its end is taken as lost."""
SAME_BURST_S = 0.005
"""Two reads closer than this come from a program or a paste; people need 30 ms and more."""
QUIET_S = 0.04
"""Silence that ends a burst."""
QUICK_ESCAPE_S = 0.05
"""So long an Esc waits for the rest of a sequence where vi's keys are wanted; Textual's own time is
as long as a quick hand needs for the next key."""
_ESCAPE_DELAY = constants.ESCAPE_DELAY
FLOOD = 512
"""Characters without a pause from which on they are a paste, though they are of one line: as keys
a line of 400,000 would take minutes."""


TYPED_AT_ONCE = 40
"""Characters that a slow connection or a busy app may hand on in one read though they were typed:
with one Enter among them they are keys. What is copied has more, or more lines; of two lines as
short as this one may be sent from a terminal without bracketed paste, and stands there to be seen.
"""


class PasteAwareParser(XTermParser):
    """feed() as XTermParser's; tick() is called by the driver every 0.1 s and after reads."""

    def __init__(self, debug: bool = False, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._last_read = float("-inf")
        self._tail = ""
        self._paste: list[str] | None = None
        self._burst: list[str] = []
        self._held_enter = False
        self._flood = 0
        """Characters of text that have come without a pause."""

    def feed(self, data: str) -> Iterable[Message]:
        now = self._clock()
        gap, self._last_read = now - self._last_read, now
        if data and self._paste is None:
            data = ANSWERS.take(data)
            if not data:
                return
        if not data:
            yield from self._end_burst()
            yield from super().feed(data)
            return
        # An Esc whose time is over is no part of what comes now.
        yield from super().tick()
        # A sequence that began in an earlier read goes on in this one: Textual waits for it.
        in_sequence = self._timeout_time is not None
        if self._paste is not None or in_sequence or "\x1b" in data:
            yield from self._end_burst()
            yield from self._feed_marked(data)
            return
        self._tail = ""
        yield from self._feed_plain(data, gap)

    def _feed_marked(self, data: str) -> Iterable[Message]:
        """Data in which a paste may begin or end; marks may be cut between reads."""
        while data:
            seen = self._tail + data
            ends_at = _end_of_paste(seen) if self._paste is not None else _past(seen, START)
            taken = len(data) if ends_at is None else ends_at - len(self._tail)
            piece, data = data[:taken], data[taken:]
            self._tail = seen[-(len(END) - 1) :] if ends_at is None else ""
            if self._paste is not None:
                self._paste.append(piece)
                if ends_at is not None:
                    yield from self._end_paste()
                continue
            yield from super().feed(piece)
            if ends_at is not None:
                self._paste = []

    def _end_paste(self) -> Iterable[Message]:
        text, self._paste = "".join(self._paste or ()).removesuffix(END), None
        # Textual saw the mark where the paste began; at the other it gives a paste of nothing.
        for message in super().feed(END):
            if isinstance(message, events.Paste):
                message = events.Paste(text.replace("\x00", ""))
            yield message

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
        is_text = _is_text(data)
        self._flood = (self._flood if gap < SAME_BURST_S else 0) + len(data) if is_text else 0
        if is_text and (("\r" in body and len(data) > 2) or self._flood > FLOOD):
            self._burst.append(data)
            return
        if data.endswith("\r") and (body or gap < SAME_BURST_S) and is_text:
            self._held_enter = True
            data = data[: len(data) - len(enter)]
        if data:
            yield from super().feed(data)

    def tick(self) -> Iterable[Message]:
        silent = self._clock() - self._last_read
        if silent >= QUIET_S:
            yield from self._end_burst()
            if held := ANSWERS.rest():
                yield from super().feed(held)
        if self._paste is not None and silent >= BROKEN_AFTER_S:
            self._tail = ""
            yield from self._end_paste()
        yield from super().tick()

    def _end_burst(self) -> Iterable[Message]:
        """The pause has come: hand on what was gathered."""
        if self._burst:
            text, self._burst = "".join(self._burst), []
            if text.endswith("\r") and "\r" not in text[:-1] and "\n" not in text:
                text, self._held_enter = text[:-1], True  # one long line with its Enter
            elif len(text) <= TYPED_AT_ONCE and text.count("\r") == 1 and "\n" not in text:
                yield from super().feed(text)
                return
            yield events.Paste(text.replace("\x00", ""))
        if self._held_enter:
            self._held_enter = False
            yield from super().feed("\r")


def _past(text: str, mark: str) -> int | None:
    """Where the first `mark` ends."""
    at = text.find(mark)
    return None if at < 0 else at + len(mark)


def _end_of_paste(text: str) -> int | None:
    """Where the paste that is open ends in `text`.

    The last end mark before the next paste counts: one that stands in what was copied must not
    let the rest of it act as keys.
    """
    next_start = text.find(START)
    at = text.rfind(END, 0, next_start) if next_start >= 0 else text.rfind(END)
    return at + len(END) if at >= 0 else _past(text, END)


def _is_text(data: str) -> bool:
    """Only what a paste holds: printable characters, tabs and line ends."""
    return all(c.isprintable() or c in "\t\r\n" for c in data)


def expect_quick_escape(wanted: bool) -> None:
    """Whether a key so soon behind Esc is one that was typed, as in vi; set ESCDELAY to choose the
    time (milliseconds) oneself."""
    if "ESCDELAY" not in os.environ:
        seconds = QUICK_ESCAPE_S if wanted else _ESCAPE_DELAY
        constants.ESCAPE_DELAY = seconds  # pyright: ignore[reportAttributeAccessIssue]


def mend_terminal_input() -> None:
    """Let Textual's driver read through PasteAwareParser (not on Windows, whose driver differs)."""
    if sys.platform == "win32":
        return
    from textual.drivers import linux_driver

    linux_driver.XTermParser = PasteAwareParser  # type: ignore[misc]
    linux_driver.getincrementaldecoder = _decoder  # type: ignore[attr-defined]


def _decoder(_: str) -> "Callable[[], codecs.IncrementalDecoder]":
    """In place of the driver's strict UTF-8, at which one stray byte ends the app: the encoding
    that the locale names, and a mark for what it lacks."""
    from agent_tui.terminal_locale import terminal_encoding

    named = terminal_encoding()
    # A locale that is plain C says nothing of what the keys send.
    factory = codecs.getincrementaldecoder("utf-8" if named == "ascii" else named)
    return lambda: factory("replace")
