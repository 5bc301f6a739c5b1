"""What the write and edit calls of a session have made of each file, as one diff.

Every such call kept its own diff (details.diff), also in the session file. Undone from the newest
to the oldest on the file as it is now, they give the file as it was first seen. Where that fails,
as something else has changed the file too, the calls' own diffs are all that can be said.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.agent.messages import AgentMessage, ToolResultMessage
from agent_tui.tools.diffs import LEFT_OUT, changed_lines, split_lines, unified_diff
from agent_tui.tools.file_text import decode, shown_text

_CHANGING = frozenset({"write", "edit"})
MOST_FILES = 100
MOST_BYTES = 2_000_000
"""A larger file is not read; the calls' own diffs are shown."""
MOST_CALL_DIFFS = 40_000
"""Characters of one file's call diffs."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$")
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class FileDiff:
    """path as the calls named it. whole: the diff is against the file as first seen; else it is
    the calls' diffs one after the other. calls: how many changed it."""

    path: str
    diff: str
    whole: bool
    calls: int

    @property
    def counts(self) -> tuple[int, int]:
        """(added, removed) lines."""
        lines = [line for line in self.diff.split("\n") if line[:4] not in ("--- ", "+++ ")]
        return sum(x[:1] == "+" for x in lines), sum(x[:1] == "-" for x in lines)


@dataclass(slots=True)
class _Changes:
    path: str
    created: bool = False
    """The first call made the file."""
    diffs: list[str] = field(default_factory=list[str])


class _CannotUndo(Exception):
    """The text is not what this diff made."""


def session_diffs(messages: Iterable[AgentMessage], cwd: str) -> list[FileDiff]:
    """A FileDiff for each file that differs, in the order of their first change; at most
    MOST_FILES. Reads those files: not for the event loop."""
    found: dict[str, _Changes] = {}
    for path, diff, created in calls_that_changed(messages):
        found.setdefault(path, _Changes(path, created)).diffs.append(diff)
    made = [_file_diff(changes, cwd) for changes in list(found.values())[:MOST_FILES]]
    return [one for one in made if one.diff]


def calls_that_changed(messages: Iterable[AgentMessage]) -> Iterator[tuple[str, str, bool]]:
    """(path, diff, whether it made the file) of each write and edit that changed something."""
    for message in messages:
        if not isinstance(message, ToolResultMessage) or message.tool_name not in _CHANGING:
            continue
        if message.is_error or not isinstance(message.details, dict):
            continue
        path, diff = message.details.get("path"), message.details.get("diff")
        if isinstance(path, str) and isinstance(diff, str) and diff:
            yield path, diff, bool(message.details.get("created"))


def _file_diff(changes: _Changes, cwd: str) -> FileDiff:
    calls = len(changes.diffs)
    try:
        now = _lines_now(Path(cwd) / changes.path)
        before = [] if changes.created else now
        if not changes.created:
            for diff in reversed(changes.diffs):
                before = undone(before, diff)
    except (_CannotUndo, OSError):
        return FileDiff(changes.path, _one_after_the_other(changes.diffs), False, calls)
    diff = unified_diff(before, now, changed_lines(before, now), changes.path)
    return FileDiff(changes.path, diff, True, calls)


def _lines_now(path: Path) -> list[str]:
    """Raises OSError, _CannotUndo."""
    if path.stat().st_size > MOST_BYTES:
        raise _CannotUndo
    text = decode(path.read_bytes())
    if text is None:
        raise _CannotUndo
    return split_lines(shown_text(text.text)[0])


def undone(after: Sequence[str], diff: str) -> list[str]:
    """The lines that `diff` was made from, given those that it made. Raises _CannotUndo where
    these are not."""
    lines = diff.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    if not lines or not lines[0].startswith("--- ") or lines[-1].endswith(LEFT_OUT):
        raise _CannotUndo
    before: list[str] = []
    at = 0
    index = 2
    while index < len(lines):
        head = _HUNK.match(lines[index])
        if head is None:
            raise _CannotUndo
        index += 1
        start, length = int(head[3]), int(head[4] or 1)
        start -= 1 if length else 0
        if not at <= start <= len(after):
            raise _CannotUndo
        before += after[at:start]
        at = start
        olds, news = int(head[2] or 1), length
        while olds or news:
            if index >= len(lines):
                raise _CannotUndo
            sign, text = lines[index][:1], lines[index][1:] + "\n"
            index += 1
            if index < len(lines) and lines[index] == _NO_NEWLINE:
                text = text[:-1]
                index += 1
            if sign in (" ", "+"):
                if at >= len(after) or after[at] != text:
                    raise _CannotUndo
                at += 1
                news -= 1
            if sign in (" ", "-"):
                before.append(text)
                olds -= 1
            if sign not in (" ", "+", "-"):
                raise _CannotUndo
    return before + list(after[at:])


def _one_after_the_other(diffs: Sequence[str]) -> str:
    out, size = [], 0
    for number, diff in enumerate(diffs):
        size += len(diff)
        if size > MOST_CALL_DIFFS and number:
            out.append(f"… {len(diffs) - number:,} more diffs of calls\n")
            break
        out.append(diff)
    return "".join(out)
