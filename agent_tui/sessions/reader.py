"""Reading a session file: a damaged line costs only itself, whatever is in it.

Nothing is changed on disk. What could not be read is told in `notices`.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from agent_tui.sessions.errors import (
    SessionDamagedError,
    SessionNotFoundError,
    SessionTooNewError,
    SessionUnreadableError,
)
from agent_tui.sessions.records import (
    ADAPTERS,
    MAX_LINE,
    VERSION,
    Header,
    Record,
    without_surrogates,
)
from agent_tui.sessions.tree import SessionTree
from agent_tui.text import clean

UNREADABLE = "could not be read"
CUT_SHORT = "was cut short (the program ended while it wrote it)"


@dataclass(slots=True)
class Damage:
    """A line, or a part of one, that gives no record. id, parent_id: its place, if known."""

    reason: str
    id: str | None = None
    parent_id: str | None = None


@dataclass(slots=True)
class NewerHeader:
    """The header of a version above ours."""

    version: int


@dataclass(slots=True)
class Line:
    """number counts from 1; complete: it ended with a newline; data: without it."""

    number: int
    data: bytes
    complete: bool = True
    too_long: bool = False


Parsed = Header | NewerHeader | Record | Damage


@dataclass(slots=True)
class LoadedSession:
    """notices: one sentence per damage, for the user. at_line_start: the file ends with a
    newline (or is empty), so that the next record can be appended as it is."""

    header: Header
    tree: SessionTree
    notices: list[str] = field(default_factory=list[str])
    at_line_start: bool = True


def load_session(path: Path, *, fallback_header: Header | None = None) -> LoadedSession:
    """Reads the whole file, line by line (memory: the messages and one line).

    fallback_header: used when no header can be read; without it that raises
    SessionDamagedError. Raises SessionNotFoundError, SessionUnreadableError,
    SessionTooNewError too.
    """
    try:
        with path.open("rb") as file:
            return _load(path, file, fallback_header)
    except FileNotFoundError:
        raise SessionNotFoundError(str(path)) from None
    except OSError as error:
        raise SessionUnreadableError(path, error.strerror or str(error)) from error


def _load(path: Path, file: BinaryIO, fallback_header: Header | None) -> LoadedSession:
    tree = SessionTree()
    notices = _Notices()
    header: Header | None = None
    line = Line(0, b"")
    records = 0
    for line in iter_lines(file):
        for parsed in read_line(line, tree.__contains__):
            match parsed:
                case Header():
                    header = header or parsed
                case NewerHeader() if header is None:
                    raise SessionTooNewError(path, parsed.version)
                case NewerHeader():
                    notices.add(line.number, "is of a newer version of agent-tui")
                case Damage():
                    if parsed.id is not None:
                        tree.place(parsed.id, parsed.parent_id)
                    notices.add(line.number, parsed.reason)
                case _:
                    records += 1
                    problem = tree.apply(parsed)
                    if problem:
                        notices.add(line.number, problem)
    if header is None:
        if fallback_header is None:
            raise SessionDamagedError(path, records)
        header = fallback_header
    return LoadedSession(header, tree, notices.sentences(), line.complete)


def iter_lines(file: BinaryIO) -> Iterator[Line]:
    """Lines of a file, never more than MAX_LINE bytes of one (a hole of zeros has no end)."""
    number = 0
    while data := file.readline(MAX_LINE + 1):
        number += 1
        complete = data.endswith(b"\n")
        if complete or len(data) <= MAX_LINE:
            yield Line(number, data[:-1] if complete else data, complete)
            continue
        while rest := file.readline(1 << 20):
            complete = rest.endswith(b"\n")
            if complete:
                break
        yield Line(number, data[:4096], complete, too_long=True)


def read_line(line: Line, is_known: Callable[[str], bool] = lambda _: False) -> Iterator[Parsed]:
    """What the line holds: nothing (blank), one record, or damage; and behind damage a
    record that was glued to it. is_known tells whether a record of this id came before."""
    data = line.data
    if line.too_long:
        yield Damage("is too long", *_place_in(data.decode("utf-8", "replace")))
        return
    if not data.strip():
        return
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        yield from _pieces(line, is_known)
        return
    yield _record(value, data)


def _pieces(line: Line, is_known: Callable[[str], bool]) -> Iterator[Parsed]:
    text = line.data.decode("utf-8", "surrogateescape")
    place = _place_in(text)
    start, record = _glued(text, is_known)
    first = _whole_start(text[:start]) if start is not None else _whole_start(text)
    if first is not None:
        yield first
        if start is None:
            yield Damage("has something after its record that could not be read")
    elif line.complete or start is not None:
        yield Damage(UNREADABLE, *place)
    else:
        yield Damage(CUT_SHORT, *place)
    if record is not None:
        yield record


_RECORD_START = re.compile(r'\{"type":"(?:' + "|".join(ADAPTERS) + r')","id":"')
_PLACE = re.compile(
    r'\{"type":"[a-z_]+","id":("(?:[^"\\]|\\.)*"),"parent_id":("(?:[^"\\]|\\.)*"|null)'
)


def _glued(text: str, is_known: Callable[[str], bool]) -> tuple[int | None, Parsed | None]:
    """Where a whole record begins behind something broken, and the record.

    Objects inside of a record look alike, and what is in them comes from the model. So a
    record counts only if it ends with the line, and if what is before it is broken already
    there, or too short to hold anything of a model, or its parent is known (a model is never
    told the ids of records).
    """
    broken_at = _first_error(text)
    for found in _RECORD_START.finditer(text, 1):
        start = found.start()
        try:
            data = text[start:].encode("utf-8")
            value = json.loads(data)
        except (ValueError, RecursionError):
            continue
        record = _record(value, data)
        if isinstance(record, Damage):
            continue
        before_id, _ = _place_in(text[:start])
        parent_id = value.get("parent_id")
        if (
            broken_at <= start + len('{"')
            or before_id is None
            or (isinstance(parent_id, str) and (parent_id == before_id or is_known(parent_id)))
        ):
            return start, record
    return None, None


def _first_error(text: str) -> int:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        pass
    return len(text)


def _whole_start(text: str) -> Parsed | None:
    """The record a line begins with, if it is whole (only its newline was lost)."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        data = text[:end].encode("utf-8")
    except (ValueError, RecursionError):
        return None
    record = _record(value, data)
    return None if isinstance(record, Damage) else record


