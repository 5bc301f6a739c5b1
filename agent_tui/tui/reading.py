"""Reading: what the keys do that search the transcript, walk through it and copy from it.

Messages of the transcript and of its search line are handled by the method's name, not by
their class: their modules are not read before the first paint.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.app import App

from agent_tui.tui.clipboard import OSC52_SAFE, copy
from agent_tui.tui.composer import Composer
from agent_tui.tui.desk import Level

if TYPE_CHECKING:
    from agent_tui.tui.search_line import SearchKey, SearchLine, SearchTyped
    from agent_tui.tui.tour.tour import Tour
    from agent_tui.tui.transcript import Transcript

STATUS_WORD = 12
"""Cells that the last line keeps of a sentence for the agent's state."""


class Reading(App[int], inherit_bindings=False):
    """Base of AgentTuiApp: the keys go to the transcript or its search line, and back."""

    transcript: "Transcript"
    composer: Composer
    search_line: "SearchLine"
    tour: "Tour"
    grown: bool

    # --- to the transcript and back ----------------------------------------------------

    def action_focus_transcript(self) -> None:
        if self.transcript.has_focus:
            self.leave_transcript()
        else:
            self._to_transcript()
            self.transcript.point()

    def _to_transcript(self) -> None:
        # On the transcript's own screen: one that has been opened above it meanwhile would lose
        # its keys to the transcript, and could not be left.
        self.transcript.screen.set_focus(self.transcript)

    def leave_transcript(self) -> None:
        """The keys go back to the composer."""
        if self.transcript.searching:
            self._end_search(stay=False)
        self.composer.focus()

    def on_transcript_left(self) -> None:
        self.leave_transcript()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        """Whoever types or clicks elsewhere during a search stays where it has come to."""
        if self.grown and event.widget is self.composer and self.transcript.searching:
            self._end_search(stay=True)

    def action_previous_prompt(self) -> None:
        if not self.transcript.go_to_prompt(-1):
            self.flash("This is the first message.")

    def action_next_prompt(self) -> None:
        if not self.transcript.go_to_prompt(1):
            self.flash("There is no later message.")

    def flash(self, text: str) -> None:
        """A short sentence for the status line."""
        raise NotImplementedError

    def notice(self, level: Level, text: str) -> None:
        """A line in the transcript."""
        raise NotImplementedError

    # --- copying -----------------------------------------------------------------------

    def copy_text(self, text: str, what: str) -> None:
        """Put it on the clipboard and say what became of that. what: `the last answer`."""
        self.screen.clear_selection()
        self.run_worker(self._copy(text, what), group="copy", exit_on_error=False)

    async def _copy(self, text: str, what: str) -> None:
        copied = await copy(text, to_terminal=self.copy_to_clipboard)
        if not copied.failed:
            self.tour.saw("copied")
        if copied.failed or (copied.doubtful and copied.bytes > OSC52_SAFE):
            self.notice("warning", copied.sentence(what))  # too long for the status line
        else:
            self.flash(copied.short(what, self.size.width - STATUS_WORD))

    def copy_asked(self, asked: Mapping[str, Any]) -> None:
        """/copy: what and number, as conversation/commands/copying.py gives them."""
        number, code = int(asked.get("number", 1)), asked.get("what") == "code"
        found = self.transcript.code(number) if code else self.transcript.answer(number)
        kind = "code block" if code else "answer"
        if found is None:
            some = "no" if number == 1 else "no such"
            self.flash(f"There is {some} {kind} to copy.")
        else:
            name = f"the last {kind}" if number == 1 else f"{kind} {number} from the end"
            self.copy_text(found, name)

    def action_copy_answer(self) -> None:
        self.copy_asked({"what": "last"})

    def action_copy_code(self) -> None:
        self.copy_asked({"what": "code"})

    def on_transcript_copy_wanted(self, message: "Transcript.CopyWanted") -> None:
        self.copy_text(message.text, "the block")

    @property
    def search_takes_keys(self) -> bool:
        return self.grown and self.screen.focused is self.search_line

    # --- search ------------------------------------------------------------------------

    def action_search(self) -> None:
        """Ctrl+F; again: to the line, for another text."""
        self.search_line.open()
        self.transcript.search(self.search_line.sought)

    def on_search_typed(self, message: "SearchTyped") -> None:
        self.transcript.search(message.query)

    def on_transcript_search_changed(self, message: "Transcript.SearchChanged") -> None:
        self.search_line.state = message.state

    def on_search_key(self, message: "SearchKey") -> None:
        match message.name:
            case "next":
                self.transcript.next_match()
            case "previous":
                self.transcript.next_match(-1)
            case "keep" if self.search_line.sought:
                self._to_transcript()  # n and N go on from here
            case _:
                self.leave_transcript()

    def on_transcript_search_kept(self) -> None:
        """Enter on a match: the search is over, one stays there."""
        self._end_search(stay=True)

    def _end_search(self, *, stay: bool) -> None:
        if self.search_line.state.total:
            self.tour.saw("found")
        self.transcript.end_search(stay=stay)
        self.search_line.close()
