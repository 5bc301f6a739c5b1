"""Appends lines to a session file in one thread, in order; the caller never waits for a disk.

One write(2) per line. What cannot be written stays in memory, in order, and is tried
again with every new line, every `retry_after` seconds and at close().
"""

import errno
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from agent_tui.paths import private_folder
from agent_tui.sessions.errors import SessionClosedError, SessionLockedError
from agent_tui.sessions.lock import SessionLock

log = logging.getLogger(__name__)

Line = bytes | Callable[[], bytes]
"""A line with its newline, or what makes it: that runs in the thread, for it may be long."""

Ticket = Future[bool]
"""Done when its line is on its way: True when it was written (and, if asked, synced)."""

# fsync means nothing on such a file; the write is all there is.
_NO_SYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}


@dataclass(slots=True)
class _Job:
    line: Line | None
    sync: bool
    done: Ticket
    last: bool = False


class SessionWriter:
    """put() from any thread; the file is made (0600, its folders 0700) with the first line.

    Args: path; at_line_start: the file ends with a newline or does not exist; lock: held
    already (an existing file), else taken when the file is made. write, sync: for tests.
    """

    def __init__(
        self,
        path: Path,
        *,
        at_line_start: bool = True,
        lock: SessionLock | None = None,
        exists: bool = False,
        retry_after: float = 5.0,
        write: Callable[[int, bytes], int] = os.write,
        sync: Callable[[int], None] = os.fsync,
    ) -> None:
        self._path = path
        self._at_line_start = at_line_start
        self._lock = lock
        self._exists = exists
        self._retry_after = retry_after
        self._write = write
        self._sync = sync
        self._fd: int | None = None
        self._backlog: deque[bytes] = deque()
        self._failing: set[str] = set()
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._warnings: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def unsaved(self) -> int:
        """Lines that could not be written so far."""
        return len(self._backlog)

    def put(self, line: Line, *, sync: bool = False) -> Ticket:
        """Appends the line (newline included) after all before it; never blocks. Raises
        SessionClosedError."""
        return self._put(_Job(line, sync, Future()))

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until all lines so far are written and synced; False if one could not be.
        Raises TimeoutError."""
        if self._thread is None or self._closed:
            return not self._backlog
        return self._put(_Job(None, True, Future())).result(timeout)

    def warnings(self) -> list[str]:
        """Sentences for the user since the last call."""
        out: list[str] = []
        while not self._warnings.empty():
            out.append(self._warnings.get_nowait())
        return out

    def close(self, timeout: float = 3.0) -> bool:
        """Writes what is left, gives the lock back. False if something could not be written
        in time. Idempotent."""
        if not self._closed:
            self._closed = True
            if self._thread is None:
                self._release()
            else:
                self._jobs.put(_Job(None, True, _running_future(), last=True))
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                log.error("the disk did not answer in %s s: %s", timeout, self._path)
                return False
        return not self._backlog

    def _put(self, job: _Job) -> Ticket:
        if self._closed:
            raise SessionClosedError
        job.done.set_running_or_notify_cancel()  # a waiter that is cancelled cannot cancel it
        self._jobs.put(job)
        if self._thread is None:
            name = f"session-{self._path.stem[-16:]}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()
        return job.done

    # --- in the thread ------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                jobs = [self._jobs.get(timeout=self._retry_after if self._backlog else None)]
            except queue.Empty:
                jobs = []
            while not self._jobs.empty():
                jobs.append(self._jobs.get_nowait())
            made = [self._make(job.line) for job in jobs]
            try:
                ok = self._write_backlog()
                if ok and any(job.sync for job in jobs):
                    ok = self._sync_file()
            except Exception:  # whoever waits must hear of it, and the next line has its turn
                log.exception("writing %s failed", self._path)
                ok = False
            for job, is_made in zip(jobs, made, strict=True):
                job.done.set_result(ok and is_made)
            if any(job.last for job in jobs):
                self._release()
                return

    def _make(self, line: Line | None) -> bool:
        """Put the line in the backlog; False if it cannot be made (a mask that throws must
        not let a secret through)."""
        try:
            if line is not None:
                self._backlog.append(line if isinstance(line, bytes) else line())
        except Exception as error:
            log.exception("a line for %s could not be made", self._path)
            self._warnings.put(f"A part of the session could not be stored: {error}.")
            return False
        return True

    def _write_backlog(self) -> bool:
        if not self._backlog:
            return True
        try:
            fd = self._open()
            while self._backlog:
                self._write_line(fd, self._backlog[0])
                self._backlog.popleft()
        except OSError as error:
            self._warn(
                "write",
                f"The session file could not be written ({error.strerror or error}). The "
                "conversation goes on; what is missing is kept and written when that is "
                f"possible again. File: {self._path}",
            )
            return False
        if "write" in self._failing:
            self._failing.discard("write")
            self._warnings.put("The session file is written again; nothing is missing.")
        return True

    def _write_line(self, fd: int, line: bytes) -> None:
        data = line if self._at_line_start else b"\n" + line
        written = self._write(fd, data)
        try:
            while written < len(data):
                written += self._write(fd, data[written:])
        except OSError:
            self._take_back(fd, written)
            raise
        self._at_line_start = True

    def _take_back(self, fd: int, written: int) -> None:
        """Remove the part of a line that fitted; if that fails the next one starts anew."""
        try:
            os.ftruncate(fd, os.fstat(fd).st_size - written)
        except OSError as error:
            log.warning("a part of a line stays in %s: %s", self._path, error)
            self._at_line_start = False

    def _sync_file(self) -> bool:
        if self._fd is None:
            return True
        try:
            self._sync(self._fd)
        except OSError as error:
            if error.errno not in _NO_SYNC:
                self._warn(
                    "sync",
                    f"The disk did not confirm the session file ({error.strerror or error}); "
                    f"its last lines may be lost if the system stops. File: {self._path}",
                )
                return False
        self._failing.discard("sync")
        if os.fstat(self._fd).st_nlink == 0:
            self._warn(
                "deleted",
                "The session file was deleted while in use; this conversation is not stored "
                f"any more. File: {self._path}",
            )
            return False
        return True

    def _warn(self, what: str, text: str) -> None:
        if what not in self._failing:
            self._failing.add(what)
            log.warning(text)
            self._warnings.put(text)

    def _open(self) -> int:
        if self._fd is not None:
            return self._fd
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        if self._exists:
            self._fd = os.open(self._path, flags)
            return self._fd
        private_folder(self._path.parent)
        if self._lock is None:
            try:
                self._lock = SessionLock.acquire(self._path)
            except SessionLockedError as error:  # a new file with a random name
                log.warning("%s", error)
        self._fd = os.open(self._path, flags | os.O_CREAT | os.O_EXCL, 0o600)
        self._exists = True
        _sync_folder(self._path.parent)
        return self._fd

    def _release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _sync_folder(path: Path) -> None:
    """So that the file's name survives a power cut too."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as error:
        log.debug("folder not synced: %s", error)
        return
    try:
        os.fsync(fd)
    except OSError as error:
        log.debug("folder not synced: %s", error)
    finally:
        os.close(fd)


def _running_future() -> Ticket:
    future: Ticket = Future()
    future.set_running_or_notify_cancel()
    return future
