"""A terminal with the installed command in it: keys go in as bytes, the screen comes out.

A thread reads the pty all the time, as a terminal does, and keeps what came with its time;
wait_for() looks at the screen whenever something new has come.
"""

import contextlib
import copy
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pexpect
import pyte

AGENT_TUI = str(Path(sys.executable).with_name("agent-tui"))
"""The command as it is installed beside the Python that runs the tests."""

SLOW = 4.0 if os.environ.get("CI") else 2.0
"""How much slower than a person's machine a test's machine may be."""

GRACE_S = 0.7
"""A question above the composer takes no key for so long after the last one."""

ESC, ENTER, TAB, CTRL_C, CTRL_D, CTRL_J = b"\x1b", b"\r", b"\t", b"\x03", b"\x04", b"\n"
CTRL_B, CTRL_O, CTRL_T, CTRL_Z = b"\x02", b"\x0f", b"\x14", b"\x1a"
F1, F2, F3, F4, F5, F6 = b"\x1bOP", b"\x1bOQ", b"\x1bOR", b"\x1bOS", b"\x1b[15~", b"\x1b[17~"
UP, DOWN, ALT_UP = b"\x1b[A", b"\x1b[B", b"\x1b[1;3A"
PAGE_UP, CTRL_END = b"\x1b[5~", b"\x1b[1;5F"

LEFT_ON = {
    "alternate screen": (b"\x1b[?1049h", b"\x1b[?1049l"),
    "mouse": (b"\x1b[?1000h", b"\x1b[?1000l"),
    "mouse, SGR form": (b"\x1b[?1006h", b"\x1b[?1006l"),
    "bracketed paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
    "hidden cursor": (b"\x1b[?25l", b"\x1b[?25h"),
}
"""What the screen switches on, and what switches it off again."""


def environment(home: Path, **more: str) -> dict[str, str]:
    """A bare environment: nothing of the developer's, no key, its own home."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home / "user"),
        "AGENT_TUI_HOME": str(home / "agent-tui"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    } | more


class Screen(pyte.Screen):
    """pyte's, with the alternate screen that it lacks."""

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and 1049 in modes:
            self._main = (copy.deepcopy(self.buffer), copy.copy(self.cursor))
            self.erase_in_display(2)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and 1049 in modes and getattr(self, "_main", None):
            buffer, cursor = self._main
            self.buffer.clear()
            self.buffer.update(buffer)
            self.cursor = cursor
            self._main = None
        super().reset_mode(*modes, **kwargs)

    _main: Any = None


_UNREADABLE = re.compile(rb"\x1b\[[<>=][0-9;:]*[A-Za-z]|\x1b_[^\x1b]*\x1b\\")
"""Sequences that pyte would take for others or draw (the kitty keyboard protocol and its graphics,
xterm's)."""
_UNFINISHED = re.compile(rb"\x1b(\[[<>=?]?[0-9;:]*|_[^\x1b]*\x1b?)?$")
_ASKS_FOR_WHOLE_FRAMES = b"\x1b[?2026$p"
_WHOLE_FRAMES = b"\x1b[?2026;2$y"
_FRAME, _END_OF_FRAME = b"\x1b[?2026h", b"\x1b[?2026l"


