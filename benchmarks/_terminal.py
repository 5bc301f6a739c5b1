"""A program in a pty of 120 x 40, fed with keys; what it writes and what it costs."""

import base64
import fcntl
import json
import os
import pty
import re
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyte

COLUMNS, ROWS = 120, 40
AGENT_TUI = str(Path(sys.executable).with_name("agent-tui"))
"""The command as it is installed beside this Python."""

PROBE = Path(__file__).parent / "_probe"

ENTER, ESC, CTRL_F, CTRL_U, PAGE_UP = b"\r", b"\x1b", b"\x06", b"\x15", b"\x1b[5~"
CTRL_END = b"\x1b[1;5F"

_SEQUENCE = re.compile(rb"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[\[(][0-9;:?<=>!]*[ -/]*[@-~]|.)")
_UNREADABLE = re.compile(rb"\x1b\[[<>=][0-9;:]*[A-Za-z]")
_OSC52 = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)")


_TAIL = 100_000
"""Bytes looked at for what is waited for: more than a few whole screens."""


class BenchmarkError(Exception):
    """What was to be measured did not happen. str() says what, with the last screen."""


def environment(home: Path, *, probe: bool = False) -> dict[str, str]:
    """Nothing of the developer's: a home of its own, no key, no clipboard helper, byte code
    kept beside the sources as after any install."""
    found = {
        "PATH": os.defpath,
        "HOME": str(home / "user"),
        "AGENT_TUI_HOME": str(home / "agent-tui"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    }
    if probe:
        found |= {"PYTHONPATH": str(PROBE), "AGENT_TUI_BENCH_GAPS": str(home / "gaps.json")}
    return found


@dataclass
class Memory:
    """Megabytes: resident (rss), and with shared pages divided among their users (pss)."""

    rss: float
    pss: float


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far, threads that have ended included; in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def exact_cpu_of(pid: int) -> float:
    """The same to the microsecond, of the threads that are there."""
    total = sum(
        int((task / "schedstat").read_text().split()[0])
        for task in Path(f"/proc/{pid}/task").iterdir()
    )
    return total / 1e9


def memory_of(pid: int) -> Memory:
    sizes: dict[str, float] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, value = line.partition(":")
        sizes[name] = int(value.split()[0]) / 1024
    return Memory(sizes["Rss"], sizes["Pss"])


class Terminal:
    """Use as a context manager: the program is killed at its end."""

    def __init__(
        self, argv: Sequence[str], home: Path, *, probe: bool = False, cwd: Path | None = None
    ) -> None:
        self.home = home
        folder = cwd or home / "work"
        for path in (folder, home / "user", home / "agent-tui"):
            path.mkdir(parents=True, exist_ok=True)
        self.started = time.monotonic()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], list(argv), environment(home, probe=probe))
        self._size(COLUMNS, ROWS)
        self._raw = bytearray()
        self._news = threading.Condition()
        self._ended = False
        self._screen: pyte.Screen | None = None
        self._stream: pyte.ByteStream | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                data = b""
            with self._news:
                self._raw += data
                self._ended = not data
                if self._stream is not None:
                    self._stream.feed(_UNREADABLE.sub(b"", data))
                self._news.notify_all()
            if not data:
                return

    # --- keys and sizes ------------------------------------------------------------------

    def send(self, data: bytes | str) -> int:
        """Type these bytes; gives how much had come from the program until then."""
        raw = data.encode() if isinstance(data, str) else data
        with self._news:
            at = len(self._raw)
        while raw:
            raw = raw[os.write(self._fd, raw) :]
        return at

    def say(self, text: str) -> int:
        """Type a message and send it once it stands in the composer."""
        at = self.send(text)
        self.wait(text.encode(), at)
        return self.send(ENTER)

    def resize(self, columns: int, rows: int) -> int:
        """Gives how much had come until then; the screen (if looked at) is begun anew."""
        with self._news:
            at = len(self._raw)
            if self._screen is not None:
                self._look(columns, rows)
        self._size(columns, rows)
        os.kill(self.pid, signal.SIGWINCH)
        return at

    # --- what came -----------------------------------------------------------------------

    def wait(self, wanted: bytes, since: int = 0, seconds: float = 120.0) -> float:
        """Until this has come (sequences taken out) after `since` bytes; gives when."""

        def has_come() -> bool:
            tail = self._raw[max(since, len(self._raw) - _TAIL) :]
            return wanted in _SEQUENCE.sub(b"", bytes(tail))

        return self._until(has_come, wanted, seconds)

    def wait_raw(self, wanted: bytes, since: int = 0, seconds: float = 30.0) -> float:
        """The same, as it was written."""
        return self._until(lambda: self._raw.find(wanted, since) >= 0, wanted, seconds)

    def _until(self, test: Callable[[], Any], what: Any, seconds: float) -> float:
        end = time.monotonic() + seconds
        with self._news:
            while not test():
                left = end - time.monotonic()
                if left <= 0 or self._ended:
                    why = "the program ended" if self._ended else f"not within {seconds:g} s"
                    tail = _SEQUENCE.sub(b"", bytes(self._raw[-3000:])).decode("utf-8", "replace")
                    raise BenchmarkError(f"{what!r} did not come: {why}\n{tail}")
                self._news.wait(min(left, 0.5))
            return time.monotonic()

    def wait_status(self, word: str, since: int = 0, seconds: float = 60.0) -> float:
        """Until the status line has begun with this word."""
        return self.wait(f" {word} ".encode(), since, seconds)

    def clipboard(self, since: int) -> str | None:
        """The last text that was sent to the terminal's clipboard (OSC 52) since then."""
        with self._news:
            found = _OSC52.findall(self._raw, since)
        return base64.b64decode(found[-1]).decode() if found else None

    def copy(self, keys: bytes) -> str:
        """What these keys bring to the clipboard."""
        at = self.send(keys)
        self._until(lambda: _OSC52.search(self._raw, at), "a copy", 30)
        return self.clipboard(at) or ""

    # --- the screen ----------------------------------------------------------------------

    def look(self) -> None:
        """Keep a screen from now on; what stood there before is unknown until it is drawn."""
        with self._news:
            self._look(COLUMNS, ROWS)

    def _look(self, columns: int, rows: int) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    def lines(self) -> list[str]:
        with self._news:
            assert self._screen is not None
            return _rows(self._screen)

    def wait_screen(
        self, test: Callable[[list[str]], Any], what: str, seconds: float = 10
    ) -> float:
        """Until the test holds for the lines of the screen; gives when."""
        screen = self._screen
        assert screen is not None

        def holds() -> Any:
            assert self._screen is not None
            return test(_rows(self._screen))

        return self._until(holds, what, seconds)

    # --- what it costs -------------------------------------------------------------------

    def cpu(self) -> float:
        return cpu_of(self.pid)

    def exact_cpu(self) -> float:
        return exact_cpu_of(self.pid)

    def memory(self) -> Memory:
        return memory_of(self.pid)

    def settle(self, quiet: float = 0.25, seconds: float = 60.0) -> float:
        """Until the program has used next to no CPU for so long; gives its CPU seconds then."""
        end = time.monotonic() + seconds
        before = self.cpu()
        while time.monotonic() < end:
            time.sleep(quiet)
            now = self.cpu()
            if now - before < 0.011:
                return now
            before = now
        raise BenchmarkError("the program does not come to rest")

    def gaps(self) -> list[float]:
        """Milliseconds by which the event loop was late, every 5 ms, since asked last (probe)."""
        file = self.home / "gaps.json"
        file.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR1)
        end = time.monotonic() + 20
        while not file.exists():
            if time.monotonic() > end:
                raise BenchmarkError("the probe does not answer")
            time.sleep(0.02)
        return [1000 * gap for gap in json.loads(file.read_text())]

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _rows(screen: pyte.Screen) -> list[str]:
    """The lines of the screen. pyte's own `display` fails on half of a wide character."""
    cells = screen.buffer
    rows = ["".join(cells[y][x].data for x in range(screen.columns)) for y in range(screen.lines)]
    return [row.rstrip() for row in rows]
