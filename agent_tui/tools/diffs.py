"""Unified diffs for faces: made from what is known to have changed, bounded in time and size."""

import difflib
from collections.abc import Iterable, Sequence
from itertools import pairwise

Change = tuple[int, int, int, int]
"""Lines [i1, i2) of the old text became lines [j1, j2) of the new (counted from 0)."""

_CONTEXT = 3
_MAX_COMPARED_LINES = 1500
_MAX_DIFF_CHARS = 40_000
_NO_NEWLINE = "\\ No newline at end of file"

LEFT_OUT = "more lines of this diff"
"""How the last line ends of a diff that is not whole."""


def split_lines(text: str) -> list[str]:
    r"""The lines of `text`, each with its "\n"; only the last may lack it. CR LF counts as LF."""
    lines = text.replace("\r\n", "\n").split("\n")
    last = lines.pop()
    ended = [line + "\n" for line in lines]
    return [*ended, last] if last else ended


def changed_lines(
    old: Sequence[str], new: Sequence[str], *, at: tuple[int, int] = (0, 0)
) -> list[Change]:
    """The changes that turn `old` into `new`, shifted by `at`. Equal ends are cut off first;
    a middle too large to compare quickly counts as replaced as a whole."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    i, j = at[0] + start, at[1] + start
    if not a and not b:
        return []
    if not a or not b or max(len(a), len(b)) > _MAX_COMPARED_LINES:
        return [(i, i + len(a), j, j + len(b))]
    codes = difflib.SequenceMatcher(None, a, b).get_opcodes()
    return [(i + i1, i + i2, j + j1, j + j2) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def unified_diff(
    old: Sequence[str], new: Sequence[str], changes: Iterable[Change], path: str
) -> str:
    """The changes as a unified diff with three lines of context; "" when there are none.

    Past 40,000 characters the rest is left out, and a last line says how much.
    """
    out: list[str] = []
    for hunk in _hunks(changes):
        if not out:
            out += [f"--- {path}", f"+++ {path}"]
        first, last = hunk[0], hunk[-1]
        before = min(_CONTEXT, first[0])
        after = min(_CONTEXT, len(old) - last[1])
        i1, i2, j1, j2 = first[0] - before, last[1] + after, first[2] - before, last[3] + after
        out.append(f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@")
        _lines(out, " ", old[i1 : first[0]])
        for change, following in pairwise([*hunk, None]):
            assert change is not None
            _lines(out, "-", old[change[0] : change[1]])
            _lines(out, "+", new[change[2] : change[3]])
            _lines(out, " ", old[change[1] : following[0] if following else i2])
    return _bounded(out)


def _hunks(changes: Iterable[Change]) -> list[list[Change]]:
    hunks: list[list[Change]] = []
    for change in changes:
        if hunks and change[0] - hunks[-1][-1][1] <= 2 * _CONTEXT:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _range(start: int, end: int) -> str:
    # GNU diff: an empty range names the line before it; a length of 1 is left out.
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _lines(out: list[str], sign: str, lines: Sequence[str]) -> None:
    for line in lines:
        if line.endswith("\n"):
            out.append(sign + line[:-1])
        else:
            out += [sign + line, _NO_NEWLINE]


def _bounded(lines: list[str]) -> str:
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > _MAX_DIFF_CHARS:
            rest = len(lines) - number
            return "\n".join([*lines[:number], f"… {rest:,} {LEFT_OUT}"]) + "\n"
    return "".join(f"{line}\n" for line in lines)
