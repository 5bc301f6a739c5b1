"""One server as long as it is wanted: a task connects, watches and connects again; others call.

Entering and leaving the SDK's client must happen in one task (facts: What breaks): it is the
task of _run(), which lives one Life after the other. A connection that ends is made anew with
growing pauses; a call that finds none waits for it, or says what to do.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

from agent_tui.mcp_servers.config import ConfigError
from agent_tui.mcp_servers.http import is_not_mcp
from agent_tui.mcp_servers.life import Life, Surroundings
from agent_tui.mcp_servers.oauth import auth_reason
from agent_tui.mcp_servers.sdk import is_mcp_error, root_of, words_of
from agent_tui.mcp_servers.server_process import ServerEndedError
from agent_tui.mcp_servers.types import LogLevel, McpError, ServerState
from agent_tui.mcp_servers.variables import resolve
from agent_tui.text import cut

log = logging.getLogger(__name__)

STOP_S = 4.0
STABLE_S = 60.0
"""A connection that lasted so long starts the pauses anew when it ends."""
LONGEST_PAUSE_S = 60.0
_FIRST_TRIES = 3
_LATER_TRIES = 8


class NotConnectedError(McpError):
    """There is no connection to call over; str() says why and what to do."""


class ServerConnection:
    """See module docstring. state is one of connecting, connected, failed, needs_auth.

    changed() is called whenever state or error are others.
    """

    def __init__(self, around: Surroundings, changed: Callable[[], None]) -> None:
        self.around = around
        self.name = around.config.name
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._settled = asyncio.Event()
        """Set while nothing is on its way: connected, given up, or in a pause."""
        self._stopping = False
        self._again = False
        self._life: Life | None = None
        self._left_behind: set[asyncio.Task[Any]] = set()
        self._sse = around.config.transport == "sse"
        self._turns_to_sse = False
        self._said_to_post = ""
        """What the server answered before the older transport was tried."""
        self._was_connected = False
        self._failures = 0
        self.state: ServerState = "connecting"
        self.error: str | None = None
        self._retry_at: float | None = None
        self.running_calls = 0

    # --- for the manager ---------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect."""
        self._task = self._loop.create_task(self._run(), name=f"mcp {self.name}")

    async def stop(self) -> None:
        """End the connection and its process, within STOP_S and a moment."""
        self._stopping = True
        self._wake.set()
        self._settled.set()
        if self._life:
            self._life.leave()
        if self._task is not None:
            done, _ = await asyncio.wait({self._task}, timeout=STOP_S)
            if not done:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=1.0)
        for left in list(self._left_behind):
            left.cancel()
        self.around.server_log.close()

    def reconnect(self) -> None:
        """Leave the connection there is, and the pause there may be, and begin anew."""
        self._again = True
        self._wake.set()
        if self._life:
            self._life.leave()
        # At once, so that whoever looks now waits for what comes of it.
        self._set("connecting", self.error)

    @property
    def offers_tools(self) -> bool:
        """Whether its tools are to be offered: also while a connection is made anew, so that a
        request's tools do not change with every hiccup."""
        if not self._was_connected or self._failures >= self._tries:
            return self.state == "connected"
        return self.state in ("connected", "connecting") or self._retry_at is not None

    @property
    def _tries(self) -> int:
        return _LATER_TRIES if self._was_connected else _FIRST_TRIES

    @property
    def _is_away(self) -> bool:
        """Whether it is a server elsewhere that was there: it may come back, or the network."""
        return self._was_connected and self.around.config.transport != "stdio"

    @property
    def wanted_scope(self) -> str:
        """The rights a login should ask for beside those the server names then."""
        store = self._life.store if self._life else None
        return store.wanted_scope if store else ""

    @property
    def latency_s(self) -> float | None:
        return self._life.tap.latency_s if self._life else None

    @property
    def connected_s(self) -> float | None:
        life = self._life
        if self.state != "connected" or life is None or life.since is None:
            return None
        return self._loop.time() - life.since

    @property
    def retry_in_s(self) -> float | None:
        return None if self._retry_at is None else max(0.0, self._retry_at - self._loop.time())

    async def until_settled(self) -> None:
        """Until it is connected, or has failed for now."""
        await self._settled.wait()

    async def set_level(self, level: LogLevel) -> None:
        if self._life:
            await self._life.set_level(level)

    async def roots_changed(self) -> None:
        if self._life:
            await self._life.roots_changed()

    # --- the owner ---------------------------------------------------------------------------

    async def _run(self) -> None:
        while not self._stopping:
            self._again = False
            self._set("connecting", self.error)
            text, retry = await self._live()
            if self._stopping:
                break
            life = self._life
            if self._again:
                self._failures = 0
                continue
            if self._turns_to_sse:
                self._turns_to_sse = False
                continue
            if life is not None and life.wants_auth:
                if life.store is not None and life.store.changed():
                    continue
                self._set("needs_auth", life.wants_auth)
                await self._pause(None)
                continue
            if life is not None and life.session_lost and self._failures == 0:
                self._failures = 1
                continue
            self._failures += 1
            again = retry and (self._failures < self._tries or self._is_away)
            pause = _pause_s(self._failures) if again else None
            self.around.server_log.line("agent-tui", text)
            self._set("failed", text, pause)
            await self._pause(pause)
        self._settled.set()

    async def _pause(self, seconds: float | None) -> None:
        """Until the time is over or something is asked for."""
        self._wake.clear()
        if self._stopping or self._again:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _live(self) -> tuple[str, bool]:
        """One connection from beginning to end: why it ended, and whether to try again."""
        around = self.around
        around.server_log.forget_stderr()
        self._life = None
        try:
            resolved = resolve(around.config, around.environ, around.folder)
        except ConfigError as error:
            return str(error), False
        around.server_log.secrets.add(resolved.secrets.values())
        self._life = life = Life(
            around, resolved, sse=self._sse, on_lost=lambda: self._on_lost(life)
        )
        try:
            await life.run(self._on_connected)
            return "", True
        except (Exception, BaseExceptionGroup) as error:
            return await self._problem_of(error, life)
        finally:
            await life.close()
            if life.since is not None and self._loop.time() - life.since > STABLE_S:
                self._failures = 0

    def _on_lost(self, life: Life) -> None:
        # An older connection may be spoken of when there is a new one already.
        if life is self._life and self.state == "connected":
            self._settled.clear()

    def _on_connected(self) -> None:
        self._was_connected = True
        catalog = self.around.catalog
        said = f"connected, protocol {catalog.protocol}, {len(catalog.tools)} tools"
        self.around.server_log.line("agent-tui", said)
        self.around.listed("tools")
        self._set("connected")

    def _set(
        self, state: ServerState, error: str | None = None, pause: float | None = None
    ) -> None:
        if error is not None:
            error = self.around.server_log.secrets.mask(error)
        self._retry_at = None if pause is None else self._loop.time() + pause
        changed = (state, error) != (self.state, self.error)
        self.state, self.error = state, error
        if state == "connecting":
            self._settled.clear()
        else:
            self._settled.set()
        if changed or pause is not None:
            self._changed()

    async def _problem_of(self, error: BaseException, life: Life) -> tuple[str, bool]:
        """Why a connection ended or never was, in words, and whether another may do better."""
        if life.leaving:
            return "", True
        error = root_of(error)
        if (why := auth_reason(error)) is not None and not life.wants_auth:
            life.want_auth(why)
        if isinstance(error, ServerEndedError):
            return str(error), False
        if life.process is None:
            text = words_of(error)
            if life.trouble and life.trouble not in text:
                text = f"{life.trouble}: {text}" if is_mcp_error(error) else life.trouble
            if self._try_sse(error, life):
                self._said_to_post = text
                return "", True
            if self._said_to_post and life.since is None:
                # Neither way: what it said to the first is what says most.
                text, self._said_to_post, self._sse = self._said_to_post, "", False
            return text, not is_not_mcp(error)
        text = words_of(error)
        if life.process.ended_by_itself:
            await life.process.settle()
            text = life.process.how_it_ended()
        said = [line for line in self.around.server_log.stderr_tail() if line not in text]
        return (f"{text}. It said: {cut(' | '.join(said), 400)}" if said else text), True

    def _try_sse(self, error: BaseException, life: Life) -> bool:
        """A URL whose transport nobody named and that knows no POST is tried as SSE, once."""
        guessed = self.around.config.guessed and not self._sse and life.since is None
        if guessed and is_mcp_error(error) and any(s in str(error) for s in ("404", "405")):
            self._sse = self._turns_to_sse = True
            return True
        return False

    # --- calls ---------------------------------------------------------------------------------

    async def ready(self) -> Life:
        """The connection to call over (its client is set), after waiting for one that is on its
        way. Raises NotConnectedError."""
        asked = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.around.config.connect_timeout_s):
                while (life := self._usable()) is None:
                    if self.state == "failed" and self._retry_at is not None and not asked:
                        # A call is a reason to try now and not when the pause is over.
                        asked = True
                        self._settled.clear()
                        self._wake.set()
                    elif self._settled.is_set():
                        break
                    await self.until_settled()
                else:
                    return life
        raise NotConnectedError(self.how_to_connect())

    def _usable(self) -> Life | None:
        life = self._life
        if life is None or life.client is None or self.state != "connected":
            return None
        return None if life.lost or life.wants_auth else life

    def how_to_connect(self) -> str:
        """Why there is no connection and what the user can do, in one or two sentences."""
        why = f": {self.error}" if self.error else ""
        if self.state == "needs_auth":
            return f"The MCP server {self.name} wants a login{why}."
        if self.state == "connecting":
            return f"The MCP server {self.name} is still connecting{why}. Try again in a while."
        return (
            f"The MCP server {self.name} is not connected{why}. "
            f"The user can try again with /mcp reconnect {self.name}."
        )

    async def lost_reason(self, life: Life) -> str:
        """After a request over it failed with "closed": why the connection ended."""
        if life.process is None:
            return life.lost or life.trouble or "the connection ended"
        await life.process.settle()
        said = self.around.server_log.stderr_tail(2)
        ended = life.process.how_it_ended()
        return f"{ended}. It said: {cut(' | '.join(said), 300)}" if said else ended

    def leave_behind(self, task: "asyncio.Task[Any]") -> None:
        """A request that was cancelled: it tells the server and is not waited for."""
        task.cancel()
        self._left_behind.add(task)

        def done(finished: "asyncio.Task[Any]") -> None:
            self._left_behind.discard(finished)
            if not finished.cancelled():
                finished.exception()

        task.add_done_callback(done)

    async def request(self, make: Callable[[Any], Awaitable[Any]]) -> Any:
        """A short request over the client there is: make(client). Raises McpError, also for what
        the server refuses."""
        from agent_tui.mcp_servers.calls import error_text

        life = await self.ready()
        try:
            return await make(life.client)
        except McpError:
            raise
        except Exception as error:
            text = self.around.server_log.secrets.mask(error_text(error, self.name))
            raise McpError(text) from error


def _pause_s(failures: int) -> float:
    """1, 2, 4, ... 60 s, a little apart from each other's."""
    return min(LONGEST_PAUSE_S, 2.0 ** min(failures - 1, 10)) * random.uniform(0.9, 1.1)
