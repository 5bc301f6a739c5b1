"""MarkdownSplitter: streaming markdown → parts that can be laid out on their own.

It reads line by line and closes a part where CommonMark closes a block, so that a closed
part never changes whatever comes after it; only the open part at the end is parsed again.
Where one block would grow too long (a list, a paragraph, a table of hundreds of lines) it
is cut at a place that depends on the text alone, so any chunking gives the same parts.
"""

import re
from typing import Literal

from agent_tui.tui.transcript.commonmark import (
    FENCE,
    HEADING,
    INNER_FENCE,
    MARKER,
    QUOTE,
    QUOTED,
    RULE,
    TABLE_RULE,
    UNDERLINE,
    closes,
    indent_of,
    without_indent,
)
from agent_tui.tui.transcript.fences import OpenFence
from agent_tui.tui.transcript.markdown import DEFINITION, MarkdownPart, References
from agent_tui.tui.transcript.parts import Part
from agent_tui.tui.transcript.table import shape_of, split_row

PARAGRAPH_SPLIT = 1536
LIST_SPLIT = 1024
NESTED_SPLIT = 4096
TABLE_SPLIT = 4096
LINE_CUT = 3072
"""Characters of a part after which it is cut at the next fitting line (LINE_CUT: within)."""

_NEVER = 1 << 30

Mode = Literal["none", "paragraph", "list", "fence", "table", "indented", "tail"]