def _place_in(text: str) -> tuple[str | None, str | None]:
    """id and parent_id of a record whose beginning is whole."""
    found = _PLACE.match(text)
    if found is None:
        return None, None
    try:
        return json.loads(found[1]), json.loads(found[2])
    except ValueError:
        return None, None


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _record(value: Any, data: bytes) -> Parsed:
    if not isinstance(value, dict):
        return Damage("is not a record")
    if _SURROGATE.search(data):
        value = without_surrogates(value)
    kind = value.get("type")
    if kind == "session":
        return _header(value)
    record_id, parent_id = value.get("id"), value.get("parent_id")
    if not isinstance(record_id, str) or not isinstance(parent_id, str | None):
        return Damage(UNREADABLE)
    if "parent_id" not in value:  # a damaged key is no root: that would hide what is before
        return Damage(UNREADABLE)
    adapter = ADAPTERS.get(kind) if isinstance(kind, str) else None
    version = value.get("version", VERSION)
    if adapter is None:
        kind = clean(str(kind)[:40])
        reason = f"is of a kind that this version of agent-tui does not know ({kind})"
        return Damage(reason, record_id, parent_id)
    if not isinstance(version, int) or version > VERSION:
        return Damage("was written by a newer version of agent-tui", record_id, parent_id)
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return Damage("does not hold what its kind should", record_id, parent_id)


def _header(value: dict[str, Any]) -> Parsed:
    version = value.get("version")
    if isinstance(version, int) and version > VERSION:
        return NewerHeader(version)
    try:
        return Header.model_validate(value)
    except ValidationError:
        return Damage(UNREADABLE)


class _Notices:
    """Neighbouring lines with the same damage make one sentence."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int, str]] = []

    def add(self, number: int, reason: str) -> None:
        if self._runs:
            first, last, before = self._runs[-1]
            if before == reason and number <= last + 1:
                self._runs[-1] = (first, number, reason)
                return
        self._runs.append((number, number, reason))

    def sentences(self) -> list[str]:
        return [
            f"Line {first} {reason}; it was kept and left out."
            if first == last
            else f"Lines {first} to {last}: each {reason}; they were kept and left out."
            for first, last, reason in self._runs
        ]