class Terminal:
    """A program in a pty of cols x rows. Close it, or use it as a context manager.

    home: a folder that gets the program's HOME and AGENT_TUI_HOME; cwd: where it starts.
    env: variables beside those of environment(). argv: the arguments of agent-tui; program:
    another program instead (a shell).
    """

    def __init__(
        self,
        *argv: str,
        home: Path,
        cols: int = 120,
        rows: int = 36,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        program: str = AGENT_TUI,
    ) -> None:
        self.home, self.state = home, home / "agent-tui"
        self.cwd = cwd or home / "work"
        for folder in (self.cwd, home / "user", self.state):
            folder.mkdir(parents=True, exist_ok=True)
        self._screen = Screen(cols, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._held = b""
        self._raw = bytearray()
        self._chunks: list[tuple[float, int]] = []
        self._news = threading.Condition()
        self._ended = False
        self._code: int | None = None
        self._child = pexpect.spawn(
            program,
            list(argv),
            env=environment(home, **(env or {})),  # pyright: ignore[reportArgumentType]
            cwd=str(self.cwd),
            dimensions=(rows, cols),
            encoding=None,
            timeout=None,
        )
        self._fd: int = self._child.child_fd
        self._reader = threading.Thread(target=self._read, daemon=True, name="terminal")
        self._reader.start()

    # --- in ------------------------------------------------------------------------------

    def send(self, data: bytes | str) -> float:
        """Type these bytes, all at once. Gives the time at which they were sent."""
        raw = data.encode() if isinstance(data, str) else data
        at = time.monotonic()
        while raw:
            raw = raw[os.write(self._fd, raw) :]
        return at

    def paste(self, text: str) -> None:
        """As a terminal pastes: bracketed, lines ended by a carriage return."""
        self.send(b"\x1b[200~" + text.replace("\n", "\r").encode() + b"\x1b[201~")

    def say(self, text: str) -> None:
        """Type a message; when it stands in the composer, send it."""
        self.write(text)
        self.enter()

    def enter(self) -> None:
        """Enter, and wait until the composer has let go of its text: what follows at once could
        not be told from the lines of a paste."""
        self.send(ENTER)
        with self._news:
            if not self._news.wait_for(lambda: self._ended or not self._draft().strip(), 10 * SLOW):
                raise AssertionError(f"it keeps {self._draft()!r}\n{_framed(self._shown())}")

    def say_wrong(self, text: str, answer: "str | Callable[[str], Any]") -> None:
        """Type a line that is refused by this answer, and comes back into the composer."""
        self.write(text)
        self.send(ENTER)
        self.wait_for(answer)
        self.wait_for(lambda _: text.rstrip() in self._draft())

    def answer(self, question: str, key: str) -> None:
        """Answer a question that stands above the composer, once its grace time is over."""
        self.wait_for(question)
        time.sleep(GRACE_S + 0.3)
        self.send(key)
        self.wait_gone(question)

    def choose(self, question: str, label: str) -> None:
        """Answer a question by the number of the option whose label holds this."""
        shown = self.wait_for(all_words([question, label]), timeout=20)
        line = next(line for line in shown.split("\n") if re.search(rf"\d  .*{label}", line))
        self.answer(question, line.replace("❯", " ").split()[0])

    def write(self, text: str) -> None:
        """Type into the composer and wait until it stands there."""
        self.send(text)
        end = text.rsplit("\n", 1)[-1][-15:].rstrip()
        self.wait_for(lambda _: end in self._draft())

    def draft(self) -> str:
        """What stands in the composer, its lines joined."""
        with self._news:
            return self._draft()

    def _draft(self) -> str:
        lines = _left(self._screen.display)
        starts = [at for at, line in enumerate(lines) if line.startswith((" ❯", " >"))]
        if not starts:
            return ""
        rest = [line for line in lines[starts[-1] : -1] if not line.startswith(("─", "-"))]
        return "\n".join([rest[0][3:], *(line[3:] for line in rest[1:])])

    def resize(self, cols: int, rows: int) -> None:
        with self._news:
            self._screen.resize(rows, cols)
        self._child.setwinsize(rows, cols)

    def signal(self, number: int) -> None:
        self._child.kill(number)

    @property
    def pid(self) -> int:
        return self._child.pid

    # --- out -----------------------------------------------------------------------------

    @property
    def raw(self) -> bytes:
        """Every byte that has come so far."""
        with self._news:
            return bytes(self._raw)

    def screen(self) -> str:
        """The lines on the screen, without the spaces at their ends."""
        with self._news:
            return self._shown()

    def lines(self) -> list[str]:
        return self.screen().split("\n")

    def backgrounds(self) -> Counter[str]:
        """How many cells have which background: rrggbb, or a name."""
        with self._news:
            rows, cols = range(self._screen.lines), range(self._screen.columns)
            return Counter(self._screen.buffer[y][x].bg for y in rows for x in cols)

    def panel(self) -> str:
        """The side panel's lines."""
        lines = self.lines()
        return "\n".join(line[lines[0].find("│") + 1 :] for line in lines)

    def status(self) -> str:
        """The first word of the last line: ready, streaming, tools, stopping, waiting."""
        words = self.lines()[-1].split()
        return words[0] if words else ""

    def _shown(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for(
        self, wanted: "str | re.Pattern[str] | Callable[[str], Any]", timeout: float = 10.0
    ) -> str:
        """Until the screen holds the text (as it stands, or wrapped in the left column),
        matches the pattern, or satisfies the predicate; gives the screen.

        timeout: seconds; times SLOW, since what waits here never waits for the clock.
        Raises AssertionError with the screen when it does not come, or the program has ended.
        """
        test = _test(wanted)
        end = time.monotonic() + timeout * SLOW
        with self._news:
            while True:
                shown = self._shown()
                if test(shown):
                    return shown
                left = end - time.monotonic()
                if left <= 0 or self._ended:
                    why = "the program ended" if self._ended else f"not within {timeout * SLOW} s"
                    raise AssertionError(f"{_name(wanted)} did not come: {why}\n{_framed(shown)}")
                self._news.wait(left)

    def wait_gone(self, wanted: "str | re.Pattern[str]", timeout: float = 10.0) -> str:
        """Until the screen no longer holds it."""
        test = _test(wanted)
        return self.wait_for(lambda shown: not test(shown), timeout)

    def wait_status(self, *words: str, timeout: float = 10.0) -> str:
        """Until the status line begins with one of the words."""
        return self.wait_for(
            lambda shown: (shown.rsplit("\n", 1)[-1].split() or [""])[0] in words, timeout
        )

    def wait_raw(self, *wanted: bytes, since: float = 0.0, timeout: float = 10.0) -> float:
        """Until one of these has come after the time `since`; gives when its chunk came."""
        end = time.monotonic() + timeout * SLOW
        with self._news:
            while True:
                start = 0
                for at, size in self._chunks:
                    if at < since:
                        start = size
                ends = [self._raw.find(w, start) + len(w) for w in wanted if w in self._raw[start:]]
                if ends:
                    return next(at for at, size in self._chunks if size >= min(ends))
                left = end - time.monotonic()
                if left <= 0 or self._ended:
                    raise AssertionError(f"{wanted} did not come\n{_framed(self._shown())}")
                self._news.wait(left)

    def wait_ready(self, timeout: float = 20.0) -> str:
        """Until the app is there and idle."""
        return self.wait_status("ready", timeout=timeout)

    # --- the end ---------------------------------------------------------------------------

    def exit_code(self, timeout: float = 15.0) -> int:
        """Waits for the end. 128 + the number for a program that a signal ended."""
        end = time.monotonic() + timeout * SLOW
        while self._code is None:
            if not self._child.isalive():
                status, number = self._child.exitstatus, self._child.signalstatus
                self._code = 128 + (number or 0) if status is None else status
                break
            if time.monotonic() > end:
                raise AssertionError(f"it does not end\n{_framed(self.screen())}")
            time.sleep(0.02)
        self._reader.join(5)
        return self._code

    def assert_restored(self) -> None:
        """Each mode that was switched on was switched off last, and the cursor is back."""
        raw = self.raw
        for name, (on, off) in LEFT_ON.items():
            assert raw.rfind(on) >= 0, f"{name} was never on: the test sees nothing"
            assert raw.rfind(off) > raw.rfind(on), f"{name} was left on:\n{raw[-400:]!r}"

    def after_screen(self) -> str:
        """What was written to the main screen after the app had left, as text."""
        tail = self.raw.rpartition(b"\x1b[?1049l")[2]
        return re.sub(rb"\x1b\[[?<>=]?[0-9;]*[A-Za-z]", b"", tail).decode("utf-8", "replace")

    def close(self) -> None:
        """Kills the program and all that it started in its session, if still there."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        if not self._child.closed:
            with contextlib.suppress(pexpect.ExceptionPexpect, OSError):
                self._child.close(force=True)

    def hang_up(self) -> None:
        """The terminal goes away, as when an ssh link breaks."""
        os.close(self._fd)
        self._child.closed = True
        self._child.child_fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the reader --------------------------------------------------------------------------

    def _read(self) -> None:
        fd = self._fd
        while True:
            try:
                data = os.read(fd, 65536)
            except OSError:
                data = b""
            with self._news:
                if not data:
                    self._stream.feed(_UNREADABLE.sub(b"", self._held))
                    self._ended = True
                    self._news.notify_all()
                    return
                self._raw += data
                self._chunks.append((time.monotonic(), len(self._raw)))
                self._feed(data)
                self._news.notify_all()
            if _ASKS_FOR_WHOLE_FRAMES in data:
                with contextlib.suppress(OSError):
                    os.write(fd, _WHOLE_FRAMES)

    def _feed(self, data: bytes) -> None:
        """A frame that the program brackets (synchronised output) is seen whole, or not yet, as
        in the terminals of today: half of one is nothing to assert on."""
        data = self._held + data
        unfinished = _UNFINISHED.search(data)
        cut = unfinished.start() if unfinished else len(data)
        if (begun := data.rfind(_FRAME)) > data.rfind(_END_OF_FRAME):
            cut = min(cut, begun)
        data, self._held = data[:cut], data[cut:]
        self._stream.feed(_UNREADABLE.sub(b"", data))


def _test(wanted: "str | re.Pattern[str] | Callable[[str], Any]") -> Callable[[str], Any]:
    if isinstance(wanted, str):
        return lambda shown: wanted in shown or wanted in flow(shown)
    if isinstance(wanted, re.Pattern):
        return wanted.search
    return wanted


def _name(wanted: Any) -> str:
    if isinstance(wanted, re.Pattern):
        return f"/{wanted.pattern}/"
    return repr(wanted) if isinstance(wanted, str) else "what was waited for"


def _framed(shown: str) -> str:
    return "\n".join(f"  |{line}" for line in shown.split("\n"))


# --- without a screen ---------------------------------------------------------------------


def run_command(
    *argv: str,
    home: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes = b"",
    timeout: float = 60.0,
    program: Sequence[str] = (AGENT_TUI,),
) -> subprocess.CompletedProcess[bytes]:
    """The installed command (or another program) without a terminal, to its end."""
    with start_command(*argv, home=home, env=env, cwd=cwd, program=program) as process:
        try:
            out, err = process.communicate(stdin, timeout * SLOW)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{argv} did not end: {out!r} {err!r}") from None
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def start_command(
    *argv: str,
    home: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    program: Sequence[str] = (AGENT_TUI,),
) -> "subprocess.Popen[bytes]":
    """The installed command without a terminal, its three streams piped."""
    cwd = cwd or home / "work"
    for folder in (cwd, home / "user", home / "agent-tui"):
        folder.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [*program, *argv],
        env=environment(home, **(env or {})),
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def group_lives(group: int) -> bool:
    """Whether a process of the group is there (a zombie is not)."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = entry.read_text().rpartition(") ")[2].split()[:3]
        except OSError:
            continue
        if int(of_group) == group and state != "Z":
            return True
    return False


def wait_until(condition: Callable[[], Any], seconds: float = 10.0, what: str = "") -> Any:
    """The first true value of the condition; fails after a bound. For what has no event."""
    end = time.monotonic() + seconds * SLOW
    while not (value := condition()):
        assert time.monotonic() < end, f"{what or 'it'} is still not so after {seconds * SLOW} s"
        time.sleep(0.02)
    return value


def all_words(parts: Sequence[str]) -> Callable[[str], bool]:
    """A predicate: the screen holds each of these."""
    return lambda shown: all(part in shown or part in flow(shown) for part in parts)


def flow(shown: str) -> str:
    """The words of the left column in one line: without the panel, scroll bar and wraps."""
    lines = _left(shown.split("\n"))
    return " ".join(" ".join(line.rstrip(" ▁▂▃▄▅▆▇█") for line in lines).split())


def _left(lines: Sequence[str]) -> list[str]:
    """Each line up to the panel or the drawer, where it reaches so far down."""
    at = lines[0].find("│")
    cut = [at >= 0 and line[at : at + 1] in ("│", "┤") for line in lines]
    return [(line[:at] if c else line).rstrip() for c, line in zip(cut, lines, strict=True)]
