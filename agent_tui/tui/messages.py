"""The Textual messages of the screen: small, whole things; deltas never travel this way."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from textual.message import Message

if TYPE_CHECKING:
    from agent_tui.agent.events import AgentEvent
    from agent_tui.conversation.events import ConversationEvent


@dataclass
class EventArrived(Message):
    """A whole event of the conversation (everything but deltas and tool output)."""

    event: "AgentEvent | ConversationEvent"


class PanelsChanged(Message):
    """Something that streams changed what the panels show; at most one is under way."""


@dataclass
class SendRequested(Message):
    """Enter: send when idle, steer while running, resume when empty."""

    text: str


@dataclass
class FollowUpRequested(Message):
    """Tab or Alt+Enter while running."""

    text: str


class StopRequested(Message):
    """Esc with nothing left to close."""


class InterruptRequested(Message):
    """Ctrl+C while the agent runs, on what is selected, or with nothing to clear."""


class LeaveRequested(Message):
    """Ctrl+D on an empty draft."""


class RecallRequested(Message):
    """Alt+Up: edit the last queued message."""


@dataclass
class EditorRequested(Message):
    """Write this text in an editor; saved() gets what was saved."""

    text: str
    saved: "Callable[[str], None]"


@dataclass
class DraftChanged(Message):
    """empty: whether nothing is typed; the status line's hints follow it."""

    empty: bool


@dataclass
class QueueAction(Message):
    """A key pressed on a queue item. name: edit, withdraw, promote, demote, move_up,
    move_down, send_now, pause, back."""

    name: str
    item_id: str | None


@dataclass
class StopCallRequested(Message):
    """x on a call of the timeline: stop this one alone. asks_why: r, with a reason."""

    call_id: str
    asks_why: bool = False


@dataclass
class ServerAction(Message):
    """A key on an MCP server of the panel. action: as in /mcp."""

    action: str
    server: str


class PanelLeft(Message):
    """A focused panel gives the keys back."""


@dataclass
class PermissionAnswered(Message):
    """decision: allow, allow_always, deny, or reason (deny, but ask for the reason first)."""

    request_id: str
    decision: Literal["allow", "allow_always", "deny", "reason"]


@dataclass
class QuestionAnswered(Message):
    """A question of an MCP server. action: accept, decline, cancel; content: of a form."""

    request_id: str
    action: str
    content: dict[str, Any] | None = None


class DialogsChanged(Message):
    """Another question stands first, or none does."""


class DialogLeft(Message):
    """A focused dialog gives the keys back. character: what was typed, for the composer."""

    def __init__(self, character: str = "") -> None:
        super().__init__()
        self.character = character


@dataclass
class Flash(Message):
    """A short sentence of our own for the status line."""

    text: str


@dataclass
class ReadAll(Message):
    """Show a text that is too long for its box in the editor."""

    text: str