class MarkdownSplitter:
    """Feeds `parts`: all but the last are final; the last one is open until finish().

    Text given to feed() is safe text already. Its cost follows the text given, apart from
    the open part, whose size is bounded.
    """

    def __init__(self, references: References | None = None) -> None:
        self.parts: list[Part] = []
        self.references = references if references is not None else References()
        self._rest = ""
        self._mode: Mode = "none"
        self._lines: list[str] = []
        self._size = 0
        self._gap = 0
        self._midline = False  # the next text goes on in a line that was cut
        self._open: Part | None = None  # the last of self.parts, if it may still change
        self._fence: OpenFence | None = None
        # of a list
        self._marker = ""
        self._dedent = 0
        self._content = 0
        self._ordinal = 0
        self._first_ordinal = 0
        self._blank = False
        self._lazy = False  # the last line may go on in a paragraph of its item
        self._empty_item = False
        self._inner_fence = ""
        self._continues = False
        self._table_head: list[str] | None = None
        self._table_shape: list[int] | None = None

    def feed(self, text: str) -> int:
        """Add text; gives the index of the first part that is new or changed."""
        first = len(self.parts) - (self._open is not None or self._fence is not None)
        rest = self._rest + text
        at = 0
        limit = LINE_CUT
        while True:
            end = rest.find("\n", at, at + limit + 1)
            if end >= 0:
                self._take(rest[at:end], ends=True)
                at = end + 1
            elif len(rest) - at > limit:
                space = rest.rfind(" ", at + limit // 2, at + limit)
                cut = at + limit if space < 0 else space + 1
                self._take(rest[at:cut], ends=False)
                at = cut
            else:
                break
        self._rest = rest[at:]
        self._show_open()
        return max(0, min(first, len(self.parts) - 1))

    def finish(self) -> None:
        """The text is complete: the last part is closed too."""
        if self._rest or self._midline:
            rest, self._rest = self._rest, ""
            self._take(rest, ends=True)
        if self._fence is not None:
            self._fence.close()
            self._end_fence()
        else:
            self._close()
        self._drop_open()

    # --- lines -------------------------------------------------------------------------

    def _take(self, line: str, *, ends: bool) -> None:
        if self._midline:
            self._midline = not ends
            self._take_rest_of_line(line, ends)
            return
        self._midline = not ends
        match self._mode:
            case "fence":
                self._take_code(line, ends)
            case "list":
                self._take_in_list(line)
            case "paragraph" | "table":
                self._take_in_paragraph(line)
            case "indented":
                if not line.strip():
                    self._add(line)
                elif indent_of(line) >= 4:
                    if self._size >= PARAGRAPH_SPLIT:
                        self._close()
                        self._start("indented")
                    self._add(line)
                else:
                    self._close()
                    self._begin(line)
            case _:
                self._begin(line)
        if not ends and self._mode != "fence":
            self._close(join=" " if line.endswith(" ") else "")
            self._mode = "tail"

    def _take_rest_of_line(self, line: str, ends: bool) -> None:
        if self._mode == "fence":
            self._take_code(line, ends, continues=True)
            return
        # The part before was closed in the middle of its line; this text flows on from it.
        self._start("paragraph")
        self._continues = True
        self._add(line)
        if not ends:
            self._close(join=" " if line.endswith(" ") else "")
            self._mode = "tail"

    def _begin(self, line: str) -> None:
        """A line where no block is open."""
        if not line.strip():
            self._gap = 1
            return
        if indent_of(line) >= 4:
            self._start("indented")
            self._add(line)
            return
        if fence := FENCE.match(line):
            self._start_fence(fence)
            return
        if DEFINITION.match(line):
            self.references.learn(line)  # it shows nothing, so it is no part
            return
        if HEADING.match(line) or RULE.match(line):
            self._start("paragraph")
            self._add(line)
            self._close()
            return
        if marker := MARKER.match(line):
            self._start_list(line, marker)
            return
        self._start("paragraph")
        self._add(line)
        if QUOTE.match(line):
            self._look_at_quote(line)

    def _take_in_paragraph(self, line: str) -> None:
        if not line.strip():
            self._close()
            self._gap = 1
        elif fence := FENCE.match(line):
            self._close()
            self._start_fence(fence)
        elif (
            HEADING.match(line)
            or self._interrupts(line)
            or self._changes_quote(line)
            or (self._mode == "table" and indent_of(line) >= 4)
        ):
            self._close()
            self._begin(line)
        elif self._mode == "paragraph" and self._is_table_rule(line):
            head = self._lines[-1]
            if len(self._lines) > 1:
                del self._lines[-1]
                self._close()
                self._start("table")
                self._add(head)
            self._mode = "table"
            self._add(line)
            self._table_head = [head, line]
        elif self._ends_paragraph(line):
            self._add(line)
            self._close()
        elif self._mode == "table":
            if self._size >= TABLE_SPLIT:
                head = self._table_head
                if self._table_shape is None:
                    self._table_shape = shape_of(self._lines)
                shape = self._table_shape
                self._close()
                self._start("table")
                self._table_head, self._table_shape = head, shape
                self._continues = True
            self._add(line)
        else:
            if self._size >= PARAGRAPH_SPLIT:
                self._close(join=" ")
                self._start("paragraph")
                self._continues = True
            self._add(line)
            if QUOTE.match(line):
                self._look_at_quote(line)

    def _ends_paragraph(self, line: str) -> bool:
        """An underline that makes it a heading, or a rule behind it: both are whole then."""
        underline = UNDERLINE.match(line)
        if underline and underline[1][0] == "=":
            return self._mode == "paragraph" and not self._quote
        return bool(underline or RULE.match(line))

    @property
    def _quote(self) -> bool:
        return self._lines[0].lstrip().startswith(">")

    def _changes_quote(self, line: str) -> bool:
        """A quote begins here, or one that holds no open paragraph ends."""
        if QUOTE.match(line):
            return not self._quote
        return self._quote and not self._lazy

    def _look_at_quote(self, line: str) -> None:
        """What a line of a quote leaves open in it: a fence, or a paragraph."""
        text = QUOTED.sub("", line)
        if not self._inner_fence:
            self._look_at(text, indent_of(text) >= 4 and not self._lazy)
        elif closes(text, self._inner_fence):
            self._inner_fence = ""

    def _interrupts(self, line: str) -> bool:
        """Whether a list begins here that may interrupt a paragraph (CommonMark 5.3)."""
        marker = MARKER.match(line)
        if not marker or len(marker[1]) > 3:
            return False
        if self._quote or self._mode == "table":
            return True  # there is no paragraph for it to go on in
        if marker.end() >= len(line.rstrip()):
            return False
        if self._mode == "paragraph" and RULE.match(line):
            return False  # an underline of a heading, or a rule: the parser decides
        return marker[3] is None or int(marker[3]) == 1

    def _is_table_rule(self, line: str) -> bool:
        head = self._lines[-1] if self._lines else ""
        return (
            "|" in head
            and not self._quote
            and ("|" in line or ":" in line)
            and TABLE_RULE.match(line) is not None
            and indent_of(head) < 4
            and len(split_row(head)) == len(split_row(line))
        )

    # --- lists -------------------------------------------------------------------------

    def _start_list(self, line: str, marker: re.Match[str], *, dedent: int = 0) -> None:
        self._start("list")
        self._dedent = dedent
        self._marker = marker[4] or marker[2]
        self._blank = False
        self._inner_fence = ""
        self._ordinal = self._first_ordinal = int(marker[3]) if marker[3] else 0
        self._add_item(line, marker)

    def _add_item(self, line: str, marker: re.Match[str]) -> None:
        spaces = indent_of(marker[5]) if marker[5] else 1
        # Five or more spaces after a marker are one and an indented code block.
        self._content = len(marker[1]) + len(marker[2]) + (spaces if spaces <= 4 else 1)
        self._add(line)
        self._look_at(line, False)

    def _take_in_list(self, line: str) -> None:
        indent = indent_of(line)
        cut_off = False
        if self._inner_fence:
            if not line.strip() or indent >= self._content:
                if closes(line, self._inner_fence):
                    self._inner_fence = ""
                    self._lazy = False
                self._add(line)
                self._blank = not line.strip()
                return
            cut_off = True
        if not line.strip():
            if self._empty_item and not self._blank:
                self._content = _NEVER  # an item may begin with one blank line, not with two
            self._add(line)
            self._blank = True
            self._lazy = False
            return
        blank, self._blank = self._blank, False
        if indent >= self._content:
            marker = MARKER.match(line)
            if marker and self._size >= NESTED_SPLIT:
                self._close()
                self._gap = int(blank)
                self._start_list(line, marker, dedent=len(marker[1]))
                return
            self._add(line)
            self._look_at(line, indent - self._content >= 4 and not self._lazy)
            return
        top = indent - self._dedent
        marker = MARKER.match(line)
        text = line[self._dedent :]
        if top < 0 or (top < 4 and any(rule.match(text) for rule in (RULE, HEADING, FENCE, QUOTE))):
            self._end_list(line, blank)
        elif marker and top < 4:
            self._take_marker(line, marker, blank)
        elif blank or cut_off or not self._lazy:
            self._end_list(line, blank)
        else:
            self._add(line)  # a paragraph of the item goes on, lazily

    def _look_at(self, line: str, code: bool) -> None:
        """What the line leaves open in its item: a fence, or a paragraph."""
        text = line.lstrip()
        while marker := MARKER.match(text):
            code = len(marker[5]) > 4
            text = text[marker.end() :]
        self._empty_item = not text
        self._inner_fence = ""
        if not code and (fence := INNER_FENCE.match(text)):
            self._inner_fence = fence[1]
        self._lazy = bool(
            text and not code and not self._inner_fence
            and not HEADING.match(text) and not RULE.match(text)
        )  # fmt: skip

    def _take_marker(self, line: str, marker: re.Match[str], blank: bool) -> None:
        if (marker[4] or marker[2]) == self._marker and bool(marker[3]) == (
            self._marker in (".", ")")
        ):
            self._ordinal += 1
            if self._size >= LIST_SPLIT:
                ordinal, dedent = self._ordinal, self._dedent
                self._close()
                self._gap = int(blank)
                self._start_list(line, marker, dedent=dedent)
                self._ordinal = self._first_ordinal = ordinal
                self._continues = True
            else:
                self._add_item(line, marker)
        else:
            self._end_list(line, blank)

    def _end_list(self, line: str, blank: bool) -> None:
        dedent = self._dedent
        self._close()
        self._gap = int(blank)
        self._begin(line[dedent:] if not line[:dedent].strip() else line)

    # --- fences ------------------------------------------------------------------------

    def _start_fence(self, opening: re.Match[str]) -> None:
        self._drop_open()
        self._mode = "fence"
        self._fence = OpenFence(opening, self.parts, self._take_gap())

    def _take_code(self, line: str, ends: bool, *, continues: bool = False) -> None:
        assert self._fence is not None
        if self._fence.take(line, ends, continues=continues):
            self._end_fence()

    def _end_fence(self) -> None:
        self._fence = None
        self._mode = "none"

    # --- parts -------------------------------------------------------------------------

    def _start(self, mode: Mode) -> None:
        self._drop_open()
        self._mode = mode
        self._lines = []
        self._size = 0
        self._dedent = 0
        self._continues = False
        self._lazy = False
        self._inner_fence = ""
        self._table_head = None
        self._table_shape = None

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _take_gap(self) -> int:
        gap, self._gap = self._gap, 0
        return gap if len(self.parts) > (self._open is not None) else 0

    def _close(self, *, join: str | None = None) -> None:
        """The open block is final. join: its last line goes on in the next part, after this."""
        if self._mode in ("none", "tail", "fence"):
            self._mode = "none"
            return
        trailing = 0
        if self._mode == "list" and self._inner_fence:
            trailing = int(not self._lines[-1].strip())  # blank lines belong to the code
        else:
            while self._lines and not self._lines[-1].strip():
                self._lines.pop()
                trailing = 1
        part = self._make(self._lines)
        part.join = join
        part.gap = self._take_gap()
        self._drop_open()
        self.parts.append(part)
        part.close()
        self._gap = trailing
        self._lines = []
        self._size = 0
        self._mode = "none"

    def _make(self, lines: list[str], *, open: bool = False) -> MarkdownPart:
        dedent = self._dedent
        if dedent:
            lines = [without_indent(line, dedent) for line in lines]
        text = "\n".join(lines)
        if self._mode == "list" and self._inner_fence and not lines[-1]:
            text += "\n"  # a blank line of code, which the parser would take for the end
        part = MarkdownPart(text, self.references)
        part.dedent = dedent
        part.rigid = self._mode != "paragraph"
        if self._mode == "table":
            if self._continues and self._table_head:
                part.table_head = "\n".join(self._table_head)
            part.table_shape = self._table_shape
            part.raw = open
        elif self._mode == "list" and self._continues and self._marker in (".", ")"):
            part.ordinal = self._first_ordinal
        return part

    def _show_open(self) -> None:
        """Put what is not closed yet at the end of the parts, as it would be if it ended."""
        rest = self._rest
        if self._fence is not None:
            self._fence.show(rest)
            return
        if self._mode in ("none", "tail"):
            self._drop_open()
            if rest.strip():
                part = MarkdownPart(rest, self.references)
                part.open = True
                part.gap = self._gap if self.parts else 0
                self._open = part
                self.parts.append(part)
            return
        lines = [*self._lines, rest] if rest else self._lines
        part = self._make(lines, open=True)
        part.open = True
        part.gap = self._gap if len(self.parts) > (self._open is not None) else 0
        if isinstance(self._open, MarkdownPart) and self._open.same_as(part):
            return
        self._drop_open()
        self._open = part
        self.parts.append(part)

    def _drop_open(self) -> None:
        if self._open is not None:
            self.parts.pop()
        self._open = None
