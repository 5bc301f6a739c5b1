"""A big paste stays out of the text area: a placeholder stands for it and holds all of it.

Textual 8.2.8 wraps a line of 400,000 characters anew at each key (2.4 s); a placeholder
keeps typing fast and the screen readable.
"""

import re
from collections.abc import Mapping

from agent_tui.text import SafeText

MAX_LINES = 8
MAX_CHARS = 2000
_PLACEHOLDER = re.compile(r"\[pasted (?:[\d,]+ lines|[\d,]+ characters)(?: #\d+)?\]")


def normalize(text: str) -> str:
    """Line ends of any kind become newlines (terminals paste `\\r`), NUL goes."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")


class PasteCollapse:
    """The big pastes of one draft, by their placeholder. held: those of an earlier time."""

    def __init__(self, held: Mapping[str, str] | None = None) -> None:
        self._held: dict[str, str] = dict(held or {})

    def take(self, pasted: str) -> str:
        """What to insert for a paste: the text itself, made safe, or a placeholder for it."""
        text = normalize(pasted)
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MAX_LINES and len(text) <= MAX_CHARS:
            return SafeText(text)
        what = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        name = f"[pasted {what}]"
        number = 2
        while name in self._held and self._held[name] != text:
            name = f"[pasted {what} #{number}]"
            number += 1
        self._held[name] = text
        return name

    def expand(self, text: str) -> str:
        """`text` with every placeholder of ours replaced by what it holds."""
        if not self._held:
            return text
        return _PLACEHOLDER.sub(lambda found: self._held.get(found[0], found[0]), text)

    def collapse(self, text: str) -> str:
        """The other way, for a text that comes back (history, editor, queue): what was once
        pasted is folded again; a text that is big by itself becomes one placeholder."""
        for name, held in self._held.items():
            text = text.replace(held, name)
        if text.count("\n") > 200 or any(len(line) > MAX_CHARS for line in text.split("\n")):
            return self.take(text)
        return SafeText(text)

    def named_in(self, text: str) -> dict[str, str]:
        """The pastes whose placeholders stand in `text`."""
        return {name: held for name, held in self._held.items() if name in text}

    def placeholder_ending_at(self, before_cursor: str) -> str | None:
        """The placeholder right before the cursor, which Backspace takes as one."""
        for name in self._held:
            if before_cursor.endswith(name):
                return name
        return None
