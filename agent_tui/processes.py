"""Which processes a command has started, and how to end them all.

A command runs in a session and process group of its own, so most of what it starts dies with
the group. A child that leaves the group (setsid, daemons) is found in /proc: by its session,
by its chain of parents, by having been seen before, or by a mark in its environment, which
names the program and the call that started it. Where there is no /proc, only the group.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

MARK = "_AGENT_TUI_CALL"
"""Environment variable of every command: `<pid of the program>-<its start>-<number of call>`."""

_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self" / "stat").exists()
_MAX_ENVIRONMENT = 1024 * 1024
TERM_S = 0.5


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc: ids, and the start in clock ticks, which tells a reused pid apart."""

    pid: int
    parent: int
    group: int
    session: int
    start: int
    state: str

    @property
    def alive(self) -> bool:
        """Whether it can still do anything: not a zombie, not gone."""
        return self.state not in ("Z", "X", "x")


def process(pid: int) -> Process | None:
    """What /proc says about `pid`; None when it is gone (or there is no /proc)."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The name, in parentheses, may itself hold spaces and parentheses.
    fields = text[text.rindex(")") + 2 :].split()
    parent, group, session, start = (int(fields[n]) for n in (1, 2, 3, 19))
    return Process(pid, parent, group, session, start, fields[0])


def processes() -> list[Process]:
    """Every process, oldest first; [] where there is no /proc."""
    try:
        pids = [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []
    found = [known for pid in pids if (known := process(pid))]
    return sorted(found, key=lambda known: (known.start, known.pid))


def own_mark() -> str:
    """The first part of the mark of every command of this program, with its last dash."""
    me = process(os.getpid())
    return f"{os.getpid()}-{me.start if me else 0}-"


def mark_of(pid: int) -> str | None:
    """The mark in a process's environment, if it has one and we may look."""
    try:
        with (_PROC / str(pid) / "environ").open("rb") as file:
            environment = file.read(_MAX_ENVIRONMENT)
    except OSError:
        return None
    start = f"{MARK}=".encode()
    for entry in environment.split(b"\0"):
        if entry.startswith(start):
            return entry[len(start) :].decode("ascii", "replace")
    return None


def describe(pid: int, limit: int = 100) -> str:
    """`1234 python3 -m http.server`; only the number when there is no more to know."""
    with suppress(OSError):
        line = (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").strip()
        return f"{pid} {line.decode('utf-8', 'replace')[:limit]}".strip()
    return str(pid)


class Family:
    """The processes of one command: its shell `root` and all that came from it.

    `leader` is true until the shell is reaped: so long its pid cannot be another's.
    """

    def __init__(self, root: int, mark: str) -> None:
        self.root = root
        self.mark = mark
        self.leader = True
        first = process(root)
        self._since = first.start if first else 0
        self._known: dict[int, int] = {root: self._since}
        self._strangers: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    def look(self) -> list[Process]:
        """Its living members now; remembers them for later."""
        with self._lock:
            everyone = [p for p in processes() if p.start >= self._since]
            members: dict[int, Process] = {}
            # A pid is free again only when no group and no session has its number.
            taken_over = any(p.pid == self.root and p.start != self._since for p in everyone)
            # A parent is older than its child but for equal ticks: hence the second round.
            for _ in range(2):
                for candidate in everyone:
                    if candidate.pid in members:
                        continue
                    in_group = self.root in (candidate.session, candidate.group)
                    if (in_group and not taken_over) or self._belongs(candidate, members):
                        members[candidate.pid] = candidate
            self._known = {pid: member.start for pid, member in members.items()}
            return [member for member in members.values() if member.alive]

    def _belongs(self, candidate: Process, members: dict[int, Process]) -> bool:
        pid, me = candidate.pid, (candidate.pid, candidate.start)
        if self._known.get(pid) == candidate.start or candidate.parent in members:
            return True
        if candidate.session in members or candidate.group in members:
            return True
        if me in self._strangers:
            return False
        if candidate.alive and mark_of(pid) == self.mark:
            return True
        self._strangers.add(me)
        return False

    def signal(self, number: signal.Signals) -> list[Process]:
        """Send a signal to the group and to every member; the members that were alive."""
        members = self.look()
        if self.leader or not _HAS_PROC or any(m.group == self.root for m in members):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.root, number)
        for member in members:
            if member.group != self.root:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(member.pid, number)
        return members


def end(families: Iterable[Family]) -> list[Process]:
    """End families: TERM, half a second, KILL. Blocks for less than 1.5 s; the survivors."""
    families = list(families)
    members = [m for family in families for m in family.signal(signal.SIGTERM)]
    _wait(members, TERM_S)
    survivors: list[Process] = []
    for family in families:
        # A second round catches what was forked while the first was looking.
        if family.signal(signal.SIGKILL):
            family.signal(signal.SIGKILL)
            survivors += family.look()
    return _wait(survivors, 0.3)


def _wait(members: list[Process], seconds: float) -> list[Process]:
    until = time.monotonic() + seconds
    while True:
        members = [m for m in members if is_alive(m)]
        if not members or time.monotonic() > until:
            return members
        time.sleep(0.02)


def is_alive(member: Process) -> bool:
    """Whether this very process (not another with its pid) still runs."""
    now = process(member.pid)
    return now is not None and now.start == member.start and now.alive


def end_marked(*, of_the_dead: bool) -> list[int]:
    """KILL what carries our mark: of this program (at exit), or with `of_the_dead` of programs
    that are gone, killed before they could tidy up. The pids that were signalled."""
    own = own_mark()
    # Of what we run inside ourselves (a terminal that such a command has opened) nothing ends.
    around_us = os.environ.get(MARK)
    ended: list[int] = []
    for candidate in processes():
        mark = mark_of(candidate.pid) if candidate.alive else None
        if mark is None or mark == around_us:
            continue
        if not (_owner_is_gone(mark) if of_the_dead else mark.startswith(own)):
            continue
        if is_alive(candidate):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(candidate.pid, signal.SIGKILL)
                ended.append(candidate.pid)
    return ended


def _owner_is_gone(mark: str) -> bool:
    try:
        pid, start = (int(part) for part in mark.split("-")[:2])
    except ValueError:
        return False
    owner = process(pid)
    return owner is None or owner.start != start or not owner.alive
