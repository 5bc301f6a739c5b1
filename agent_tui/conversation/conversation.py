"""Conversation: the one object both faces hold. It wires agent, model, tools and session,
and hands on; it decides little. Everything a face may ask for is a method here.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import AgentEvent
from agent_tui.agent.messages import AgentMessage, ImageContent
from agent_tui.conversation.events import ConversationEvent, QueueEntry, Status

AnyEvent = AgentEvent | ConversationEvent
Subscriber = Callable[[AnyEvent], Awaitable[None] | None]
Decision = Literal["allow", "allow_always", "deny"]


@dataclass(slots=True)
class CommandResult:
    """What a slash command gives back: data for the face, never printed by the command.

    text: markdown for the transcript. error: the right form, if the line was wrong.
    action: what only a face can do ("quit", "clear", "login", "resume_picker", "help").
    """

    text: str = ""
    error: str | None = None
    action: str | None = None
    data: dict[str, Any] | None = None


@dataclass(slots=True)
class CommandInfo:
    """For /help and completion: name without slash, arguments form, one line of help."""

    name: str
    usage: str
    help: str


@dataclass(slots=True)
class Submitted:
    """What became of a submitted text: started a run, queued, or was a command."""

    kind: Literal["started", "steer", "follow_up", "command", "resumed", "nothing"]
    item_id: str | None = None
    command: CommandResult | None = None


class Conversation:
    """See module docstring. One event loop; no method blocks it for long."""

    agent: Agent
    cwd: str

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """fn gets every AgentEvent (awaited, in the loop) and every ConversationEvent."""
        raise NotImplementedError

    async def submit(self, text: str, *, images: list[ImageContent] | None = None) -> Submitted:
        """Idle: starts a run in the background (returns at once). Running: steers.
        A line that begins with "/" is a command. Empty text resumes a paused queue."""
        raise NotImplementedError

    async def follow_up(self, text: str, *, images: list[ImageContent] | None = None) -> Submitted:
        """Running: queues a follow-up. Idle: as submit."""
        raise NotImplementedError

    def abort(self, *, pause_queue: bool = True) -> None:
        """Esc: stop the run, pause the queue. Status "stopping" is out before this returns."""

    def abort_tool(self, tool_call_id: str) -> bool:
        raise NotImplementedError

    def answer(self, request_id: str, decision: Decision, reason: str = "") -> bool:
        """Answer a permission_request; False if it is no longer open."""
        raise NotImplementedError

    def send_now(self) -> bool:
        raise NotImplementedError

    def queue_edit(self, item_id: str, text: str) -> None: ...
    def queue_lock(self, item_id: str) -> str:
        """Lock for editing; gives its text. Raises QueueError."""
        raise NotImplementedError

    def queue_unlock(self, item_id: str) -> None: ...
    def queue_move(self, item_id: str, index: int) -> None: ...
    def queue_remove(self, item_id: str) -> None: ...
    def queue_promote(self, item_id: str) -> None: ...
    def queue_demote(self, item_id: str) -> None: ...
    def queue_pause(self) -> None: ...
    def queue_resume(self) -> None:
        """Resumes; if idle and something is queued, starts a run with it."""

    def queue(self) -> list[QueueEntry]:
        raise NotImplementedError

    async def command(self, line: str) -> CommandResult:
        raise NotImplementedError

    def commands(self) -> list[CommandInfo]:
        raise NotImplementedError

    def set_model(self, model: str) -> None: ...
    def set_thinking(self, level: str) -> None:
        """Raises ValueError naming the levels."""

    @property
    def status(self) -> Status:
        raise NotImplementedError

    @property
    def model(self) -> str:
        raise NotImplementedError

    @property
    def thinking(self) -> str:
        raise NotImplementedError

    @property
    def messages(self) -> list[AgentMessage]:
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """DESIGN, RPC `state`: status, model, thinking, session_id, cwd, queue, container,
        mcp_servers, usage; and endpoint {label, demo}."""
        raise NotImplementedError

    async def wait_idle(self) -> None: ...
    async def close(self) -> None:
        """Stops a run, ends servers and the session; bounded (about 3 s)."""
