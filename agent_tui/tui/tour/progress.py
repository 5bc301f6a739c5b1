"""What has happened, as far as the tour asks: read from the events of the conversation, and from
what the screen shows; never from the time that has passed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_tui.tui.tour.steps import Happening

if TYPE_CHECKING:
    from agent_tui.conversation.event_hub import AnyEvent


@dataclass(slots=True)
class Progress:
    """apply() takes every event, saw() what only the screen knows. happened: so many times each.

    The fields say how things are now: whether a run is on, a follow-up waits, an approval is
    asked for, the side panel is shown, sessions are kept.
    """

    session: str = ""
    keeps: bool = True
    running: bool = False
    waiting: bool = False
    panel_shown: bool = False
    happened: dict[Happening, int] = field(default_factory=dict[Happening, int])
    changed: Callable[[], None] = lambda: None
    _asks: set[str] = field(default_factory=set[str])
    _queued: dict[str, str] = field(default_factory=dict[str, str])
    _delivered: set[str] = field(default_factory=set[str])
    _left: set[str] = field(default_factory=set[str])

    @property
    def asked(self) -> bool:
        return bool(self._asks)

    def saw(self, what: Happening) -> None:
        self.happened[what] = self.happened.get(what, 0) + 1
        self.changed()

    def times(self, what: Happening) -> int:
        return self.happened.get(what, 0)

    def in_session(self, id: str) -> None:
        """The conversation is in this session now."""
        if not self.session:
            self.session = id
        elif id != self.session:
            self._left.add(self.session)
            self.session = id
            self._queued.clear()
            self.saw("resumed" if id in self._left else "cleared")

    def apply(self, event: "AnyEvent") -> None:
        match event.type:
            case "status":
                self.running = event.status != "ready"
                self.changed()
            case "agent_end":
                if any(getattr(m, "role", "") == "assistant" for m in event.messages):
                    self.saw("answered")
            case "queue_delivered":
                self._delivered.add(event.item_id)
                if event.kind == "steer":
                    self.saw("steered")
            case "queue_changed":
                self._queue(event.items)
            case "permission_request":
                self._asks.add(event.request_id)
                self.changed()
            case "permission_resolved":
                self._asks.discard(event.request_id)
                if event.decision in ("allow", "allow_always", "deny"):
                    self.saw("decided")
                else:
                    self.changed()
            case "container_changed":
                if any(run.state in ("done", "failed") for run in event.runs):
                    self.saw("program")
            case "mcp_server_changed":
                if event.state == "connected":
                    self.saw("attached")
            case "tool_execution_end":
                if "__" in event.tool_name and not event.is_error:
                    self.saw("called")
            case _:
                pass

    def _queue(self, items: list) -> None:  # type: ignore[type-arg]
        """A message that is gone and was not delivered was withdrawn by the user."""
        before = self._queued
        self._queued = {i.id: i.text for i in items if i.state not in ("taken", "delivered")}
        self.waiting = any(i.kind == "follow_up" for i in items if i.id in self._queued)
        taken = {i.id for i in items} - set(self._queued)
        if any(i.id not in before and i.kind == "follow_up" for i in items):
            self.saw("queued")
        gone = [id for id in before if id not in self._queued and id not in taken]
        edited = [id for id, text in before.items() if self._queued.get(id, text) != text]
        if edited or any(id not in self._delivered for id in gone):
            self.saw("requeued")
        self.changed()
