"""Thinking blocks: open while the model thinks, then one line unless the user wants more."""

from collections.abc import Sequence

from agent_tui.text import SafeReader, count, duration
from agent_tui.tui.transcript.blocks import HANG, Block, Modes
from agent_tui.tui.transcript.lines import Line, Look, Prefix, row
from agent_tui.tui.transcript.parts import LINE_LIMIT, Part, RowPart, cut_at, plain_parts


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
        self.tokens = 0
        """Tokens thought so far by the API's estimate, where the text is not shown."""
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
        text = "".join(self._text)
        self._text = [text] if text else []
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
            if self.tokens:
                text += f"  {look.glyphs.about} {count(self.tokens)} tokens"
        elif self.seconds is None:
            text = "thought"
        else:
            text = f"thought for {_seconds(self.seconds)}"
        glyph = look.glyphs.open if open else look.glyphs.folded
        if self.redacted or (self.done and not self._text):
            glyph = look.glyphs.info
        return row([(f"{glyph} ", "muted"), (text, "thinking-head")], look)

    def source(self) -> str:
        self.drain()
        return "".join(self._text)

    @property
    def growing(self) -> bool:
        return not self.done

    def texts(self, first: int = 0) -> Sequence[str]:
        return self._text[first:]


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
                if not end and len(text) > LINE_LIMIT:
                    end = cut_at(text)
        closed, self._rest = text[:end], text[end:]
        if closed:
            within = not closed.endswith("\n") and not final
            self.parts += plain_parts(
                closed.removesuffix("\n"), self._style, prefix=self._prefix, within=within
            )
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
