"""Logging to a file under home()/logs with secrets masked; never to the screen.

A line on stderr would tear the app's screen, and a key in a log file outlives the session,
so both are kept out at the root: by the only handler there is, and by its formatter, which
masks the finished text with arguments and traceback in it.
"""

import contextlib
import logging
import logging.handlers
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import Any, cast

from agent_tui import paths
from agent_tui.text import SafeText, mask_secrets, wire_text

_FILE = "agent-tui.log"
_MAX_BYTES = 5_000_000
_OLD_FILES = 3
# Their debug lines hold whole requests, or one line per streamed event.
_QUIET = ("anthropic", "httpx", "httpx2", "httpcore", "httpcore2", "mcp", "markdown_it", "asyncio")


class _Masking(logging.Formatter):
    """One record as text, every secret as `***`, nothing that a terminal acts on (a log is
    read with cat)."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self.secrets: set[str] = set()

    def format(self, record: logging.LogRecord) -> str:
        try:
            text = super().format(record)
        except Exception as error:
            # A wrong format string must not cost the line or reach stderr.
            text = f"{record.levelname} {record.name}: {record.msg!r} ({error})"
        finally:
            # The base class keeps the traceback's text on the record, unmasked.
            record.exc_text = None
        return SafeText(mask_secrets(text, self.secrets))


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """0600 from the first byte, also after it has rotated; a failing disk is not the user's
    problem now, so it is silent."""

    def _open(self) -> "TextIOWrapper[Any]":
        return cast("TextIOWrapper[Any]", paths.private_open(Path(self.baseFilename), "a"))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:
        pass


_handler: _PrivateFile | None = None
_formatter = _Masking()


def set_up_logging(path: str | Path | None = None, secrets: Iterable[str] = ()) -> Path:
    """Send all logging and warnings to `path` (default: logs/agent-tui.log) and nowhere else;
    gives the file. May be called again.

    secrets: values that are masked besides everything that looks like a key. Raises PathError.
    """
    global _handler
    file = Path(path) if path is not None else paths.logs_dir() / _FILE
    handler = _PrivateFile(
        file, maxBytes=_MAX_BYTES, backupCount=_OLD_FILES, encoding="utf-8", delay=False
    )
    add_secrets(secrets)
    handler.setFormatter(_formatter)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        if old is _handler:
            old.close()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.lastResort = None
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    _handler = handler
    return file


def add_secrets(secrets: Iterable[str]) -> None:
    """Mask these values too from now on."""
    _formatter.secrets |= {wire_text(secret) for secret in secrets if secret}


def log_path() -> Path | None:
    """The file that is written; None before set_up_logging."""
    return Path(_handler.baseFilename) if _handler else None
