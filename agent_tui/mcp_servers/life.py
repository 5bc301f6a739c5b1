"""One connection to a server, from the handshake to its end. All of it runs in one task.

The end comes by lose(): the stream ended, the session is gone, a probe failed, a login is
wanted. What the server tells meanwhile (lists that changed, log lines) is taken here.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agent_tui import __version__
from agent_tui.mcp_servers import state_file
from agent_tui.mcp_servers.asks import Asks
from agent_tui.mcp_servers.config import ServerConfig
from agent_tui.mcp_servers.http import HttpNews, http_transport
from agent_tui.mcp_servers.lenient import Tap
from agent_tui.mcp_servers.listing import (
    MAX_INSTRUCTIONS,
    ListedTool,
    list_prompts,
    list_resources,
    list_tools,
)
from agent_tui.mcp_servers.oauth import TokenStore, stored_auth
from agent_tui.mcp_servers.sdk import is_mcp_error, is_method_missing, load_sdk, words_of
from agent_tui.mcp_servers.server_log import ServerLog
from agent_tui.mcp_servers.server_process import ServerProcess
from agent_tui.mcp_servers.stdio import stdio_transport
from agent_tui.mcp_servers.types import LogLevel, McpError, PromptInfo, ResourceInfo
from agent_tui.mcp_servers.variables import Resolved
from agent_tui.text import cut, duration

log = logging.getLogger(__name__)

PROBE_S = 10.0
SETTLE_S = 0.2
"""Notices that a list has changed within this time are one."""
RELISTEN_S = 1.0
LISTENED_S = 60.0
"""A stream of changes that lasted so long is opened again soon; others after growing pauses."""

Kind = Literal["tools", "resources", "prompts"]
KINDS: tuple[Kind, ...] = ("tools", "resources", "prompts")


class ConnectionLostError(McpError):
    """The connection ended. safe: the request certainly did not reach the server."""

    def __init__(self, message: str, *, safe: bool = False) -> None:
        super().__init__(message)
        self.safe = safe


@dataclass(slots=True)
class Catalog:
    """What a server offers and says of itself; it outlives a connection."""

    tools: list[ListedTool] = field(default_factory=list[ListedTool])
    resources: list[ResourceInfo] = field(default_factory=list[ResourceInfo])
    prompts: list[PromptInfo] = field(default_factory=list[PromptInfo])
    instructions: str = ""
    protocol: str = ""
    title: str = ""


@dataclass(slots=True)
class Surroundings:
    """What a connection is given. Functions are called at once, on the loop: listed(kind): that
    list is another now; note(text): one line for the user; url_done(id): an elicitation's."""

    config: ServerConfig
    folder: Path
    environ: Mapping[str, str]
    server_log: ServerLog
    asks: Asks
    catalog: Catalog
    listed: Callable[[Kind], None]
    note: Callable[[str], None]
    url_done: Callable[[str], None]
    roots: Callable[[], list[Path]]
    log_level: Callable[[], LogLevel | None]

    def noted(self, text: str) -> None:
        """A line for the user and the server's log, without secrets."""
        said = self.server_log.secrets.mask(text)
        self.server_log.line("agent-tui", said)
        self.note(said)


