"""Which paths fit what is typed behind an @, best first.

A path fits when the characters typed stand in it in their order. Names count more than the
folders they are in, beginnings of words more than their middle, what was named before more than
the rest, short more than long. Nothing here takes more than one pass over the paths.
"""

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

SHOWN = 50
"""So many are offered at most."""

_SLICE = 4096
"""Paths between two looks at whether the answer is still wanted."""

_INITIAL = re.compile(r"(?:^|(?<=[/._\- ]))[^/._\- ]")


class NotWanted(Exception):
    """Something else has been typed meanwhile."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is typed, ready to compare. hidden: names that begin with a dot count as well."""

    text: str
    hidden: bool
    fits: Callable[[str], object]

    @classmethod
    def of(cls, typed: str) -> "Query":
        low = typed.casefold()
        steps = "".join(f"[^{re.escape(c)}]*{re.escape(c)}" for c in low)
        return cls(low, low.startswith(".") or "/." in low, re.compile(steps).match)

    def fits_initials(self, path: str) -> bool:
        """The characters begin words of the path."""
        return bool(self.fits("".join(_INITIAL.findall(path))))


def is_hidden(path: str) -> bool:
    """One of its names begins with a dot."""
    return path.startswith(".") or "/." in path


def best(
    paths: Sequence[str],
    folded: Sequence[str],
    query: Query,
    recent: Mapping[str, int],
    wanted: Callable[[], bool],
) -> list[str]:
    """The best of the paths for the query. folded: the paths without their case, in the same
    order. recent: path → how long ago it was named (0: last). Raises NotWanted."""
    found: list[tuple[tuple[int, ...], str]] = []
    for start in range(0, len(paths), _SLICE):
        if not wanted():
            raise NotWanted
        end = start + _SLICE
        fit = _fitting(paths[start:end], folded[start:end], query, recent)
        found = heapq.nsmallest(SHOWN, [*found, *fit])
    return [path for _, path in found]


def _fitting(
    paths: Sequence[str], folded: Sequence[str], query: Query, recent: Mapping[str, int]
) -> Iterable[tuple[tuple[int, ...], str]]:
    fits, hidden = query.fits, query.hidden
    for path, low in zip(paths, folded, strict=True):
        if fits(low) and (hidden or not is_hidden(path)):
            yield _score(path, low, query, recent), path


def _score(path: str, low: str, query: Query, recent: Mapping[str, int]) -> tuple[int, ...]:
    """Smaller is better."""
    typed = query.text
    whole = low.removesuffix("/")
    name = whole[whole.rfind("/") + 1 :]
    if typed in (name, whole, low):
        rank = 0
    elif name.startswith(typed):
        rank = 1
    elif (at := name.find(typed)) > 0:
        rank = 2 if name[at - 1] in "._- " else 3
    elif low.startswith(typed) or f"/{typed}" in low:
        rank = 4
    elif typed in low:
        rank = 5
    elif query.fits_initials(name):
        rank = 6
    elif query.fits(name):
        rank = 7
    else:
        rank = 8 if query.fits_initials(low) else 9
    return (rank, recent.get(path, len(recent)), low.count("/"), len(low))
