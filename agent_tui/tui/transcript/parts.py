"""Parts: the pieces of a block that are laid out, cached and forgotten on their own.

A part knows its content, a cheap estimate of its height and how to lay itself out. A block
of a megabyte is some thousand parts, of which only those on the screen have lines.
"""

from collections.abc import Sequence
from typing import Protocol

from agent_tui.tui.transcript.lines import SOFT, Line, Look, Prefix, Run, Runs, lay_runs

CHUNK = 64
"""Lines of plain text, code or tool output in one part."""

LINE_LIMIT = 4096
"""A longer source line is cut into several, so that no row costs more than this."""


class Picture(Protocol):
    """Something that can be looked at on a page of its own (images.py)."""

    @property
    def words(self) -> str:
        """What it is, safe text."""
        ...


class Part:
    """Base. gap: blank rows above it. `lines` is owned by the layout (None: not laid out);
    `measured` is the look version for which `rows` is exact, -1 for an estimate.
    pictures: what can be looked at on a page of its own, from here."""

    __slots__ = ("gap", "lines", "measured", "rows")
    pictures: Sequence[Picture] = ()

    def __init__(self, gap: int = 0) -> None:
        self.gap = gap
        self.lines: list[Line] | None = None
        self.measured = -1
        self.rows = 0

    def estimate(self, width: int) -> int:
        """About how many rows it will have at this width, the gap left out."""
        raise NotImplementedError

    def lay_out(self, look: Look) -> list[Line]:
        """Its rows, the gap left out."""
        raise NotImplementedError

    def source(self) -> str:
        """The text it was made of."""
        raise NotImplementedError

    def head(self, lines: int) -> "Part":
        """Its first source lines; the part itself where it cannot be cut."""
        return self

    def touch(self) -> None:
        """Its content changed: what was laid out no longer counts."""
        self.lines = None
        self.measured = -1


class PlainPart(Part):
    """Lines of styled text, not markdown. The first row of the part may have a prefix of
    its own (the glyph of a prompt)."""

    __slots__ = ("_hard", "_lines", "_prefix", "_rest_prefix", "_size")

    def __init__(
        self,
        lines: list[Runs],
        *,
        prefix: Prefix | None = None,
        rest: Prefix | None = None,
        hard: bool = False,
        gap: int = 0,
    ) -> None:
        super().__init__(gap)
        self._lines = lines
        self._rest_prefix = rest or prefix
        self._prefix = prefix
        self._hard = hard
        self._size = sum(len(text) for line in lines for text, _ in line)

    def estimate(self, width: int) -> int:
        return max(len(self._lines), self._size // max(1, width) + 1)

    def head(self, lines: int) -> Part:
        kept = self._lines[:lines]
        return PlainPart(
            kept, prefix=self._prefix, rest=self._rest_prefix, hard=self._hard, gap=self.gap
        )

    def lay_out(self, look: Look) -> list[Line]:
        out: list[Line] = []
        prefix = self._prefix
        for line in self._lines:
            if prefix is None:
                lay_runs(line, look, out, hard=self._hard)
            else:
                lay_runs(line, look, out, prefix, hard=self._hard)
            prefix = self._rest_prefix
        return out

    def source(self) -> str:
        return "\n".join("".join(text for text, _ in line) for line in self._lines)


class Liner(Protocol):
    """Something that draws one row of its own: a head line, a rule."""

    def __call__(self, look: Look) -> list[Line]: ...


class RowPart(Part):
    """One row drawn by a function each time it is laid out (elapsed times, states)."""

    __slots__ = ("_draw", "_source", "pictures")

    def __init__(
        self, draw: Liner, source: str = "", gap: int = 0, pictures: Sequence[Picture] = ()
    ) -> None:
        super().__init__(gap)
        self.pictures = pictures
        self._draw = draw
        self._source = source

    def estimate(self, width: int) -> int:
        return 1

    def lay_out(self, look: Look) -> list[Line]:
        return self._draw(look)

    def source(self) -> str:
        return self._source


def plain_parts(
    text: str,
    style: str = "",
    *,
    prefix: Prefix | None = None,
    rest: Prefix | None = None,
    hard: bool = False,
    within: bool = False,
) -> list[Part]:
    """Safe text as parts of CHUNK lines; `prefix` is for the first line, `rest` for others.
    within: the text ends in the middle of a line."""
    lines = [runs for line in text.split("\n") for runs in cut_line(line, style)]
    if within:
        lines[-1] = [*lines[-1], SOFT]
    return lines_to_parts(lines, prefix=prefix, rest=rest, hard=hard)


def lines_to_parts(
    lines: list[Runs],
    *,
    prefix: Prefix | None = None,
    rest: Prefix | None = None,
    hard: bool = False,
) -> list[Part]:
    parts: list[Part] = []
    rest = rest or prefix
    for start in range(0, len(lines), CHUNK):
        parts.append(
            PlainPart(
                lines[start : start + CHUNK],
                prefix=prefix if start == 0 else rest,
                rest=rest,
                hard=hard,
            )
        )
    return parts


def cut_parts(parts: list[Part], lines: int) -> tuple[list[Part], int]:
    """The first `lines` source lines of parts, and how many more there are."""
    kept: list[Part] = []
    room, hidden = lines, 0
    for part in parts:
        size = part.source().count("\n") + 1
        if room > 0:
            kept.append(part if size <= room else part.head(room))
        hidden += max(0, size - max(0, room))
        room -= size
    return kept, hidden


def cut_line(line: str, style: str) -> list[Runs]:
    """The line as runs; a very long one in pieces, all but the last of them SOFT."""
    if len(line) <= LINE_LIMIT:
        return [[(line, style)]]
    pieces: list[Runs] = []
    while len(line) > LINE_LIMIT:
        end = cut_at(line)
        pieces.append([(line[:end], style), SOFT])
        line = line[end:]
    return [*pieces, [(line, style)]]


def cut_runs(line: Runs) -> list[Runs]:
    """cut_line() for a line whose last run may be very long."""
    *before, (text, style) = line
    first, *others = cut_line(text, style)
    return [[*before, *first], *others]


def cut_at(line: str) -> int:
    """Where a line longer than LINE_LIMIT is cut: behind a space if there is one."""
    return line.rfind(" ", LINE_LIMIT // 2, LINE_LIMIT) + 1 or LINE_LIMIT


def spans_to_lines(spans: list[tuple[str, str]]) -> list[Runs]:
    """Styled text with newlines in it → one list of runs per line."""
    lines: list[Runs] = [[]]
    for text, style in spans:
        head, *others = text.split("\n")
        if head:
            lines[-1].append((head, style))
        for other in others:
            lines.append([(other, style)] if other else [])
    return [line or [("", "")] for line in lines]


__all__ = [
    "CHUNK",
    "LINE_LIMIT",
    "SOFT",
    "Line",
    "Look",
    "Part",
    "Picture",
    "PlainPart",
    "Prefix",
    "RowPart",
    "Run",
    "Runs",
    "cut_at",
    "cut_line",
    "cut_parts",
    "cut_runs",
    "lines_to_parts",
    "plain_parts",
    "spans_to_lines",
]  # fmt: skip
