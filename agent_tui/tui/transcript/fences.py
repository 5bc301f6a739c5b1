"""OpenFence: fenced code that streams in, line by line, as parts of at most CHUNK lines."""

import re

from agent_tui.tui.transcript.code import Code, CodePart
from agent_tui.tui.transcript.commonmark import closes, indent_of, without_indent
from agent_tui.tui.transcript.parts import CHUNK, LINE_LIMIT, Part


class OpenFence:
    """Adds its parts to `parts`; all but the last are final. opening: a match of FENCE;
    gap: blank rows above."""

    def __init__(self, opening: re.Match[str], parts: list[Part], gap: int) -> None:
        self._indent = len(opening[1])
        self._fence = opening[2]
        language = (opening[3].split() or [""])[0].lower()
        self._code = Code(language)
        self._parts = parts
        self._part = CodePart(self._code, 0, None, gap)
        parts.append(self._part)

    def take(self, line: str, ends: bool, *, continues: bool = False) -> bool:
        """One more line; True if it was the closing fence. ends: the line is whole;
        continues: it goes on in a line that was cut."""
        code = self._code
        if not continues:
            if ends and closes(line, self._fence) and indent_of(line) < 4:
                self.close()
                return True
            line = without_indent(line, self._indent)
        if len(code.lines) - self._part.start >= CHUNK:
            self._part.end = len(code.lines)
            self._part.touch()
            self._part = CodePart(code, len(code.lines), None)
            self._parts.append(self._part)
        code.add(line, soft=not ends)
        self._part.touch()
        return False

    def show(self, rest: str) -> None:
        """The beginning of the next line; what may become the closing fence is not shown."""
        shown = "" if rest and not rest.strip().strip(self._fence[0]) else rest
        if shown != self._code.partial:
            self._code.partial = shown[:LINE_LIMIT]
            self._part.touch()

    def close(self) -> None:
        code = self._code
        code.close()
        self._part.end = len(code.lines)
        self._part.touch()
        for other in reversed(self._parts):
            # With closed code the colours come from elsewhere: all its parts are new.
            if not isinstance(other, CodePart) or other.code is not code:
                break
            other.touch()
