"""The blocks of a transcript: what a conversation shows, top to bottom.

A block holds state and makes parts of it; it knows neither the screen nor its position.
All text is made safe on its way in.
"""

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment

from agent_tui.text import AnsiStyle, SafeReader, SafeText, ansi_spans, clean, count
from agent_tui.tui.lines import elapsed, fit
from agent_tui.tui.transcript.heights import Heights
from agent_tui.tui.transcript.images import image_line, image_part
from agent_tui.tui.transcript.lines import Line, Look, Prefix, Runs, lay_runs, row
from agent_tui.tui.transcript.markdown import References
from agent_tui.tui.transcript.parts import (
    Part,
    Picture,
    RowPart,
    cut_line,
    lines_to_parts,
    plain_parts,
    spans_to_lines,
)
from agent_tui.tui.transcript.splitter import MarkdownSplitter

_log = logging.getLogger(__name__)

ThinkingMode = Literal["folded", "open", "hidden"]
Delivery = Literal["prompt", "steer", "follow_up"]

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
        self.below: Block | None = None
        """The block of the same kind that it belongs to: of many that are not shown, the gap
        above the next one is found there."""

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

    def toggle(self, modes: Modes) -> None:
        """The user folds or opens it alone."""
        self.expanded = not self.is_open(modes)

    def folds_at(self, part: int) -> bool:
        """Whether a click on this part folds or opens it."""
        return self.foldable and part == 0

    def compose(self, modes: Modes) -> None:
        """Make the parts anew from the state."""

    def make(self, modes: Modes) -> None:
        """compose(), whatever the model or a server has sent."""
        try:
            self.compose(modes)
        except Exception:  # what is foreign may have any shape
            _log.exception("a %s could not be shown", self.kind)
            text = f"this {self.kind} could not be shown; the log file says why"
            self.parts = plain_parts(text, "failed", prefix=HANG)

    def estimate(self, width: int) -> int:
        """About how many rows, for a block whose parts are not made yet."""
        return sum(part.gap + part.estimate(width) for part in self.parts)

    def ready(self) -> None:
        """Make the parts of a stored block that was not looked at yet."""

    def pictures(self) -> Sequence[Picture]:
        """What it holds that can be looked at on a page of its own."""
        return [picture for part in self.parts for picture in part.pictures]

    def dependents(self) -> Iterable["Block"]:
        """Blocks that look different when this one is folded or opened."""
        return ()

    def ticked(self) -> Iterable["Block"]:
        """Of a live block, as time goes by: other blocks whose first part looks different now."""
        return ()

    def taken_back(self) -> None:
        """It was struck."""

    def source(self) -> str:
        return "\n".join(part.source() for part in self.parts)

    # --- what search reads -------------------------------------------------------------

    markdown = False

    @property
    def growing(self) -> bool:
        """More text may come: pieces are only added to texts()."""
        return False

    def texts(self, first: int = 0) -> Sequence[str]:
        """What it says, in the order of its parts, also where it is folded; in pieces, from
        piece `first` on."""
        return [self.source()][first:]

    def way_in(self) -> Iterable["Block"]:
        """The blocks to open so that all of it shows, outermost first."""
        return (self,) if self.foldable else ()


class Along(NamedTuple):
    """A file or resource that went out with a message. words: its name, and what it is."""

    words: str
    pictures: Sequence[Picture] = ()


class PromptBlock(Block):
    """What the user said: typed at rest, or delivered from the queue."""

    kind = "prompt"

    def __init__(
        self,
        text: str,
        delivery: Delivery = "prompt",
        note: str = "",
        images: Sequence[Picture] = (),
    ) -> None:
        """images: those that went out with it, a line for each below the text."""
        super().__init__()
        self.images = images
        self.text = SafeText(text)
        self.delivery: Delivery = delivery
        self.note = clean(note)
        self.item_id: str | None = None
        self.came_along: list[Along] = []

    def compose(self, modes: Modes) -> None:
        first = () if self.text else self.images[:1]
        self.parts = [_PromptHead(self, first), *self._more()]
        for along in self.came_along:
            draw = partial(self._attached, along.words)
            self.parts.append(RowPart(draw, pictures=along.pictures))

    @staticmethod
    def _attached(words: str, look: Look) -> list[Line]:
        return [row([("  ", ""), (f"{look.glyphs.info} ", "muted"), (words, "muted")], look)]

    def _more(self) -> list[Part]:
        _, newline, rest = self.text.partition("\n")
        parts = plain_parts(rest, "user", prefix=HANG) if newline else []
        below = self.images if self.text else self.images[1:]
        return [*parts, *(image_part(image, HANG, "user") for image in below)]

    def source(self) -> str:
        images = [image_line(image) for image in self.images]
        return "\n".join([self.text, *images] if self.text else images)


