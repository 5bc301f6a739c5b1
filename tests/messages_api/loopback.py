"""A server on loopback that a test scripts byte by byte, and that sees when a client leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Json = dict[str, Any]

BOUND = 20
"""Seconds after which a block with a server has failed: whatever it waits for does not come."""


class Exchange:
    """One request as received, and the writing half for its answer."""

    def __init__(
        self, head: str, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.head = head
        self.body = body
        self._reader = reader
        self._writer = writer

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def path(self) -> str:
        return self.head.split(" ")[1]

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.split("\r\n")[1:]
        return {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}

    async def begin(
        self, status: int = 200, kind: str = "text/event-stream", extra: str = ""
    ) -> None:
        await self._write(
            f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n"
            f"{extra}\r\n".encode()
        )

    async def send(self, body: bytes) -> None:
        await self._write(b"%x\r\n%s\r\n" % (len(body), body))

    async def end(self) -> None:
        await self._write(b"0\r\n\r\n")

    async def answer(
        self, status: int, body: Any, kind: str = "application/json", extra: str = ""
    ) -> None:
        await self.begin(status, kind, extra)
        await self.send(body if isinstance(body, bytes) else json.dumps(body).encode())
        await self.end()

    def close(self) -> None:
        """Cut the connection, in the middle of the body."""
        self._writer.close()

    async def client_gone(self) -> None:
        """Returns when the client closes its end."""
        while await self._reader.read(1024):
            pass

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


Handler = Callable[[Exchange], Awaitable[None]]


class Loopback:
    """url, and every exchange so far; connections: how many a client opened."""

    def __init__(self, handler: Handler) -> None:
        self.url = ""
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.failures: list[BaseException] = []
        self._handler = handler

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = 0
                for line in head.lower().split("\r\n"):
                    if line.startswith("content-length:"):
                        length = int(line.split(":")[1])
                exchange = Exchange(head, await reader.readexactly(length), reader, writer)
                self.exchanges.append(exchange)
                await self._handler(exchange)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception as error:
            self.failures.append(error)
        finally:
            writer.close()


@asynccontextmanager
async def loopback(handler: Handler) -> AsyncIterator[Loopback]:
    """A server for the time of the block, which is bounded; a handler that fails fails the test."""
    here = Loopback(handler)
    server = await asyncio.start_server(here.serve, "127.0.0.1", 0)
    here.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with asyncio.timeout(BOUND):
            yield here
    finally:
        server.close()
    assert not here.failures, here.failures
