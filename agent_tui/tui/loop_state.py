"""Where the loop is now, and why it goes on or stops, from the events alone (DESIGN: Loop panel).

Plain data, no Textual. The nodes are those of the loop's diagram, in its order. A delta costs
the same whatever came before.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.agent.events import AgentEvent, StreamEvent
from agent_tui.agent.messages import AgentMessage, AssistantMessage
from agent_tui.conversation.events import ConversationEvent, QueueEntry
from agent_tui.text import counted
from agent_tui.tui.lines import one_line

Node = Literal[
    "prompt", "stream", "calls", "results", "prepare next", "stop?", "steering", "follow-up"
]
NODES: tuple[Node, ...] = (
    "prompt", "stream", "calls", "results", "prepare next", "stop?", "steering", "follow-up"
)  # fmt: skip

Mark = Literal["ahead", "now", "done", "passed"]
"""ahead: not yet; now: the loop is here; done: something happened here; passed: nothing did."""

_NO_CALLS_RUN = {
    "max_tokens": "the output limit cut the answer",
    "model_context_window_exceeded": "the context window is full",
    "refusal": "the model declined to answer",
    "error": "the request failed",
    "aborted": "stopped by the user",
}
_CALLS_RUN = frozenset({"tool_use", "end_turn", "stop_sequence", "pause_turn", "compaction"})
_PAUSES = frozenset({"pause_turn", "compaction"})


@dataclass(slots=True)
class Turn:
    """One turn. stop_reason "": the answer is not whole yet. prompts, steers, follow_ups: the
    messages it began with; calls: of its answer; ended: those that have a result."""

    number: int
    prompts: int = 0
    steers: int = 0
    follow_ups: int = 0
    calls: set[str] = field(default_factory=set[str])
    ended: set[str] = field(default_factory=set[str])
    asked: set[str] = field(default_factory=set[str])
    """Calls that wait for the user."""
    stop_reason: str = ""
    over: bool = False

    @property
    def runs_calls(self) -> bool:
        return bool(self.calls) and self.stop_reason in _CALLS_RUN

    @property
    def by_itself(self) -> str:
        """Why the next turn comes without anybody's message; "": it does not."""
        if self.runs_calls:
            return counted(len(self.calls), "tool call")
        if self.stop_reason == "pause_turn":
            return "the API paused the turn"
        return "the API compacted the context" if self.stop_reason in _PAUSES else ""

    @property
    def messages(self) -> str:
        """The queued messages it began with, in words."""
        parts = [counted(self.steers, "steer")] if self.steers else []
        parts += [counted(self.follow_ups, "follow-up")] if self.follow_ups else []
        return ", ".join(parts)


@dataclass(slots=True)
class Waiting:
    """What is queued. held: steering that may not go out yet; paused: nothing goes out."""

    steers: int = 0
    follow_ups: int = 0
    held: int = 0
    paused: bool = False


