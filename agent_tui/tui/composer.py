"""The composer: where one types. Keys and their meaning are in keys.py.

It knows nothing of the conversation: it posts what was asked for (messages.py). The draft
holds big pastes by placeholder; `draft` and `load` speak in whole texts.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from textual import events
from textual.binding import Binding
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets import TextArea

from agent_tui.drafts import Draft
from agent_tui.text import counted
from agent_tui.tui import messages as m
from agent_tui.tui.completion import (
    Choice,
    CompletionList,
    command_choices,
    mention_choices,
    needs_argument,
)
from agent_tui.tui.errand import Errand
from agent_tui.tui.input_history import InputHistory, without_secret
from agent_tui.tui.keys import KeyTable
from agent_tui.tui.lines import one_line
from agent_tui.tui.paste_collapse import PasteCollapse
from agent_tui.tui.vi_area import ViArea

NARROW = 60
"""Columns of a screen below which words are spared."""


SPARED_S = 1.0
"""So long (seconds) Esc is still meant for what has ended by itself."""


class LabelChanged(Message):
    """What stands above the composer has changed (Composer.label)."""


def _text_area_actions() -> dict[str, str]:
    """Key → action of Textual's own text area."""
    found: dict[str, str] = {}
    for binding in TextArea.BINDINGS:
        assert isinstance(binding, Binding)
        for key in binding.key.split(","):
            found[key.strip()] = binding.action
    return found


