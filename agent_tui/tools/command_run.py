"""The life of one command: started, read, timed and ended, in a thread of its own, so that a
flood of output or a process that will not die costs the event loop nothing.
"""

import atexit
import errno
import itertools
import logging
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from agent_tui import processes
from agent_tui.processes import Family
from agent_tui.text import duration
from agent_tui.tools.output import OutputBuffer, StreamCleaner
from agent_tui.tools.workspace import ToolError, shown

log = logging.getLogger(__name__)

_GRACE_S = 0.5  # for the pipe, once the shell has exited
_QUIET_S = 0.2
_GIVE_UP_S = 0.4  # after KILL
_TICK_S = 0.05
_LOOK_S = 1.0
_UPDATE_S = 0.1
_UPDATE_CHARS = 8000
_READ_BYTES = 65_536
_READS_IN_A_ROW = 4

Ending = Literal["exited", "timed out", "cancelled"]


@dataclass(slots=True)
class CommandOutcome:
    """How a command ended and what it said.

    text: output for the model, cut to size; styled: the same with its colours (SGR), if any.
    exit_code: as a shell counts it (128 + signal); None when it was ended or abandoned.
    notes: what else a reader must know, a clause each. background and survivors: processes
    that still run, and such as could not be ended, as "pid command line".
    """

    ending: Ending
    text: str
    exit_code: int | None
    duration_s: float
    styled: str | None = None
    output_path: str | None = None
    omitted: int = 0
    notes: list[str] = field(default_factory=list[str])
    background: list[str] = field(default_factory=list[str])
    survivors: list[str] = field(default_factory=list[str])


_families: set[Family] = set()
_families_lock = threading.Lock()
_numbers = itertools.count(1)


def kill_all() -> None:
    """End every process that a command of this program started; blocks for less than 2 s."""
    with _families_lock:
        families = list(_families)
        _families.clear()
    processes.end(families)
    processes.end_marked(of_the_dead=False)


def _remember(family: Family) -> None:
    with _families_lock:
        if not _families:
            atexit.unregister(kill_all)
            atexit.register(kill_all)
        # Commands that are over may have left something in the background that has ended since.
        for old in [f for f in _families if not f.leader and not f.look()]:
            _families.discard(old)
        _families.add(family)


def _forget(family: Family) -> None:
    if not family.look():
        with _families_lock:
            _families.discard(family)


