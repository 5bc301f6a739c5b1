"""ContainerState: what is known of the code-execution container, from StreamEvents.

A first form: data only, for the panel and for the id that goes with the next request.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast

from agent_tui.agent.events import (
    ContainerEvent,
    DoneEvent,
    ErrorEvent,
    OpaqueEvent,
    StreamEvent,
    ToolCallEndEvent,
)

State = Literal["busy", "paused", "idle", "expired"]


@dataclass(slots=True)
class ContainerState:
    """The container of one conversation. Feed it every StreamEvent, in order.

    id: None before the first. created_at, seen: seconds of the caller's clock at its first
    and last response. expires_at: ISO 8601 as sent. state: busy (a program runs), paused (it
    waits for calls), idle, expired. pending: ids of the calls a paused program waits for.
    reused: responses after the first that named the same container. programs: how many ran.
    last_output, files: of the last finished program.
    """

    id: str | None = None
    created_at: float | None = None
    seen_at: float | None = None
    expires_at: str | None = None
    state: State = "idle"
    pending: list[str] = field(default_factory=list[str])
    reused: int = 0
    programs: int = 0
    last_output: str = ""
    files: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _named_now: bool = False
    _programs_now: int = 0
    """Programs that this response started: they ran in the container it names, perhaps later."""

    def feed(self, event: StreamEvent, now: float) -> bool:
        """Take in one event; True when something changed. now: seconds of the caller's clock."""
        match event:
            case ContainerEvent():
                return self._named(event.container.id, event.container.expires_at, now)
            case OpaqueEvent(phase="start" | "end", block=block) if block is not None:
                return self._program_block(block.raw, ended=event.phase == "end")
            case ToolCallEndEvent() if event.block.programmatic and event.block.complete:
                if event.block.id not in self.pending:
                    self.pending.append(event.block.id)
                self.state = "paused"
                return True
            case DoneEvent() | ErrorEvent():
                self._named_now, self._programs_now = False, 0
                before = self.state
                if self.state == "busy" and event.message.stop_reason != "pause_turn":
                    self.state = "idle"
                return self.state != before
            case _:
                return False

    def answered(self, call_id: str) -> None:
        """A call's result goes out; with the last one the program runs on."""
        if call_id in self.pending:
            self.pending.remove(call_id)
            if not self.pending:
                self.state = "busy"

    def interrupted(self) -> None:
        """The run was stopped: nothing is waited for any more."""
        self.pending.clear()
        if self.state in ("busy", "paused"):
            self.state = "idle"

    def lost(self) -> None:
        """The service says that the container is gone (A25): its id is used no more."""
        self.id = None
        self.pending.clear()
        self.state = "expired"

    def seconds_left(self, wall_clock: float) -> float | None:
        """Seconds until expiry by the wall clock (epoch), None if the service did not say."""
        if self.expires_at is None:
            return None
        try:
            expiry = datetime.fromisoformat(self.expires_at)
        except ValueError:
            return None
        if expiry.tzinfo is None:
            expiry = expiry.replace(tzinfo=UTC)
        return expiry.timestamp() - wall_clock

    def _named(self, container_id: str, expires_at: str | None, now: float) -> bool:
        if container_id != self.id:
            self.id, self.created_at = container_id, now
            self.reused, self.programs, self.files = 0, self._programs_now, []
            if self.state == "expired":
                self.state = "idle"
        elif not self._named_now:
            self.reused += 1
        self._named_now = True
        self.seen_at = now
        self.expires_at = expires_at
        return True

    def _program_block(self, raw: dict[str, Any], *, ended: bool) -> bool:
        kind = str(raw.get("type", ""))
        if kind == "server_tool_use" and "code_execution" in str(raw.get("name", "")):
            if not ended:
                self.programs += 1
                self._programs_now += 1
            self.state = "busy"
            return True
        if not ended or not kind.endswith("code_execution_tool_result"):
            return False
        self.pending.clear()
        self.state = "idle"
        content = raw.get("content")
        if isinstance(content, dict):
            fields = cast(dict[str, Any], content)
            out, err = fields.get("stdout"), fields.get("stderr")
            self.last_output = "".join(t for t in (out, err) if isinstance(t, str))
            if str(fields.get("error_code", "")) == "container_expired":
                self.lost()
            listed = fields.get("content")
            if isinstance(listed, list):
                made = [cast(dict[str, Any], f) for f in cast(list[Any], listed)
                        if isinstance(f, dict)]  # fmt: skip
                self.files += made
        return True
