"""The terminal of the plain lines: what it can print, and its line discipline.

Nothing is ever written but text, newline, backspace over what was typed, and the bell.
"""

import contextlib
import os
import re
import threading
import unicodedata
from queue import SimpleQueue
from typing import Any

_SAID_PLAINLY = {
    "…": "...", "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "•": "-",
    "·": "-", "→": "->", "≈": "about ", "≥": "at least ", "≤": "at most ", "×": "x",
    "✓": "+", "✗": "x", "❯": ">", "‹": "<", "›": ">", "−": "-", "\u00a0": " ",
}  # fmt: skip


def encoded(text: str, encoding: str) -> bytes:
    """For the terminal: what its encoding lacks is told by its nearest plain form, else "?"."""
    if encoding == "utf-8":
        return text.encode("utf-8", "replace")
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_near(char, encoding) for char in text).encode(encoding, "replace")


def _near(char: str, encoding: str) -> str:
    if char.isascii():
        return char
    with contextlib.suppress(UnicodeEncodeError):
        char.encode(encoding)
        return char
    if char in _SAID_PLAINLY:
        return _SAID_PLAINLY[char]
    base = unicodedata.normalize("NFKD", char)
    letters = "".join(part for part in base if part.isascii())
    return letters or ("" if unicodedata.combining(char) else "?")


class Out:
    """Text to a descriptor in a thread of its own, in order: a terminal that stops reading
    (Ctrl+S) stops nothing else."""

    def __init__(self, fd: int, encoding: str) -> None:
        self._fd, self._encoding = fd, encoding
        self._pieces: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        self.closed = False
        """Nobody reads any more."""
        threading.Thread(target=self._run, name="write lines", daemon=True).start()

    def write(self, text: str) -> None:
        """Foreign text must be safe already (SafeText)."""
        self._pieces.put(encoded(text, self._encoding))

    def flush(self, patience_s: float = 1.0) -> bool:
        """Until all is written, at most so long. Blocking."""
        written = threading.Event()
        self._pieces.put(written)
        return written.wait(patience_s)

    def _run(self) -> None:
        while True:
            piece = self._pieces.get()
            if isinstance(piece, threading.Event):
                piece.set()
            elif not self.closed:
                view = memoryview(piece)
                try:
                    while view:
                        view = view[os.write(self._fd, view) :]
                except OSError:
                    self.closed = True


class Discipline:
    """Characters come one by one and are not echoed by the terminal; signals stay keys.

    enter() and leave() may be called any number of times, leave() from any thread.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._before: Any = None

    def enter(self) -> None:
        """Does nothing where the descriptor is no terminal."""
        with contextlib.suppress(Exception):
            import termios

            now = termios.tcgetattr(self._fd)
            if self._before is None:
                self._before = [*now[:6], list(now[6])]
            now[3] &= ~(termios.ICANON | termios.ECHO)
            now[3] |= termios.NOFLSH  # Ctrl+Z and Ctrl+C drop nothing that was typed before them
            now[6][termios.VMIN], now[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, termios.TCSADRAIN, now)

    def leave(self) -> None:
        """As it was found."""
        if self._before is not None:
            with contextlib.suppress(Exception):
                import termios

                termios.tcsetattr(self._fd, termios.TCSANOW, self._before)


def width(text: str) -> int:
    """Cells of what was typed, so that as many are taken back."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]?|O.?|.?)", re.S)


def without_sequences(text: str) -> tuple[list[str], str]:
    """What was typed, parted into characters and whole key sequences; and a rest that may be the
    beginning of one."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\x1b":
            parts.append(text[at])
            at += 1
            continue
        found = _SEQUENCE.match(text, at)
        assert found is not None
        if found.end() == len(text) and _may_go_on(found[0]):
            return parts, found[0]
        parts.append(found[0])
        at = found.end()
    return parts, ""


def _may_go_on(sequence: str) -> bool:
    return sequence in ("\x1b", "\x1bO") or (
        sequence.startswith("\x1b[") and (len(sequence) == 2 or not "@" <= sequence[-1] <= "~")
    )
