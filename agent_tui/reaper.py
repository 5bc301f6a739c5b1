"""A small process that outlives this one to end what it leaves behind, however it dies.

A program killed with KILL can tidy nothing up, and not every child ends when its input closes.
So the first long-lived child starts one reaper: it is told of each process group, waits for the
end of the pipe from this program, which comes with any death, and then ends the groups: TERM, a
second, KILL. What has left its group is found by its mark (processes.py). The reaper has a
session of its own, so what ends the terminal's does not end it.
"""

import atexit
import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from agent_tui import processes

log = logging.getLogger(__name__)

GRACE_S = 1.0
_RUN = "import sys; sys.path.insert(0, sys.argv[1]); from agent_tui.reaper import main; main()"


class Reaper:
    """This program's side. Thread-safe. Without a reaper (it could not be started, or died)
    children are still ended by those who end this program in an orderly way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._watched: set[int] = set()

    def watch(self, group: int) -> None:
        """`group`, a process group led by a child of ours, must not outlive us."""
        with self._lock:
            self._watched.add(group)
            if self._process is None or self._process.poll() is not None:
                self._start()
            else:
                self._tell(f"+{group} {_start_of(group)}")

    def forget(self, group: int) -> None:
        """The group is gone; its number may soon be another's."""
        with self._lock:
            self._watched.discard(group)
            self._tell(f"-{group}")

    def stop(self) -> None:
        """End the reaper without its ending anything. For the end of a program that has tidied
        up itself."""
        with self._lock:
            self._watched.clear()
            self._tell("quit")
            if self._process:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()  # type: ignore[union-attr]
                self._process = None

    def _at_exit(self) -> None:
        # With something left to end, the reaper stays and sees us go.
        if not self._watched:
            self.stop()

    def _start(self) -> None:
        root = str(Path(__file__).resolve().parent.parent)
        try:
            # No signal of the terminal and no open file of ours may keep or end it.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _RUN, root],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
            )
        except OSError as error:
            log.warning("no reaper: children may outlive a killed program: %s", error)
            return
        atexit.unregister(self._at_exit)
        atexit.register(self._at_exit)
        for group in self._watched:
            self._tell(f"+{group} {_start_of(group)}")

    def _tell(self, line: str) -> None:
        if self._process and self._process.stdin:
            # It may have been killed; the next watch() starts another.
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()


def _start_of(pid: int) -> int:
    known = processes.process(pid)
    return known.start if known else 0


reaper = Reaper()
"""The one of this program."""


# --- the reaper's own side ---------------------------------------------------------------


def main() -> None:
    """Read `+GROUP START`, `-GROUP` and `quit` from stdin until it ends; then end the groups."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    groups: dict[int, int] = {}
    for line in sys.stdin:
        word = line.strip()
        if word == "quit":
            return
        if word.startswith("+"):
            group, _, start = word[1:].partition(" ")
            groups[int(group)] = int(start or 0)
        elif word.startswith("-"):
            groups.pop(int(word[1:]), None)
    _end(groups)


def _end(groups: dict[int, int]) -> None:
    alive = [group for group, start in groups.items() if _signal(group, start, signal.SIGTERM)]
    until = time.monotonic() + GRACE_S
    while alive and time.monotonic() < until:
        time.sleep(0.02)
        alive = [group for group in alive if _signal(group, groups[group], 0)]
    for group in alive:
        _signal(group, groups[group], signal.SIGKILL)
    processes.end_marked(of_the_dead=True)


def _signal(group: int, start: int, number: int) -> bool:
    """Whether the group was there. A leader that started at another time is a stranger's."""
    leader = processes.process(group)
    if leader is not None and start and leader.start != start:
        return False
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
