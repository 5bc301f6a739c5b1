"""vi's keys as a state machine without a screen: text, cursor and key give an edit.

`Vi.press` is called for each key with the text and cursor as they are, and answers what changes.
In insert mode all keys but Esc are the text area's own. vi_text.py says where motions lead,
py what commands do, vi_composer.py ties it to the composer.
"""

from collections.abc import Callable
from dataclasses import replace

from agent_tui.tui.vi_commands import (
    case_swapped,
    characters,
    deleted,
    joined,
    opened,
    put,
    replaced_by,
)
from agent_tui.tui.vi_motions import (
    MOTIONS,
    changed_word,
    found,
    span_of,
    target_of,
    whole_lines,
    words_of_line,
)
from agent_tui.tui.vi_text import (
    OBJECTS,
    Find,
    Span,
    down,
    first_nonblank,
    line_end,
    line_number,
    line_start,
    on_character,
    text_object,
)
from agent_tui.tui.vi_types import (
    MOST_COUNT,
    MOST_REPEATED,
    NAMED,
    Change,
    Edit,
    Mode,
    Outcome,
    Register,
    Target,
)
from agent_tui.tui.vi_undo import Undo
from agent_tui.tui.vi_visual import visual_key, visual_move, visual_object, visual_replace

_OPERATORS = frozenset("dcy")
_SIMPLE = frozenset("xXsSDCYJpP~iIaAoOuvV./")
_CHARACTER_FOLLOWS = frozenset("fFtTr")


