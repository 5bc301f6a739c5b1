"""The queue of messages typed while the agent works: steering and follow-ups.

An item's way: queued → held | paused → taken → delivered | withdrawn. Its message carries
queue_item_id; the record of that message in the session is the delivery (DESIGN).
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from agent_tui.agent.messages import (
    AgentMessage,
    CustomMessage,
    ImageContent,
    TextContent,
    UserMessage,
    attached,
    new_id,
)

log = logging.getLogger(__name__)

QueueKind = Literal["steer", "follow_up"]
QueueState = Literal["queued", "held", "paused", "taken", "delivered", "withdrawn"]
QueueMode = Literal["one-at-a-time", "all"]

NO_STEERING = "A command waits for the end of the run; it cannot steer it."

HISTORY_ITEMS = 200
"""So many delivered or withdrawn items are kept."""


@dataclass(slots=True)
class QueueItem:
    """One queued message. locked: it is being edited, so it is not taken. landed: where it
    was delivered ("turn 3, after 2 tool results"), once it was. local: not for the model; the
    queue's owner does it itself (a command that needs the end of the run), and nothing behind
    it is taken before."""

    id: str
    kind: QueueKind
    message: AgentMessage
    state: QueueState = "queued"
    locked: bool = False
    landed: str = ""
    local: bool = False

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

    def __init__(self) -> None:
        self.steering_mode: QueueMode = "one-at-a-time"
        self.follow_up_mode: QueueMode = "one-at-a-time"
        self._waiting: dict[QueueKind, list[QueueItem]] = {"steer": [], "follow_up": []}
        self._taken: list[QueueItem] = []
        self._history: deque[QueueItem] = deque(maxlen=HISTORY_ITEMS)
        self._all_paused = False
        self._paused_ids: set[str] = set()
        self._had_items = False
        self._held: str | None = None
        self._subscribers: list[Callable[[], None]] = []

    # --- seeing ----------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        """Something waits that is not taken (is_paused), or all that comes would."""
        return self._all_paused or bool(self._paused_ids)

    def is_paused(self, item: QueueItem) -> bool:
        """It is not taken before resume()."""
        return self._all_paused or item.id in self._paused_ids

    @property
    def held(self) -> str | None:
        """Why steering may not go out now, in words; None when it may."""
        return self._held

    def items(self) -> list[QueueItem]:
        """Pending items (queued, held, paused, taken): steering first, then follow-ups."""
        return [
            item
            for kind in ("steer", "follow_up")
            for item in (*(i for i in self._taken if i.kind == kind), *self._waiting[kind])
        ]

    def waiting(self, kind: QueueKind) -> list[QueueItem]:
        """Items of this kind that are not taken, in order."""
        return list(self._waiting[kind])

    def history(self) -> list[QueueItem]:
        """Items delivered or withdrawn, oldest first (bounded)."""
        return list(self._history)

    def get(self, item_id: str) -> QueueItem:
        """Also of a taken, delivered or withdrawn item. Raises QueueError."""
        for item in (*self.items(), *self._history):
            if item.id == item_id:
                return item
        raise QueueError(f"There is no queued message {item_id!r}.")

    def subscribe(self, fn: Callable[[], None]) -> Callable[[], None]:
        """fn() after every change. Gives the unsubscriber."""
        self._subscribers.append(fn)

        def unsubscribe() -> None:
            if fn in self._subscribers:
                self._subscribers.remove(fn)

        return unsubscribe

    # --- the user's side -------------------------------------------------------------

    def add(
        self,
        kind: QueueKind,
        message: AgentMessage,
        item_id: str | None = None,
        *,
        local: bool = False,
    ) -> QueueItem:
        """Last of its kind. local: see QueueItem; only among the follow-ups, as steering goes
        into a run. Raises QueueError if an item has this id already."""
        item_id = item_id or new_id()
        if self._known(item_id):
            raise QueueError(f"A message with the id {item_id!r} was queued before.")
        if local and kind == "steer":
            raise QueueError(NO_STEERING)
        item = QueueItem(item_id, kind, _marked(message, item_id), local=local)
        self._waiting[kind].append(item)
        self._changed()
        return item

    def restore(self, items: Sequence[QueueItem]) -> None:
        """Items of an earlier session that were not delivered, behind those waiting now.
        Ids known already are left out, so that restoring twice adds nothing."""
        for item in items:
            if item.state in ("delivered", "withdrawn") or self._known(item.id):
                continue
            message = _marked(item.message, item.id)
            self._waiting[item.kind].append(
                QueueItem(item.id, item.kind, message, local=item.local)
            )
        self._changed()

    def edit(self, item_id: str, text: str) -> QueueItem:
        """Replace the text (images are kept, and what came along and is still named); unlocks
        the item. Raises QueueError."""
        item = self._own(item_id)
        if not isinstance(item.message, UserMessage | CustomMessage):
            raise QueueError("This message has no text to edit.")
        message = item.message
        came_along = list(attached(message))
        said = message.said if isinstance(message, UserMessage) else message.content
        images = [b for b in said if isinstance(b, ImageContent)]
        if not text.strip() and not images:
            raise QueueError("A queued message cannot be empty; remove it instead.")
        changes: dict[str, Any] = {
            "content": ([TextContent(text=text)] if text.strip() else []) + images
        }
        if came_along:
            kept = [(a, blocks) for a, blocks in came_along if a.is_named_in(text)]
            changes["attachments"] = [a for a, _ in kept]
            changes["content"] += [block for _, blocks in kept for block in blocks]
        return self.replace(item_id, message.model_copy(update=changes))

    def replace(self, item_id: str, message: UserMessage | CustomMessage) -> QueueItem:
        """This message in its place: it was edited; unlocks the item. Raises QueueError."""
        item = self._own(item_id)
        item.message = _marked(message, item_id)
        item.locked = False
        self._changed()
        return item

    def lock(self, item_id: str) -> QueueItem:
        """Keep the item from being taken while it is edited."""
        item = self._own(item_id)
        item.locked = True
        self._changed()
        return item

    def unlock(self, item_id: str) -> QueueItem:
        item = self._own(item_id)
        item.locked = False
        self._changed()
        return item

    def move(self, item_id: str, index: int) -> QueueItem:
        """To place `index` (0 = next) among the items of its kind; clamped."""
        item = self._own(item_id)
        waiting = self._waiting[item.kind]
        _remove(waiting, item)
        waiting.insert(max(0, min(index, len(waiting))), item)
        self._changed()
        return item

    def promote(self, item_id: str) -> QueueItem:
        """follow_up → steer (last of the steering). Raises QueueError."""
        item = self._own(item_id)
        if item.local:
            raise QueueError(NO_STEERING)
        if item.kind == "follow_up":
            _remove(self._waiting["follow_up"], item)
            item.kind = "steer"
            self._waiting["steer"].append(item)
            self._changed()
        return item

    def demote(self, item_id: str) -> QueueItem:
        """steer → follow_up (first of the follow-ups)."""
        item = self._own(item_id)
        if item.kind == "steer":
            _remove(self._waiting["steer"], item)
            item.kind = "follow_up"
            self._waiting["follow_up"].insert(0, item)
            self._changed()
        return item

    def withdraw(self, item_id: str) -> QueueItem:
        """Take it out for good; it is never delivered."""
        item = self._own(item_id)
        _remove(self._waiting[item.kind], item)
        item.state, item.locked = "withdrawn", False
        self._history.append(item)
        self._changed()
        return item

    def reset(self) -> None:
        """Empty, not paused, and nothing remembered: another conversation begins, which may
        bring the same items back later. Raises QueueError while an item is being delivered."""
        if self._taken:
            raise QueueError("A message is just being delivered.")
        for waiting in self._waiting.values():
            waiting.clear()
        self._history.clear()
        self._all_paused, self._held = False, None
        self._changed()

    def pause(self) -> None:
        """By hand: nothing is taken, and nothing of what comes. The pause ends by resume(), or
        when the last item leaves: a pause that nothing shows would catch the next message."""
        self._all_paused = True
        self._changed()

    def pause_waiting(self) -> None:
        """After a stop or a failure: what is there now waits (also what is just being delivered,
        should it come back). What is added later belongs to the next run, and goes out in it."""
        self._paused_ids.update(item.id for item in self.items())
        self._changed()

    def resume(self) -> None:
        self._all_paused = False
        self._paused_ids.clear()
        self._changed()

    # --- the agent's side ------------------------------------------------------------

    def hold(self, reason: str | None) -> None:
        """Steering may not go out now (reason: "a program is paused (2 calls)"), or may again."""
        if reason != self._held:
            self._held = reason
            self._changed()

    def deliverable(self, kind: QueueKind) -> list[QueueItem]:
        """What take() would hand over now."""
        if kind == "steer" and self._held is not None:
            return []
        mode = self.steering_mode if kind == "steer" else self.follow_up_mode
        going = (item for item in self._waiting[kind] if not self.is_paused(item))
        before = takewhile(lambda item: not item.local, going)
        free = [item for item in before if not item.locked]
        return free if mode == "all" else free[:1]

    def next_local(self) -> QueueItem | None:
        """The local item that is to be done now: nothing that may go out stands before it."""
        if self.deliverable("steer"):
            return None
        first = next((i for i in self._waiting["follow_up"] if not self.is_paused(i)), None)
        return first if first is not None and first.local and not first.locked else None

    def take(self, kind: QueueKind) -> list[QueueItem]:
        """Takes one item or all by the kind's mode; no steering while it is held; paused and
        locked ones are left."""
        items = self.deliverable(kind)
        for item in items:
            _remove(self._waiting[kind], item)
            item.state = "taken"
            self._taken.append(item)
        if items:
            self._changed()
        return items

    def taken(self) -> list[QueueItem]:
        """Items taken and neither delivered nor given back yet."""
        return list(self._taken)

    def commit(self, item_id: str, landed: str = "") -> None:
        """The item is delivered. Raises QueueError unless it was taken."""
        item = next((i for i in self._taken if i.id == item_id), None)
        if item is None:
            raise QueueError(f"The message {item_id!r} was not taken.")
        _remove(self._taken, item)
        item.state, item.landed = "delivered", landed
        self._history.append(item)
        self._changed()

    def give_back(self, items: Iterable[QueueItem]) -> None:
        """Taken items go back to the front of their kind, in order; others are left alone."""
        returned = [item for item in items if any(item is taken for taken in self._taken)]
        for item in reversed(returned):
            _remove(self._taken, item)
            self._waiting[item.kind].insert(0, item)
        if returned:
            self._changed()

    # --- inside ----------------------------------------------------------------------

    def _known(self, item_id: str) -> bool:
        return any(item.id == item_id for item in (*self.items(), *self._history))

    def _own(self, item_id: str) -> QueueItem:
        """An item that is still the user's to change."""
        item = self.get(item_id)
        if item.state == "taken":
            raise QueueError("This message is just being delivered.")
        if item.state in ("delivered", "withdrawn"):
            raise QueueError(f"This message was {item.state} already.")
        return item

    def _changed(self) -> None:
        there = {item.id for item in self.items()}
        self._paused_ids &= there
        if self._had_items and not there:
            self._all_paused = False
        self._had_items = bool(there)
        for kind, waiting in self._waiting.items():
            for item in waiting:
                if self.is_paused(item):
                    item.state = "paused"
                elif self._held is not None and kind == "steer":
                    item.state = "held"
                else:
                    item.state = "queued"
        for fn in tuple(self._subscribers):
            try:
                fn()
            except Exception:
                log.exception("a subscriber of the queue failed")


def _marked(message: AgentMessage, item_id: str) -> AgentMessage:
    """The message with the id of its item, by which its record in the session is the delivery."""
    if isinstance(message, UserMessage | CustomMessage):
        return message.model_copy(update={"queue_item_id": item_id})
    return message


def _remove(items: list[QueueItem], item: QueueItem) -> None:
    """By identity: two items may hold equal messages."""
    del items[next(i for i, other in enumerate(items) if other is item)]
