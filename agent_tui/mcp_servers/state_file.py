"""What is remembered about servers beside their configuration (mcp_state.json, 0600): which
contents of a project the user approved, what is switched off where we do not write, and which
servers speak only the older protocol. Losing the file costs a question, nothing else.
"""

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any, cast

from agent_tui import paths
from agent_tui.mcp_servers.types import McpError

log = logging.getLogger(__name__)

_MOST = 500
"""Entries of one kind; the oldest go first."""


def _file() -> Path:
    return paths.home() / "mcp_state.json"


def content_hash(name: str, raw: Any) -> str:
    """The same for the same server with the same content, in whatever order its fields stand."""
    text = json.dumps([name, raw], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _key(folder: str | Path, name: str) -> str:
    return f"{os.path.realpath(folder)}\n{name}"


def approval(folder: str | Path, name: str, raw: Any) -> bool | None:
    """What the user said of this server of the project with just this content; None: ask."""
    known = _read("approvals").get(_key(folder, name))
    if isinstance(known, list) and len(known) == 2 and known[0] == content_hash(name, raw):
        return known[1] is True
    return None


def set_approval(folder: str | Path, name: str, raw: Any, approved: bool) -> None:
    """Raises McpError if it cannot be kept."""
    _write("approvals", _key(folder, name), [content_hash(name, raw), approved])


def is_switched_off(source: str, name: str) -> bool:
    """Whether the user disabled a server in a file that we do not write."""
    return _read("switched_off").get(_key(source, name)) is True


def set_switched_off(source: str, name: str, off: bool) -> None:
    """Raises McpError if it cannot be kept."""
    _write("switched_off", _key(source, name), off or None)


def is_legacy(target: str) -> bool:
    """Whether the server so reached had to be waited for before it spoke the older protocol.

    target: a hash; the command line or URL itself may hold secrets.
    """
    return _read("legacy").get(target) is True


def set_legacy(target: str, legacy: bool) -> None:
    """Never raises: it only makes the next start faster."""
    try:
        _write("legacy", target, legacy or None)
    except McpError as error:
        log.warning("%s", error)


def _all() -> dict[str, Any]:
    path = _file()
    try:
        stored: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        log.warning("%s cannot be read, so it counts as empty: %s", path, error)
        return {}
    return cast(dict[str, Any], stored) if isinstance(stored, dict) else {}


def _read(kind: str) -> dict[str, Any]:
    table = _all().get(kind)
    return cast(dict[str, Any], table) if isinstance(table, dict) else {}


def _write(kind: str, key: str, value: Any) -> None:
    whole = _all()
    table = whole.get(kind)
    entries = cast(dict[str, Any], table) if isinstance(table, dict) else {}
    if entries.get(key) == value:
        return
    entries.pop(key, None)
    if value is not None:
        entries[key] = value
    whole[kind] = dict(list(entries.items())[-_MOST:])
    text = json.dumps(whole, indent=1).encode() + b"\n"
    try:
        paths.write_private_atomic(_file(), text)
    except OSError as error:
        raise McpError(str(error)) from error
