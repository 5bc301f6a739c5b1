"""vi's visual modes: what the keys do to what is selected."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tui.tui.vi_commands import deleted, join_parts
from agent_tui.tui.vi_motions import MOTIONS
from agent_tui.tui.vi_text import Span, down, line_end, line_start, on_character
from agent_tui.tui.vi_types import Change, Edit, Outcome, Register, Target

if TYPE_CHECKING:
    from agent_tui.tui.vi import Vi


def visual_key(vi: "Vi", letter: str, text: str, cursor: int) -> Outcome:
    """A key in visual mode; cursor: the end that moves."""
    match letter:
        case "v" | "V":
            wanted = "visual" if letter == "v" else "visual line"
            vi.mode = "normal" if vi.mode == wanted else wanted
            at = on_character(text, cursor) if vi.mode == "normal" else cursor
            return vi.finish(text, at)
        case "o":
            anchor, head = vi.ends
            vi.select(head, anchor)
            return vi.finish(text, anchor)
        case _ if letter in MOTIONS:
            return visual_move(vi, vi.target(letter, text, cursor), text, cursor)
        case _ if letter in "dxXyYcsSDCJ~uUpP":
            return _operate(vi, letter, text)
        case _:
            return vi.finish(text, cursor)


def visual_move(vi: "Vi", target: Target | None, text: str, cursor: int) -> Outcome:
    """The end that moves goes there."""
    if target is not None:
        cursor = on_character(text, target.at)
        vi.select(vi.ends[0], cursor)
    return vi.finish(text, cursor)


def visual_object(vi: "Vi", span: Span | None, text: str, cursor: int) -> Outcome:
    """iw and the like: it is selected."""
    if span is not None and span.end > span.start:
        cursor = line_start(text, span.end) if span.linewise else span.end - 1
        vi.select(span.start, cursor)
        vi.mode = "visual line" if span.linewise else "visual"
    return vi.finish(text, cursor)


def visual_replace(vi: "Vi", character: str, text: str) -> Outcome:
    """r: each selected character becomes this one."""
    return _changed(vi, text, lambda part: "".join("\n" if c == "\n" else character for c in part))


def _operate(vi: "Vi", letter: str, text: str) -> Outcome:
    span = vi.selection(text)
    assert span is not None
    if letter in "XYSDC":
        span = Span(line_start(text, span.start), line_end(text, _last(span)), linewise=True)
    match letter:
        case "y" | "Y":
            vi.mode = "normal"
            vi.register = Register(text[span.start : span.end], span.linewise)
            return vi.finish(text, on_character(text, span.start))
        case "~":
            return _changed(vi, text, str.swapcase)
        case "u":
            return _changed(vi, text, str.lower)
        case "U":
            return _changed(vi, text, str.upper)
        case "J":
            return _join(vi, span, text)
        case "p" | "P":
            return _put_over(vi, span, text)
        case _:
            vi.mode = "normal"
            insert = letter in "csSC"
            return vi.make(
                _removing(vi, _extent(text, span), insert), text, span.start, insert=insert
            )


def _last(span: Span) -> int:
    return max(span.start, span.end - (0 if span.linewise else 1))


def _extent(text: str, span: Span) -> Callable[[str, int], Span]:
    """As much again from another place: so many lines, or so many characters."""
    lines, length = text.count("\n", span.start, span.end), span.end - span.start

    def extent(text: str, cursor: int) -> Span:
        if span.linewise:
            start = line_start(text, cursor)
            return Span(start, line_end(text, down(text, start, lines)), linewise=True)
        return Span(cursor, min(len(text), cursor + length))

    return extent


def _removing(vi: "Vi", extent: Callable[[str, int], Span], insert: bool) -> Change:
    def change(text: str, cursor: int, count: int | None) -> Edit:
        span = extent(text, cursor)
        vi.register = Register(text[span.start : span.end], span.linewise)
        return deleted(text, span, to_insert=insert)

    return change


def _changed(vi: "Vi", text: str, mend: Callable[[str], str]) -> Outcome:
    span = vi.selection(text)
    assert span is not None
    vi.mode = "normal"
    extent = _extent(text, span)

    def change(text: str, cursor: int, count: int | None) -> Edit:
        here = extent(text, cursor)
        return Edit(here.start, here.end, mend(text[here.start : here.end]), here.start)

    return vi.make(change, text, span.start)


def _join(vi: "Vi", span: Span, text: str) -> Outcome:
    vi.mode = "normal"
    lines = max(1, text.count("\n", span.start, _last(span)))

    def change(text: str, cursor: int, count: int | None) -> Edit | None:
        first = line_end(text, cursor)
        end = line_end(text, down(text, cursor, lines))
        if end == first:
            return None
        parts = [part.strip(" \t") for part in text[first + 1 : end].split("\n")]
        return join_parts(text, first, end, parts)

    return vi.make(change, text, span.start)


def _put_over(vi: "Vi", span: Span, text: str) -> Outcome:
    """p: the register takes the place of the selection, which goes into the register."""
    vi.mode = "normal"
    held = vi.register
    extent = _extent(text, span)

    def change(text: str, cursor: int, count: int | None) -> Edit:
        here = extent(text, cursor)
        vi.register = Register(text[here.start : here.end], here.linewise)
        put_in = held.text
        if held.linewise and not here.linewise:
            put_in = f"\n{put_in}\n"
        at = here.start + (0 if "\n" in put_in or here.linewise else max(0, len(put_in) - 1))
        return replace(Edit(here.start, here.end, put_in, at))

    return vi.make(change, text, span.start)