class LoopState:
    """apply() takes every event and says whether what is shown changed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.running = False
        self.now: Node | None = None
        self.marks: dict[Node, Mark] = dict.fromkeys(NODES, "ahead")
        self.turn: Turn | None = None
        self.before: Turn | None = None
        self.waiting = Waiting()
        self.end_reason = ""
        self.stopping = False
        self.retries = 0
        self._kinds: dict[str, str] = {}
        """Of queue items by id, until the message has come."""
        self._started: float | None = None
        self._took = 0.0
        self._idle = True

    # --- what is shown -------------------------------------------------------------------

    @property
    def seconds(self) -> float | None:
        """How long the run has gone, or the last one took; None: there was none."""
        if self._started is None:
            return None
        return self._clock() - self._started if self.running else self._took

    @property
    def went_on(self) -> str:
        """Why the last turn went on to this one; "" in the first."""
        if self.turn is None or self.before is None:
            return ""
        parts = [self.before.by_itself, self.turn.messages]
        return _then(parts)

    @property
    def will_go_on(self) -> str:
        """Why another turn will come as things stand; "": none will."""
        turn = self.turn
        if turn is None or not self.running or self._ends_now:
            return ""
        first = turn.by_itself
        if not turn.stop_reason and turn.calls:
            first = counted(len(turn.calls), "tool call")
        if self.waiting.paused:
            return first
        steers = self.waiting.steers - (self.waiting.held if turn.stop_reason else 0)
        second = counted(steers, "steer") if steers > 0 else ""
        if not first and not second and self.waiting.follow_ups:
            second = counted(self.waiting.follow_ups, "follow-up")
        return _then([first, second])

    @property
    def _ends_now(self) -> bool:
        assert self.turn is not None
        return self.stopping or self.turn.stop_reason in ("error", "aborted")

    @property
    def will_end(self) -> str:
        """Why no other turn will come as things stand; "" where one will, or when idle."""
        turn = self.turn
        if turn is None or not self.running or self.will_go_on:
            return ""
        if self.stopping:
            return "stopped by the user"
        if not turn.stop_reason:
            return "no tool call so far, nothing queued" if self._empty else "the queue is paused"
        why = _NO_CALLS_RUN.get(turn.stop_reason, "the answer is complete")
        return why if self._empty else f"{why}, the queue is paused"

    @property
    def _empty(self) -> bool:
        return not (self.waiting.steers or self.waiting.follow_ups)

    def detail(self, node: Node) -> str:
        """A word about a node: how many, what waits."""
        turn, waiting = self.turn, self.waiting
        match node:
            case "prompt" if turn is not None and turn.messages:
                return turn.messages
            case "stream" if self.retries and self.running:
                return f"try {self.retries + 1}"
            case "calls" if turn is not None and turn.calls:
                done = f"{len(turn.ended & turn.calls)} of {len(turn.calls)}"
                return f"{done}, asks you" if turn.asked - turn.ended else done
            case "steering" if waiting.steers:
                return f"{waiting.steers}{self._state_of_queue}"
            case "follow-up" if waiting.follow_ups:
                return f"{waiting.follow_ups}{' paused' if waiting.paused else ''}"
            case _:
                return ""

    @property
    def _state_of_queue(self) -> str:
        if self.waiting.paused:
            return " paused"
        return " held" if self.waiting.held else ""

    # --- events ----------------------------------------------------------------------------

    def apply(self, event: AgentEvent | ConversationEvent) -> bool:
        match event.type:
            case "message_update":
                return self._stream(event.event)
            case "agent_start":
                self._begin()
            case "turn_start":
                self._next_turn()
            case "message_start":
                self._message_begins(event.message)
            case "message_end":
                self._message_ends(event.message)
            case "tool_execution_start":
                self._go("calls")
                self._turn.calls.add(event.tool_call_id)
                self._turn.asked.discard(event.tool_call_id)
            case "tool_execution_end":
                self._turn.calls.add(event.tool_call_id)
                self._turn.ended.add(event.tool_call_id)
            case "permission_request":
                self._turn.asked.add(event.tool_call_id)
            case "permission_resolved":
                self._turn.asked.discard(event.tool_call_id)
            case "turn_end":
                self._turn.over = True
                self._go("prepare next")
            case "agent_end":
                self._end(event.reason)
            case "queue_changed":
                return self._queued(event.items, event.paused)
            case "queue_delivered":
                self._kinds.pop(event.item_id, None)
                return False
            case "retry":
                self.retries = event.attempt
            case "status":
                self._status(event.status)
            case _:
                return False
        return True

    @property
    def _turn(self) -> Turn:
        """The turn under way; for a face that joined in its middle one is made up."""
        if self.turn is None:
            self.turn = Turn(1)
        return self.turn

    def _begin(self) -> None:
        if self._started is None or self._idle:
            self._started = self._clock()
        self._idle = False
        self.running, self.stopping, self.end_reason = True, False, ""
        self.turn = self.before = None
        self._clear_marks()

    def _next_turn(self) -> None:
        self.before, self.turn = self.turn, Turn(self.turn.number + 1 if self.turn else 1)
        self.retries = 0
        self._clear_marks()
        self._go("prompt")

    def _clear_marks(self) -> None:
        self.marks = dict.fromkeys(NODES, "ahead")
        self.now = None

    def _message_begins(self, message: AgentMessage) -> None:
        match message.role:
            case "assistant":
                self._go("stream")
            case "toolResult":
                self._go("results")
            case _:
                self._injected(message)

    def _injected(self, message: AgentMessage) -> None:
        kind = self._kinds.get(getattr(message, "queue_item_id", None) or "")
        if kind == "steer":
            self._turn.steers += 1
        elif kind == "follow_up":
            self._turn.follow_ups += 1
        else:
            self._turn.prompts += 1
        self._go("prompt")

    def _message_ends(self, message: AgentMessage) -> None:
        if isinstance(message, AssistantMessage):
            self._turn.stop_reason = message.stop_reason
            self._turn.calls |= {call.id for call in message.tool_calls}
            self._go("calls" if message.tool_calls else "stream")

    def _stream(self, event: StreamEvent) -> bool:
        if event.type != "toolcall_start":
            return False
        self._turn.calls.add(event.block.id)
        return True

    def _status(self, status: str) -> None:
        self.stopping = status == "stopping"
        match status:
            case "waiting" if self.running:
                self._go("stream")
            case "ready":
                self._idle = True
            case _:
                pass

    def _queued(self, items: list[QueueEntry], paused: bool) -> bool:
        self._kinds |= {item.id: item.kind for item in items}
        if len(self._kinds) > 4 * len(items) + 400:  # the withdrawn ones are never told
            self._kinds = {item.id: item.kind for item in items}
        ahead = [item for item in items if item.state != "taken"]
        # Some wait paused, others were typed later: what goes out is what counts.
        going = [item for item in ahead if item.state != "paused"]
        if going and len(going) < len(ahead):
            ahead, paused = going, False
        steers = [item for item in ahead if item.kind == "steer"]
        held = sum(item.delivery.startswith("held") for item in steers)
        found = Waiting(len(steers), len(ahead) - len(steers), held, paused)
        changed, self.waiting = found != self.waiting, found
        return changed

    def _go(self, node: Node) -> None:
        """The loop is at this node; those before it are behind."""
        for other in NODES[: NODES.index(node)]:
            if self.marks[other] == "now":
                self.marks[other] = "done"
            elif self.marks[other] == "ahead":
                self.marks[other] = "passed"
        self.marks[node], self.now = "now", node
        if node != "prompt" and not (self._turn.prompts or self._turn.messages):
            self.marks["prompt"] = "passed"

    def _end(self, reason: str) -> None:
        """What the loop did between the last turn's end and its own is told by the reason."""
        self._took = self._clock() - (self._started or self._clock())
        self.running, self.end_reason = False, one_line(reason, 300)
        for node in NODES:
            if self.marks[node] == "now":
                self.marks[node] = "done"
        if self.marks["prepare next"] == "done" and reason == "asked to stop after this turn":
            self.marks["stop?"] = "done"
        self.now = None


def _then(parts: list[str]) -> str:
    return ", then ".join(part for part in parts if part)
