"""The parts of the screen that come right after its first paint.

Reading their modules takes longer than painting the frame (app.py), so that is done in a thread
meanwhile; keys that only these parts can answer wait for them.
"""

from typing import TYPE_CHECKING, Any

from agent_tui.tui.asking import ScreenAsker
from agent_tui.tui.command_results import CommandResults
from agent_tui.tui.dialog_area import DialogArea
from agent_tui.tui.face_settings import FaceSettings
from agent_tui.tui.key_problems import key_problems
from agent_tui.tui.opener import Opener
from agent_tui.tui.panels.container_panel import ContainerPanel
from agent_tui.tui.panels.context_panel import ContextPanel
from agent_tui.tui.panels.loop_panel import LoopPanel
from agent_tui.tui.panels.mcp_panel import McpPanel
from agent_tui.tui.panels.tools_panel import ToolsPanel
from agent_tui.tui.plain import ThinRule
from agent_tui.tui.presenter import Presenter
from agent_tui.tui.queue_view import QueueView
from agent_tui.tui.retry_line import RetryLine
from agent_tui.tui.router import Router
from agent_tui.tui.search_line import SearchLine
from agent_tui.tui.tour.tour import Tour
from agent_tui.tui.transcript import Transcript
from agent_tui.tui.view import View

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp


async def grow(app: "AgentTuiApp") -> None:
    """Make the parts and put them in their places."""
    glyphs = app.glyphs
    thinking: Any = getattr(app.settings, "show_thinking", "folded")
    app.presenter = Presenter(app.clock)
    app.command_results = CommandResults(app)
    app.asker = ScreenAsker(app)
    app.opener = Opener(app, app.starter, app.banner)
    app.router = Router(app)
    app.face = FaceSettings(app)
    app.tour = Tour(app)
    app.transcript = Transcript(glyphs=glyphs, thinking=thinking, clock=app.clock, id="transcript")
    app.search_line = SearchLine(glyphs, app.key_table, id="search")
    app.dialogs = DialogArea(id="dialogs")
    app.queue_view = QueueView(glyphs, id="queue")
    app.tools_panel = ToolsPanel(glyphs, id="tools")
    app.mcp_panel = McpPanel(glyphs, id="mcp", clock=app.clock)
    with app.batch_update():
        await app.query_one("#left").mount(
            app.transcript,
            app.search_line,
            RetryLine(glyphs, id="retry"),
            app.dialogs,
            ThinRule(glyphs, classes="rule", id="queue-rule"),
            app.queue_view,
            before="#place",
        )
        await app.panel.fill(
            [
                app.tools_panel,
                ContainerPanel(glyphs, id="container"),
                LoopPanel(glyphs, id="loop"),
                app.mcp_panel,
                ContextPanel(glyphs, id="context"),
            ]
        )
        await app.query_one("#place").remove()
    app.view = View(app)
    for problem in key_problems(app.key_table):
        app.notice("warning", problem)
