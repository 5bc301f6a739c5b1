"""Markdown parts: CommonMark with tables and strikethrough, laid out to lines.

markdown-it-py parses; the layout is our own. Blank rows stand where the source has blank
lines, so a part looks the same alone as in its document. Raw HTML is text.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len
from rich.segment import Segment

from agent_tui.text import clean
from agent_tui.tui.transcript.code import Code
from agent_tui.tui.transcript.lines import Line, Look, Prefix, Runs, lay_runs, linked
from agent_tui.tui.transcript.parts import Part
from agent_tui.tui.transcript.table import Row, lay_table

DEFINITION = re.compile(
    r" {0,3}\[(?:[^\[\]\\]|\\.)+\]:[ \t]*(?:<[^<>]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
"""A link definition on one line (CommonMark 4.7); it shows nothing."""

_MAY_DEFINE = re.compile(r"^ {0,3}\[[^\]]+\]:", re.MULTILINE)
_MARK = re.compile(r"\[(\d{1,6})\]")
_TASK = re.compile(r"\[([ xX])\] ")
_LEAST_ROOM = 8
_DEEPEST = 60
"""Levels of nesting; the parser drops what is deeper, so such text is shown as it is."""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    options = {"html": False, "maxNesting": _DEEPEST}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])


class References:
    """The link definitions of one text, and its cited sources (number → address). version
    counts definitions."""

    __slots__ = ("cited", "known", "version")

    def __init__(self, cited: dict[str, str] | None = None) -> None:
        self.cited = cited if cited is not None else {}
        self.known: dict[str, Any] = {}
        self.version = 0

    def learn(self, source: str) -> None:
        if not _MAY_DEFINE.search(source):
            return
        env: dict[str, Any] = {}
        _parser().parse(source, env)
        for label, target in env.get("references", {}).items():
            if label not in self.known:
                self.known[label] = target
                self.version += 1


class MarkdownPart(Part):
    """A stretch of markdown that stands alone.

    open: text may still come; emphasis that is not closed yet is shown as if it were.
    raw: shown as it is (a table that still grows). table_head: the first two lines of the
    table whose later rows these are. ordinal: number of the first item of a list that goes
    on from the part before. dedent: columns taken off its lines, shown as an indent.
    join: the next part goes on in its last line, after this text.
    """

    __slots__ = (
        "_codes", "_learned", "_references", "dedent", "join", "open", "ordinal", "raw", "rigid",
        "table_head", "table_shape", "text",
    )  # fmt: skip

    def __init__(self, text: str, references: References | None = None) -> None:
        super().__init__()
        self.text = text
        self.dedent = 0
        self.ordinal: int | None = None
        self.table_head = ""
        self.table_shape: list[int] | None = None
        self.raw = False
        self.open = False
        self.rigid = False
        self.join: str | None = None
        self._references = references
        self._learned = 0
        self._codes: dict[tuple[str, str], Code] | None = None

    def close(self) -> None:
        if self._references is not None:
            self._references.learn(self.text)

    def same_as(self, other: "MarkdownPart") -> bool:
        return (
            self.text == other.text
            and self.raw == other.raw
            and self.open == other.open
            and self.gap == other.gap
            and self.ordinal == other.ordinal
            and self.dedent == other.dedent
        )

    @property
    def stale(self) -> bool:
        """A definition came after this was laid out, and the text may refer to it."""
        return (
            self._references is not None
            and self._learned != self._references.version
            and "]" in self.text
        )

    @property
    def cited(self) -> Mapping[str, str]:
        """Of its text: the cited sources, number → address."""
        return self._references.cited if self._references is not None else {}

    @property
    def codes(self) -> list[Code]:
        return list(self._codes.values()) if self._codes else []

    def estimate(self, width: int) -> int:
        by_size = len(self.text) // max(1, width - self.dedent) + 1
        return max(by_size, self.text.count("\n") + 1) if self.rigid else by_size

    def source(self) -> str:
        return self.text

    def lay_out(self, look: Look) -> list[Line]:
        writer = _Writer(look, self)
        if self.dedent:
            indent = [(" " * min(self.dedent, look.width // 2), "")]
            writer.enter(indent, indent, " " * self.dedent)
        if self.raw:
            return writer.write_raw(self.text)
        source = mended(self.text) if self.open else self.text
        if self.table_head:
            source = f"{self.table_head}\n{source}"
        known = self._references.known if self._references else {}
        tokens = _parser().parse(source, {"references": dict(known)} if known else {})
        self._learned = self._references.version if self._references else 0
        if any(token.level >= _DEEPEST - 2 for token in tokens):
            return writer.write_raw(self.text)
        writer.source = source.split("\n")
        writer.write(tokens)
        if self.join is not None and writer.out:
            writer.out[-1].join = self.join
        return writer.out

    def code(self, language: str, text: str) -> Code:
        """The code of a fence inside this part, kept with its colours for the next layout."""
        key = (language, text)
        known = self._codes
        if known is None or len(known) > 8:
            known = self._codes = {}
        code = known.get(key)
        if code is None:
            lines = text.removesuffix("\n").split("\n")
            code = known[key] = Code(language, lines, closed=True)
        return code


def mended(text: str) -> str:
    """Streaming text with what its last line has opened (code, bold) closed, and an opening
    at its very end left out, so that marks do not flash up until their end has come."""
    head, newline, line = text.rpartition("\n")
    if line.lstrip().startswith(("```", "~~~")) or line.strip(" *-_") == "":
        return text
    if line.count("`") % 2:
        line = line[:-1] if line.endswith("`") else f"{line}`"
    elif line.count("**") % 2:
        line = line[:-2] if line.endswith("**") else f"{line.rstrip()}**"
    return head + newline + line


class _Frame:
    """A container (list item, quote) around what is written."""

    __slots__ = ("copy", "first", "rest", "used")

    def __init__(self, first: Runs, rest: Runs, copy: str) -> None:
        self.first = first
        self.rest = rest
        self.copy = copy
        self.used = False


class _Writer:
    def __init__(self, look: Look, part: MarkdownPart) -> None:
        self.out: list[Line] = []
        self.source: list[str] = []
        self._look = look
        self._part = part
        self._frames: list[_Frame] = []
        self._styles: list[str] = []
        self._lists: list[list[int]] = []  # [next number, 0 for bullets]
        self._fresh = True  # nothing was written in this container yet

    # --- containers --------------------------------------------------------------------

    def enter(self, first: Runs, rest: Runs, copy: str) -> None:
        self._frames.append(_Frame(first, rest, copy))

    def prefix(self) -> Prefix:
        first: Runs = []
        rest: Runs = []
        copy = ""
        for frame in self._frames:
            first += frame.rest if frame.used else frame.first
            rest += frame.rest
            if frame.used:
                copy += "> " if frame.copy == "> " else " " * len(frame.copy)
            else:
                copy += frame.copy
            frame.used = True
        spare = self._look.width - sum(cell_len(text) for text, _ in rest)
        if spare < _LEAST_ROOM and len(self._frames) > 1:
            # Too deep for the width: what is inmost tells most.
            last = self._frames[-1]
            return Prefix(first[len(rest) - len(last.rest) :], last.rest, copy)
        return Prefix(first, rest, copy)

    def _gap(self, token: Token) -> None:
        """A blank row where the source has a blank line before this block."""
        if self._fresh or not self.out or token.map is None:
            self._fresh = False
            return
        before = token.map[0] - 1
        while before >= 0 and DEFINITION.match(self.source[before]):
            before -= 1
        bars = [run for frame in self._frames if frame.copy == "> " for run in frame.rest]
        blank = " >\t" if bars else " \t"
        if 0 <= before < len(self.source) and not self.source[before].strip(blank):
            palette = self._look.palette
            segments = [Segment(text, palette[style]) for text, style in bars]
            lead = sum(len(text) for text, _ in bars)
            self.out.append(Line(segments, "", lead, ">" * len(bars)))

    def write_raw(self, text: str) -> list[Line]:
        for line in text.split("\n"):
            lay_runs([(line, "table-raw")], self._look, self.out, self.prefix())
        return self.out

    # --- blocks ------------------------------------------------------------------------

    def write(self, tokens: list[Token]) -> None:
        index = 0
        while index < len(tokens):
            index = self._block(tokens, index)

    def _block(self, tokens: list[Token], index: int) -> int:
        token = tokens[index]
        look = self._look
        match token.type:
            case "paragraph_open":
                self._gap(token)
                self._text(self._inline(tokens[index + 1]))
                return index + 3
            case "heading_open":
                self._gap(token)
                self._heading(token, tokens[index + 1])
                return index + 3
            case "fence" | "code_block":
                self._gap(token)
                self._code(token)
            case "hr":
                self._gap(token)
                prefix = self.prefix()
                rule = look.glyphs.rule * max(1, (look.width - prefix.cells))
                rows: list[Line] = []
                lay_runs([(rule, "rule")], look, rows, prefix)
                rows[0].text, rows[0].join = "---", None
                self.out.append(rows[0])
            case "bullet_list_open":
                self._gap(token)
                self._lists.append([0, 0])
                self._fresh = True
            case "ordered_list_open":
                self._gap(token)
                start = int(token.attrs.get("start", 1))
                if self._part.ordinal is not None and not self._lists:
                    start = self._part.ordinal
                self._lists.append([start, 1])
                self._fresh = True
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
                self._fresh = False
            case "list_item_open":
                self._gap(token)
                self._item(token, tokens, index)
                self._fresh = True
            case "list_item_close" | "blockquote_close":
                frame = self._frames[-1]
                if not frame.used:
                    lay_runs([("", "")], look, self.out, self.prefix())
                self._frames.pop()
                self._fresh = False
                if token.type == "blockquote_close":
                    self._styles.pop()
            case "blockquote_open":
                self._gap(token)
                bar = [(f"{look.glyphs.quote} ", "quote-bar")]
                self.enter(bar, bar, "> ")
                self._styles.append("quote")
                self._fresh = True
            case "table_open":
                self._gap(token)
                return self._table(tokens, index)
            case _:
                pass
        return index + 1

    def _text(self, lines: list[Runs]) -> None:
        prefix = self.prefix()
        for runs in lines:
            lay_runs(runs, self._look, self.out, prefix)
            prefix = Prefix(prefix.rest, prefix.rest, " " * len(prefix.copy))

    def _heading(self, token: Token, inline: Token) -> None:
        level = int(token.tag[1:])
        style = "heading-1" if level == 1 else "heading-2" if level == 2 else "heading"
        prefix = self.prefix()
        mark = "#" * level + " "
        marked = Prefix(
            [*prefix.first, (mark, "heading-mark")],
            [*prefix.rest, (" " * len(mark), "")],
            prefix.copy + mark,
        )
        self._styles.append(style)
        runs = [run for line in self._inline(inline) for run in line]
        self._styles.pop()
        lay_runs(runs, self._look, self.out, marked)

    def _item(self, token: Token, tokens: list[Token], index: int) -> None:
        glyphs = self._look.glyphs
        counter = self._lists[-1]
        if counter[1]:
            mark = f"{counter[0]}{token.markup or '.'} "
            counter[0] += 1
            self.enter([(mark, "bullet")], [(" " * len(mark), "")], mark)
            return
        depth = sum(1 for _, ordered in self._lists if not ordered)
        shown, copy = glyphs.bullet if depth % 2 else glyphs.sub_bullet, "- "
        inline = tokens[index + 2] if index + 2 < len(tokens) else None
        if inline is not None and inline.type == "inline" and inline.children:
            first = inline.children[0]
            if first.type == "text" and (task := _TASK.match(first.content)):
                first.content = first.content[task.end() :]
                shown = glyphs.task_open if task[1] == " " else glyphs.task_done
                copy = f"- [{task[1]}] "
        mark = f"{shown} "
        self.enter([(mark, "bullet")], [(" " * cell_len(mark), "")], copy)

    def _code(self, token: Token) -> None:
        language = (token.info.split() or [""])[0].lower()
        code = self._part.code(language, token.content)
        prefix = self.prefix()
        inset: Runs = [("  ", "code-block")]
        before = Prefix([*prefix.first, *inset], [*prefix.rest, *inset], prefix.copy)
        after = Prefix(before.rest, before.rest, " " * len(prefix.copy))
        for runs in code.runs(0, len(code.lines)):
            lay_runs(runs, self._look, self.out, before, fill="code-block", hard=True)
            before = after

    def _table(self, tokens: list[Token], index: int) -> int:
        head: Row = []
        rows: list[Row] = []
        aligns: list[str] = []
        current = head
        while tokens[index].type != "table_close":
            token = tokens[index]
            if token.type == "tr_open":
                current = []
            elif token.type == "tr_close":
                if head:
                    rows.append(current)
                else:
                    head = current
            elif token.type in ("th_open", "td_open"):
                if token.type == "th_open":
                    aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
                lines = self._inline(tokens[index + 1])
                current.append([run for line in lines for run in line])
            index += 1
        lay_table(
            head, rows, aligns, self._look, self.prefix(), self.out,
            shape=self._part.table_shape, show_head=not self._part.table_head,
        )  # fmt: skip
        return index + 1

    # --- inline ------------------------------------------------------------------------

    def _inline(self, token: Token) -> list[Runs]:
        """The logical lines of an inline token (hard breaks part them)."""
        base = " ".join(self._styles)
        stack = [base] if base else []
        style = base
        lines: list[Runs] = [[]]
        links: list[tuple[str, int]] = []
        entities = "&" in token.content  # they may stand for characters that are not safe
        for child in token.children or []:
            match child.type:
                case "text" | "text_special":
                    if child.content:
                        text = clean(child.content) if entities else child.content
                        lines[-1] += self._with_marks(text, style)
                case "softbreak":
                    lines[-1].append((" ", style))
                case "hardbreak":
                    lines.append([])
                case "code_inline":
                    lines[-1].append((child.content, f"{style} code-inline".strip()))
                case "em_open" | "strong_open" | "s_open" | "link_open":
                    stack.append(_INLINE_STYLES[child.type])
                    if child.type == "link_open":
                        href = child.attrs.get("href", "")
                        stack[-1] = linked("link", href)
                        links.append((clean(href), len(lines[-1])))
                    style = " ".join(stack)
                case "em_close" | "strong_close" | "s_close" | "link_close":
                    stack.pop()
                    style = " ".join(stack)
                    if child.type == "link_close":
                        target, start = links.pop()
                        label = "".join(text for text, _ in lines[-1][start:])
                        if target and not _same_target(label, target):
                            lines[-1].append((f" ({target})", f"{style} url".strip()))
                case "image":
                    target = clean(child.attrs.get("src", ""))
                    label = clean(child.content) or target
                    lines[-1].append((f"[image: {label}]", f"{style} link".strip()))
                    if label != target:
                        lines[-1].append((f" ({target})", f"{style} url".strip()))
                case _:
                    if child.content:
                        lines[-1].append((clean(child.content), style))
        return [line or [("", "")] for line in lines]

    def _with_marks(self, text: str, style: str) -> Runs:
        """The text, the marks of cited sources in it in their own style."""
        cited = self._part.cited
        if not cited or "[" not in text:
            return [(text, style)]
        runs: Runs = []
        at = 0
        for mark in _MARK.finditer(text):
            if mark[1] in cited:
                runs.append((text[at : mark.start()], style))
                runs.append((mark[0], linked(f"{style} cite".strip(), cited[mark[1]])))
                at = mark.end()
        runs.append((text[at:], style))
        return [run for run in runs if run[0]]


_INLINE_STYLES = {
    "em_open": "em",
    "strong_open": "strong",
    "s_open": "strike",
    "link_open": "link",
}


def _same_target(label: str, target: str) -> bool:
    return target in (label, f"http://{label}", f"mailto:{label}") or target == label + "/"
