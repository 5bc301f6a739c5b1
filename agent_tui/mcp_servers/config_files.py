"""Where servers are configured: mcp.json of AGENT_TUI_HOME, .mcp.json of the project, and
[mcp.servers.NAME] in both config.toml files; reading all, writing to the two JSON files.

Of two servers with one name the nearer counts: .mcp.json, the project's config.toml, the
user's mcp.json, the user's config.toml; but what a project brings counts only once the user has
approved it. A bad entry costs that server, a bad file its servers.
"""

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from agent_tui import paths
from agent_tui.mcp_servers import state_file
from agent_tui.mcp_servers.config import ConfigError, ServerConfig, json_words, parse_server
from agent_tui.mcp_servers.types import McpError, Scope
from agent_tui.text import clean
from agent_tui.toml_file import TomlFileError, read_toml

PROJECT_FILE = ".mcp.json"
TABLES = ("mcpServers", "servers")
_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """One server as found. config is None when problem says why it cannot be used. source:
    its file, "" for one of this conversation. raw: as written, for the content hash. behind: of a
    project's server the one of the same name that it would take the place of."""

    name: str
    scope: Scope
    source: str
    raw: Any
    config: ServerConfig | None = None
    problem: str = ""
    behind: "Entry | None" = None

    @property
    def writable(self) -> bool:
        """Whether we may change it where it stands (a TOML file is the user's own text)."""
        return not self.source.endswith(".toml")


def project_file(cwd: str | Path) -> Path:
    """The project's shared file; may be missing."""
    return Path(cwd) / PROJECT_FILE


def load_entries(
    cwd: str | Path, *, user_toml: Path | None = None, project_toml: Path | None = None
) -> tuple[list[Entry], list[str]]:
    """All servers by their names, sorted, and warnings of one line each. Never raises for what
    stands in a file.

    user_toml: the config.toml in use; project_toml: that of the project, if the folder is
    trusted.
    """
    warnings: list[str] = []
    found: dict[str, Entry] = {}
    places: list[tuple[Path | None, Scope]] = [
        (user_toml, "user"), (paths.mcp_file(), "user"),
        (project_toml, "project"), (project_file(cwd), "project"),
    ]  # fmt: skip
    for path, scope in places:
        if path is None:
            continue
        table, problem = _servers_of(path)
        if problem:
            warnings.append(problem)
        for name, raw in table.items():
            entry = _entry(str(name), scope, path, raw, warnings)
            if before := found.get(entry.name):
                if scope == "project":
                    entry = replace(entry, behind=before)
                warnings.append(_twice(entry, before, cwd))
            found[entry.name] = entry
    return sorted(found.values(), key=lambda entry: entry.name), warnings


def in_use(entry: Entry, cwd: str | Path) -> Entry:
    """Of those by one name the one that counts now: what a project brings once it is approved,
    until then the user's own; `entry` where there is nothing else."""
    found: Entry | None = entry
    while found is not None:
        if found.scope != "project" or state_file.approval(cwd, found.name, found.raw) is True:
            return found
        found = found.behind
    return entry


def _twice(entry: Entry, before: Entry, cwd: str | Path) -> str:
    said = f"{clean(entry.name)} is configured in {clean(before.source)} and in"
    said = f"{said} {clean(entry.source)}"
    used = in_use(entry, cwd)
    if used is entry:
        return f"{said}; that of {clean(entry.source)} is used."
    return f"{said}; that of {clean(used.source)} is used: {hidden_text(entry, cwd)}"


def hidden_text(entry: Entry, cwd: str | Path) -> str:
    """Why a project's server is not the one in use, and what changes that."""
    refused = state_file.approval(cwd, entry.name, entry.raw) is False
    why = "you have refused the project's" if refused else "nobody has approved the project's yet"
    return f"{why} (/mcp enable {clean(entry.name)} approves it)."


def _entry(name: str, scope: Scope, path: Path, raw: Any, warnings: list[str]) -> Entry:
    said: list[str] = []
    try:
        config = parse_server(name, raw, said)
    except ConfigError as error:
        return Entry(name, scope, str(path), raw, problem=f"{error} See {clean(path)}.")
    warnings += [f"{clean(path)}: {line}" for line in said]
    return Entry(name, scope, str(path), raw, config)


