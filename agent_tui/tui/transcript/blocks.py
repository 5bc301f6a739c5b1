"""The blocks of a transcript: what a conversation shows, top to bottom.

A block holds state and makes parts of it; it knows neither the screen nor its position.
All text is made safe on its way in.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_tui.text import AnsiStyle, SafeReader, SafeText, ansi_spans, clean, duration
from agent_tui.tui.transcript.heights import Heights
from agent_tui.tui.transcript.lines import Line, Look, Prefix, Runs, row
from agent_tui.tui.transcript.parts import (
    Part,
    RowPart,
    cut_line,
    lines_to_parts,
    plain_parts,
    spans_to_lines,
)
from agent_tui.tui.transcript.splitter import MarkdownSplitter

ThinkingMode = Literal["folded", "open", "hidden"]
Delivery = Literal["prompt", "steer", "follow_up"]
Level = Literal["info", "warning", "error"]

DRAIN = 8192
"""Characters split in one step; bounds what a step costs."""

HANG = Prefix([("  ", "")], [("  ", "")])
DEEP = Prefix([("    ", "")], [("    ", "")])


@dataclass(slots=True)
class Modes:
    """How blocks stand that the user has not folded or opened one by one."""

    tools_open: bool = False
    thinking: ThinkingMode = "folded"


class Block:
    """Base. `parts` are what the layout shows; the layout owns `heights`, `index`, `gap`.

    struck: taken out of the transcript (a broken sample that is tried again).
    """

    kind = "block"
    foldable = False

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.heights: Heights | None = None
        self.index = -1
        self.gap = 0
        self.expanded: bool | None = None
        self.struck = False
        self.message_id = ""

    @property
    def live(self) -> bool:
        """Shows an elapsed time."""
        return False

    @property
    def shows(self) -> bool:
        """It takes rows."""
        return bool(self.parts)

    def is_open(self, modes: Modes) -> bool:
        return True if self.expanded is None else self.expanded

    def compose(self, modes: Modes) -> None:
        """Make the parts anew from the state."""

    def tick(self) -> bool:
        """The time has moved on: True if the first row may look different now."""
        return False

    def estimate(self, width: int) -> int:
        """About how many rows, for a block whose parts are not made yet."""
        return sum(part.gap + part.estimate(width) for part in self.parts)

    def ready(self) -> None:
        """Make the parts of a stored block that was not looked at yet."""

    def source(self) -> str:
        return "\n".join(part.source() for part in self.parts)


class PromptBlock(Block):
    """What the user said: typed at rest, or delivered from the queue."""

    kind = "prompt"

    def __init__(self, text: str, delivery: Delivery = "prompt", note: str = "") -> None:
        super().__init__()
        self.text = SafeText(text)
        self.delivery: Delivery = delivery
        self.note = clean(note)
        self.item_id: str | None = None

    def compose(self, modes: Modes) -> None:
        self.parts = [_PromptHead(self), *self._more()]

    def _more(self) -> list[Part]:
        _, newline, rest = self.text.partition("\n")
        if not newline:
            return []
        return plain_parts(rest, "user", prefix=Prefix([("  ", "")], [("  ", "")]))

    def source(self) -> str:
        return self.text


class _PromptHead(Part):
    __slots__ = ("_block", "_line")

    def __init__(self, block: PromptBlock) -> None:
        super().__init__()
        self._block = block
        self._line = block.text.partition("\n")[0]

    def estimate(self, width: int) -> int:
        return len(self._line) // max(1, width - 2) + 1 + bool(self._block.note)

    def lay_out(self, look: Look) -> list[Line]:
        from rich.cells import cell_len

        from agent_tui.tui.transcript.lines import lay_runs

        block = self._block
        glyphs = look.glyphs
        glyph = {
            "prompt": glyphs.prompt, "steer": glyphs.steer, "follow_up": glyphs.follow_up,
        }[block.delivery]  # fmt: skip
        mark = f"{glyph} "
        out: list[Line] = []
        prefix = Prefix([(mark, "prompt")], [(" " * cell_len(mark), "")])
        for piece in cut_line(self._line):
            lay_runs([(piece, "user")], look, out, prefix)
            prefix = Prefix(prefix.rest, prefix.rest)
        if block.note:
            last = out[-1]
            used = sum(segment.cell_length for segment in last.segments)
            if used + 2 + cell_len(block.note) <= look.width:
                from rich.segment import Segment

                space = " " * (look.width - used - cell_len(block.note))
                last.segments += [Segment(space), Segment(block.note, look.palette["muted"])]
            else:
                out.append(row([("  ", ""), (block.note, "muted")], look))
        return out

    def source(self) -> str:
        return self._line


class TextBlock(Block):
    """The model's text, markdown; streaming, or stored and split when first looked at."""

    kind = "text"

    def __init__(self, text: str | None = None) -> None:
        super().__init__()
        self._splitter = MarkdownSplitter()
        self.parts = self._splitter.parts
        self._reader: SafeReader | None = None if text is not None else SafeReader()
        self._stored = text
        self._taken: list[str] = []
        self._pending: deque[str] = deque()
        self.received = 0
        """Characters given to take()."""

    def take(self, text: str) -> None:
        """Add streamed text; drain() makes parts of it."""
        assert self._reader is not None, "the block is closed"
        self.received += len(text)
        self._pending.append(text)

    def drain(self) -> int:
        """Split what was taken; gives the first part that is new or changed."""
        first = len(self.parts)
        while self._pending:
            first = min(first, self.drain_some())
        return first

    def drain_some(self) -> int:
        """As drain(), but at most about DRAIN characters of what was taken."""
        if not self._pending or self._reader is None:
            return len(self.parts)
        pieces: list[str] = []
        size = 0
        while self._pending and size < DRAIN:
            pieces.append(self._pending.popleft())
            size += len(pieces[-1])
        safe = self._reader.feed("".join(pieces))
        self._taken.append(safe)
        return self._splitter.feed(safe)

    @property
    def waiting(self) -> bool:
        """Some of what was taken is not split yet."""
        return bool(self._pending)

    def close(self) -> int:
        """The text is complete; gives the first part that changed."""
        first = min(self.drain(), max(0, len(self.parts) - 1))
        if self._reader is None:
            return first
        rest, self._reader = self._reader.flush(), None
        if rest:
            self._taken.append(rest)
            first = min(first, self._splitter.feed(rest))
        self._splitter.finish()
        self._taken = ["".join(self._taken)]
        return min(first, max(0, len(self.parts) - 1))

    @property
    def shows(self) -> bool:
        return bool(self.parts) or self._stored is not None

    @property
    def streaming(self) -> bool:
        return self._reader is not None

    def ready(self) -> None:
        if self._stored is not None:
            text, self._stored = SafeText(self._stored), None
            self._taken = [text]
            self._splitter = MarkdownSplitter()
            self.parts = self._splitter.parts
            self._splitter.feed(text)
            self._splitter.finish()

    def sleep(self) -> None:
        """Keep the text only, as if it were stored; ready() splits it again."""
        if self._stored is None and not self.streaming:
            self._stored = self.source()
            self._taken = []
            self._splitter = MarkdownSplitter()
            self.parts = self._splitter.parts

    def estimate(self, width: int) -> int:
        if self._stored is None:
            return super().estimate(width)
        text = self._stored
        return max(text.count("\n") + 1, len(text) // max(1, width) + 1)

    def source(self) -> str:
        if self._stored is not None:
            return SafeText(self._stored)
        self.drain()
        return "".join(self._taken)


class ThinkingBlock(Block):
    """Thinking: open while it streams, then one line unless the user wants it open."""

    kind = "thinking"
    foldable = True

    def __init__(self, started: float | None = None) -> None:
        super().__init__()
        self.started = started
        self.seconds: float | None = None
        self.done = False
        self.redacted = False
        self._reader = SafeReader()
        self._text: list[str] = []
        self._pending: list[str] = []
        self._splitter = _PlainSplitter("thinking", HANG)

    def take(self, text: str) -> None:
        """Add streamed text; compose() and grown() make parts of it."""
        self._pending.append(text)

    def drain(self) -> None:
        if self._pending:
            safe = self._reader.feed("".join(self._pending))
            self._pending.clear()
            self._text.append(safe)
            self._splitter.feed(safe)

    def close(self, now: float | None) -> None:
        if self.done:
            return
        self.drain()
        if rest := self._reader.flush():
            self._text.append(rest)
            self._splitter.feed(rest)
        self._splitter.finish()
        self._text = ["".join(self._text)]
        self.done = True
        if now is not None and self.started is not None:
            self.seconds = now - self.started

    @property
    def live(self) -> bool:
        return not self.done and self.started is not None

    def is_open(self, modes: Modes) -> bool:
        if not self._text and not self._pending:
            return False
        if self.expanded is not None:
            return self.expanded
        return not self.done or modes.thinking == "open"

    def compose(self, modes: Modes) -> None:
        self.drain()
        if modes.thinking == "hidden" and self.expanded is None:
            self.parts = []
        elif self.is_open(modes):
            self._splitter.taken()
            self.parts = [RowPart(lambda look: [self._head(look, True)]), *self._splitter.parts]
        else:
            self.parts = [RowPart(lambda look: [self._head(look, False)])]

    def grown(self) -> int:
        """After take() while open: bring the parts up to date; gives the first changed."""
        self.drain()
        first = self._splitter.taken() + 1
        self.parts[first:] = self._splitter.parts[first - 1 :]
        return first

    def _head(self, look: Look, open: bool) -> Line:
        if self.redacted:
            text = "thinking, redacted by the provider"
        elif not self.done:
            seconds = int(max(0.0, look.now() - (self.started or 0.0)))
            text = f"thinking  {seconds} s" if seconds else "thinking"
        elif self.seconds is None:
            text = "thought"
        else:
            text = f"thought for {_seconds(self.seconds)}"
        glyph = look.glyphs.open if open else look.glyphs.folded
        if self.redacted or (self.done and not self._text):
            glyph = look.glyphs.info
        return row([(f"{glyph} ", "muted"), (text, "thinking-head")], look)

    def tick(self) -> bool:
        return self.live

    def source(self) -> str:
        self.drain()
        return "".join(self._text)


class _PlainSplitter:
    """Plain streaming text → parts of a bounded number of lines; only the last is open."""

    def __init__(self, style: str, prefix: Prefix) -> None:
        self.parts: list[Part] = []
        self._changed = 0
        self._style = style
        self._prefix = prefix
        self._rest = ""
        self._open = False

    def feed(self, text: str, *, final: bool = False) -> None:
        if self._open:
            self.parts.pop()
            self._open = False
        self._changed = min(self._changed, len(self.parts))
        text = self._rest + text
        end = len(text)
        if not final:
            # Close what is whole: all but the text behind the last newline of a chunk.
            end = 0
            if len(text) > 2048:
                end = text.rfind("\n") + 1
                if not end and len(text) > 4096:
                    end = text.rfind(" ", 0, 4096) + 1 or 4096
        closed, self._rest = text[:end], text[end:]
        if closed:
            self.parts += plain_parts(closed.removesuffix("\n"), self._style, prefix=self._prefix)
        if self._rest:
            self.parts += plain_parts(
                self._rest.removesuffix("\n"), self._style, prefix=self._prefix
            )[:1]
            self._open = True

    def taken(self) -> int:
        """The first part that has changed since the last call."""
        changed, self._changed = self._changed, len(self.parts)
        return changed

    def finish(self) -> None:
        rest = self._rest.rstrip("\n")
        self._rest = ""
        self.feed(rest, final=True)


def _seconds(seconds: float) -> str:
    """`4 s`, `1 min 5 s`: whole seconds, at least one."""
    return duration(max(1, round(seconds))).replace(".0 s", " s")


class NoticeBlock(Block):
    """A line from the program itself, or the mark of a message (interrupted, failed)."""

    kind = "notice"

    def __init__(self, level: Level, text: str, glyph: str = "") -> None:
        super().__init__()
        self.level: Level = level
        self.text = SafeText(text)
        self._glyph = glyph

    def compose(self, modes: Modes) -> None:
        self.parts = [_NoticePart(self.level, self.text, self._glyph)]

    def source(self) -> str:
        return self.text


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
        from agent_tui.tui.transcript.lines import lay_runs

        glyphs = look.glyphs
        glyph = (
            self._glyph or {"info": "info", "warning": "warning", "error": "failed"}[self._level]
        )
        style = {"info": "muted", "warning": "waiting", "error": "failed"}[self._level]
        mark = getattr(glyphs, glyph) + " "
        prefix = Prefix([(mark, style)], [(" " * len(mark), "")])
        out: list[Line] = []
        for line in self._text.split("\n"):
            for piece in cut_line(line):
                lay_runs([(piece, style)], look, out, prefix)
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
        self.parts = [RowPart(lambda look: [self._rule(look, modes)], self.label)]
        if self.is_open(modes) and self._text:
            splitter = MarkdownSplitter()
            splitter.feed(self._text)
            splitter.finish()
            self.parts += splitter.parts

    def _rule(self, look: Look, modes: Modes) -> Line:
        glyphs = look.glyphs
        fold = (glyphs.open if self.is_open(modes) else glyphs.folded) if self.foldable else ""
        label = f" {fold} {self.label} " if fold else f" {self.label} " if self.label else ""
        head = glyphs.rule * 2 + label
        from rich.cells import cell_len

        rest = glyphs.rule * max(0, look.width - cell_len(head))
        return row([(glyphs.rule * 2, "rule"), (label, "muted"), (rest, "rule")], look)

    def source(self) -> str:
        return self._text or self.label


def ansi_lines(text: str, style: str) -> list[Runs]:
    """Tool output → lines of runs, its colours kept."""
    if "\x1b" not in text and "\r" not in text:
        return [[(piece, style)] for line in SafeText(text).split("\n") for piece in cut_line(line)]
    spans = [(part, ansi_style(values, style)) for part, values in ansi_spans(text)]
    return spans_to_lines(spans)


def ansi_style(values: AnsiStyle, base: str) -> str:
    """The style name of what SGR sequences have set."""
    names = [base]
    for key, value in values.items():
        if key == "color":
            names.append(f"fg:{value}")
        elif key == "bgcolor":
            names.append(f"bg:{value}")
        elif value:
            names.append(key)
    return " ".join(names)


def output_parts(text: str, style: str = "output", prefix: Prefix = DEEP) -> list[Part]:
    """The whole of a tool's output as parts."""
    return lines_to_parts(ansi_lines(text.rstrip("\n"), style), prefix=prefix, hard=True)


class BashBlock(Block):
    """A command the user ran with `!`."""

    kind = "bash"
    foldable = True
    PREVIEW = 12

    def __init__(self, command: str, exclude: bool = False) -> None:
        super().__init__()
        self.command = clean(command)
        self.exclude = exclude
        self.output = ""
        self.exit_code: int | None = None
        self.cancelled = False
        self.note = ""

    def compose(self, modes: Modes) -> None:
        self.parts = [RowPart(lambda look: [self._head(look)], f"!{self.command}")]
        lines = ansi_lines(self.output.rstrip("\n"), "output") if self.output.strip() else []
        hidden = 0
        if not self.is_open(modes) and len(lines) > self.PREVIEW:
            hidden = len(lines) - self.PREVIEW
            lines = lines[-self.PREVIEW :]
            text = f"… {hidden} earlier lines"
            self.parts += plain_parts(text, "muted", prefix=DEEP)
        self.parts += lines_to_parts(lines, prefix=DEEP, hard=True)

    def is_open(self, modes: Modes) -> bool:
        return bool(self.expanded)

    def _head(self, look: Look) -> Line:
        bang = "!!" if self.exclude else "!"
        failed = self.exit_code not in (0, None) or self.cancelled
        note = (
            "stopped" if self.cancelled
            else f"exit {self.exit_code}" if self.exit_code else ""
        )  # fmt: skip
        runs: Runs = [(f"{bang} ", "prompt"), (self.command, "user")]
        if note:
            runs.append((f"   {note}", "failed" if failed else "muted"))
        return row(runs, look, lead=len(bang) + 1, before=bang)

    def source(self) -> str:
        return f"!{self.command}\n{SafeText(self.output)}".rstrip("\n")


def join_sources(blocks: Sequence[Block]) -> str:
    """The source text of blocks, a blank line between them."""
    return "\n\n".join(text for block in blocks if not block.struck and (text := block.source()))
