"""read, write and edit: files as the disk has them now, replaced whole or not at all."""

import base64
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from agent_tui.agent.messages import ImageContent, TextContent
from agent_tui.agent.tools import ToolContext, ToolResult
from agent_tui.image_head import image_type
from agent_tui.text import counted, cut, wire_text
from agent_tui.tools.diffs import changed_lines, split_lines, unified_diff
from agent_tui.tools.edits import Edit, Edited, apply_edits
from agent_tui.tools.file_text import (
    FileText,
    bom_of,
    decode,
    is_binary,
    locked,
    replace_file,
    shown_text,
)
from agent_tui.tools.images import (
    MAX_IMAGE_BYTES,
    ImageFacts,
    binary_type,
    check_image,
)
from agent_tui.tools.workspace import ToolError, Work, Workspace, in_thread

MAX_LINES = 2000
MAX_CHARS = 50_000
MAX_LINE_CHARS = 2000
MAX_EDITED_BYTES = 20 * 1024 * 1024
_MAX_WHOLE_BYTES = 20 * 1024 * 1024  # UTF-16 is read whole
_MAX_COUNTED_BYTES = 256 * 1024 * 1024
_MAX_DIFFED_BYTES = 2 * 1024 * 1024
_BLOCK = 1024 * 1024
_HEAD = 8192


