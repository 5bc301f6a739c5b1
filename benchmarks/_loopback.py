"""The streaming server that the benchmarks read from, in a process of its own."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Json = dict[str, Any]


def chunks(events: Iterable[Json], per_chunk: int) -> list[bytes]:
    """Raw events as SSE bytes, so many to an HTTP chunk."""
    encoded = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events]
    return [b"".join(encoded[n : n + per_chunk]) for n in range(0, len(encoded), per_chunk)]


async def serve(answer_to: Callable[[Json], list[bytes]]) -> None:
    """Print the port; answer every POST with the chunks that answer_to makes of its body."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                parts = answer_to(json.loads(await reader.readexactly(length)))
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                    b"transfer-encoding: chunked\r\n\r\n"
                )
                for part in parts:
                    writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # the parent closes it, or dies


@contextmanager
def served(script: str, *options: str) -> Iterator[int]:
    """The port of `script --serve OPTIONS`, which runs meanwhile."""
    server = subprocess.Popen(
        [sys.executable, script, "--serve", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline())
    finally:
        server.terminate()
        server.wait()
