"""The files of a session: in memory, bounded, seen by programs through open() and pathlib.

Imports pydantic_monty: load it only where programs run.
"""

import errno
from pathlib import PurePosixPath
from typing import Any

from pydantic_monty import NOT_HANDLED, MontyFileHandle, OSAccess

FOLDER = "/files"
"""The working folder of programs: what the host puts there, and where they write."""

_WRITING = {"Path.write_text", "Path.write_bytes", "Path.append_text", "Path.append_bytes"}
_HANDLED_ELSEWHERE = {"date.today", "datetime.now", "time.time", "import"}


class SandboxFiles(OSAccess):
    """A file tree in memory. `written`: paths that were created or changed since take_written.

    limit_bytes, limit_files: what the tree may hold; beyond it a program sees an OSError.
    """

    def __init__(self, *, limit_bytes: int, limit_files: int) -> None:
        # The names that programs of the service know the folders by.
        super().__init__(environ={"INPUT_DIR": FOLDER, "OUTPUT_DIR": FOLDER, "HOME": FOLDER})
        self.path_mkdir(PurePosixPath(FOLDER), True, True)
        self._limit_bytes = limit_bytes
        self._limit_files = limit_files
        self._sizes: dict[str, int] = {}
        self._written: dict[str, None] = {}

    def dispatch(
        self,
        function_name: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        *,
        is_async: bool = False,
    ) -> Any:
        """Answers a program's file operation. Raises what the program is to see."""
        name = str(function_name)
        if name in _HANDLED_ELSEWHERE:
            return NOT_HANDLED
        if name in _WRITING:
            self._check_room(args[0], args[1], appending="append" in name)
        result = super().dispatch(function_name, args, kwargs, is_async=is_async)
        self._note(name, args)
        return result

    def put(self, path: str, data: bytes) -> None:
        """Writes a file for programs to read; it does not count as written by one."""
        target = PurePosixPath(path)
        self.path_mkdir(target.parent, True, True)
        self.path_write_bytes(target, data)
        self._sizes[str(target)] = len(data)

    def read(self, path: str) -> bytes:
        return self.path_read_bytes(PurePosixPath(path))

    def all(self) -> dict[str, bytes]:
        """Every file by its path."""
        return {path: self.read(path) for path in self._sizes}

    @property
    def written(self) -> list[str]:
        """The paths written since take_written."""
        return list(self._written)

    def mark_written(self, path: str) -> None:
        """Counts a file as written by the program that is running."""
        self._written[path] = None

    def take_written(self) -> list[str]:
        """The paths written since the last call that still exist, in order."""
        written, self._written = list(self._written), {}
        return [path for path in written if path in self._sizes]

    def _check_room(self, target: Any, data: Any, *, appending: bool) -> None:
        path = _path(target)
        size = _size(data)
        if appending:
            size += self._sizes.get(path, 0)
        if path not in self._sizes and len(self._sizes) >= self._limit_files:
            raise OSError(errno.ENOSPC, f"No space left: at most {self._limit_files} files", path)
        used = sum(n for other, n in self._sizes.items() if other != path)
        if used + size > self._limit_bytes:
            raise OSError(
                errno.ENOSPC, f"No space left: at most {self._limit_bytes} bytes in all", path
            )

    def _note(self, name: str, args: tuple[Any, ...]) -> None:
        """Keeps sizes and the list of written files after a successful operation."""
        if name == "open":
            if set(args[1]) & set("wa+"):
                self._touch(_path(args[0]))
        elif name in _WRITING:
            # By the data, not by reading the file: many small writes stay cheap.
            before = self._sizes.get(_path(args[0]), 0) if "append" in name else 0
            self._touch(_path(args[0]), before + _size(args[1]))
        elif name in ("Path.unlink", "Path.rename"):
            gone = [path for path in self._sizes if not self.path_is_file(PurePosixPath(path))]
            for path in gone:
                del self._sizes[path]
            if name == "Path.rename":
                self._found(PurePosixPath(args[1]))

    def _found(self, path: PurePosixPath) -> None:
        if self.path_is_file(path):
            self._touch(str(path))
        elif self.path_is_dir(path):
            for inner in self.path_iterdir(path):
                self._found(inner)

    def _touch(self, path: str, size: int | None = None) -> None:
        self._sizes[path] = len(self.read(path)) if size is None else size
        self._written.pop(path, None)
        self._written[path] = None


def _path(target: Any) -> str:
    return str(target.path if isinstance(target, MontyFileHandle) else target)


def _size(data: Any) -> int:
    return len(data.encode()) if isinstance(data, str) else len(data)
