"""An unexpected error ends the app with one line that names the log; no traceback on screen.

Workaround for Textual 8.2: its App prints a Rich traceback with local variables (which may
hold secrets) from `_fatal_error`; there is no public hook. Remove when there is one.
"""

import contextlib
import logging
import os
from typing import Any

from rich.text import Text

log = logging.getLogger("agent_tui.tui")


def open_log() -> None:
    """For what goes wrong before the settings are loaded, with which the log is opened."""
    from agent_tui import logs

    if logs.log_path() is None:
        with contextlib.suppress(OSError):
            logs.set_up_logging()


def log_file() -> str:
    """The file this program logs to, "" when there is none."""
    for logger in (logging.getLogger("agent_tui"), logging.getLogger()):
        for handler in logger.handlers:
            name = getattr(handler, "baseFilename", os.devnull)
            if name != os.devnull:
                return str(name)
    return ""


def crash_line() -> str:
    """What is printed after the screen is gone."""
    where = log_file()
    seen = f" What happened is in {where}" if where else ""
    return f"agent-tui ended by an unexpected error. The conversation so far is kept.{seen}"


class CalmCrash:
    """Mixin for an App, before it in the bases."""

    def _fatal_error(self: Any) -> None:
        open_log()
        log.exception("the screen ended by an unexpected error")
        self.on_crash()
        self.panic(Text(crash_line()))

    def on_crash(self) -> None:
        """For the app: what to set going before it ends."""
