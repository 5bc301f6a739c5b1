"""JSON values and streamed text made fit for the wire (text.py has the rules for a string).

A request that holds a lone surrogate, a NUL or a NaN answers 400 (or fails to encode) for
every turn that follows, so they are replaced where text enters a message and again where a
request is built (facts: rules of a valid request; faults A34, A35).
"""

import math
from typing import Any, Final, cast

from agent_tui.text import sendable, whole_surrogates

MAX_DEPTH: Final = 100
"""Deepest JSON that is taken over: below it pydantic and json would give up themselves."""


def clean_tree(value: Any, *, levels: int = MAX_DEPTH) -> Any:
    """A JSON value fit for a request: strings by `sendable`, NaN and infinities as null.

    Returns the very object when nothing had to change, so that clean data keeps identity
    (and costs no copy). Raises ValueError when it is nested deeper than `levels`.
    """
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict | list | tuple) and levels <= 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        items = cast(dict[Any, Any], value)
        copied = {sendable(str(k)): clean_tree(v, levels=levels - 1) for k, v in items.items()}
        same = len(copied) == len(items) and all(
            a is b and c is d for (a, c), (b, d) in zip(copied.items(), items.items(), strict=True)
        )
        return items if same else copied
    if isinstance(value, list | tuple):
        sequence = cast(list[Any], value)
        made = [clean_tree(v, levels=levels - 1) for v in sequence]
        if isinstance(value, list) and all(a is b for a, b in zip(made, sequence, strict=True)):
            return sequence
        return made
    return value


class SurrogateJoiner:
    """Joins surrogate pairs that a server split over two deltas.

    A high surrogate at the end of a delta is held until the next one; `flush` gives what
    is still held at the end of a block (U+FFFD, or ""). Cost per delta: its own length.
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held = ""

    def add(self, text: str) -> str:
        """The text that is whole now."""
        if self.held:
            text = self.held + text
            self.held = ""
        if not text or text.isascii():
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            self.held = text[-1]
            text = text[:-1]
        return whole_surrogates(text)

    def flush(self) -> str:
        held, self.held = self.held, ""
        return "\ufffd" if held else ""