class _PromptHead(Part):
    __slots__ = ("_block", "_line", "pictures")

    def __init__(self, block: PromptBlock, pictures: Sequence[Picture]) -> None:
        super().__init__()
        self.pictures = pictures
        self._block = block
        self._line = block.source().partition("\n")[0]

    def estimate(self, width: int) -> int:
        return len(self._line) // max(1, width - 2) + 1 + bool(self._block.note)

    def lay_out(self, look: Look) -> list[Line]:
        block = self._block
        glyphs = look.glyphs
        glyph = {
            "prompt": glyphs.prompt, "steer": glyphs.steer, "follow_up": glyphs.follow_up,
        }[block.delivery]  # fmt: skip
        mark = f"{glyph} "
        out: list[Line] = []
        prefix = Prefix([(mark, "prompt")], [(" " * cell_len(mark), "")])
        for runs in cut_line(self._line, "user"):
            lay_runs(runs, look, out, prefix)
            prefix = Prefix(prefix.rest, prefix.rest)
        if block.note:
            last = out[-1]
            used = sum(segment.cell_length for segment in last.segments)
            if used + 2 + cell_len(block.note) <= look.width:
                space = " " * (look.width - used - cell_len(block.note))
                last.segments += [Segment(space), Segment(block.note, look.palette["muted"])]
            else:
                out.append(row([("  ", ""), (block.note, "muted")], look))
        return out

    def source(self) -> str:
        return self._line


class TextBlock(Block):
    """The model's text, markdown; streaming, or stored and split when first looked at.
    cited: number of a source → its address."""

    kind = "text"
    markdown = True

    def __init__(self, text: str | None = None, cited: dict[str, str] | None = None) -> None:
        super().__init__()
        self._cited = cited if cited is not None else {}
        self._splitter = self._new_splitter()
        self.parts = self._splitter.parts
        self._reader: SafeReader | None = None if text is not None else SafeReader()
        self._stored = text
        self._taken: list[str] = []
        self._pending: deque[str] = deque()
        self.received = 0
        """Characters given to take()."""

    def again(self) -> "TextBlock":
        """The same, for another place: of a text that does not stream."""
        return TextBlock(self.source(), self._cited)

    def _new_splitter(self) -> MarkdownSplitter:
        return MarkdownSplitter(References(self._cited))

    def cite(self, number: int, url: str) -> None:
        """From now on `[number]` in it is the mark of a source, with its address."""
        self._cited[str(number)] = url

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

    def share(self, text: str) -> None:
        """`text` is held elsewhere as well: where it is all of this, no copy is kept."""
        if self._taken == [text]:
            self._taken = [text]

    @property
    def shows(self) -> bool:
        return bool(self.parts or self._pending) or self._stored is not None

    @property
    def streaming(self) -> bool:
        return self._reader is not None

    def ready(self) -> None:
        if self._stored is not None:
            stored, self._stored = self._stored, None
            text = SafeText(stored)
            self._taken = [stored if text == stored else text]
            self._splitter = self._new_splitter()
            self.parts = self._splitter.parts
            self._splitter.feed(text)
            self._splitter.finish()

    def sleep(self) -> None:
        """Keep the text only, as if it were stored; ready() splits it again."""
        if self._stored is None and not self.streaming:
            self._stored = self.source()
            self._taken = []
            self._splitter = self._new_splitter()
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

    @property
    def growing(self) -> bool:
        return self.streaming

    def texts(self, first: int = 0) -> Sequence[str]:
        if self._stored is not None:
            return [self._stored][first:]
        return self._taken[first:]