class CommandRun:
    """One run of one command. `finished` is called (in the thread) once outcome() is ready."""

    def __init__(
        self,
        command: str,
        cwd: str,
        *,
        timeout_s: float,
        environ: dict[str, str],
        buffer: OutputBuffer,
        show: Callable[[str], None],
        finished: Callable[[], None],
    ) -> None:
        self._family: Family | None = None
        self._command = command
        self._cwd = cwd
        self._timeout_s = timeout_s
        self._environ = environ
        self._buffer = buffer
        self._finished = finished
        self._cleaner = StreamCleaner()
        self._live = LiveFeed(show)
        self._cancelled = threading.Event()
        self._started = time.monotonic()
        self._outcome: CommandOutcome | None = None
        self._error: Exception | None = None

    def start(self) -> None:
        """Begin, in a thread that does not keep the program from ending."""
        threading.Thread(target=self._run, name="shell", daemon=True).start()

    def cancel(self) -> None:
        """End the command and all it started; seen within 50 ms."""
        self._cancelled.set()

    def outcome(self) -> CommandOutcome:
        """How it ended; what is known when it could not be settled in time. Raises ToolError
        when the command could not be started."""
        if self._error:
            raise self._error
        return self._outcome or CommandOutcome(
            "cancelled", "", None, time.monotonic() - self._started,
            notes=["stopped; the command did not end in time and was abandoned"],
        )  # fmt: skip

    # --- in the thread ----------------------------------------------------------------

    def _run(self) -> None:
        try:
            if self._cancelled.is_set():
                self._outcome = CommandOutcome(
                    "cancelled", "", None, 0.0, notes=["stopped before it began"]
                )
                return
            reading, child = self._spawn()
            with _Pipe(reading) as pipe:
                ending = self._until_end(child, pipe)
                self._settle(ending, child, pipe)
                self._finished()
                if ending == "exited":
                    self._drain(pipe)
        except Exception as error:
            if not isinstance(error, ToolError):
                log.exception("a command's thread failed")
            self._error = error
        finally:
            self._buffer.close()
            if self._family:
                _forget(self._family)
            self._finished()

    def _spawn(self) -> "tuple[int, subprocess.Popen[bytes]]":
        mark = f"{processes.own_mark()}{next(_numbers)}"
        reading, writing = os.pipe()
        try:
            child = subprocess.Popen(
                [shutil.which("bash") or "/bin/sh", "-c", self._command],
                cwd=self._cwd,
                env=self._environ | {processes.MARK: mark, "PWD": self._cwd},
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
            )
        except OSError as error:
            os.close(reading)
            raise self._cannot_start(error) from error
        finally:
            os.close(writing)
        self._family = Family(child.pid, mark)
        _remember(self._family)
        return reading, child

    def _cannot_start(self, error: OSError) -> ToolError:
        if error.errno == errno.E2BIG:
            return ToolError(
                f"The command is too long ({len(self._command):,} characters). Write it to a file "
                "and run that."
            )
        return ToolError(
            f"The command could not be started in {shown(self._cwd)}: {error.strerror or error}."
        )

    def _until_end(self, child: "subprocess.Popen[bytes]", pipe: "_Pipe") -> Ending:
        """Read and watch until the command has ended, or was ended as far as it can be."""
        family = self._family
        assert family is not None
        ending: Ending = "exited"
        stopping_at = killed_at = exited_at = 0.0
        next_look = self._started + _LOOK_S / 4
        last_output = self._started
        while True:
            if self._read(pipe):
                last_output = time.monotonic()
            now = time.monotonic()
            self._live.tick(now, self._cleaner.pending)
            if not exited_at and child.poll() is not None:
                exited_at = now
                family.leader = False
            if not stopping_at:
                if self._cancelled.is_set():
                    ending = "cancelled"
                elif not exited_at and now - self._started > self._timeout_s:
                    ending = "timed out"
                if ending != "exited":
                    stopping_at = now
                    family.signal(signal.SIGTERM)
                elif exited_at:
                    quiet = now - max(last_output, exited_at)
                    if pipe.ended or quiet > _QUIET_S or now - exited_at > _GRACE_S:
                        return ending
                elif now > next_look:
                    family.look()
                    next_look = now + _LOOK_S
                continue
            settled = exited_at and (pipe.ended or now - stopping_at > _QUIET_S)
            if (settled and not family.look()) or (killed_at and now - killed_at > _GIVE_UP_S):
                return ending
            if not killed_at and now - stopping_at > processes.TERM_S:
                killed_at = now
                family.signal(signal.SIGKILL)
                family.signal(signal.SIGKILL)  # what was forked during the first

    def _read(self, pipe: "_Pipe") -> bool:
        """Take what is there, a bounded amount; waits a tick when there is nothing."""
        any_read = False
        for data in pipe.available():
            any_read = True
            text = self._cleaner.feed(data)
            self._buffer.feed(text)
            self._live.add(text)
        return any_read

    def _settle(self, ending: Ending, child: "subprocess.Popen[bytes]", pipe: "_Pipe") -> None:
        assert self._family is not None
        took = time.monotonic() - self._started
        rest = self._cleaner.flush()
        self._buffer.feed(rest)
        self._live.add(rest)
        self._live.tick(time.monotonic(), "", last=True)
        members = self._family.look()
        if ending == "exited":
            # What a person started; not also each of its own children.
            pids = {member.pid for member in members}
            members = [member for member in members if member.parent not in pids]
        alive = [shown(processes.describe(member.pid), 120) for member in members]
        log_path = None
        if ending == "exited" and alive and not pipe.ended:
            log_path = self._buffer.save()
        capped = self._buffer.result()
        code = child.returncode if ending == "exited" else None
        outcome = CommandOutcome(
            ending,
            capped.text,
            code if code is None or code >= 0 else 128 - code,
            took,
            styled=capped.styled,
            output_path=capped.path,
            omitted=capped.omitted,
        )
        match ending:
            case "exited" if code and code < 0:
                outcome.notes.append(f"ended by signal {-code} ({_signal_name(-code)})")
            case "exited" if code:
                outcome.notes.append(f"exit code {code}")
            case "timed out":
                outcome.notes.append(
                    f"timed out after {self._timeout_s:g} s and was ended; the output is what "
                    "came until then. For a longer run give timeout (in seconds, at most 3600), or "
                    "start it in the background with & and its output in a file"
                )
            case "cancelled":
                outcome.notes.append(
                    f"stopped after {duration(took)}; the output is what came until then"
                )
            case _:
                pass
        if ending == "exited":
            outcome.background = alive
            if alive:
                where = f". Further output goes to {log_path}" if log_path else ""
                outcome.notes.append(
                    f"still running in the background: {'; '.join(alive[:10])}{where}"
                )
            elif not pipe.ended:
                outcome.notes.append("something still holds the output open; it was not waited for")
        elif alive:
            outcome.survivors = alive
            outcome.notes.append(f"could not be ended and may still run: {'; '.join(alive[:10])}")
        self._outcome = outcome

    def _drain(self, pipe: "_Pipe") -> None:
        """What the shell has left in the background must not die of a closed pipe: read on,
        slowly, into the file."""
        while not pipe.ended:
            if pipe.wait():
                self._buffer.feed(self._cleaner.feed(pipe.take()))
                time.sleep(_TICK_S / 2)
        self._buffer.feed(self._cleaner.flush())


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return "unknown"


