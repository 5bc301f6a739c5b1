"""Agent: one transcript, one queue, one run at a time, over run_agent_loop."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_tui.agent.events import AgentEvent
from agent_tui.agent.loop import AgentLoopConfig, ThinkingLevel
from agent_tui.agent.message_queue import MessageQueue, QueueItem
from agent_tui.agent.messages import AgentMessage
from agent_tui.agent.tools import AgentTool

Phase = Literal["idle", "waiting", "streaming", "tools", "stopping"]
"""waiting: the request is out, nothing came yet."""

Subscriber = Callable[[AgentEvent], Awaitable[None] | None]


class AgentBusyError(RuntimeError):
    """start() or continue_() while a run is on; use steer() or follow_up()."""


@dataclass(slots=True)
class AgentState:
    """A live view; read it, do not write it."""

    phase: Phase
    turn: int
    model: str
    thinking_level: ThinkingLevel
    messages: list[AgentMessage]
    """The transcript (all of it)."""
    running_calls: list[str]
    """Ids of calls executing now."""
    waiting_calls: list[str]
    """Ids of the batch's calls not yet started."""
    pending_program_calls: int
    """Calls of a paused program not yet answered on the wire (steering is held while > 0)."""


class Agent:
    """See module docstring. All methods are for one event loop; none is thread-safe.

    Args: config (its get_*_messages are set by the Agent), system_prompt, messages (the
    transcript so far).
    """

    queue: MessageQueue
    config: AgentLoopConfig
    system_prompt: str

    def __init__(
        self,
        config: AgentLoopConfig,
        *,
        system_prompt: str = "",
        messages: Sequence[AgentMessage] = (),
    ) -> None:
        raise NotImplementedError

    @property
    def state(self) -> AgentState:
        raise NotImplementedError

    async def start(self, prompt: str | AgentMessage | Sequence[str | AgentMessage]) -> None:
        """Run from this prompt until idle. Raises AgentBusyError while running.

        Failures of the model are not raised: they are an assistant message with
        stop_reason "error". Returns only after agent_end's subscribers returned.
        """
        raise NotImplementedError

    async def continue_(self) -> None:
        """Run on from the transcript (last message user or toolResult); after an assistant
        message it drains the queue as the prompt, else raises ValueError ("assistant")."""
        raise NotImplementedError

    def steer(self, message: str | AgentMessage) -> QueueItem: ...  # pyright: ignore
    def follow_up(self, message: str | AgentMessage) -> QueueItem: ...  # pyright: ignore

    def send_now(self) -> bool:
        """Skip the batch's calls not yet started so that steering goes out; False if idle."""
        raise NotImplementedError

    def abort(self) -> None:
        """Stop the run; returns at once; idempotent; nothing when idle. Queue untouched."""

    def abort_tool(self, tool_call_id: str) -> bool:
        """Stop one running or unstarted call: it gets an error result, the run goes on."""
        raise NotImplementedError

    async def wait_idle(self) -> None: ...

    def delivery_point(self, item: QueueItem) -> str:
        """When it will go out: "after 2 running tools", "after this answer", "when the turn
        ends", "held: a program is paused (2 calls)", "paused: Enter resumes", "with the next prompt"."""
        raise NotImplementedError

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """fn(event), awaited in order of subscription; a throw is logged, never ends the run."""
        raise NotImplementedError

    def set_tools(self, tools: list[AgentTool]) -> None:
        """Takes effect at the next model request."""

    def set_model(self, model: str, thinking_level: ThinkingLevel | None = None) -> None:
        """Takes effect at the next model request."""
