"""Where events go. The subscriber is synchronous and cheap: the transcript's frame buffer takes
everything in order; deltas end there, whole things travel on as one Textual message each."""

from typing import TYPE_CHECKING

from agent_tui.conversation.results import CommandResult
from agent_tui.tui import messages as m
from agent_tui.tui.screens.approval import ApprovalDialog
from agent_tui.tui.screens.server_question import question_dialog

if TYPE_CHECKING:
    from agent_tui.conversation.event_hub import AnyEvent
    from agent_tui.tui.app import AgentTuiApp


class Router:
    """receive() is what the conversation calls; handle() runs in the app's message loop."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._panels_under_way = False

    def receive(self, event: "AnyEvent") -> None:
        app = self._app
        if not app.is_running:
            return
        if event.type == "command_ran":
            # At once: what the new session says follows, and must not be cleared with the old.
            result = CommandResult(event.text, event.error, event.action, event.data)
            app.show_result(result, event.line)
        app.transcript.apply(event)
        changed = app.presenter.apply(event)
        if event.type not in ("message_update", "tool_execution_update"):
            app.post_message(m.EventArrived(event))
        elif changed and not self._panels_under_way:
            self._panels_under_way = True
            app.post_message(m.PanelsChanged())

    def panels_drawn(self) -> None:
        self._panels_under_way = False

    async def handle(self, event: "AnyEvent") -> None:
        """Draw what the event changed; the presenter has taken it already, in order."""
        app = self._app
        app.signals.apply(event)
        match event.type:
            case "queue_changed":
                app.desk.paused = event.paused
                app.view.queue()
                app.view.hints()
            case "permission_request":
                app.view.panels()
                line = app.transcript.line_of_call(event.caller, event.tool_name, event.arguments)
                await app.dialogs.add(ApprovalDialog(event, app.glyphs, clock=app.clock, line=line))
            case "permission_delayed":
                dialog = app.dialogs.approval(event.request_id)
                if dialog is not None:
                    dialog.delayed(event)
            case "permission_resolved":
                app.view.panels()
                own = event.decision in ("allow", "allow_always", "deny")
                await self.close_approval(event.request_id, by_itself=not own)
            case "mcp_server_changed":
                app.mcp_panel.changed(event.server)
            case "server_question":
                dialog = question_dialog(event, app.glyphs, app.clock)
                await app.dialogs.add(dialog)
                if event.kind == "login":
                    app.desk.open_address(event.url)
            case "server_question_resolved":
                await self.close_question(event.request_id)
            case "tool_execution_start" | "tool_execution_end" | "container_changed":
                app.view.panels()
                if event.type == "tool_execution_end":
                    self._leave_ended_calls()
            case "retry":
                app.view.retry()
            case "status":
                app.view.retry()
                app.view.panels()
                app.view.hints()
            case "agent_end":
                app.view.panels()
                self._leave_ended_calls()
                app.view.read_folder()
            case "usage" | "cache" | "context":
                app.view.context()
            case "setting_changed":
                app.view.context()
                if app.desk.conversation is not None:
                    app.face.changed(app.desk.conversation, event.name)
            case _:
                pass
        app.view.loop()
        app.view.status()
        app.view.keep_time()

    def _leave_ended_calls(self) -> None:
        """With no call left to stop, the keys go back to the composer."""
        app = self._app
        if app.tools_panel.has_focus and not app.presenter.tools.under_way:
            app.composer.mode_ended()
            app.leave_panel()

    async def close_question(self, request_id: str) -> None:
        """A question of a server is answered or taken back."""
        dialog = self._app.dialogs.question(request_id)
        if dialog is not None and await self._app.dialogs.close(dialog):
            self._app.composer.focus()

    async def close_approval(self, request_id: str, *, by_itself: bool = False) -> None:
        """Answered, here or elsewhere, or withdrawn (by_itself): its box goes, and so does a
        half-written reason for it."""
        app = self._app
        errand = app.composer.errand
        if errand is not None and errand.name == request_id:
            app.composer.end_errand(left=True)
            if by_itself:
                app.composer.mode_ended()
        dialog = app.dialogs.approval(request_id)
        if dialog is not None and await app.dialogs.close(dialog):
            if by_itself:
                app.composer.mode_ended()
            app.composer.focus()
