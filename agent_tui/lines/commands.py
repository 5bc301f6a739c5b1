"""The commands of the plain lines: what keys and panels do on the screen, typed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from agent_tui.agent.agent import AgentBusyError
from agent_tui.agent.messages import AssistantMessage
from agent_tui.conversation.events import QueueEntry
from agent_tui.conversation.results import CommandResult
from agent_tui.lines.teller import Teller, queue_line
from agent_tui.text import clean, without_ansi

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

Work = Callable[["Conversation", str], Awaitable[CommandResult]]

HELP = """\
A line and Enter sends a message; while a run is on it steers: it goes out with the next request.
A line that begins with >, or /queue TEXT, is a follow-up: it goes out when the turn ends.
/stop or Ctrl+C stops the run and pauses the queue; Enter on an empty line resumes it.
A line that ends in a backslash goes on in the next line.
Several lines that are pasted at once are one message.
Up brings back an earlier message. Ctrl+D on an empty line, or /quit, ends agent-tui."""


class LineCommands:
    """add() them to a conversation. again: tells the question that waits once more; wanted: a
    text goes out as a follow-up."""

    def __init__(
        self,
        teller: Teller,
        again: Callable[[], bool],
        follow_up: Callable[[str], Awaitable[None]],
        plain_result: Callable[[list[str]], None],
    ) -> None:
        self._teller, self._again, self._follow_up = teller, again, follow_up
        self._print = plain_result

    def add(self, conversation: "Conversation") -> None:
        table: list[tuple[str, str, str, Work]] = [
            ("stop", "/stop [N [REASON]]", "stop the run (or Ctrl+C); N: one call", self._stop),
            ("calls", "/calls", "the calls that are under way, with their numbers", self._calls),
            ("queue", "/queue [TEXT]", "what waits; with TEXT: a follow-up", self._queue),
            ("withdraw", "/withdraw [N]", "take a message back from the queue", self._withdraw),
            ("change", "/change N TEXT", "give a message of the queue another text", self._change),
            ("move", "/move N up|down", "move a message within the queue", self._move),
            ("promote", "/promote N", "make a follow-up steering", self._promote),
            ("demote", "/demote N", "make steering a follow-up", self._demote),
            ("now", "/now", "send steering now; calls not begun are skipped", self._now),
            ("pause", "/pause", "pause the queue; again: resume it", self._pause),
            ("tour", "/tour", "where the tour is", self._tour),
            ("output", "/output [N]", "all that a tool gave; N: counted from the last", self._out),
            ("status", "/status", "what goes on, and what waits for you", self._status),
            ("again", "/again", "tell the question that waits once more", self._tell_again),
        ]
        for name, usage, help_, work in table:
            conversation.add_command(name, usage, help_, work)

    async def _stop(self, conversation: "Conversation", arguments: str) -> CommandResult:
        number, _, reason = arguments.partition(" ")
        if number:
            return self._stop_call(conversation, number, reason.strip())
        stopped = conversation.user_commands.stop()
        if conversation.status == "ready":
            return CommandResult(error=None if stopped else "Nothing runs.")
        conversation.abort()
        return CommandResult()

    def _stop_call(self, conversation: "Conversation", number: str, reason: str) -> CommandResult:
        numbers = {str(n): call_id for call_id, n in self._teller.numbers.items()}
        call_id = numbers.get(number)
        if call_id is None:
            return CommandResult(error=f"There is no call {clean(number)}: /calls lists them.")
        if call_id not in self._teller.calls:
            return CommandResult(error=f"Call {number} has ended already.")
        if not conversation.abort_tool(call_id, reason):
            return CommandResult(error="Only a call that has not ended can be stopped.")
        return CommandResult(text="That call is stopped; the run goes on.")

    async def _calls(self, conversation: "Conversation", arguments: str) -> CommandResult:
        calls, numbers = self._teller.calls, self._teller.numbers
        self._print([f"{numbers[call_id]}, {call}" for call_id, call in calls.items()])
        return CommandResult(text="" if calls else "No call is under way.")

    async def _queue(self, conversation: "Conversation", arguments: str) -> CommandResult:
        if arguments:
            await self._follow_up(arguments)
            return CommandResult()
        entries = conversation.queue()
        if not entries:
            return CommandResult(text="The queue is empty.")
        paused = " The queue is paused." if conversation.agent.queue.paused else ""
        self._print([*(queue_line(n, e) for n, e in enumerate(entries, 1))])
        return CommandResult(text=paused.strip())

    def _entry(self, conversation: "Conversation", word: str) -> QueueEntry | CommandResult:
        entries = conversation.queue()
        if not entries:
            return CommandResult(error="The queue is empty.")
        if not word:
            return entries[-1]
        if not word.isdecimal() or not 1 <= int(word) <= len(entries):
            return CommandResult(error=f"There is no message {clean(word)}: /queue lists them.")
        return entries[int(word) - 1]

    async def _withdraw(self, conversation: "Conversation", arguments: str) -> CommandResult:
        entry = self._entry(conversation, arguments)
        if isinstance(entry, CommandResult):
            return entry
        return _tried(
            lambda: conversation.queue_remove(entry.id), f"Withdrawn: {clean(entry.text)}"
        )

    async def _change(self, conversation: "Conversation", arguments: str) -> CommandResult:
        number, _, text = arguments.partition(" ")
        if not text.strip():
            return CommandResult(error="The form is: /change N TEXT")
        entry = self._entry(conversation, number)
        if isinstance(entry, CommandResult):
            return entry
        try:
            await conversation.queue_edit(entry.id, text.strip())
        except ValueError as error:
            return _refused(error)
        return CommandResult()

    async def _move(self, conversation: "Conversation", arguments: str) -> CommandResult:
        number, _, where = arguments.partition(" ")
        if where not in ("up", "down"):
            return CommandResult(error="The form is: /move N up, or /move N down")
        entry = self._entry(conversation, number)
        if isinstance(entry, CommandResult):
            return entry
        ids = [e.id for e in conversation.queue() if e.kind == entry.kind]
        to = max(0, ids.index(entry.id) + (-1 if where == "up" else 1))
        moved = _tried(lambda: conversation.queue_move(entry.id, to), "")
        return moved if moved.error else await self._queue(conversation, "")

    async def _promote(self, conversation: "Conversation", arguments: str) -> CommandResult:
        entry = self._entry(conversation, arguments)
        if isinstance(entry, CommandResult):
            return entry
        return _tried(lambda: conversation.queue_promote(entry.id), "")

    async def _demote(self, conversation: "Conversation", arguments: str) -> CommandResult:
        entry = self._entry(conversation, arguments)
        if isinstance(entry, CommandResult):
            return entry
        return _tried(lambda: conversation.queue_demote(entry.id), "")

    async def _now(self, conversation: "Conversation", arguments: str) -> CommandResult:
        if conversation.send_now():
            return CommandResult(text="Steering goes out as soon as the running calls have ended.")
        return CommandResult(error="Nothing runs: Enter on an empty line sends what waits.")

    async def _pause(self, conversation: "Conversation", arguments: str) -> CommandResult:
        if conversation.agent.queue.paused:
            conversation.queue_resume()
            return CommandResult()
        conversation.queue_pause()
        return CommandResult(text="The queue is paused; /pause resumes it.")

    async def _tour(self, conversation: "Conversation", arguments: str) -> CommandResult:
        return CommandResult(
            text="The tour is one of the screen and its keys. Here /help tells all there is; "
            "in the demo, tour as a message shows calls, a failure and steering."
        )

    async def _out(self, conversation: "Conversation", arguments: str) -> CommandResult:
        outputs = self._teller.outputs
        number = arguments or "1"
        if not number.isdecimal() or not 1 <= int(number) <= max(1, len(outputs)):
            return CommandResult(error=f"The form is: /output [N], N from 1 to {len(outputs)}")
        if not outputs:
            return CommandResult(text="No tool has ended yet.")
        name, text = outputs[-int(number)]
        self._print([f"Output of {clean(name)}:", *without_ansi(text).rstrip("\n").split("\n")])
        return CommandResult(text="End of the output.")

    async def _status(self, conversation: "Conversation", arguments: str) -> CommandResult:
        usage = conversation.usage
        waits = len(conversation.queue())
        lines = [
            f"State: {conversation.status}",
            f"Model: {clean(conversation.model)}, effort {conversation.thinking}",
            f"Tokens: {usage.input:,} in, {usage.output:,} out",
            f"Queue: {waits} waiting",
        ]
        self._print(lines)
        self._again()
        return CommandResult()

    async def _tell_again(self, conversation: "Conversation", arguments: str) -> CommandResult:
        return CommandResult() if self._again() else CommandResult(text="Nothing waits for you.")


def _tried(work: Callable[[], None], text: str) -> CommandResult:
    try:
        work()
    except (ValueError, AgentBusyError) as error:
        return _refused(error)
    return CommandResult(text=text)


def _refused(error: Exception) -> CommandResult:
    said = str(error).strip() or type(error).__name__
    return CommandResult(error=said[0].upper() + said[1:])


def to_copy(messages: Sequence[object], what: str, number: int) -> str:
    """The text that /copy means; "" where there is none."""
    answers = [m.text for m in messages if isinstance(m, AssistantMessage) and m.text.strip()]
    if what == "last":
        return answers[-number] if number <= len(answers) else ""
    blocks: list[str] = []
    for answer in answers:
        parts = answer.split("```")
        blocks += [part.partition("\n")[2].rstrip("\n") for part in parts[1::2]]
    return blocks[-number] if number <= len(blocks) else ""
