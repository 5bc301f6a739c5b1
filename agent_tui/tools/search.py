"""list, glob and grep: what is where. Bounded in time and in what they give back."""

import json
import os
import re
import stat
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import agent_tui
from agent_tui.agent.tools import ToolContext, ToolResult
from agent_tui.text import wire_text
from agent_tui.tools.globbing import Glob, GlobError, Walk
from agent_tui.tools.workspace import ToolError, Work, Workspace, in_thread, shown

MAX_ENTRIES = 1000
MAX_PATHS = 500
MAX_MATCHES = 200
MAX_CHARS = 40_000
SECONDS = 20.0
_MAX_FOUND = 200_000


def list_tool(workspace: Workspace) -> Work:
    """execute() of list {path?}."""

    async def list_(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = _folder(workspace, arguments)
        return await in_thread(partial(_list, workspace, path))

    return list_


def glob_tool(workspace: Workspace, seconds: float = SECONDS) -> Work:
    """execute() of glob {pattern, path?}."""

    async def glob(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = _folder(workspace, arguments)
        pattern = arguments["pattern"]
        return await in_thread(partial(_glob_paths, workspace, path, pattern, seconds))

    return glob


def grep_tool(workspace: Workspace, seconds: float = SECONDS) -> Work:
    """execute() of grep {pattern, path?, glob?}."""

    async def grep(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = _folder(workspace, arguments)
        pattern, only = arguments["pattern"], arguments.get("glob") or None
        return await in_thread(partial(_grep, workspace, path, pattern, only, seconds))

    return grep


def _folder(workspace: Workspace, arguments: dict[str, Any]) -> Path:
    return workspace.resolve(arguments.get("path") or ".")


def _glob(pattern: str) -> Glob:
    try:
        return Glob(pattern)
    except GlobError as error:
        raise ToolError(f"{shown(pattern)} cannot be used as a glob: {error}.") from None


def _check_pattern(pattern: str) -> None:
    if not pattern:
        raise ToolError("pattern is empty. Give a regular expression.")
    if "\n" in pattern:
        raise ToolError(
            "pattern holds a line break, and grep looks at single lines. Search for one line of it."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(
            f"pattern is no valid Python regular expression: {error}. "
            "To search for the characters as they are, put a backslash before each of "
            r". ^ $ * + ? { } [ ] \ | ( )."
        ) from None


def _require_folder(workspace: Workspace, path: Path) -> None:
    if not path.exists():
        raise workspace.missing(path)
    if not path.is_dir():
        raise ToolError(f"{workspace.show(path)} is a file, not a folder. Use read to see it.")


# --- list -----------------------------------------------------------------------------


def _list(workspace: Workspace, path: Path, stop: threading.Event) -> ToolResult:
    _require_folder(workspace, path)
    with os.scandir(path) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    lines = [_described(entry) for entry in entries[:MAX_ENTRIES]]
    more = len(entries) - len(lines)
    notes = [f"{more:,} more entries are not shown. Use glob with a pattern."] if more else []
    text = _answer(lines, notes, "The folder is empty.")
    return ToolResult.text(text, details={"count": len(entries)})


def _described(entry: "os.DirEntry[str]") -> str:
    name = shown(entry.name)
    try:
        if entry.is_symlink():
            target = shown(os.readlink(entry.path))  # noqa: PTH115  (the text of the link)
            return f"{name}{'/' if entry.is_dir() else ''} -> {target}"
        if entry.is_dir():
            return f"{name}/"
        return f"{name}  {_size(entry.stat().st_size)}"
    except OSError:
        return name


def _size(size: float) -> str:
    if size < 1000:
        return f"{size} B"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"


# --- glob -----------------------------------------------------------------------------


def _glob_paths(
    workspace: Workspace, path: Path, pattern: str, seconds: float, stop: threading.Event
) -> ToolResult:
    glob = _glob(pattern)
    _require_folder(workspace, path)
    walk = Walk(os.path.realpath(path), glob, time.monotonic() + seconds, stop.is_set)
    found: list[tuple[float, str]] = []
    for item in walk:
        changed = 0.0
        with suppress(OSError):
            changed = item.entry.stat(follow_symlinks=False).st_mtime
        name = workspace.show(path / item.relative) + ("/" if item.is_folder else "")
        found.append((-changed, name))
        if len(found) == _MAX_FOUND:
            break
    found.sort()
    lines = [name for _, name in found[:MAX_PATHS]]
    notes = _walk_notes(walk.unreadable, walk.timed_out, seconds)
    if len(found) > len(lines):
        of = "many" if len(found) == _MAX_FOUND else f"{len(found):,}"
        notes.insert(0, f"The newest {len(lines)} of {of} are shown. Narrow the pattern.")
    if not found and walk.ignored:
        notes.append(_ignored_note(walk.ignored))
    text = _answer(lines, notes, "Nothing matches.")
    return ToolResult.text(text, details={"count": len(found)})


def _walk_notes(unreadable: int, timed_out: bool, seconds: float) -> list[str]:
    notes: list[str] = []
    if timed_out:
        notes.append(
            f"Stopped after {seconds:g} s; this is what was found by then. Narrow path or pattern."
        )
    if unreadable:
        notes.append(f"Could not be read: {_count(unreadable, 'path')}.")
    return notes


def _ignored_note(ignored: int) -> str:
    return (
        f"Left out because of .gitignore: {_count(ignored, 'entry')}. To look inside an ignored "
        "folder, give it as path."
    )


def _count(n: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{n:,} {noun if n == 1 else plural}"


def _answer(lines: list[str], notes: list[str], nothing: str) -> str:
    """Lines within the output limit, then the notes in brackets; never empty."""
    shown_lines, size = 0, 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_CHARS:
            break
        shown_lines += 1
    if shown_lines < len(lines):
        notes = [*notes, f"{len(lines) - shown_lines:,} more lines do not fit in one answer."]
    body = "\n".join(lines[:shown_lines]) if lines else f"[{nothing}]"
    return body + (f"\n\n[{' '.join(notes)}]" if notes else "")


# --- grep -----------------------------------------------------------------------------

_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from agent_tui.tools.grep_worker import main; main()"
)


def _grep(
    workspace: Workspace,
    path: Path,
    pattern: str,
    only: str | None,
    seconds: float,
    stop: threading.Event,
) -> ToolResult:
    _check_pattern(pattern)
    if only is not None:
        _glob(only)
    try:
        info = path.stat()
    except FileNotFoundError:
        raise workspace.missing(path) from None
    is_file = stat.S_ISREG(info.st_mode)
    if not is_file and not stat.S_ISDIR(info.st_mode):
        raise ToolError(f"{workspace.show(path)} is neither a file nor a folder.")
    request = {
        "root": os.path.realpath(path),
        "file": str(path) if is_file else None,
        "pattern": pattern,
        "glob": only,
        "max_matches": MAX_MATCHES,
        "seconds": seconds,
    }
    matches, summary = _run_worker(request, seconds, stop)
    lines = [
        f"{workspace.show(path / match['path'])}:{match['line']}:{wire_text(match['text'])}"
        for match in matches
    ]
    return ToolResult.text(
        _answer(lines, _grep_notes(summary, lines, seconds), "No line matches."),
        details={"count": len(matches), "files": len({match["path"] for match in matches})},
    )


def _grep_notes(summary: dict[str, Any], lines: list[str], seconds: float) -> list[str]:
    notes: list[str] = []
    if summary.get("more"):
        notes.append(f"There are more than these {len(lines)} lines. Narrow pattern, path or glob.")
    notes += _walk_notes(summary.get("unreadable", 0), bool(summary.get("timed_out")), seconds)
    if summary.get("stuck"):
        notes.append("Matching one line took too long: simplify the pattern (nested repeats).")
    if not lines:
        if summary.get("ignored"):
            notes.append(_ignored_note(summary["ignored"]))
        if summary.get("binary"):
            notes.append(f"Skipped: {_count(summary['binary'], 'binary file')}.")
        if summary.get("files") is not None:
            notes.append(f"Searched: {_count(summary['files'], 'file')}.")
    return notes


def _run_worker(
    request: dict[str, Any], seconds: float, stop: threading.Event
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The matches and the summary; ends the worker when its time is over or `stop` is set."""
    home = str(Path(agent_tui.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-W", "ignore", "-c", _START, home],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"LC_ALL": "C.UTF-8"},
        start_new_session=True,
    )
    ended = threading.Event()
    killed = threading.Event()

    def watch() -> None:
        until = time.monotonic() + seconds + 1
        while not ended.wait(0.05):
            if stop.is_set() or time.monotonic() > until:
                killed.set()
                process.kill()
                return

    watcher = threading.Thread(target=watch, name="grep watch", daemon=True)
    watcher.start()
    try:
        assert process.stdin and process.stdout and process.stderr
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.close()
        answers = [_parsed(line) for line in process.stdout]
        complaint = process.stderr.read(4000).decode("utf-8", "replace").strip()
        process.wait()
    finally:
        ended.set()
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    if stop.is_set():
        raise ToolError("The search was stopped.")
    matches = [answer for answer in answers if "path" in answer]
    summary = next((answer for answer in answers if "files" in answer), None)
    if summary is None:
        if not killed.is_set():
            raise RuntimeError(f"grep's worker failed: {complaint or process.returncode}")
        summary = {"timed_out": True, "stuck": True}
    return matches, summary


def _parsed(line: bytes) -> dict[str, Any]:
    # Cut off in the middle only when the worker was killed there.
    try:
        return json.loads(line)
    except ValueError:
        return {}
