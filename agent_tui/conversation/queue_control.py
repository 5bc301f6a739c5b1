"""QueueControl: the part of Conversation that is about its queue, and about the commands that
wait in it for the end of a run."""

import logging
from collections.abc import Callable
from dataclasses import asdict

from agent_tui.agent.agent import Agent
from agent_tui.agent.message_queue import QueueError
from agent_tui.agent.messages import CustomMessage, TextContent, UserMessage
from agent_tui.conversation.approvals import Approvals
from agent_tui.conversation.container_files import ContainerFiles
from agent_tui.conversation.driver import RunDriver
from agent_tui.conversation.events import (
    CommandRanEvent,
    ConversationEvent,
    QueueChangedEvent,
    QueueDeliveredEvent,
    QueueEntry,
)
from agent_tui.conversation.mentions.attachments import Attachments
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.user_commands import UserCommands

log = logging.getLogger(__name__)

STAYS_A_COMMAND = "This is a command: it begins with / and a name. Withdraw it instead."
STAYS_A_MESSAGE = "A message does not become a command: withdraw it and type the command."


class QueueControl:
    """What a face may do with what is queued, and what it is told of it. Conversation sets the
    fields, and runs command lines."""

    agent: Agent
    driver: RunDriver
    files: ContainerFiles
    attachments: Attachments
    approvals: Approvals
    user_commands: UserCommands
    _emit: Callable[[ConversationEvent], None]
    _announced: set[str]
    _in_command: bool

    async def command(self, line: str) -> CommandResult:
        """Run a slash command line. Never raises for what was typed."""
        raise NotImplementedError

    def queue_lock(self, item_id: str) -> str:
        """Lock for editing; gives its text. Raises QueueError."""
        return self.agent.queue.lock(item_id).text

    def queue_unlock(self, item_id: str) -> None:
        self.agent.queue.unlock(item_id)

    async def queue_edit(self, item_id: str, text: str) -> None:
        """Another text for it. What had come along stays as it is while it is named; what is
        named now is read. Raises QueueError, also where a message would become a command, or the
        reverse, and MentionError."""
        item = self.agent.queue.get(item_id)
        if is_command(text) != item.local:
            raise QueueError(STAYS_A_COMMAND if item.local else STAYS_A_MESSAGE)
        message = item.message
        if item.local or not isinstance(message, UserMessage | CustomMessage):
            self.agent.queue.edit(item_id, text)
        else:
            edited = await self.attachments.edited(message, text)
            self.agent.queue.replace(item_id, edited)

    def queue_move(self, item_id: str, index: int) -> None:
        self.agent.queue.move(item_id, index)

    def queue_remove(self, item_id: str) -> None:
        message = self.agent.queue.withdraw(item_id).message
        self.files.give_back(message)
        self.attachments.keep(message)
        self.user_commands.give_back(message)

    def queue_promote(self, item_id: str) -> None:
        self.agent.queue.promote(item_id)

    def queue_demote(self, item_id: str) -> None:
        self.agent.queue.demote(item_id)

    def queue_pause(self) -> None:
        self.agent.queue.pause()

    def queue_resume(self) -> None:
        """Resumes; if idle and something is queued, starts a run with it."""
        self.agent.queue.resume()
        if not self.driver.running and any(not i.locked for i in self.agent.queue.items()):
            self.driver.start_queued()

    @property
    def busy(self) -> bool:
        """A run is on: what needs its end has to wait (when_idle)."""
        return self.driver.running and not self._in_command

    def when_idle(self, line: str) -> CommandResult:
        """This command line is carried out when the run has ended, in the order of the queue; a
        command_ran event then tells what it gave. For commands themselves, while busy."""
        if self.driver.stopping:
            self.driver.after_stop(line)
            return CommandResult(action="queued")
        message = UserMessage(content=[TextContent(text=line)])
        item = self.agent.queue.add("follow_up", message, local=True)
        text = f"`{line}` waits for the end of the run."
        return CommandResult(text=text, action="queued", data={"item_id": item.id})

    async def _run_queued_command(self, line: str) -> None:
        self._in_command = True
        try:
            result = await self.command(line)
        except Exception:
            log.exception("a command that had waited failed")
            result = CommandResult(error=f"{line} failed; the log file says why.")
        finally:
            self._in_command = False
        self._emit(CommandRanEvent(line, **asdict(result)))

    def queue(self) -> list[QueueEntry]:
        """The pending items with their delivery points, steering first."""
        asking = bool(self.approvals.open_requests)
        return [
            QueueEntry(i.id, i.kind, i.text, i.state, self.agent.delivery_point(i, asking=asking))
            for i in self.agent.queue.items()
        ]

    def _queue_changed(self) -> None:
        for item in self.agent.queue.history():
            if item.state == "delivered" and item.id not in self._announced:
                self._announced.add(item.id)
                self._emit(QueueDeliveredEvent(item.id, item.kind, item.text, item.landed))
        self._emit(QueueChangedEvent(self.queue(), self.agent.queue.paused))

    def _asks(self, event: ConversationEvent) -> None:
        """A call asks, or no longer does: what steers goes out behind it."""
        self._emit(event)
        self._delivery_points_changed()

    def _delivery_points_changed(self) -> None:
        if self.agent.queue.items():
            self._emit(QueueChangedEvent(self.queue(), self.agent.queue.paused))


def is_command(text: str) -> bool:
    """A line "/name ...": one slash, then a letter, so that paths like /etc/x are no commands."""
    head = text.lstrip().split(maxsplit=1)[0] if text.strip() else ""
    return head.startswith("/") and head[1:2].isalpha() and "/" not in head[1:]
