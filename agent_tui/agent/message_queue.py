"""The queue of messages typed while the agent works: steering and follow-ups.

An item's way: queued → held | paused → taken → delivered | withdrawn. Its message carries
queue_item_id; the record of that message in the session is the delivery (DESIGN).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent_tui.agent.messages import AgentMessage

QueueKind = Literal["steer", "follow_up"]
QueueState = Literal["queued", "held", "paused", "taken", "delivered", "withdrawn"]
QueueMode = Literal["one-at-a-time", "all"]


@dataclass(slots=True)
class QueueItem:
    """One queued message. locked: it is being edited, so it is not taken. landed: where it
    was delivered ("turn 3, after 2 tool results"), once it was."""

    id: str
    kind: QueueKind
    message: AgentMessage
    state: QueueState = "queued"
    locked: bool = False
    landed: str = ""

    @property
    def text(self) -> str:
        return getattr(self.message, "text", "")


class QueueError(ValueError):
    """The item is unknown, already taken, or being edited; the text says which."""


class MessageQueue:
    """Ordered items of both kinds; every change calls the subscribers (synchronously).

    One item is taken exactly once: take() hands items over, commit() makes them delivered,
    give_back() returns taken items to the front of their kind, in order.
    """

    steering_mode: QueueMode
    follow_up_mode: QueueMode
    paused: bool

    def items(self) -> list[QueueItem]:
        """Pending items (queued, held, paused, taken): steering first, then follow-ups."""
        raise NotImplementedError

    def history(self) -> list[QueueItem]:
        """Items delivered or withdrawn, oldest first (bounded)."""
        raise NotImplementedError

    def add(self, kind: QueueKind, message: AgentMessage, item_id: str | None = None) -> QueueItem:
        raise NotImplementedError

    def get(self, item_id: str) -> QueueItem:
        """Raises QueueError."""
        raise NotImplementedError

    def edit(self, item_id: str, text: str) -> QueueItem:
        """Replace the text (images are kept); unlocks the item. Raises QueueError."""
        raise NotImplementedError

    def lock(self, item_id: str) -> QueueItem:
        raise NotImplementedError

    def unlock(self, item_id: str) -> QueueItem:
        raise NotImplementedError

    def move(self, item_id: str, index: int) -> QueueItem:
        """To place `index` (0 = next) among the items of its kind; clamped."""
        raise NotImplementedError

    def promote(self, item_id: str) -> QueueItem:
        """follow_up → steer (last of the steering). Raises QueueError."""
        raise NotImplementedError

    def demote(self, item_id: str) -> QueueItem:
        """steer → follow_up (first of the follow-ups)."""
        raise NotImplementedError

    def withdraw(self, item_id: str) -> QueueItem:
        raise NotImplementedError

    def pause(self) -> None: ...
    def resume(self) -> None: ...

    def hold(self, reason: str | None) -> None:
        """Steering may not go out now (reason: "a program is paused (2 calls)"), or may again."""

    def take(self, kind: QueueKind) -> list[QueueItem]:
        """Takes one item or all by the kind's mode; none while paused; locked ones are left."""
        raise NotImplementedError

    def commit(self, item_id: str, landed: str = "") -> None: ...
    def give_back(self, items: list[QueueItem]) -> None: ...

    def subscribe(self, fn: Callable[[], None]) -> Callable[[], None]:
        raise NotImplementedError