def read_tool(workspace: Workspace) -> Work:
    """execute() of read {path, offset?, limit?}."""

    async def read(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = workspace.resolve(arguments["path"])
        first = arguments.get("offset") or 1
        limit = arguments.get("limit") or MAX_LINES
        return await in_thread(partial(_read, workspace, path, first, limit))

    return read


def write_tool(workspace: Workspace) -> Work:
    """execute() of write {path, content}."""

    async def write(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = workspace.resolve(arguments["path"])
        return await in_thread(partial(_write, workspace, path, arguments["content"]))

    return write


def edit_tool(workspace: Workspace) -> Work:
    """execute() of edit {path, edits: [{old, new}]}."""

    async def edit(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = workspace.resolve(arguments["path"])
        edits = [Edit(item["old"], item["new"]) for item in arguments["edits"]]
        return await in_thread(partial(_edit, workspace, path, edits))

    return edit


# --- read -----------------------------------------------------------------------------


def _require_file(workspace: Workspace, path: Path) -> os.stat_result:
    try:
        info = path.stat()
    except FileNotFoundError:
        raise workspace.missing(path) from None
    if stat.S_ISDIR(info.st_mode):
        raise ToolError(f"{workspace.show(path)} is a folder. Use list to see what is in it.")
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(f"{workspace.show(path)} is no regular file (a device, pipe or socket).")
    return info


def _read(
    workspace: Workspace, path: Path, first: int, limit: int, stop: threading.Event
) -> ToolResult:
    info = _require_file(workspace, path)
    with path.open("rb") as file:
        head = file.read(_HEAD)
        if image_type(head):
            return _image(workspace, path, file, head, info.st_size)
        bom, codec = bom_of(head)
        # The head of a PDF may look like text; what follows is compressed.
        is_pdf = head.startswith(b"%PDF-")
        if is_pdf or is_binary(head) or (codec != "utf-8" and info.st_size > _MAX_WHOLE_BYTES):
            raise _binary(workspace, path, info.st_size, head)
        if codec == "utf-8":
            file.seek(len(bom))
            window = _read_window(file, first, limit, stop)
        else:
            known = decode(head + file.read())
            if known is None:
                raise _binary(workspace, path, info.st_size, head)
            window = _text_window(known, first, limit)
    return _page(workspace, path, first, window)


def _binary(workspace: Workspace, path: Path, size: int, head: bytes) -> ToolError:
    return ToolError(
        f"binary file, {size:,} bytes, {binary_type(head, path.name)}: {workspace.show(path)} "
        "cannot be read as text. Use shell with a program that knows this type."
    )


def _image(workspace: Workspace, path: Path, file: IO[bytes], head: bytes, size: int) -> ToolResult:
    facts = (
        check_image(head + file.read(MAX_IMAGE_BYTES))
        if size <= MAX_IMAGE_BYTES
        else f"it has {size:,} bytes and at most {MAX_IMAGE_BYTES:,} can be sent"
    )
    if not isinstance(facts, ImageFacts):
        raise ToolError(
            f"{workspace.show(path)} cannot be shown as an image: {facts}. Use shell to make a "
            "smaller PNG or JPEG copy, and read that."
        )
    file.seek(0)
    data = file.read(MAX_IMAGE_BYTES)
    told = f"{facts.media_type}, {facts.width} x {facts.height} px, {len(data):,} bytes"
    return ToolResult(
        [
            TextContent(text=f"[{workspace.show(path)}: {told}]"),
            ImageContent(data=base64.b64encode(data).decode(), media_type=facts.media_type),
        ],
        details={"path": workspace.show(path), "media_type": facts.media_type,
                 "width": facts.width, "height": facts.height},
    )  # fmt: skip


@dataclass(slots=True)
class _Window:
    """The lines that were read, the number of lines in all (None: not counted), and what to say.

    full: the output limit ended the window before `limit` lines were read.
    """

    lines: list[str] = field(default_factory=list[str])
    total: int | None = None
    full: bool = False
    notes: set[str] = field(default_factory=set[str])
    size: int = 0

    def add(self, line: str, more: int) -> bool:
        """Take a line without its line end (`more`: bytes of it left out); False: no room."""
        if line.endswith("\r"):
            line = line[:-1]
            self.notes.add("Line ends are CR LF; edit keeps them.")
        if len(line) > MAX_LINE_CHARS:
            more += len(line) - MAX_LINE_CHARS
            line = cut(line, MAX_LINE_CHARS)
        line, foreign = shown_text(line)
        if foreign:
            self.notes.add("Bytes that are not UTF-8 are shown as \ufffd; edit keeps them.")
        visible = wire_text(line).replace("\r", "\\r")
        if visible != line:
            self.notes.add("Control characters are shown as \\r or \\xNN.")
        if more:
            visible += f" … [{more:,} more of this line are not shown]"
        if self.lines and self.size + len(visible) > MAX_CHARS:
            self.full = True
            return False
        self.size += len(visible) + 8
        self.lines.append(visible)
        return True


def _read_window(file: IO[bytes], first: int, limit: int, stop: threading.Event) -> _Window:
    """Lines [first, first + limit) of a file of any size, without holding all of it."""
    window = _Window()
    skipped = 0
    while skipped < first - 1:
        _still_wanted(stop)
        line = file.readline(_BLOCK)
        if not line:
            window.total = skipped
            return window
        skipped += line.endswith(b"\n") or not _more_follows(file)
    for line, more in _lines(file, stop):
        if len(window.lines) == limit or not window.add(_decoded(line), more):
            window.total = _count(file, skipped + len(window.lines) + 1, stop)
            return window
    window.total = skipped + len(window.lines)
    return window


def _lines(file: IO[bytes], stop: threading.Event) -> Iterator[tuple[bytes, int]]:
    """Each line without its newline, and how many of its bytes are left out."""
    while line := file.readline(4 * MAX_LINE_CHARS + 4):
        _still_wanted(stop)
        more = 0
        while not line.endswith(b"\n") and (rest := file.readline(_BLOCK)):
            _still_wanted(stop)
            more += len(rest.rstrip(b"\r\n"))
            if rest.endswith(b"\n"):
                break
        yield line.removesuffix(b"\n"), more


def _more_follows(file: IO[bytes]) -> bool:
    following = file.read(1)
    file.seek(-len(following), os.SEEK_CUR)
    return bool(following)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _count(file: IO[bytes], lines: int, stop: threading.Event) -> int | None:
    """`lines` (those read so far) and the lines that follow; None when that would take long."""
    counted = 0
    ended = True
    while block := file.read(_BLOCK):
        _still_wanted(stop)
        counted += len(block)
        if counted > _MAX_COUNTED_BYTES:
            return None
        lines += block.count(b"\n")
        ended = block.endswith(b"\n")
    return lines if ended else lines + 1


def _still_wanted(stop: threading.Event) -> None:
    if stop.is_set():
        raise ToolError("The call was stopped.")


def _text_window(known: FileText, first: int, limit: int) -> _Window:
    window = _Window(notes={"The file is UTF-16; edit keeps that."})
    lines = split_lines(known.text)
    window.total = len(lines)
    for line in lines[first - 1 : first - 1 + limit]:
        if not window.add(line.removesuffix("\n"), 0):
            break
    return window


def _page(workspace: Workspace, path: Path, first: int, window: _Window) -> ToolResult:
    name, total = workspace.show(path), window.total
    if not window.lines and total == 0:
        return ToolResult.text(
            "[The file is empty.]", details={"path": name, "first_line": 0, "last_line": 0}
        )
    if not window.lines:
        raise ToolError(f"offset {first} is past the end: {name} has {total} lines.")
    last = first + len(window.lines) - 1
    notes = sorted(window.notes)
    if total is None or last < total:
        of = f"of {total:,}" if total is not None else "of many more"
        why = " (the most one read can show)" if window.full else ""
        notes.insert(0, f"Lines {first:,}-{last:,} {of}{why}. Go on with offset={last + 1}.")
    text = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(window.lines, first))
    if notes:
        text += f"\n\n[{' '.join(notes)}]"
    return ToolResult.text(text, details={"path": name, "first_line": first, "last_line": last})


# --- write and edit -------------------------------------------------------------------


def _write(workspace: Workspace, path: Path, content: str, stop: threading.Event) -> ToolResult:
    real = Path(os.path.realpath(path))
    name = workspace.show(path)
    if real.is_dir():
        raise ToolError(f"{name} is a folder. Give the path of a file.")
    data = content.encode()
    with locked(str(real)):
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ToolError(
                f"{workspace.show(path.parent)} cannot be a folder: a file is in the way."
            ) from None
        before = _before(real)
        replace_file(workspace, real, data, stop)
    lines = len(split_lines(content))
    told = (
        f"{'Wrote' if before is None else 'Replaced'} {name}: {counted(lines, 'line')}, "
        f"{counted(len(data), 'byte')}."
    )
    return ToolResult.text(
        told,
        details={"path": name, "diff": _whole_diff(before, data, name), "created": before is None},
    )


def diff_of_write(workspace: Workspace, path: Path, content: str) -> str:
    """What _write would change now; a sentence in brackets where there is no diff."""
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise ToolError(f"{workspace.show(path)} is a folder. Give the path of a file.")
    before = _before(real)
    data = wire_text(content).encode()
    return "" if before == data else _whole_diff(before, data, workspace.show(path))


def diff_of_edit(workspace: Workspace, path: Path, edits: list[Edit]) -> str:
    """What _edit would change now. Raises ToolError as the call would."""
    _, _, edited = _edited(workspace, path, edits)
    return _edit_diff(edited, workspace.show(path))


def _before(path: Path) -> bytes | None:
    """What the file held, as far as a diff wants it; None when there was no file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return b""  # replace_file refuses it in words
        with path.open("rb") as file:
            return file.read(_MAX_DIFFED_BYTES + 1)
    except FileNotFoundError:
        return None
    except PermissionError:
        return b"\0"  # may be written but not read: no diff


def _whole_diff(before: bytes | None, after: bytes, name: str) -> str:
    if max(len(before or b""), len(after)) > _MAX_DIFFED_BYTES:
        return "(too large for a diff)\n"
    old, new = decode(before or b""), decode(after)
    if old is None or new is None:
        return "(binary before or after: no diff)\n"
    old_lines, new_lines = split_lines(old.text), split_lines(new.text)
    changes = changed_lines(old_lines, new_lines)
    if not changes and before is not None and before != after:
        return "(only line ends or the byte order mark changed)\n"
    return shown_text(unified_diff(old_lines, new_lines, changes, name))[0]


def _edit(workspace: Workspace, path: Path, edits: list[Edit], stop: threading.Event) -> ToolResult:
    name = workspace.show(path)
    with locked(os.path.realpath(path)):
        real, before, edited = _edited(workspace, path, edits)
        replace_file(workspace, real, before.encode(edited.text), stop)
    diff = _edit_diff(edited, name)
    count = "1 edit" if len(edits) == 1 else f"{len(edits)} edits"
    lines = ", ".join(_lines_touched(change) for change in edited.changes[:20])
    where = f" Lines now: {lines}." if lines else ""
    return ToolResult.text(f"{name}: {count} made.{where}", details={"path": name, "diff": diff})


def _edited(workspace: Workspace, path: Path, edits: list[Edit]) -> tuple[Path, FileText, Edited]:
    """The real path, the file as it is, and what the edits make of it. Raises ToolError."""
    name = workspace.show(path)
    real = Path(os.path.realpath(path))
    size = _require_file(workspace, real if real.exists() else path).st_size
    if size > MAX_EDITED_BYTES:
        raise ToolError(
            f"{name} has {size:,} bytes; edit takes at most {MAX_EDITED_BYTES:,}. Use shell."
        )
    data = real.read_bytes()
    before = decode(data)
    if before is None:
        raise _binary(workspace, path, size, data[:_HEAD])
    return real, before, apply_edits(before.text, edits, name)


def _edit_diff(edited: Edited, name: str) -> str:
    return shown_text(unified_diff(edited.old_lines, edited.new_lines, edited.changes, name))[0]


def _lines_touched(change: tuple[int, int, int, int]) -> str:
    first, end = change[2], change[3]
    if end == first:
        return f"removed after {first}"
    return str(first + 1) if end == first + 1 else f"{first + 1}-{end}"