def ansi_lines(text: str, style: str) -> list[Runs]:
    """Tool output → lines of runs, its colours kept."""
    if "\x1b" not in text and "\r" not in text:
        return [runs for line in SafeText(text).split("\n") for runs in cut_line(line, style)]
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


def output_parts(
    text: str, style: str = "output", prefix: Prefix = DEEP, *, hard: bool = True
) -> list[Part]:
    """The whole of a tool's output as parts. hard: spaces in it mean something."""
    return lines_to_parts(ansi_lines(text.rstrip("\n"), style), prefix=prefix, hard=hard)


_ROOMY = 60
"""Columns from which on there is room for a word about who sees an output."""


class BashBlock(Block):
    """A command the user ran with `!`."""

    kind = "bash"
    foldable = True
    PREVIEW = 12
    LIVE_CHARS = 16_000

    def __init__(self, command: str, exclude: bool = False) -> None:
        super().__init__()
        self.command = clean(command)
        self.exclude = exclude
        self.output = ""
        self.exit_code: int | None = None
        self.cancelled = False
        self.started: float | None = None
        """While it runs: since when, by the page's clock."""
        self._cut = False

    @property
    def live(self) -> bool:
        return self.started is not None

    def add_output(self, piece: str) -> None:
        """More of what a command that runs has said; of much only the end is kept."""
        self.output = cut_front(self.output + piece, self.LIVE_CHARS)

    def end(self, output: str, exit_code: int | None, *, stopped: bool) -> None:
        """It has ended: all of its output."""
        self.output, self.exit_code, self.cancelled = output, exit_code, stopped
        self.started = None

    def compose(self, modes: Modes) -> None:
        self.parts = [RowPart(lambda look: [self._head(look)], f"!{self.command}")]
        lines = ansi_lines(self.output.rstrip("\n"), "output") if self.output.strip() else []
        self._cut = not self.is_open(modes) and len(lines) > self.PREVIEW
        if self._cut:
            hidden = len(lines) - self.PREVIEW
            lines = lines[-self.PREVIEW :]
            self.parts.append(RowPart(lambda look: [self._hidden(look, hidden)]))
        self.parts += lines_to_parts(lines, prefix=DEEP, hard=True)

    def is_open(self, modes: Modes) -> bool:
        return bool(self.expanded)

    def folds_at(self, part: int) -> bool:
        return part == 0 or (part == 1 and self._cut)

    def _hidden(self, look: Look, lines: int) -> Line:
        text = f"{look.glyphs.ellipsis} {count(lines)} earlier lines"
        return row([("    ", ""), (text, "muted")], look)

    def _head(self, look: Look) -> Line:
        bang = "!!" if self.exclude else "!"
        failed = self.exit_code not in (0, None) or self.cancelled
        note = (
            "stopped" if self.cancelled
            else f"exit {self.exit_code}" if self.exit_code else ""
        )  # fmt: skip
        if look.width >= _ROOMY:
            whose = "only you see it" if self.exclude else "the model sees it"
            note = f"{note}   {whose}" if note else whose
        style = "failed" if failed else "muted"
        if self.started is not None:
            since = elapsed(look.now() - self.started)
            note, style = f"{look.glyphs.running} {since}  Esc stops it", "accent"
        note = f"   {note}" if note else ""
        room = max(1, look.width - len(bang) - 1 - cell_len(note))
        runs: Runs = [
            (f"{bang} ", "prompt"),
            (fit(self.command, room, look.glyphs.ellipsis), "user"),
            (note, style),
        ]
        return row(runs, look, lead=len(bang) + 1, before=bang)

    def source(self) -> str:
        return f"!{self.command}\n{SafeText(self.output)}".rstrip("\n")


def cut_front(text: str, most: int) -> str:
    """The end of a text, from the beginning of a line where there is one."""
    if len(text) <= most:
        return text
    at = text.find("\n", len(text) - most) + 1
    return text[at or len(text) - most :]


def join_sources(blocks: Sequence[Block]) -> str:
    """The source text of blocks, a blank line between them."""
    return "\n\n".join(text for block in blocks if not block.struck and (text := block.source()))
