"""CurrentRun: what belongs to one run of an Agent: its control, its context, its polls."""

from collections.abc import Callable
from dataclasses import replace

from agent_tui.agent.control import RunControl
from agent_tui.agent.loop import (
    AgentContext,
    AgentLoopConfig,
    Emit,
    NextTurnSnapshot,
    PrepareNextTurnContext,
    continue_agent_loop,
    run_agent_loop,
)
from agent_tui.agent.message_queue import MessageQueue, QueueKind
from agent_tui.agent.messages import AgentMessage


class CurrentRun:
    """on_snapshot is called with what prepare_next_turn replaced, when it did.

    config is this run's copy: a change of the agent's settings is made in both.
    """

    def __init__(
        self,
        config: AgentLoopConfig,
        context: AgentContext,
        queue: MessageQueue,
        control: RunControl,
        on_snapshot: Callable[[NextTurnSnapshot], None],
    ) -> None:
        self.control = control
        self.context = context
        self.last_results = 0
        """Tool results of the last turn that ended."""
        self.config = replace(
            config,
            get_steering_messages=self._poll_steering,
            get_follow_up_messages=self._poll_follow_ups,
            prepare_next_turn=self._prepare_next_turn if config.prepare_next_turn else None,
        )
        self._hook = config.prepare_next_turn
        self._queue = queue
        self._on_snapshot = on_snapshot
        self._skips_poll = False

    async def go(self, prompts: list[AgentMessage] | None, emit: Emit, *, poll: bool) -> None:
        """The loop, to its end. poll=False: the prompts came from the queue, so no steering is
        taken beside them at the start (DESIGN)."""
        self._skips_poll = not poll
        if prompts is None:
            await continue_agent_loop(self.context, self.config, emit, self.control)
        else:
            await run_agent_loop(prompts, self.context, self.config, emit, self.control)

    async def _poll_steering(self) -> list[AgentMessage]:
        if self._skips_poll:
            self._skips_poll = False
            return []
        # The loop asks only where the next request may hold user text.
        self._queue.hold(None)
        return self._take("steer")

    async def _poll_follow_ups(self) -> list[AgentMessage]:
        return self._take("follow_up")

    def _take(self, kind: QueueKind) -> list[AgentMessage]:
        return [item.message for item in self._queue.take(kind)]

    async def _prepare_next_turn(self, context: PrepareNextTurnContext) -> NextTurnSnapshot | None:
        snapshot = await self._hook(context) if self._hook is not None else None
        if snapshot is not None:
            self.context = snapshot.context or self.context
            self._on_snapshot(snapshot)
        return snapshot
