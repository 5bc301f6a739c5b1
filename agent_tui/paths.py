"""Where things are on disk. Everything is made 0700/0600.

All of a user's files are under one folder, home(); a project's own settings are under
`.agent-tui/` in its folder. Nothing here is created at import time.
"""

import contextlib
import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

import platformdirs

from agent_tui.text import clean

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


class PathError(OSError):
    """A folder or file cannot be used. str() is one sentence that says what to do."""


def home() -> Path:
    """AGENT_TUI_HOME or platformdirs' user data folder; made 0700 when missing.

    Raises PathError if it cannot be made or written.
    """
    return private_folder(_home_path())


def _home_path() -> Path:
    named = os.environ.get("AGENT_TUI_HOME")
    if named:
        return Path(named).expanduser().absolute()
    return platformdirs.user_data_path("agent-tui", appauthor=False)


def config_file() -> Path:
    """The user's settings; may be missing."""
    return home() / "config.toml"


def project_config(cwd: str | Path) -> Path:
    """The settings of the project in `cwd`; may be missing, counts only where trusted."""
    return Path(cwd) / ".agent-tui" / "config.toml"


def credentials_file() -> Path:
    """What /login keeps; may be missing."""
    return home() / "credentials.json"


def trust_file() -> Path:
    """Which folders the user trusts; may be missing."""
    return home() / "trust.json"


def choices_file() -> Path:
    """What was chosen on the screen; may be missing."""
    return home() / "choices.json"


def history_dir() -> Path:
    """What was sent, by folder; made 0700 when missing. Raises PathError."""
    return private_folder(home() / "history")


def mcp_file() -> Path:
    """The user's MCP servers; may be missing."""
    return home() / "mcp.json"


def sessions_dir(cwd: str | Path) -> Path:
    """The sessions of the folder `cwd`; made 0700 when missing. Raises PathError."""
    return private_folder(home() / "sessions" / folder_slug(cwd))


def logs_dir() -> Path:
    """Made 0700 when missing. Raises PathError."""
    return private_folder(home() / "logs")


def recordings_dir() -> Path:
    """Made 0700 when missing. Raises PathError."""
    return private_folder(home() / "recordings")


def outputs_dir() -> Path:
    """Whole tool outputs too large for the model; made 0700 when missing. Raises PathError."""
    return private_folder(home() / "outputs")


def model_lists_dir() -> Path:
    """What endpoints said of their models; made 0700 when missing. Raises PathError."""
    return private_folder(home() / "models")


def memories_dir() -> Path:
    """What the memory tool keeps, for every folder one works in; made 0700 when missing.
    Raises PathError."""
    return private_folder(home() / "memories")


def with_tilde(text: object) -> str:
    """A text for people: the user's home folder, where a path in it begins there, as ~."""
    home = os.path.expanduser("~").rstrip(os.sep)  # noqa: PTH111  (Path.home raises without one)
    if not home.startswith(os.sep):
        return str(text)
    return re.sub(rf"(?<![\w./~-]){re.escape(home)}(?![\w.-])", "~", str(text))


def folder_slug(cwd: str | Path) -> str:
    """A name for a folder that a person recognises and that no other folder shares:
    `src-shop-3f9a0c1d`. The same for every spelling of one real path."""
    real = os.path.realpath(cwd)
    tail = "-".join(Path(real).parts[1:][-2:])
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", tail).strip("-.")[-60:].lstrip("-.")
    digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:8]
    return f"{readable}-{digest}" if readable else digest


def private_folder(path: Path) -> Path:
    """`path`, made 0700 with its missing parents. Raises PathError.

    A folder that was there keeps its mode: it may be shared on purpose.
    """
    with _one_sentence("make or use the folder", path):
        if not path.is_dir():
            missing = [path]
            while not missing[-1].parent.exists():
                missing.append(missing[-1].parent)
            for folder in reversed(missing):
                folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "permission denied")
    return path


def private_open(path: Path, mode: Literal["ab", "wb", "xb", "a", "w", "x"] = "wb") -> IO[Any]:
    """Open for writing a file that is 0600 from its first moment, also if it was wider before.
    Text modes write UTF-8 with `\\n`. Raises PathError."""

    def opener(name: str, flags: int) -> int:
        fd = os.open(name, flags | getattr(os, "O_CLOEXEC", 0), _PRIVATE_FILE)
        # A file system without modes (FAT, some mounts) refuses; there is nothing to protect.
        with contextlib.suppress(OSError):
            os.fchmod(fd, _PRIVATE_FILE)
        return fd

    encoding, newline = (None, None) if "b" in mode else ("utf-8", "\n")
    with _one_sentence("write", path):
        return open(path, mode, encoding=encoding, newline=newline, opener=opener)


def write_private_atomic(path: Path, data: bytes) -> None:
    """Replace `path` by a 0600 file with `data`, so that a crash at any moment leaves the old
    or the new content. A symbolic link stays and its target is replaced. Raises PathError."""
    with _one_sentence("write", path):
        target = Path(os.path.realpath(path))
        fd, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
        try:
            with open(fd, "wb") as file:  # noqa: PTH123  a file descriptor
                file.write(data)
                file.flush()
                os.fsync(fd)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where the file system can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextlib.contextmanager
def _one_sentence(what: str, path: Path) -> Iterator[None]:
    try:
        yield
    except PathError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise PathError(
            f"Cannot {what} {clean(path)}: {reason}. {_remedy(error.errno, path)}"
        ) from error


def _remedy(code: int | None, path: Path) -> str:
    match code:
        case errno.ENOSPC | errno.EDQUOT:
            remedy = "Free some space there"
        case errno.ENOTDIR | errno.EEXIST | errno.EISDIR:
            remedy = "Move away what stands in its place"
        case errno.ENOENT:
            remedy = "Make its folder"
        case _:
            remedy = "Make it writable for you"
    if path.is_relative_to(_home_path()):
        return f"{remedy}, or name another folder with AGENT_TUI_HOME."
    return f"{remedy}, or choose another place."
