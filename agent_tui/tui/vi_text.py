"""Where vi's motions and text objects lead in a text: pure functions of text, offset and count.

Offsets are characters from 0. In normal mode a cursor stands on a character, or on an empty
line; behind an operator it may stand on a line's end.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """[start, end) of a text. linewise: whole lines, their last newline apart. upper: where the
    motion over them has its upper end, None: at the start."""

    start: int
    end: int
    linewise: bool = False
    upper: int | None = None


@dataclass(frozen=True, slots=True)
class Find:
    """f, F, t, T and its character."""

    key: str
    character: str

    def reversed(self) -> "Find":
        return Find(self.key.swapcase(), self.character)


# --- lines ---------------------------------------------------------------------------------


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Where the newline of the line stands, or the text ends."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def on_character(text: str, at: int) -> int:
    """The legal place of normal mode that is nearest: not behind the last character of a line."""
    at = max(0, min(at, len(text)))
    behind = at == len(text) or text[at] == "\n"
    return at - 1 if behind and at > line_start(text, at) else at


def first_nonblank(text: str, at: int) -> int:
    place, end = line_start(text, at), line_end(text, at)
    while place < end and text[place] in " \t":
        place += 1
    return place


def down(text: str, at: int, lines: int) -> int:
    """The start of the line so many below (above: negative); the last there is."""
    start = line_start(text, at)
    for _ in range(abs(lines)):
        if lines > 0:
            end = line_end(text, start)
            if end == len(text):
                break
            start = end + 1
        elif start == 0:
            break
        else:
            start = line_start(text, start - 1)
    return start


def line_number(text: str, number: int) -> int:
    """The start of this line, counted from 1; the last there is."""
    return down(text, 0, number - 1)


# --- words ---------------------------------------------------------------------------------


def _kind(character: str, big: bool) -> int:
    """0 blank, 1 of a word, 2 other; big: all that is not blank is one kind."""
    if character.isspace():
        return 0
    return 1 if big or character.isalnum() or character == "_" else 2


def _empty_line(text: str, at: int) -> bool:
    return text[at] == "\n" and (at == 0 or text[at - 1] == "\n")


def next_word(text: str, at: int, count: int, big: bool) -> int:
    """w: the start of the next word; an empty line is one."""
    for _ in range(count):
        if at >= len(text):
            break
        kind = _kind(text[at], big)
        begun = at
        while at < len(text) and kind and _kind(text[at], big) == kind:
            at += 1
        while at < len(text) and _kind(text[at], big) == 0:
            if at > begun and _empty_line(text, at):
                break
            at += 1
    return at


def word_before(text: str, at: int, count: int, big: bool) -> int:
    """b"""
    for _ in range(count):
        at -= 1
        while at > 0 and _kind(text[at], big) == 0 and not _empty_line(text, at):
            at -= 1
        if at <= 0:
            return 0
        kind = _kind(text[at], big)
        while kind and at > 0 and _kind(text[at - 1], big) == kind:
            at -= 1
    return at


def end_of_word(text: str, at: int, count: int, big: bool) -> int:
    """e: the last character of this or the next word."""
    for _ in range(count):
        at += 1
        while at < len(text) and _kind(text[at], big) == 0:
            at += 1
        if at >= len(text):
            break
        kind = _kind(text[at], big)
        while at + 1 < len(text) and _kind(text[at + 1], big) == kind:
            at += 1
    return max(0, min(at, len(text) - 1))


# --- a character of the line ---------------------------------------------------------------


def found_character(text: str, at: int, find: Find, count: int, *, again: bool) -> int | None:
    """Where f, F, t or T leads; None: the line has no such character. again: by ; or , where t
    passes over the character that it stands before."""
    start, end = line_start(text, at), line_end(text, at)
    forward, till = find.key in "ft", find.key in "tT"
    step = 1 if forward else -1
    place = at + step if till and again else at
    for _ in range(count):
        if forward:
            place = text.find(find.character, place + 1, end)
        else:
            place = text.rfind(find.character, start, max(start, place))
        if place < 0:
            return None
    return place - step if till else place


_PAIRS = {"(": ")", "[": "]", "{": "}"}
_PAIRS_BACK = {close: open_ for open_, close in _PAIRS.items()}


def matching_bracket(text: str, at: int) -> int | None:
    """%: the partner of the first bracket from here on in the line."""
    end = line_end(text, at)
    while at < end and text[at] not in _PAIRS and text[at] not in _PAIRS_BACK:
        at += 1
    if at >= end:
        return None
    if text[at] in _PAIRS:
        return _close_of(text, at, text[at], _PAIRS[text[at]])
    return _open_of(text, at - 1, _PAIRS_BACK[text[at]], text[at])


def _close_of(text: str, at: int, open_: str, close: str) -> int | None:
    """Of the bracket at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == open_) - (text[place] == close)
        if depth == 0:
            return place
    return None


