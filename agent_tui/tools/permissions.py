"""Who must be asked: reading inside the working folder is free, everything else asks."""

from typing import Any


def needs_approval(tool_name: str, arguments: dict[str, Any], cwd: str) -> bool:
    """False only for read, list, glob, grep on a real path inside `cwd` (symlinks resolved,
    also for tails that do not exist yet). Unknown tools ask. Source: DESIGN, built-in tools."""
    raise NotImplementedError
