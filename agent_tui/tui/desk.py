"""The desk: carries what the user asks for to the Conversation, and loses nothing.

It holds the texts sent before there is a conversation, runs slash commands at once, and
turns every refusal into one sentence.
"""

import asyncio
import logging
import shlex
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agent_tui.tui.composer import Errand
from agent_tui.tui.lines import one_line

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation, Decision
    from agent_tui.conversation.events import QueueEntry
    from agent_tui.conversation.results import CommandResult
    from agent_tui.tui.composer import Composer
    from agent_tui.tui.dialog_area import DialogArea
    from agent_tui.tui.messages import QueueAction

log = logging.getLogger(__name__)

Level = Literal["info", "warning", "error"]


class Face(Protocol):
    """What the desk needs of the screen."""

    @property
    def composer(self) -> "Composer": ...
    @property
    def dialogs(self) -> "DialogArea": ...
    def run_worker(self, work: Any, *, group: str, exit_on_error: bool) -> Any: ...
    def notice(self, level: Level, text: str) -> None: ...
    def flash(self, text: str) -> None: ...
    def show_result(self, result: "CommandResult", line: str) -> None: ...
    def show_queue(self) -> None: ...
    def composer_focus(self) -> None: ...
    def call_will_not_run(self, call_id: str) -> None: ...


@dataclass(slots=True)
class Held:
    """A text sent before the conversation was there."""

    text: str
    follow_up: bool


