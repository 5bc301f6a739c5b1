"""Lines in and out of file descriptors, each in a thread of its own.

A descriptor may be a pipe, a file, a terminal or /dev/null: the event loop can wait for some
of them only, and a reader of ours that is slow or gone must not stop it. Both threads are
daemons: a blocked read or write does not keep the process from ending.
"""

import asyncio
import json
import logging
import math
import os
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from pydantic_core import to_json

from agent_tui.text import terminal_safe_json, whole_surrogates

log = logging.getLogger(__name__)

READ_BYTES = 65_536
LINES_AHEAD = 16
"""So many lines are read before the first of them is asked for."""

PIECE_S = 0.005
"""What is said within so many seconds goes out in one piece: waking the thread for each delta
costs more than the delta. What is said after a silence goes out at once."""

FLUSH_S = 2.0
"""So long (seconds) the end waits for a reader that does not take its lines."""

_END = b"\n"
"""After the last line; no line holds a newline."""


class LineReader:
    """The lines of a descriptor, without their newline. Make it in a running event loop.

    limit: bytes of a line; a longer one is given as None, and the rest of it is skipped.
    """

    def __init__(self, fd: int, limit: int) -> None:
        self._fd = fd
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(LINES_AHEAD)
        threading.Thread(target=self._read, name="read lines", daemon=True).start()

    async def lines(self) -> AsyncIterator[bytes | None]:
        """Ends at the end of the file; a last line without a newline counts."""
        while (line := await self._lines.get()) != _END:
            self._room.release()
            yield line

    def _read(self) -> None:
        parts: list[bytes] = []
        size = 0
        with suppress(RuntimeError):  # the event loop ended first
            while chunk := self._read_some():
                *whole, rest = chunk.split(b"\n")
                for piece in whole:
                    size += len(piece)
                    self._give(b"".join((*parts, piece)) if size <= self._limit else None)
                    parts, size = [], 0
                size += len(rest)
                if size <= self._limit:
                    parts.append(rest)
                else:
                    parts = []
            if size:
                self._give(b"".join(parts) if size <= self._limit else None)
            self._give(_END)

    def _read_some(self) -> bytes:
        try:
            return os.read(self._fd, READ_BYTES)
        except OSError as error:
            log.warning("the input cannot be read any more: %s", error)
            return b""

    def _give(self, line: bytes | None) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class LineWriter:
    """JSON objects as lines on a descriptor, in order; write() never blocks.

    What cannot be written yet waits in memory. `closed` is set when nobody reads any more.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._lines: deque[bytes] = deque()
        self._batches: SimpleQueue[bytes | asyncio.Future[None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._broken = False
        self._handed_over = -PIECE_S
        self.closed = asyncio.Event()

    def write(self, value: dict[str, Any]) -> None:
        """Values that JSON does not know are written as their text, numbers that it does not
        know as null."""
        if self._broken:
            return
        line = encode_line(value)
        if not self._lines:
            self._loop.call_at(self._handed_over + PIECE_S, self._hand_over)
        self._lines.append(line)

    async def flush(self, patience: float = FLUSH_S) -> bool:
        """Until all is written; False when the reader did not take it in `patience` seconds."""
        self._hand_over()
        if self._thread is None or self._broken:
            return not self._broken
        written: asyncio.Future[None] = self._loop.create_future()
        self._batches.put(written)
        done, _ = await asyncio.wait((written,), timeout=patience)
        return bool(done) and not self._broken

    def _hand_over(self) -> None:
        if not self._lines:
            return
        self._handed_over = self._loop.time()
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="write lines", daemon=True)
            self._thread.start()
        self._batches.put(b"".join(self._lines))
        self._lines.clear()

    # --- in the thread ------------------------------------------------------------

    def _write(self) -> None:
        with suppress(RuntimeError):  # the event loop ended first
            while True:
                batch = self._batches.get()
                if not isinstance(batch, bytes):
                    self._loop.call_soon_threadsafe(_settle, batch)
                elif not self._broken:
                    self._write_all(batch)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            log.info("nobody reads what is written: %s", error)
            self._broken = True
            self._loop.call_soon_threadsafe(self.closed.set)


def encode_line(value: dict[str, Any]) -> bytes:
    """One line of UTF-8 JSON, newline included; nothing in it acts on a terminal."""
    try:
        line = to_json(value, inf_nan_mode="null", fallback=str)
    except ValueError:  # half a surrogate pair, or nested very deeply
        line = json.dumps(_plain(value), ensure_ascii=False).encode("utf-8")
    if not line.isascii() or b"\x7f" in line:
        line = terminal_safe_json(line.decode("utf-8")).encode("utf-8")
    return line + b"\n"


def _plain(value: Any) -> Any:
    match value:
        case str():
            return whole_surrogates(value)
        case dict():
            return {whole_surrogates(str(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
        case None | int():
            return value
        case _:
            return whole_surrogates(str(value))


def _settle(written: "asyncio.Future[None]") -> None:
    if not written.done():
        written.set_result(None)
