"""The sandbox on pydantic-monty 1.4.0: an interpreter of its own in a worker process.

A program has no sockets, no processes, and no files but those of its session (files.py). It is
written in a subset of Python: classes, asyncio.gather, json, re, dataclasses are there; most of
the standard library and every package are not. Imports pydantic_monty: load it only where
programs run, not before the first paint.
"""

import base64
import contextlib
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

import pydantic_monty as monty

from agent_tui.programs.files import FOLDER, SandboxFiles
from agent_tui.programs.protocol import (
    CallResult,
    Failure,
    Finished,
    HostFunction,
    Paused,
    SandboxError,
    SandboxLimits,
    Step,
    WrittenFile,
)
from agent_tui.programs.running_program import FLOOD, Answer, RunningProgram, StubbornError, raised
from agent_tui.programs.threads import in_thread

log = logging.getLogger(__name__)

_MOST_WORKERS = 64
_MOST_SUSPENSIONS = 1_000_000


class MontySandbox:
    """A Sandbox. Its pool of workers starts with the first session."""

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self._limits = limits or SandboxLimits()
        self._lock = threading.Lock()
        self._pool: monty.Monty | None = None
        self._sessions: set[MontySession] = set()
        self._closed = False

    async def open(self) -> "MontySession":
        return await in_thread(self._open, name="sandbox-open")

    async def restore(self, state: bytes) -> tuple["MontySession", Paused | None]:
        session = await self.open()
        try:
            paused = await session.load(state)
        except BaseException:
            session.close()
            raise
        return session, paused

    def close(self) -> None:
        with self._lock:
            self._closed = True
            sessions, pool = list(self._sessions), self._pool
            self._pool = None
        for session in sessions:
            session.close()
        if pool is not None:
            pool.__exit__(None, None, None)

    def _open(self) -> "MontySession":
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox is closed")
            if self._pool is None:
                # request_timeout: the watchdog behind the interpreter's own limit of time.
                pool = monty.Monty(
                    min_processes=0,
                    max_processes=_MOST_WORKERS,
                    checkout_timeout=30,
                    request_timeout=self._limits.seconds + 10,
                )
                try:
                    pool.__enter__()
                except Exception as error:
                    raise SandboxError(f"the sandbox did not start: {error}") from error
                self._pool = pool
            session = MontySession(self._pool, self._limits, self._sessions.discard)
            self._sessions.add(session)
        return session


class _Closed(Exception):
    """The session was closed while a program ran in it."""


