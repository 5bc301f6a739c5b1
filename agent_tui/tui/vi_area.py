"""The text area with vi's keys, when they are wanted (setting vi_keys). vi.py has their meaning.

To vi the placeholder of a paste is one character.
"""

from typing import TYPE_CHECKING, Any

from textual.document._document import Location, Selection

from agent_tui.tui.paste_area import PasteArea
from agent_tui.tui.terminal_input import expect_quick_escape

if TYPE_CHECKING:  # light: the first paint waits for it
    from agent_tui.tui.vi import Vi
    from agent_tui.tui.vi_types import Outcome

_FIRST_MARK = 0xF0000
"""Of the private characters that stand for placeholders."""


class ViArea(PasteArea):
    """vi: None where its keys are not wanted."""

    def __init__(self, **kwargs: Any) -> None:
        self.vi: Vi | None = None
        self._marks: dict[str, tuple[str, str]] = {}
        """Placeholder and content by the character that stands for it; kept beyond a draft, as
        vi's register is."""
        self._visual: tuple[Location, Location] | None = None
        super().__init__(**kwargs)

    def use_vi(self, wanted: bool) -> None:
        if wanted == (self.vi is not None):
            return
        if wanted:
            from agent_tui.tui.vi import Vi

            self.vi = Vi()
        else:
            self.vi = None
        expect_quick_escape(wanted)
        self.begin_vi()

    def begin_vi(self) -> None:
        """The text is another one: it begins in insert mode, with nothing to undo."""
        if self.vi is not None:
            kept = self.vi.kept_text
            self._marks = {mark: held for mark, held in self._marks.items() if mark in kept}
            self.vi.begin(self._folded()[0])
        self._show_mode()

    def vi_inserts(self) -> None:
        """What comes now is typed, whatever the mode was."""
        if self.vi is not None:
            text, spans = self._folded()
            self.vi.to_insert(text, _folded_at(self._index(self.cursor_location), spans))
            self._show_mode()

    def mode_changed(self) -> None:
        """vi.shown may be another. For the composer."""

    def vi_acts(self, action: str, count: int) -> None:
        """What vi leaves to the composer."""

    def vi_takes(self, key: str, character: str | None) -> bool:
        """Let vi have a key first; whether it took it.

        A letter right behind Esc reaches the terminal as Alt and that letter, as in vi itself.
        """
        if self.vi is None:
            return False
        if key.startswith("alt+") and character and character.isprintable():
            self.vi_takes("escape", None)
            self.vi_takes(key.removeprefix("alt+"), character)
            return True
        if self.vi.mode == "insert" and key != "escape":
            return False
        text, spans = self._folded()
        at = _folded_at(self._index(self.cursor_location), spans)
        outcome = self.vi.press(key, character, text, at)
        if outcome.taken:
            self._carry_out(outcome, spans)
        self._show_mode()
        return outcome.taken

    def settle_vi(self) -> None:
        """After a key that was not vi's: in normal mode the cursor stands on a character."""
        if self.vi is not None and self.vi.mode == "normal":
            row, column = self.cursor_location
            line = self.document.get_line(row)
            if column and column >= len(line) and self.selection.is_empty:
                self.move_cursor((row, len(line) - 1))
            self._show_mode()

    def _carry_out(self, outcome: "Outcome", spans: list[tuple[int, int]]) -> None:
        if outcome.text is not None and (outcome.text or outcome.start != outcome.end):
            start, end = (self._location(_raw_at(at, spans)) for at in (outcome.start, outcome.end))
            self.replace(self._unfolded(outcome.text), start, end, maintain_selection_offset=False)
            spans = self._folded()[1]
        cursor = self._location(_raw_at(outcome.cursor, spans))
        if outcome.selected is None:
            self._visual = None
            self.move_cursor(cursor)
        else:
            first = self._location(_raw_at(outcome.selected.start, spans))
            last = self._location(_raw_at(outcome.selected.end, spans))
            self._visual = first, last
            linewise = outcome.selected.linewise
            before = last if linewise or outcome.cursor == outcome.selected.start else first
            self.selection = Selection(before, first if linewise else cursor)
        if outcome.action:
            self.vi_acts(outcome.action, outcome.count)
            self.settle_vi()

    @property
    def selected_text(self) -> str:
        """In a visual mode: with the character under the cursor."""
        if self._visual is not None and self.vi is not None and "visual" in self.vi.mode:
            return self.pastes.expand(self.get_text_range(*self._visual))
        return super().selected_text

    def _show_mode(self) -> None:
        self.set_class(self.vi is not None and self.vi.mode == "insert", "-vi-insert")
        self.mode_changed()

    # --- placeholders as characters ---------------------------------------------------------

    def _folded(self) -> tuple[str, list[tuple[int, int]]]:
        """The text with a character for each placeholder, and where those stand in the text."""
        text = self.text
        spans = self.pastes.spans(text)
        if not spans:
            return text, spans
        parts: list[str] = []
        at = 0
        for start, end in spans:
            parts += [text[at:start], self._mark(text[start:end], text)]
            at = end
        return "".join([*parts, text[at:]]), spans

    def _mark(self, name: str, text: str) -> str:
        held = name, self.pastes.content(name) or ""
        for mark, known in self._marks.items():
            if known == held:
                return mark
        code = _FIRST_MARK
        while chr(code) in self._marks or chr(code) in text:
            code += 1
        self._marks[chr(code)] = held
        return chr(code)

    def _unfolded(self, text: str) -> str:
        parts: list[str] = []
        for character in text:
            if (held := self._marks.get(character)) is not None:
                name, content = held
                parts.append(self.pastes.adopt(name, {name: content}))
            else:
                parts.append(character)
        return "".join(parts)

    def _index(self, location: Location) -> int:
        lines = self.document.lines
        row, column = location
        return sum(len(line) + 1 for line in lines[:row]) + column

    def _location(self, index: int) -> Location:
        for row, line in enumerate(self.document.lines):
            if index <= len(line):
                return row, index
            index -= len(line) + 1
        return self.document.end


def _folded_at(index: int, spans: list[tuple[int, int]]) -> int:
    """Where this place of the text is in the folded one."""
    less = 0
    for start, end in spans:
        if index < end:
            return min(index, start) - less
        less += end - start - 1
    return index - less


def _raw_at(index: int, spans: list[tuple[int, int]]) -> int:
    """Where this place of the folded text is in the text."""
    for start, end in spans:
        if index <= start:
            return index
        index += end - start - 1
    return index
