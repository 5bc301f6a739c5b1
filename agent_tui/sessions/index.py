"""Which sessions there are. Parses the first and last bytes of each file only; the prompts are
counted by the look of their bytes."""

import difflib
import json
import logging
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent_tui.agent.messages import UserMessage
from agent_tui.sessions.errors import (
    SessionAmbiguousError,
    SessionElsewhereError,
    SessionNotFoundError,
)
from agent_tui.sessions.reader import Damage, Line, NewerHeader, read_line
from agent_tui.sessions.records import Header, MessageRecord, Record
from agent_tui.sessions.store import SUFFIX, folder_of, id_in_name, sessions_folder
from agent_tui.sessions.tree import SessionTree
from agent_tui.text import cut

log = logging.getLogger(__name__)

SAMPLE = 64 * 1024
"""Bytes read at each end of a file."""

COUNTED = 16 * 1024 * 1024
"""Bytes of a file in which the prompts are counted: some 10 ms."""

PROMPT_LENGTH = 200
"""Characters kept of the first prompt."""


@dataclass(slots=True)
class SessionInfo:
    """One line of a list. created, modified: seconds since 1970 (created 0: not known).

    first_prompt: one line, cut at PROMPT_LENGTH; foreign text. messages: exact for a file
    of up to 2 * SAMPLE bytes, else estimated (exact False). damage: "" or what is wrong,
    as far as the bytes read tell. cwd is "" when the header is not readable. begun: it holds
    something to go on with, or may: a message, a queued one, a draft. attended: somebody was
    there; False when only runs of -p have used it. draft: as first_prompt. prompts: what the
    user said, steering too; it only grows. prompts_whole: False where only the first COUNTED
    bytes were looked through, so there may be more.
    """

    path: Path
    id: str
    cwd: str
    created: float
    modified: float
    size: int
    first_prompt: str = ""
    prompts: int = 0
    prompts_whole: bool = True
    messages: int = 0
    exact: bool = True
    damage: str = ""
    begun: bool = True
    attended: bool = True
    draft: str = ""


def list_sessions(cwd: str, home: Path) -> list[SessionInfo]:
    """The sessions of a folder, the last changed first; damaged ones too. Blocking (about
    1 ms a file); call it in a thread."""
    return _infos(_files(folder_of(cwd, home)))


def list_all(home: Path) -> list[SessionInfo]:
    """The sessions of all folders, the last changed first. Blocking."""
    return _infos(path for folder in _folders(home) for path in _files(folder))


def newest(cwd: str, home: Path, *, attended: bool = False) -> SessionInfo | None:
    """The session of the folder that was changed last; None if there is none. One that was
    never begun is passed over: there is nothing in it to go on with.

    attended: rather one in which somebody was there; one of -p only where there is no other.
    """
    paths = sorted(_files(folder_of(cwd, home)), key=_modified, reverse=True)
    last: SessionInfo | None = None
    for path in paths:
        info = read_info(path)
        if info is None or not info.begun:
            continue
        if info.attended or not attended:
            return info
        last = last or info
    return last


def find(wanted: str, cwd: str, home: Path) -> SessionInfo:
    """The session whose id begins with `wanted`, in this folder.

    Raises SessionNotFoundError (with the nearest ids), SessionElsewhereError (it belongs to
    another folder: its cwd and path are in the error), SessionAmbiguousError.
    """
    here = _matching(wanted, _files(folder_of(cwd, home)))
    if len(here) > 1:
        raise SessionAmbiguousError(wanted, [id_in_name(path) for path in here])
    info = read_info(here[0]) if here else None
    if info is not None:
        return info
    every = [path for folder in _folders(home) for path in _files(folder)]
    elsewhere = _matching(wanted, every)
    if len(elsewhere) > 1:
        raise SessionAmbiguousError(wanted, [id_in_name(path) for path in elsewhere])
    if elsewhere:
        info = read_info(elsewhere[0])
        if info is not None:
            raise SessionElsewhereError(wanted, info.cwd or "another folder", info.path)
    raise SessionNotFoundError(wanted, _nearest(wanted, every), f"in {cwd}")


def read_info(path: Path) -> SessionInfo | None:
    """What the ends of the file tell; None if the file is gone or may not be read."""
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            head = file.read(SAMPLE)
            tail = _tail(file, stat.st_size)
            info = SessionInfo(path, id_in_name(path), "", 0.0, stat.st_mtime, stat.st_size)
            face = _read_head(info, head)
            info.prompts = _prompts(file)
            info.prompts_whole = stat.st_size <= COUNTED
            if face == "print":
                info.attended = _was_attended(file)
    except OSError as error:
        log.warning("%s is left out of the list: %s", path, error)
        return None
    _count(info, head, tail)
    if info.begun and info.exact and not info.messages and not info.damage:
        info.begun = _is_begun(info, head + tail)
    if not info.damage and stat.st_size and not (tail or head).endswith(b"\n"):
        info.damage = "its last line is cut short"
    return info


def _tail(file: BinaryIO, size: int) -> bytes:
    file.seek(max(SAMPLE, size - SAMPLE))
    return file.read(SAMPLE)