class MontySession:
    """A SandboxSession: one worker process, checked out of the pool until close()."""

    def __init__(
        self,
        pool: monty.Monty,
        limits: SandboxLimits,
        on_close: Callable[["MontySession"], object],
    ) -> None:
        self._pool = pool
        self._limits = limits
        self._on_close = on_close
        self._worker: monty.MontySession | None = None
        self._pid: int | None = None
        self._busy = threading.Lock()
        self._closing = threading.Event()
        self._files = SandboxFiles(limit_bytes=limits.file_bytes, limit_files=limits.files)
        self._program: RunningProgram | None = None
        self._feeds = 0
        """Programs that the worker has been given: it names their code by this number."""

    # --- the protocol ---------------------------------------------------------------

    async def start(self, code: str, functions: Mapping[str, HostFunction]) -> Step:
        return await in_thread(lambda: self._start(code, functions), name="sandbox-program")

    async def resume(self, results: Mapping[int, CallResult]) -> Step:
        return await in_thread(lambda: self._resume(results), name="sandbox-program")

    async def interrupt(self) -> Finished:
        return await in_thread(self._interrupt, name="sandbox-program")

    async def dump(self) -> bytes:
        return await in_thread(self._dump, name="sandbox-dump")

    async def load(self, state: bytes) -> Paused | None:
        """Takes over a dump; only for a session that has run nothing."""
        return await in_thread(lambda: self._load(state), name="sandbox-load")

    def put_file(self, name: str, data: bytes) -> str:
        path = str(PurePosixPath(FOLDER) / PurePosixPath(name).name)
        self._files.put(path, data)
        return path

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._on_close(self)
        if self._busy.acquire(blocking=False):
            try:
                self._drop_worker()
            finally:
                self._busy.release()
        else:
            # The thread that runs the program drops the worker when the call into it ends.
            self._kill()

    # --- in a thread, one at a time ---------------------------------------------------

    def _start(self, code: str, functions: Mapping[str, HostFunction]) -> Step:
        with self._use():
            if self._program is not None:
                raise SandboxError("a program is paused in this session; resume it first")
            worker = self._checked_out()
            self._files.take_written()
            program = self._program = RunningProgram(
                code, functions, self._limits, self._feeds, self._kill
            )
            self._feeds += 1
            return self._drive(
                lambda: worker.feed_start(
                    code,
                    # Bound as names, so that a tool called `list` or `open` is that tool.
                    inputs={name: _stand_in(name) for name in functions},
                    print_callback=program.printed,
                    cwd=FOLDER if program.number == 0 else None,
                )
            )

    def _resume(self, results: Mapping[int, CallResult]) -> Step:
        with self._use():
            program = self._program
            if program is None or program.pause is None:
                raise SandboxError("no program is paused in this session")
            pause = program.pause
            if set(results) != set(pause.pending_call_ids):
                raise SandboxError("the results do not answer the calls that are waited for")
            program.pause = None
            answers: Any = {call_id: _answer(result) for call_id, result in results.items()}
            return self._drive(lambda: pause.resume(answers))

    def _interrupt(self) -> Finished:
        with self._use():
            program = self._program
            if program is None or program.pause is None:
                raise SandboxError("no program is paused in this session")
            pause, program.pause = program.pause, None
            answers: Any = dict.fromkeys(pause.pending_call_ids, program.interrupt())
            step = self._drive(lambda: pause.resume(answers))
            assert isinstance(step, Finished), "an interrupted program makes no more calls"
            return step

    def _dump(self) -> bytes:
        with self._use():
            worker = self._checked_out()
            program = self._program
            pause = program.pause if program is not None else None
            state: dict[str, Any] = {
                "feeds": self._feeds,
                "written": self._files.written,
                "files": {p: _text(data) for p, data in self._files.all().items()},
                "worker": _text(_dumped(worker if pause is None else pause)),
                "program": program.as_json() if program is not None and pause is not None else None,
            }
            return json.dumps(state).encode()

    def _load(self, state: bytes) -> Paused | None:
        with self._use():
            saved = json.loads(state)
            for path, data in saved["files"].items():
                self._files.put(path, base64.b64decode(data))
            self._feeds = saved["feeds"]
            worker, blob = self._checked_out(), base64.b64decode(saved["worker"])
            if saved["program"] is None:
                try:
                    worker.load_session(blob)
                except monty.MontyError as error:
                    raise SandboxError(f"a saved session cannot be restored: {error}") from error
                return None
            program = self._program = RunningProgram.from_json(
                saved["program"], self._limits, self._kill
            )
            for path in saved["written"]:
                self._files.mark_written(path)
            step = self._drive(lambda: worker.load_snapshot(blob, print_callback=program.printed))
            if not isinstance(step, Paused):
                raise SandboxError("the saved program was not paused")
            return step

    # --- one program ------------------------------------------------------------------

    def _drive(self, first: Callable[[], Any]) -> Step:
        """Answers the interpreter until the program pauses or ends."""
        program = self._program
        assert program is not None
        try:
            step = first()
            while not isinstance(step, monty.MontyComplete):
                if self._closing.is_set():
                    raise _Closed
                if not isinstance(step, monty.FutureSnapshot):
                    step = self._answer_one(program, step)
                elif program.sleeping(step.pending_call_ids):
                    step = self._wake(program, step)
                elif step.pending_call_ids:
                    program.pause = step
                    return Paused(tuple(program.calls[i] for i in sorted(step.pending_call_ids)))
                else:
                    return self._stalled(step)
        except (_Closed, StubbornError, monty.MontyCrashedError) as error:
            if self._closing.is_set():
                return self._finish("closed", "The sandbox was closed.", lost=True)
            if isinstance(error, StubbornError):
                return self._finish("closed", "KeyboardInterrupt", lost=True)
            if program.flooded:
                limit = self._limits.output_chars * FLOOD
                words = f"The program printed more than {limit} characters."
                return self._finish("output", words, lost=True)
            timed_out = isinstance(error, monty.MontyCrashedError) and error.timed_out
            log.warning("a sandbox's interpreter died: %s", error)
            words = "The time limit was exceeded." if timed_out else "The interpreter crashed."
            return self._finish("time" if timed_out else "crash", words, lost=True)
        except monty.MontyConversionError as error:
            # The interpreter still waits for the answer that could not be handed over.
            return self._finish("exception", str(error), lost=True)
        except monty.MontyError as error:
            return self._failed(program, error)
        except Exception:
            log.exception("a sandbox failed")
            return self._finish("crash", "The interpreter failed.", lost=True)
        return self._finish(None, "")

    def _stalled(self, step: monty.FutureSnapshot) -> Finished:
        """The program awaits a call that an earlier program made and did not wait for."""
        with contextlib.suppress(monty.MontyError):
            step.resume({})
        words = "RuntimeError: the call that is awaited belongs to a program that has ended"
        return self._finish("exception", words)

    def _answer_one(self, program: RunningProgram, step: Any) -> Any:
        if isinstance(step, monty.NameLookupSnapshot):
            return step.resume()
        if step.is_os_function:
            return self._answer_system(program, step)
        return step.resume(program.take_call(step))

    def _answer_system(self, program: RunningProgram, step: Any) -> Any:
        name = str(step.function_name)
        if name in ("system.sleep", "system.async_sleep", "time.sleep", "asyncio.sleep"):
            seconds = program.allowed_sleep(step.args)
            if seconds is None:
                limit = self._limits.sleep_seconds
                words = f"a program may sleep {limit:g} seconds in all"
                return step.resume(raised("TimeoutError", words))
            if "async" in name:
                program.sleeps[step.call_id] = time.monotonic() + seconds
                return step.resume({"future": ...})
            self._sleep(seconds)
            return step.resume({"return_value": None})
        try:
            value = self._files.dispatch(step.function_name, step.args, step.kwargs)
        except NotImplementedError:
            return step.resume_not_handled()
        except Exception as error:
            return step.resume({"exception": error})
        if value is monty.NOT_HANDLED:
            return step.resume_not_handled()
        return step.resume({"return_value": value})

    def _wake(self, program: RunningProgram, step: monty.FutureSnapshot) -> Any:
        call_id, due = program.sleeping(step.pending_call_ids)[0]
        self._sleep(due - time.monotonic())
        del program.sleeps[call_id]
        return step.resume({call_id: {"return_value": None}})

    def _sleep(self, seconds: float) -> None:
        if self._closing.wait(max(0.0, seconds)):
            raise _Closed

    def _failed(self, program: RunningProgram, error: monty.MontyError) -> Finished:
        inner = error.exception()
        words = str(inner)
        if isinstance(error, monty.MontyRuntimeError) and not error.traceback():
            # Limits are raised outside of the program's own frames, and cannot be caught in it.
            if isinstance(inner, TimeoutError) and "time limit exceeded" in words:
                return self._finish("time", _display(error), lost=True)
            if isinstance(inner, MemoryError):
                return self._finish("memory", _display(error), lost=True)
        if isinstance(inner, MemoryError):
            return self._finish("memory", _display(error))
        if isinstance(inner, SystemExit):
            return self._finish(None if not words else "exception", words, code=int(bool(words)))
        return self._finish("exception", _display(error))

    def _finish(
        self, failure: Failure | None, words: str, *, lost: bool = False, code: int | None = None
    ) -> Finished:
        program, self._program = self._program, None
        assert program is not None
        if lost:
            # A limit or a crash leaves the heap in no known state.
            self._kill()
            self._drop_worker()
            self._feeds = 0
        written = [WrittenFile(p, self._files.read(p)) for p in self._files.take_written()]
        stderr = program.text("stderr")
        if words:
            gap = "\n" if stderr and not stderr.endswith("\n") else ""
            stderr += f"{gap}{words.rstrip()}\n"
        return Finished(
            stdout=program.text("stdout"),
            stderr=stderr,
            return_code=int(failure is not None) if code is None else code,
            files=tuple(written),
            failure=failure,
            state_lost=lost,
        )

    # --- the worker ---------------------------------------------------------------------

    @contextlib.contextmanager
    def _use(self) -> Any:
        if not self._busy.acquire(blocking=False):
            raise SandboxError("a program is running in this session")
        try:
            if self._closing.is_set():
                raise SandboxError("the session is closed")
            yield
        finally:
            if self._closing.is_set():
                self._drop_worker()
            self._busy.release()

    def _checked_out(self) -> monty.MontySession:
        if self._worker is None:
            limits: monty.ResourceLimits = {
                "max_feed_duration_secs": self._limits.seconds,
                "max_memory": self._limits.memory_bytes,
                "max_suspensions": _MOST_SUSPENSIONS,
            }
            worker = self._pool.checkout(limits=limits)
            try:
                worker.__enter__()
            except (monty.MontyError, TimeoutError, OSError, RuntimeError) as error:
                raise SandboxError(f"no interpreter could be started: {error}") from error
            self._worker, self._pid = worker, worker.worker_pid
        return self._worker

    def _kill(self) -> None:
        """Ends the worker process, which is this session's alone while it is checked out."""
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def _drop_worker(self) -> None:
        worker, self._worker, self._pid = self._worker, None, None
        if worker is not None:
            try:
                worker.__exit__(None, None, None)
            except monty.MontyError as error:
                log.debug("a sandbox's worker was gone already: %s", error)


def _stand_in(name: str) -> Callable[[], None]:
    """A function that crosses into the sandbox by its name alone."""

    def call() -> None: ...

    call.__name__ = name
    return call


def _answer(result: CallResult) -> Answer:
    # A lone surrogate cannot cross into the interpreter.
    text = result.text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return {"return_value": text} if result.error is None else raised(result.error, text)


def _display(error: monty.MontyError) -> str:
    """The traceback as Python prints it."""
    if isinstance(error, monty.MontyRuntimeError | monty.MontySyntaxError):
        return error.display()
    return str(error)


def _dumped(source: monty.MontySession | monty.FutureSnapshot) -> bytes:
    try:
        return source.dump()
    except monty.MontyError as error:
        raise SandboxError(f"the session cannot be saved: {error}") from error


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
