"""Transcript: the conversation on the screen, one widget on Textual's Line API.

Events go into a frame buffer that is read at most 30 times a second; what a frame needs is
laid out in slices of at most 5 ms. No timer runs while nothing moves.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from agent_tui.tui import messages as m
from agent_tui.tui.glyphs import Glyphs, choose, draws_whole_emoji
from agent_tui.tui.keys import bindings
from agent_tui.tui.transcript import looks, signals
from agent_tui.tui.transcript.answers import answers, codes
from agent_tui.tui.transcript.blocks import (
    Block,
    Delivery,
    Modes,
    TextBlock,
    ThinkingMode,
    join_sources,
)
from agent_tui.tui.transcript.colours import Colours
from agent_tui.tui.transcript.copying import selected_text
from agent_tui.tui.transcript.cursor import Cursor, is_prompt, opens, shows
from agent_tui.tui.transcript.feed import Feed
from agent_tui.tui.transcript.folding import Folding
from agent_tui.tui.transcript.frames import Frames
from agent_tui.tui.transcript.handling import Handling
from agent_tui.tui.transcript.intake import ArrivalClock, Intake
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.lines import Look, Palette
from agent_tui.tui.transcript.notices import Level, NoticeBlock, SeparatorBlock
from agent_tui.tui.transcript.painting import Painter
from agent_tui.tui.transcript.searching import Searching, SearchState
from agent_tui.tui.transcript.stage import Stage
from agent_tui.tui.transcript.ticking import Ticking
from agent_tui.tui.transcript.tool_blocks import ToolBlock
from agent_tui.tui.transcript.viewport import Viewport

_NEAR = 4
"""Screens: a scroll farther than this jumps by estimated heights, else it is exact."""


class Transcript(ScrollView):
    """See agent_tui.tui.transcript for the public methods."""

    ALLOW_MAXIMIZE = False
    FOCUS_ON_CLICK = False

    COMPONENT_CLASSES: ClassVar[set[str]] = set(looks.COMPONENT_CLASSES)
    DEFAULT_CSS = looks.CSS

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("transcript")]

    NewLines = signals.NewLines
    SearchChanged = signals.SearchChanged
    SearchKept = signals.SearchKept
    CopyWanted = signals.CopyWanted
    ImageWanted = signals.ImageWanted
    Left = signals.Left
    ToolOpened = signals.ToolOpened

    def __init__(
        self,
        *,
        glyphs: Glyphs | None = None,
        thinking: ThinkingMode = "folded",
        clock: Callable[[], float] = time.monotonic,
        whole_emoji: bool | None = None,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """glyphs, whole_emoji: None chooses for this terminal. clock: seconds, for elapsed
        times."""
        super().__init__(name=name, id=id, classes=classes)
        whole = draws_whole_emoji() if whole_emoji is None else whole_emoji
        look = Look(glyphs=glyphs or choose(), now=clock, whole_emoji=whole)
        self._modes = Modes(thinking=thinking)
        self._layout = Layout(look)
        self._colours = Colours(self, self._layout, self._settle_soon)
        self._layout.highlight = self._colours.ask
        arrival = ArrivalClock(clock)
        self._feed = Feed(self._layout, self._modes, arrival)
        self._view = Viewport(self._layout)
        self._frames = Frames(self, self._frame)
        self._styles_read: dict[str, Style] = {}
        self._painter = Painter(self, self._layout)
        self._stage = Stage(self, self._layout, self._view, self._tell_missed)
        self._intake = Intake(self._frames, self._feed, self._layout, self._stage, arrival)
        self._ticking = Ticking(self, self._feed, self._view, self._tick)
        self._cursor = Cursor(self._layout, self._view, self._painter)
        self._folding = Folding(self, self._layout, self._view, self._modes, self._settle_soon)
        self._handling = Handling(
            self, self._layout, self._view, self._folding,
            finish=self._frames.finish, show=self._settle, folded=self._drop_selection,
        )  # fmt: skip
        self._searching = Searching(
            self, self._layout, self._view, self._modes,
            finish=self._frames.finish, show=self._show, tell=self._tell_search,
        )  # fmt: skip

    # --- what the app calls ------------------------------------------------------------

    def apply(self, event: Any) -> None:
        """Take an AgentEvent or a ConversationEvent; it is shown with the next frame."""
        self._intake.put(event)

    def load(
        self,
        messages: Iterable[Any],
        deliveries: Mapping[str, tuple[Delivery, str]] | None = None,
    ) -> None:
        """Show a stored history (AgentMessages, oldest first) below what is there.

        deliveries: of queue items, id → (kind, where it landed).
        """
        self._intake.drain()
        self._feed.load(messages, deliveries)
        self._settle()

    def clear(self) -> None:
        """Forget everything shown."""
        self._frames.finish()
        self._frames.buffer.clear()
        self._feed.clear()
        self._layout.clear()
        self._view.top = Spot(0, 0, 0)
        self._view.following = True
        self._cursor.put(None)
        self._painter.marks = None
        self._searching.forget()
        self._folding.forget()
        self._stage.forget_missed()
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
        self._recompose("tool", "sources")
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
    def calm(self) -> bool:
        """What streams comes in fewer, larger steps."""
        return self._frames.calm

    @calm.setter
    def calm(self, calm: bool) -> None:
        self._frames.calm = calm

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

    def call_will_not_run(self, call_id: str) -> None:
        """The user stopped this call before it began; its result comes later."""
        self._intake.drain()
        self._feed.call_will_not_run(call_id)
        self._feed.flush()
        self._settle()

    def line_of_call(
        self, caller: Mapping[str, Any] | None, name: str, arguments: Mapping[str, Any]
    ) -> int | None:
        """The line of the program that made this call, from 1; None: no program made it, or
        the line is not certain."""
        self._intake.drain()
        return self._feed.line_of_call(caller, name, arguments)

    def set_glyphs(self, glyphs: Glyphs) -> None:
        """Another table of glyphs."""
        self._layout.look.glyphs = glyphs
        self._restyle()

    def source_text(self) -> str:
        """The source text of the whole transcript, blocks parted by a blank line."""
        self._intake.drain()
        return join_sources(self._layout.blocks)

    def answer(self, number: int = 1) -> str | None:
        """The markdown of the last answer (1), of the one before (2), ...; None: there is none."""
        self._intake.drain()
        return next(islice(answers(self._layout.blocks), number - 1, None), None)

    def code(self, number: int = 1) -> str | None:
        """As answer(), of the code blocks in answers."""
        self._intake.drain()
        return next(islice(codes(self._layout.blocks), number - 1, None), None)

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
        return not (
            self._frames.busy or self._colours.waiting or self._searching.busy or self._folding.busy
        )

    # --- search ------------------------------------------------------------------------

    @property
    def search_state(self) -> SearchState:
        return self._searching.state

    @property
    def searching(self) -> bool:
        """A search is on, be its text empty yet."""
        return self._searching.active

    def search(self, query: str) -> None:
        """Look for a text, or for another one; in either case, from where one was at first."""
        self._intake.drain()
        self._painter.marks = self._searching.marks
        self._drop_selection()
        self._searching.look_for(query)

    def next_match(self, by: int = 1) -> None:
        """To the next match of the search, or with -1 to the one before."""
        self._searching.step(by)

    def end_search(self, *, stay: bool) -> None:
        """stay: at the match; else everything is as it was before the search."""
        if not self._searching.active:
            return
        block = self._searching.block
        self._painter.marks = None
        self._searching.leave(stay=stay)
        if stay:
            self._view.catch_end()
            self._cursor.put(block if block is not None and block.foldable else None)
        self._settle()

    def _tell_search(self, state: SearchState) -> None:
        self.post_message(self.SearchChanged(self, state))

    # --- frames ------------------------------------------------------------------------

    def _add(self, block: Block) -> None:
        self._intake.add(block)
        self._settle()

    def _frame(self) -> Iterator[None]:
        """All that is in the buffer now, brought to the screen; yields between small steps."""
        yield from self._intake.steps()
        self._frames.flood = self._intake.came > max(1, self._view.height)
        yield
        if self._view.height:
            yield from self._view.steps()
            self._place()
        self._ticking.watch()

    def _settle(self) -> None:
        """Show the state now (not while text streams: that has its frames)."""
        self._frames.finish()
        if self._view.height:
            self._view.settle()
            self._place()
        self._ticking.watch()

    def _show(self) -> None:
        if self._view.height:
            self._view.settle()
            self._place()

    def _place(self) -> None:
        self._stage.place(bar=not self._frames.making)

    def _tell_missed(self, count: int) -> None:
        self.post_message(self.NewLines(self, count))

    # --- elapsed times and colours -----------------------------------------------------

    def _tick(self) -> None:
        if self._frames.making:
            return
        if self._ticking.touch():
            self._settle()
        self._ticking.watch()

    def _settle_soon(self) -> None:
        if not self._frames.busy:  # else the next frame shows it
            self._settle()

    # --- size, theme, scrolling --------------------------------------------------------

    def on_mount(self) -> None:
        super().on_mount()
        self._palette()
        self._frames.start()

    def on_resize(self) -> None:
        size = self.scrollable_content_region.size
        if not size:
            return
        self._frames.finish()
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
        self._painter.forget()
        if self.is_mounted and self._palette():
            self._restyle()

    def _palette(self) -> bool:
        """Read the styles of the theme; True if they differ from those in use."""
        styles = looks.read_styles(self)
        if styles == self._styles_read:
            return False
        self._styles_read = styles
        self._layout.look.palette = Palette(styles)
        return True

    def _restyle(self) -> None:
        self._frames.finish()
        share = self._view.hold()
        self._layout.restyle(self._layout.look)
        if not self._view.following:
            self._view.restore(share)
        self._settle()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if self._stage.placing or not self._view.height:
            return
        if self.scrollable_content_region.height != self._view.height:
            return  # Textual clamps to a new height; on_resize, which follows, places the view
        self._frames.finish()
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
        self._frames.finish()
        self._view.scroll_to(0)
        self._place()

    def action_scroll_end(self) -> None:
        self.scroll_to_end()

    def action_scroll_home(self) -> None:
        self.scroll_home()

    # --- painting ----------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._painter.plain:
            return self._painter.rows(self._view.frame, crop)
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        return self._painter.content(self._view.frame, y)

    # --- selection ---------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The source text under a selection (Textual asks on copy), and what ends it."""
        self._frames.finish()
        return (selected_text(self._layout, selection), "\n") if self._layout.blocks else None

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def _drop_selection(self) -> None:
        if self.is_mounted and self.text_selection is not None:
            self.screen.clear_selection()

    # --- folding -----------------------------------------------------------------------

    def _recompose(self, *kinds: str) -> None:
        self._intake.drain()
        self._folding.all(*kinds)
        self._drop_selection()
        self._settle()

    def on_click(self, event: events.Click) -> None:
        if self.text_selection is not None or event.button != 1:
            return
        offset = event.get_content_offset(self)
        if offset is not None and self._handling.click(offset.y):
            event.stop()

    # --- keys (keys.py, "transcript") --------------------------------------------------

    def action_open_block(self) -> None:
        """Fold or open the block under the cursor; on a match of a search: stay there."""
        if self._searching.active:
            self.post_message(self.SearchKept(self))
        elif self._cursor.block is not None:
            self._handling.enter(self._cursor.block)

    def action_next(self) -> None:
        self._next(1)

    def action_previous(self) -> None:
        self._next(-1)

    def _next(self, step: int) -> None:
        if self._searching.active:
            self.next_match(step)
        else:
            self._move_cursor(step, opens)

    def action_down(self) -> None:
        self._move_cursor(1, shows)

    def action_up(self) -> None:
        self._move_cursor(-1, shows)

    def _move_cursor(self, step: int, where: Callable[[Block], bool]) -> bool:
        self._intake.drain()
        moved = self._cursor.move(step, where)
        if moved:
            self._settle()
            self.refresh()
        return moved

    def point(self) -> None:
        """Have the cursor on the screen, on what stands lowest if it is elsewhere."""
        self._intake.drain()
        self._cursor.point(shows)
        self.refresh()

    def go_to_prompt(self, step: int) -> bool:
        """To the message of the user after (1) or before (-1) the one that was gone to last, or
        what is on the screen; after the last one: to the end. False: there is none."""
        self._intake.drain()
        if self._cursor.jump(step, is_prompt):
            self._settle()
            self.refresh()
            return True
        if step < 0 or self._view.following:
            return False
        self.scroll_to_end()
        return True

    def action_previous_prompt(self) -> None:
        self.go_to_prompt(-1)

    def action_next_prompt(self) -> None:
        self.go_to_prompt(1)

    def action_copy_block(self) -> None:
        block = self._searching.block or self._cursor.block
        if block is not None and (text := block.source().strip("\n")):
            self.post_message(self.CopyWanted(self, text))

    def action_view_image(self) -> None:
        """The images of the block that the cursor is on, or of the match."""
        block = self._searching.block or self._cursor.block
        if block is None or not self._handling.look(block):
            self.post_message(m.Flash("There is no image in this block."))

    def action_stop_block(self) -> None:
        """The call that the cursor is on, alone."""
        if isinstance(block := self._cursor.block, ToolBlock):
            self.post_message(m.StopCallRequested(block.call_id))

    def action_stop_block_because(self) -> None:
        if isinstance(block := self._cursor.block, ToolBlock):
            self.post_message(m.StopCallRequested(block.call_id, asks_why=True))

    def action_leave(self) -> None:
        self.post_message(self.Left(self))

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.refresh()
