"""The transport over a server's pipes: lines to messages and back.

Our own in place of the SDK's: what is no message on stdout is noted and not a traceback, large
messages are read in a thread, and an answer that is no valid one fails its own call.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from agent_tui.mcp_servers.server_log import ServerLog
from agent_tui.mcp_servers.server_process import BEGINNINGS, ServerEndedError, ServerProcess
from agent_tui.text import clean, cut

Note = Callable[[str], None]
"""Takes a line for the user."""

MAX_JUNK = 2 * 1024 * 1024
"""Bytes on stdout, since the last message, that are none."""
_IN_THREAD = 64 * 1024


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
    """The JSON-RPC messages of a process. Other lines go to the log, and note hears of the first;
    too many of them are the end, with the first of them as the reason."""
    junk = 0
    first_junk = ""
    while (line := await process.lines.next()) is not None:
        if len(line) > _IN_THREAD:
            found = await asyncio.to_thread(parse_line, line)
        else:
            found = parse_line(line)
        if found:
            junk = 0
            for message in found:
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


def parse_line(line: bytes) -> list[Any]:
    """The messages of a line: one, those of a batch, or none. An answer that breaks the rules
    becomes an error for its call, which would else wait for ever."""
    from mcp_types import jsonrpc_message_adapter as adapter

    start = line.lstrip()[:1]
    if start not in BEGINNINGS:
        return []
    if start == b"{":
        with contextlib.suppress(ValueError):
            return [adapter.validate_json(line, by_name=False)]
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return []
    found: list[Any] = []
    for item in value if isinstance(value, list) else [value]:
        with contextlib.suppress(ValueError):
            found.append(adapter.validate_python(mended(item), by_name=False))
    return found


def mended(item: Any) -> Any:
    """An invalid answer as an error answer with its id; all else as it is."""
    if not isinstance(item, dict) or "method" in item or not isinstance(item.get("id"), int | str):
        return item
    error = item.get("error")
    if isinstance(item.get("result"), dict) and error is None:
        return {"jsonrpc": "2.0", "id": item["id"], "result": item["result"]}
    code, text = -32603, "The server sent an answer that is not valid JSON-RPC."
    if isinstance(error, dict):
        text = str(error.get("message") or text)
        code = error["code"] if type(error.get("code")) is int else code
    elif error:
        text = str(error)
    return {"jsonrpc": "2.0", "id": item["id"], "error": {"code": code, "message": text}}
