"""What a sandbox is: it starts a program, pauses at host calls, resumes, dumps, restores, closes.

One session is one Python namespace that outlives its programs, with files of its own. The rules
of a pause are those of programmatic tool calling: a program stops when every task of it waits
for a host call, and goes on when all of those calls are answered.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Failure = Literal["exception", "time", "memory", "output", "crash", "closed"]
"""Why a program did not end well. exception: its own; time, memory, output: a limit of the
sandbox; crash: the interpreter died; closed: the session was closed while the program ran."""


class SandboxError(Exception):
    """The sandbox cannot do what was asked. str() says why and what to do."""


@dataclass(slots=True, frozen=True)
class SandboxLimits:
    """Bounds of one program (files: of a session).

    seconds: computing, without the time it waits for calls or sleeps. sleep_seconds: sleeping,
    in all. memory_bytes: the interpreter's heap. output_chars: printed, both streams together.
    calls: host calls. file_bytes, files: what the session's files may hold in all.
    """

    seconds: float = 30.0
    sleep_seconds: float = 60.0
    memory_bytes: int = 256 * 1024 * 1024
    output_chars: int = 1_000_000
    calls: int = 10_000
    file_bytes: int = 32 * 1024 * 1024
    files: int = 1_000


@dataclass(slots=True, frozen=True)
class HostFunction:
    """A function that a program may call and that the host answers. name: the tool's.

    parameters: JSON Schema of type object; positional arguments follow its order of properties.
    """

    name: str
    parameters: Mapping[str, Any]


@dataclass(slots=True, frozen=True)
class HostCall:
    """A call that waits for the host. id: unique in its program. line: of the code, from 1."""

    id: int
    name: str
    arguments: dict[str, Any]
    line: int | None = None


@dataclass(slots=True, frozen=True)
class CallResult:
    """The answer to a host call. error: raised in the program as an exception of that type.

    text is what the call returns: results are texts, as the service hands them over.
    """

    text: str = ""
    error: Literal["RuntimeError", "TimeoutError", "KeyboardInterrupt"] | None = None


@dataclass(slots=True, frozen=True)
class WrittenFile:
    """A file that a program created or changed. path: absolute, inside the sandbox."""

    path: str
    data: bytes = field(repr=False)


@dataclass(slots=True, frozen=True)
class Paused:
    """Every task of the program waits for one of these calls, in the order they were made."""

    calls: tuple[HostCall, ...]


@dataclass(slots=True, frozen=True)
class Finished:
    """The program is over. return_code: 0, or not; stderr then ends with a traceback.

    state_lost: the session's names are gone with this program (its files are not).
    """

    stdout: str = ""
    stderr: str = ""
    return_code: int = 0
    files: tuple[WrittenFile, ...] = ()
    failure: Failure | None = None
    state_lost: bool = False


Step = Paused | Finished


class SandboxSession(Protocol):
    """One namespace. Its methods are awaited one after the other; only close() may come between.

    Every failure of a program is a Finished; SandboxError is for misuse (a start while a program
    is paused, results that do not answer the pause) and for a closed session.
    """

    async def start(self, code: str, functions: Mapping[str, HostFunction]) -> Step:
        """Runs a program until it pauses or ends. functions: by the name it calls
        them (function_names makes it from a tool's)."""
        ...

    async def resume(self, results: Mapping[int, CallResult]) -> Step:
        """Goes on from a pause: results has one entry for each waiting call."""
        ...

    async def interrupt(self) -> Finished:
        """Ends a paused program by a KeyboardInterrupt at its calls; the namespace stays."""
        ...

    async def dump(self) -> bytes:
        """The session as bytes, paused or not; it stays usable."""
        ...

    def put_file(self, name: str, data: bytes) -> str:
        """Gives programs a file to read; returns its path in the sandbox."""
        ...

    def close(self) -> None:
        """Ends the session, also while a program runs; from any thread, again without effect."""
        ...


class Sandbox(Protocol):
    """Makes sessions. Loads nothing before the first one."""

    async def open(self) -> SandboxSession: ...

    async def restore(self, state: bytes) -> tuple[SandboxSession, Paused | None]:
        """A session from dump()'s bytes, and the pause it was in. Only bytes of this program."""
        ...

    def close(self) -> None:
        """Closes every session and its processes; from any thread, again without effect."""
        ...
