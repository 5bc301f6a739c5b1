"""Lines: what laid-out text is made of, and the wrapping that makes them.

A Line is one row of cells: styled segments for the screen and a text for copying. The
copied text stands under the shown one character for character, so that a selected span of
cells is a slice of it; soft-wrapped rows join again on copy.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.links import hyperlink
from agent_tui.tui.transcript.clusters import clusters, is_narrow, measurable

NOTHING = "\0"
"""In a copied text: a shown cell that is not copied (the rest of an expanded tab)."""

TAB = 4

StyleName = str
Run = tuple[str, StyleName]
Runs = list[Run]


SOFT: Run = ("", "soft")
"""As the last run of a line: the next line goes on in it."""


@dataclass(slots=True)
class Line:
    """One row.

    text: what copying gives for the shown characters from `lead` on, one for one; the first
    `lead` shown characters (a bullet, an indent) copy as `before`. join: what stands between
    this row and the next in the source, None for a line end. fill: style of the rest of the
    row.
    """

    segments: list[Segment]
    text: str
    lead: int = 0
    before: str = ""
    join: str | None = None
    fill: StyleName = ""

    @property
    def shown(self) -> str:
        """The characters on the screen."""
        return "".join(segment.text for segment in self.segments)

    def copied(self, start: int = 0, end: int | None = None) -> str:
        """The source text under the shown characters [start, end)."""
        before = self.before if start < self.lead and (end is None or end > 0) else ""
        stop = None if end is None else max(0, end - self.lead)
        return before + self.text[max(0, start - self.lead) : stop].replace(NOTHING, "")


_STYLES_KEPT = 4096


class Palette:
    """Style names → rich styles. A name may join several by a space: "strong code"."""

    def __init__(self, styles: dict[StyleName, Style] | None = None) -> None:
        self._given = {"": Style.null(), **(styles or {})}
        self._styles = dict(self._given)

    def __getitem__(self, name: StyleName) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = Style.null()
            for part in name.split():
                style += self._styles.get(part) or _PLAIN.get(part) or self._valued(part)
            if len(self._styles) > _STYLES_KEPT:
                self._styles = dict(self._given)
            self._styles[name] = style
        return style

    @staticmethod
    def _valued(name: StyleName) -> Style:
        """`fg:color(3)` and `bg:#rrggbb`, as tool output sets them; `href:https://...`, an
        address that links.hyperlink() gave."""
        kind, _, value = name.partition(":")
        if kind == "fg":
            return Style(color=value)
        if kind == "bg":
            return Style(bgcolor=value)
        if kind == "href" and value:
            return Style(link=value)
        return Style.null()


_PLAIN = {
    "strong": Style(bold=True),
    "bold": Style(bold=True),
    "em": Style(italic=True),
    "italic": Style(italic=True),
    "strike": Style(strike=True),
    "underline": Style(underline=True),
    "reverse": Style(reverse=True),
    "dim": Style(dim=True),
}


def linked(style: StyleName, url: object) -> StyleName:
    """The style with a hyperlink to the address, if the address may be one."""
    target = hyperlink(url)
    return f"{style} href:{target}".strip() if target else style


@dataclass(slots=True)
class Look:
    """All that laying out and painting depend on besides the content. version counts changes
    of it; whole_emoji: the terminal draws an emoji sequence in the cells measured for it."""

    width: int = 80
    palette: Palette = field(default_factory=Palette)
    glyphs: Glyphs = UNICODE
    now: Callable[[], float] = lambda: 0.0
    version: int = 0
    whole_emoji: bool = False


# --- breaking -------------------------------------------------------------------------

Break = tuple[int, int, str | None]
"""[start, end) of a row and what was between it and the next (None: the end)."""


def break_text(text: str, width: int) -> list[Break]:
    """Rows of at most `width` cells: broken at spaces and beside wide characters, within a
    word only where it is longer than a row. Linear in len(text)."""
    width = max(1, width)
    if len(text) <= width and text.isascii():
        return [(0, len(text), None)]
    if is_narrow(text):
        return _break_narrow(text, width)
    return _break_wide(text, width)


def _break_narrow(text: str, width: int) -> list[Break]:
    rows: list[Break] = []
    start, size = 0, len(text)
    while size - start > width:
        space = text.rfind(" ", start + 1, start + width + 1)
        if space < 0:
            rows.append((start, start + width, ""))
            start += width
            continue
        after = space + 1
        while after < size and text[after] == " ":
            after += 1
        while space > start and text[space - 1] == " ":
            space -= 1
        if space == start:  # nothing but spaces before: keep the indent with its word
            rows.append((start, start + width, ""))
            start += width
            continue
        if after >= size:
            rows.append((start, space, None))
            return rows
        rows.append((start, space, text[space:after]))
        start = after
    rows.append((start, size, None))
    return rows


def _break_wide(text: str, width: int) -> list[Break]:
    rows: list[Break] = []
    start = 0  # of the row
    used = 0  # cells in the row
    chance: tuple[int, int, int] | None = None  # (end, next start, cells up to next start)
    before_wide = after_space = False
    for at, after, cells in clusters(text):
        if text[at:after] == " ":
            if chance and chance[1] == at and text[at - 1] == " ":
                chance = (chance[0], after, used + cells)
            elif at > start:
                chance = (at, after, used + cells)  # it may hang over the edge
            used += cells
            before_wide, after_space = False, True
            continue
        wide = cells > 1
        if (wide or before_wide) and at > start and not after_space:
            chance = (at, at, used)
        if used + cells > width and at > start:
            if chance and chance[0] > start:
                rows.append((start, chance[0], text[chance[0] : chance[1]]))
                start, used = chance[1], used - chance[2]
            else:
                rows.append((start, at, ""))
                start, used = at, 0
            chance = None
            if used + cells > width and at > start:
                rows.append((start, at, ""))
                start, used = at, 0
        used += cells
        before_wide, after_space = wide, False
    if chance and chance[1] == len(text) and used > width:
        rows.append((start, chance[0], None))
    else:
        rows.append((start, len(text), None))
    return rows


# --- runs to lines --------------------------------------------------------------------


@dataclass(slots=True)
class Prefix:
    """What stands before a text: on its first row and on the others. copy: what the first
    one is in the source ("" if it is only for the eye)."""

    first: Runs
    rest: Runs
    copy: str = ""

    @property
    def cells(self) -> int:
        return max(sum(cell_len(t) for t, _ in self.first), sum(cell_len(t) for t, _ in self.rest))


NO_PREFIX = Prefix([], [])


def lay_runs(
    runs: Runs,
    look: Look,
    out: list[Line],
    prefix: Prefix = NO_PREFIX,
    *,
    fill: StyleName = "",
    hard: bool = False,
) -> None:
    """Wrap one logical line (no newline in it) and append its rows to `out`.

    hard: break at the width only, for code and tool output, where spaces mean something.
    """
    flows_on = bool(runs) and runs[-1] is SOFT
    plain, copy, runs = _expand_tabs(runs)
    width = look.width - prefix.cells
    rows = break_hard(plain, width) if hard else break_text(plain, width)
    palette = look.palette
    run = 0
    offset = 0  # of runs[run] in plain
    first = True
    for start, end, join in rows:
        shown = prefix.first if first else prefix.rest
        segments = [Segment(text, palette[style]) for text, style in shown if text]
        at = start
        while at < end and run < len(runs):
            text, style = runs[run]
            stop = offset + len(text)
            if stop <= at:
                offset = stop
                run += 1
                continue
            piece = text[at - offset : end - offset]
            segments.append(Segment(piece, palette[style]))
            at += len(piece)
        lead = sum([len(text) for text, _ in shown])
        before = prefix.copy if first else ""
        out.append(Line(segments, copy[start:end], lead, before, join, fill))
        first = False
    if flows_on:
        out[-1].join = ""


def break_hard(text: str, width: int) -> list[Break]:
    """Rows of at most `width` cells, broken wherever a row is full."""
    width = max(1, width)
    if is_narrow(text):
        if len(text) <= width:
            return [(0, len(text), None)]
        rows: list[Break] = [(i, i + width, "") for i in range(0, len(text), width)]
        start, _, _ = rows[-1]
        rows[-1] = (start, len(text), None)
        return rows
    rows = []
    start = used = 0
    for at, _, cells in clusters(text):
        if used + cells > width and at > start:
            rows.append((start, at, ""))
            start, used = at, 0
        used += cells
    rows.append((start, len(text), None))
    return rows


def _expand_tabs(runs: Runs) -> tuple[str, str, Runs]:
    """(shown text, copied text, runs): tabs become spaces that copy as one tab."""
    plain = runs[0][0] if len(runs) == 1 else "".join([text for text, _ in runs])
    source = plain
    if "\u200d" in plain:
        runs = [(measurable(text), style) for text, style in runs]
        plain = "".join([text for text, _ in runs])
    if "\t" not in plain:
        return plain, source, runs
    shown: list[str] = []
    copied: list[str] = []
    expanded: Runs = []
    column = at = 0
    for text, style in runs:
        begin = len(shown)
        for piece in text.split("\t"):
            if len(shown) > begin:
                cells = TAB - column % TAB
                shown.append(" " * cells)
                copied.append("\t" + NOTHING * (cells - 1))
                column += cells
                at += 1
            shown.append(piece)
            copied.append(source[at : at + len(piece)])
            column += cell_len(piece)
            at += len(piece)
        expanded.append(("".join(shown[begin:]), style))
    return "".join(shown), "".join(copied), expanded


def crop_runs(runs: Sequence[Run], width: int, ellipsis: str) -> Runs:
    """The runs cut to `width` cells, with an ellipsis where something was cut."""
    if sum(cell_len(text) for text, _ in runs) <= width:
        return list(runs)
    room = max(0, width - cell_len(ellipsis))
    out: Runs = []
    for text, style in runs:
        fits = fitting(text, room)
        if fits:
            out.append((text[:fits], style))
            room -= cell_len(text[:fits])
        if fits < len(text):
            out.append((ellipsis[: max(0, width)], style))
            return out
    return out


def fitting(text: str, width: int) -> int:
    """How many characters of text fit into `width` cells."""
    if width <= 0:
        return 0
    if len(text) * 2 <= width or (text.isascii() and len(text) <= width):
        return len(text)
    used = 0
    for start, _, cells in clusters(text[: width * 8 + 32]):
        if used + cells > width:
            return start
        used += cells
    return min(len(text), width * 8 + 32)


def row(runs: Iterable[Run], look: Look, *, before: str = "", lead: int | None = None) -> Line:
    """One row of runs, cropped to the width. lead: characters not copied, None: all."""
    kept = crop_runs(list(runs), look.width, look.glyphs.ellipsis)
    plain = "".join(text for text, _ in kept)
    skip = len(plain) if lead is None else min(lead, len(plain))
    segments = [Segment(text, look.palette[style]) for text, style in kept if text]
    return Line(segments, plain[skip:], skip, before)
