"""One call of a tool: its time, its cancelling, its connection's end, its errors in words."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from agent_tui.mcp_servers.http import AUTH_WANTED, BROKEN, SESSION_LOST, UNREACHABLE
from agent_tui.mcp_servers.types import McpError
from agent_tui.text import clean, cut, duration

if TYPE_CHECKING:
    from agent_tui.mcp_servers.connection import ServerConnection
    from agent_tui.mcp_servers.life import Life

log = logging.getLogger(__name__)

LONGEST = 24
"""A call may last so many times its time-out if it reports progress all the time."""
_LOOK_S = 1.0
_AUTH_S = 10.0


class CallTimeoutError(McpError):
    """The server was silent for too long; it has been told to stop."""


async def call(
    connection: "ServerConnection",
    name: str,
    arguments: dict[str, Any],
    progress: Callable[..., Awaitable[None]],
) -> Any:
    """A CallToolResult of the server. progress(done, total, message) as the server reports.

    Cancelling it tells the server. Raises McpError (what to do), MCPError (the server refused);
    tries once more over a new connection where the request cannot have reached the server.
    """
    from agent_tui.mcp_servers.life import ConnectionLostError

    connection.running_calls += 1
    try:
        try:
            return await _attempt(connection, name, arguments, progress)
        except ConnectionLostError as lost:
            if not lost.safe:
                raise
        # It never reached the server: no harm in another try over a new connection.
        return await _attempt(connection, name, arguments, progress)
    finally:
        connection.running_calls -= 1


async def _attempt(
    connection: "ServerConnection",
    name: str,
    arguments: dict[str, Any],
    progress: Callable[..., Awaitable[None]],
) -> Any:
    life = await connection.ready()
    silent_for = connection.around.config.call_timeout_s
    loop = asyncio.get_running_loop()
    started = last = loop.time()

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        nonlocal last
        last = loop.time()
        await progress(done, total, message)

    task = loop.create_task(
        life.client.call_tool(
            name,
            arguments,
            read_timeout_seconds=silent_for * LONGEST * 2,
            progress_callback=on_progress,
        )
    )
    try:
        while True:
            left = min(last + silent_for, started + silent_for * LONGEST) - loop.time()
            if left <= 0:
                connection.leave_behind(task)
                raise CallTimeoutError(_too_long(connection.name, loop.time() - last, silent_for))
            done, _ = await asyncio.wait({task}, timeout=min(left, _LOOK_S))
            if done:
                break
            if connection.around.asks.asking:
                # The time in which a person is asked is not the server's.
                last = started = loop.time()
    except asyncio.CancelledError:
        connection.leave_behind(task)
        if connection.running_calls == 1:
            # A server's questions come without a word about the call they are for.
            connection.around.asks.withdraw()
        raise
    return await _outcome(connection, life, task)


def _too_long(server: str, silent_s: float, limit_s: float) -> str:
    said = f"said nothing for {duration(limit_s)}" if silent_s >= limit_s else "took too long"
    return (
        f"The MCP server {server} {said}, so the call was stopped. It may still have had an "
        "effect. The limit is call_timeout_s in the server's configuration."
    )


async def _outcome(connection: "ServerConnection", life: "Life", task: "asyncio.Task[Any]") -> Any:
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    from agent_tui.mcp_servers.life import ConnectionLostError

    try:
        return task.result()
    except asyncio.CancelledError:
        # The client went away under the call.
        why = await connection.lost_reason(life)
        raise ConnectionLostError(_lost(connection.name, why)) from None
    except MCPError as error:
        if error.code in (UNREACHABLE, SESSION_LOST):
            life.lose(error.message)
            why = f"the request was not taken: {error.message}"
            raise ConnectionLostError(_lost(connection.name, why), safe=True) from error
        if error.code == AUTH_WANTED:
            # Whoever reads the result shall find the server in the state it speaks of.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AUTH_S):
                    await connection.until_settled()
            raise McpError(connection.how_to_connect()) from error
        if error.code in (CONNECTION_CLOSED, BROKEN):
            if error.code == BROKEN or not (life.lost or life.process):
                # This answer broke off; whether the server is still there is looked at.
                life.suspect(error.message)
                why = error.message
            else:
                why = await connection.lost_reason(life)
            raise ConnectionLostError(_lost(connection.name, why)) from error
        raise


def _lost(server: str, why: str) -> str:
    return (
        f"The connection to the MCP server {server} was lost during the call: {why}. The call may "
        "or may not have had an effect; the next one waits for a new connection."
    )


def error_text(error: BaseException, server: str) -> str:
    """An error of a call for the model, in a sentence or two."""
    from mcp import MCPError

    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, McpError):
        return str(error)
    if isinstance(error, MCPError):
        said = cut(error.message, 2000).strip() or "no reason given"
        return f"The MCP server {server} refused: {said}"
    log.warning("a call of %s failed", server, exc_info=error)
    return (
        f"The MCP server {server} sent an answer that cannot be used: {clean(cut(str(error), 300))}"
    )
