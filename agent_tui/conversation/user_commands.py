"""`!command` and `!!command`: what the user runs, beside whatever the agent does.

It is never asked about and is no call of the model. With one `!` the command, its output and how
it ended go to the model: at rest into the transcript at once; while a run is on along with the
next message of the user, or into the transcript when the run ends. With `!!` only the screen and
the session have it.
"""

import asyncio
import logging
from collections.abc import Callable

from agent_tui.agent.agent import Agent, AgentBusyError
from agent_tui.agent.llm_messages import bash_text
from agent_tui.agent.messages import (
    Attachment,
    BashExecutionMessage,
    TextContent,
    UserMessage,
    new_id,
)
from agent_tui.conversation.events import ConversationEvent, UserCommandEvent
from agent_tui.sessions.store import Session
from agent_tui.tools.shell import MAX_TIMEOUT_S, run_command
from agent_tui.tools.workspace import ToolError

log = logging.getLogger(__name__)

NEVER_ENDED = "[agent-tui was killed while this ran; its output is lost, and it may run on.]"


def user_command(text: str) -> tuple[str, bool] | None:
    """(the command, whether it stays out of the context) of a text that begins with `!`."""
    line = text.strip()
    if not line.startswith("!"):
        return None
    exclude = line.startswith("!!")
    command = line[2 if exclude else 1 :].strip()
    return (command, exclude) if command else None


class UserCommands:
    """Of one conversation. running_agent: a run is on, so that the transcript has to wait.
    keep: what waits for it, or runs, for the session."""

    def __init__(
        self,
        agent: Agent,
        emit: Callable[[ConversationEvent], None],
        cwd: str,
        output_dir: str | None,
        running_agent: Callable[[], bool],
        keep: Callable[[BashExecutionMessage], None] = lambda message: None,
    ) -> None:
        self._agent = agent
        self._emit = emit
        self._cwd = cwd
        self._output_dir = output_dir
        self._running_agent = running_agent
        self._keep_record = keep
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: list[BashExecutionMessage] = []
        self._along: dict[str, BashExecutionMessage] = {}
        """What went along with a queued message, by its mention."""
        self._visit = 0
        """Counts sessions: what was begun in one is not said in the next."""
        self._settling = asyncio.Lock()
        self._background: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> bool:
        """At least one runs."""
        return bool(self._tasks)

    def start(self, command: str, *, exclude: bool) -> str:
        """Run it; gives the id of the message that it becomes."""
        ident = new_id()
        # What is known of it now, for a session that a kill ends before the command does.
        begun = BashExecutionMessage(
            id=ident, command=command, exclude=exclude, output=NEVER_ENDED, cancelled=True
        )
        self._keep_record(begun)
        task = asyncio.create_task(self._run(ident, command, exclude), name="command of the user")
        self._tasks[ident] = task
        task.add_done_callback(lambda _: self._tasks.pop(ident, None))
        return ident

    def stop(self) -> bool:
        """End all that run; False when there are none. What came of them is kept."""
        for task in self._tasks.values():
            task.cancel()
        return bool(self._tasks)

    def leave(self) -> None:
        """Another session begins: what runs ends, and none of it is said there."""
        self.stop()
        self._visit += 1
        self._ended.clear()

    def enter(self, session: Session) -> None:
        """Go on with what waits in this session since a crash. It comes into the transcript when
        something is said, or behind the next run: a program that waits can still go on."""
        self._ended.extend(session.commands_waiting())
        self._along.update({f"!{i}": ran for i, ran in session.commands_along().items()})

    async def settle(self) -> None:
        """Put what has ended into the transcript, unless a run is on."""
        async with self._settling:
            while self._ended and not self._running_agent():
                message = self._ended.pop(0)
                try:
                    await self._agent.add_message(message)
                except AgentBusyError:
                    self._ended.insert(0, message)
                    return

    def settle_soon(self) -> None:
        """settle(), for who cannot wait."""
        if self._ended:
            self._keep(asyncio.create_task(self.settle(), name="commands into the transcript"))

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def go_along(self, message: UserMessage) -> UserMessage:
        """The message, said while a run is on, with what has ended before it was said."""
        told = [ended for ended in self._ended if not ended.exclude]
        if not told:
            return message
        self._ended = [ended for ended in self._ended if ended.exclude]
        attachments, blocks = list(message.attachments), list(message.content)
        for ended in told:
            mention = f"!{ended.id}"
            self._along[mention] = ended
            attachments.append(
                Attachment(mention=mention, name=f"!{ended.command}", about="its output")
            )
            blocks.append(TextContent(text=bash_text(ended)))
        return message.model_copy(update={"attachments": attachments, "content": blocks})

    def give_back(self, message: object) -> None:
        """A queued message is withdrawn: what went along waits again."""
        for attachment in message.attachments if isinstance(message, UserMessage) else ():
            if (ended := self._along.pop(attachment.mention, None)) is not None:
                self._ended.append(ended)
        if not self._running_agent():
            self.settle_soon()

    async def close(self) -> None:
        """End what runs; what has ended is put where it belongs."""
        tasks = list(self._tasks.values())
        self.stop()
        if tasks:
            await asyncio.wait(tasks, timeout=3)
        await self.settle()

    async def _run(self, ident: str, command: str, exclude: bool) -> None:
        self._emit(UserCommandEvent(ident, command, exclude, "running"))
        visit = self._visit
        message = BashExecutionMessage(id=ident, command=command, exclude=exclude)
        try:
            outcome = await run_command(
                command,
                self._cwd,
                timeout_s=MAX_TIMEOUT_S,
                output_dir=self._output_dir,
                name=ident,
                update=lambda piece: self._emit(
                    UserCommandEvent(ident, command, exclude, "running", piece)
                ),
                stopped=lambda: True,
            )
        except ToolError as error:
            message.output, message.exit_code = str(error), 127
        except Exception:
            log.exception("a command of the user failed")
            message.output = "The command failed by an unexpected error; the log file says why."
            message.exit_code = 1
        else:
            message.output = outcome.text
            message.exit_code = outcome.exit_code
            message.cancelled = outcome.ending != "exited"
            message.truncated = outcome.omitted > 0
            message.full_output_path = outcome.output_path
            notes = outcome.notes if outcome.background or outcome.survivors else []
            message.output = "\n".join([outcome.text.rstrip("\n"), *(f"[{n}]" for n in notes)])
        if (task := self._tasks.pop(ident, None)) is not None:
            self._keep(task)
        if visit != self._visit:
            return
        state = "stopped" if message.cancelled else "ended"
        self._emit(
            UserCommandEvent(ident, command, exclude, state, message.output, message.exit_code)
        )
        self._ended.append(message)
        if self._running_agent():
            self._keep_record(message)
        await self.settle()
