"""A question in a box above the composer. It never takes a key meant for the draft.

Without focus its keys act only after 0.7 s without a key and on an empty draft, and not at
once: a key that follows within 0.6 s shows that a text was begun, so both go to the draft and
nothing is answered (docs/decisions/0006-an-answer-is-held.md). F4 gives it the focus, then
its keys act at once, and any other character goes back to the composer.
"""

import time
from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import ScrollableContainer, Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer

from agent_tui.tui import messages as m
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.plain import SafeStatic, ThinRule

GRACE_S = 0.7

HOLD_S = 0.6
"""So long (seconds) a key typed in the composer may still prove to begin a text."""

_ANSWERS = {"y": "y", "yes": "y", "n": "n", "no": "n"}


class Body(VerticalScroll, can_focus=False):
    """The part that scrolls; the dialog itself holds the focus and moves it."""


class InlineDialog(Vertical, can_focus=True):
    """Subclasses give title(), body(), keys() and take_key()."""

    waiting: reactive[int] = reactive(1, init=False)
    """How many questions wait, this one included."""
    room: reactive[int] = reactive(1, init=False)
    """Rows that the screen has for the body."""
    held: reactive[str] = reactive("", init=False)
    """A key that acts in a moment, unless another one follows."""

    BODY_ROWS = 6
    FOCUSED_ROWS = 20
    """Rows of the body where there is room for more."""

    def __init__(
        self, glyphs: Glyphs = UNICODE, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(classes="inline-dialog")
        self.glyphs = glyphs
        self._clock = clock
        self._title_rule = ThinRule(glyphs, classes="dialog-rule")
        self._text_box, self._keys_line = (
            SafeStatic(classes="dialog-text"),
            SafeStatic(classes="dialog-keys"),
        )
        # Held, not looked up: a question may be answered before its parts are mounted.
        self.scroller = self.make_body()
        self._holding: Timer | None = None
        self._acts_from = clock() + GRACE_S

    def title(self) -> Content:
        raise NotImplementedError

    def body(self) -> Content:
        raise NotImplementedError

    def make_body(self) -> ScrollableContainer:
        """What holds the body and scrolls it. By default what body() gives, drawn at once."""
        return Body(self._text_box, classes="dialog-body")

    def keys(self) -> Content:
        raise NotImplementedError

    def take_key(self, key: str, *, focused: bool) -> bool:
        """Act on a key; False leaves it to the composer."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        self._title_rule.label = self._label()
        yield self._title_rule
        yield SafeStatic(self.title(), classes="dialog-title")
        yield self.scroller
        yield self._keys_line
        self._fit_body()
        self.redraw()

    def _label(self) -> str:
        return "waiting for you" + (f" (1 of {self.waiting})" if self.waiting > 1 else "")

    def watch_waiting(self) -> None:
        self.relabel()

    def relabel(self) -> None:
        """Say anew what is to be said in the line above."""
        self._title_rule.label = self._label()

    @property
    def expanded(self) -> bool:
        """It is drawn as the one that has the focus. (has_focus comes after on_focus.)"""
        return self.has_class("-expanded")

    def watch_room(self) -> None:
        self._fit_body()

    def _fit_body(self) -> None:
        wanted = self.FOCUSED_ROWS if self.expanded else self.BODY_ROWS
        self.scroller.styles.max_height = min(wanted, self.room)

    def redraw(self) -> None:
        self.redraw_body()
        self._keys_line.update(self.keys() if not self.held else self._held_words())

    def redraw_body(self) -> None:
        self._text_box.update(self.body())

    def _held_words(self) -> Content:
        return Content.assemble(
            (self.held, "$accent"), ("  in a moment; with another key it is text", "$muted"),
            "   Esc", (" takes it back", "$muted"),
        )  # fmt: skip

    @property
    def all_visible(self) -> bool:
        """True when nothing of the body is scrolled away."""
        return self.scroller.is_mounted and self.scroller.max_scroll_y == 0

    wanted = False
    """The user has asked for it: its keys need no grace time."""

    takes_enter = False
    """Enter on an empty draft is for it, whether or not it has the focus."""

    @property
    def can_be_left(self) -> bool:
        """Esc answers it, with what changes nothing."""
        return False

    def leave(self) -> bool:
        """Answer it so; False when it cannot be left."""
        return False

    def offer_key(self, key: str, *, quiet_s: float, draft_empty: bool) -> bool:
        """A key typed in the composer. quiet_s: seconds since the key before it."""
        early = not self.wanted and (quiet_s < GRACE_S or self.is_new)
        if not draft_empty or early:
            # Too early to answer; but it must not pass by and resume the queue instead.
            return draft_empty and key == "enter" and self.takes_enter
        if len(key) > 1:  # no text begins with it
            return self.take_key(key, focused=False)
        if not self.knows(key):
            return False
        self.held = key
        self._holding = self.set_timer(HOLD_S, self._act_on_held)
        return True

    def knows(self, key: str) -> bool:
        """Whether this key, typed in the composer, would act."""
        raise NotImplementedError

    def reads_answer(self, text: str) -> str:
        """The key that a draft stands for which is nothing but an answer to this; else ""."""
        key = _ANSWERS.get(text.strip().rstrip(".!").lower(), "")
        return key if key and self.knows(key) else ""

    def answer_in_words(self, text: str) -> bool:
        """Take such a draft; True also where it says why it cannot be answered so."""
        return self.take_key(self.reads_answer(text), focused=False)

    @property
    def is_new(self) -> bool:
        """It has just come: what was sent was meant for something else."""
        return self._clock() < self._acts_from

    def take_back(self) -> str:
        """The key that was held, which then does nothing here: it was text, or unwanted."""
        key, self.held = self.held, ""
        if self._holding is not None:
            self._holding.stop()
            self._holding = None
        return key

    def _act_on_held(self) -> None:
        if key := self.take_back():
            self.take_key(key, focused=False)

    def watch_held(self) -> None:
        # Nothing moves for the moment that it is held.
        self._keys_line.styles.min_height = self._keys_line.size.height if self.held else None
        self.redraw()

    def take_focus(self) -> None:
        """F4: the user looks at this very question, so its keys act at once."""
        self._acts_from = self._clock()
        self.focus()

    def begin_grace(self) -> None:
        """It has just appeared: a key already on its way must not answer it, focused or not."""
        self._acts_from = self._clock() + (0 if self.wanted else GRACE_S)

    def on_focus(self) -> None:
        self.add_class("-expanded")
        self._fit_body()
        self.redraw()

    def on_blur(self) -> None:
        self.remove_class("-expanded")
        self._fit_body()
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        body = self.scroller
        acts = self._clock() >= self._acts_from
        if event.key == "escape":
            if not self.leave():
                self.post_message(m.DialogLeft())
        elif acts and self.take_key(event.key, focused=True):
            pass
        elif event.key in ("up", "down", "pageup", "pagedown", "home", "end"):
            scroll = {
                "up": body.scroll_up, "down": body.scroll_down, "pageup": body.scroll_page_up,
                "pagedown": body.scroll_page_down, "home": body.scroll_home,
                "end": body.scroll_end,
            }[event.key]  # fmt: skip
            scroll(animate=False)
        elif event.is_printable and event.character:
            # In the grace time a letter is dropped: it was meant for the question before.
            if acts:
                self.post_message(m.DialogLeft(event.character))
        else:
            return
        event.stop()