class Vi:
    """One for a composer. shown: the mode and the keys that wait for more, for the screen."""

    def __init__(self) -> None:
        self.mode: Mode = "insert"
        self.register = Register()
        self._find: Find | None = None
        self._undo = Undo()
        self._change: Change | None = None
        self._inserted = ""
        """What was typed in the insert mode that the last change began."""
        self._session: tuple[str, int] | None = ("", 0)
        """Text and cursor before the insert mode that is on."""
        self._typed_at: tuple[str, int] | None = None
        """Text and cursor when its typing began; None: what is typed is not made again."""
        self._times = 1
        self._anchor = 0
        self._head = 0
        self._known = ""
        """The text after the last key; another one came from elsewhere."""
        self._forget_keys()

    # --- state ----------------------------------------------------------------------------

    @property
    def shown(self) -> str:
        return f"{self.mode.upper()} {self._waiting}".strip()

    @property
    def kept_text(self) -> str:
        """What outlives a draft: it can be put into the next."""
        return self.register.text + self._inserted

    def begin(self, text: str = "") -> None:
        """A new draft: insert mode, nothing to undo. Register and last change stay."""
        self.mode = "insert"
        self._undo.clear()
        self._session, self._typed_at = (text, len(text)), None
        self._known = text
        self._forget_keys()

    def to_insert(self, text: str, cursor: int) -> None:
        """Something else than a key of vi's begins to type (a search, a text from elsewhere)."""
        if self.mode != "insert":
            self.mode = "insert"
            self._session, self._typed_at = (text, cursor), None
            self._forget_keys()

    def _forget_keys(self) -> None:
        self._waiting = ""
        self._counts = ["", ""]
        self._operator = ""
        self._prefix = ""

    @property
    def _count(self) -> int | None:
        given = [int(digits) for digits in self._counts if digits]
        if not given:
            return None
        product = given[0] * (given[1] if len(given) > 1 else 1)
        return max(1, min(product, MOST_COUNT))

    # --- keys -----------------------------------------------------------------------------

    def press(self, key: str, character: str | None, text: str, cursor: int) -> Outcome:
        """key: Textual's name; character: what it types, None when nothing."""
        cursor = max(0, min(cursor, len(text)))
        if self.mode == "insert":
            return self._escape_insert(text, cursor) if key == "escape" else _not_taken(cursor)
        if text != self._known:
            self._came_from_elsewhere(text, cursor)
        outcome = self._press(key, character, text, cursor)
        if outcome.text is not None:
            text = text[: outcome.start] + outcome.text + text[outcome.end :]
        self._known = text
        return outcome

    def _came_from_elsewhere(self, text: str, cursor: int) -> None:
        self._undo.remember(self._known, min(cursor, len(self._known)))
        if self.mode != "normal":
            self.mode = "normal"
        self._known = text

    def _press(self, key: str, character: str | None, text: str, cursor: int) -> Outcome:
        visual = self.mode != "normal"
        if visual:
            cursor = self._head = max(0, min(self._head, len(text)))
        else:
            cursor = on_character(text, cursor)
        if key == "escape":
            waited = bool(self._waiting)
            self._forget_keys()
            if visual:
                self.mode = "normal"
                return Outcome(on_character(text, cursor))
            return Outcome(cursor) if waited else _not_taken(cursor)
        if key == "ctrl+r" and not self._waiting and not visual:
            self._forget_keys()
            return self._undo.forth(text, cursor, 1)
        letter = character if character and character.isprintable() else None
        if key in NAMED and not self._prefix:
            letter = NAMED[key]
            if letter == "0":
                self._counts = ["", ""]  # Home is no digit
        if letter is None:
            self._forget_keys()
            return _not_taken(cursor)
        if letter == " " and not self._prefix:
            letter = "l"
        return self._letter(letter, text, cursor)

    def _letter(self, letter: str, text: str, cursor: int) -> Outcome:
        self._waiting += letter
        prefix, visual = self._prefix, self.mode != "normal"
        if prefix:
            self._prefix = ""
            return self._after_prefix(prefix, letter, text, cursor)
        if letter.isascii() and letter.isdigit() and (letter != "0" or self._digits):
            self._digits += letter
            return self._stay(text, cursor)
        if letter in _CHARACTER_FOLLOWS or letter == "g":
            if letter == "r" and self._operator:
                return self._done(text, cursor)
            self._prefix = letter
            return self._stay(text, cursor)
        if letter in "ia" and (self._operator or visual):
            self._prefix = letter
            return self._stay(text, cursor)
        if visual:
            return visual_key(self, letter, text, cursor)
        if self._operator:
            if letter == self._operator:
                return self._operate_lines(text, cursor)
            if letter in MOTIONS:
                return self._operate_motion(letter, text, cursor)
            return self._done(text, cursor)
        if letter in _OPERATORS:
            self._operator = letter
            return self._stay(text, cursor)
        if letter in "jk":
            count, action = self._count or 1, "down" if letter == "j" else "up"
            self._forget_keys()
            return Outcome(cursor, action=action, count=min(count, 1000))
        if letter in MOTIONS:
            return self._moved(self.target(letter, text, cursor), text, cursor)
        if letter in _SIMPLE:
            return self._simple(letter, text, cursor)
        return self._done(text, cursor)

    @property
    def _digits(self) -> str:
        return self._counts[1 if self._operator else 0]

    @_digits.setter
    def _digits(self, digits: str) -> None:
        self._counts[1 if self._operator else 0] = digits[:6]

    def _stay(self, text: str, cursor: int) -> Outcome:
        """More keys must come."""
        return Outcome(cursor, selected=self.selection(text))

    def _done(self, text: str, cursor: int) -> Outcome:
        """The keys mean nothing, or nothing more."""
        self._forget_keys()
        return Outcome(cursor, selected=self.selection(text))

    def _after_prefix(self, prefix: str, letter: str, text: str, cursor: int) -> Outcome:
        visual = self.mode != "normal"
        if prefix == "r":
            if visual:
                return visual_replace(self, letter, text)
            return self._make(replaced_by(letter, self._count), text, cursor)
        if prefix == "g":
            if letter != "g":
                return self._done(text, cursor)
            target = Target(line_number(text, self._count or 1), linewise=True)
            return self._go(target, text, cursor)
        if prefix in "fFtT":
            find = self._find = Find(prefix, letter)

            def again(text: str, cursor: int, count: int | None) -> Target | None:
                return found(find, text, cursor, count or 1)

            return self._go(again(text, cursor, self._count), text, cursor, again)
        span = None
        if letter in OBJECTS:
            span = text_object(text, cursor, letter, self._count or 1, around=prefix == "a")
        if visual:
            return visual_object(self, span, text, cursor)
        if span is None:
            return self._done(text, cursor)

        def of_object(text: str, cursor: int, count: int | None) -> Span | None:
            return text_object(text, cursor, letter, count or 1, around=prefix == "a")

        return self._operate(of_object, text, cursor)

    # --- motions --------------------------------------------------------------------------

    def target(
        self, letter: str, text: str, cursor: int, count: int | None = None
    ) -> Target | None:
        """Where a motion of one key leads from here; None: nowhere."""
        return target_of(letter, text, cursor, count or self._count, self._find)

    def _moved(self, target: Target | None, text: str, cursor: int) -> Outcome:
        self._forget_keys()
        if target is None:
            return Outcome(cursor)
        at = first_nonblank(text, target.at) if target.linewise else target.at
        return Outcome(on_character(text, at))

    def _go(
        self,
        target: Target | None,
        text: str,
        cursor: int,
        again: "Callable[[str, int, int | None], Target | None] | None" = None,
    ) -> Outcome:
        """A motion of several keys: it moves, or an operator waits for it."""
        if self.mode != "normal":
            return visual_move(self, target, text, cursor)
        if not self._operator or target is None:
            return self._moved(target, text, cursor)

        def spanned(text: str, cursor: int, count: int | None) -> Span | None:
            there = again(text, cursor, count) if again else target
            return None if there is None else span_of(text, cursor, there)

        return self._operate(spanned, text, cursor)

    # --- operators ------------------------------------------------------------------------

    def _operate_lines(self, text: str, cursor: int) -> Outcome:
        """dd, cc, yy"""

        def lines(text: str, cursor: int, count: int | None) -> Span | None:
            start, last = line_start(text, cursor), down(text, cursor, (count or 1) - 1)
            if (count or 1) > 1 and last == start:
                return None
            return Span(start, line_end(text, last), linewise=True, upper=cursor)

        return self._operate(lines, text, cursor)

    def _operate_motion(self, letter: str, text: str, cursor: int) -> Outcome:
        operator = self._operator

        def moved_over(text: str, cursor: int, count: int | None) -> Span | None:
            if operator == "c" and letter in "wW":
                return changed_word(text, cursor, count or 1, letter == "W")
            target = self.target(letter, text, cursor, count)
            if target is None:
                return None
            if letter in "wW" and "\n" in text[cursor : target.at]:
                return words_of_line(text, cursor, target.at)
            span = span_of(text, cursor, target)
            if operator == "d" and not span.linewise:
                return whole_lines(text, span)
            return span

        return self._operate(moved_over, text, cursor)

    def _operate(
        self,
        span_at: "Callable[[str, int, int | None], Span | None]",
        text: str,
        cursor: int,
    ) -> Outcome:
        """d, c or y over what span_at(text, cursor, count) gives."""
        operator, given = self._operator, self._count
        span = span_at(text, cursor, given)
        if span is None:
            return self._done(text, cursor)
        if operator == "y":
            self.register = Register(text[span.start : span.end], span.linewise)
            upper = span.start if span.upper is None else span.upper
            return self._done(text, on_character(text, upper))

        def change(text: str, cursor: int, count: int | None) -> Edit | None:
            span = span_at(text, cursor, count or given)
            if span is None:
                return None
            self.register = Register(text[span.start : span.end], span.linewise)
            return deleted(text, span, to_insert=operator == "c")

        return self._make(change, text, cursor, insert=operator == "c")

    # --- changes --------------------------------------------------------------------------

    def _simple(self, letter: str, text: str, cursor: int) -> Outcome:
        count = self._count
        match letter:
            case "u":
                self._forget_keys()
                return self._undo.back(text, cursor, count or 1)
            case ".":
                return self._again(text, cursor, count)
            case "v" | "V":
                self.mode = "visual" if letter == "v" else "visual line"
                self._anchor = self._head = cursor
                return self._done(text, cursor)
            case "/":
                self._forget_keys()
                return Outcome(cursor, action="history_search")
            case "Y":
                self._operator = "y"
                return self._operate_lines(text, cursor)
            case "S":
                self._operator = "c"
                return self._operate_lines(text, cursor)
            case "D" | "C":
                self._operator = letter.lower()
                if line_end(text, cursor) == cursor:
                    self._operator = ""
                    if letter == "D":
                        return self._done(text, cursor)
                    return self._make(opened("a", None), text, cursor, insert=True)
                return self._operate_motion("$", text, cursor)
            case "x" | "X" | "s":
                change = self._cutting(characters(letter, count))
                return self._make(change, text, cursor, insert=letter == "s")
            case "p" | "P":
                return self._make(put(lambda: self.register, letter, count), text, cursor)
            case "J":
                return self._make(joined(count), text, cursor)
            case "~":
                return self._make(case_swapped(count), text, cursor)
            case _:
                self._times = (count or 1) if letter in "iIaA" else 1
                return self._make(opened(letter, count), text, cursor, insert=True)

    def _cutting(self, change: Change) -> Change:
        """A change whose removed text goes into the register."""

        def cut(text: str, cursor: int, count: int | None) -> Edit | None:
            edit = change(text, cursor, count)
            if edit is not None and edit.end > edit.start:
                self.register = Register(text[edit.start : edit.end])
            return edit

        return cut

    def _make(self, change: Change, text: str, cursor: int, *, insert: bool = False) -> Outcome:
        """Make a change and keep it for the dot. insert: it begins insert mode."""
        self._forget_keys()
        edit = change(text, cursor, None)
        if edit is None:
            self._times = 1
            return Outcome(cursor)
        self._change, self._inserted = change, ""
        if insert:
            return self._insert(edit, text, cursor)
        return self._edited(edit, text, cursor)

    def _edited(self, edit: Edit, text: str, cursor: int) -> Outcome:
        after = edit.of(text)
        if after != text:
            self._undo.remember(text, cursor)
        return Outcome(on_character(after, edit.cursor), edit.text, edit.start, edit.end)

    def _insert(self, edit: Edit, text: str, cursor: int) -> Outcome:
        after = edit.of(text)
        self.mode = "insert"
        self._session, self._typed_at = (text, cursor), (after, edit.cursor)
        return Outcome(edit.cursor, edit.text, edit.start, edit.end)

    def _escape_insert(self, text: str, cursor: int) -> Outcome:
        """Esc: to normal mode; what was typed is one step of undo."""
        self.mode = "normal"
        self._forget_keys()
        session, self._session = self._session, None
        typed_at, self._typed_at = self._typed_at, None
        times, self._times = self._times, 1
        if session is not None and session[0] != text:
            self._undo.remember(*session)
        inserted = _typed(typed_at, text)
        self._known = text
        if inserted is not None:
            more = inserted * min(times - 1, MOST_REPEATED // max(1, len(inserted)))
            self._inserted = inserted + more
            if more:
                self._known = text[:cursor] + more + text[cursor:]
                at = max(line_start(self._known, cursor + len(more)), cursor + len(more) - 1)
                return Outcome(on_character(self._known, at), more, cursor, cursor)
        return Outcome(on_character(text, max(line_start(text, cursor), cursor - 1)))

    def _again(self, text: str, cursor: int, count: int | None) -> Outcome:
        """The dot: the last change, with what was typed in it."""
        change, inserted = self._change, self._inserted
        self._forget_keys()
        edit = change(text, cursor, count) if change else None
        if edit is None:
            return Outcome(cursor)
        if inserted:
            at = edit.cursor - edit.start
            typed = edit.text[:at] + inserted + edit.text[at:]
            edit = replace(edit, text=typed, cursor=edit.cursor + len(inserted) - 1)
        return self._edited(edit, text, cursor)

    # --- what is selected -----------------------------------------------------------------

    def selection(self, text: str) -> Span | None:
        """In visual mode: what an operator would take."""
        if self.mode in ("insert", "normal"):
            return None
        first, last = sorted((self._anchor, self._head))
        if self.mode == "visual line":
            return Span(line_start(text, first), line_end(text, last), linewise=True)
        return Span(first, min(len(text), last + 1))

    @property
    def ends(self) -> tuple[int, int]:
        """Where the selection began, and where the cursor is in it."""
        return self._anchor, self._head

    def select(self, anchor: int, head: int) -> None:
        self._anchor, self._head = anchor, head

    def finish(self, text: str, cursor: int) -> Outcome:
        """The keys are done with; for vi_visual.py."""
        return self._done(text, cursor)

    @property
    def count(self) -> int | None:
        return self._count

    def make(self, change: Change, text: str, cursor: int, *, insert: bool = False) -> Outcome:
        """See _make; for vi_visual.py."""
        return self._make(change, text, cursor, insert=insert)


def _not_taken(cursor: int) -> Outcome:
    return Outcome(cursor, taken=False)


def _typed(before: tuple[str, int] | None, text: str) -> str | None:
    """What was typed at one place since; None: the text changed elsewhere too."""
    if before is None:
        return None
    old, at = before
    head, tail = old[:at], old[at:]
    if len(text) >= len(old) and text.startswith(head) and text.endswith(tail):
        return text[at : len(text) - len(tail)]
    return None
