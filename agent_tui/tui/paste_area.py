"""A text area in which the placeholder of a big paste is one unit, as a character is: passed
over, deleted, cut and undone whole. What is copied or cut is what the placeholder stands for.
"""

from typing import Any, ClassVar

from rich.text import Text
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.widgets import TextArea

from agent_tui.drafts import Draft
from agent_tui.tui import messages as m
from agent_tui.tui.paste_collapse import MARK, PasteCollapse, fits_in_place


class PasteArea(TextArea):
    """pastes: what the placeholders in the text stand for; it lives as long as the draft."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES | {"paste--placeholder"}

    def __init__(self, **kwargs: Any) -> None:
        self.pastes = PasteCollapse()
        self._cut: Draft | None = None
        """What was cut or copied here last, with its pastes: they may be of a draft gone since."""
        super().__init__(**kwargs)

    # --- where they stand ----------------------------------------------------------------

    def placeholders(self, row: int) -> list[tuple[int, int]]:
        """Columns of the placeholders in a line: start and end of each."""
        return self.pastes.spans(self.document.get_line(row))

    def placeholder_at_cursor(self) -> tuple[Location, Location] | None:
        """The one that the cursor touches, the one before it first; else the only one there is."""
        row, column = self.cursor_location
        touched = [span for span in self.placeholders(row) if span[0] <= column <= span[1]]
        if touched:
            start, end = touched[0]
            return (row, start), (row, end)
        everywhere = [
            ((row, start), (row, end))
            for row in range(self.document.line_count)
            for start, end in self.placeholders(row)
        ]
        return everywhere[0] if len(everywhere) == 1 else None

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        spans = self.placeholders(line_index)
        if not spans:
            return line
        shown = Text(line.plain.replace(MARK, " "), end="", no_wrap=True)
        style = self.get_component_rich_style("paste--placeholder", partial=True)
        for start, end in spans:
            shown.stylize(style, start, end)
        return shown

    def _recompute_cursor_offset(self) -> None:
        """Workaround for Textual 8.2: an undo that leaves fewer lines shows the text once before
        it moves the cursor, which is then below the last line, and the app ended. Remove when it
        does not; tests/tui/test_paste_area.py undoes many lines."""
        cursor = self.clamp_visitable(self.cursor_location)
        self._cursor_offset = self.wrapped_document.location_to_offset(cursor)

    # --- as one unit ---------------------------------------------------------------------

    def _validate_selection(self, selection: Selection) -> Selection:
        """Never inside a placeholder: a cursor that enters it from one side leaves at the other."""
        start, end = super()._validate_selection(selection)
        was = self.selection
        if start == end:
            return Selection.cursor(self._outside(end, was.end))
        return Selection(self._outside(start, was.start), self._outside(end, was.end))

    def _outside(self, at: Location, came_from: Location) -> Location:
        row, column = at
        for start, end in self.placeholders(row):
            if start < column < end:
                if came_from[0] == row and came_from[1] <= start:
                    return row, end
                if came_from[0] == row and came_from[1] >= end:
                    return row, start
                return row, start if column - start < end - column else end
        return at

    def edit(self, edit: Edit) -> EditResult:
        """What deletes a part of a placeholder deletes all of it."""
        top, bottom = edit.top, edit.bottom
        wider_top = self._edge(top, 0)
        wider_bottom = self._edge(bottom, 1)
        if top == bottom:
            wider_top = wider_bottom
        if (top, bottom) != (wider_top, wider_bottom):
            edit.from_location, edit.to_location = wider_top, wider_bottom
        return super().edit(edit)

    def _edge(self, at: Location, side: int) -> Location:
        row, column = at
        if row < self.document.line_count:
            for span in self.placeholders(row):
                if span[0] < column < span[1]:
                    return row, span[side]
        return at

    # --- copied and cut ------------------------------------------------------------------

    @property
    def selected_text(self) -> str:
        """The selection, pastes and all."""
        raw = super().selected_text
        if raw and (named := self.pastes.named_in(raw)):
            self._cut = Draft(raw, named)
            return self.pastes.expand(raw)
        return raw

    def action_cut(self) -> None:
        """The selection, else the line."""
        start, end = self.selection
        if start == end:
            result = self._delete_cursor_line()
        else:
            result = self._delete_via_keyboard(start, end)
        if result is not None:
            raw = result.replaced_text
            self._cut = Draft(raw, self.pastes.named_in(raw))
            self.app.copy_to_clipboard(self.pastes.expand(raw))

    def cut_or_copied(self) -> str:
        """What the clipboard of this screen holds, for the text: pastes folded as they were."""
        text = self.app.clipboard
        if self._cut is not None and text and self._cut.whole == text:
            return self.pastes.adopt(self._cut.text, self._cut.pastes)
        return self.pastes.take(text)

    # --- opened ----------------------------------------------------------------------------

    def action_open_paste(self) -> None:
        """The folded paste at the cursor: into the text, or into the editor when the text area
        would grow slow of it."""
        where = self.placeholder_at_cursor()
        if where is None:
            self.post_message(m.Flash("Put the cursor beside a folded paste to open it."))
            return
        name = self.get_text_range(*where)
        content = self.pastes.content(name) or ""
        if fits_in_place(content):
            end = self.replace(content, *where, maintain_selection_offset=False).end_location
            self.move_cursor(end)
        else:
            self.post_message(
                m.EditorRequested(content, lambda saved: self._paste_edited(name, saved))
            )

    def _paste_edited(self, name: str, saved: str) -> None:
        """What the editor saved of a paste takes its place, as one step of undo."""
        if saved == (self.pastes.content(name) or "").removesuffix("\n"):
            return
        for row in range(self.document.line_count):
            for start, end in self.placeholders(row):
                if self.document.get_line(row)[start:end] == name:
                    self.replace(self.pastes.take(saved), (row, start), (row, end))
                    return
        self.paste_left_over(saved)

    def paste_left_over(self, saved: str) -> None:
        """What was saved of a paste that has gone from the text meanwhile."""
