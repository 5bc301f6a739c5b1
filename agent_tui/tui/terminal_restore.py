"""Puts the terminal back on every way out, also those on which nothing else runs.

Textual 8.2.8 restores it after a normal exit, an exception and Ctrl+C, but not on SIGTERM,
SIGHUP or os._exit. What is written here does not depend on Textual's state, so a signal
handler or a watchdog thread may call it.
"""

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

log = logging.getLogger(__name__)

RESTORE = (
    "\x1b[?2026l"  # synchronised output off: show what comes
    "\x1b[?2004l"  # bracketed paste off
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse off
    "\x1b[?1004l"  # focus reports off
    "\x1b[?2048l"  # in-band resize reports off
    "\x1b[<u"  # kitty keyboard protocol: back to what was
    "\x1b[?7h"  # line wrap on
    "\x1b[0m"  # no colour left over
    "\x1b[?1049l"  # main screen
    "\x1b[?25h"  # cursor shown
)
"""Every mode the app switches on, switched off; the main screen comes back last but one."""

EXIT_BY_SIGNAL = {signal.SIGTERM: 143, signal.SIGINT: 130}
if hasattr(signal, "SIGHUP"):
    EXIT_BY_SIGNAL[signal.SIGHUP] = 129


class TerminalState:
    """The terminal as it was found. Make it before the app starts; restore() any time after."""

    def __init__(self, in_fd: int | None = None, out_fd: int | None = None) -> None:
        self._in_fd = _fileno(sys.__stdin__) if in_fd is None else in_fd
        self._out_fd = _fileno(sys.__stderr__) if out_fd is None else out_fd
        self.undo: Callable[[], str] = lambda: ""
        """What else was changed (the title): what takes it back."""
        self._attributes: Any = None
        with contextlib.suppress(Exception):  # no tty, or a system without termios
            import termios

            self._attributes = termios.tcgetattr(self._in_fd)

    def restore(self) -> None:
        """Write RESTORE and set the line discipline back; never raises, never waits long.

        A closed terminal (hang-up) is the usual case here, so its errors are expected.
        """
        with contextlib.suppress(OSError, ValueError):
            if os.isatty(self._out_fd):
                # A terminal that no longer reads must not keep the process from ending.
                os.set_blocking(self._out_fd, False)
                os.write(self._out_fd, (RESTORE + self.undo()).encode())
                os.set_blocking(self._out_fd, True)
        if self._attributes is not None:
            with contextlib.suppress(Exception):
                import termios

                termios.tcsetattr(self._in_fd, termios.TCSANOW, self._attributes)


def _fileno(file: Any) -> int:
    try:
        return file.fileno()
    except (AttributeError, OSError, ValueError):
        return -1


class ExitLadder:
    """Ends the process within a bound: first politely, then by force, the terminal restored.

    begin(code) starts a daemon thread that, after `patience_s` seconds, restores the terminal
    and calls `kill(code)`; done() calls it off. A second begin() forces at once.
    """

    def __init__(
        self,
        terminal: TerminalState,
        *,
        patience_s: float = 5.0,
        kill: Callable[[int], None] = os._exit,
    ) -> None:
        self._terminal = terminal
        self._patience_s = patience_s
        self._kill = kill
        self._over = threading.Event()
        self._begun = False

    @property
    def begun(self) -> bool:
        return self._begun

    def begin(self, code: int) -> None:
        if self._begun:
            self.force(code)
            return
        self._begun = True
        threading.Thread(
            target=self._watch, args=(code,), daemon=True, name="exit-watchdog"
        ).start()

    def done(self) -> None:
        self._over.set()

    def force(self, code: int) -> None:
        self._terminal.restore()
        self._kill(code)

    def _watch(self, code: int) -> None:
        if not self._over.wait(self._patience_s):
            log.error("leaving did not settle within %s s: exit forced", self._patience_s)
            self.force(code)


@contextlib.contextmanager
def signals_handled(on_signal: Callable[[int], None]) -> Iterator[None]:
    """SIGTERM, SIGHUP and SIGINT call on_signal(exit code) while inside; the old handlers come
    back. Ctrl+C is a key while the screen stands: a SIGINT is someone's kill."""
    before: dict[int, Any] = {}
    names = [getattr(signal, n) for n in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, n)]
    for number in names:
        with contextlib.suppress(ValueError):  # not the main thread
            before[number] = signal.signal(
                number, lambda received, _frame: on_signal(EXIT_BY_SIGNAL[signal.Signals(received)])
            )
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
