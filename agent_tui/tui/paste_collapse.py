"""A big paste stays out of the text area: a placeholder stands for it and holds all of it.

Textual 8.2.8 wraps a line of 400,000 characters anew at each key (2.4 s); a placeholder
keeps typing fast and the screen readable.

A placeholder is told from a text that was typed like one by MARK, which stands in it where a
space is shown.
"""

import re
from collections.abc import Mapping

from agent_tui.text import SafeText

MARK = "\u205f"
"""A space that no keyboard types."""

MAX_LINES = 8
MAX_CHARS = 2000
"""Of a paste that is inserted as it is."""

IN_PLACE_LINES = 1000
IN_PLACE_CHARS = 60_000
"""Of a text that the text area takes without growing slow; each line up to MAX_CHARS."""

_PLACEHOLDER = re.compile(
    rf"\[pasted[ {MARK}](?:[\d,]+[ ]lines|[\d,]+[ ]characters)(?:[ ]\#\d+)?\]"
)


def normalize(text: str) -> str:
    """Line ends of any kind become newlines (terminals paste `\\r`), NUL goes."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")


def fits_in_place(text: str) -> bool:
    """Whether the text area can hold `text` and stay fast, and shows it as it is."""
    return (
        len(text) <= IN_PLACE_CHARS
        and text.count("\n") < IN_PLACE_LINES
        and not _has_long_line(text)
        and SafeText(text) == text
    )


def _has_long_line(text: str) -> bool:
    return len(text) > MAX_CHARS and any(len(line) > MAX_CHARS for line in text.split("\n"))


class PasteCollapse:
    """The big pastes of one draft, by their placeholder. held: those of an earlier time.

    A paste whose placeholder was deleted is held on: undo brings it back.
    """

    def __init__(self, held: Mapping[str, str] | None = None) -> None:
        self._held: dict[str, str] = dict(held or {})

    def take(self, pasted: str) -> str:
        """What to insert for a paste: the text itself, made safe, or a placeholder for it."""
        text = normalize(pasted)
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MAX_LINES and len(text) <= MAX_CHARS:
            return SafeText(text)
        return self._name(text, lines)

    def _name(self, text: str, lines: int) -> str:
        what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        name = f"[pasted{MARK}{what}]"
        number = 2
        while name in self._held and self._held[name] != text:
            name = f"[pasted{MARK}{what} #{number}]"
            number += 1
        self._held[name] = text
        return name

    def adopt(self, text: str, pastes: Mapping[str, str]) -> str:
        """`text` with the placeholders of another draft, which become ours; one whose name
        stands for something else here gets a new name."""
        if not pastes:
            return text
        ours: dict[str, str] = {}
        for name, held in pastes.items():
            if self._held.setdefault(name, held) == held:
                ours[name] = name
            else:
                ours[name] = self._name(held, held.count("\n") + (not held.endswith("\n")))
        return _PLACEHOLDER.sub(lambda found: ours.get(found[0], found[0]), text)

    def expand(self, text: str) -> str:
        """`text` with every placeholder of ours replaced by what it holds."""
        if not self._held:
            return text
        return _PLACEHOLDER.sub(lambda found: self._held.get(found[0], found[0]), text)

    def collapse(self, text: str) -> str:
        """The other way, for a text that comes back (history, editor, queue): what was once
        pasted is folded again; a text that is big by itself becomes one placeholder."""
        for name, held in sorted(self._held.items(), key=lambda item: -len(item[1])):
            text = text.replace(held, name)
        if text.count("\n") > 200 or _has_long_line(text):
            return self.take(text)
        return SafeText(text)

    def content(self, name: str) -> str | None:
        """What a placeholder stands for; None: it is none of ours."""
        return self._held.get(name)

    def named_in(self, text: str) -> dict[str, str]:
        """The pastes whose placeholders stand in `text`."""
        return {text[start:end]: self._held[text[start:end]] for start, end in self.spans(text)}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where placeholders of ours stand in `text`: start and end of each, in order."""
        if not self._held or "[pasted" not in text:
            return []
        return [found.span() for found in _PLACEHOLDER.finditer(text) if found[0] in self._held]
