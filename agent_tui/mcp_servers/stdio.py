"""The transport over a server's pipes: lines to messages and back.

Our own in place of the SDK's: what is no message on stdout is noted and not a traceback, large
messages are read in a thread, and an answer that is no valid one fails its own call.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from agent_tui.mcp_servers.readable import IN_THREAD, read_message
from agent_tui.mcp_servers.server_log import ServerLog
from agent_tui.mcp_servers.server_process import ServerEndedError, ServerProcess
from agent_tui.text import clean, cut

Note = Callable[[str], None]
"""Takes a line for the user."""

MAX_JUNK = 2 * 1024 * 1024
"""Bytes on stdout, since the last message, that are none."""


@contextlib.asynccontextmanager
async def stdio_transport(
    process: ServerProcess, server_log: ServerLog, note: Note
) -> AsyncGenerator[tuple[Any, Any]]:
    """The pair of streams that a client session speaks over. Leaving it ends the process.
    note: see messages()."""
    import anyio
    from mcp.shared.message import SessionMessage

    into, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with into:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for message in messages(process, server_log, note):
                    await into.send(SessionMessage(message))

    async def write() -> None:
        try:
            async with outgoing:
                async for item in outgoing:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.send(text.encode() + b"\n")
        except ServerEndedError:
            process.lines.end()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield read_stream, write_stream
        finally:
            closing = process.close_soon()
            read_stream.close()
            write_stream.close()
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.shield(closing)


async def messages(
    process: ServerProcess, server_log: ServerLog, note: Note
) -> AsyncGenerator[Any]:
    """The JSON-RPC messages of a process; note hears of those that could not be read as they are.
    Other lines go to the log, and note hears of the first; too many of them are the end, with
    the first of them as the reason."""
    junk = 0
    first_junk = ""
    while (line := await process.lines.next()) is not None:
        if len(line) > IN_THREAD:
            read = await asyncio.to_thread(read_message, line)
        else:
            read = read_message(line)
        for trouble in read.troubles:
            note(trouble)
        if read.messages:
            junk = 0
            for message in read.messages:
                yield message
            continue
        server_log.feed("stdout", line + b"\n")
        junk += len(line)
        if not first_junk and (first_junk := _first_words(line)):
            note(f"it writes to stdout what is no message: {first_junk}")
        # What is ready does not suspend by itself.
        await asyncio.sleep(0)
        if junk > MAX_JUNK:
            process.lines.fail(
                f"it writes something else than MCP messages to its standard output: {first_junk}"
            )


def _first_words(output: bytes) -> str:
    """The first line in it that says something, short."""
    lines = output[:400].decode("utf-8", "replace").splitlines()
    return next((said for line in lines if (said := clean(cut(line, 80)).strip())), "")
