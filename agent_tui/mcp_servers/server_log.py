"""The log of one server: its stderr, its logging notifications, what is not MCP on its stdout,
and what we did with it. A private file of bounded size, secrets masked, and the last lines in
memory. However much a server writes, it costs the event loop a bounded share of its time.
"""

import contextlib
import hashlib
import logging
import re
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import IO

from agent_tui import paths
from agent_tui.mcp_servers.masking import Secrets
from agent_tui.text import SafeText, cut

log = logging.getLogger(__name__)

MAX_FILE = 1_000_000
MAX_LINE = 4_000
TAIL_LINES = 200
BURST = 256_000
"""Bytes that are taken at once; refilled at PER_SECOND, what is above is left out."""
PER_SECOND = 64_000
# A log is read for its words: sequences go, and of a progress bar its last frame stays.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -~]?")
_OVERWRITTEN = re.compile(r"^[^\n]*\r(?!\n)", re.MULTILINE)


def log_file(server: str) -> Path:
    """The file of a server's log. Raises PathError when logs/ cannot be made."""
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", server).strip("-.")[:60]
    if readable != server:
        digest = hashlib.sha256(server.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        readable = f"{readable}-{digest}".lstrip("-")
    return paths.logs_dir() / f"mcp-{readable}.log"


class ServerLog:
    """See module docstring. Not thread-safe: of the event loop's thread."""

    def __init__(self, server: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.server = server
        self.secrets = Secrets()
        self._clock = clock
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._stderr_tail: deque[str] = deque(maxlen=10)
        self._partial: dict[str, bytes] = {}
        self._allowance: float = BURST
        self._refilled = clock()
        self._left_out = 0
        self._file: IO[bytes] | None = None
        self._size = 0
        self._broken = False

    @property
    def path(self) -> str:
        """Where the file is (or would be)."""
        with contextlib.suppress(OSError):
            return str(log_file(self.server))
        return ""

    def tail(self, lines: int) -> list[str]:
        """The last lines, oldest first, safe to show."""
        return list(self._tail)[-lines:] if lines > 0 else []

    def stderr_tail(self, lines: int = 3) -> list[str]:
        """The last lines the process wrote to stderr (or in place of messages to stdout)."""
        return list(self._stderr_tail)[-lines:]

    def forget_stderr(self) -> None:
        """A new process begins; what the last one said is not its."""
        self._stderr_tail.clear()

    def line(self, kind: str, text: str) -> None:
        """One message: kind is "agent-tui", "stderr", "stdout" or a level of logging."""
        self._add(kind, text.splitlines() or [""])

    def feed(self, kind: str, data: bytes) -> None:
        """Output as it comes, in any pieces."""
        now = self._clock()
        self._allowance = min(BURST, self._allowance + (now - self._refilled) * PER_SECOND)
        self._refilled = now
        if len(data) > self._allowance:
            self._left_out += len(data)
            self._partial.pop(kind, None)
            return
        self._allowance -= len(data)
        self._say_left_out()
        *lines, rest = (self._partial.pop(kind, b"") + data).split(b"\n")
        if len(rest) > MAX_LINE:
            lines.append(rest)
            rest = b""
        if rest:
            self._partial[kind] = rest
        if lines:
            text = b"\n".join(line[: MAX_LINE * 2] for line in lines).decode("utf-8", "replace")
            self._add(kind, text.split("\n"))

    def flush(self) -> None:
        """The lines that have no end (the process has ended)."""
        for kind, rest in list(self._partial.items()):
            self._add(kind, [rest.decode("utf-8", "replace")])
        self._partial.clear()
        self._say_left_out()

    def close(self) -> None:
        """Flush and close the file; a later line opens it again."""
        self.flush()
        if self._file:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _say_left_out(self) -> None:
        if self._left_out:
            left_out, self._left_out = self._left_out, 0
            said = f"{left_out:,} bytes of output came too fast and are left out"
            self._add("agent-tui", [said])

    def _add(self, kind: str, lines: list[str]) -> None:
        """Cleaned and written all at once: line by line would cost ten times as much."""
        text = "\n".join(cut(line, MAX_LINE) for line in lines)
        if "\x1b" in text:
            text = _ESCAPES.sub("", text)
        if "\r" in text:
            text = _OVERWRITTEN.sub("", text.replace("\r\n", "\n").rstrip("\r"))
        shown = SafeText(self.secrets.mask(text)).split("\n")
        if kind in ("stderr", "stdout"):
            self._stderr_tail.extend(line for line in shown[-50:] if line.strip())
        self._tail.extend(f"{kind}: {line}" for line in shown[-TAIL_LINES:])
        before = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {kind}: "
        self._write("".join(f"{before}{line}\n" for line in shown).encode())

    def _write(self, data: bytes) -> None:
        if self._broken:
            return
        try:
            if self._file is None:
                path = log_file(self.server)
                self._file = paths.private_open(path, "ab")
                self._size = self._file.tell()
            if self._size + len(data) > MAX_FILE:
                self._file.close()
                path = log_file(self.server)
                path.replace(path.with_suffix(".log.old"))
                self._file = paths.private_open(path, "ab")
                self._size = 0
            self._file.write(data)
            self._file.flush()
            self._size += len(data)
        except OSError as error:
            # The lines are still in memory; a full disk must not cost the server.
            log.warning("the log of an MCP server cannot be written: %s", error)
            self._broken = True
