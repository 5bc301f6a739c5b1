"""AgentTuiApp: the screen. It lays out the parts, routes events and keys, and little else.

What is asked of the conversation goes through desk.py; what panels show is in presenter.py;
every key is in keys.py. Nothing that is imported here may be heavy: the first paint, of the
frame, waits for it. The other parts come right after it (body.py), then the conversation.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size

from agent_tui.text import counted
from agent_tui.tui import messages as m
from agent_tui.tui.actions import ScreenActions
from agent_tui.tui.completion import CompletionList
from agent_tui.tui.composer import Composer, LabelChanged
from agent_tui.tui.crash import CalmCrash
from agent_tui.tui.desk import Desk, Level
from agent_tui.tui.draft_keeper import DraftKeeper
from agent_tui.tui.glyphs import ASCII, choose
from agent_tui.tui.header_line import HeaderLine
from agent_tui.tui.interrupts import FORCE_WITHIN_S, QUIT_WITHIN_S, Interrupts
from agent_tui.tui.kept_history import KeptHistory
from agent_tui.tui.keys import KeyTable, bindings
from agent_tui.tui.leaving import Leaving
from agent_tui.tui.panels.side_panel import SidePanel
from agent_tui.tui.plain import SafeStatic, ThinRule, choose_scrollbars
from agent_tui.tui.reading import Reading
from agent_tui.tui.run import run_app
from agent_tui.tui.status_line import StatusLine
from agent_tui.tui.terminal_restore import ExitLadder
from agent_tui.tui.terminal_signals import TerminalSignals
from agent_tui.tui.themes import DEFAULTS, THEMES, no_color, pick_theme

if TYPE_CHECKING:
    from agent_tui.conversation.results import CommandResult
    from agent_tui.tui.asking import ScreenAsker
    from agent_tui.tui.command_results import CommandResults
    from agent_tui.tui.face_settings import FaceSettings
    from agent_tui.tui.opener import Opener, Starter
    from agent_tui.tui.presenter import Presenter
    from agent_tui.tui.router import Router
    from agent_tui.tui.transcript import Transcript
    from agent_tui.tui.view import View

__all__ = ["AgentTuiApp", "run_app"]

PANELS = ("Tools", "Container", "Loop", "MCP", "Context")
"""The titles of the side panel, in the order in which body.py makes its panels."""

SLIM = 60
"""Columns below which the side panel, when it is shown, takes the whole width."""


class AgentTuiApp(CalmCrash, Reading, ScreenActions, inherit_bindings=False):
    """See module docstring. settings: theme, show_panel, show_thinking and keys are read here.

    first_prompt is sent as soon as there is a conversation; banner is shown before it.
    """

    CSS_PATH = "agent_tui.tcss"
    TITLE = "agent-tui"
    AUTO_FOCUS = "Composer"
    BINDINGS = bindings("screen")  # pyright: ignore[reportAssignmentType]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (ScreenActions.WIDE, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (10, "-short"), (18, "-tall")]  # noqa: RUF012

    presenter: "Presenter"
    command_results: "CommandResults"
    asker: "ScreenAsker"
    opener: "Opener"
    router: "Router"
    face: "FaceSettings"
    view: "View"
    grown = False
    """Whether these, and the widgets of body.py, are there."""

    def __init__(
        self,
        *,
        settings: Any,
        starter: "Starter",
        first_prompt: str = "",
        banner: str = "",
        ladder: ExitLadder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(ansi_color=True if no_color() else None)
        self.settings = settings
        self.clock = clock
        self.glyphs = choose()
        self.key_table = KeyTable(getattr(settings, "keys", None))
        self.starter, self.banner = starter, banner
        self.desk = Desk(self)
        self.interrupts = Interrupts(clock)
        self.leaving = Leaving(self, ladder)
        self.drafts = DraftKeeper(self)
        self.panel_open = bool(getattr(settings, "show_panel", True))
        self._early: list[events.Event] = []
        """Keys, clicks and pastes that nothing could answer yet, in order."""
        if first_prompt.strip():
            self.desk.hold(first_prompt)
        for theme in THEMES:
            self.register_theme(theme)
        theme = pick_theme(str(getattr(settings, "theme", "auto")))
        # Set plainly it would be watched, and the style sheet parsed a second time before the
        # first paint.
        self.set_reactive(AgentTuiApp.theme, theme)
        self.stylesheet.set_variables(self.get_css_variables())
        self.signals = TerminalSignals(
            self.to_terminal,
            lambda: self.settings,
            lambda: self.app_focus,
            mark=self.glyphs.running,
        )

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    # --- layout --------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The frame. What body.py adds stands between the header and the composer's rule, and
        in the side panel."""
        glyphs = self.glyphs
        completion = CompletionList(glyphs, id="completion")
        with Horizontal(id="columns"):
            with Vertical(id="left"):
                yield HeaderLine(glyphs, id="header")
                yield ThinRule(glyphs, classes="rule", id="header-rule")
                yield SafeStatic(id="place")
                self.composer_rule = ThinRule(glyphs, id="composer-rule")
                yield self.composer_rule
                yield completion
                with Horizontal(id="prompt-row"):
                    yield SafeStatic(glyphs.prompt, id="prompt-mark")
                    yield Composer(completion, self.key_table, id="composer")
            self.panel = SidePanel(PANELS, glyphs, id="panel")
            yield self.panel
        yield ThinRule(glyphs, classes="rule", id="status-rule")
        yield StatusLine(glyphs, id="status")

    def on_mount(self) -> None:
        self.leaving.bind(asyncio.get_running_loop())
        choose_scrollbars(self.glyphs)
        self.screen.set_class(self.glyphs is ASCII, "-ascii")
        self.set_keymap(self.key_table.changes)
        self.composer = self.query_one(Composer)
        self.status_line = self.query_one(StatusLine)
        self.composer.draft_changed = self.drafts.changed
        self.composer.running = lambda: self.desk.running
        self.composer.clock = self.clock
        self.query_one(CompletionList).hide()
        self.history = KeptHistory(self.composer.past)
        # The frame is painted first; imports, servers and keys come after.
        self.call_after_refresh(self.run_worker, self._grow, name="growing")

    # --- growing up ----------------------------------------------------------------------

    async def _grow(self) -> None:
        grow = await asyncio.to_thread(_read_body)
        await grow(self)
        self.composer.offer_key = self._offer_key
        self.composer.keys_are_elsewhere = lambda: self.search_takes_keys
        self.grown = True
        for part in ("choices", "selected"):
            self.watch(self.composer.completion, part, self._hint, init=False)
        self._fit(self.size)
        self.show_queue()
        self.view.status()
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self.view.joints())
        self.app_resume_signal.subscribe(self, self._back_from_suspension)
        self.face.begin()
        self.opener.open()
        self.call_next(self._catch_up)

    async def on_event(self, event: events.Event) -> None:
        """While the parts that answer are not there, or have not caught up, what is typed waits
        for them; letters for the draft need none of them."""
        given = isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded
        if given and (self._early or not self.grown) and not self._is_for_draft(event):
            self._early.append(event)
        else:
            await super().on_event(event)

    def _is_for_draft(self, event: events.Event) -> bool:
        return not self._early and isinstance(event, events.Key) and event.is_printable

    async def _catch_up(self) -> None:
        while self._early:
            await super().on_event(self._early.pop(0))

    def _back_from_suspension(self, _: object) -> None:
        """After Ctrl+Z and fg the terminal is empty; Textual 8.2 draws only what changes then."""
        self.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        if self.grown:
            self._fit(event.size)
        else:
            self.place_panel(event.size.width)

    def _fit(self, size: Size) -> None:
        """What the style sheet cannot say: the queue's lines, and whether the panel is there."""
        self.queue_view.max_lines = 6 if size.height >= 20 else 2 if size.height >= 10 else 1
        self.dialogs.fit(size.height - 2, tiny=size.height < 10)
        self.screen.set_class(size.width < SLIM, "-slim")
        self.place_panel(size.width)

    # --- events -------------------------------------------------------------------------------

    @on(m.EventArrived)
    async def _event_arrived(self, message: m.EventArrived) -> None:
        await self.router.handle(message.event)

    @on(m.PanelsChanged)
    def _panels_changed(self) -> None:
        self.router.panels_drawn()
        self.view.panels()
        self.view.keep_time()

    def on_context_panel_count_wanted(self) -> None:
        conversation = self.desk.conversation
        if conversation is not None:
            self.run_worker(
                conversation.measure_context(), group="count", exclusive=True, exit_on_error=False
            )

    # --- what the desk and the asker ask of the screen (Face) ------------------------------------

    def settings_loaded(self, settings: Any) -> None:
        """All of them, as loaded after the first paint; what it showed stays as it is."""
        self.settings = settings
        self.face.loaded()

    def notice(self, level: Level, text: str) -> None:
        self.transcript.add_notice(level, text)

    def flash(self, text: str) -> None:
        self.status_line.flash(text)

    def show_queue(self) -> None:
        self.view.queue()

    def composer_focus(self) -> None:
        self.composer.focus()

    def call_will_not_run(self, call_id: str) -> None:
        self.presenter.tools.will_not_run(call_id)
        self.transcript.call_will_not_run(call_id)
        self.view.panels()

    def show_result(self, result: "CommandResult", line: str) -> None:
        """What a slash command gave back."""
        self.command_results.show(result, line)

    def on_transcript_image_wanted(self, message: "Transcript.ImageWanted") -> None:
        self.command_results.image_viewer.show(message.pictures, message.first)

    def to_terminal(self, text: str) -> None:
        """As it is, past Textual."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(text)

    # --- what the user does --------------------------------------------------------------------

    def _offer_key(self, key: str) -> bool:
        dialog = self.dialogs.current
        if dialog is None or self.composer.errand is not None or dialog.has_focus:
            return False
        if held := dialog.take_back():
            if key == "escape":
                self.flash("Taken back; nothing was answered.")
                return True
            self.composer.insert_typed(held)
            return False
        quiet = self.clock() - self.composer.last_key_at
        return dialog.offer_key(key, quiet_s=quiet, draft_empty=self.composer.is_empty)

    def _was_an_answer(self, text: str) -> bool:
        """A draft of a bare yes or no, sent while a question waits (decision 0006)."""
        dialog = self.dialogs.current
        if dialog is None or not dialog.reads_answer(text):
            return False
        if dialog.is_new:
            self.composer.give_back(text)
            self.flash("A question has just come: look at it, then Enter answers it.")
            return True
        return dialog.answer_in_words(text)

    @on(m.SendRequested)
    def _send(self, message: m.SendRequested) -> None:
        if self._was_an_answer(message.text):
            return
        if self.desk.conversation is None:
            self.opener.open()
        if not self.desk.running or message.text.lstrip().startswith("/"):
            # What this brings stands at the end; a steer alone does not take one's place away.
            self.transcript.scroll_to_end()
        self.run_worker(self.desk.send(message.text), group="send", exit_on_error=False)

    @on(m.FollowUpRequested)
    def _follow_up(self, message: m.FollowUpRequested) -> None:
        if self._was_an_answer(message.text):
            return
        send = self.desk.send(message.text, follow_up=True)
        self.run_worker(send, group="send", exit_on_error=False)

    @on(m.StopRequested)
    def _stop(self) -> None:
        if self.desk.stop() or ((asked := self.dialogs.current) is not None and asked.leave()):
            return
        if self.drawer_open:
            self.drawer_open = False
            self.place_panel()
        elif self.grown:
            self.tour.escape()

    @on(m.InterruptRequested)
    def _interrupt(self) -> None:
        self.action_interrupt()

    @on(m.LeaveRequested)
    def _leave(self) -> None:
        self.leaving.begin(0)

    @on(m.RecallRequested)
    def _recall(self) -> None:
        self.desk.recall()

    @on(m.EditorRequested)
    def _edit(self, message: m.EditorRequested) -> None:
        self.run_worker(self._visit_editor(message.text, message.saved), exit_on_error=False)

    @on(m.ReadAll)
    def _read_all(self, message: m.ReadAll) -> None:
        self.run_worker(self._visit_editor(message.text), exit_on_error=False)

    async def _visit_editor(
        self, text: str, saved: Callable[[str], None] = lambda text: None
    ) -> None:
        """saved() gets what was saved there."""
        from agent_tui.tui.external_editor import EditorError, visit_editor

        try:
            saved(await visit_editor(self, text))
        except EditorError as error:
            self.notice("warning", str(error))

    @on(m.QueueAction)
    def _queue_action(self, message: m.QueueAction) -> None:
        self.desk.act_on_queue(message)

    @on(m.StopCallRequested)
    def _stop_call(self, message: m.StopCallRequested) -> None:
        if message.asks_why:
            self.desk.ask_why_stop(message.call_id)
        else:
            self.desk.stop_call(message.call_id)

    @on(m.PanelLeft)
    def _panel_left(self) -> None:
        self.leave_panel()

    @on(m.ServerAction)
    def _server_action(self, message: m.ServerAction) -> None:
        self.desk.act_on_server(message.action, message.server)

    @on(m.PermissionAnswered)
    def _answered(self, message: m.PermissionAnswered) -> None:
        if message.decision == "reason":
            self.desk.ask_reason(message.request_id)
        else:
            self.desk.answer(message.request_id, message.decision)

    @on(m.QuestionAnswered)
    def _question_answered(self, message: m.QuestionAnswered) -> None:
        self.desk.answer_question(message.request_id, message.action, message.content)

    @on(m.DialogLeft)
    def _dialog_left(self, message: m.DialogLeft) -> None:
        self.composer.focus()
        if message.character:
            self.composer.insert_typed(message.character)

    @on(m.Flash)
    def _flash(self, message: m.Flash) -> None:
        self.flash(message.text)

    @on(m.DialogsChanged)
    @on(m.DraftChanged)
    @on(LabelChanged)
    def _composer_changed(self) -> None:
        self.composer_rule.label = self.composer.label
        self._hint()

    def on_descendant_focus(self) -> None:
        self._hint()

    def _hint(self) -> None:
        if self.grown:
            self.view.hints()

    def on_transcript_new_lines(self, message: "Transcript.NewLines") -> None:
        end = self.key_table.first("end")
        self.composer_rule.note = (
            f"{counted(message.count, 'new line')} below  {end}" if message.count else ""
        )

    # --- keys (keys.py, "screen") -----------------------------------------------------------------

    def action_interrupt(self) -> None:
        """Ctrl+C (interrupts.py says what it means now)."""
        composer = self.composer
        running = self.desk.running
        if not running and composer.is_empty and self.desk.stop():
            return
        if not running and (selected := self._selected_text()):
            self.copy_text(selected, "the selection")
            return
        meaning = self.interrupts.press(
            running=running,
            stopping=self.desk.stopping,
            draft_empty=composer.is_empty and composer.errand is None,
            last_key_at=composer.last_key_at,
        )
        match meaning:
            case "stop":
                self.desk.stop()
            case "clear" if composer.errand is not None:
                composer.end_errand(left=True)
            case "clear":
                composer.clear_into_history()
            case "arm_quit":
                self.status_line.flash("Ctrl+C again quits", QUIT_WITHIN_S)
            case "arm_force":
                self.status_line.flash("still stopping; Ctrl+C again leaves now", FORCE_WITHIN_S)
            case "quit":
                self.leaving.begin(0)
            case "force":
                self.leaving.begin(130)

    def _selected_text(self) -> str:
        return self.screen.get_selected_text() or self.composer.selected_text

    def action_copy_selection(self) -> None:
        if selected := self._selected_text():
            self.copy_text(selected, "the selection")

    def on_key(self, event: events.Key) -> None:
        """What is typed where nothing takes it belongs to the composer."""
        if self.search_takes_keys:
            return self.search_line.take(event)
        has_keys = [self.queue_view, self.mcp_panel]
        if self.presenter.tools.under_way:
            has_keys.append(self.tools_panel)
        if self.screen.is_modal or any(widget.has_focus for widget in has_keys):
            return
        if event.is_printable and event.character and event.key not in self.screen.active_bindings:
            self.composer.focus()
            self.composer.typed_elsewhere(event.key, event.character)

    def on_paste(self, event: events.Paste) -> None:
        if not self.screen.is_modal and not self.composer.has_focus:
            self.composer.focus()
            self.composer.paste(event.text)

    def on_crash(self) -> None:
        self.signals.end()
        self.drafts.record()
        self.leaving.crashed()


def _read_body() -> "Callable[[AgentTuiApp], Awaitable[None]]":
    from agent_tui import heap
    from agent_tui.tui.body import grow

    heap.keep_tight()
    return grow
