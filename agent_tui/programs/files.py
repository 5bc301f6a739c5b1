"""The files of a session: in memory, bounded, seen by programs through open() and pathlib.

A tree of our own on pydantic-monty's AbstractOS: its OSAccess (1.4.0) fails with a KeyError when
a renamed file is removed, and knows no bounds. Imports pydantic_monty: load it only where
programs run.
"""

import errno
import os
import posixpath
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from pydantic_monty import NOT_HANDLED, AbstractOS, MontyFileHandle, StatResult

FOLDER = "/files"
"""The working folder of programs: what the host puts there, and where they write."""

_ENVIRONMENT = {"INPUT_DIR": FOLDER, "OUTPUT_DIR": FOLDER, "HOME": FOLDER}
"""All that programs see of an environment: the names by which the service's know the folders."""

_NOT_OURS = {"date.today", "datetime.now", "time.time", "import"}

Target = PurePosixPath | MontyFileHandle


class SandboxFiles(AbstractOS):
    """A file tree in memory. `written`: paths that were created or changed since take_written.

    limit_bytes, limit_files: what the tree may hold; beyond it a program sees an OSError. Each
    write costs what it writes, however long the file has become.
    """

    def __init__(self, *, limit_bytes: int, limit_files: int) -> None:
        super().__init__()
        self._limit_bytes = limit_bytes
        self._limit_files = limit_files
        self._files: dict[str, bytearray] = {}
        self._folders: set[str] = {"/", FOLDER}
        self._used = 0
        self._written: dict[str, None] = {}

    # --- for the host -------------------------------------------------------------------

    def dispatch(
        self,
        function_name: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        *,
        is_async: bool = False,
    ) -> Any:
        """Answers a program's file operation. Raises what the program is to see."""
        if str(function_name) in _NOT_OURS:
            return NOT_HANDLED
        return super().dispatch(function_name, args, kwargs, is_async=is_async)

    def put(self, path: str, data: bytes) -> None:
        """Writes a file for programs to read; it does not count as written by one."""
        self.path_mkdir(PurePosixPath(path).parent, True, True)
        counted = path in self._written
        self._write(PurePosixPath(path), data)
        if not counted:
            del self._written[path]

    def read(self, path: str) -> bytes:
        return bytes(self._file(PurePosixPath(path)))

    def all(self) -> dict[str, bytes]:
        """Every file by its path."""
        return {path: bytes(data) for path, data in self._files.items()}

    @property
    def written(self) -> list[str]:
        """The paths written since take_written that still exist, in order."""
        return [path for path in self._written if path in self._files]

    def mark_written(self, path: str) -> None:
        """Counts a file as written by the program that is running."""
        self._written.pop(path, None)
        self._written[path] = None

    def take_written(self) -> list[str]:
        """`written`; from now on nothing counts as written."""
        written = self.written
        self._written.clear()
        return written

    # --- for programs: reading ------------------------------------------------------------

    def path_exists(self, path: PurePosixPath) -> bool:
        return self.path_is_file(path) or self.path_is_dir(path)

    def path_is_file(self, path: PurePosixPath) -> bool:
        return _plain(path) in self._files

    def path_is_dir(self, path: PurePosixPath) -> bool:
        return _plain(path) in self._folders

    def path_is_symlink(self, path: PurePosixPath) -> bool:
        return False

    def path_read_text(self, path: Target) -> str:
        return self._file(path).decode()

    def path_read_bytes(self, path: Target) -> bytes:
        return bytes(self._file(path))

    def path_iterdir(self, path: PurePosixPath) -> list[PurePosixPath]:
        folder = _plain(path)
        if folder not in self._folders:
            raise self._missing(folder)
        inside = [p for p in (*self._folders, *self._files) if _parent(p) == folder != p]
        return [PurePosixPath(p) for p in sorted(inside)]

    def path_stat(self, path: PurePosixPath) -> StatResult:
        if self.path_is_dir(path):
            return StatResult.dir_stat()
        return StatResult.file_stat(len(self._file(path)))

    def path_resolve(self, path: PurePosixPath) -> str:
        return _plain(path)

    def path_absolute(self, path: PurePosixPath) -> str:
        return str(path if path.is_absolute() else PurePosixPath(FOLDER) / path)

    def getenv(self, key: str, default: str | None = None) -> str | None:
        return _ENVIRONMENT.get(key, default)

    def get_environ(self) -> dict[str, str]:
        return dict(_ENVIRONMENT)

    # --- for programs: writing ------------------------------------------------------------

    def path_open(self, path: PurePosixPath, mode: str) -> MontyFileHandle:
        handle = MontyFileHandle(str(path), mode)
        if "r" in handle.mode:
            self._file(path)
        elif "w" in handle.mode:
            self._write(path, b"")
        else:
            self._append(path, b"")
        return handle

    def path_write_text(self, path: Target, data: str) -> int:
        self._write(path, data.encode())
        return len(data)

    def path_write_bytes(self, path: Target, data: bytes) -> int:
        self._write(path, data)
        return len(data)

    def path_append_text(self, path: Target, data: str) -> int:
        self._append(path, data.encode())
        return len(data)

    def path_append_bytes(self, path: Target, data: bytes) -> int:
        self._append(path, data)
        return len(data)

    def path_mkdir(self, path: PurePosixPath, parents: bool, exist_ok: bool) -> None:
        folder = _plain(path)
        if folder in self._files or (folder in self._folders and not exist_ok):
            raise _error(errno.EEXIST, folder)
        missing: list[str] = []
        while folder not in self._folders:
            if folder in self._files:
                raise _error(errno.ENOTDIR, folder)
            missing.append(folder)
            folder = _parent(folder)
        if len(missing) > 1 and not parents:
            raise _error(errno.ENOENT, missing[0])
        if len(self._folders) + len(missing) > self._limit_files:
            raise _full(f"at most {self._limit_files} folders", missing[0])
        self._folders.update(missing)

    def path_unlink(self, path: PurePosixPath) -> None:
        self._used -= len(self._file(path))
        del self._files[_plain(path)]

    def path_rmdir(self, path: PurePosixPath) -> None:
        if self.path_iterdir(path):
            raise _error(errno.ENOTEMPTY, _plain(path))
        self._folders.discard(_plain(path))

    def path_rename(self, path: PurePosixPath, target: PurePosixPath) -> None:
        old, new = _plain(path), _plain(target)
        if old == new and self.path_exists(path):
            return
        for end in (old, new):
            if _parent(end) not in self._folders:
                raise self._missing(end)
        if not self.path_exists(path):
            raise self._missing(old)
        if old in self._files:
            if new in self._folders:
                raise _error(errno.EISDIR, new)
            if new in self._files:
                self.path_unlink(target)
            self._move(old, new)
            return
        if new.startswith(f"{old}/"):
            raise _error(errno.EINVAL, new)
        if new in self._files:
            raise _error(errno.ENOTDIR, new)
        if new in self._folders:
            self.path_rmdir(target)
        for file in [p for p in self._files if p.startswith(f"{old}/")]:
            self._move(file, new + file[len(old) :])
        moved = {p for p in self._folders if p == old or p.startswith(f"{old}/")}
        self._folders = (self._folders - moved) | {new + p[len(old) :] for p in moved}

    # --- the tree ---------------------------------------------------------------------------

    def _file(self, target: Target) -> bytearray:
        path = _plain(target)
        data = self._files.get(path)
        if data is None:
            raise _error(errno.EISDIR, path) if path in self._folders else self._missing(path)
        return data

    def _missing(self, path: str) -> OSError:
        """Why there is nothing at a path: a part of it is a file, or it is just not there."""
        part = path
        while part != "/":
            if part in self._files:
                return _error(errno.ENOTDIR, path)
            part = _parent(part)
        return _error(errno.ENOENT, path)

    def _write(self, target: Target, data: bytes) -> None:
        self._change(target, data, lambda held: held.clear())

    def _append(self, target: Target, data: bytes) -> None:
        self._change(target, data, None)

    def _change(
        self, target: Target, data: bytes, first: Callable[[bytearray], object] | None
    ) -> None:
        """Adds data to a file, after `first` was done to it; nothing happens if it does not fit."""
        path = _plain(target)
        if path in self._folders:
            raise _error(errno.EISDIR, path)
        if _parent(path) not in self._folders:
            raise self._missing(path)
        held = self._files.get(path)
        if held is None and len(self._files) >= self._limit_files:
            raise _full(f"at most {self._limit_files} files", path)
        freed = len(held) if held is not None and first is not None else 0
        if self._used - freed + len(data) > self._limit_bytes:
            raise _full(f"at most {self._limit_bytes} bytes in all", path)
        held = self._files.setdefault(path, bytearray())
        if first is not None:
            first(held)
        held += data
        self._used += len(data) - freed
        self.mark_written(path)

    def _move(self, old: str, new: str) -> None:
        self._files[new] = self._files.pop(old)
        self.mark_written(new)


def _plain(target: Target) -> str:
    """An absolute path without `.` and `..`; a relative one starts at the working folder."""
    text = target.path if isinstance(target, MontyFileHandle) else str(target)
    return posixpath.normpath(posixpath.join(FOLDER, text)).replace("//", "/")


def _parent(path: str) -> str:
    return posixpath.dirname(path)


def _error(number: int, path: str) -> OSError:
    """The exception that Python raises for that errno (FileNotFoundError, ...)."""
    return OSError(number, os.strerror(number), path)


def _full(what: str, path: str) -> OSError:
    return OSError(errno.ENOSPC, f"No space left: {what}", path)
