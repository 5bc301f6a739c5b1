"""CommandResults: does on the screen what a slash command asks of a face."""

from typing import TYPE_CHECKING

from agent_tui.conversation.results import CommandResult

if TYPE_CHECKING:
    from agent_tui.tui.app import AgentTuiApp
    from agent_tui.tui.image_viewer import ImageViewer


class CommandResults:
    """One for the app, made with its later parts (body.py)."""

    def __init__(self, app: "AgentTuiApp") -> None:
        self._app = app
        self._image_viewer: ImageViewer | None = None

    def show(self, result: CommandResult, line: str) -> None:
        """What a slash command gave back."""
        app = self._app
        data = result.data or {}
        if result.error:
            app.notice("error", result.error)
        match result.action:
            case "quit":
                app.leaving.begin(0)
            case "clear":
                app.transcript.clear()
                app.presenter.clear()
                app.view.panels()
                app.drafts.record()  # what is typed and put away by now belongs to the new session
            case "login":
                app.opener.log_in()
            case "reload":
                app.opener.reload()
            case "copy":
                app.copy_asked(data)
            case "image":
                self.image_viewer.fetched(data)
            case "resume_picker":
                app.opener.pick_session(data.get("sessions", []))
                return
            case "settings" if line.strip() == "/settings":
                self._open_settings()
                return
            case "help" if line.strip() == "/help":
                app.action_help()
                return
            case _:
                pass
        if result.text:
            app.transcript.add_markdown(app.view.fitting(result.text))

    @property
    def image_viewer(self) -> "ImageViewer":
        """Made when the first image is opened: few ever are."""
        if self._image_viewer is None:
            from agent_tui.tui.image_viewer import ImageViewer

            self._image_viewer = ImageViewer(self._app)
        return self._image_viewer

    def _open_settings(self) -> None:
        from agent_tui.tui.screens.settings import SettingsScreen

        app, conversation = self._app, self._app.desk.conversation
        if conversation is None:
            return

        def closed(line: str | None) -> None:
            app.tour.saw("settings")
            if line is not None and app.composer.is_empty:
                app.composer.load(f"/settings {line}")

        app.push_screen(
            SettingsScreen(
                conversation.held_settings.rows,
                lambda line: conversation.command(f"/settings {line}"),
            ),
            closed,
        )
