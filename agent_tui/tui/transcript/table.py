"""Tables: aligned columns that fit the width, wrapped cells, key and value when narrow."""

import re

from rich.cells import cell_len
from rich.segment import Segment

from agent_tui.tui.transcript.lines import Line, Look, Prefix, Runs, break_text, lay_runs

Cell = Runs
Row = list[Cell]

_NARROWEST = 6
"""A column that would be wrapped below this many cells makes the table a list."""

_NUMBER = re.compile(r"[^\s\w]*\d[\d.,:]*[^\s\d]{0,3}")
"""A word that is a number: "152,634", "$0.0421", "12.5k", "30%". In two halves it misleads."""

_UNESCAPED_BAR = re.compile(r"(?<!\\)\|")


def split_row(line: str) -> list[str]:
    """The raw cells of a table row as GFM reads them (outer bars are optional)."""
    line = line.strip()
    line = line.removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip() for cell in _UNESCAPED_BAR.split(line)]


def shape_of(lines: list[str]) -> list[int]:
    """Natural column widths by the source, for a table that is laid out in several parts."""
    shape: list[int] = []
    for number, line in enumerate(lines):
        if number == 1:
            continue
        for column, cell in enumerate(split_row(line)):
            if column >= len(shape):
                shape.append(0)
            shape[column] = max(shape[column], cell_len(cell))
    return shape


def _plain(cell: Cell) -> str:
    return "".join([text for text, _ in cell])


def _number_width(cell: str) -> int:
    """Cells of the longest number in it; 0 without one."""
    return max((cell_len(word) for word in cell.split() if _NUMBER.fullmatch(word)), default=0)


def _whole_numbers(head: Row, rows: list[Row], aligns: list[str], shape: list[int]) -> list[int]:
    """What each column needs so that no number breaks; 0: nothing. shape: natural widths of a
    table of which `rows` are only a part, else empty: all parts must agree, so a column of
    numbers (at the right) then keeps its width."""
    least: list[int] = []
    for column, title in enumerate(head):
        if shape:
            least.append(shape[column] if aligns[column] == "right" else 0)
            continue
        cells = (_plain(row[column]) for row in rows if column < len(row))
        widest = max(map(_number_width, cells), default=0)
        words = _plain(title).split() if widest else []
        least.append(max([widest, *map(cell_len, words)]))
    return least


def column_widths(
    natural: list[int], room: int, least: list[int] | None = None
) -> list[int] | None:
    """Widths that sum to at most `room`: narrow columns keep theirs, wide ones share the
    rest. None if some column would get less than it needs to be readable, or than `least`."""
    count = len(natural)
    least = least or [0] * count
    if sum(natural) <= room:
        return natural
    widths = [0] * count
    left = room
    waiting = sorted(range(count), key=lambda i: natural[i])
    while waiting:
        share = left // len(waiting)
        column = waiting[0]
        if natural[column] <= share:
            widths[column] = natural[column]
            left -= natural[column]
            waiting.pop(0)
            continue
        held = max(waiting, key=lambda i: least[i])
        if least[held] > share:
            if least[held] > left:
                return None
            widths[held] = least[held]
            left -= least[held]
            waiting.remove(held)
            continue
        if share < _NARROWEST:
            return None
        extra = left - share * len(waiting)
        for place, column in enumerate(waiting):
            widths[column] = share + (1 if place < extra else 0)
        break
    return widths


def lay_table(
    head: Row,
    rows: list[Row],
    aligns: list[str],
    look: Look,
    prefix: Prefix,
    out: list[Line],
    *,
    shape: list[int] | None = None,
    show_head: bool = True,
) -> None:
    """Append the table's rows to `out`. aligns: "", "left", "center" or "right" a column."""
    count = len(head)
    if count == 0:
        return
    natural = [0] * count
    for cells in [head, *rows] if shape is None else []:
        for column, cell in enumerate(cells[:count]):
            natural[column] = max(natural[column], cell_len(_plain(cell)))
    if shape is not None:
        natural = [shape[i] if i < len(shape) else 1 for i in range(count)]
    natural = [max(1, width) for width in natural]
    least = _whole_numbers(head, rows, aligns, [] if shape is None else natural)
    separator = f" {look.glyphs.column} "
    room = look.width - prefix.cells - len(separator) * (count - 1)
    widths = column_widths(natural, room, least)
    if widths is None:
        _lay_pairs(head, rows, look, prefix, out)
        return
    table = _Table(widths, aligns, separator, look, prefix, out)
    if show_head:
        table.add(head, "table-head")
        table.rule()
    # A rule only beside a row of several lines, so that one can tell where it ends: the others
    # stay dense, and what streams in below moves nothing above.
    wrapped_before: bool | None = None
    for row in rows:
        cells = table.wrap(row, "")
        wrapped = any(len(column) > 1 for column in cells)
        if wrapped_before is not None and (wrapped or wrapped_before):
            table.rule()
        table.put(cells)
        wrapped_before = wrapped


