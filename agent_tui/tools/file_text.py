"""Bytes of a file to text and back without losing a byte; and replacing a file whole.

UTF-8 with or without BOM and UTF-16 with BOM are read as they are. Bytes that are not UTF-8
are kept inside the text as escapes (surrogateescape), so an edit elsewhere in the file leaves
them alone; `shown_text` is what may leave this room.
"""

import codecs
import errno
import os
import re
import secrets
import stat
import threading
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agent_tui.tools.workspace import ToolError, Workspace

_HEAD = 8192
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f]")
_ESCAPED = re.compile("[\udc80-\udcff]+")


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file with what is needed to write it back: its codec and its BOM."""

    text: str
    codec: str = "utf-8"
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """`text` in this file's encoding, with its BOM."""
        errors = "surrogateescape" if self.codec == "utf-8" else "strict"
        return self.bom + text.encode(self.codec, errors)


def bom_of(head: bytes) -> tuple[bytes, str]:
    """The byte order mark that `head` begins with, and the codec it stands for."""
    return next(((bom, codec) for bom, codec in _BOMS if head.startswith(bom)), (b"", "utf-8"))


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text: a NUL near the start, or many control characters."""
    head = data[:_HEAD]
    if bom_of(head)[1] != "utf-8":
        return False
    return b"\0" in head or len(_CONTROL.findall(head)) * 10 > len(head)


def decode(data: bytes) -> FileText | None:
    """The text of a file's bytes; None for a binary file (or broken UTF-16)."""
    if is_binary(data):
        return None
    bom, codec = bom_of(data)
    try:
        text = data[len(bom) :].decode(codec, "surrogateescape" if codec == "utf-8" else "strict")
    except UnicodeDecodeError:
        return None
    return FileText(text, codec, bom)


def shown_text(text: str) -> tuple[str, bool]:
    """`text` with each run of undecodable bytes as U+FFFD; and whether there was one."""
    if _ESCAPED.search(text) is None:
        return text, False
    return _ESCAPED.sub("\ufffd", text), True


# --- writing --------------------------------------------------------------------------

_locks: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()
_locks_guard = threading.Lock()


@contextmanager
def locked(real_path: str):
    """One writer at a time for each real path, over all threads of this process."""
    with _locks_guard:
        lock = _locks.get(real_path)
        if lock is None:
            lock = _locks[real_path] = threading.Lock()
    with lock:
        yield


def replace_file(workspace: Workspace, path: Path, data: bytes, stop: threading.Event) -> None:
    """Put `data` in place of the file at the real path `path`, whole or not at all.

    A new file beside it is renamed over it, with the old one's mode and, where allowed, its
    owner. A file with several names (hard links), or one in a folder that takes no new file,
    is rewritten in place. Raises ToolError for what is no regular file, for a read-only file,
    and when `stop` was set before the rename.
    """
    try:
        old = path.stat()
    except FileNotFoundError:
        old = None
    if old is not None:
        if not stat.S_ISREG(old.st_mode):
            raise ToolError(f"{workspace.show(path)} is not a regular file; it was left alone.")
        if not os.access(path, os.W_OK):
            raise ToolError(
                f"{workspace.show(path)} is read-only; it was left alone. Ask the user before "
                "you change its mode."
            )
        if old.st_nlink > 1:
            _rewrite(path, data, stop)
            return
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        fd = os.open(
            temporary,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
            0o666 if old is None else 0o600,
        )
    except OSError as error:
        if old is None or error.errno not in (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG):
            raise
        _rewrite(path, data, stop)
        return
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            if old is not None:
                if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                    with suppress(OSError):
                        os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            file.flush()
            os.fsync(file.fileno())
        _not_stopped(stop)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _rewrite(path: Path, data: bytes, stop: threading.Event) -> None:
    _not_stopped(stop)
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _not_stopped(stop: threading.Event) -> None:
    if stop.is_set():
        raise ToolError("The call was stopped before the file was changed.")