class Life:
    """See module docstring. client is set between enter() and the end."""

    def __init__(
        self,
        around: Surroundings,
        resolved: Resolved,
        *,
        sse: bool,
        on_lost: Callable[[], None],
    ) -> None:
        self._around = around
        self._on_lost = on_lost
        self._resolved = resolved
        self._sse = sse
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._dirty: set[Kind] = set()
        self._trouble = ""
        self._stream_breaks = 0
        self._deadline: asyncio.Timeout | None = None
        self.client: Any = None
        self.tap = Tap(self._ended, around.noted)
        self.process: ServerProcess | None = None
        self.store: TokenStore | None = None
        self.leaving = False
        self.lost = ""
        self.session_lost = False
        self.wants_auth = ""
        self.trouble = ""
        self.since: float | None = None
        """The loop's time when it was connected."""

    # --- from outside ---------------------------------------------------------------------

    def leave(self) -> None:
        """End it, whatever it is doing."""
        self.leaving = True
        self.client = None
        self._wake.set()
        if self._deadline is not None:
            # It is over already when the handshake has just been made.
            with contextlib.suppress(RuntimeError):
                self._deadline.reschedule(self._loop.time())

    def lose(self, why: str) -> None:
        """It has ended by itself; the first reason counts."""
        self.lost = self.lost or why
        self._on_lost()
        self._wake.set()

    def suspect(self, why: str) -> None:
        """Something broke off: look whether the server is still there."""
        self.trouble = self._trouble = why
        self._wake.set()

    # --- the owner's task --------------------------------------------------------------------

    async def run(self, connected: Callable[[], None]) -> None:
        """All of it. connected() is called when the tools are known. Returns after leave(), else
        raises what ended it (TimeoutError, ConnectionLostError, errors of the SDK)."""
        async with AsyncExitStack() as stack:
            async with self._within(self._around.config.connect_timeout_s, "it did not answer"):
                await self._enter(stack)
            seconds = self._around.config.list_timeout_s
            # A list may be cut short by its own time; this is for one that never begins.
            async with self._within(seconds, "it did not list its tools", grace=1.0):
                await self._list("tools")
            self.since = self._loop.time()
            connected()
            await self._serve()

    async def close(self) -> None:
        """What may be left when run() did not get as far as its end; it never takes long."""
        if self.process is not None:
            await self.process.close()

    @contextlib.asynccontextmanager
    async def _within(self, seconds: float, what: str, grace: float = 0.0) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(seconds + grace) as self._deadline:
                yield
        except TimeoutError:
            raise TimeoutError(f"{what} within {duration(seconds)}") from None
        finally:
            self._deadline = None

    async def _enter(self, stack: AsyncExitStack) -> None:
        """Transport, session, handshake."""
        await load_sdk()
        target = self._target_hash()
        legacy = state_file.is_legacy(target)
        try:
            transport = await self._transport()
            client = self._client(transport, "legacy" if legacy else "auto")
            self.client = await stack.enter_async_context(client)
        finally:
            self._remember_era(target, legacy)
        catalog = self._around.catalog
        catalog.protocol = self.client.protocol_version
        catalog.instructions = cut(self.client.instructions or "", MAX_INSTRUCTIONS)
        info = self.client.server_info
        catalog.title = f"{info.title or info.name} {info.version}".strip() if info else ""

    def _remember_era(self, target: str, legacy: bool) -> None:
        """A server that let the newer protocol's question wait, or ended at it, is not asked it
        again; one that cannot be spoken to in the older is asked anew next time."""
        if self.client is not None:
            slow_or_dead = self.tap.slow_discover
        else:
            slow_or_dead = self.process is not None and bool(self.lost) and not self.tap.answered
        if not legacy and slow_or_dead:
            state_file.set_legacy(target, True)
        elif legacy and self.client is None:
            state_file.set_legacy(target, False)

    def _target_hash(self) -> str:
        config = self._around.config
        parts = [config.command, *config.args, config.url]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    async def _transport(self) -> Any:
        around = self._around
        if around.config.transport == "stdio":
            self._resolved.cwd = self._resolved.cwd or str(around.folder)
            self.process = await ServerProcess.start(
                self._resolved, around.environ, around.server_log
            )
            transport = stdio_transport(self.process, around.server_log, around.noted)
            return _tapped(transport, self.tap)
        self.store = TokenStore(self._resolved.url, around.server_log.secrets.add)
        auth = await asyncio.to_thread(stored_auth, self.store, self._resolved.oauth)
        news = HttpNews(
            on_auth=self.want_auth,
            on_session_lost=self._lose_session,
            on_trouble=self.suspect,
            on_stream_trouble=self._on_stream_trouble,
            on_note=around.noted,
        )
        return _tapped(http_transport(self._resolved, news, sse=self._sse, auth=auth), self.tap)

    def _client(self, transport: Any, mode: str) -> Any:
        from mcp import Client
        from mcp_types import Implementation

        asks = self._around.asks
        return Client(
            transport,
            mode=mode,
            # Lists have their own time; this is for what else is asked.
            read_timeout_seconds=self._around.config.list_timeout_s + 5,
            client_info=Implementation(name="agent-tui", version=__version__),
            elicitation_callback=asks.on_elicit if asks.elicit else None,
            sampling_callback=asks.on_sample if asks.sample else None,
            list_roots_callback=self._on_roots,
            logging_callback=self._on_log,
            message_handler=self._on_message,
            log_level=self._around.log_level(),
            cache=None,
        )

    async def _serve(self) -> None:
        """What comes after the tools are known, until the end."""
        capabilities = self.client.server_capabilities
        for kind in KINDS[1:]:
            if getattr(capabilities, kind) is not None:
                self._dirty.add(kind)
            else:
                # Whoever waits for the list need not: it is empty.
                self._around.listed(kind)
        self._wake.set()
        beside = [self._loop.create_task(self._listen())]
        if level := self._around.log_level():
            beside.append(self._loop.create_task(self.set_level(level)))
        try:
            while not self.leaving:
                await self._wake.wait()
                self._wake.clear()
                if self.leaving:
                    return
                if self.lost or self.wants_auth:
                    raise ConnectionLostError(self.lost or self.wants_auth)
                if self._trouble:
                    await self._probe()
                elif self._dirty:
                    await self._relist()
        finally:
            self.client = None
            for task in beside:
                task.cancel()
            await asyncio.wait(beside, timeout=1.0)

    async def _relist(self) -> None:
        await asyncio.sleep(SETTLE_S)
        while self._dirty and not (self.lost or self.leaving):
            kind = self._dirty.pop()
            try:
                await self._list(kind)
            except Exception as error:
                self._around.noted(f"its {kind} could not be listed: {words_of(error)}")
            self._around.listed(kind)
        # Whatever came meanwhile is looked at next.
        self._wake.set()

    async def _list(self, kind: Kind) -> None:
        around, client = self._around, self.client
        seconds = around.config.list_timeout_s
        note = around.noted
        match kind:
            case "tools":
                try:
                    found = await list_tools(client, seconds=seconds, note=note)
                except Exception as error:
                    if client.server_capabilities.tools is not None or not is_mcp_error(error):
                        raise
                    found = []
                around.catalog.tools = found
            case "resources":
                name = around.config.name
                around.catalog.resources = await list_resources(
                    client, name, seconds=seconds, note=note
                )
            case "prompts":
                name = around.config.name
                around.catalog.prompts = await list_prompts(
                    client, name, seconds=seconds, note=note
                )

    async def _probe(self) -> None:
        """A request could not be sent or broke off: is the server still there?"""
        why, self._trouble = self._trouble, ""
        if self._stream_breaks >= 2:
            self.lose(f"its stream of events broke: {why}")
            return
        try:
            async with asyncio.timeout(PROBE_S):
                await self.client.list_tools()
        except Exception as error:
            if not is_mcp_error(error) or self._trouble:
                self.lose(self._trouble or why)

    async def _listen(self) -> None:
        """Changes of lists in the newer protocol: a stream that is opened again when it ends."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        if self._around.catalog.protocol not in MODERN_PROTOCOL_VERSIONS:
            return
        capabilities = self.client.server_capabilities
        kinds: list[Kind] = [
            k for k in KINDS if getattr(getattr(capabilities, k), "list_changed", None)
        ]
        wanted = {f"{kind}_list_changed": True for kind in kinds}
        missed = False
        pause = RELISTEN_S
        while kinds:
            begun = self._loop.time()
            try:
                async with self.client.listen(**wanted) as changes:
                    if missed:
                        # What happened while nobody listened is found out by looking.
                        self._changed(*kinds)
                    async for change in changes:
                        self._changed(*_kinds_of(change))
            except Exception as error:
                if is_method_missing(error):
                    return
                said = f"no notice of changes of lists: {words_of(error)}"
                self._around.server_log.line("agent-tui", said)
            missed = True
            lasted = self._loop.time() - begun > LISTENED_S
            pause = RELISTEN_S if lasted else min(pause * 2, LISTENED_S)
            await asyncio.sleep(pause)

    async def set_level(self, level: LogLevel) -> None:
        """Ask a server of the older protocol for its log messages of this level and above."""
        client = self.client
        if client is None or client.server_capabilities.logging is None:
            return
        if client.session.initialize_result is not None:
            from mcp_types import EmptyResult, SetLevelRequest, SetLevelRequestParams

            request = SetLevelRequest(params=SetLevelRequestParams(level=level))
            await self._try(client.session.send_request(request, EmptyResult))

    async def roots_changed(self) -> None:
        """Tell a server of the older protocol; the newer asks when it needs to know."""
        client = self.client
        if client is not None and client.session.initialize_result is not None:
            from mcp_types import RootsListChangedNotification

            await self._try(client.session.send_notification(RootsListChangedNotification()))

    async def _try(self, work: Awaitable[Any]) -> None:
        try:
            async with asyncio.timeout(PROBE_S):
                await work
        except Exception as error:
            self._around.server_log.line("agent-tui", f"refused: {words_of(error)}")

    # --- news ------------------------------------------------------------------------------------

    def _ended(self) -> None:
        self.lose("the connection ended")

    def _lose_session(self) -> None:
        self.session_lost = True
        self.lose("the server has forgotten the session")

    def _on_stream_trouble(self, why: str) -> None:
        # The SDK gives its stream of events up after two of these.
        if self.since is not None:
            self._stream_breaks += 1
        self.suspect(why)

    def want_auth(self, why: str) -> None:
        """Only a login helps."""
        name = self._around.config.name
        if any(header.lower() == "authorization" for header in self._resolved.headers):
            hint = "The Authorization header of its configuration is not accepted"
        else:
            hint = f"Log in with /mcp login {name}"
        self.wants_auth = f"{why}. {hint}"
        self._on_lost()
        self._wake.set()

    def _changed(self, *kinds: Kind) -> None:
        self._dirty |= set(kinds)
        self._wake.set()

    async def _on_message(self, message: Any) -> None:
        """Notifications of the older protocol."""
        match type(message).__name__:
            case "ToolListChangedNotification":
                self._changed("tools")
            case "ResourceListChangedNotification":
                self._changed("resources")
            case "PromptListChangedNotification":
                self._changed("prompts")
            case "ElicitCompleteNotification":
                self._around.url_done(str(message.params.elicitation_id))
            case _:
                pass

    async def _on_log(self, params: Any) -> None:
        """Logging notifications: into the server's log, bounded as its stderr is."""
        text = params.data if isinstance(params.data, str) else repr(params.data)
        origin = f"{params.logger}: " if params.logger else ""
        line = f"{origin}{cut(text, 4000)}\n".encode("utf-8", "replace")
        self._around.server_log.feed(str(params.level), line)

    async def _on_roots(self, context: Any) -> Any:
        """The folders this server may be told of."""
        from mcp_types import ListRootsResult, Root

        roots = self._around.roots()
        return ListRootsResult(
            roots=[Root.model_validate({"uri": p.as_uri(), "name": p.name}) for p in roots]
        )


def _kinds_of(change: Any) -> list[Kind]:
    """Of a ToolsListChanged and such."""
    name = type(change).__name__.lower()
    return [kind for kind in KINDS if name.startswith(kind)]


@contextlib.asynccontextmanager
async def _tapped(inner: Any, tap: Tap) -> AsyncGenerator[tuple[Any, Any]]:
    async with inner as (read, write):
        yield tap.wrap(read, write)
