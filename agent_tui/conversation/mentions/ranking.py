"""Which paths fit what is typed behind an @, best first.

A path fits when the characters typed stand in it in their order. Names count more than the
folders they are in, beginnings of words more than their middle, what was named before more than
the rest, short more than long. Nothing here takes more than one pass over the paths.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

SHOWN = 50
"""So many are offered at most."""

_SLICE = 2048
"""Paths between two looks at whether the answer is still wanted."""

_REST_S = 0.001
_NONE = 1 << 62

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
    order. recent: path → how long ago it was named (0: last). Raises NotWanted.

    For a thread: it stands back between slices, so that the event loop keeps its pace.
    """
    found: list[tuple[int, str]] = []
    worst = _NONE
    for start in range(0, len(paths), _SLICE):
        if not wanted():
            raise NotWanted
        end = start + _SLICE
        for path, low in zip(paths[start:end], folded[start:end], strict=True):
            if not query.fits(low) or (is_hidden(path) and not query.hidden):
                continue
            score = _score(path, low, query, recent)
            if score < worst:  # so that few objects are made, however many paths fit
                found.append((score, path))
                if len(found) == 8 * SHOWN:
                    found.sort()
                    del found[SHOWN:]
                    worst = found[-1][0]
        if end < len(paths):
            time.sleep(_REST_S)
    return [path for _, path in sorted(found)[:SHOWN]]


def _score(path: str, low: str, query: Query, recent: Mapping[str, int]) -> int:
    """Smaller is better: rank, then how long ago it was named, then depth, then length."""
    age = min(recent.get(path, 255), 255) if recent else 255
    depth, length = min(low.count("/"), 255), min(len(low), 0xFFFF)
    return _rank(low, query) << 32 | age << 24 | depth << 16 | length


def _rank(low: str, query: Query) -> int:
    typed = query.text
    whole = low.removesuffix("/")
    name = whole[whole.rfind("/") + 1 :]
    if typed in (name, whole, low):
        return 0
    if (at := name.find(typed)) >= 0:
        return 1 if at == 0 else 2 if name[at - 1] in "._- " else 3
    if (at := low.find(typed)) >= 0:
        return 4 if at == 0 or f"/{typed}" in low else 5
    if query.fits(name):
        return 6 if query.fits_initials(name) else 7
    return 8 if query.fits_initials(low) else 9
