"""Who must be asked: reading inside the working folder is free, everything else asks."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

READING = frozenset({"read", "list", "glob", "grep"})
_WRITING = frozenset({"write", "edit"})


def needs_approval(
    tool_name: str, arguments: Mapping[str, Any], cwd: str, *, readable: Iterable[str] = ()
) -> bool:
    """False only for read, list, glob, grep on a real path inside `cwd` (symlinks resolved,
    also for tails that do not exist yet) or inside one of the folders `readable` (such as
    the one where whole outputs are saved). Unknown tools ask. Source: DESIGN, built-in tools.
    """
    if tool_name not in READING:
        return True
    real = _real_path(arguments, cwd)
    if real is None:
        return True
    return not any(_inside(real, folder) for folder in (cwd, *readable))


def approval_rule(tool_name: str, arguments: Mapping[str, Any], cwd: str | None = None) -> str:
    """What "always" would allow, in words that are also its key: a call is covered by a rule
    exactly when approval_rule of that call gives the same text.

    shell: this command, character by character. write and edit: files in the working folder
    and below, or else in the one real folder of this path; without `cwd` only this path. The
    reading tools likewise. Every other tool: all its calls.
    """
    if tool_name == "shell":
        return f"shell: exactly this command: {arguments.get('command')}"
    if tool_name not in READING | _WRITING:
        return f"{tool_name}: every call"
    if cwd is None:
        return f"{tool_name}: exactly this path: {arguments.get('path')}"
    real = _real_path(arguments, cwd)
    if real is None:
        return f"{tool_name}: exactly this path: {arguments.get('path')}"
    if _inside(real, cwd):
        return f"{tool_name}: in {os.path.realpath(cwd)} and below"
    folder = real if tool_name in ("list", "glob", "grep") else real.parent
    return f"{tool_name}: in {folder}"


def _real_path(arguments: Mapping[str, Any], cwd: str) -> Path | None:
    path = arguments.get("path", ".")
    if not isinstance(path, str) or "\0" in path:
        return None
    expanded = os.path.expanduser(path or ".")  # noqa: PTH111  (Path.expanduser raises)
    try:
        return Path(os.path.realpath(Path(cwd, expanded)))
    except (OSError, ValueError):
        return None


def _inside(real: Path, folder: str) -> bool:
    return real.is_relative_to(os.path.realpath(folder))
