"""Containers of the offline server: a Python namespace each, that lives from request to request.

Everything here runs on the server's event loop; the programs themselves run in a sandbox
(agent_tui.programs) in processes of their own.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from agent_tui.offline.rules import ApiProblem
from agent_tui.offline.wire import make_id
from agent_tui.programs import (
    CallResult,
    Finished,
    HostCall,
    HostFunction,
    Paused,
    Sandbox,
    SandboxError,
    SandboxLimits,
    SandboxSession,
    Step,
    function_names,
)

log = logging.getLogger(__name__)

ContainerStatus = Literal["created", "busy", "paused", "idle", "expired"]

_MOST_REMEMBERED = 1_000
"""Expired containers that are still known as expired, not as never there."""


@dataclass(slots=True, frozen=True)
class ContainerOptions:
    """How containers behave. Times in seconds.

    idle_seconds: a container that no request has named for so long is reclaimed, with a program
    that waits in it. result_seconds: a call without a result for so long raises TimeoutError in
    the program. limits: of each program (agent_tui.programs.SandboxLimits). most_live: so many
    containers have a process; the others are kept as bytes and restored when they are used.
    expired_answer: how a request that names an expired container is answered: "error" (400),
    "untyped" (500 Internal server error, as seen in the field), or "result" (the request is
    taken; a program gets code_execution_tool_result_error container_expired).
    """

    idle_seconds: float = 270.0
    result_seconds: float = 240.0
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    most_live: int = 8
    expired_answer: Literal["error", "untyped", "result"] = "error"


def container_options(
    *,
    idle_seconds: float,
    result_seconds: float,
    program_seconds: float,
    output_chars: int,
    expired_answer: str,
) -> ContainerOptions:
    """ContainerOptions from the flags of a command. ValueError: str() is one line for the user."""
    if expired_answer not in ("error", "untyped", "result"):
        raise ValueError(
            f"--expired-answer {expired_answer!r} is not one of error, untyped, result"
        )
    return ContainerOptions(
        idle_seconds=idle_seconds,
        result_seconds=result_seconds,
        limits=SandboxLimits(seconds=program_seconds, output_chars=output_chars),
        expired_answer=expired_answer,
    )


class ProblemError(Exception):
    """A request cannot be answered; problem is what the client gets."""

    def __init__(self, problem: ApiProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class Program:
    """A program of a container. calls: those it waits for now, by their tool_use id.

    pause_reason, name_container: as in wire.ProgramStart. taken: the sets of ids
    whose results (or time-out) led to `step`; a request that answers one of them again gets it
    again. result: the content of its code_execution_tool_result, once it has been said.
    """

    id: str
    caller_type: str
    pause_reason: str = "tool_use"
    name_container: bool = True
    step: Step | None = None
    calls: dict[str, HostCall] = field(default_factory=dict[str, HostCall])
    taken: set[frozenset[str]] = field(default_factory=set[frozenset[str]])
    result: dict[str, Any] | None = None


class Container:
    """One container. `reused`: responses after the first that named it."""

    def __init__(self, container_id: str, options: ContainerOptions) -> None:
        self.id = container_id
        self.created_at = time.time()
        self.last_used = time.monotonic()
        self.expires_at = time.time() + options.idle_seconds
        self.state: ContainerStatus = "created"
        self.programs = 0
        self.reused = -1
        self.program: Program | None = None
        self.session: SandboxSession | None = None
        self.saved: bytes | None = None
        self.lock = asyncio.Lock()
        self.timers: dict[str, asyncio.TimerHandle] = {}
        self.files: dict[str, str] = {}
        """Uploaded files that are in it already: id to path."""

    def as_wire(self) -> dict[str, Any]:
        """What a response says of it."""
        return {"id": self.id, "expires_at": _iso(self.expires_at)}

    def as_json(self) -> dict[str, Any]:
        """What the journal and GET /_containers say of it."""
        waiting = self.program.calls if self.program and self.state == "paused" else {}
        return {
            "id": self.id,
            "state": self.state,
            "pending": len(waiting),
            "pending_ids": list(waiting),
            "created_at": _iso(self.created_at),
            "expires_at": _iso(self.expires_at),
            "programs": self.programs,
            "reused": max(0, self.reused),
        }

    def stop_timer(self, name: str) -> None:
        timer = self.timers.pop(name, None)
        if timer is not None:
            timer.cancel()


class Containers:
    """The containers of a server, in order of their making."""

    def __init__(
        self,
        options: ContainerOptions,
        make_sandbox: Callable[[], Awaitable[Sandbox]],
    ) -> None:
        self.options = options
        self._make_sandbox = make_sandbox
        self._sandbox: Sandbox | None = None
        self._sandbox_lock = asyncio.Lock()
        self._all: dict[str, Container] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def as_json(self) -> list[dict[str, Any]]:
        return [container.as_json() for container in list(self._all.values())]

    def get(self, container_id: str) -> Container | None:
        """The container of that id, expired or not; None: this server never made it."""
        return self._all.get(container_id)

    def create(self) -> Container:
        container = Container(make_id("container_", uuid.uuid4().hex), self.options)
        self._all[container.id] = container
        self._rearm(container)
        expired = [c for c in self._all.values() if c.state == "expired"]
        for old in expired[:-_MOST_REMEMBERED]:
            del self._all[old.id]
        return container

    def touch(self, container: Container, *, named: bool = False) -> None:
        """A request uses it: its time starts anew. named: a response says its id."""
        if container.state == "expired":
            return
        container.last_used = time.monotonic()
        container.expires_at = time.time() + self.options.idle_seconds
        if named:
            container.reused += 1
        self._rearm(container)

    # --- programs -------------------------------------------------------------------

    async def run(
        self, container: Container, program: Program, code: str, functions: Mapping[str, Any]
    ) -> Step:
        """Starts a program and returns its first step. One that still waits there is ended.

        functions: the schemas of the tools it may call, by their names.
        """
        names = function_names(functions)
        wanted = {called: HostFunction(name, functions[name]) for called, name in names.items()}

        async def work() -> Step:
            async with container.lock:
                await self._abandon(container)
                session = await self._session(container)
                container.programs += 1
                container.program = program
                self._busy(container)
                return self._settle(container, program, await session.start(code, wanted))

        return await self._guarded(container, program, work)

    async def answer(
        self, container: Container, program: Program, results: Mapping[str, CallResult]
    ) -> Step:
        """Hands results to a paused program and returns its next step.

        A step that these ids have led to already (the client asks again, or was late) is given
        again. Raises ProblemError for ids that are not waited for.
        """

        async def work() -> Step:
            async with container.lock:
                ids = frozenset(results)
                if ids in program.taken and program.step is not None:
                    return program.step
                if ids != frozenset(program.calls) or container.program is not program:
                    raise ProblemError(_not_pending(container, results, program))
                session = await self._session(container)
                by_number = {program.calls[i].id: result for i, result in results.items()}
                self._busy(container)
                step = self._settle(container, program, await session.resume(by_number))
                program.taken = {ids}
                return step

        return await self._guarded(container, program, work)

    async def abandon(self, container: Container) -> None:
        """Ends a program that waits for results which nobody will send."""
        async with container.lock:
            await self._abandon(container)

    async def put_file(self, container: Container, file_id: str, name: str, data: bytes) -> None:
        """Gives the container's programs an uploaded file, once."""
        async with container.lock:
            if file_id not in container.files:
                session = await self._session(container)
                try:
                    container.files[file_id] = session.put_file(name, data)
                except OSError as error:
                    said = f"container_upload: {error.strerror}"
                    raise ProblemError(ApiProblem(said)) from error

    def close(self) -> None:
        """Ends every process; from any thread, when the server's loop is done."""
        if self._sandbox is not None:
            self._sandbox.close()

    async def _guarded(
        self, container: Container, program: Program, work: Callable[[], Awaitable[Step]]
    ) -> Step:
        """The program's step happens whole, also when the client that asked for it leaves."""
        task = asyncio.ensure_future(work())
        self._tasks.add(task)  # type: ignore[arg-type]
        task.add_done_callback(self._tasks.discard)  # type: ignore[arg-type]
        try:
            return await asyncio.shield(task)
        except SandboxError as error:
            log.warning("a program could not run: %s", error)
            finished = Finished(stderr=f"{error}\n", return_code=1, failure="crash")
            return self._settle(container, program, finished)

    async def _session(self, container: Container) -> SandboxSession:
        if container.state == "expired":
            raise ProblemError(expired_problem(container.id))
        if container.session is None:
            sandbox = await self._get_sandbox()
            saved, container.saved = container.saved, None
            if saved is not None:
                container.session, _ = await sandbox.restore(saved)
            else:
                container.session = await sandbox.open()
                container.files.clear()
            await self._put_others_aside(container)
        return container.session

    async def _get_sandbox(self) -> Sandbox:
        async with self._sandbox_lock:
            if self._sandbox is None:
                self._sandbox = await self._make_sandbox()
            return self._sandbox

    async def _put_others_aside(self, used: Container) -> None:
        """Keeps the longest unused containers as bytes, so that few processes live."""
        live = [c for c in self._all.values() if c.session is not None and c is not used]
        live.sort(key=lambda c: c.last_used)
        for container in live[: max(0, len(live) + 1 - self.options.most_live)]:
            # One that is in use is passed over: to wait for it here could be to wait for oneself.
            if not container.lock.locked():
                async with container.lock:
                    await self._put_aside(container)

    @staticmethod
    async def _put_aside(container: Container) -> None:
        session = container.session
        if session is None:
            return
        try:
            saved = await session.dump()
        except SandboxError as error:
            log.warning("container %s keeps its process: %s", container.id, error)
            return
        if container.state != "expired":
            container.saved = saved
        container.session = None
        session.close()

    # --- states -----------------------------------------------------------------------

    def _busy(self, container: Container) -> None:
        container.stop_timer("result")
        container.stop_timer("idle")
        container.state = "busy"

    def _settle(
        self, container: Container, program: Program, step: Step, *, used: bool = True
    ) -> Step:
        """Enters a program's step: who waits for what, and until when.

        used: a request led to it, so the container's time starts anew.
        """
        program.step = step
        program.calls = {}
        if container.state == "expired":
            return step
        if isinstance(step, Paused):
            program.calls = {
                make_id("toolu_", container.id, program.id, call.id): call for call in step.calls
            }
            container.state = "paused"
            loop = asyncio.get_running_loop()
            container.timers["result"] = loop.call_later(
                self.options.result_seconds, self._spawn, self._time_out, container, program, step
            )
        else:
            container.state = "idle"
        if used:
            self.touch(container)
        else:
            self._rearm(container)
        return step

    def _rearm(self, container: Container) -> None:
        """(Re)starts the time until the container is reclaimed; it stands while a program runs."""
        container.stop_timer("idle")
        if container.state in ("busy", "expired"):
            return
        left = container.expires_at - time.time()
        loop = asyncio.get_running_loop()
        container.timers["idle"] = loop.call_later(max(0.0, left), self._expire, container)

    def _spawn(self, work: Callable[..., Any], *args: Any) -> None:
        task = asyncio.ensure_future(work(*args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _time_out(self, container: Container, program: Program, pause: Step) -> None:
        """The results did not come: the code sees a TimeoutError at each call."""
        async with container.lock:
            if program.step is not pause or container.state != "paused":
                return
            seconds = self.options.result_seconds
            late = {
                call.id: CallResult(f"{call.name}: no result within {seconds:g} seconds",
                                    "TimeoutError")
                for call in program.calls.values()
            }  # fmt: skip
            ids = frozenset(program.calls)
            with contextlib.suppress(SandboxError, ProblemError):
                session = await self._session(container)
                self._busy(container)
                step = await session.resume(late)
                self._settle(container, program, step, used=False)
                program.taken.add(ids)

    async def _abandon(self, container: Container) -> None:
        program = container.program
        if program is None or not isinstance(program.step, Paused):
            return
        try:
            session = await self._session(container)
            self._busy(container)
            self._settle(container, program, await session.interrupt())
        except SandboxError as error:
            log.warning("a waiting program could not be ended: %s", error)
            self._settle(container, program, Finished(return_code=1, failure="closed"))
        container.program = None

    def _expire(self, container: Container) -> None:
        if container.lock.locked():
            loop = asyncio.get_running_loop()
            container.timers["idle"] = loop.call_later(0.05, self._expire, container)
            return
        for name in list(container.timers):
            container.stop_timer(name)
        container.state = "expired"
        container.program = None
        session, container.session, container.saved = container.session, None, None
        if session is not None:
            session.close()


def expired_problem(container_id: str) -> ApiProblem:
    return ApiProblem(
        f"container: Container `{container_id}` has expired (container_expired). Send the request "
        "again without `container` to get a new one."
    )


def unknown_problem(container_id: str) -> ApiProblem:
    return ApiProblem(
        f"container: Container `{container_id}` was not found", "not_found_error", 404
    )


def _not_pending(container: Container, results: Mapping[str, Any], program: Program) -> ApiProblem:
    wanted = ", ".join(program.calls) or "none"
    return ApiProblem(
        f"messages: the results {', '.join(results)} do not answer the pending programmatic calls "
        f"of container `{container.id}` ({wanted}). Each pending call needs its `tool_result`."
    )


def _iso(seconds: float) -> str:
    return (
        datetime.fromtimestamp(seconds, UTC)
        .isoformat(timespec="microseconds")
        .replace("+00:00", "Z")
    )
