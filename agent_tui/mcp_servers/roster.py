"""What may connect and why not, and what switching, adding and removing do to files."""

from dataclasses import replace
from pathlib import Path

from agent_tui.mcp_servers import state_file
from agent_tui.mcp_servers.config import ServerConfig
from agent_tui.mcp_servers.config_files import (
    Entry,
    file_of,
    remove_entry,
    write_enabled,
    write_entry,
)
from agent_tui.mcp_servers.types import McpError, Scope, ServerState
from agent_tui.text import clean


def hindrance(entry: Entry, cwd: Path) -> ServerState | None:
    """Why a server may not connect; None if it may."""
    if entry.config is None:
        return "failed"
    if not entry.config.enabled or state_file.is_switched_off(entry.source, entry.name):
        return "disabled"
    if entry.scope == "project":
        said = state_file.approval(cwd, entry.name, entry.raw)
        if said is not True:
            return "awaiting_approval" if said is None else "disabled"
    return None


def hindrance_text(entry: Entry, state: ServerState | None) -> str:
    """The same in a sentence that says what to do; "" for None."""
    name = clean(entry.name)
    match state:
        case None:
            return ""
        case "failed":
            return entry.problem
        case "awaiting_approval":
            return f"{name} comes with this project and waits for your approval."
        case _:
            return f"{name} is disabled. Switch it on with /mcp enable {name}."


def keep(config: ServerConfig, scope: Scope, cwd: Path) -> Entry:
    """A server that the user adds, written to the file of its scope, and approved. Raises
    McpError."""
    raw = config.to_raw()
    source = ""
    if scope != "conversation":
        path = file_of(scope, cwd)
        write_entry(path, config.name, raw)
        source = str(path)
    if scope == "project":
        state_file.set_approval(cwd, config.name, raw, True)
    return Entry(config.name, scope, source, raw, config)


def take_out(entry: Entry) -> str:
    """A server out of its file; what was done, in words. Raises McpError."""
    name = clean(entry.name)
    if not entry.writable:
        raise McpError(
            f"{name} is configured in {clean(entry.source)}: take [mcp.servers.{name}] out there, "
            f"or use /mcp disable {name}."
        )
    if entry.source:
        remove_entry(Path(entry.source), entry.name)
    where = f" and from {entry.source}" if entry.source else ""
    return f"{name} is removed from this conversation{where}."


def switch(entry: Entry, enabled: bool, cwd: Path) -> Entry:
    """A server on or off from now on: in the user's mcp.json where it stands there, for others
    beside it (a project's file is shared, a TOML file is the user's own text). Raises McpError."""
    if entry.config is None:
        raise McpError(entry.problem)
    if entry.scope == "user" and entry.writable:
        write_enabled(Path(entry.source), entry.name, enabled)
    elif entry.source:
        state_file.set_switched_off(entry.source, entry.name, not enabled)
    if enabled and entry.scope == "project":
        # Whoever switches a project's server on has seen what it is.
        state_file.set_approval(cwd, entry.name, entry.raw, True)
    return replace(entry, config=replace(entry.config, enabled=enabled))