class _Pipe:
    """The reading end of a command's output."""

    def __init__(self, descriptor: int) -> None:
        self.ended = False
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def __enter__(self) -> "_Pipe":
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._descriptor)

    def wait(self, seconds: float | None = None) -> bool:
        """Whether there is something to take; None waits as long as it needs."""
        return bool(self._poll.poll(None if seconds is None else seconds * 1000))

    def take(self) -> bytes:
        """What is there, at most 64 kB; sets `ended` at the end."""
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return b""
        self.ended = not data
        return data

    def available(self) -> Iterator[bytes]:
        """A few pieces of what is there, after waiting a tick if there is nothing."""
        if self.ended:
            time.sleep(_TICK_S)
            return
        if not self.wait(_TICK_S):
            return
        for _ in range(_READS_IN_A_ROW):
            data = self.take()
            if not data:
                return
            yield data
        time.sleep(0.002)  # a flood must leave the interpreter's lock to the screen


class LiveFeed:
    """The output as it comes, in about ten pieces a second of bounded size.

    Whole lines are added once. The line without an end is shown as it is; when it has become
    another (a progress bar), the next piece begins with CR and an erase and gives it anew.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._new = ""
        self._skipped = 0
        self._shown = ""  # of the unfinished line
        self._next = 0.0

    def add(self, text: str) -> None:
        """Add finished text; of more than fits into one piece the last part stays."""
        text = self._new + text
        if len(text) > _UPDATE_CHARS:
            at = text.find("\n", len(text) - _UPDATE_CHARS) + 1 or len(text) - _UPDATE_CHARS
            self._skipped += text.count("\n", 0, at) or 1
            text = text[at:]
        self._new = text

    def tick(self, now: float, pending: str, *, last: bool = False) -> None:
        """Show what is new if a tenth of a second has passed (or it is the last time)."""
        if now < self._next and not last:
            return
        pending = pending.rstrip("\r")[-_UPDATE_CHARS:]
        piece = self._piece(self._new + pending)
        self._new, self._shown, self._skipped = "", pending, 0
        if piece:
            self._next = now + _UPDATE_S
            self._show(piece)

    def _piece(self, text: str) -> str:
        if self._skipped:
            start = "\n" if self._shown else ""
            return f"{start}[… {self._skipped:,} lines went by too fast to show …]\n{text}"
        if text.startswith(self._shown):
            return text[len(self._shown) :]
        return f"\r\x1b[K{text}"
