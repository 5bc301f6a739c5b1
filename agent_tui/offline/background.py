"""uvicorn in a thread of its own, started and stopped from another thread."""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

_STOP_SECONDS = 2.0


class BackgroundServer:
    """Serves an ASGI app on a listening socket until stop().

    start() returns once connections are accepted; it imports uvicorn. stop() drops every
    connection, so that no answer is completed by the server's going.
    """

    def __init__(self, app: Any, listener: socket.socket) -> None:
        self._app = app
        self._listener = listener
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] | None = None

    def start(self) -> bool:
        """False when the server did not come up within 10 seconds."""
        serve = _make_server(self._app, self._listener, self._on_start)
        self._thread = threading.Thread(target=serve, name="offline-server", daemon=True)
        self._thread.start()
        return self._ready.wait(10)

    def _on_start(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        self._ready.set()

    def stop(self) -> None:
        if self._stop is not None:
            # A loop that is closed has ended already.
            with contextlib.suppress(RuntimeError):
                self._stop()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS + 3)
            if self._thread.is_alive():
                log.warning("the offline server's thread did not end")


def _make_server(
    app: Any, listener: socket.socket, on_start: Callable[[Callable[[], object]], None]
) -> Callable[[], None]:
    """A function for the thread to run. on_start gets what stops the server, from any thread."""
    import uvicorn

    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=60,
    )

    class Server(uvicorn.Server):
        """uvicorn 0.54 looks every 0.1 s whether it should end; this one sleeps until it should.

        Its own shutdown lets answers under way finish, and answers 500 where none was begun.
        """

        async def main_loop(self) -> None:
            await self.on_tick(0)
            leave = asyncio.Event()
            loop = asyncio.get_running_loop()
            on_start(lambda: loop.call_soon_threadsafe(leave.set))
            await leave.wait()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for server in self.servers:
                server.close()
            for connection in list(self.server_state.connections):
                transport = connection.transport
                if transport is not None:
                    transport.abort()
            if self.server_state.tasks:
                await asyncio.wait(self.server_state.tasks, timeout=_STOP_SECONDS)

    def serve() -> None:
        with listener:
            asyncio.run(Server(config).serve(sockets=[listener]))

    return serve