def _was_attended(file: BinaryIO) -> bool:
    """Whether another face went on in a session that -p made."""
    file.seek(0)
    return any(line.startswith(b'{"type":"face"') for line in file)


_USER_MESSAGE = re.compile(rb'"message":\{"id":"[^"\\]*","timestamp":[0-9.eE+-]+,"role":"user"')
"""As records.encode writes one; inside of a text its quotes would be escaped."""
_CHUNK, _LONGEST = 1024 * 1024, 200


def _prompts(file: BinaryIO) -> int:
    """How often the user said something, in the first COUNTED bytes."""
    file.seek(0)
    found, rest = 0, b""
    for _ in range(COUNTED // _CHUNK):
        if not (chunk := file.read(_CHUNK)):
            break
        data = rest + chunk
        # One that ends in what was seen before was counted there.
        found += sum(m.end() > len(rest) for m in _USER_MESSAGE.finditer(data))
        rest = data[-_LONGEST:]
    return found


def _is_begun(info: SessionInfo, data: bytes) -> bool:
    """Of a file without messages: whether a queued message, a draft or a command of the user's
    is in it."""
    tree = SessionTree()
    for number, line in enumerate(data.split(b"\n"), 1):
        for parsed in read_line(Line(number, line), lambda _: True):
            if isinstance(parsed, Record):
                tree.apply(parsed)
    shown = tree.draft if tree.draft.text or not tree.draft.stash else tree.draft.stash[-1]
    info.draft = _one_line(shown.whole)
    return bool(tree.draft or tree.uploads or tree.queue.items() or tree.ran)


def _read_head(info: SessionInfo, head: bytes) -> str | None:
    """Fills in what the head tells; gives the face that made the session."""
    face: str | None = None
    lines = head.split(b"\n")
    rest = lines.pop()
    headed = False
    for number, data in enumerate(lines, 1):
        for parsed in read_line(Line(number, data), lambda _: True):
            match parsed:
                case Header():
                    if not headed:
                        headed = True
                        info.id, info.cwd, info.created = parsed.id, parsed.cwd, parsed.created
                        face = parsed.face
                case NewerHeader():
                    info.damage = f"it is of a newer agent-tui (format {parsed.version})"
                    return face
                case Damage():
                    info.damage = info.damage or f"line {number} {parsed.reason}"
                case MessageRecord(message=UserMessage() as message) if not info.first_prompt:
                    info.first_prompt = _one_line(message.text) or "[image]"
                case _:
                    pass
    info.begun = info.size > len(head) or len(lines) > (1 if headed else 0)
    if not headed:
        info.damage = "its first line cannot be read"
    if not info.first_prompt:
        info.first_prompt = _prompt_in_part(rest)
    return face


_PROMPT = re.compile(r'"role":"user".*?"type":"text","text":"((?:[^"\\]|\\.)*)', re.DOTALL)


def _prompt_in_part(data: bytes) -> str:
    """The first text of a user message whose line is longer than what was read."""
    text = data.decode("utf-8", "ignore")
    found = _PROMPT.search(text) if text.startswith('{"type":"message"') else None
    if found is None:
        return ""
    try:
        return _one_line(json.loads(f'"{found[1]}"'))
    except ValueError:
        return ""


def _one_line(text: str) -> str:
    return cut(" ".join(text[: 4 * PROMPT_LENGTH].split()), PROMPT_LENGTH)


_MESSAGE_LINE = re.compile(rb'^\{"type":"message"', re.MULTILINE)


def _count(info: SessionInfo, head: bytes, tail: bytes) -> None:
    seen = len(_MESSAGE_LINE.findall(head + tail))
    sampled = len(head) + len(tail)
    info.exact = sampled >= info.size
    info.messages = seen if info.exact else round(seen * info.size / sampled)


def _infos(paths: Iterable[Path]) -> list[SessionInfo]:
    infos = [info for path in paths if (info := read_info(path)) is not None]
    return sorted(infos, key=lambda info: (info.modified, info.created), reverse=True)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _folders(home: Path) -> list[Path]:
    try:
        return sorted(path for path in sessions_folder(home).iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("no list of sessions: %s", error)
        return []


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except FileNotFoundError:
        return []
    except OSError as error:
        log.warning("%s is left out of the list: %s", folder, error)
        return []


def _matching(wanted: str, paths: list[Path]) -> list[Path]:
    exact = [path for path in paths if id_in_name(path) == wanted]
    return exact or [path for path in paths if wanted and id_in_name(path).startswith(wanted)]


def _nearest(wanted: str, paths: list[Path]) -> list[str]:
    if not wanted:
        return []
    ids = [id_in_name(path) for path in paths]
    close = difflib.get_close_matches(wanted, ids, n=3, cutoff=0.5)
    # A prefix mistyped is far from a whole id: compare it with prefixes of its length.
    short = {session_id[: len(wanted)]: session_id for session_id in reversed(ids)}
    near = difflib.get_close_matches(wanted, list(short), n=3, cutoff=0.6)
    return list(dict.fromkeys([*close, *(short[prefix] for prefix in near)]))[:3]
