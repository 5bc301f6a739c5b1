"""One writer per session: an advisory lock on a file beside it, which names its holder.

The system drops the lock with its process, so a stale one cannot exist.
"""

import errno
import logging
import os
from pathlib import Path

from agent_tui.sessions.errors import SessionLockedError

try:
    import fcntl
except ImportError:  # a system without flock: the last writer's lines are whole anyway
    fcntl = None

log = logging.getLogger(__name__)


class SessionLock:
    """Held from acquire() to release(). The file beside the session is removed at release."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd: int | None = fd

    @classmethod
    def acquire(cls, session_path: Path) -> "SessionLock | None":
        """Raises SessionLockedError if another holds it (this process counts too).

        None where the file system knows no locks or cannot be written: then nobody is
        kept out, which is better than to refuse the conversation.
        """
        if fcntl is None:
            return None
        path = session_path.with_name(session_path.name + ".lock")
        try:
            while True:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if _is_at(path, fd):
                        _write_pid(fd)
                        return cls(path, fd)
                except OSError as error:
                    pid = _read_pid(fd)
                    os.close(fd)
                    if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                        raise SessionLockedError(session_path, pid) from None
                    raise
                # Its holder removed it between our open and our lock.
                os.close(fd)
        except OSError as error:
            log.warning("no lock for %s: %s", session_path, error)
            return None

    def release(self) -> None:
        """Idempotent."""
        if self._fd is None:
            return
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("could not remove %s: %s", self._path, error)
        os.close(self._fd)
        self._fd = None


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def _write_pid(fd: int) -> None:
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:  # a full disk: the lock holds without its name
        log.warning("the lock could not name its holder: %s", error)


def _read_pid(fd: int) -> int | None:
    try:
        return int(os.pread(fd, 32, 0))
    except (OSError, ValueError):
        return None
