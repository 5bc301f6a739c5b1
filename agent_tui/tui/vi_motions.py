"""vi's motions: where a key leads, and what an operator takes with it."""

from agent_tui.tui.vi_text import (
    Find,
    Span,
    down,
    end_of_word,
    first_nonblank,
    found_character,
    line_end,
    line_number,
    line_start,
    matching_bracket,
    next_paragraph,
    next_word,
    paragraph_before,
    text_object,
    word_before,
)
from agent_tui.tui.vi_types import Target

MOTIONS = frozenset("hl0^$wWbBeEGjk;,%{}")
"""Those of one key."""


def target_of(
    letter: str, text: str, cursor: int, count: int | None, find: Find | None
) -> Target | None:
    """Where one of MOTIONS leads; None: nowhere. find: the last f, F, t or T."""
    times = count or 1
    match letter:
        case "h":
            return Target(max(line_start(text, cursor), cursor - times))
        case "l":
            return Target(min(line_end(text, cursor), cursor + times))
        case "0":
            return Target(line_start(text, cursor))
        case "^":
            return Target(first_nonblank(text, cursor))
        case "$":
            end = line_end(text, down(text, cursor, times - 1) if times > 1 else cursor)
            return Target(max(line_start(text, end), end - 1), exact=True)
        case "w" | "W":
            return Target(next_word(text, cursor, times, letter == "W"))
        case "b" | "B":
            return Target(word_before(text, cursor, times, letter == "B"))
        case "e" | "E":
            return Target(end_of_word(text, cursor, times, letter == "E"), exact=True)
        case "G":
            start = line_start(text, len(text)) if count is None else line_number(text, count)
            return Target(start, linewise=True)
        case "j" | "k":
            start = down(text, cursor, times if letter == "j" else -times)
            if start == line_start(text, cursor):
                return None
            column = cursor - line_start(text, cursor)
            return Target(min(start + column, line_end(text, start)), linewise=True)
        case ";" | ",":
            return _found_again(letter, text, cursor, find, times)
        case "%":
            at = matching_bracket(text, cursor)
            return None if at is None else Target(at, exact=True)
        case "}":
            return Target(next_paragraph(text, cursor, times))
        case _:
            return Target(paragraph_before(text, cursor, times))


def found(find: Find, text: str, cursor: int, count: int, *, again: bool = False) -> Target | None:
    """Where f, F, t, T lead."""
    at = found_character(text, cursor, find, count, again=again)
    return None if at is None else Target(at, exact=find.key in "ft")


def _found_again(
    letter: str, text: str, cursor: int, find: Find | None, times: int
) -> Target | None:
    if find is None:
        return None
    return found(find if letter == ";" else find.reversed(), text, cursor, times, again=True)


def span_of(text: str, cursor: int, target: Target) -> Span:
    """What an operator takes with this motion."""
    first, last = sorted((cursor, target.at))
    if target.linewise:
        return Span(line_start(text, first), line_end(text, last), linewise=True, upper=first)
    if target.exact:
        return Span(first, last + 1 if last < len(text) and text[last] != "\n" else last)
    if last > 0 and text[last - 1] == "\n" and last > line_end(text, first):
        # It ends before the first character of a line: then it ends with the line before, and
        # is of whole lines when it begins with one.
        last -= 1
        if first <= first_nonblank(text, first):
            return Span(line_start(text, first), last, linewise=True, upper=first)
    return Span(first, last)


def changed_word(text: str, cursor: int, count: int, big: bool) -> Span | None:
    """cw: as ce on a word; on blanks it changes those."""
    if cursor >= len(text) or text[cursor] == "\n":
        return Span(cursor, cursor)
    if text[cursor].isspace():
        end = min(next_word(text, cursor, count, big), line_end(text, cursor))
        return Span(cursor, end)
    # On a word's last character e would lead to the next word.
    object_ = text_object(text, cursor, "W" if big else "w", 1, around=False)
    assert object_ is not None
    end = object_.end
    if count > 1:
        end = end_of_word(text, end - 1, count - 1, big) + 1
    return Span(cursor, end)


def words_of_line(text: str, cursor: int, at: int) -> Span:
    """dw up to `at`, in a later line: where the last word moved over ends its line, that is the
    end."""
    end = at
    while end > cursor and text[end - 1].isspace():
        end -= 1
    newline = text.find("\n", end, at)
    return Span(cursor, newline if newline > cursor else at)


def whole_lines(text: str, span: Span) -> Span:
    """What d takes of several lines, of which it leaves nothing but blanks: they go whole."""
    start, end = line_start(text, span.start), line_end(text, span.end)
    blank = not text[start : span.start].strip() and not text[span.end : end].strip()
    if blank and "\n" in text[span.start : span.end]:
        return Span(start, end, linewise=True, upper=span.start)
    return span
