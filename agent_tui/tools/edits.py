"""Where the `old` texts of an edit are, what the file is afterwards, and what to say if an
`old` is not there exactly once. Pure text; files.py reads and writes.
"""

import difflib
import re
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

from agent_tui.text import cut
from agent_tui.tools.diffs import Change, changed_lines, split_lines
from agent_tui.tools.file_text import shown_text
from agent_tui.tools.workspace import ToolError

_NEAREST_S = 0.3
_MAX_PROBLEMS = 5
_NUMBERED = re.compile(r"\s*\d+\t")


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement: exactly `old` becomes `new`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The text afterwards, the changes by lines (in old and new), and both texts' lines."""

    text: str
    old_lines: list[str]
    new_lines: list[str]
    changes: list[Change]


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    new: str
    number: int


def apply_edits(text: str, edits: list[Edit], path: str) -> Edited:
    """Apply every edit to `text`, each matched against the text as it was before the call.

    Line ends: CR LF in the file matches LF in `old`, and lines that `new` brings get the line
    end that most of the file has; everything outside the matches stays as it is, character by
    character. Raises ToolError, naming every edit that cannot be done, when an `old` is empty,
    missing, not unique, equal to its `new`, or overlaps another.
    """
    flat = text.replace("\r\n", "\n")
    spans: list[_Span] = []
    problems: list[str] = []
    for number, edit in enumerate(edits, 1):
        old, new = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
        at = flat.find(old) if old else -1
        problem = _problem(flat, old, new, at)
        if problem:
            problems.append(problem if len(edits) == 1 else f"Edit {number}: {problem}")
        else:
            spans.append(_Span(at, at + len(old), new, number))
    spans.sort(key=lambda span: span.start)
    for one, two in pairwise(spans):
        if two.start < one.end:
            problems.append(
                f"Edits {one.number} and {two.number} overlap (line {_line(flat, two.start)}): "
                "join them into one edit."
            )
    if problems:
        more = len(problems) - _MAX_PROBLEMS
        told = problems[:_MAX_PROBLEMS] + ([f"({more} more edits fail.)"] if more > 0 else [])
        raise ToolError("\n".join([f"Nothing was changed in {path}.", *told]))
    return _apply(text, flat, spans)


def _apply(text: str, flat: str, spans: list[_Span]) -> Edited:
    crlf = [found.start() for found in re.finditer("\r\n", text)]
    # Place of each CR LF in `flat`, where it is one character shorter for each one before it.
    flat_crlf = [place - index for index, place in enumerate(crlf)]
    line_end = "\r\n" if 2 * len(crlf) > text.count("\n") else "\n"
    pieces: list[str] = []
    done = 0
    for span in spans:
        start = span.start + bisect_left(flat_crlf, span.start)
        pieces += [text[done:start], span.new.replace("\n", line_end)]
        done = span.end + bisect_left(flat_crlf, span.end)
    edited = "".join([*pieces, text[done:]])

    old_lines, new_lines = split_lines(text), split_lines(edited)
    return Edited(edited, old_lines, new_lines, _changes(flat, spans, old_lines, new_lines))


def _changes(
    flat: str, spans: list[_Span], old_lines: list[str], new_lines: list[str]
) -> list[Change]:
    """Compare only the lines that an edit touches: the file may be large."""
    starts = [0]
    for line in old_lines:
        starts.append(starts[-1] + len(line))
    blocks: list[list[int]] = []  # first old line, end, growth in lines
    for span in spans:
        first = bisect_right(starts, span.start) - 1
        end = min(bisect_right(starts, span.end), len(old_lines))
        growth = span.new.count("\n") - flat.count("\n", span.start, span.end)
        if blocks and first < blocks[-1][1]:
            blocks[-1][1:] = [max(end, blocks[-1][1]), blocks[-1][2] + growth]
        else:
            blocks.append([first, end, growth])
    changes: list[Change] = []
    shift = 0
    for first, end, growth in blocks:
        at_end = end >= len(old_lines)
        new_end = len(new_lines) if at_end else end + shift + growth
        changes += changed_lines(
            old_lines[first:end], new_lines[first + shift : new_end], at=(first, first + shift)
        )
        shift += growth
    return changes


def _line(flat: str, at: int) -> int:
    return flat.count("\n", 0, at) + 1


def _problem(flat: str, old: str, new: str, at: int) -> str | None:
    if not old:
        return (
            "`old` is empty. Give the text to replace with enough of its surroundings to be "
            "unique, or use write for a whole file."
        )
    if at >= 0 and flat.find(old, at + 1) < 0:
        return "`old` and `new` are the same; there is nothing to change." if old == new else None
    if at >= 0:
        return _ambiguous(flat, old, at)
    return _missing(flat, old)


def _ambiguous(flat: str, old: str, at: int) -> str:
    places: list[int] = []
    count = 0
    while at >= 0:
        count += 1
        if len(places) < 5:
            places.append(_line(flat, at))
        at = flat.find(old, at + 1)
    lines = ", ".join(map(str, places)) + (", …" if count > len(places) else "")
    return (
        f"`old` is there {count} times (lines {lines}). Add lines around it until it is unique, "
        "or make one edit for each place."
    )


def _missing(flat: str, old: str) -> str:
    wanted = old.split("\n")
    if all(_NUMBERED.match(line) for line in wanted if line.strip()):
        return (
            "`old` was not found: it begins with line numbers. Leave out the number and the tab "
            "that read puts before each line."
        )
    lines = flat.split("\n")
    loose = _same_but_for_space(lines, wanted)
    if loose is not None:
        first, last = loose
        return (
            f"`old` was not found, but lines {first + 1}-{last} differ from it in white space "
            f"only. They are:\n{_quoted(lines[first:last], first)}"
        )
    nearest = _nearest(lines, wanted)
    hint = "Read the file again: it may have changed."
    if nearest is None:
        return f"`old` was not found, nor anything like it. {hint}"
    first = nearest
    return (
        f"`old` was not found. The nearest place is line {first + 1}:\n"
        f"{_quoted(lines[first : first + min(len(wanted), 5)], first)}\n{hint}"
    )


def _quoted(lines: list[str], first: int) -> str:
    shown = [shown_text(line)[0] for line in lines[:30]]
    cut_off = ["  …"] if len(lines) > 30 else []
    return "\n".join(
        [*(f"{first + n:>6}\t{cut(line, 500)}" for n, line in enumerate(shown, 1)), *cut_off]
    )


def _same_but_for_space(lines: list[str], wanted: list[str]) -> tuple[int, int] | None:
    core = [" ".join(line.split()) for line in wanted]
    while core and not core[0]:
        core.pop(0)
    while core and not core[-1]:
        core.pop()
    if not core:
        return None
    flat = [" ".join(line.split()) for line in lines]
    for first in range(len(flat) - len(core) + 1):
        if flat[first] == core[0] and flat[first : first + len(core)] == core:
            return first, first + len(core)
    return None


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """The line most like the longest line of `wanted`, counted back to where `wanted` would
    begin. Looks for at most 0.3 s."""
    place, key = max(enumerate(wanted), key=lambda item: len(item[1].strip()))
    key = key.strip()[:500]
    if not key:
        return None
    until = time.monotonic() + _NEAREST_S
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(key)
    best, found = 0.6, None
    for number, line in enumerate(lines):
        if time.monotonic() > until:
            break
        matcher.set_seq1(line.strip()[:500])
        if (
            matcher.real_quick_ratio() > best
            and matcher.quick_ratio() > best
            and (ratio := matcher.ratio()) > best
        ):
            best, found = ratio, number
    return None if found is None else max(0, found - place)
