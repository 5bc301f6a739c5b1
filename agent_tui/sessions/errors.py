"""What can go wrong with a session file; every text says what the user can do."""

from collections.abc import Sequence
from pathlib import Path

from agent_tui import paths
from agent_tui.text import clean, cut


class SessionError(Exception):
    """Base of all; str() is what the user reads."""


class SessionNotFoundError(SessionError):
    """No such file, or no session of that id. nearest: ids that look like it."""

    def __init__(self, wanted: str, nearest: Sequence[str] = (), where: str = "") -> None:
        self.wanted = wanted
        self.nearest = list(nearest)
        place = f" {paths.with_tilde(where)}" if where else ""
        text = f"There is no session {_quoted(wanted)}{place}."
        if self.nearest:
            text += f" Did you mean {' or '.join(self.nearest)}?"
        super().__init__(text)


class NoSessionYetError(SessionNotFoundError):
    """The folder has no session to continue."""

    def __init__(self, cwd: str) -> None:
        super().__init__("")
        self.args = (
            f"No conversation was kept in {clean(cwd)} yet. Start one first, without -c or -r.",
        )


class SessionElsewhereError(SessionNotFoundError):
    """The session exists, but belongs to another folder (cwd); path: its file."""

    def __init__(self, wanted: str, cwd: str, path: Path) -> None:
        super().__init__(wanted)
        self.cwd = cwd
        self.path = path
        self.args = (
            f"Session {_quoted(wanted)} was not found here; it belongs to {clean(cwd)}. "
            "Start agent-tui there to go on with it.",
        )


class SessionAmbiguousError(SessionError):
    """Several sessions begin with these letters; matches: their full ids."""

    def __init__(self, wanted: str, matches: Sequence[str]) -> None:
        self.wanted = wanted
        self.matches = list(matches)
        shown = ", ".join(self.matches[:5]) + (", ..." if len(self.matches) > 5 else "")
        super().__init__(
            f"{_quoted(wanted)} begins the id of {len(self.matches)} sessions ({shown}). "
            "Give more letters of the id."
        )


class SessionDamagedError(SessionError):
    """The header cannot be read. records: how many records after it still can."""

    def __init__(self, path: Path, records: int) -> None:
        self.path = path
        self.records = records
        if records:
            text = (
                f"The first line of the session file {path} is damaged; {records} "
                f"record{'s' if records != 1 else ''} after it can still be read. "
                "Nothing was changed."
            )
        else:
            text = (
                f"{path} is not a session file, or it is damaged from its first line on. "
                "Nothing was changed; start a new session or choose another file."
            )
        super().__init__(text)


class SessionTooNewError(SessionError):
    """The file is of a version this program does not know; version: the one it names."""

    def __init__(self, path: Path, version: int) -> None:
        self.path = path
        self.version = version
        super().__init__(
            f"The session file {path} was written by a newer agent-tui (format {version}). "
            "Update agent-tui to open it; the file was not changed."
        )


class SessionUnreadableError(SessionError):
    """The system refused to read the file (permissions, a folder, a disk error)."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(f"The session file {path} could not be read: {reason}.")


class SessionLockedError(SessionError):
    """Another process writes this session. pid: which one, None if it is not known."""

    def __init__(self, path: Path, pid: int | None) -> None:
        self.path = path
        self.pid = pid
        who = f"by process {pid}" if pid is not None else "by another process"
        super().__init__(
            f"This session is already open {who} ({path}). "
            "Close it there, or start a new session here."
        )


class SessionClosedError(SessionError):
    """A record came after close()."""

    def __init__(self) -> None:
        super().__init__("The session is closed.")


def _quoted(wanted: str) -> str:
    return f"'{cut(clean(wanted), 60)}'"
