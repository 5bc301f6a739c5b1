"""The code of a program: numbered lines with their colours, and a mark where a call was made.

It grows while the model writes it: a delta costs what it brings, never what came before.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from rich.cells import cell_len
from rich.segment import Segment

from agent_tui.text import SafeReader, SafeText
from agent_tui.tui.transcript.code import Code, CodePart, LineRuns
from agent_tui.tui.transcript.lines import Line, Look, Prefix, Run, Runs, lay_runs
from agent_tui.tui.transcript.parts import CHUNK, LINE_LIMIT, cut_at

_NUMBER_CELLS = 2
"""Of line numbers, so that code that grows past nine lines does not move sideways."""

Gutter = Callable[[int, Look], tuple[Run, str]]
"""Line number (from 1) → its mark (glyph, style) and the note at its right edge."""


class ProgramCode(Code):
    """Code that streams in: feed() adds text, finish() says that it is whole."""

    __slots__ = ("_reader", "_rest", "starts")

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self.starts: list[int] = []
        """Index in `lines` where each line of the source begins (a long one has several)."""
        self._reader = SafeReader()
        self._rest = ""

    def feed(self, text: str) -> None:
        self._take(self._reader.feed(text))

    def finish(self, source: str) -> bool:
        """The whole source is known. False: what streamed was something else, so all lines
        are new."""
        if not self.closed:
            self._take(self._reader.flush())
            self._line(self._rest)
            self._rest = self.partial = ""
        self.closed = True
        final = SafeText(source).split("\n")
        while final and not final[-1].strip():
            final.pop()
        while self.lines and not self.lines[-1].strip():
            self.lines.pop()
        del self.starts[bisect_left(self.starts, len(self.lines)) :]
        if self.text == "".join(f"{line}\n" for line in final):
            return True
        self.lines, self.starts, self.soft = [], [], set()
        self.colours, self.requested, self._live = None, False, None
        for line in final:
            self._line(line)
        return False

    def runs(self, start: int, end: int) -> LineRuns:
        # Until the colours of the whole are there, those of the streaming stay.
        if self.colours is None and self.closed and self._live is not None:
            return self._live.runs(self.lines, start, end)
        return super().runs(start, end)

    def number(self, index: int) -> int:
        """The number of the source line that lines[index] belongs to, from 1."""
        return bisect_right(self.starts, index)

    def index(self, number: int) -> int:
        """Where source line `number` begins in `lines`."""
        return self.starts[number - 1]

    def _take(self, text: str) -> None:
        *whole, self._rest = (self._rest + text).split("\n")
        for line in whole:
            self._line(line)
        while len(self._rest) > LINE_LIMIT:
            end = cut_at(self._rest)
            self._piece(self._rest[:end])
            self._rest = self._rest[end:]
        self.partial = self._rest

    def _line(self, line: str) -> None:
        while len(line) > LINE_LIMIT:
            end = cut_at(line)
            self._piece(line[:end])
            line = line[end:]
        self._mark_start()
        self.lines.append(line)

    def _piece(self, text: str) -> None:
        """A part of a line that goes on in the next one."""
        self._mark_start()
        if not isinstance(self.soft, set):
            self.soft = set()
        self.soft.add(len(self.lines))
        self.lines.append(text)

    def _mark_start(self) -> None:
        if not self.lines or len(self.lines) - 1 not in self.soft:
            self.starts.append(len(self.lines))


class ProgramCodePart(CodePart):
    """As CodePart, with a gutter: mark and number of each line, its note at the right."""

    __slots__ = ("_gutter",)

    code: ProgramCode

    def __init__(self, code: ProgramCode, start: int, end: int | None, gutter: Gutter) -> None:
        super().__init__(code, start, end)
        self._gutter = gutter

    def lay_out(self, look: Look) -> list[Line]:
        code = self.code
        start, end = self._bounds()
        out: list[Line] = []
        for index, runs in enumerate(code.runs(start, end), start):
            self._row(index, runs, look, out)
        if self.end is None and code.partial:
            self._row(len(code.lines), [(code.partial, "code")], look, out)
        return out

    def _row(self, index: int, runs: Runs, look: Look, out: list[Line]) -> None:
        code = self.code
        goes_on = index > 0 and index - 1 in code.soft
        number = code.number(index) if index < len(code.lines) else len(code.starts) + (not goes_on)
        (mark, style), note = self._gutter(number, look)
        cells = max(_NUMBER_CELLS, len(str(number)))
        blank = " " * (cells + 5)
        first: Runs = [
            ("  ", ""), (mark or " ", style), (f" {number:>{cells}} ", "muted"),
            (" ", "code-block"),
        ]  # fmt: skip
        rest: Runs = [(blank[:-1], ""), (" ", "code-block")]
        at = len(out)
        lay_runs(
            runs, look, out, Prefix(rest if goes_on else first, rest), fill="code-block", hard=True
        )
        if index in code.soft:
            out[-1].join = ""
        if note and not goes_on:
            _add_note(out[at], note, look)


def _add_note(line: Line, note: str, look: Look) -> None:
    """At the right edge; where the code leaves no room for it, the line stands without."""
    used = sum(segment.cell_length for segment in line.segments)
    room = look.width - used - cell_len(note) - 1
    if room < 2:
        return
    fill = look.palette["code-block"]
    line.segments += [
        Segment(" " * room, fill), Segment(note, look.palette["code-block muted"]),
        Segment(" ", fill),
    ]  # fmt: skip


class CodeParts:
    """The parts of a ProgramCode, CHUNK lines each; only the last one is open."""

    def __init__(self, code: ProgramCode, gutter: Gutter) -> None:
        self._code = code
        self._gutter = gutter
        self.parts: list[ProgramCodePart] = [ProgramCodePart(code, 0, None, gutter)]

    def grown(self) -> int:
        """The code has grown: close the parts that are full; gives the first that changed."""
        first = len(self.parts) - 1
        tail = self.parts[first]
        while len(self._code.lines) - tail.start > CHUNK:
            tail.end = tail.start + CHUNK
            tail.touch()
            tail = ProgramCodePart(self._code, tail.end, None, self._gutter)
            self.parts.append(tail)
        tail.touch()
        return first

    def whole(self, *, same: bool) -> None:
        """The code is complete. same: as it streamed."""
        if not same:
            self.parts = [ProgramCodePart(self._code, 0, None, self._gutter)]
        self.grown()
        self.parts[-1].end = len(self._code.lines)

    def touch_line(self, number: int) -> None:
        """The mark or note of this line changed."""
        if number <= len(self._code.starts):
            at = self._code.index(number) // CHUNK
            if at < len(self.parts):
                self.parts[at].touch()


__all__ = ["CodeParts", "Gutter", "ProgramCode", "ProgramCodePart"]
