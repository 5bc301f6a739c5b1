"""What vi's commands change: each gives a Change, which can be made again with the dot."""

from collections.abc import Callable

from agent_tui.tui.vi_text import Span, first_nonblank, line_end, line_start
from agent_tui.tui.vi_types import MOST_REPEATED, Change, Edit, Register


def deleted(text: str, span: Span, *, to_insert: bool = False) -> Edit:
    """Take this out. Whole lines take their newline along, unless they are to be typed anew."""
    start, end = span.start, span.end
    if not span.linewise or to_insert:
        return Edit(start, end, "", start)
    if end < len(text):
        end += 1
    elif start > 0:
        start -= 1
    after = text[:start] + text[end:]
    place = span.start if span.start <= len(after) else len(after)
    return Edit(start, end, "", first_nonblank(after, min(place, len(after))))


def characters(letter: str, given: int | None) -> Change:
    """x, X and s"""

    def change(text: str, cursor: int, count: int | None) -> Edit | None:
        times = count or given or 1
        if letter == "X":
            start = max(line_start(text, cursor), cursor - times)
            return None if start == cursor else Edit(start, cursor, "", start)
        end = min(line_end(text, cursor), cursor + times)
        if end == cursor and letter == "x":
            return None
        return Edit(cursor, end, "", cursor)

    return change


def replaced_by(character: str, given: int | None) -> Change:
    """r"""

    def change(text: str, cursor: int, count: int | None) -> Edit | None:
        end = cursor + (count or given or 1)
        if end > line_end(text, cursor):
            return None
        return Edit(cursor, end, character * (end - cursor), end - 1)

    return change


def case_swapped(given: int | None) -> Change:
    """~"""

    def change(text: str, cursor: int, count: int | None) -> Edit | None:
        end = min(line_end(text, cursor), cursor + (count or given or 1))
        if end == cursor:
            return None
        swapped = text[cursor:end].swapcase()
        return Edit(cursor, end, swapped, cursor + len(swapped))

    return change


def joined(given: int | None) -> Change:
    """J: this line and the next become one, with one blank between."""

    def change(text: str, cursor: int, count: int | None) -> Edit | None:
        first = end = line_end(text, cursor)
        if end == len(text):
            return None
        parts: list[str] = []
        for _ in range(max(1, (count or given or 2) - 1)):
            if end == len(text):
                break
            start, end = end + 1, line_end(text, end + 1)
            parts.append(text[start:end].strip(" \t"))
        return join_parts(text, first, end, parts)

    return change


def join_parts(text: str, first: int, end: int, parts: list[str]) -> Edit:
    """[first, end), which begins at a newline, becomes the parts, each after one blank."""
    begun = line_start(text, first)
    line, at = text[begun:first].rstrip(" \t"), 0
    kept = len(line)
    for part in parts:
        at = len(line)
        blank = " " if part and line and not part.startswith(")") else ""
        line += blank + part
    return Edit(begun + kept, end, line[kept:], begun + min(at, max(0, len(line) - 1)))


def put(register: Callable[[], Register], letter: str, given: int | None) -> Change:
    """p and P"""

    def change(text: str, cursor: int, count: int | None) -> Edit | None:
        held = register()
        if not held.text and not held.linewise:
            return None
        times = min(count or given or 1, max(1, MOST_REPEATED // max(1, len(held.text))))
        if held.linewise:
            lines = "\n".join([held.text] * times)
            if letter == "p":
                end = line_end(text, cursor)
                after = text[:end] + "\n" + lines + text[end:]
                return Edit(end, end, "\n" + lines, first_nonblank(after, end + 1))
            start = line_start(text, cursor)
            after = text[:start] + lines + "\n" + text[start:]
            return Edit(start, start, lines + "\n", first_nonblank(after, start))
        at = cursor + 1 if letter == "p" and cursor < line_end(text, cursor) else cursor
        put_in = held.text * times
        return Edit(at, at, put_in, at if "\n" in put_in else at + len(put_in) - 1)

    return change


def opened(letter: str, given: int | None) -> Change:
    """i, I, a, A, o and O: where typing begins."""

    def change(text: str, cursor: int, count: int | None) -> Edit | None:
        end = line_end(text, cursor)
        match letter:
            case "o":
                return Edit(end, end, "\n", end + 1)
            case "O":
                start = line_start(text, cursor)
                return Edit(start, start, "\n", start)
            case "I":
                at = first_nonblank(text, cursor)
            case "a":
                at = min(end, cursor + 1)
            case "A":
                at = end
            case _:
                at = cursor
        return Edit(at, at, "", at)

    return change
