"""Which folders the user trusts: asked once per folder, kept by real path in a 0600 file."""

import json
import logging
import os
from pathlib import Path
from typing import Any, cast

from agent_tui import paths

log = logging.getLogger(__name__)


def decision(cwd: str | Path) -> bool | None:
    """What the user said of this folder; None if never asked."""
    return _read().get(os.path.realpath(cwd))


def is_trusted(cwd: str | Path) -> bool:
    """True only if the user said so of this very folder; trust is not inherited from a parent."""
    return decision(cwd) is True


def set_trusted(cwd: str | Path, trusted: bool) -> None:
    """Keep what the user said. Raises PathError if it cannot be kept."""
    folders = _read() | {os.path.realpath(cwd): trusted}
    text = json.dumps({"folders": folders}, indent=2)
    paths.write_private_atomic(paths.trust_file(), text.encode("utf-8") + b"\n")


def _read() -> dict[str, bool]:
    path = paths.trust_file()
    try:
        stored: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        # Asking again is right where an answer cannot be read.
        log.warning("%s cannot be read, so no folder counts as trusted: %s", path, error)
        return {}
    folders: Any = cast(dict[str, Any], stored).get("folders") if isinstance(stored, dict) else None
    if not isinstance(folders, dict):
        log.warning("%s has no table of folders, so no folder counts as trusted", path)
        return {}
    entries = cast(dict[str, Any], folders)
    return {name: value for name, value in entries.items() if isinstance(value, bool)}
