"""RunDriver: one run at a time in the background, until nothing is left to do.

Around Agent.start/continue_ it does what the loop leaves to its owner: a sample that broke
midway is struck and tried again, what was queued in the instant a run ended starts the next
one, commands that waited for the end of the run are run in their turn, and after a failure the
queue is paused rather than lost.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from agent_tui.agent.agent import Agent
from agent_tui.agent.messages import AgentMessage, AssistantMessage
from agent_tui.conversation.events import NoticeEvent, RetryEvent
from agent_tui.conversation.limits import Limits
from agent_tui.conversation.retry import RetryPolicy, Sleep
from agent_tui.messages_api.errors import is_retryable_type, without_advice

log = logging.getLogger(__name__)


class RunDriver:
    """Runs the agent; `running` is True from start() until all follow-on work is done.

    on_idle is called synchronously at the end, when `running` is already False. run_command
    carries out a command line that was queued, between two runs of the agent.
    """

    def __init__(
        self,
        agent: Agent,
        emit: Callable[[NoticeEvent | RetryEvent], None],
        policy: RetryPolicy,
        limits: Limits,
        on_idle: Callable[[], None],
        run_command: Callable[[str], Awaitable[None]],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._agent = agent
        self._emit = emit
        self._policy = policy
        self._limits = limits
        self._on_idle = on_idle
        self._run_command = run_command
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._stopped = False
        self._after_command = False
        self._next: list[AgentMessage | str] = []

    @property
    def running(self) -> bool:
        return self._task is not None

    @property
    def stopping(self) -> bool:
        """Abort was asked for and the run has not settled yet."""
        return self.running and self._stopped

    def start(self, prompt: Sequence[AgentMessage]) -> None:
        """Begin a run from this prompt. Not while running."""
        self._begin(lambda: self._agent.start(list(prompt)))

    def start_queued(self) -> None:
        """Begin a run with what is queued as its prompt. Not while running."""
        self._begin(self._run_queued)

    def continue_(self) -> None:
        """Begin a run from the transcript as it stands. Not while running."""
        self._begin(self._agent.continue_)

    def after_stop(self, said: AgentMessage | str) -> None:
        """A message sent, or a command line that waits, while a stopped run settles: it begins
        the next run (DESIGN)."""
        self._next.append(said)

    def _begin(self, first: Callable[[], Awaitable[object]]) -> None:
        assert self._task is None, "one run at a time"
        self._stopped = False
        self._task = asyncio.create_task(self._drive(first), name="agent run")

    def abort(self) -> None:
        """Stop the run and any wait; returns at once."""
        if not self.running:
            return
        self._stopped = True
        self._agent.abort()
        if self._waiting is not None:
            self._waiting.cancel()

    async def wait(self) -> None:
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _drive(self, first: Callable[[], Awaitable[object]]) -> None:
        run: Callable[[], Awaitable[object]] | None = first
        while run is not None:
            await self._run(run)
            run = self._what_follows()
        # No await between here and the face's next call: a message submitted now sees an
        # idle conversation and starts its own run (fault B01).
        self._pause_what_waits()
        self._task = None
        self._on_idle()

    async def _run(self, run: Callable[[], Awaitable[object]]) -> None:
        self._limits.begin()
        alarm = self._set_alarm()
        self._after_command = False
        try:
            await run()
            if not self._after_command:
                await self._retry_broken()
        except Exception:
            log.exception("the run ended by an unexpected error")
            self._emit(NoticeEvent("error", "The run ended by an unexpected error; see the log."))
        finally:
            if alarm is not None:
                alarm.cancel()

    def _what_follows(self) -> Callable[[], Awaitable[object]] | None:
        if not self._next:
            return self._run_queued if self._wants_more() else None
        self._stopped = False
        first = self._next.pop(0)
        if isinstance(first, str):
            return lambda: self._command(first)
        prompt = [first]
        while self._next and not isinstance(following := self._next[0], str):
            prompt.append(following)
            del self._next[0]
        return lambda: self._agent.start(prompt)

    async def _run_queued(self) -> None:
        """What is next in the queue: a command, or messages as the prompt."""
        item = self._agent.queue.next_local()
        if item is None:
            await self._agent.run_queued()
        else:
            # Before it is done: a command that was begun is not begun again after a crash.
            self._agent.queue.withdraw(item.id)
            await self._command(item.text)

    async def _command(self, line: str) -> None:
        self._after_command = True
        await self._run_command(line)

    def _set_alarm(self) -> asyncio.TimerHandle | None:
        left = self._limits.seconds_left()
        if left is None:
            return None

        def ring() -> None:
            self._limits.time_is_up()
            self.abort()

        return asyncio.get_running_loop().call_later(left, ring)

    async def _retry_broken(self) -> None:
        """A sample that broke midway is struck and asked for again, within the tries."""
        attempt = 0
        while not self._stopped:
            last = self._agent.state.messages[-1] if self._agent.state.messages else None
            if not isinstance(last, AssistantMessage) or last.stop_reason != "error":
                return
            if not _began(last) or not is_retryable_type(last.error_type):
                return  # nothing came: with_retries has tried already
            attempt += 1
            wait = self._policy.wait_s(attempt, None, last.error_type)
            if wait is None:
                return
            why = without_advice(last.error_message or "The stream broke.")
            self._emit(RetryEvent(attempt, wait, why, last.id))
            self._waiting = asyncio.ensure_future(self._sleep(wait))
            try:
                await self._waiting
            except asyncio.CancelledError:
                if not self._stopped:
                    raise
            finally:
                self._waiting = None
            # Struck by the event above, on the screen and on disk: also when nobody tries again.
            self._agent.drop_last_message()
            if not self._stopped:
                await self._agent.continue_()

    def _wants_more(self) -> bool:
        """Something was queued while the run ended, and it ended well."""
        if self._stopped or self._limits.reached:
            return False
        last = self._agent.last_answer
        failed = last is None or last.stop_reason in ("error", "aborted")
        if failed and not self._after_command:
            return False
        queue = self._agent.queue
        return bool(
            queue.next_local() or queue.deliverable("steer") or queue.deliverable("follow_up")
        )

    def _pause_what_waits(self) -> None:
        """After a failure or a limit what is queued waits, visibly, for the user (fault B14)."""
        queue = self._agent.queue
        # An abort pauses nothing by itself (DESIGN); Esc in the TUI asks for the pause.
        if self._stopped or all(queue.is_paused(item) for item in queue.items()):
            return
        queue.pause_waiting()
        self._emit(
            NoticeEvent("warning", "Queued messages are paused; Enter on an empty line resumes.")
        )


def _began(message: AssistantMessage) -> bool:
    """Something of the response came, though perhaps no content (fault A20)."""
    return bool(message.content or message.api_id or message.usage)