class _Table:
    def __init__(
        self,
        widths: list[int],
        aligns: list[str],
        separator: str,
        look: Look,
        prefix: Prefix,
        out: list[Line],
    ) -> None:
        self._widths = widths
        self._aligns = aligns
        self._separator = separator
        self._look = look
        self._prefix = prefix
        self._out = out
        self._first = True

    def add(self, cells: Row, style: str) -> None:
        self.put(self.wrap(cells, style))

    def wrap(self, cells: Row, style: str) -> list[list[Runs]]:
        """For each column its rows of runs, none wider than the column."""
        wrapped: list[list[Runs]] = []
        for column, width in enumerate(self._widths):
            cell = cells[column] if column < len(cells) else []
            plain = _plain(cell)
            rows = [_slice(cell, start, end) for start, end, _ in break_text(plain, width)]
            if style:
                rows = [[(t, f"{style} {s}".strip()) for t, s in runs] for runs in rows]
            wrapped.append(rows)
        return wrapped

    def put(self, cells: list[list[Runs]]) -> None:
        for index in range(max((len(column) for column in cells), default=0)):
            runs: Runs = []
            copy: list[str] = []
            for column, width in enumerate(self._widths):
                if column:
                    runs.append((self._separator, "table-rule"))
                    copy.append(" | ")
                piece = cells[column][index] if index < len(cells[column]) else []
                text = _plain(piece)
                space = width - cell_len(text)
                left = {"right": space, "center": space // 2}.get(self._aligns[column], 0)
                runs += [(" " * left, ""), *piece, (" " * (space - left), "")]
                copy.append(" " * left + text + " " * (space - left))
            self._line(runs, "".join(copy))

    def rule(self) -> None:
        glyphs = self._look.glyphs
        text = f"{glyphs.rule}{glyphs.cross}{glyphs.rule}".join(
            glyphs.rule * width for width in self._widths
        )
        copy = "-|-".join("-" * width for width in self._widths)
        self._line([(text, "table-rule")], copy)

    def _line(self, runs: Runs, copy: str) -> None:
        shown = self._prefix.first if self._first else self._prefix.rest
        palette = self._look.palette
        segments = [Segment(text, palette[style]) for text, style in [*shown, *runs] if text]
        lead = sum(len(text) for text, _ in shown)
        before = self._prefix.copy if self._first else " " * lead
        self._out.append(Line(segments, copy.rstrip(), lead, before))
        self._first = False


def _slice(runs: Runs, start: int, end: int) -> Runs:
    out: Runs = []
    at = 0
    for text, style in runs:
        piece = text[max(0, start - at) : max(0, end - at)]
        if piece:
            out.append((piece, style))
        at += len(text)
        if at >= end:
            break
    return out


def _lay_pairs(head: Row, rows: list[Row], look: Look, prefix: Prefix, out: list[Line]) -> None:
    """One `head: cell` a line, a blank row between the rows of the table."""
    first = True
    for number, cells in enumerate(rows or [[]]):
        if number:
            out.append(Line([], ""))
        for column, title in enumerate(head):
            cell = cells[column] if column < len(cells) else []
            name = [(text, f"table-head {style}".strip()) for text, style in title]
            before = prefix if first else Prefix(prefix.rest, prefix.rest)
            hang = Prefix(before.first, [*before.rest, ("  ", "")], before.copy)
            lay_runs([*name, (": ", "muted"), *cell] if cell or rows else name, look, out, hang)
            first = False
