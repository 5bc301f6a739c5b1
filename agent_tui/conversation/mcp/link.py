"""McpLink: the MCP servers of one conversation, as the conversation and its faces know them.

It makes the manager when it is first needed (in a thread: its imports take a while), offers what
servers bring to the toolset, and tells their news as ConversationEvents. Nothing is started
where no server is configured.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_tui import paths
from agent_tui.agent.messages import AgentMessage
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation.events import ConversationEvent, McpServerChangedEvent, NoticeEvent
from agent_tui.conversation.mcp.deferral import Deferral
from agent_tui.conversation.mcp.instructions import instructions_text
from agent_tui.conversation.mcp.mentions import Mentions
from agent_tui.conversation.mcp.notices import ServerNotices
from agent_tui.conversation.mcp.plan import McpPlan
from agent_tui.conversation.mcp.project import Choose, ask_for_project_servers
from agent_tui.conversation.mcp.prompts import ServerPrompts
from agent_tui.conversation.mcp.questions import Questions
from agent_tui.conversation.mcp.sampling import Sampler
from agent_tui.conversation.tool_offer import ToolOffer
from agent_tui.conversation.toolset import BUILTIN, CONNECTOR, SERVER, Exposure, Toolset
from agent_tui.text import clean
from agent_tui.tools.output import cap_text

if TYPE_CHECKING:
    from agent_tui.mcp_servers import McpManager
    from agent_tui.mcp_servers.types import Approval, McpEvent, ServerSnapshot

log = logging.getLogger(__name__)

Emit = Callable[[ConversationEvent], None]

_CATALOGS = ("resources", "prompts")

_EXPOSURES: dict[str, Exposure] = {
    "direct": "direct", "programmatic": "programmatic", "both": "both", "off": "off",
}  # fmt: skip


class McpLink:
    """See module docstring. On the event loop's thread, but for what it puts into threads itself.

    questions: what servers ask of the user. window: tokens of the model's context, None unknown.
    forget_tools: called with what the names of tools began with whose server is gone: another
    of the same name inherits nothing that was allowed. tool_offer: takes the instructions of
    servers, and offers what is new before a request.
    """

    def __init__(
        self,
        cwd: str,
        plan: McpPlan,
        toolset: Toolset,
        emit: Emit,
        *,
        sampler: Sampler | None = None,
        window: Callable[[], int | None] = lambda: None,
        forget_tools: Callable[[str], None] = lambda prefix: None,
    ) -> None:
        self._cwd, self._plan, self._toolset, self._emit = cwd, plan, toolset, emit
        self._window, self._forget_tools = window, forget_tools
        self.questions = Questions(emit, sampler if plan.interactive else None)
        self.prompts = ServerPrompts(self)
        self.mentions = Mentions(self)
        self._notices = ServerNotices(emit)
        self._deferral = Deferral(plan.defer_share, can_search=plan.can_defer)
        self._manager: McpManager | None = None
        self._making = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._began = 0.0
        self._since: dict[str, float] = {}
        """Since when a server has been trying to connect, its failures in between included."""
        self._told_missing: frozenset[str] = frozenset()
        self._went_without = False
        """A request went out before it was known which servers there are."""
        self._tools: dict[str, tuple[AgentTool, ...]] = {}
        self._offered: dict[str, tuple[Any, ...]] = {}
        """What the toolset has of each server, without the functions (which are always new)."""
        self._closed = False
        self._news = asyncio.Event()
        self._catalogs: set[tuple[str, str]] = set()
        """(server, "resources" or "prompts") of what has been listed."""
        self.tool_offer: ToolOffer | None = None
        self.tells_notes = True
        """Notes about servers are told as they come; else they are only kept."""

    # --- the manager ------------------------------------------------------------------------

    @property
    def manager(self) -> "McpManager | None":
        """None until it was needed for the first time."""
        return self._manager

    def begin(self) -> None:
        """Read the configuration and connect to what is in it, in the background."""
        if self._opening is None:
            self._began = asyncio.get_running_loop().time()
            self._opening = self.in_background(self._open(), "open MCP servers")

    async def _open(self) -> None:
        """Where nothing is configured, nothing is imported."""
        if await asyncio.to_thread(is_anything_configured, self._cwd, self._plan):
            await self.get_manager()

    async def opened(self) -> "McpManager | None":
        """The manager once the configuration has been looked at; None where there is no server."""
        if self._opening is not None and not self._opening.done():
            await asyncio.wait({self._opening})
        return self._manager

    async def get_manager(self) -> "McpManager":
        """The manager, with the configuration read and its servers connecting."""
        async with self._making:
            if self._manager is None:
                manager, warnings = await asyncio.to_thread(self._make)
                self._manager = manager
                for warning in warnings:
                    self._emit(NoticeEvent("warning", warning))
                if not self._closed and manager.servers() and self._plan.connects:
                    manager.start()
                    self._tell_unapproved(manager)
                    if self._went_without:
                        self._tell_missing()
        return self._manager

    def _make(self) -> "tuple[McpManager, list[str]]":
        from agent_tui.mcp_servers import McpManager

        interactive = self._plan.interactive
        manager = McpManager(
            self._cwd,
            on_event=self._on_event,
            cap_text=lambda text, name: cap_text(text, self._plan.output_dir, name),
            elicit=self.questions.elicit if interactive else None,
            sample=self.questions.sample if interactive and self.questions.can_sample else None,
            reserved_names=self._toolset.names(),
        )
        return manager, manager.load(self._plan.user_toml, self._plan.project_toml)

    def in_background(self, work: Coroutine[Any, Any, Any], name: str) -> "asyncio.Task[Any]":
        """Run this on; a failure of ours is logged and told, and ends nothing else."""
        task: asyncio.Task[Any] = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)
            self._emit(NoticeEvent("error", f"MCP: {clean(error) or type(error).__name__}"))

    def ask_with(self, choose: Choose) -> None:
        """Ask for the project's servers, in the background: the conversation waits for none."""
        self.in_background(ask_for_project_servers(self, choose), "ask for the project's servers")

    async def settled(self) -> None:
        """Until everything in the background has ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """End all servers and what was asked for them; bounded."""
        self._closed = True
        self.questions.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._manager is not None:
            await self._manager.close()

    # --- what there is ------------------------------------------------------------------------

    def servers(self) -> list[str]:
        """Names of all, sorted; [] before the configuration is read."""
        return self._manager.servers() if self._manager is not None else []

    def snapshot(self, name: str) -> "ServerSnapshot":
        """Raises McpError for a name that is not there."""
        from agent_tui.mcp_servers import McpError

        if self._manager is None:
            raise McpError(f"There is no MCP server {clean(name)}.")
        return self._manager.snapshot(name)

    def snapshots(self) -> "list[ServerSnapshot]":
        """Of all servers, by name; [] before the configuration is read."""
        return self._manager.snapshots() if self._manager is not None else []

    def state(self) -> list[dict[str, Any]]:
        """For RPC `state`: plain JSON values."""
        return [
            {
                "server": s.name, "state": s.state, "tools": _count(s), "error": s.error,
                "scope": s.scope, "target": s.target,
            }
            for s in self.snapshots()
        ]  # fmt: skip

    def awaiting_approval(self) -> "list[ServerSnapshot]":
        """Servers of the project that nobody has approved or refused yet; also where the user's
        own of that name is used meanwhile."""
        return [s for s in self.snapshots() if s.approval_text]

    def owner(self, alias: str) -> tuple[str, str] | None:
        """(server, the tool's own name); None for a tool that is no server's."""
        return self._manager.resolve(alias) if self._manager is not None else None

    def approval(self, alias: str) -> "Approval":
        """What the configuration says of a server's tool: ask, allow or deny."""
        return self._manager.approval(alias) if self._manager is not None else "ask"

    # --- before a request -----------------------------------------------------------------------

    async def before_request(self, messages: list[AgentMessage]) -> list[AgentMessage]:
        """The loop's transform_context, which changes no message: faces without a screen wait
        here for servers that connect; elsewhere the user is told which are missing."""
        if self._opening is not None:
            if self._plan.wait_s is not None:
                await self.wait_ready()
            self._went_without = not self._opening.done()
            self._tell_missing()
        if self.tool_offer is not None:
            self.tool_offer.apply_now()
        return messages

    async def wait_ready(self, wait_s: float | None = None) -> list[str]:
        """Until no server connects any more that has not done so for wait_s (default: the plan's)
        seconds; the names of those still connecting."""
        limit = wait_s if wait_s is not None else self._plan.wait_s
        if limit is None or self._opening is None:
            return self.connecting()
        loop = asyncio.get_running_loop()
        if not self._opening.done():
            await asyncio.wait({self._opening}, timeout=max(0.0, self._began + limit - loop.time()))

        def times_left() -> list[float]:
            """Of the servers that still have some."""
            begun = (self._since.get(name, self._began) for name in self.connecting())
            return [left for at in begun if (left := at + limit - loop.time()) > 0]

        while left := times_left():
            await self._wait_until(lambda: not times_left(), max(left))
        return self.connecting()

    async def wait_for(self, servers: Collection[str], wait_s: float) -> None:
        """Until each of these has answered, or failed for the first time, or the time is over."""
        await self._wait_until(lambda: not set(servers) & set(self.connecting()), wait_s)

    async def wait_for_catalogs(self, wait_s: float, servers: Collection[str] = ()) -> None:
        """Until those of these servers (default: of all) that are connected have listed their
        resources and prompts, or the time is over."""

        def all_listed() -> bool:
            wanted = [s for s in self.snapshots() if not servers or s.name in servers]
            names = [s.name for s in wanted if s.state == "connected"]
            return all((n, what) in self._catalogs for n in names for what in _CATALOGS)

        await self._wait_until(all_listed, wait_s)

    async def _wait_until(self, true: Callable[[], bool], wait_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while not true():
                    self._news.clear()
                    await self._news.wait()

    def connecting(self) -> list[str]:
        """Names of servers that have not answered yet."""
        return self._manager.connecting() if self._manager is not None else []

    def _tell_missing(self) -> None:
        missing = frozenset(self.connecting())
        news = missing - self._told_missing
        self._told_missing = missing
        if news:
            self._emit(NoticeEvent("info", missing_words(sorted(news))))

    # --- news of the servers --------------------------------------------------------------------

    def _on_event(self, event: "McpEvent") -> None:
        from agent_tui.mcp_servers import types as t

        self._news.set()
        match event:
            case t.ServerChanged():
                self._emit(
                    McpServerChangedEvent(event.server, event.state, event.tools, event.error)
                )
                self._notices.changed(event.server, event.state, event.tools, event.error)
                if event.state == "connecting":
                    self._since.setdefault(event.server, asyncio.get_running_loop().time())
                elif event.state != "failed":
                    self._since.pop(event.server, None)
            case t.ToolsChanged():
                self._offer(event.server)
            case t.CatalogChanged():
                self._catalogs.add((event.server, event.what))
            case t.ServerRemoved():
                self._notices.forget(event.server)
                self._offer(event.server)
                self.forget_allowed(event.server)
                self._emit(McpServerChangedEvent(event.server, "removed"))
            case t.Notice():
                if self.tells_notes:
                    self._notices.note(event.server, event.text)
            case t.UrlDone():
                self.questions.url_done(event.server, event.elicitation_id)

    def expect(self, server: str) -> None:
        """The user has just asked for this server: say so when it is there."""
        self._since.pop(server, None)
        self._notices.expect(server)

    def forget_allowed(self, server: str) -> None:
        """It is another server by the same name now: what was allowed to it is asked anew."""
        from agent_tui.mcp_servers import server_prefix

        self._forget_tools(server_prefix(server))

    def log_in(self, server: str) -> None:
        """Begin a login in the background: a question of kind login, then a line that says how it
        ended."""
        self.in_background(self._log_in(server), f"log in at {server}")

    async def _log_in(self, server: str) -> None:
        from agent_tui.mcp_servers import McpError

        manager = await self.get_manager()
        address = ""

        async def show_url(url: str) -> None:
            nonlocal address
            address = url

        async def pasted() -> str | None:
            return await self.questions.log_in(server, address)

        self.expect(server)
        try:
            await manager.login(server, show_url=show_url, pasted=pasted)
        except McpError as error:
            self._emit(NoticeEvent("error", f"{clean(server)}: {error}"))
        else:
            self._emit(NoticeEvent("info", f"{clean(server)}: you are logged in."))

    def model_changed(self) -> None:
        """Another window: what is deferred may be other tools."""
        if self._manager is not None:
            self._offer()

    def _offer(self, changed: str = "") -> None:
        """Give the toolset what servers offer now; only what changed. changed: whose tools are
        others now; making those of all anew would cost a frame with many servers."""
        manager = self._manager
        if manager is None:
            return
        if changed:
            self._tools[changed] = tuple(manager.tools(changed))
        for name, tools in self._tools.items():
            # One whose alias has been given up for another server's sake has a new one.
            if any(manager.resolve(tool.name) is None for tool in tools):
                self._tools[name] = tuple(manager.tools(name))
        self._tools = {name: tools for name, tools in self._tools.items() if tools}
        found = self._deferral.apply(self._tools, manager.exposure, self._window())
        for name in self._offered.keys() - found.keys():
            self._toolset.withdraw(source_of(name))
        looks = {name: tuple(map(_look, tools)) for name, tools in found.items()}
        for name, tools in found.items():
            if self._offered.get(name) != looks[name]:
                own: dict[str, Exposure] = {
                    tool.name: _EXPOSURES[said]
                    for tool in tools
                    if (said := manager.exposure(tool.name)) in _EXPOSURES
                }
                self._toolset.offer(source_of(name), tools, own)
        self._offered = looks
        if self.tool_offer is not None:
            self.tool_offer.instructions(instructions_text(manager.instructions()))

    def _tell_unapproved(self, manager: "McpManager") -> None:
        names = [s.name for s in manager.snapshots() if s.state == "awaiting_approval"]
        if names and not self._plan.interactive:
            self._emit(NoticeEvent("warning", not_used_words(names)))


def is_anything_configured(cwd: str, plan: McpPlan) -> bool:
    """Whether a file may name a server. Blocking."""
    if paths.mcp_file().exists() or Path(cwd, ".mcp.json").exists():
        return True
    tomls = (path for path in (plan.user_toml, plan.project_toml) if path is not None)
    for path in tomls:
        with contextlib.suppress(OSError):
            if b"mcp" in path.read_bytes():
                return True
    return False


def source_of(server: str) -> str:
    """The name of a server's source in the toolset."""
    return f"{server} (MCP)" if server in (BUILTIN, SERVER, CONNECTOR) else server


def missing_words(names: Sequence[str]) -> str:
    """Of servers that a request goes without."""
    verb, their = ("is", "its") if len(names) == 1 else ("are", "their")
    return (
        f"{clean(', '.join(names))} {verb} still connecting: {their} tools join at the next "
        "request once they are there."
    )


def not_used_words(names: Sequence[str]) -> str:
    """Of a project's servers where nobody can be asked."""
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return (
        f"{clean(', '.join(names))} of this project's .mcp.json {verb} not used: nobody has "
        f"approved {them} here. Start agent-tui in this folder to be asked, or use "
        "`agent-tui mcp enable NAME`."
    )


def _count(snapshot: "ServerSnapshot") -> int:
    return sum(tool.enabled for tool in snapshot.tools) if snapshot.state == "connected" else 0


def _look(tool: AgentTool) -> tuple[Any, ...]:
    return (tool.name, tool.description, tool.parameters, tool.wire)
