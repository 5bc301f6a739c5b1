"""Markdown as it is read aloud: streamed text in whole sentences, without marks.

A line is said as soon as it is whole; of a long paragraph each sentence. Code stays as it is. A
table is said row by row, each cell after the name of its column.
"""

import re

from agent_tui.text import SafeText

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_RULE = re.compile(r" {0,3}([-*_])(?:\s*\1){2,}\s*$")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_SENTENCE = re.compile(r"(?:[.!?…][\"')\]]*|[.!?:]\*\*)\s+(?=\S)|[。！？]")
_NUMBER = re.compile(r"\s*(?:[-*+>]\s+)*\d{1,3}[.)]?\s*$")
_ABBREVIATED = re.compile(r"(?:\b[A-Za-z]|\b(?:e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|No))\.\s*$")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_ITALIC = re.compile(
    r"(?<![\w*\\])\*(?=[^\s*])([^*\n]+)(?<=[^\s*\\])\*(?![\w*])"
    r"|(?<![\w_\\])_(?=[^\s_])([^_\n]+)(?<=[^\s_\\])_(?![\w_])"
)
_MARK = re.compile(r"(?<!\*)\*(?![\s*])|(?<![\s*])\*(?!\*)")
"""A star that may begin or end what is slanted."""
_QUOTE = re.compile(r" {0,3}>[> ]*")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")

LONGEST_HELD = 1000
"""Characters of a line without an end that wait for one; then what there is is said."""


class Prose:
    """One text. feed() gives the lines that can be said by now, flush() the rest; each is safe.

    The cost of feed() is that of its piece and of the line that is open.
    """

    def __init__(self) -> None:
        self._open = ""
        self._seen = 0
        """Of the open line, what was looked through for the end of a sentence."""
        self._fence = ""
        self._header: list[str] | None = None
        self._row = ""
        """A row that may turn out to be the head of a table."""

    def feed(self, text: str) -> list[str]:
        out: list[str] = []
        *whole, last = text.split("\n")
        for piece in whole:
            out += self._line(self._open + piece)
            self._open, self._seen = "", 0
        self._open += last
        if last:
            out += self._sentences()
        return out

    def flush(self) -> list[str]:
        """What is left at the end of the text."""
        rest, self._open, self._seen = self._open, "", 0
        out = self._line(rest) if rest.strip() else []
        out += self._held_row()
        if self._fence:
            self._fence = ""
            out.append("End of code.")
        return out

    def _sentences(self) -> list[str]:
        """The whole sentences of the open line, where they can be parted without harm."""
        if self._fence or self._open.lstrip()[:1] in ("|", "#", "`", "~"):
            return []
        out: list[str] = []
        at = max(0, self._seen - 8)
        while found := _SENTENCE.search(self._open, at):
            head = self._open[: found.end()]
            if _NUMBER.match(head) or _ABBREVIATED.search(head) or not _is_closed(head):
                at = found.end()
                continue
            out += self._line(head)
            self._open, at = self._open[found.end() :], 0
        self._seen = len(self._open)
        if len(self._open) > LONGEST_HELD:
            cut = self._open.rfind(" ", 0, LONGEST_HELD) + 1 or LONGEST_HELD
            out += self._line(self._open[:cut])
            self._open, self._seen = self._open[cut:], 0
        return out

    # --- one line ---------------------------------------------------------------------------

    def _line(self, line: str) -> list[str]:
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1].startswith(self._fence) and not fence[2]:
                self._fence = ""
                return ["End of code."]
            return [SafeText(line)] if line.strip() else []
        if fence:
            self._fence = fence[1]
            return [*self._held_row(), f"Code, {SafeText(fence[2])}:" if fence[2] else "Code:"]
        if _ROW.match(line):
            return self._table_row(line)
        if self._row and _TABLE_RULE.match(line) and "-" in line:
            return self._begin_table()
        out = self._held_row()
        self._header = None
        if not line.strip() or _RULE.match(line):
            return out
        if heading := _HEADING.match(line):
            return [*out, f"Heading: {inline(heading[2])}"]
        if quote := _QUOTE.match(line):
            said = inline(line[quote.end() :].rstrip())
            return [*out, f"Quote: {said}"] if said else out
        return [*out, inline(line.rstrip())]

    def _table_row(self, line: str) -> list[str]:
        if self._header is not None:
            return [] if _TABLE_RULE.match(line) else [self._told(_cells(line))]
        if self._row and _TABLE_RULE.match(line):
            return self._begin_table()
        out = self._held_row()
        self._row = line
        return out

    def _begin_table(self) -> list[str]:
        self._header, self._row = _cells(self._row), ""
        names = ", ".join(name for name in self._header if name)
        return [f"Table: {names}" if names else "Table:"]

    def _told(self, cells: list[str]) -> str:
        names = self._header or []
        parts: list[str] = []
        for at, cell in enumerate(cells):
            name = names[at] if at < len(names) else ""
            if cell:
                parts.append(f"{name}: {cell}" if name and at else cell)
        return "; ".join(parts)

    def _held_row(self) -> list[str]:
        """A row that no table came of."""
        row, self._row = self._row, ""
        return [inline(row.strip())] if row else []


def _is_closed(text: str) -> bool:
    return (
        text.count("**") % 2 == 0
        and len(_MARK.findall(text)) % 2 == 0
        and text.count("`") % 2 == 0
        and text.count("[") == (text.count("]"))
    )


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return [inline(cell.strip().replace("\\|", "|")) for cell in cells]


def inline(text: str) -> str:
    """Without the marks of bold, code and links; what stands in code is left as it is."""
    out: list[str] = []
    at = 0
    for found in _CODE.finditer(text):
        code = found[2].strip() or found[2]
        # Of signs alone nobody would hear where they end.
        code = code if any(c.isalnum() for c in code) else f'"{code}"'
        out += [_unmarked(text[at : found.start()]), code]
        at = found.end()
    return SafeText("".join([*out, _unmarked(text[at:])]))


def _unmarked(text: str) -> str:
    text = _ITALIC.sub(lambda m: m[1] or m[2], _BOLD.sub(r"\1", text))
    return _LINK.sub(_told_link, text)


def _told_link(found: re.Match[str]) -> str:
    return found[1] if found[1] == found[2] else f"{found[1]} ({found[2]})"


def plain(markdown: str) -> list[str]:
    """A whole text at once."""
    prose = Prose()
    return [*prose.feed(markdown), *prose.flush()]
