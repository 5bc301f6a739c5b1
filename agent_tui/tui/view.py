"""View: puts the states into the widgets, and lets the screen tick only while something moves."""

import asyncio
import os
from typing import TYPE_CHECKING

from agent_tui.tui.folder import describe_folder
from agent_tui.tui.header_line import HeaderLine
from agent_tui.tui.panels.container_panel import ContainerPanel
from agent_tui.tui.panels.context_panel import ContextPanel
from agent_tui.tui.panels.loop_panel import LoopPanel
from agent_tui.tui.panels.tools_panel import ToolsPanel
from agent_tui.tui.plain import ThinRule
from agent_tui.tui.retry_line import RetryLine
from agent_tui.tui.search_line import SearchLine

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp
    from agent_tui.tui.keys import HintState


MODES: frozenset["HintState"] = frozenset(
    ("queue", "tools", "mcp", "search", "transcript", "matches", "errand", "asked")
)
"""States in which the keys do not write: what they do has to be seen."""


class View:
    """One for the app, made when it is mounted. Each method draws one part as it is now."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._header = app.query_one(HeaderLine)
        self._tools = app.query_one(ToolsPanel)
        self._container = app.query_one(ContainerPanel)
        self._context = app.query_one(ContextPanel)
        self._loop = app.query_one(LoopPanel)
        self._retry = app.query_one(RetryLine)
        self._search = app.query_one(SearchLine)
        self._left = app.query_one("#left")
        self._status_rule = app.query_one("#status-rule", ThinRule)
        self._queue_rule = app.query_one("#queue-rule", ThinRule)
        self._ticker = app.set_interval(1.0, self.tick, pause=True)

    def fitting(self, text: str) -> str:
        """What a command told, for the width that is there now: the table of /usage in its
        narrow form where the whole would not fit."""
        from agent_tui.conversation.commands.usage import HEAD, narrowed
        from agent_tui.tui.transcript.table import shape_of

        lines = text.split("\n")
        if lines[0] != HEAD:
            return text
        columns = shape_of([line for line in lines if line.startswith("|")])
        wide = sum(columns) + 3 * (len(columns) - 1)
        return text if wide <= self._app.transcript.size.width - 4 else narrowed(text)

    def queue(self) -> None:
        app = self._app
        conversation = app.desk.conversation
        entries = app.desk.held_entries() if conversation is None else conversation.queue()
        app.queue_view.show(entries)
        self._queue_rule.display = bool(entries)
        self.hints()

    def joints(self) -> None:
        """Where the thin rules meet the panel's edge; after each layout."""
        app = self._app
        edge = app.panel.edge
        beside = app.panel.display and app.beside
        rows: list[tuple[int, str]] = []
        if beside:
            listed = app.composer.completion.region
            # The list lies over the rule: of that no end shall look out beside it.
            hidden = listed.line_range if listed.width + 1 >= self._left.region.width else ()
            across = {rule.region.y for rule in app.panel.query(ThinRule) if rule.region}
            rows = [
                (y - edge.region.y, app.glyphs.cross if y in across else app.glyphs.tee_left)
                for y in (rule.region.y for rule in self._left.query(ThinRule) if rule.region)
                if y not in hidden
            ]
        edge.joints = tuple(rows)
        self._status_rule.joint = edge.region.x if beside else -1

    def panels(self) -> None:
        presenter = self._app.presenter
        self.hints()
        self._tools.show(presenter.tools, self._app.clock())
        self._container.show(presenter.container)
        self._context.show(presenter.context)
        self.loop()

    def loop(self) -> None:
        self._loop.show(self._app.presenter.loop)

    def context(self) -> None:
        self._context.show(self._app.presenter.context)

    def status(self) -> None:
        app = self._app
        app.presenter.status.silence_limit_s = getattr(app.settings, "idle_timeout_s", None)
        app.status_line.show(app.presenter.status)

    def retry(self) -> None:
        self._retry.show(self._app.presenter.retry, self._app.clock())

    def hints(self) -> None:
        app = self._app
        dialog = app.dialogs.current
        asks = dialog is not None and not dialog.has_focus
        hints = app.key_table.hints(state := self._hint_state())
        takes_enter = self._question_takes_enter
        app.queue_view.question = takes_enter
        if takes_enter and state in ("idle", "paused", "running", "asked"):
            answers = app.key_table.hints("choice")
            if dialog is not None and dialog.can_be_left and state != "running":
                answers += app.key_table.hints("leavable")
            enter = app.key_table.first("send")
            hints = [*answers, *(hint for hint in hints if hint[0] != enter)]
        elif dialog is not None and dialog.can_be_left and state == "draft":
            hints[1:1] = app.key_table.hints("leavable")
        if state == "running" and not asks and app.presenter.tools.under_way:
            hints[-1:-1] = app.key_table.hints("calls")
        if state == "running" and app.desk.paused and app.composer.is_empty and not takes_enter:
            # Enter on an empty line steers nothing: it lets out what waits.
            send, *others = hints
            hints = [(send[0], "resume"), *others]
        if state == "errand" and (errand := app.composer.errand) is not None:
            own = {"save": errand.saves, "cancel": errand.leaves}
            hints = [(key, own.get(word, word)) for key, word in hints]
        if state in ("draft", "running") and not takes_enter:
            hints = self._hints_of_draft(hints)
        app.status_line.in_mode = state in MODES
        # First: a question that nobody sees waits for ever.
        app.status_line.hints = (*(app.key_table.hints("dialog") if asks else ()), *hints)

    def _hints_of_draft(self, hints: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Who will see what `!` and `!!` give; that the paste beside the cursor can be opened."""
        app = self._app
        if bang := app.composer.bang:
            seen = "run: only you see it" if bang == "!!" else "run: the model sees it"
            hints = [(hints[0][0], seen), *hints[1:]]
        if app.composer.placeholder_at_cursor() is not None:
            hints.insert(1, (app.key_table.first("open_paste"), "open"))
        return hints

    @property
    def _question_takes_enter(self) -> bool:
        """Enter answers a question now, and neither sends nor resumes anything."""
        app = self._app
        dialog = app.dialogs.current
        if dialog is None or not dialog.takes_enter:
            return False
        composer = app.composer
        return dialog.has_focus or (composer.is_empty and composer.errand is None)

    def _hint_state(self) -> "HintState":
        app = self._app
        if (dialog := app.dialogs.current) is not None and dialog.has_focus:
            return "asked"
        if app.queue_view.has_focus:
            return "queue"
        if self._tools.has_focus:
            return "tools"
        if self._search.has_focus:
            return "search"
        if app.transcript.has_focus:
            return "matches" if app.transcript.searching else "transcript"
        if app.mcp_panel.has_focus:
            return "mcp"
        if app.composer.chooses:
            return "list"
        if app.composer.errand is not None:
            return "errand"
        if app.desk.stopping:
            return "stopping"
        if app.desk.running:
            return "running"
        if not app.composer.is_empty:
            return "draft"
        return "paused" if app.queue_view.entries else "idle"

    def demo(self, words: str) -> None:
        self._header.warning = words
        self._app.status_line.demo = bool(words)

    def read_folder(self) -> None:
        """The folder and its git branch, read in a thread."""

        async def read() -> None:
            conversation = self._app.desk.conversation
            cwd = conversation.cwd if conversation else await asyncio.to_thread(os.getcwd)
            folder = str(await asyncio.to_thread(describe_folder, cwd))
            self._app.signals.folder(os.path.basename(cwd))  # noqa: PTH119 - of any path
            self._header.folder = self._app.status_line.folder = folder

        self._app.run_worker(read, group="folder", exclusive=True, exit_on_error=False)

    def keep_time(self) -> None:
        """Tick once a second while something shown moves with time, and not otherwise."""
        if self._app.presenter.moving:
            self._ticker.resume()
        else:
            self._ticker.pause()

    def tick(self) -> None:
        self._app.presenter.tick()
        self.panels()
        self.status()
        self.retry()
        self.keep_time()
