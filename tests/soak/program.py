"""The program as its user of RPC sees it: a process, commands in, answers and events out."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]

PATIENCE_S = 30.0
"""Far more than any wait should take, so that a loaded machine fails nothing."""


class ProgramEnded(Exception):
    """The process ended before it answered."""


class Launcher:
    """Runs of the program, forked from one that has imported it (zygote.py)."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._zygote = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py")), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self._lock = asyncio.Lock()

    async def start(
        self,
        args: Sequence[str],
        *,
        cwd: Path,
        home: Path,
        plan: Json | None = None,
        env: dict[str, str] | None = None,
        on_line: Callable[[Json], None] | None = None,
    ) -> "Program":
        """`agent-tui rpc` with these arguments. on_line gets every line that it writes."""
        their_in, our_in = os.pipe()
        our_out, their_out = os.pipe()
        errors = (home / "stderr.txt").open("ab")
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        kept |= {"AGENT_TUI_HOME": str(home), **(env or {})}
        request = {"args": ["rpc", *args], "cwd": str(cwd), "env": kept, "plan": plan}
        try:
            answer = await self._ask(request, [their_in, their_out, errors.fileno()])
        finally:
            os.close(their_in)
            os.close(their_out)
            errors.close()
        program = Program(self, answer["pid"], our_in, on_line)
        await program.listen(our_out)
        return program

    async def wait(self, pid: int) -> int:
        return (await self._ask({"wait": pid}, []))["status"]

    async def _ask(self, request: Json, fds: list[int]) -> Json:
        async with self._lock:
            socket.send_fds(self._link, [json.dumps(request).encode()], fds)
            return json.loads(await asyncio.to_thread(self._link.recv, 65_536))

    def close(self) -> None:
        self._link.close()
        self._zygote.wait(10)


class Program:
    """One run. call() gives the answer to a command; on_line sees each line as it is read."""

    def __init__(
        self,
        launcher: Launcher,
        pid: int,
        stdin: int,
        on_line: Callable[[Json], None] | None,
    ) -> None:
        self.pid = pid
        self.lines: list[Json] = []
        self.ended = asyncio.Event()
        self._launcher = launcher
        self._stdin: int | None = stdin
        self.on_line = on_line
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._changed = asyncio.Event()
        self.last_id = 0
        self._reader: asyncio.Task[None] | None = None

    async def listen(self, stdout: int) -> None:
        reader = asyncio.StreamReader(limit=2**26)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdout, "rb")
        )
        self._reader = asyncio.create_task(self._read(reader, transport))

    async def _read(self, reader: asyncio.StreamReader, transport: asyncio.BaseTransport) -> None:
        try:
            # A line that a kill cut off was not said.
            while (line := await reader.readline()).endswith(b"\n"):
                message = json.loads(line)
                self.lines.append(message)
                if self.on_line is not None:
                    self.on_line(message)
                if message["type"] == "response" and message["id"] in self._answers:
                    self._answers.pop(message["id"]).set_result(message)
                self._changed.set()
        finally:
            transport.close()
            self.ended.set()
            self._changed.set()
            for waiting in self._answers.values():
                waiting.set_exception(ProgramEnded())
                waiting.exception()  # who does not wait for it need not hear of it

    def send(self, kind: str, /, **fields: Any) -> "asyncio.Future[Json]":
        """Write a command; the future is its answer, or ProgramEnded."""
        self.last_id += 1
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._answers[self.last_id] = answer
        line = json.dumps({"id": self.last_id, "type": kind, **fields}) + "\n"
        try:
            if self.ended.is_set() or self._stdin is None:
                raise BrokenPipeError
            os.write(self._stdin, line.encode())
        except BrokenPipeError:
            del self._answers[self.last_id]
            answer.set_exception(ProgramEnded())
            answer.exception()
        return answer

    async def call(self, kind: str, /, **fields: Any) -> Json:
        """Raises ProgramEnded, TimeoutError."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.send(kind, **fields)

    async def ok(self, kind: str, /, **fields: Any) -> Any:
        """The data of an answer that must be ok."""
        answer = await self.call(kind, **fields)
        assert answer["ok"], (kind, fields, answer)
        return answer.get("data")

    async def until(self, found: Callable[[], bool]) -> None:
        """Until a line makes this true. Raises ProgramEnded, TimeoutError."""
        async with asyncio.timeout(PATIENCE_S):
            while not found():
                if self.ended.is_set():
                    raise ProgramEnded
                self._changed.clear()
                await self._changed.wait()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close_stdin(self) -> None:
        if self._stdin is not None:
            os.close(self._stdin)
            self._stdin = None

    async def wait(self) -> int:
        """The exit status (negative: the signal) once it has ended and all is read."""
        async with asyncio.timeout(PATIENCE_S):
            await self.ended.wait()
            status = await self._launcher.wait(self.pid)
        self.close_stdin()
        return status
