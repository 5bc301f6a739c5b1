"""RunControl: the handle on one run: abort it, stop one call, send now; and where it stands.

Everything here acts at once: abort() has cancelled what runs before it returns. The loop
only has to notice, so a slow subscriber delays the end of a run but not its stopping.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from agent_tui.agent.partial import PartialMessage
    from agent_tui.agent.tool_batch import ToolBatch
    from agent_tui.agent.tools import AgentTool

log = logging.getLogger(__name__)

T = TypeVar("T")

Phase = Literal["idle", "waiting", "streaming", "tools", "stopping"]
"""waiting: the request is out, nothing came yet."""

StopReason = Literal["aborted", "stopped", "skipped"]
"""Why a call ends early: the run was aborted, the user stopped it alone, or sent now."""

GRACE_S = 2.0
"""So long (seconds) a cancelled task may take to end; then it is left behind (DESIGN)."""

SLICE_S = 0.008
"""Work at most so long (seconds) before other tasks get a turn (DESIGN)."""


class Stopped(Exception):
    """What was awaited was stopped by the user; it is cancelled or left behind."""


class Stop:
    """A flag that is set once, tells why, and calls back at once. words: the user's own."""

    __slots__ = ("_callbacks", "reason", "words")

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self.words = ""
        self._callbacks: list[Callable[[], object]] = []

    def set(self, reason: StopReason, words: str = "") -> None:
        if self.reason is not None:
            return
        self.reason, self.words = reason, words
        for callback in tuple(self._callbacks):
            callback()

    def add(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def remove(self, callback: Callable[[], object]) -> None:
        self._callbacks.remove(callback)


_left_behind: set[asyncio.Task[Any]] = set()


def leave_behind(task: "asyncio.Task[Any]", what: str) -> None:
    """Stop waiting for a task that does not end; its outcome is only logged."""
    log.warning("%s did not stop within %g s and is left behind", what, GRACE_S)

    def ended(done: "asyncio.Task[Any]") -> None:
        _left_behind.discard(done)
        if not done.cancelled() and (error := done.exception()) is not None:
            log.warning("%s, left behind, failed later", what, exc_info=error)

    _left_behind.add(task)  # the loop itself keeps only weak references
    task.add_done_callback(ended)


async def run_stoppable(work: Coroutine[Any, Any, T], stop: Stop, what: str) -> T:
    """Await work in a task of its own. Raises Stopped when `stop` is set before or meanwhile.

    A stopped task has GRACE_S to end. A CancelledError that work raises by itself becomes a
    RuntimeError, so that it is not taken for the cancelling of the caller.
    """
    if stop.reason is not None:
        work.close()
        raise Stopped
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    stopped: asyncio.Future[None] = loop.create_future()

    def on_stop() -> None:
        task.cancel()
        stopped.set_result(None)

    stop.add(on_stop)
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait((task,), timeout=GRACE_S)
    except asyncio.CancelledError:
        task.cancel()
        raise
    finally:
        stop.remove(on_stop)
    if not task.done():
        leave_behind(task, what)
        raise Stopped
    if stop.reason is not None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("%s failed while it was stopped", what, exc_info=error)
        raise Stopped
    if task.cancelled():
        raise RuntimeError(f"{what} was cancelled from inside")
    return task.result()


class RunControl:
    """One run, seen and steered from outside. Made by Agent for each run, or by a caller of
    run_agent_loop that wants to stop it. on_phase is called at once at each change of phase.
    """

    def __init__(self, on_phase: Callable[[Phase], None] | None = None) -> None:
        self.stop = Stop()
        self.phase: Phase = "idle"
        self.partial: PartialMessage | None = None
        """The message that streams now; faces may take snapshots of it."""
        self.offered: list[AgentTool] = []
        """The tools of the last request: what its answer may call."""
        self.running_calls: list[str] = []
        self.waiting_calls: list[str] = []
        self.skip_unstarted = False
        """The user sent now: calls of this turn that have not started are skipped."""
        self.stopped_early: dict[str, str] = {}
        """Calls the user stopped before their batch began, with the user's words."""
        self.coming: frozenset[str] = frozenset()
        """Calls of an answer that has ended and whose batch has not begun."""
        self.on_stopped_early: Callable[[str], None] | None = None
        """While an answer streams: told of a call of it that the user stops."""
        self._batch: ToolBatch | None = None
        self._on_phase = on_phase

    @property
    def aborted(self) -> bool:
        return self.stop.reason is not None

    @property
    def calls_left(self) -> int:
        """Calls of this turn that run or will run, as things stand."""
        return self._batch.calls_left if self._batch is not None else 0

    def set_phase(self, phase: Phase) -> None:
        """Once stopping, a run stays so until it is idle."""
        if phase == self.phase or (self.phase == "stopping" and phase != "idle"):
            return
        self.phase = phase
        if self._on_phase is not None:
            self._on_phase(phase)

    def abort(self) -> None:
        """Stop the run: what runs is cancelled before this returns. Idempotent."""
        if self.aborted:
            return
        self.set_phase("stopping")
        self.stop.set("aborted")
        if self._batch is not None:
            self._batch.stop_all("aborted")

    def abort_tool(self, tool_call_id: str, words: str = "") -> bool:
        """Stop one call that runs, waits or is still being written; False if there is no such
        call. words: why, for the model."""
        if self._batch is not None:
            return self._batch.stop_call(tool_call_id, words)
        streams = self.partial is not None and self.partial.has_call(tool_call_id)
        if not streams and tool_call_id not in self.coming:
            return False
        if tool_call_id not in self.stopped_early:
            self.stopped_early[tool_call_id] = words
            if streams and self.on_stopped_early is not None:
                self.on_stopped_early(tool_call_id)
        return True

    def send_now(self) -> None:
        """Skip the calls of this turn that have not started."""
        self.skip_unstarted = True
        if self._batch is not None:
            self._batch.skip_unstarted()

    def answer_ended(self, calls: Iterable[str], renamed: Mapping[str, str]) -> None:
        """Nothing streams any more; these calls come next. renamed: ids that calls had while
        they streamed → theirs now."""
        self.partial = None
        self.coming = frozenset(calls)
        for streamed, call_id in renamed.items():
            if (words := self.stopped_early.pop(streamed, None)) is not None:
                self.stopped_early[call_id] = words

    def enter_batch(self, batch: "ToolBatch") -> None:
        self._batch = batch

    def leave_batch(self) -> None:
        """The batch is over, and with it what the user asked for this turn."""
        self._batch = None
        self.running_calls.clear()
        self.waiting_calls.clear()
        self.end_turn()

    def end_turn(self) -> None:
        self.skip_unstarted = False
        self.stopped_early.clear()
        self.coming = frozenset()
