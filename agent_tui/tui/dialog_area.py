"""Where questions stand, one at a time, the oldest first."""

from textual.containers import Vertical

from agent_tui.tui.messages import DialogLeft, DialogsChanged
from agent_tui.tui.screens.approval import ApprovalDialog
from agent_tui.tui.screens.inline import InlineDialog
from agent_tui.tui.screens.server_question import ServerQuestionDialog


class DialogArea(Vertical):
    """Holds every question that waits; only the first is mounted."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._waiting: list[InlineDialog] = []
        self._room = 1

    def on_mount(self) -> None:
        self.display = False

    def fit(self, height: int, *, tiny: bool) -> None:
        """height: rows of the column it stands in. The title, the keys and the transcript keep
        theirs; the text between them scrolls."""
        self._room = 1 if tiny else max(1, int(height * 0.6) - 4)
        if self.current is not None:
            self.current.room = self._room

    @property
    def current(self) -> InlineDialog | None:
        return self._waiting[0] if self._waiting else None

    async def add(self, dialog: InlineDialog) -> None:
        self._waiting.append(dialog)
        if len(self._waiting) == 1:
            await self._show_first(keep_focus=False)
        self._count()

    async def close(self, dialog: InlineDialog) -> bool:
        """Take a question away; True when it had the focus and none follows to inherit it."""
        if dialog not in self._waiting:
            return False
        if held := dialog.take_back():  # it went before its answer was given: nothing is lost
            self.post_message(DialogLeft(held))
        was_first, had_focus = self._waiting[0] is dialog, dialog.has_focus
        self._waiting.remove(dialog)
        if dialog.is_mounted:
            await dialog.remove()
        if was_first:
            await self._show_first(keep_focus=had_focus)
        self._count()
        return had_focus and not self._waiting

    def approval(self, request_id: str) -> ApprovalDialog | None:
        for dialog in self._waiting:
            if isinstance(dialog, ApprovalDialog) and dialog.request.request_id == request_id:
                return dialog
        return None

    def question(self, request_id: str) -> ServerQuestionDialog | None:
        """The box of a question of an MCP server."""
        for dialog in self._waiting:
            if (
                isinstance(dialog, ServerQuestionDialog)
                and dialog.question.request_id == request_id
            ):
                return dialog
        return None

    async def _show_first(self, *, keep_focus: bool) -> None:
        first = self.current
        self.display = first is not None
        if first is None:
            return
        first.room = self._room
        await self.mount(first)
        first.begin_grace()
        if keep_focus:
            first.focus()

    def _count(self) -> None:
        self.post_message(DialogsChanged())
        if self.current is not None:
            self.current.waiting = len(self._waiting)
