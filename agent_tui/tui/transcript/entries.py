"""EntryPart: one entry of a list: a title and where it is from, on one row if they fit."""

from rich.cells import cell_len

from agent_tui.tui.transcript.lines import Line, Look, Prefix, Runs, lay_runs
from agent_tui.tui.transcript.parts import Part


class EntryPart(Part):
    """`head` and, two cells behind it or on a row of its own, `tail`. mark: stands before the
    first row, the others hang under it."""

    __slots__ = ("_head", "_mark", "_tail")

    def __init__(self, head: Runs, tail: Runs, mark: str = "    ", mark_style: str = "") -> None:
        super().__init__()
        self._head = head
        self._tail = tail
        self._mark = (mark, mark_style)

    def estimate(self, width: int) -> int:
        return self._cells // max(1, width) + 1

    @property
    def _cells(self) -> int:
        return cell_len(self._mark[0]) + _cells(self._head) + 2 + _cells(self._tail)

    def lay_out(self, look: Look) -> list[Line]:
        out: list[Line] = []
        indent = " " * min(cell_len(self._mark[0]), look.width // 2)
        prefix = Prefix([self._mark], [(indent, "")], self._mark[0].lstrip())
        if not self._tail or self._cells <= look.width:
            gap: Runs = [("  ", "")] if self._tail else []
            lay_runs([*self._head, *gap, *self._tail], look, out, prefix)
            return out
        lay_runs(self._head, look, out, prefix)
        lay_runs(self._tail, look, out, Prefix(prefix.rest, prefix.rest))
        return out

    def source(self) -> str:
        texts = [self._mark[0].strip(), _text(self._head), _text(self._tail)]
        return "  ".join(filter(None, texts))


def _text(runs: Runs) -> str:
    return "".join(text for text, _ in runs)


def _cells(runs: Runs) -> int:
    return sum(cell_len(text) for text, _ in runs)
