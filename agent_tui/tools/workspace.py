"""The working folder as tools see it: paths in, paths out, threads, and errors that tell
the model what to do next.
"""

import asyncio
import difflib
import errno
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agent_tui.agent.tools import Execute, ToolContext, ToolResult
from agent_tui.text import cut, wire_text

log = logging.getLogger(__name__)

T = TypeVar("T")
_SETTLE_S = 1.0
_NAMES_LOOKED_AT = 2000


class ToolError(Exception):
    """A call that cannot be done. str() is for the model: what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that relative paths start from."""

    cwd: str

    def resolve(self, path: str) -> Path:
        """The absolute path meant by `path` (relative to cwd, `~` expanded; symlinks stay).

        Raises ToolError for an empty path, a NUL in it, or a relative path when the working
        folder is gone.
        """
        if not path.strip():
            raise ToolError("path is empty. Give the path of a file or folder.")
        if "\0" in path:
            raise ToolError("path holds a NUL character, which no file name can have.")
        expanded = os.path.expanduser(path)  # noqa: PTH111  (Path.expanduser raises for ~nobody)
        if not expanded.startswith("/"):
            self.require_cwd()
        # ".." stays: "link/.." means the parent of what the link points to.
        return Path(self.cwd, expanded)

    def require_cwd(self) -> None:
        """Raises ToolError when the working folder no longer exists."""
        if not Path(self.cwd).is_dir():
            raise ToolError(
                f"The working folder {shown(self.cwd)} no longer exists, so nothing was done. "
                "Relative paths and commands cannot work until it is back: tell the user, who "
                "can make it again or start agent-tui in another folder. Absolute paths still work."
            )

    def show(self, path: str | Path) -> str:
        """`path` for people and the model: relative inside the working folder, else absolute."""
        absolute = Path(path)
        if absolute.is_relative_to(self.cwd):
            absolute = absolute.relative_to(self.cwd)
        return shown(str(absolute))

    def missing(self, path: Path) -> ToolError:
        """The error for a path that does not exist, with the nearest names that do."""
        folder = path.parent
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        if folder != path.parent:
            part = path.relative_to(folder).parts[0]
            near = _near(folder, part)
            lost = f"{self.show(path)} does not exist: {self.show(folder)} has no folder {part!r}."
        else:
            near = _near(folder, path.name)
            lost = f"{self.show(path)} does not exist."
        if near:
            names = ", ".join(self.show(folder / name) for name in near)
            return ToolError(f"{lost} Did you mean: {names}?")
        return ToolError(f"{lost} Use list or glob to see what is there.")


def _near(folder: Path, name: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(_NAMES_LOOKED_AT), entries, strict=False)]
    except OSError:
        return []
    same = [n for n in names if n.casefold() == name.casefold()]
    return (same + [n for n in difflib.get_close_matches(name, names, 3) if n not in same])[:3]


def shown(text: str, limit: int = 1000) -> str:
    """A foreign name or value inside a sentence: valid on the wire, bounded, on one line."""
    text = wire_text(text)
    text = text if len(text) <= limit else cut(text, limit) + "…"
    return text.replace("\r", "\\r").replace("\n", "\\n")


def whole(value: Any) -> Any:
    """`value` with lone surrogates in its strings replaced: nothing here may pass them on."""
    if isinstance(value, str):
        try:
            value.encode()
            return value
        except UnicodeEncodeError:
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return value


def _os_error(error: OSError, workspace: Workspace) -> str:
    where = f" ({workspace.show(os.fsdecode(error.filename))})" if error.filename else ""
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return f"Permission denied{where}. The user's account may not do this."
        case errno.ENOSPC | errno.EDQUOT:
            return f"The disk is full{where}. Nothing was changed; tell the user."
        case errno.ENAMETOOLONG:
            return "The path is too long for this system. Use a shorter one."
        case errno.ELOOP:
            return f"Too many symbolic links{where}: the links go in a circle."
        case errno.ENOTDIR:
            return f"A part of the path is a file, not a folder{where}."
        case errno.EROFS:
            return f"The file system is read-only{where}."
        case _:
            return f"{error.strerror or error}{where}."


Work = Callable[[dict[str, Any], ToolContext], Coroutine[Any, Any, ToolResult]]


def guarded(workspace: Workspace, work: Work) -> Execute:
    """An AgentTool.execute around `work`: arguments without lone surrogates; ToolError and
    OSError become error results in words. Anything else is a fault of ours and is raised."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        try:
            return await work(whole(arguments), ctx)
        except ToolError as error:
            return ToolResult.text(wire_text(str(error)), is_error=True)
        except OSError as error:
            log.info("a tool met an error of the system", exc_info=True)
            return ToolResult.text(_os_error(error, workspace), is_error=True)

    return execute


async def in_thread(work: Callable[[threading.Event], T]) -> T:
    """Run blocking `work(stop)` in a thread of its own and give its result.

    When the caller is cancelled, `stop` is set and the thread has a second to notice, so that
    an edit that is under way has either landed or not when the call is reported as stopped.
    Not the loop's executor: searches that take long would hold up the session's own writes.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    stop = threading.Event()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # pyright: ignore[reportArgumentType]

    def run() -> None:
        result, error = None, None
        try:
            result = work(stop)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            log.debug("a tool's thread ended after its event loop")

    threading.Thread(target=run, name="tool", daemon=True).start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([done], timeout=_SETTLE_S)
        # Its error, if any, has nobody to go to any more.
        done.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        raise
