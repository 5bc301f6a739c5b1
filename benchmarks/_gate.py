"""A relay before the server that can hold a stream at certain deltas, so that what the reader
has spent until then can be looked at."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

_MARK = b"event: content_block_delta"


class Gate:
    """hold_at(n, ...): the streams from now on stop after so many deltas; wait_held() until one
    has, go_on() lets it pass."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._holds: list[int] = []
        self._held = threading.Event()
        self._open = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_at(self, *deltas: int) -> None:
        self._holds = list(deltas)

    def wait_held(self, seconds: float = 300) -> None:
        if not self._held.wait(seconds):
            raise TimeoutError("the stream does not get to the gate")
        self._held.clear()

    def go_on(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                reader, _ = self._listener.accept()
                threading.Thread(target=self._relay, args=(reader,), daemon=True).start()

    def _relay(self, reader: socket.socket) -> None:
        with suppress(OSError), reader, socket.create_connection(self._target) as server:
            tail, count = b"", 0
            while True:
                for ready in select.select([reader, server], [], [])[0]:
                    data = ready.recv(16384)
                    if not data:
                        return
                    if ready is reader:
                        server.sendall(data)
                        continue
                    count += (tail + data).count(_MARK)
                    tail = (tail + data)[1 - len(_MARK) :]
                    reader.sendall(data)
                    if self._holds and count >= self._holds[0]:
                        self._holds.pop(0)
                        self._open.clear()
                        self._held.set()
                        self._open.wait()


@contextmanager
def gated(target: str) -> Iterator[Gate]:
    gate = Gate(target)
    try:
        yield gate
    finally:
        gate.go_on()
        gate.close()
