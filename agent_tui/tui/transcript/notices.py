"""Blocks of the program itself: notices, marks of how an answer ended, separators."""

from typing import Literal

from rich.cells import cell_len

from agent_tui.text import SafeText, clean
from agent_tui.tui.transcript.blocks import Block, Modes
from agent_tui.tui.transcript.lines import Line, Look, Prefix, lay_runs, row
from agent_tui.tui.transcript.parts import Part, RowPart, cut_line
from agent_tui.tui.transcript.splitter import MarkdownSplitter

Level = Literal["info", "warning", "error"]


class NoticeBlock(Block):
    """A line from the program itself, or the mark of a message (interrupted, failed)."""

    kind = "notice"

    def __init__(self, level: Level, text: str, glyph: str = "") -> None:
        super().__init__()
        self.level: Level = level
        self.text = SafeText(text)
        self._glyph = glyph

    def again(self) -> "NoticeBlock":
        """The same, for another place."""
        return NoticeBlock(self.level, self.text, self._glyph)

    def compose(self, modes: Modes) -> None:
        self.parts = [notice_part(self.level, self.text, self._glyph)]

    def source(self) -> str:
        return self.text


def notice_part(level: Level, text: str, glyph: str = "") -> Part:
    """A notice as a part. text: safe text; glyph: name of one other than the level's."""
    return _NoticePart(level, text, glyph)


class _NoticePart(Part):
    __slots__ = ("_glyph", "_level", "_text")

    def __init__(self, level: Level, text: str, glyph: str) -> None:
        super().__init__()
        self._level: Level = level
        self._text = text
        self._glyph = glyph

    def estimate(self, width: int) -> int:
        return max(self._text.count("\n") + 1, len(self._text) // max(1, width - 2) + 1)

    def lay_out(self, look: Look) -> list[Line]:
        glyphs = look.glyphs
        glyph = (
            self._glyph or {"info": "info", "warning": "warning", "error": "failed"}[self._level]
        )
        style = {"info": "muted", "warning": "waiting", "error": "failed"}[self._level]
        mark = getattr(glyphs, glyph) + " "
        prefix = Prefix([(mark, style)], [(" " * len(mark), "")])
        out: list[Line] = []
        for line in self._text.split("\n"):
            for runs in cut_line(line, style):
                lay_runs(runs, look, out, prefix)
                prefix = Prefix(prefix.rest, prefix.rest)
        return out

    def source(self) -> str:
        return self._text


class SeparatorBlock(Block):
    """A thin rule with a few words; what it stands for can be opened (a summary)."""

    kind = "separator"

    def __init__(self, label: str = "", text: str = "") -> None:
        super().__init__()
        self.label = clean(label)
        self._text = SafeText(text)
        self.foldable = bool(text)

    def is_open(self, modes: Modes) -> bool:
        return bool(self.expanded)

    def compose(self, modes: Modes) -> None:
        fold = self.is_open(modes) if self.foldable else None
        self.parts = [RowPart(lambda look: [rule_line(look, self.label, fold)], self.label)]
        if self.is_open(modes) and self._text:
            splitter = MarkdownSplitter()
            splitter.feed(self._text)
            splitter.finish()
            self.parts += splitter.parts

    def source(self) -> str:
        return self._text or self.label


def rule_line(look: Look, label: str, opened: bool | None = None) -> Line:
    """A thin rule with a label. opened: whether what it stands for is open; None: nothing
    can be opened."""
    glyphs = look.glyphs
    fold = "" if opened is None else f"{glyphs.open if opened else glyphs.folded} "
    text = f" {fold}{label} " if label else ""
    head = glyphs.rule * 2 + text
    rest = glyphs.rule * max(0, look.width - cell_len(head))
    return row([(glyphs.rule * 2, "rule"), (text, "muted"), (rest, "rule")], look)