def _open_of(text: str, at: int, open_: str, close: str) -> int | None:
    """The bracket that is still open behind `at`."""
    depth = 0
    for place in range(at, -1, -1):
        if text[place] == open_:
            if depth == 0:
                return place
            depth -= 1
        elif text[place] == close:
            depth += 1
    return None


# --- paragraphs ----------------------------------------------------------------------------


def next_paragraph(text: str, at: int, count: int) -> int:
    """}: the next empty line behind text; else the end."""
    for _ in range(count):
        at = line_start(text, at)
        while at < len(text) and text[at] == "\n":
            at += 1
        while at < len(text) and text[at] != "\n":
            at = min(len(text), line_end(text, at) + 1)
    return at


def paragraph_before(text: str, at: int, count: int) -> int:
    """{"""
    for _ in range(count):
        at = line_start(text, at)
        while at > 0 and line_end(text, at) == at:
            at = line_start(text, at - 1)
        while at > 0 and line_end(text, at) != at:
            at = line_start(text, at - 1)
    return at


# --- text objects --------------------------------------------------------------------------

_BRACKETS = {
    "(": "()", ")": "()", "b": "()", "[": "[]", "]": "[]", "{": "{}", "}": "{}", "B": "{}",
    "<": "<>", ">": "<>",
}  # fmt: skip
OBJECTS = frozenset("wWp\"'`") | frozenset(_BRACKETS)


def text_object(text: str, at: int, key: str, count: int, *, around: bool) -> Span | None:
    """iw, a(, i" and the like; None: there is none here."""
    if key in "wW":
        return _word_object(text, at, count, around, big=key == "W")
    if key == "p":
        return _paragraph_object(text, at, around)
    if key in _BRACKETS:
        return _bracket_object(text, at, _BRACKETS[key], count, around)
    return _quote_object(text, at, key, around)


def _run(text: str, at: int, end: int, same: Callable[[str], bool]) -> int:
    while at < end and same(text[at]):
        at += 1
    return at


def _word_object(text: str, at: int, count: int, around: bool, *, big: bool) -> Span | None:
    first, last = line_start(text, at), line_end(text, at)
    if at >= last:
        return Span(at, at)
    start = at
    kind = _kind(text[at], big)
    while start > first and _kind(text[start - 1], big) == kind:
        start -= 1
    end = start
    for _ in range(count):
        if end >= last:
            break
        kind = _kind(text[end], big)
        end = _run(text, end, last, lambda c, kind=kind: _kind(c, big) == kind)
        if around and end < last:
            kind = _kind(text[end], big)
            if kind == 0 or _kind(text[start], big) == 0:
                end = _run(text, end, last, lambda c, kind=kind: _kind(c, big) == kind)
    if around and not text[end - 1].isspace() and not text[start].isspace():
        # No blanks behind it: those before it go with it, but not the line's indent.
        blanks = start
        while blanks > first and text[blanks - 1].isspace():
            blanks -= 1
        start = blanks if blanks > first else start
    return Span(start, end)


def _quote_object(text: str, at: int, quote: str, around: bool) -> Span | None:
    first, last = line_start(text, at), line_end(text, at)
    places: list[int] = []
    place = first
    while place < last:
        if text[place] == "\\":
            place += 1
        elif text[place] == quote:
            places.append(place)
        place += 1
    for open_, close in zip(places[::2], places[1::2], strict=False):
        if at <= close:
            if not around:
                return Span(open_ + 1, close)
            end = _run(text, close + 1, last, str.isspace)
            if end == close + 1:
                while open_ > first and text[open_ - 1].isspace():
                    open_ -= 1
            return Span(open_, end)
    return None


def _bracket_object(text: str, at: int, pair: str, count: int, around: bool) -> Span | None:
    if at >= len(text):
        return None
    open_, close = pair
    start = at if text[at] == open_ else _open_of(text, at - (text[at] == close), open_, close)
    for _ in range(count - 1):
        start = None if start is None else _open_of(text, start - 1, open_, close)
    end = None if start is None else _close_of(text, start, open_, close)
    if start is None or end is None:
        return None
    return Span(start, end + 1) if around else Span(start + 1, end)


def _paragraph_object(text: str, at: int, around: bool) -> Span:
    def empty(place: int) -> bool:
        return line_end(text, place) == place

    start = line_start(text, at)
    kind = empty(start)
    while start > 0 and empty(before := line_start(text, start - 1)) == kind:
        start = before
    end = line_end(text, at)
    while end < len(text) and empty(end + 1) == kind:
        end = line_end(text, end + 1)
    alone = end == len(text)
    while around and end < len(text) and empty(end + 1) != kind:
        end = line_end(text, end + 1)
    while around and alone and start > 0 and empty(before := line_start(text, start - 1)) != kind:
        start = before
    return Span(start, end, linewise=True)
