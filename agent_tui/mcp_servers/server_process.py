"""A server's process: started, spoken to over its pipes, ended with all it made.

stderr goes to the server's log and never to the screen; the end is seen at once; the whole family
of the process is ended, also when this program dies (reaper.py).
"""

import asyncio
import contextlib
import itertools
import logging
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping

from agent_tui import processes
from agent_tui.mcp_servers.server_log import ServerLog
from agent_tui.mcp_servers.types import McpError
from agent_tui.mcp_servers.variables import Resolved
from agent_tui.processes import Family
from agent_tui.reaper import reaper
from agent_tui.text import clean, cut

log = logging.getLogger(__name__)

GRACE_S = 1.0
"""After its input has closed, and again after TERM."""
KILLED_S = 0.5
BEGINNINGS = (b"{", b"[")
"""What a message (or a batch of them) begins with."""
MAX_MESSAGE = 64 * 1024 * 1024
_MAX_AHEAD = 8 * 1024 * 1024
_INHERITED = (
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TMPDIR", "TZ",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy",
    "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "PATHEXT", "USERPROFILE",
)  # fmt: skip
_numbers = itertools.count(1)


class ServerEndedError(McpError):
    """The process is gone or cannot be spoken to; str() says how it ended."""


def child_environment(environ: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """What a server's process gets: a few plain variables of ours (no key of any service), and
    what its configuration says."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _INHERITED or name.startswith(("LC_", "XDG_"))
    }
    return kept | dict(own)


class ServerProcess:
    """One running server. Made by start(); its end is final."""

    def __init__(self, child: "subprocess.Popen[bytes]", mark: str, server_log: ServerLog) -> None:
        self._child = child
        self._log = server_log
        self._family = Family(child.pid, mark)
        self._input: asyncio.WriteTransport | None = None
        self._outputs: list[asyncio.BaseTransport] = []
        self.lines = _Lines()
        self._flow = _Flow(self.lines.end)
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, resolved: Resolved, environ: Mapping[str, str], server_log: ServerLog
    ) -> "ServerProcess":
        """Raises ServerEndedError when it cannot be started."""
        mark = f"{processes.own_mark()}mcp{next(_numbers)}"
        env = child_environment(environ, resolved.env) | {processes.MARK: mark}
        starting = asyncio.get_running_loop().run_in_executor(None, _spawn, resolved, env)
        try:
            child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_end_unwanted)
            raise
        process = cls(child, mark, server_log)
        try:
            await process._connect()
        except BaseException:
            process.close_soon()
            raise
        return process

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        child = self._child
        assert child.stdin and child.stdout and child.stderr
        self._outputs.append((await loop.connect_read_pipe(lambda: self.lines, child.stdout))[0])
        errors = _Errors(self._log)
        self._outputs.append((await loop.connect_read_pipe(lambda: errors, child.stderr))[0])
        self._input, _ = await loop.connect_write_pipe(lambda: self._flow, child.stdin)
        _when_exited(child, self._exited)

    @property
    def pid(self) -> int:
        return self._child.pid

    async def send(self, data: bytes) -> None:
        """Raises ServerEndedError when it does not read any more."""
        if self._input is None or self._input.is_closing() or self._flow.lost:
            raise ServerEndedError(self.how_it_ended())
        self._input.write(data)
        await self._flow.drained()
        if self._flow.lost:
            raise ServerEndedError(self.how_it_ended())

    def _exited(self) -> None:
        """The leader is gone. Its children may hold the pipe open, but nobody answers."""
        loop = asyncio.get_running_loop()
        loop.call_later(0.2, self.lines.end)

    @property
    def ended_by_itself(self) -> bool:
        """Whether it stopped speaking before anyone closed it."""
        return self.lines.ended_early

    def how_it_ended(self) -> str:
        """In words, with the exit code if there is one."""
        code = self._child.poll()
        if self.lines.problem:
            return self.lines.problem
        if code is None:
            return "it closed its output"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"it was ended by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"

    async def settle(self) -> None:
        """After the end of its output: until the exit code is known, at most a moment."""
        for _ in range(25):
            if self._child.poll() is not None:
                return
            await asyncio.sleep(0.01)

    def close_soon(self) -> "asyncio.Task[None]":
        """Begin to end it; idempotent."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
            _closings.add(self._closing)
            self._closing.add_done_callback(_closings.discard)
        return self._closing

    async def close(self) -> None:
        """End it and all it started, within some 3 s; goes on when the caller is cancelled."""
        await asyncio.shield(self.close_soon())

    async def _close(self) -> None:
        self.lines.discard()
        try:
            if self._input:
                self._input.close()
            if not await self._gone(GRACE_S):
                await self._signal(signal.SIGTERM)
                if not await self._gone(GRACE_S):
                    await self._signal(signal.SIGKILL)
                    await self._gone(KILLED_S)
            await asyncio.to_thread(self._end_family)
        finally:
            if self._input and not self._flow.lost:
                # What it did not want to read is not waited for.
                self._input.abort()
            for output in self._outputs:
                output.close()
            self._log.flush()

    async def _gone(self, seconds: float) -> bool:
        until = asyncio.get_running_loop().time() + seconds
        while self._child.poll() is None:
            if asyncio.get_running_loop().time() > until:
                return False
            await asyncio.sleep(0.01)
        self._family.leader = False
        return True

    async def _signal(self, number: signal.Signals) -> None:
        await asyncio.to_thread(self._family.signal, number)

    def _end_family(self) -> None:
        """What outlived its leader (a server behind npx, a child that left the group)."""
        if self._family.look():
            processes.end([self._family])
        reaper.forget(self._child.pid)


_closings: "set[asyncio.Task[None]]" = set()


async def all_closed(seconds: float) -> None:
    """Until every process that is being ended is gone, or the time is over."""
    if _closings:
        await asyncio.wait(list(_closings), timeout=seconds)


def _spawn(resolved: Resolved, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    cwd = resolved.cwd
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112
        raise ServerEndedError(f"its cwd {clean(cwd)} is not a folder")
    path = env.get("PATH", os.defpath)
    if shutil.which(resolved.command, path=path) is None and not (
        cwd and os.path.exists(os.path.join(cwd, resolved.command))  # noqa: PTH110, PTH118
    ):
        raise ServerEndedError(
            f"the command {clean(cut(resolved.command, 200))} is not found: install it, or give "
            "its whole path"
        )
    try:
        child = subprocess.Popen(
            [resolved.command, *resolved.args],
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ServerEndedError(f"it could not be started: {clean(reason.lower())}") from error
    reaper.watch(child.pid)
    return child


def _end_unwanted(starting: "asyncio.Future[subprocess.Popen[bytes]]") -> None:
    """Nobody waits for this process any more."""
    if starting.cancelled() or starting.exception():
        return
    child = starting.result()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    reaper.forget(child.pid)


def _when_exited(child: "subprocess.Popen[bytes]", then: Callable[[], None]) -> None:
    """Call then() on the loop when the process has exited, without a thread where that can be."""
    loop = asyncio.get_running_loop()
    try:
        fd = os.pidfd_open(child.pid)
    except (AttributeError, OSError):
        _poll_exit(loop, child, then)
        return

    def ended() -> None:
        loop.remove_reader(fd)
        os.close(fd)
        child.poll()
        then()

    loop.add_reader(fd, ended)


def _poll_exit(
    loop: asyncio.AbstractEventLoop, child: "subprocess.Popen[bytes]", then: Callable[[], None]
) -> None:
    if child.poll() is not None:
        then()
    else:
        loop.call_later(0.5, _poll_exit, loop, child, then)


class _Lines(asyncio.Protocol):
    """stdout as lines. Reading pauses while lines wait to be taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0
        self._ready: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._news = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None
        self._discarding = False
        self.ended = False
        self.ended_early = False
        """It ended while it was still read."""
        self.problem = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._discarding:
            return
        if b"\n" not in data:
            self._parts.append(data)
            self._length += len(data)
        else:
            first, *others = data.split(b"\n")
            self._put_all([b"".join((*self._parts, first)), *others[:-1]])
            self._parts = [others[-1]]
            self._length = len(others[-1])
        if self._length > MAX_MESSAGE:
            self.fail(f"it sent a message of more than {MAX_MESSAGE // 1024 // 1024} MB")

    def _put_all(self, lines: list[bytes]) -> None:
        """Lines that begin as no message does go together: a flood of them is one thing."""
        others: list[bytes] = []
        for line in lines:
            if line.lstrip()[:1] in BEGINNINGS:
                self._put(b"\n".join(others))
                others = []
                self._put(line)
            elif line and not line.isspace():
                others.append(line)
        self._put(b"\n".join(others))

    def _put(self, line: bytes) -> None:
        if not line:
            return
        self._ready.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes > _MAX_AHEAD and self._transport:
            self._transport.pause_reading()
        self._news.set()

    async def next(self) -> bytes | None:
        """The next line that is not blank (or several that are no messages); None at the end."""
        while not self._ready:
            if self.ended:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._ready.popleft()
        before, self._waiting_bytes = self._waiting_bytes, self._waiting_bytes - len(line)
        if before > _MAX_AHEAD >= self._waiting_bytes and self._transport:
            self._transport.resume_reading()
        return line

    def fail(self, problem: str) -> None:
        """End for a reason of ours."""
        self.problem = problem
        self.end()
        self.discard()

    def discard(self) -> None:
        """Take what still comes, so that the process can write and end, and forget it."""
        self._discarding = True
        self._parts = []
        self._length = 0
        self._ready.clear()
        self._waiting_bytes = 0
        if self._transport and not self._transport.is_closing():
            self._transport.resume_reading()

    def end(self) -> None:
        """Nothing comes any more; idempotent."""
        self.ended_early = self.ended_early or not (self.ended or self._discarding)
        self.ended = True
        self._news.set()

    def eof_received(self) -> None:
        self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()


class _Errors(asyncio.Protocol):
    """stderr into the log."""

    def __init__(self, server_log: ServerLog) -> None:
        self._log = server_log

    def data_received(self, data: bytes) -> None:
        self._log.feed("stderr", data)


class _Flow(asyncio.BaseProtocol):
    """stdin: waits while the pipe is full."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._open = asyncio.Event()
        self._open.set()
        self.lost = False

    def pause_writing(self) -> None:
        self._open.clear()

    def resume_writing(self) -> None:
        self._open.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._open.set()
        # A server that does not listen any more is of no use, even if it still writes.
        self._on_lost()

    async def drained(self) -> None:
        await self._open.wait()