def _servers_of(path: Path) -> tuple[dict[str, Any], str]:
    """The table of servers of a file, and what is wrong with the file."""
    if path.suffix == ".toml":
        try:
            file = read_toml(path)
        except TomlFileError as error:
            return {}, str(error)
        mcp = file.values.get("mcp") if file else None
        table: Any = mcp.get("servers") if isinstance(mcp, dict) else mcp
        if table is not None and not isinstance(table, dict):
            return {}, f"{clean(path)}: mcp.servers must be a table: [mcp.servers.NAME]."
        return cast(dict[str, Any], table or {}), ""
    try:
        whole = _read_json(path)
    except McpError as error:
        return {}, str(error)
    tables = [whole[key] for key in TABLES if whole.get(key) is not None]
    if any(not isinstance(table, dict) for table in tables):
        return {}, f"{clean(path)}: {' and '.join(TABLES)} must be tables of servers by name."
    if (
        whole
        and not tables
        and any(isinstance(v, dict) and _like_server(v) for v in whole.values())
    ):
        return {}, f'{clean(path)}: put the servers into a table "mcpServers".'
    # Of a name in both tables the first is the one most clients write.
    return {name: raw for table in reversed(tables) for name, raw in table.items()}, ""


def _like_server(value: dict[str, Any]) -> bool:
    return "command" in value or "url" in value


def _read_json(path: Path) -> dict[str, Any]:
    """{} when there is no such file. Raises McpError: one line with the place."""
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise McpError(f"{clean(path)}: is not a file; move it away.")
        if state.st_size > _MAX_BYTES:
            raise McpError(f"{clean(path)}: is larger than 4 MB, so it is not read.")
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise McpError(f"{clean(path)}: is not UTF-8; save it as UTF-8.") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise McpError(f"{clean(path)}: cannot be read: {reason}.") from None
    if not text.strip():
        return {}
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        raise McpError(
            f"{clean(path)}:{error.lineno}:{error.colno}: {json_words(error)}. "
            "Mend that line; its servers are left out."
        ) from None
    except (ValueError, RecursionError) as error:
        raise McpError(f"{clean(path)}: {json_words(error)}.") from None
    if not isinstance(whole, dict):
        raise McpError(f'{clean(path)}: must be an object with a table "mcpServers".')
    return cast(dict[str, Any], whole)


# --- writing ----------------------------------------------------------------------------


def file_of(scope: Scope, cwd: str | Path) -> Path:
    """The JSON file of a scope. Raises McpError for "conversation", which has none."""
    if scope == "conversation":
        raise McpError("A server of this conversation is in no file.")
    return paths.mcp_file() if scope == "user" else project_file(cwd)


def write_entry(path: Path, name: str, raw: dict[str, Any]) -> None:
    """Add or replace one server; all else in the file stays. Raises McpError."""

    def change(whole: dict[str, Any]) -> None:
        _table_with(whole, name)[name] = raw

    _rewrite(path, change)


def remove_entry(path: Path, name: str) -> None:
    """Raises McpError, also when the file has no such server."""

    def change(whole: dict[str, Any]) -> None:
        removed = [t.pop(name) for t in _tables(whole) if name in t]
        if not removed:
            raise McpError(f"{clean(path)} has no server {clean(name)}.")

    _rewrite(path, change)


def write_enabled(path: Path, name: str, enabled: bool) -> None:
    """Switch one server on or off by `disabled`, or by `enabled` if it has that. Raises
    McpError."""

    def change(whole: dict[str, Any]) -> None:
        entry = _table_with(whole, name).get(name)
        if not isinstance(entry, dict):
            raise McpError(f"{clean(path)} has no server {clean(name)}.")
        if "enabled" in entry:
            entry["enabled"] = enabled
            entry.pop("disabled", None)
        elif enabled:
            entry.pop("disabled", None)
        else:
            entry["disabled"] = True

    _rewrite(path, change)


def _tables(whole: dict[str, Any]) -> list[dict[str, Any]]:
    return [whole[key] for key in TABLES if isinstance(whole.get(key), dict)]


def _table_with(whole: dict[str, Any], name: str) -> dict[str, Any]:
    """The table that has the server; else the one there is; else a new one."""
    tables = _tables(whole)
    holding = [table for table in tables if name in table]
    if holding or tables:
        return (holding or tables)[0]
    return whole.setdefault(TABLES[0], {})


def _rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    before = _read_json(path)
    change(before)
    text = json.dumps(before, indent=_indent_of(path), ensure_ascii=False)
    mode = None
    with contextlib.suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
    try:
        paths.write_private_atomic(path, text.encode("utf-8", "replace") + b"\n")
        # A shared file of a project keeps the rights it had; our own is 0600.
        if mode is not None and path.name == PROJECT_FILE:
            os.chmod(path, mode)  # noqa: PTH101
    except OSError as error:
        raise McpError(str(error)) from error


def _indent_of(path: Path) -> int | str:
    try:
        found = re.search(r'\n([ \t]+)"', path.read_text("utf-8-sig", "replace"))
    except OSError:
        return 2
    if found is None:
        return 2
    return "\t" if found[1].startswith("\t") else len(found[1])
