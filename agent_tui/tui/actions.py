"""What the keys that act anywhere do (keys.py, "screen"), and the palette."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App, SystemCommand
from textual.screen import Screen

from agent_tui.tui.lines import one_line
from agent_tui.tui.messages import Flash, SendRequested

if TYPE_CHECKING:  # light: the first paint waits for it
    from agent_tui.tui.composer import Composer
    from agent_tui.tui.dialog_area import DialogArea
    from agent_tui.tui.keys import KeyTable
    from agent_tui.tui.leaving import Leaving
    from agent_tui.tui.panels.mcp_panel import McpPanel
    from agent_tui.tui.panels.side_panel import SidePanel
    from agent_tui.tui.panels.tools_panel import ToolsPanel
    from agent_tui.tui.queue_view import QueueView
    from agent_tui.tui.tour.tour import Tour
    from agent_tui.tui.transcript import Transcript


class ScreenActions(App[int], inherit_bindings=False):
    """Base of AgentTuiApp: the Textual actions that touch only one part of the screen."""

    WIDE = 100
    """Columns from which the side panel stands beside the transcript."""

    transcript: "Transcript"
    composer: "Composer"
    queue_view: "QueueView"
    dialogs: "DialogArea"
    panel: "SidePanel"
    tools_panel: "ToolsPanel"
    mcp_panel: "McpPanel"
    tour: "Tour"
    key_table: "KeyTable"
    leaving: "Leaving"
    panel_open: bool
    """Whether the panel is wanted where it stands beside the transcript."""
    _showed_panel = False
    drawer_open = False
    """Whether it is wanted where it is a drawer."""

    def place_panel(self, width: int | None = None) -> None:
        """Show the panel or not; width: the screen's, when it is about to change."""
        wide = (width or self.size.width) >= self.WIDE
        self.panel.display = self.panel_open if wide else self.drawer_open

    @property
    def beside(self) -> bool:
        """Wide enough for the panel to stand beside the transcript."""
        return self.size.width >= self.WIDE

    def action_focus_queue(self) -> None:
        if self.queue_view.has_focus or not self.queue_view.entries:
            self.composer.focus()
        else:
            self.queue_view.focus()

    def action_focus_tools(self) -> None:
        """To the calls of the side panel, which is shown for it; or back."""
        self._focus_panel(self.tools_panel)

    def action_focus_mcp(self) -> None:
        """To the MCP servers of the side panel, likewise."""
        self._focus_panel(self.mcp_panel)

    def _focus_panel(self, panel: "ToolsPanel | McpPanel") -> None:
        if panel.has_focus:
            return self.leave_panel()
        self._showed_panel = self._showed_panel or not self.panel.display
        if not self.panel.display:
            self.action_toggle_panel()
        self.panel.show_panel(panel.id or "")
        panel.focus()

    def leave_panel(self) -> None:
        """The keys go back to the composer; a panel that was shown for them only goes."""
        if self._showed_panel and self.panel.display:
            self.action_toggle_panel()
        self._showed_panel = False
        self.composer.focus()

    def action_focus_dialog(self) -> None:
        dialog = self.dialogs.current
        if dialog is None or dialog.has_focus:
            self.composer.focus()
        else:
            dialog.take_focus()

    def action_suspend_process(self) -> None:
        """Ctrl+Z; see suspending.py."""
        from agent_tui.tui.suspending import stop_job

        self._suspend_signal()
        stop_job(self._driver)

    def action_toggle_panel(self) -> None:
        if self.beside:
            self.panel_open = not self.panel_open
        else:
            self.drawer_open = not self.drawer_open
        self.place_panel()

    def action_next_panel(self) -> None:
        self.panel.choose_next()

    def action_toggle_tools(self) -> None:
        self.transcript.toggle_tools()

    def action_toggle_thinking(self) -> None:
        self.transcript.toggle_thinking()

    def action_page_up(self) -> None:
        self.transcript.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        self.transcript.scroll_page_down(animate=False)

    def action_scroll_top(self) -> None:
        self.transcript.scroll_home(animate=False)

    def action_scroll_bottom(self) -> None:
        self.transcript.scroll_to_end()

    def action_tour_skip(self) -> None:
        self.tour.skip()

    def action_help(self) -> None:
        from agent_tui.tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.key_table, self.composer.commands()))

    def action_command_palette(self) -> None:
        from agent_tui.tui.palette import CalmPalette, Commands

        if not isinstance(self.screen, CalmPalette):
            self.push_screen(CalmPalette(providers=[Commands], placeholder="Search for a command"))

    def search_themes(self) -> None:
        """Textual's action_change_theme ends here."""
        from agent_tui.tui.palette import CalmPalette, Themes

        self.push_screen(CalmPalette(providers=[Themes], placeholder="Search for a theme"))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette (Ctrl+P)."""
        yield SystemCommand("Help", "Every key and command", self.action_help)
        yield SystemCommand("Side panel", "Show or hide it", self.action_toggle_panel)
        yield SystemCommand("Theme", "Choose the colours", self.action_change_theme)
        yield SystemCommand("Quit", "End agent-tui", lambda: self.leaving.begin(0))
        for name, usage, about in self.composer.commands():
            run = partial(self._command_chosen, name, takes_words=usage.strip() != f"/{name}")
            yield SystemCommand(f"/{name}", one_line(about), run)

    def _command_chosen(self, name: str, *, takes_words: bool) -> None:
        """A slash command of the palette: it runs; one that takes words goes into the composer,
        for them to be typed."""
        if not takes_words:
            self.post_message(SendRequested(f"/{name}"))
        elif self.composer.errand is None:
            if not self.composer.is_empty:
                self.composer.action_stash()
                key = self.key_table.first("stash")
                back = f"Your draft is put away: {key} on an empty line brings it back."
                self.composer.post_message(Flash(back))
            self.composer.load(f"/{name} ")
            self.composer.focus()
        else:
            self.composer.post_message(Flash("First end what you edit here: Enter or Esc."))
