"""Reading: what the keys do that search the transcript and walk through it."""

from textual import events, on
from textual.app import App

from agent_tui.tui.composer import Composer
from agent_tui.tui.search_line import SearchKey, SearchLine, SearchTyped
from agent_tui.tui.transcript import Transcript


class Reading(App[int], inherit_bindings=False):
    """Base of AgentTuiApp: the keys go to the transcript or its search line, and back."""

    transcript: Transcript
    composer: Composer

    @property
    def search_line(self) -> SearchLine:
        return self.query_one(SearchLine)

    # --- to the transcript and back ----------------------------------------------------

    def action_focus_transcript(self) -> None:
        if self.transcript.has_focus:
            self.leave_transcript()
        else:
            self.transcript.focus()
            self.transcript.point()

    def leave_transcript(self) -> None:
        """The keys go back to the composer."""
        if self.transcript.searching:
            self._end_search(stay=False)
        self.composer.focus()

    @on(Transcript.Left)
    def _transcript_left(self) -> None:
        self.leave_transcript()

    @on(events.DescendantFocus)
    def _focus_moved(self, event: events.DescendantFocus) -> None:
        """Whoever types or clicks elsewhere during a search stays where it has come to."""
        if event.widget is self.composer and self.transcript.searching:
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

    # --- search ------------------------------------------------------------------------

    def action_search(self) -> None:
        """Ctrl+F; again: to the line, for another text."""
        self.search_line.open()
        self.transcript.search(self.search_line.sought)

    @on(Transcript.SearchWanted)
    def _search_wanted(self) -> None:
        self.action_search()

    @on(SearchTyped)
    def _search_typed(self, message: SearchTyped) -> None:
        self.transcript.search(message.query)

    @on(Transcript.SearchChanged)
    def _search_changed(self, message: Transcript.SearchChanged) -> None:
        self.search_line.state = message.state

    @on(SearchKey)
    def _search_key(self, message: SearchKey) -> None:
        match message.name:
            case "next":
                self.transcript.next_match()
            case "previous":
                self.transcript.next_match(-1)
            case "keep" if self.search_line.sought:
                self.transcript.focus()  # n and N go on from here
            case _:
                self.leave_transcript()

    @on(Transcript.SearchKept)
    def _search_kept(self) -> None:
        """Enter on a match: the search is over, one stays there."""
        self._end_search(stay=True)

    def _end_search(self, *, stay: bool) -> None:
        self.transcript.end_search(stay=stay)
        self.search_line.close()