class Composer(ViArea):
    """A text area that grows to eight lines. offer_key: a dialog that waits may take a key.

    actions: key → Textual action, the text area's own and those of keys.py.
    """

    def __init__(
        self, completion: CompletionList, keys: KeyTable | None = None, **kwargs: Any
    ) -> None:
        super().__init__(
            soft_wrap=True, compact=True, highlight_cursor_line=False, show_line_numbers=False,
            **kwargs,
        )  # fmt: skip
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self.completion = completion
        self.key_table = keys or KeyTable()
        self.actions = _text_area_actions() | self.key_table.actions()
        self.past = InputHistory()
        self.commands: Callable[[], Sequence[tuple[str, str, str]]] = tuple
        self.completions: Callable[[str], Sequence[tuple[str, str]]] = lambda line: ()
        self.takes_any: Callable[[str], bool] = lambda line: False
        self.mentions: Callable[[str], Sequence[tuple[str, str]]] = lambda typed: ()
        self.running: Callable[[], bool] = bool
        self.draft_changed: Callable[[], None] = lambda: None
        self.offer_key: Callable[[str], bool] = lambda key: False
        self.keys_are_elsewhere: Callable[[], bool] = lambda: False
        self.errand: Errand | None = None
        self.stash: list[Draft] = []
        """Drafts put away, newest last."""
        self._searching: str | None = None
        self._mended = ""
        self._known_mark: tuple[bool, str, bool] = (True, "", False)
        self._known_label = ""
        self._closed_list_for: str | None = None
        self.last_key_at = float("-inf")
        self.clock: Callable[[], float] = time.monotonic
        self._spared_until = float("-inf")

    # --- the draft ---------------------------------------------------------------------

    @property
    def draft(self) -> str:
        """The whole text, pastes and all."""
        return self.pastes.expand(self.text)

    @property
    def is_empty(self) -> bool:
        return not self.text

    def kept_draft(self) -> Draft:
        """The user's own draft, to be there again after a crash: also while the composer is lent
        for an errand, searches, or walks through the history."""
        waiting = self.errand.draft if self.errand is not None else self._searching
        if waiting is None:
            waiting = self.past.left_draft
        text = self.text if waiting is None else self.pastes.collapse(waiting)
        return Draft(text, self.pastes.named_in(text), tuple(self.stash))

    def bring_back(self, draft: Draft) -> None:
        """The draft of an earlier time, its pastes folded as they were, and what was put away
        then. Where something has been typed already, that stays and the draft is put away too."""
        self.stash[:0] = draft.stash
        if draft.text and self.is_empty and self.errand is None:
            self._put(draft)
        elif draft.text:
            self.stash.append(Draft(draft.text, draft.pastes))
            self.draft_changed()
        self._label_changed()

    def _put(self, draft: Draft) -> None:
        """Into the empty composer."""
        self.text = self.pastes.adopt(draft.text, draft.pastes)
        self.move_cursor(self.document.end)
        self._closed_list_for = self.text

    # --- the stash -----------------------------------------------------------------------

    def action_stash(self) -> None:
        """Put the draft away; on an empty composer: bring back the one put away last."""
        key = self.key_table.first("stash")
        if self.errand is not None or self._searching is not None:
            self.post_message(m.Flash("First end what you edit here: Enter or Esc."))
        elif not self.is_empty:
            waiting = self.past.left_draft
            self.past.leave()
            self.stash.append(Draft(self.text, self.pastes.named_in(self.text)))
            self.take_draft()
            self.load(waiting or "")
            self._label_changed()
            self.draft_changed()
        elif self.stash:
            self._put(self.stash.pop())
            self._label_changed()
            self.draft_changed()
        else:
            self.post_message(m.Flash(f"No draft is put away. {key} puts away what is typed."))

    @property
    def label(self) -> str:
        """What stands above the composer: vi's mode, then what it is lent for, else how many
        drafts wait."""
        mode = self.vi.shown if self.vi is not None else ""
        about = ""
        if self.errand is not None:
            about = self.errand.label
        elif self.stash:
            one = "it" if len(self.stash) == 1 else "one"
            key = self.key_table.first("stash")
            about = f"{counted(len(self.stash), 'draft')} stashed ({key} brings {one} back)"
            if self.app.size.width < NARROW:
                about = f"{len(self.stash)} stashed ({key})"
        return "  ".join(part for part in (mode, about) if part)

    def mode_changed(self) -> None:
        if self.label != self._known_label:
            self._label_changed()

    def _label_changed(self) -> None:
        self._known_label = self.label
        self.post_message(LabelChanged())

    def load(self, text: str) -> None:
        """Replace the draft; the cursor goes to its end."""
        self.text = self.pastes.collapse(text)
        self.move_cursor(self.document.end)

    def take_draft(self) -> str:
        """The draft, which is then empty."""
        text = self.draft
        self.text = ""
        self.pastes = PasteCollapse()
        self._searching = None
        self.completion.hide()
        self.begin_vi()
        return text

    def clear_into_history(self) -> None:
        self.past.add(self.draft)
        self.take_draft()

    def give_back(self, text: str) -> None:
        """A text that could not be sent: into the draft if that is empty, else into history."""
        if self.is_empty and self.errand is None:
            self.load(text)
        else:
            self.past.add(text)

    def mend(self, text: str) -> None:
        """A command line that was not right, and is history by now: to be put right, unless
        something else is being typed. It is selected: whoever types on types something new."""
        if self.is_empty and self.errand is None and self._searching is None:
            self.load(without_secret(text))
            self._closed_list_for = self._mended = self.text
            if self.vi is None:
                self.select_all()

    # --- errands -----------------------------------------------------------------------

    def begin_errand(self, errand: Errand, text: str = "") -> None:
        if self.errand is not None:
            self.end_errand(left=True)
        if self._searching is not None:
            self._end_search(self._searching)
        errand.draft, errand.cursor = self.draft, self.cursor_location
        self.errand = errand
        self.completion.hide()
        self.load(text)
        self.begin_vi()
        self.focus()
        self._label_changed()

    def end_errand(self, *, left: bool) -> None:
        """left: given up (Esc) rather than saved."""
        errand, self.errand = self.errand, None
        if errand is None:
            return
        if left:
            errand.leave()
        self.load(errand.draft)
        self.move_cursor(errand.cursor)
        self.begin_vi()
        self._label_changed()

    # --- keys --------------------------------------------------------------------------

    def mode_ended(self) -> None:
        """What had the keys has ended by itself: the Esc that was meant for it stops nothing. For
        a moment, or until another key comes."""
        self._spared_until = self.clock() + SPARED_S

    def _spares(self, key: str) -> bool:
        until, self._spared_until = self._spared_until, float("-inf")
        return key == "escape" and self.clock() < until

    def _offered(self, key: str) -> bool:
        """Note the key's time; True when a waiting dialog took it, or when it was meant for a mode
        that has just ended."""
        if self._spares(key):
            return True
        taken = self.offer_key(key)
        # The second of two Ctrl+C looks whether anything was typed since the first.
        if not taken and self.actions.get(key) != "interrupt":
            self.last_key_at = self.clock()
        return taken

    async def _on_key(self, event: events.Key) -> None:
        """Every key is handled here, also those that Textual would run as a binding: a binding
        runs when the key reaches the app, before or after keys typed later (Textual 8.2), so
        fast typing would send a text without its end."""
        if self.keys_are_elsewhere():  # it was on its way: the app hands it on
            event.prevent_default()
            return
        if self.screen is not self.app.screen:  # it was on its way when a page was opened
            event.stop()
            event.prevent_default()
            await self.app.on_event(events.Key(event.key, event.character))
            return
        action = self.actions.get(event.key)
        if self._offered(event.key) or self._vi_took(event):
            pass
        elif action is not None:
            await self.run_action(action)
            self.settle_vi()
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    def _vi_took(self, event: events.Key) -> bool:
        """A search has keys of its own; in normal mode Alt keeps its meaning."""
        if self.vi is None or self._searching is not None:
            return False
        if self.vi.mode != "insert" and event.key.startswith("alt+") and event.key in self.actions:
            return False
        return self.vi_takes(event.key, event.character)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Insert a paste at the cursor: made safe, or as a placeholder when it is big."""
        self._offered("paste")
        self.last_key_at = self.clock()
        from agent_tui.tui.dropped_paths import as_mentions

        self._type(as_mentions(text) or self.pastes.take(text))

    def action_paste(self) -> None:
        """What was cut or copied here; the terminal's own paste comes as a paste event."""
        self._type(self.cut_or_copied())

    def paste_left_over(self, saved: str) -> None:
        self.past.add(saved)
        self.post_message(m.Flash("That paste is no longer in the draft: what you saved is at Up."))

    def action_send(self) -> None:
        self._show_list()  # what is typed now counts, not what the list was made for
        if self._searching is not None:
            self._accept_search()
        elif self._enter_chooses() and not self._choose():
            pass  # more is to be typed behind it
        elif self.errand is not None:
            if self.errand.save(self.draft):
                self.end_errand(left=False)
        else:
            self.post_message(m.SendRequested(self._take_to_send()))

    def action_follow_up(self) -> None:
        self._show_list()
        if self._searching is not None:
            self._accept_search()
        elif self._completes:
            self.action_complete()
        elif self.running() and self.errand is None and self.draft.strip():
            self.post_message(m.FollowUpRequested(self._take_to_send()))

    def _take_to_send(self) -> str:
        """The text, which is then history; a draft that waited for the end of a walk through that
        is there again."""
        waiting = self.past.left_draft
        text = self.take_draft()
        self.past.add(text)
        if waiting:
            self.load(waiting)
        return text

    def edit(self, edit: Edit) -> EditResult:
        """What is on the line is the draft once it is changed; one that waited for the end of a
        walk through the history goes into that."""
        if (waiting := self.past.left_draft) is not None:
            self.past.leave()
            self.past.add(waiting)
        return super().edit(edit)

    def action_newline(self) -> None:
        self._type("\n")

    def insert_typed(self, character: str) -> None:
        """A character that was typed a moment ago and kept back."""
        self.vi_inserts()
        self._type(character)

    def typed_elsewhere(self, key: str, character: str) -> None:
        """A key that came to the screen while nothing had the focus that takes it."""
        if not self.vi_takes(key, character):
            self.insert_typed(character)

    def vi_acts(self, action: str, count: int) -> None:
        if action == "history_search":
            self.action_history_search()
            return
        for _ in range(count):
            before = self.text, self.cursor_location
            if action == "up":
                self.action_history_previous()
            else:
                self.action_history_next()
            if (self.text, self.cursor_location) == before:
                break

    def _type(self, text: str) -> None:
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def action_stop(self) -> None:
        if self._searching is not None:
            self._end_search(self._searching)
        elif self.completion.is_open:
            self._closed_list_for = self.text
            self.completion.hide()
        elif self.errand is not None:
            self.end_errand(left=True)
        else:
            self.post_message(m.StopRequested())

    def action_interrupt(self) -> None:
        """Ctrl+C. A draft is cleared here and now, so that what is typed next is not."""
        idle = not self.running()
        mended = bool(self.selected_text) and self.selected_text == self._mended
        if not idle and self._searching is not None:
            self._end_search(self._searching)
        elif not idle and self.completion.is_open:
            self._closed_list_for = self.text
            self.completion.hide()
        elif idle and (self.selected_text or self.screen.get_selected_text()) and not mended:
            self.post_message(m.InterruptRequested())  # it copies
        elif idle and self.errand is not None:
            self.end_errand(left=True)
        elif idle and not self.is_empty:
            self.clear_into_history()
        else:
            self.post_message(m.InterruptRequested())

    def action_leave(self) -> None:
        if self.is_empty and self.errand is None:
            self.post_message(m.LeaveRequested())
        else:
            self.action_delete_right()

    def action_editor(self) -> None:
        self.post_message(m.EditorRequested(self.draft, self._edited))

    def _edited(self, saved: str) -> None:
        """What the editor saved is the draft now; undo brings back the one before."""
        if saved != self.draft.removesuffix("\n"):
            self.replace(
                self.pastes.collapse(saved), (0, 0), self.document.end,
                maintain_selection_offset=False,
            )  # fmt: skip
            self._closed_list_for = self.text

    def action_recall(self) -> None:
        if self.errand is None:
            self.post_message(m.RecallRequested())

    def action_history_previous(self) -> None:
        self._show_list()  # for what is typed now
        if self.completion.is_open:
            self.completion.move(-1)
        elif not self.cursor_at_first_line or self.errand is not None:
            self.action_cursor_up()
        elif (text := self.past.previous(self.draft)) is not None:
            self._walk_to(text)

    def action_history_next(self) -> None:
        self._show_list()
        if self.completion.is_open:
            self.completion.move(1)
        elif not self.cursor_at_last_line or self.errand is not None:
            self.action_cursor_down()
        elif (text := self.past.next()) is not None:
            self._walk_to(text)

    def _walk_to(self, text: str) -> None:
        self.load(text)
        # A command met on the way through the history must not catch Up and Down in its list.
        self._closed_list_for = self.text

    # --- the list ------------------------------------------------------------------------

    def _is_known_command(self) -> bool:
        name = self.text[1:].split(maxsplit=1)[0] if self.text[1:].strip() else ""
        return any(name == known for known, _, _ in self.commands())

    @property
    def _completes(self) -> bool:
        """The list has something to insert; a list that only shows a form has not."""
        choice = self.completion.current
        if choice is None:
            return False
        if choice.replaces is not None:
            return self._before_cursor()[-choice.replaces :] != choice.value
        return not self.text.startswith(choice.value)

    def _enter_chooses(self) -> bool:
        """Enter takes what is chosen in the list, before anything is sent: what the user has
        moved to; else the first, where what is typed is its beginning and no line by itself."""
        choice = self.completion.current
        if choice is None or not self._completes:
            return False
        if self.completion.moved or not self._is_known_command():
            return True
        typed = self.text.rstrip()
        lines = [one.value.rstrip() for one in self.completion.choices]
        return (
            " " in typed
            and self.text == typed
            and choice.value.startswith(typed)
            and typed not in lines
            and not self.takes_any(typed)
        )

    def _choose(self) -> bool:
        """Take the choice; True: it is a whole command, to be sent by the same Enter."""
        choice = self.completion.current
        assert choice is not None
        meant = self.completion.moved or choice.value.startswith(self.text.rstrip())
        self.action_complete()
        if choice.replaces is not None or not meant:
            return False
        name, _, arguments = choice.value.removeprefix("/").partition(" ")
        if arguments:
            return not choice.value.endswith((" ", "=", "/"))
        return any(name == n and not needs_argument(usage) for n, usage, _ in self.commands())

    @property
    def chooses(self) -> bool:
        """Tab takes what is chosen in the open list."""
        return self.completion.is_open and (self._searching is not None or self._completes)

    def _before_cursor(self) -> str:
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def action_complete(self) -> None:
        choice = self.completion.current
        if choice is None or not self._completes:
            return
        if choice.replaces is None:
            self.text = choice.value
            self.move_cursor(self.document.end)
        else:
            row, column = self.cursor_location
            end = self.replace(choice.value, (row, column - choice.replaces), (row, column))
            self.move_cursor(end.end_location)
            if not choice.goes_on:
                self._closed_list_for = self.text

    def action_history_search(self) -> None:
        if self._searching is not None:
            self.completion.move(1)
            return
        if not self.past.entries:
            return
        self._searching = self.draft
        self.vi_inserts()
        self._show_list()

    def _accept_search(self) -> None:
        choice = self.completion.current
        self._end_search(choice.value if choice else self.draft)

    def _end_search(self, text: str) -> None:
        self._searching = None
        self.completion.hide()
        self.load(text)
        self._closed_list_for = self.text

    def _show_list(self) -> None:
        if self._searching is not None:
            found = self.past.search(self.text)
            if not found:
                self.post_message(m.Flash("Nothing you sent holds that text. Esc goes back."))
            self.completion.show([Choice(entry, one_line(entry, 200)) for entry in found])
        elif self.errand is not None or self.text == self._closed_list_for:
            self.completion.hide()
        else:
            self._closed_list_for = None
            known, text = self.commands(), self.text[:200]
            choices = command_choices(known, text, self.completions)
            if not choices and "@" in self.text:
                choices = mention_choices(self._before_cursor(), self.mentions)
            self.completion.show(choices)

    def mentions_changed(self) -> None:
        """More is known of what an @ may become."""
        row, column = self.cursor_location
        if self.is_mounted and "@" in self.document.get_line(row)[:column]:
            self._show_list()

    def on_text_area_selection_changed(self) -> None:
        self._tell_mark()
        choice = self.completion.current
        if choice is not None and choice.replaces is not None:
            self._show_list()  # the cursor may have left what the list was made for

    def on_text_area_changed(self) -> None:
        self._show_list()
        self.draft_changed()
        self._tell_mark()

    @property
    def bang(self) -> str:
        """ "!" or "!!" where the draft is a command of the user's own, else nothing."""
        if self.errand is not None or not self.text.startswith("!"):
            return ""
        return "!!" if self.text.startswith("!!") else "!"

    def _tell_mark(self) -> None:
        """What the hints of the status line follow has changed."""
        mark = (self.is_empty, self.bang, self.placeholder_at_cursor() is not None)
        if mark != self._known_mark:
            self._known_mark = mark
            self.post_message(m.DraftChanged(self.is_empty))

    def action_open_paste(self) -> None:
        before = self.text
        super().action_open_paste()
        if self.text != before:
            undo = self.key_table.first("undo")
            self.post_message(m.Flash(f"Opened. {undo} folds it again."))
