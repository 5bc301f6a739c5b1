"""A choice between a few things, in a box above the composer."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from textual.content import Content
from textual.reactive import reactive

from agent_tui.text import SafeText
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.lines import one_line
from agent_tui.tui.screens.inline import InlineDialog


class OptionLike(Protocol):
    """One answer: its key for the program, its label for people."""

    @property
    def key(self) -> str: ...
    @property
    def label(self) -> str: ...


class ChoiceDialog(InlineDialog):
    """chosen: the key of the option, once there is one. Digits choose; Up, Down, Enter too.

    leave: the key of the option that Esc chooses; None where one must be chosen.
    """

    BODY_ROWS = 10

    selected: reactive[int] = reactive(0, init=False)

    def __init__(
        self,
        title: str,
        text: str,
        options: Sequence[OptionLike],
        glyphs: Glyphs = UNICODE,
        *,
        leave: str | None = None,
        wanted: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """wanted: the user has asked for this very choice, so no key is too early for it."""
        super().__init__(glyphs, clock=clock)
        self.wanted = wanted
        self._leave = leave
        self._title, self._text, self.options = title, text, list(options)
        self.chosen: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def title(self) -> Content:
        return Content.styled(one_line(self._title, 200, self.glyphs.ellipsis), "bold")

    def body(self) -> Content:
        return Content("\n").join(self._parts())

    def _parts(self) -> list[Content]:
        """The text, if there is one, then each option."""
        parts: list[Content] = [Content(SafeText(self._text))] if self._text else []
        for at, option in enumerate(self.options):
            here = at == self.selected
            parts.append(
                Content.assemble(
                    (f"{self.glyphs.prompt} " if here else " " * (len(self.glyphs.prompt) + 1),
                     "$accent"),
                    f"{at + 1}  ",
                    (one_line(option.label, 200, self.glyphs.ellipsis), "bold" if here else ""),
                )
            )  # fmt: skip
        return parts

    def keys(self) -> Content:
        last, narrow = min(9, len(self.options)), self.size.width < 48
        return Content.assemble(
            f"1-{last}", (" " if narrow else " or ", "$muted"), "Up Down Enter",
            (" choose", "$muted"),
            *(("   Esc", (" close", "$muted")) if self.can_be_left else ()),
        )  # fmt: skip

    @property
    def can_be_left(self) -> bool:
        return self._leave is not None

    takes_enter = True

    def leave(self) -> bool:
        if self._leave is None:
            return False
        if not self.chosen.done():
            self.chosen.set_result(self._leave)
        return True

    def on_mount(self) -> None:
        for moves in ("scroll_y", "virtual_size"):
            self.watch(self.scroller, moves, self._measure)

    def on_resize(self) -> None:
        self.redraw()
        self._measure()

    def _measure(self) -> None:
        self.call_after_refresh(self.relabel)

    def _label(self) -> str:
        """With what is scrolled away: an option that nobody sees is not chosen."""
        body = self.scroller
        rows = round(body.max_scroll_y - body.scroll_y) if body.is_mounted else 0
        more = f"  {self.glyphs.down} {rows} more" if rows > 0 else ""
        return super()._label() + more

    def watch_selected(self) -> None:
        self.redraw()
        body = self.scroller
        # A long label takes several rows of a narrow screen.
        width = max(1, self._text_box.size.width)
        rows = [part.get_height({}, width) for part in self._parts()]
        at = self.selected + len(rows) - len(self.options)
        spare = max(0, body.size.height - rows[at])
        body.scroll_to(y=sum(rows[:at]) - spare // 2, animate=False)

    def knows(self, key: str) -> bool:
        return key.isdigit() and 1 <= int(key) <= len(self.options)

    def take_key(self, key: str, *, focused: bool) -> bool:
        if key in ("up", "down"):
            step = 1 if key == "down" else -1
            self.selected = (self.selected + step) % len(self.options)
            return True
        if key.isdigit() and 1 <= int(key) <= len(self.options):
            self.selected = int(key) - 1
        elif key != "enter":
            return False
        if not self.chosen.done():
            self.chosen.set_result(self.options[self.selected].key)
        return True
