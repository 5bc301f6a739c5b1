"""Transcript: the conversation on the screen, one widget on Textual's Line API.

Events go into a frame buffer that is read at most 30 times a second; what a frame needs is
laid out in slices of at most 8 ms. No timer runs while nothing moves.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from agent_tui.tui.glyphs import Glyphs, choose
from agent_tui.tui.transcript.blocks import (
    Block,
    Delivery,
    Modes,
    TextBlock,
    ThinkingMode,
    join_sources,
)
from agent_tui.tui.transcript.code import Code, LineRuns, highlighter
from agent_tui.tui.transcript.feed import Feed
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.lines import Line, Look, Palette
from agent_tui.tui.transcript.notices import Level, NoticeBlock, SeparatorBlock
from agent_tui.tui.transcript.tool_blocks import ToolBlock
from agent_tui.tui.transcript.viewport import FrameRow, Viewport

FRAME_S = 1 / 30
"""Seconds between two readings of the frame buffer while text streams."""

FLOOD_FRAME_S = 1 / 10
"""The same while more than a screenful comes with each frame: nobody reads that."""

SLICE_S = 0.008
"""Seconds of work on the event loop before it is given back."""

TICK_S = 0.2
"""Seconds between two looks at running elapsed times."""

_SHARE = 3.0
"""A frame that cost t seconds is followed by at least _SHARE * t of rest."""

_STEP = 64
"""Events between two looks at the time."""

_SELECTED_PARTS = 400
"""Parts of a selection that are laid out to be copied."""

_STRIPS_KEPT = 400
"""Painted rows kept; a screenful or two."""

_NEAR = 4
"""Screens: a scroll farther than this jumps by estimated heights, else it is exact."""


class Transcript(ScrollView):
    """See agent_tui.tui.transcript for the public methods."""

    ALLOW_MAXIMIZE = False
    FOCUS_ON_CLICK = False

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"transcript--{name}"
        for name in (
            "user", "prompt", "accent", "muted", "rule", "done", "waiting", "failed", "thinking",
            "thinking-head", "tool-name", "tool-summary", "output", "heading-1", "heading-2",
            "heading", "heading-mark", "bullet", "link", "url", "quote", "quote-bar", "table-head",
            "table-rule", "table-raw", "code-inline", "code-block", "code", "code-keyword",
            "code-string", "code-number", "code-comment", "code-name", "code-builtin", "diff-add",
            "diff-del", "diff-hunk", "cursor",
        )
    }  # fmt: skip

    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        padding: 0 1;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $rule;
        scrollbar-color-hover: $muted;
        scrollbar-color-active: $accent;
        background: $background;
        color: $foreground;

        & > .transcript--user { text-style: bold; }
        & > .transcript--prompt { color: $accent; text-style: bold; }
        & > .transcript--accent { color: $accent; }
        & > .transcript--muted { color: $muted; }
        & > .transcript--rule { color: $rule; }
        & > .transcript--done { color: $done; }
        & > .transcript--waiting { color: $waiting; }
        & > .transcript--failed { color: $failed; }
        & > .transcript--thinking { color: $muted; text-style: italic; }
        & > .transcript--thinking-head { color: $muted; }
        & > .transcript--tool-name { text-style: bold; }
        & > .transcript--tool-summary { color: $foreground; }
        & > .transcript--output { color: $muted; }
        & > .transcript--heading-1 { color: $accent; text-style: bold; }
        & > .transcript--heading-2 { color: $accent; text-style: bold; }
        & > .transcript--heading { text-style: bold; }
        & > .transcript--heading-mark { color: $muted; }
        & > .transcript--bullet { color: $accent; }
        & > .transcript--link { text-style: underline; }
        & > .transcript--url { color: $muted; }
        & > .transcript--quote { color: $muted; }
        & > .transcript--quote-bar { color: $rule; }
        & > .transcript--table-head { text-style: bold; }
        & > .transcript--table-rule { color: $rule; }
        & > .transcript--table-raw { color: $foreground; }
        & > .transcript--code-inline { color: $accent; }
        & > .transcript--code-block { background: $panel; }
        & > .transcript--code { background: $panel; color: $foreground; }
        & > .transcript--code-keyword { background: $panel; color: $accent; }
        & > .transcript--code-string { background: $panel; color: $done; }
        & > .transcript--code-number { background: $panel; color: $waiting; }
        & > .transcript--code-comment { background: $panel; color: $muted; text-style: italic; }
        & > .transcript--code-name { background: $panel; color: $foreground; text-style: bold; }
        & > .transcript--code-builtin { background: $panel; color: $waiting; }
        & > .transcript--diff-add { color: $done; }
        & > .transcript--diff-del { color: $failed; }
        & > .transcript--diff-hunk { color: $muted; }
        & > .transcript--cursor { background: $panel; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,ctrl+down", "next_block", "Next", show=False),
        Binding("p,ctrl+up", "previous_block", "Previous", show=False),
        Binding("enter,space", "open_block", "Open", show=False),
    ]

    class NewLines(Message):
        """Lines came below while the view does not follow; 0: it follows again."""

        def __init__(self, transcript: "Transcript", count: int) -> None:
            super().__init__()
            self.transcript = transcript
            self.count = count

        @property
        def control(self) -> "Transcript":
            return self.transcript

    class ToolOpened(Message):
        """A tool's line was clicked, or Enter pressed on it."""

        def __init__(self, transcript: "Transcript", call_id: str) -> None:
            super().__init__()
            self.transcript = transcript
            self.call_id = call_id

        @property
        def control(self) -> "Transcript":
            return self.transcript

    def __init__(
        self,
        *,
        glyphs: Glyphs | None = None,
        thinking: ThinkingMode = "folded",
        clock: Callable[[], float] = time.monotonic,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """glyphs: None chooses for this terminal. clock: seconds, for elapsed times."""
        super().__init__(name=name, id=id, classes=classes)
        self._clock = clock
        look = Look(glyphs=glyphs or choose(), now=clock)
        self._modes = Modes(thinking=thinking)
        self._layout = Layout(look, self._highlight)
        self._feed = Feed(self._layout, self._modes, clock)
        self._view = Viewport(self._layout)
        self._buffer: deque[Any] = deque()
        self._pumping = False
        self._job: Iterator[None] | None = None
        self._tick_timer: Timer | None = None
        self._colouring = 0
        self._styles_read: dict[str, Style] = {}
        self._spent = 0.0  # seconds of work in this frame
        self._rest = FRAME_S
        self._last_frame = 0.0
        self._shown: list[FrameRow] = []
        self._strips: dict[int, tuple[Line, Strip]] = {}
        self._placing = False
        self._thumb = (0, 0)
        self._cursor: Block | None = None
        self._missed = 0  # rows that came below since the view let go of the end
        self._missed_told = 0

    # --- what the app calls ------------------------------------------------------------

    def apply(self, event: Any) -> None:
        """Take an AgentEvent or a ConversationEvent; it is shown with the next frame."""
        self._buffer.append(event)
        if not self._pumping:
            self._start_pump()

    def load(
        self,
        messages: Iterable[Any],
        deliveries: Mapping[str, tuple[Delivery, str]] | None = None,
    ) -> None:
        """Show a stored history (AgentMessages, oldest first) below what is there.

        deliveries: of queue items, id → (kind, where it landed).
        """
        self._drain()
        self._feed.load(messages, deliveries)
        self._settle()

    def clear(self) -> None:
        """Forget everything shown."""
        self._buffer.clear()
        self._feed.clear()
        self._layout.clear()
        self._view.top = Spot(0, 0, 0)
        self._view.following = True
        self._cursor = None
        self._missed = 0
        self._tell_missed()
        self._settle()

    def add_notice(self, level: Level, text: str) -> None:
        """A line from the program: "info", "warning" or "error"."""
        self._add(NoticeBlock(level, text))

    def add_markdown(self, text: str) -> None:
        """Markdown from the program (the answer of a command)."""
        self._add(TextBlock(text))

    def add_separator(self, label: str = "", text: str = "") -> None:
        """A thin rule with a label; `text` is shown when it is opened."""
        self._add(SeparatorBlock(label, text))

    def toggle_tools(self) -> bool:
        """Open all tool blocks, or fold them again; gives whether they are open now."""
        self._modes.tools_open = not self._modes.tools_open
        self._recompose("tool")
        return self._modes.tools_open

    def toggle_thinking(self) -> ThinkingMode:
        """Fold or open all thinking; gives the mode now."""
        self.set_thinking_mode("folded" if self._modes.thinking == "open" else "open")
        return self._modes.thinking

    def set_thinking_mode(self, mode: ThinkingMode) -> None:
        """ "folded": one line when done; "open": always open; "hidden": not shown."""
        self._modes.thinking = mode
        self._recompose("thinking")

    @property
    def thinking_mode(self) -> ThinkingMode:
        return self._modes.thinking

    @property
    def following(self) -> bool:
        """The view stands at the end and goes with it."""
        return self._view.following

    @following.setter
    def following(self, follow: bool) -> None:
        if follow:
            self.scroll_to_end()
        else:
            self._view.following = False

    def scroll_to_end(self) -> None:
        """Go to the last row and follow again."""
        self._view.following = True
        self._settle()

    def set_glyphs(self, glyphs: Glyphs) -> None:
        """Another table of glyphs."""
        self._layout.look.glyphs = glyphs
        self._restyle()

    def source_text(self) -> str:
        """The source text of the whole transcript, blocks parted by a blank line."""
        self._drain()
        return join_sources(self._layout.blocks)

    @property
    def text_of_selection(self) -> str:
        """The selected source text; "" when nothing is selected."""
        selection = self.text_selection
        if selection is None:
            return ""
        found = self.get_selection(selection)
        return found[0] if found else ""

    @property
    def lines_shown(self) -> list[str]:
        """The text of the rows on the screen."""
        return [row.line.shown for row in self._view.frame]

    @property
    def quiet(self) -> bool:
        """Nothing waits to be shown, laid out or coloured."""
        return not self._buffer and self._job is None and not self._pumping and not self._colouring

    # --- frames ------------------------------------------------------------------------

    def _add(self, block: Block) -> None:
        self._drain()
        before = self._layout.total
        self._feed.add(block)
        self._count_missed(before)
        self._settle()

    def _start_pump(self) -> None:
        if self._buffer and not self._pumping and self.is_running:
            self._pumping = True
            self.run_worker(self._pump(), group="transcript", name="frames")

    async def _pump(self) -> None:
        """Frame after frame until the buffer is empty; then it ends: idle costs nothing."""
        try:
            while self._buffer:
                rest = max(self._rest, self._spent * _SHARE)
                await asyncio.sleep(max(0.0, self._last_frame + rest - time.monotonic()))
                self._spent = 0.0
                self._job = self._frame()
                while self._slice():  # noqa: ASYNC110 - the work itself is what is waited for
                    await asyncio.sleep(0)
                self._last_frame = time.monotonic()
        finally:
            self._pumping = False

    def _slice(self) -> bool:
        """Work on the frame for at most SLICE_S; False when it is done."""
        job = self._job
        if job is None:
            return False
        begin = time.perf_counter()
        for _ in job:
            if time.perf_counter() - begin > SLICE_S:
                self._spent += time.perf_counter() - begin
                return True
        self._spent += time.perf_counter() - begin
        self._job = None
        return False

    def _frame(self) -> Iterator[None]:
        """All that is in the buffer now, brought to the screen; yields between small steps."""
        before = self._layout.total
        for number in range(len(self._buffer)):
            if not self._buffer:
                break
            self._feed.apply(self._buffer.popleft())
            if number % _STEP == _STEP - 1:
                yield
        yield from self._feed.flush_steps()
        self._count_missed(before)
        flood = self._layout.total - before > max(1, self._view.height)
        self._rest = FLOOD_FRAME_S if flood else FRAME_S
        yield
        if self._view.height:
            yield from self._view.steps()
            self._place()
        self._watch_time()

    def _finish_frame(self) -> None:
        """End the frame that is being made, before something else changes the view."""
        if self._job is not None:
            job, self._job = self._job, None
            for _ in job:
                pass

    def _drain(self) -> None:
        """Bring everything that has come to the blocks."""
        self._finish_frame()
        if self._buffer:
            before = self._layout.total
            while self._buffer:
                self._feed.apply(self._buffer.popleft())
            self._feed.flush()
            self._count_missed(before)

    def _settle(self) -> None:
        """Show the state now (not while text streams: that has its frames)."""
        self._finish_frame()
        if self._view.height:
            self._view.settle()
            self._place()
        self._watch_time()

    def _place(self) -> None:
        """Tell Textual where the view is and repaint the rows that differ."""
        total = self._layout.total
        height = self._view.height
        self._placing = True
        try:
            # Setting the reactive itself would lay out the whole screen for every frame.
            size = Size(self._layout.look.width, total)
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType]
            y = self._view.y
            self.scroll_target_y = y
            self.scroll_y = y
            # The bar is drawn again only where it would look different.
            thumb = (2 * height * height // max(1, total), 2 * height * y // max(1, total))
            if thumb != self._thumb or self._job is None:
                self._thumb = thumb
                bar = self.vertical_scrollbar
                bar.window_size = height
                bar.window_virtual_size = total
                bar.position = self.scroll_y
        finally:
            self._placing = False
        self._repaint()
        if self._view.following:
            self._missed = 0
        self._tell_missed()

    def _repaint(self) -> None:
        old, new = self._shown, self._view.frame
        self._shown = new
        count = max(len(old), len(new))
        changed = [
            index
            for index in range(count)
            if index >= len(old)
            or index >= len(new)
            or not _looks_same(old[index].line, new[index].line)
        ]
        if len(changed) * 2 > self._view.height:
            self.refresh()
            return
        left, top = self.styles.gutter.left, self.styles.gutter.top
        width = self._layout.look.width
        for index in changed:
            self.refresh(Region(left, top + index, width, 1))

    def _count_missed(self, before: int) -> None:
        if not self._view.following:
            self._missed += max(0, self._layout.total - before)

    def _tell_missed(self) -> None:
        if self._missed != self._missed_told:
            self._missed_told = self._missed
            self.post_message(self.NewLines(self, self._missed))

    # --- elapsed times and colours -----------------------------------------------------

    def _watch_time(self) -> None:
        """A timer runs only while something shows an elapsed time."""
        live = bool(self._feed.live)
        if live and self._tick_timer is None:
            self._tick_timer = self.set_interval(TICK_S, self._tick)
        elif not live and self._tick_timer is not None:
            self._tick_timer.stop()
            self._tick_timer = None

    def _tick(self) -> None:
        if self._job is not None:
            return
        visible = {row.spot.block for row in self._view.frame}
        touched = False
        for block in self._feed.live:
            if block.index in visible and block.parts:
                block.parts[0].touch()
                touched = True
        if touched:
            self._settle()
        self._watch_time()

    def _highlight(self, code: Code) -> None:
        self._colouring += 1
        highlighter.highlight(code, self._coloured)

    def _coloured(self, code: Code, colours: LineRuns | None) -> None:
        """In the highlighter's thread."""
        self.post_message(self._Coloured(code, colours))

    def _on_transcript__coloured(self, message: "Transcript._Coloured") -> None:
        message.stop()
        self._colouring -= 1
        if message.colours is not None:
            message.code.colours = message.colours
            self._layout.recoloured(message.code)
            if not self._pumping:  # else the next frame shows it
                self._settle()

    class _Coloured(Message):
        bubble = False

        def __init__(self, code: Code, colours: LineRuns | None) -> None:
            super().__init__()
            self.code = code
            self.colours = colours

    # --- size, theme, scrolling --------------------------------------------------------

    def on_mount(self) -> None:
        super().on_mount()
        self._palette()
        self._start_pump()

    def on_resize(self) -> None:
        size = self.scrollable_content_region.size
        if not size:
            return
        self._finish_frame()
        look = self._layout.look
        self._view.height = size.height
        if look.width != size.width:
            share = self._view.hold()
            self._drop_selection()
            self._layout.restyle(replace(look, width=size.width))
            if not self._view.following:
                self._view.restore(share)
        self._settle()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        if self.is_mounted and self._palette():
            self._restyle()

    def _palette(self) -> bool:
        """Read the styles of the theme; True if they differ from those in use."""
        prefix = "transcript--"
        styles = {
            name.removeprefix(prefix): self.get_component_rich_style(name, partial=True)
            for name in self.COMPONENT_CLASSES
        }
        if styles == self._styles_read:
            return False
        self._styles_read = styles
        self._layout.look.palette = Palette(styles)
        return True

    def _restyle(self) -> None:
        self._finish_frame()
        share = self._view.hold()
        self._layout.restyle(self._layout.look)
        if not self._view.following:
            self._view.restore(share)
        self._settle()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if self._placing or not self._view.height:
            return
        if self.scrollable_content_region.height != self._view.height:
            return  # Textual clamps to a new height; on_resize, which follows, places the view
        self._finish_frame()
        goal = round(new_value)
        rows = goal - self._view.y
        if rows == 0:
            return
        if abs(rows) <= _NEAR * self._view.height:
            self._view.scroll_by(rows)
        elif goal >= self.max_scroll_y:
            self._view.to_end()
        else:
            self._view.scroll_to(goal)
        self._place()

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        # A glide over heights that become exact on the way would not end where it should.
        options["animate"] = False
        super().scroll_to(x, y, **options)

    def scroll_end(self, **options: Any) -> None:
        self.scroll_to_end()

    def scroll_home(self, **options: Any) -> None:
        self._finish_frame()
        self._view.scroll_to(0)
        self._place()

    def action_scroll_end(self) -> None:
        self.scroll_to_end()

    def action_scroll_home(self) -> None:
        self.scroll_home()

    # --- painting ----------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        # Textual's own way pads, filters and divides every row again for every frame. Rows
        # that only moved keep their strip here, and with it all that Textual caches in it.
        styles = self.styles
        if self.opacity != 1 or styles.has_rule("tint") or styles.has_rule("hatch"):
            return super().render_lines(crop)
        if styles.border_top[0] or styles.border_left[0] or styles.outline_top[0]:
            return super().render_lines(crop)
        base = self.rich_style
        filters = self.get_line_filters()
        left, top = styles.padding.left, styles.padding.top
        width = self.outer_size.width
        rows = [self._row(y - top, left, width, base, filters) for y in crop.line_range]
        if crop.column_span != (0, width):
            return [strip.crop(*crop.column_span) for strip in rows]
        return rows

    def _row(
        self, y: int, left: int, width: int, base: Style, filters: Sequence[LineFilter]
    ) -> Strip:
        """A row over the whole width of the widget, padding and all."""
        frame = self._view.frame
        if not 0 <= y < len(frame):
            strip = Strip.blank(width, base)
            key = None
        else:
            row = frame[y]
            plain = self.text_selection is None and self._cursor is None
            key = row.spot.key if plain else None
            if key is not None:
                known = self._strips.get(key)
                if known is not None and known[0] is row.line:
                    return known[1]
            strip = Strip([Segment(" " * left, base), *self._content(row, base)])
            strip = strip.extend_cell_length(width, base)
        background = self.background_colors[1]
        for line_filter in filters:
            strip = strip.apply_filter(line_filter, background)
        if key is not None:
            if len(self._strips) > _STRIPS_KEPT:
                self._strips.clear()
            self._strips[key] = (frame[y].line, strip)
        return strip

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        if not 0 <= y < len(self._view.frame):
            return Strip.blank(self._layout.look.width, base)
        return self._content(self._view.frame[y], base)

    def _content(self, row: FrameRow, base: Style) -> Strip:
        """A row of the frame, with the offsets that text selection needs."""
        width = self._layout.look.width
        palette = self._layout.look.palette
        line = row.line
        if self._cursor is not None and self._cursor.index == row.spot.block and self.has_focus:
            base += palette["cursor"]
        segments = list(Segment.apply_style(line.segments, base)) or [Segment(" ", base)]
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(row.spot.key)) is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            segments = _styled(segments, *span, style)
        strip = Strip(segments).apply_offsets(0, row.spot.key)
        if strip.cell_length > width:
            return strip.crop(0, width)
        fill = base + palette[line.fill] if line.fill else base
        return strip.extend_cell_length(width, fill)

    # --- selection ---------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The source text under a selection: what is only for the eye (indents, gutters,
        bars) is left out and soft-wrapped rows are joined again."""
        self._finish_frame()
        layout = self._layout
        if not layout.blocks:
            return None
        first = Spot(0, 0, 0) if selection.start is None else Spot.from_key(selection.start.y)
        last = Spot(len(layout.blocks), 0, 0)
        if selection.end is not None:
            last = Spot.from_key(selection.end.y)
        start_x = selection.start.x if selection.start is not None else 0
        end_x = selection.end.x if selection.end is not None else None
        pieces: list[str] = []
        count = 0
        for block, index in layout.parts_from(first.block, first.part):
            if (block.index, index) > (last.block, last.part):
                break
            count += 1
            inner = (block.index, index) not in ((first.block, first.part), (last.block, last.part))
            if inner and count > _SELECTED_PARTS:
                # Laying out megabytes for a copy would stop the screen: their source will do.
                pieces.append(f"{block.parts[index].source()}\n")
                continue
            for number, line in enumerate(layout.rows(block, index)):
                spot = (block.index, index, number)
                if spot < first or spot > last:
                    continue
                begin = start_x if spot == first else 0
                end = end_x if spot == last else None
                pieces.append(line.copied(begin, end))
                pieces.append("\n" if line.join is None else line.join)
        return "".join(pieces).removesuffix("\n"), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def _drop_selection(self) -> None:
        if self.is_mounted and self.text_selection is not None:
            self.screen.clear_selection()

    # --- folding -----------------------------------------------------------------------

    def _recompose(self, kind: str) -> None:
        """All blocks of a kind stand as the mode says; single choices are forgotten."""
        self._drain()
        for block in self._layout.blocks:
            if block.kind == kind and not block.struck:
                block.expanded = None
                block.compose(self._modes)
                self._layout.changed(block)
        self._layout.regap()
        self._drop_selection()
        self._settle()

    def _toggle(self, block: Block) -> None:
        self._finish_frame()
        if block.foldable:
            block.expanded = not block.is_open(self._modes)
            block.compose(self._modes)
            self._layout.changed(block)
            self._drop_selection()
        if isinstance(block, ToolBlock):
            self.post_message(self.ToolOpened(self, block.call_id))
        # The line that was clicked stays under the pointer.
        if self._view.following and self._view.frame:
            self._view.following = False
            self._view.top = self._view.frame[0].spot
            self._view.settle()
            self._view.catch_end()
            self._place()
        self._settle()

    def on_click(self, event: events.Click) -> None:
        if self.text_selection is not None or event.button != 1:
            return
        offset = event.get_content_offset(self)
        if offset is None or not 0 <= offset.y < len(self._view.frame):
            return
        spot = self._view.frame[offset.y].spot
        block = self._layout.blocks[spot.block]
        if spot.part == 0 and spot.row >= block.gap and block.foldable:
            event.stop()
            self._toggle(block)

    def action_open_block(self) -> None:
        """Fold or open the block under the cursor."""
        if self._cursor is not None:
            self._toggle(self._cursor)

    def action_next_block(self) -> None:
        self._move_cursor(1)

    def action_previous_block(self) -> None:
        self._move_cursor(-1)

    def _move_cursor(self, step: int) -> None:
        """To the next block that can be opened, from the cursor or from the screen's edge."""
        self._drain()
        blocks = self._layout.blocks
        if self._cursor is not None:
            index = self._cursor.index + step
        else:
            edge = self._view.frame[0 if step > 0 else -1].spot if self._view.frame else None
            index = edge.block if edge is not None else 0
        while 0 <= index < len(blocks):
            block = blocks[index]
            if block.foldable and block.parts:
                self._cursor = block
                self._show_block(block)
                return
            index += step

    def _show_block(self, block: Block) -> None:
        seen = {row.spot.block for row in self._view.frame}
        if block.index not in seen:
            self._view.following = False
            self._view.top = Spot(block.index, 0, 0)
            self._view.settle()
        self._settle()
        self.refresh()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.refresh()


def _looks_same(one: Line, other: Line) -> bool:
    return one is other or (one.segments == other.segments and one.fill == other.fill)


def _styled(segments: list[Segment], start: int, end: int, style: Style) -> list[Segment]:
    """The segments with `style` on the characters [start, end), end -1: to the last."""
    out: list[Segment] = []
    at = 0
    for segment in segments:
        text, own = segment.text, segment.style
        stop = len(text) if end < 0 else max(0, min(len(text), end - at))
        begin = min(stop, max(0, start - at))
        for piece, chosen in ((text[:begin], 0), (text[begin:stop], 1), (text[stop:], 0)):
            if piece:
                out.append(Segment(piece, own + style if own and chosen else own))
        at += len(text)
    return out
