"""McpManager: all servers of one conversation; the only object other rooms hold of this one.

manager = McpManager(cwd, on_event=..., cap_text=..., elicit=..., sample=...)
for warning in manager.load(user_toml, project_toml): ...   # reads files, starts nothing
manager.start()                             # all connect at once, in the background
toolset.offer(name, manager.tools(name))    # on each ToolsChanged(name)
toolset.withdraw(name)                      # on ServerRemoved(name)
await manager.close()
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_tui.mcp_servers import roster, state_file
from agent_tui.mcp_servers.asks import Asks
from agent_tui.mcp_servers.config import ServerConfig
from agent_tui.mcp_servers.config_files import Entry, in_use, load_entries
from agent_tui.mcp_servers.connection import ServerConnection
from agent_tui.mcp_servers.life import Catalog, Kind, Surroundings
from agent_tui.mcp_servers.offering import Offering
from agent_tui.mcp_servers.offers import Server
from agent_tui.mcp_servers.results import Mapper
from agent_tui.mcp_servers.server_log import ServerLog
from agent_tui.mcp_servers.server_process import all_closed
from agent_tui.mcp_servers.snapshots import config_lines, snapshot_of
from agent_tui.mcp_servers.types import (
    CapText,
    CatalogChanged,
    Elicit,
    LogLevel,
    McpError,
    McpEvent,
    Notice,
    Sample,
    Scope,
    ServerChanged,
    ServerRemoved,
    ServerSnapshot,
    ServerState,
    ToolsChanged,
    UrlDone,
)
from agent_tui.mcp_servers.variables import resolve
from agent_tui.text import clean

log = logging.getLogger(__name__)

CLOSE_S = 6.0
_MAX_WARNINGS = 30


class McpManager(Offering):
    """See module docstring. Everything is called on the event loop's thread.

    on_event: called at once, in order, never awaited. elicit, sample: None means that servers
    are told that this client cannot do it. roots: folders that servers may be told of (default:
    cwd). reserved_names: aliases no tool may get. environ: for variables and processes.
    """

    def __init__(
        self,
        cwd: str | Path,
        *,
        on_event: Callable[[McpEvent], None],
        cap_text: CapText,
        elicit: Elicit | None = None,
        sample: Sample | None = None,
        roots: Sequence[str | Path] | None = None,
        reserved_names: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__({}, reserved_names)
        self._cwd = Path(cwd)
        self._on_event = on_event
        self._cap_text = cap_text
        self._elicit = elicit
        self._sample = sample
        self._roots = [Path(root) for root in (roots if roots is not None else [cwd])]
        self._environ = dict(os.environ if environ is None else environ)
        self._files: tuple[Path | None, Path | None] = (None, None)
        self._log_level: LogLevel | None = None
        self._started = False
        self._closed = False
        self._ending: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()

    # --- servers ----------------------------------------------------------------------------

    def load(self, user_toml: Path | None = None, project_toml: Path | None = None) -> list[str]:
        """Read mcp.json, .mcp.json and [mcp.servers.NAME] of these config.toml (project_toml
        only of a trusted folder). Gives warnings, a line each. Starts nothing; never raises for
        what stands in a file."""
        self._files = (user_toml, project_toml)
        entries, warnings = load_entries(self._cwd, user_toml=user_toml, project_toml=project_toml)
        for entry in entries:
            known = self._servers.get(entry.name)
            if known is None:
                self._servers[entry.name] = self._new(entry)
            elif known.entry.scope != "conversation" and known.connection is None:
                self._take(known, entry)
        return warnings

    def _new(self, entry: Entry) -> Server:
        server_log = ServerLog(entry.name)
        server = Server(entry, server_log, Mapper(self._cap_text, server_log.secrets))
        self._take(server, entry)
        return server

    def _take(self, server: Server, entry: Entry) -> None:
        """What stands in the files under a name: the one of it that counts now."""
        server.entry = in_use(entry, self._cwd)
        server.hidden = entry if server.entry is not entry else None

    def start(self) -> None:
        """Connect to every enabled, approved server, all at once, in the background."""
        self._started = True
        for server in self._servers.values():
            if server.connection is None:
                self._connect(server)
                self._tell(server)

    def _connect(self, server: Server) -> None:
        if not self._started or self._closed:
            return
        hindrance = self._hindrance(server)
        server.hindrance = roster.hindrance_text(server.entry, hindrance)
        config = server.entry.config
        if hindrance or config is None:
            return
        server.catalog = Catalog()
        server.warnings.clear()

        def is_current() -> bool:
            # One that is on its way out has nothing to say any more.
            return server.connection is connection

        around = Surroundings(
            config=config,
            folder=self._cwd,
            environ=self._environ,
            server_log=server.log,
            asks=Asks(config.name, server.mapper, self._elicit, self._sample),
            catalog=server.catalog,
            listed=lambda kind: self._listed(server, kind) if is_current() else None,
            note=lambda text: self._note(server, text),
            url_done=lambda done: self._on_event(UrlDone(server.name, done)),
            roots=lambda: self._roots,
            log_level=lambda: self._log_level,
        )
        connection = ServerConnection(
            around, lambda: self._state_changed(server) if is_current() else None
        )
        server.connection = connection
        connection.start()

    def _hindrance(self, server: Server) -> ServerState | None:
        return roster.hindrance(server.entry, self._cwd)

    async def close(self) -> None:
        """End every server: concurrently, within some seconds, with all that it started."""
        self._closed = True
        stops = [self._stop(server) for server in self._servers.values()]
        if stops:
            for problem in await asyncio.gather(*stops, return_exceptions=True):
                if isinstance(problem, Exception):
                    log.error("an MCP server could not be ended", exc_info=problem)
        if self._ending:
            await asyncio.wait(set(self._ending), timeout=CLOSE_S)
        await all_closed(CLOSE_S)

    async def _stop(self, server: Server) -> None:
        connection, server.connection = server.connection, None
        if connection is not None:
            await connection.stop()

    def _stop_soon(self, server: Server) -> None:
        connection, server.connection = server.connection, None
        if connection is not None:
            task = asyncio.get_running_loop().create_task(connection.stop())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def add(self, config: ServerConfig, scope: Scope = "conversation") -> None:
        """Keep (project, user: in its file) and connect. What the user adds is approved. Raises
        McpError: the name is taken, or the file cannot be written."""
        if config.name in self._servers:
            raise McpError(
                f"There is a server {clean(config.name)} already. Remove it first, or choose "
                "another name."
            )
        server = self._new(roster.keep(config, scope, self._cwd))
        self._servers[config.name] = server
        self._started = True
        self._connect(server)
        self._tell(server)

    async def remove(self, name: str) -> str:
        """Disconnect and take it out of its file; what was done, in words. Raises McpError."""
        server = self._get(name)
        done = roster.take_out(server.entry)
        del self._servers[name]
        self._offers.names.drop_server(name)
        self._on_event(ServerRemoved(name))
        if (other := server.hidden or server.entry.behind) is not None:
            # That of the other file is what the name means now.
            if server.hidden is not None:
                other = replace(other, behind=None)
            self._servers[name] = self._new(other)
            self._connect(self._servers[name])
            self._tell(self._servers[name])
            done = f"{done} {clean(name)} of {clean(other.source)} is there now."
        self._poke()
        await self._stop(server)
        return done

    async def set_enabled(self, name: str, enabled: bool) -> None:
        """Remembered in the user's mcp.json, for others in AGENT_TUI_HOME. Raises McpError."""
        server = self._get(name)
        if enabled and server.hidden is not None and self._may_show(server):
            roster.switch(server.hidden, True, self._cwd)
            self.approve(name, True)
            return
        server.entry = roster.switch(server.entry, enabled, self._cwd)
        if enabled and server.connection is None:
            self._started = True
            self._connect(server)
        elif not enabled:
            self._offers.names.drop_server(name)
            await self._stop(server)
            self._connect(server)
        self._tell(server)

    def _may_show(self, server: Server) -> bool:
        """Whether switching on means the project's server: the user's own is on already, or
        nothing has been said of the project's yet."""
        hidden = server.hidden
        assert hidden is not None
        said = state_file.approval(self._cwd, hidden.name, hidden.raw)
        return said is None or self._hindrance(server) is None

    def reconnect(self, name: str) -> None:
        """Begin anew at once, with the configuration as it is on disk now. Raises McpError."""
        server = self._get(name)
        if server.entry.source:
            entries, _ = load_entries(
                self._cwd, user_toml=self._files[0], project_toml=self._files[1]
            )
            found = next((entry for entry in entries if entry.name == name), None)
            if found is None:
                raise McpError(f"{clean(name)} is no longer in {clean(server.entry.source)}.")
            if in_use(found, self._cwd) != server.entry:
                self._stop_soon(server)
            self._take(server, found)
        hindrance = self._hindrance(server)
        if hindrance is not None:
            self._tell(server)
            raise McpError(roster.hindrance_text(server.entry, hindrance))
        if server.connection is not None:
            server.connection.reconnect()
        else:
            self._started = True
            self._connect(server)
        self._tell(server)

    def approve(self, name: str, approved: bool) -> None:
        """Answer for a project's server; remembered by its content. Raises McpError."""
        server = self._get(name)
        entry, before = server.hidden or server.entry, server.entry
        if entry.scope != "project":
            raise McpError(f"{clean(name)} needs no approval.")
        state_file.set_approval(self._cwd, name, entry.raw, approved)
        self._take(server, entry)
        if server.entry is not before or (server.entry is entry and not approved):
            self._stop_soon(server)
        if server.connection is None:
            self._connect(server)
        self._tell(server)

    async def login(
        self,
        name: str,
        *,
        show_url: Callable[[str], Awaitable[None]],
        pasted: Callable[[], Awaitable[str | None]] | None = None,
    ) -> None:
        """OAuth: show_url(url) may open a browser; pasted() waits for a code, or for the address
        at which the browser ended (the first of both ways counts). Reconnects. Raises McpError.
        """
        from agent_tui.mcp_servers.login import login
        from agent_tui.mcp_servers.sdk import load_sdk

        server = self._remote(name)
        assert server.entry.config is not None
        resolved = resolve(server.entry.config, self._environ, self._cwd)
        await load_sdk()
        await login(
            resolved.url,
            resolved.headers,
            resolved.oauth,
            server.log.secrets.add,
            show_url=show_url,
            pasted=pasted,
            scope=server.connection.wanted_scope if server.connection else "",
        )
        if server.connection is not None:
            server.connection.reconnect()
        else:
            self._connect(server)

    async def logout(self, name: str) -> bool:
        """Forget the tokens and reconnect; whether there were any. Raises McpError."""
        from agent_tui.mcp_servers.oauth import TokenStore

        server = self._remote(name)
        assert server.entry.config is not None
        resolved = resolve(server.entry.config, self._environ, self._cwd)
        had = TokenStore(resolved.url, server.log.secrets.add).forget()
        if had and server.connection is not None:
            server.connection.reconnect()
        return had

    def _remote(self, name: str) -> Server:
        server = self._get(name)
        config = server.entry.config
        if config is None:
            raise McpError(server.entry.problem)
        if config.transport == "stdio":
            raise McpError(f"{clean(name)} is a program on this computer; it has no login.")
        return server

    # --- what there is -----------------------------------------------------------------------

    def servers(self) -> list[str]:
        """Names of all, sorted."""
        return sorted(self._servers)

    def state(self, name: str) -> ServerState:
        """Raises McpError for a name that is not there."""
        return self._state(self._get(name))

    def _state(self, server: Server) -> ServerState:
        if server.connection is not None:
            return server.connection.state
        return self._hindrance(server) or ("disabled" if self._closed else "connecting")

    def snapshot(self, name: str, *, log_lines: int = 20) -> ServerSnapshot:
        """Raises McpError for a name that is not there."""
        server = self._get(name)
        return snapshot_of(
            server,
            self._state(server),
            self._offers.infos(server),
            cwd=self._cwd,
            log_lines=log_lines,
        )

    def config_lines(self, name: str) -> list[str]:
        """Its configuration, a line for each thing that is said, without secrets. Raises McpError
        for a name that is not there."""
        entry = self._get(name).entry
        return config_lines(entry.config) if entry.config is not None else [clean(entry.problem)]

    def snapshots(self) -> list[ServerSnapshot]:
        """Of all, by name."""
        return [self.snapshot(name) for name in self.servers()]

    def connecting(self) -> list[str]:
        """Names of those that have not answered yet, sorted."""
        return [name for name in self.servers() if self._state(self._servers[name]) == "connecting"]

    async def wait_ready(self, timeout_s: float) -> list[str]:
        """Until none is connecting any more, or the time is over; the names still missing."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.connecting():
                    self._changed.clear()
                    await self._changed.wait()
        return self.connecting()

    # --- the rest -----------------------------------------------------------------------------

    async def set_log_level(self, level: LogLevel) -> None:
        """Log messages of this level and above, of every server that has any. Servers of the
        newer protocol take it with their next connection."""
        self._log_level = level
        connections = [s.connection for s in self._servers.values() if s.connection]
        await asyncio.gather(*(connection.set_level(level) for connection in connections))

    async def set_roots(self, roots: Sequence[str | Path]) -> None:
        """Other folders from now on; servers are told."""
        self._roots = [Path(root) for root in roots]
        connections = [s.connection for s in self._servers.values() if s.connection]
        await asyncio.gather(*(connection.roots_changed() for connection in connections))

    def log_path(self, server: str) -> str:
        """Raises McpError for a name that is not there."""
        return self._get(server).log.path

    def log_tail(self, server: str, lines: int = 50) -> list[str]:
        """The last lines, oldest first. Raises McpError for a name that is not there."""
        return self._get(server).log.tail(lines)

    # --- news ---------------------------------------------------------------------------------

    def _state_changed(self, server: Server) -> None:
        if not server.offers:
            self._offers.names.drop_server(server.name)
        self._tell(server)

    def _tell(self, server: Server) -> None:
        if self._servers.get(server.name) is not server:
            return
        state = self._state(server)
        error = server.connection.error if server.connection else server.entry.problem or None
        tools = len(self.tools(server.name)) if state == "connected" else 0
        if server.offered and not server.offers:
            server.offered = False
            self._on_event(ToolsChanged(server.name))
        self._on_event(ServerChanged(server.name, state, tools, error))
        self._poke()

    def _poke(self) -> None:
        self._changed.set()

    def _listed(self, server: Server, kind: Kind) -> None:
        if kind != "tools":
            self._on_event(CatalogChanged(server.name, kind))
            return
        usable = [tool for tool in server.catalog.tools if not tool.problem]
        self._offers.names.set_server(server.name, [tool.name for tool in usable])
        for tool in server.catalog.tools:
            if tool.problem:
                self._note(server, f"the tool {clean(tool.name)} is left out: {tool.problem}")
        server.offered = True
        self._on_event(ToolsChanged(server.name))
        if self._state(server) == "connected":
            self._tell(server)

    def _note(self, server: Server, text: str) -> None:
        if text in server.warnings or len(server.warnings) >= _MAX_WARNINGS:
            return
        server.warnings.append(text)
        self._on_event(Notice(server.name, text))