class Desk:
    """conversation is None until the starter has made one."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self.conversation: Conversation | None = None
        self.held: list[Held] = []
        self._in_order = asyncio.Lock()

    # --- state -------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self.conversation is not None and self.conversation.status != "ready"

    @property
    def stopping(self) -> bool:
        return self.conversation is not None and self.conversation.status == "stopping"

    def held_entries(self) -> "list[QueueEntry]":
        """The held texts, as the queue shows them."""
        from agent_tui.conversation.events import QueueEntry

        return [
            QueueEntry(f"held-{at}", "follow_up", held.text, "held", "when the model is there")
            for at, held in enumerate(self.held)
        ]

    # --- sending -----------------------------------------------------------------------

    async def attach(self, conversation: "Conversation") -> None:
        """The conversation is there: what was held goes out, in order."""
        self.conversation = conversation
        held, self.held = self.held, []
        self._face.show_queue()
        for item in held:
            await self.send(item.text, follow_up=item.follow_up)

    async def let_go(self) -> "Conversation | None":
        """The conversation, to be closed for another one: what is on its way to it gets there
        first, what is said from here on is held. None: there is none, or a run is on."""
        async with self._in_order:
            conversation = self.conversation
            if conversation is None or self.running:
                return None
            self.conversation = None
            return conversation

    def hold(self, text: str, *, follow_up: bool = False) -> None:
        self.held.append(Held(text, follow_up))

    def give_back_held(self) -> None:
        """No conversation came: what waited for it goes back to the composer, in one draft."""
        held, self.held = self.held, []
        if held:
            self._face.composer.give_back("\n\n".join(item.text for item in held))
        self._face.show_queue()

    async def send(self, text: str, *, follow_up: bool = False) -> None:
        """Enter or Tab. Never raises; what could not be sent goes back to the composer."""
        from agent_tui.conversation.mentions.reading import MentionError

        conversation = self.conversation
        if conversation is None:
            if text.strip():
                self.hold(text, follow_up=follow_up)
                self._face.show_queue()
            return
        try:
            if text.lstrip().startswith("/"):
                # A command may take its time (a server that connects); texts must not wait.
                submitted = await conversation.submit(text)
            else:
                async with self._in_order:
                    if (conversation := self.conversation) is None:  # /login came in between
                        self.hold(text, follow_up=follow_up)
                        return self._face.show_queue()
                    go = conversation.follow_up if follow_up else conversation.submit
                    submitted = await go(text)
        except MentionError as error:
            self._face.composer.give_back(text)
            self._face.notice("warning", _sentence(error))
            return
        except Exception as error:
            log.exception("a text could not be sent")
            self._face.composer.give_back(text)
            self._face.notice("error", f"That could not be sent: {error}. It is not lost: Up.")
            return
        if submitted.kind == "nothing" and not self.running and conversation.queue():
            # What an earlier session left queued is not paused: Enter sends it all the same.
            conversation.queue_resume()
        if submitted.command is not None:
            self._face.show_result(submitted.command, text)
            if submitted.command.error:
                self._face.composer.mend(text)

    def act_on_server(self, action: str, server: str) -> None:
        """A key on a server of the panel: the same as the command."""
        line = f"/mcp {action} {shlex.quote(server)}"
        self._face.run_worker(self.send(line), group="send", exit_on_error=False)

    # --- stopping ----------------------------------------------------------------------

    def stop(self) -> bool:
        """Esc. True when there was something to stop: a run, and commands of the user's own."""
        if self.conversation is None:
            return False
        stopped = self.conversation.user_commands.stop()
        if not self.running:
            return stopped
        self.conversation.abort()
        return True

    def stop_call(self, call_id: str, reason: str = "") -> None:
        """One call alone; the run goes on."""
        if self.conversation is None or not self.conversation.abort_tool(call_id, reason):
            self._face.flash("Only a call that has not ended can be stopped.")
        elif self.conversation.status == "streaming":
            # What comes of it is seen only when the answer has ended.
            self._face.flash("That call will not run.")
            self._face.call_will_not_run(call_id)

    def ask_why_stop(self, call_id: str) -> None:
        """r on a call: the composer is lent for the reason; the call goes on meanwhile."""

        def save(text: str) -> bool:
            self.stop_call(call_id, text.strip())
            return True

        self._face.composer.begin_errand(
            Errand("why stop it?  Enter stops it, Esc lets it go on", save, lambda: None,
                   name=f"stop {call_id}", saves="stop it", leaves="let it go on")
        )  # fmt: skip

    # --- approvals ---------------------------------------------------------------------

    def answer(self, request_id: str, decision: "Decision", reason: str = "") -> None:
        if self.conversation and not self.conversation.answer(request_id, decision, reason):
            self._face.flash("That call no longer waits for an answer.")

    def answer_question(self, request_id: str, action: str, content: dict[str, Any] | None) -> None:
        """Of an MCP server. An address that is accepted is opened here."""
        conversation, dialog = self.conversation, self._face.dialogs.question(request_id)
        if conversation is None:
            return
        try:
            taken = conversation.answer_question(request_id, action, content)
        except ValueError as error:
            if dialog is not None:
                dialog.refused(str(error))
            return
        if not taken:
            self._face.flash("That question no longer waits for an answer.")
        elif dialog is not None and dialog.question.kind == "url" and action == "accept":
            self.open_address(dialog.question.url)

    def open_address(self, url: str) -> None:
        """In the browser; without one the user is shown what to open."""

        async def open_it() -> None:
            from agent_tui.conversation.mcp.browser import open_in_browser

            if not await asyncio.to_thread(open_in_browser, url):
                self._face.notice("info", f"There is no browser here to open it: {url}")

        self._face.run_worker(open_it(), group="browser", exit_on_error=False)

    def ask_reason(self, request_id: str) -> None:
        """r: the composer is lent for the reason."""

        def save(text: str) -> bool:
            self.answer(request_id, "deny", text.strip())
            return True

        self._face.composer.begin_errand(
            Errand("why not?  Enter sends it, Esc back", save, lambda: None, name=request_id,
                   saves="send", leaves="back")
        )  # fmt: skip

    # --- the queue ---------------------------------------------------------------------

    def recall(self) -> None:
        """Alt+Up: edit the last queued message."""
        if self.conversation is None:
            if self.held:
                self._face.composer.give_back(self.held.pop().text)
                self._face.show_queue()
            return
        entries = [e for e in self.conversation.queue() if e.state != "taken"]
        if entries:
            self.edit(entries[-1].id)
        else:
            self._face.flash("Nothing is queued.")

    def edit(self, item_id: str) -> None:
        """The message comes into the composer and is locked until Enter or Esc."""
        conversation = self.conversation
        if conversation is None:
            return
        try:
            text = conversation.queue_lock(item_id)
        except ValueError as error:
            self._face.flash(_sentence(error))
            return

        def save(new: str) -> bool:
            self._face.run_worker(
                self._save_edit(conversation, item_id, new), group="send", exit_on_error=False
            )
            return True

        def leave() -> None:
            try:
                conversation.queue_unlock(item_id)
            except ValueError as error:
                self._face.flash(_sentence(error))

        self._face.composer.begin_errand(
            Errand("queued message  Enter saves, Esc leaves it as it was", save, leave,
                   name=item_id),
            text,
        )  # fmt: skip

    async def _save_edit(self, conversation: "Conversation", item_id: str, new: str) -> None:
        """It stays locked until what it names has been read."""
        try:
            if new.strip():
                await conversation.queue_edit(item_id, new)
                return
            conversation.queue_unlock(item_id)
            conversation.queue_remove(item_id)
        except ValueError as error:
            self._face.notice("warning", f"{_sentence(error)} Your text is in the history: Up.")
            self._face.composer.past.add(new)
            with suppress(ValueError):  # delivered by now: there is nothing to unlock
                conversation.queue_unlock(item_id)

    def act_on_queue(self, action: "QueueAction") -> None:
        """A key in the queue view."""
        conversation, item_id = self.conversation, action.item_id
        if action.name == "back" or conversation is None or item_id is None:
            if item_id is None:
                self._face.composer.mode_ended()
            self._face.composer_focus()
            return
        try:
            match action.name:
                case "edit":
                    self.edit(item_id)
                case "withdraw":
                    text = next((e.text for e in conversation.queue() if e.id == item_id), "")
                    conversation.queue_remove(item_id)
                    self._face.composer.past.add(text)
                    self._face.flash(f'Withdrawn: "{one_line(text, 30)}". Up brings it back.')
                case "promote":
                    conversation.queue_promote(item_id)
                case "demote":
                    conversation.queue_demote(item_id)
                case "move_up" | "move_down":
                    self._move(item_id, -1 if action.name == "move_up" else 1)
                case "send_now":
                    self._send_now(conversation)
                case "pause":
                    self._toggle_pause()
        except ValueError as error:
            self._face.flash(_sentence(error))

    def _send_now(self, conversation: "Conversation") -> None:
        steers = [e for e in conversation.queue() if e.kind == "steer" and e.state != "taken"]
        if conversation.send_now():
            what = one_line(steers[0].text, 40) if len(steers) == 1 else f"{len(steers)} messages"
            self._face.flash(f"Goes out next, before any further call: {what}")
        elif self.running and not steers:
            self._face.flash("No steering waits: p makes steering of a follow-up.")
        elif self.running:
            self._face.flash("The queue is paused: nothing goes out.")
        else:
            self._face.flash("Nothing runs: Enter on an empty line sends it.")

    def _move(self, item_id: str, step: int) -> None:
        assert self.conversation is not None
        entries = self.conversation.queue()
        kind = next((e.kind for e in entries if e.id == item_id), None)
        ids = [e.id for e in entries if e.kind == kind]
        if item_id in ids:
            self.conversation.queue_move(item_id, max(0, ids.index(item_id) + step))

    def _toggle_pause(self) -> None:
        assert self.conversation is not None
        if self.paused:
            self.conversation.queue_resume()
        else:
            self.conversation.queue_pause()

    paused = False
    """Whether the queue is paused, as the last queue_changed said."""


def _sentence(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
