"""memory: the API's memory tool, whose calls the client runs, over one folder of its own.

The model knows the tool by its type (messages_api/server_tools.MEMORY_TYPE); the commands are
those of the SDK's types (view, create, str_replace, insert, delete, rename). It sees the folder
as /memories; nothing outside can be reached, by `..` or by a link.
"""

import logging
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.paths import PathError, private_folder
from agent_tui.text import wire_text
from agent_tui.tools.diffs import changed_lines, split_lines, unified_diff
from agent_tui.tools.file_text import decode, locked, replace_file, shown_text
from agent_tui.tools.workspace import ToolError, Workspace, guarded, in_thread, shown

log = logging.getLogger(__name__)

NAME = "memory"
ROOT = "/memories"

MAX_FILE_BYTES = 1_000_000
MAX_SHOWN_CHARS = 50_000
"""So much of a file one view shows; view_range goes on."""
_DEPTH = 2
"""Levels of the folder that a view lists."""
_MAX_ENTRIES = 1000
_AROUND = 3
"""Lines shown on each side of a change."""

Arguments = dict[str, Any]

_TEXT: dict[str, Any] = {"type": "string"}
_COMMANDS: dict[str, tuple[str, ...]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
"""What each command needs."""


@dataclass(frozen=True, slots=True)
class _Notes(Workspace):
    """Where the memory is: its files are named as the model knows them, not as they lie here."""

    folder: Callable[[], Path]

    def show(self, path: str | Path) -> str:
        root = os.path.realpath(self.folder())
        if not Path(path).is_relative_to(root):
            return shown(str(path))
        return shown(str(Path(ROOT) / Path(path).relative_to(root)))


def memory_tool(folder: Callable[[], Path], wire_type: str) -> AgentTool:
    """folder: gives the memory's folder when it is first needed. wire_type: the tool's type on
    the wire. Results' details hold {"path", "diff"?} as those of write and edit."""
    workspace = _Notes(ROOT, folder)

    async def work(arguments: Arguments, ctx: ToolContext) -> ToolResult:
        command = str(arguments["command"])
        missing = [name for name in _COMMANDS[command] if arguments.get(name) is None]
        if missing:
            raise ToolError(f"{command} needs {' and '.join(missing)}.")
        return await in_thread(partial(_run, folder, workspace, command, arguments))

    return AgentTool(
        NAME,
        "Keep notes in files that later conversations can read.",
        {
            "type": "object",
            "properties": {
                "command": {"enum": list(_COMMANDS)},
                **{name: _TEXT for names in _COMMANDS.values() for name in names},
                "insert_line": {"type": "integer", "minimum": 0},
                "view_range": {
                    "type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2,
                },
            },
            "required": ["command"],
        },
        guarded(workspace, work),
        wire={"type": wire_type},
    )  # fmt: skip


def _run(
    folder: Callable[[], Path],
    workspace: Workspace,
    command: str,
    arguments: Arguments,
    stop: threading.Event,
) -> ToolResult:
    try:
        store = _Store(private_folder(folder()), workspace, stop)
    except PathError as error:
        log.warning("the memory's folder cannot be used: %s", error)
        raise ToolError("The memory's folder cannot be used; the user's log says why.") from error
    match command:
        case "view":
            return store.view(arguments["path"], arguments.get("view_range"))
        case "create":
            return store.create(arguments["path"], arguments["file_text"])
        case "str_replace":
            return store.replace(arguments["path"], arguments["old_str"], arguments["new_str"])
        case "insert":
            return store.insert(
                arguments["path"], arguments["insert_line"], arguments["insert_text"]
            )
        case "delete":
            return store.delete(arguments["path"])
        case _:
            return store.rename(arguments["old_path"], arguments["new_path"])


class _Store:
    """The commands over the folder `root`. Blocking; for a thread."""

    def __init__(self, root: Path, workspace: Workspace, stop: threading.Event) -> None:
        self._root = Path(os.path.realpath(root))
        self._workspace = workspace
        self._stop = stop

    def view(self, path: str, lines: list[int] | None) -> ToolResult:
        real = self._existing(path)
        if real.is_dir():
            listed = [f"{_size(size)}\t{name}" for name, size in self._entries(real, path)]
            text = f"Files and folders up to {_DEPTH} levels deep in {shown(path)}:\n"
            return ToolResult.text(
                text + "\n".join(listed or ["(nothing yet)"]), details={"path": path}
            )
        text = self._read(real, path)
        all_lines = text.split("\n")
        first, last = (1, len(all_lines)) if lines is None else (max(1, lines[0]), lines[1])
        last = len(all_lines) if last == -1 else min(last, len(all_lines))
        if first > last:
            raise ToolError(f"{shown(path)} has {len(all_lines)} lines; view_range is past them.")
        numbered = _numbered(all_lines, first, last)
        if len(numbered) > MAX_SHOWN_CHARS:
            numbered = numbered[:MAX_SHOWN_CHARS] + "\n[cut here: view_range goes on]"
        return ToolResult.text(f"{shown(path)}:\n{numbered}", details={"path": path})

    def create(self, path: str, text: str) -> ToolResult:
        real = self._inside(path)
        if real.is_dir() or path.endswith("/"):
            raise ToolError(f"{shown(path)} is a folder. Give the path of a file in it.")
        if real.exists():
            raise ToolError(
                f"{shown(path)} exists already: change it with str_replace or insert, or delete "
                "it first."
            )
        return self._write(real, path, None, text)

    def replace(self, path: str, old: str, new: str) -> ToolResult:
        real = self._file(path)
        text = self._read(real, path)
        found = text.count(old) if old else 0
        if not found:
            raise ToolError(f"old_str is not in {shown(path)}, character by character.")
        if found > 1:
            at, where = -1, list[str]()
            while (at := text.find(old, at + 1)) >= 0 and len(where) < 20:
                where.append(str(text.count("\n", 0, at) + 1))
            raise ToolError(
                f"old_str is {found} times in {shown(path)} (lines {', '.join(where)}): make it "
                "unique."
            )
        return self._write(real, path, text, text.replace(old, new))

    def insert(self, path: str, line: int, text: str) -> ToolResult:
        real = self._file(path)
        before = self._read(real, path)
        lines = split_lines(before)
        if line > len(lines):
            raise ToolError(f"insert_line must be from 0 to {len(lines)}, not {line}.")
        added = text if text.endswith("\n") else text + "\n"
        if line and not lines[line - 1].endswith("\n"):
            lines[line - 1] += "\n"
        return self._write(real, path, before, "".join([*lines[:line], added, *lines[line:]]))

    def delete(self, path: str) -> ToolResult:
        real = self._existing(path)
        if real == self._root:
            raise ToolError(f"{ROOT} itself cannot be deleted; name what is in it.")
        if real.is_dir():
            shutil.rmtree(real)
        else:
            real.unlink()
        return ToolResult.text(f"Deleted {shown(path)}.", details={"path": path})

    def rename(self, old: str, new: str) -> ToolResult:
        source, target = self._existing(old), self._inside(new)
        if source == self._root:
            raise ToolError(f"{ROOT} itself cannot be renamed.")
        if target.exists():
            raise ToolError(f"{shown(new)} is there already; delete it first or take another name.")
        if target.is_relative_to(source):
            raise ToolError(f"{shown(old)} cannot be moved into itself.")
        private_folder(target.parent)
        source.rename(target)
        return ToolResult.text(f"Renamed {shown(old)} to {shown(new)}.", details={"path": new})

    # --- inside -----------------------------------------------------------------------------

    def _inside(self, path: str) -> Path:
        """The real path meant. Raises ToolError for one outside the memory's folder."""
        if "\0" in path or not (path == ROOT or path.startswith(f"{ROOT}/")):
            raise ToolError(f"A path must begin with {ROOT}/, unlike {shown(path)!r}.")
        inner = path.removeprefix(ROOT).strip("/")
        real = Path(os.path.realpath(self._root / inner))
        if ".." in Path(inner).parts or not real.is_relative_to(self._root):
            raise ToolError(f"{shown(path)} leads out of {ROOT}, where nothing may be touched.")
        return real

    def _existing(self, path: str) -> Path:
        real = self._inside(path)
        if not real.exists():
            raise ToolError(f"{shown(path)} does not exist. View {ROOT} to see what does.")
        return real

    def _file(self, path: str) -> Path:
        real = self._existing(path)
        if path.endswith("/") or not stat.S_ISREG(real.stat().st_mode):
            raise ToolError(f"{shown(path)} is no file.")
        return real

    def _read(self, real: Path, path: str) -> str:
        self._file(path)
        with real.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise ToolError(f"{shown(path)} is too large for a memory file.")
        known = decode(data)
        if known is None:
            raise ToolError(f"{shown(path)} is no text file.")
        return shown_text(known.text)[0]

    def _write(self, real: Path, path: str, before: str | None, text: str) -> ToolResult:
        data = text.encode()
        if len(data) > MAX_FILE_BYTES:
            raise ToolError(f"A memory file holds at most {MAX_FILE_BYTES:,} bytes.")
        try:
            private_folder(real.parent)
        except PathError as error:
            log.warning("a folder of the memory cannot be made: %s", error)
            raise ToolError(f"The folder of {shown(path)} cannot be made or written.") from error
        with locked(str(real)):
            replace_file(self._workspace, real, data, self._stop)
            real.chmod(0o600)
        old, new = split_lines(before or ""), split_lines(text)
        changes = changed_lines(old, new)
        diff = unified_diff(old, new, changes, shown(path))
        told = f"{'Created' if before is None else 'Changed'} {shown(path)}."
        if before is not None and changes:
            first, last = changes[0][2], changes[-1][3]
            lines = text.split("\n")
            around = _numbered(lines, max(1, first + 1 - _AROUND), min(len(lines), last + _AROUND))
            told += f" There it reads now:\n{around[:MAX_SHOWN_CHARS]}"
        return ToolResult.text(
            wire_text(told), details={"path": path, "diff": diff, "created": before is None}
        )

    def _entries(self, folder: Path, path: str) -> Iterator[tuple[str, int]]:
        """(name as the model sees it, bytes) of what is in a folder, hidden names left out."""
        count = 0
        todo = [(folder, path.rstrip("/"), 1)]
        while todo:
            here, name, depth = todo.pop()
            for entry in sorted(here.iterdir(), key=lambda e: e.name):
                if entry.name.startswith(".") or entry.is_symlink():
                    continue
                count += 1
                if count > _MAX_ENTRIES:
                    yield f"(more than {_MAX_ENTRIES} entries)", 0
                    return
                is_folder = entry.is_dir()
                yield f"{name}/{entry.name}{'/' if is_folder else ''}", entry.stat().st_size
                if is_folder and depth < _DEPTH:
                    todo.append((entry, f"{name}/{entry.name}", depth + 1))


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(lines[first - 1 : last], first))


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "K", "M"):
        if size < 1024:
            return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
        size /= 1024
    return f"{size:.1f}G"
