"""The loop inspector's state, alone: fed with what the loop says in each case of its law."""

import json
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    AgentEndEvent,
    AgentStartEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.conversation.events import (
    PermissionRequestEvent,
    PermissionResolvedEvent,
    QueueChangedEvent,
    QueueEntry,
    RetryEvent,
    StatusChangedEvent,
)
from agent_tui.tui.loop_state import NODES, LoopState

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "agent"))
from loop_case_runner import Case, _CaseRun, clock_loop  # noqa: E402

CASES: list[Case] = [
    case
    for file in sorted((HERE.parent / "data" / "loop_cases").glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]
]


@dataclass
class Seen:
    """One turn, as its events tell it afterwards."""

    injected: int = 0
    stop_reason: str = ""
    results: int = 0
    went_on: str | None = None
    will_go_on: str = ""


class Watched(_CaseRun):
    """The case, with a LoopState told what a face is told, and asked at each turn."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.state = LoopState(lambda: 0.0)
        self.runs: list[list[Seen]] = []
        self.reasons: list[tuple[str, str]] = []

    async def _act(self, name: str) -> None:
        if name == "before_run":
            self.agent.queue.subscribe(lambda: self.state.apply(queue_of(self.agent)))
            self.agent.subscribe_phase(self._on_phase)
        await super()._act(name)

    def _on_phase(self, phase: Any) -> None:
        self.state.apply(StatusChangedEvent("ready" if phase == "idle" else phase))

    async def _on_event(self, event: Any) -> None:
        state = self.state
        # Steering is announced and taken before the events that it makes.
        state.apply(queue_of(self.agent))
        state.apply(event)
        match event.type:
            case "agent_start":
                self.runs.append([])
            case "turn_start":
                self.runs[-1].append(Seen())
            case "message_start" if event.message.role == "assistant":
                self.runs[-1][-1].went_on = state.went_on
            case "message_start" if event.message.role not in ("toolResult",):
                self.runs[-1][-1].injected += 1
            case "turn_end":
                seen = self.runs[-1][-1]
                seen.stop_reason = event.message.stop_reason
                seen.results = len(event.tool_results)
                await super()._on_event(event)  # what is said at the turn's end counts
                seen.will_go_on = state.will_go_on
                return
            case "agent_end":
                assert state.now is None and not state.running
                self.reasons.append((event.reason, state.end_reason))
            case _:
                pass
        await super()._on_event(event)


def queue_of(agent: Agent) -> QueueChangedEvent:
    entries = [
        QueueEntry(i.id, i.kind, i.text, i.state, agent.delivery_point(i))
        for i in agent.queue.items()
    ]
    return QueueChangedEvent(entries, agent.queue.paused)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_why_it_went_on_and_why_it_ended(case: Case) -> None:
    run = Watched(case)
    clock_loop.run(run.play())
    assert all(told == shown for told, shown in run.reasons)
    for turns in run.runs:
        assert not turns or turns[0].went_on in (None, "")
        for before, turn in pairwise(turns):
            if turn.went_on is None:
                continue  # the request broke before it began
            words = turn.went_on
            assert words, "a turn came, and nobody knows why"
            asked = before.results and before.stop_reason in ("tool_use", "end_turn", "pause_turn")
            assert ("tool call" in words) == bool(asked)
            assert ("steer" in words or "follow-up" in words) == bool(turn.injected)
            if before.results and asked:
                assert words.startswith(f"{before.results} tool call")


UNKNOWABLE = {"stop_after_turn", "terminate", "prepare_next_turn"}
"""What no event tells beforehand: hooks and tools that end the run, or steer between turns."""


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not any(word in json.dumps(case) for word in UNKNOWABLE)],
    ids=lambda case: case["name"],
)
def test_what_will_happen_was_foretold(case: Case) -> None:
    run = Watched(case)
    clock_loop.run(run.play())
    for turns in run.runs:
        for at, turn in enumerate(turns):
            last = at == len(turns) - 1
            if last and turn.stop_reason == "":
                continue
            assert bool(turn.will_go_on) == (not last), turn


# --- step by step ---------------------------------------------------------------------------


def answer(*calls: str, stop: str = "") -> AssistantMessage:
    return AssistantMessage(
        content=[ToolCall(id=id, name="read") for id in calls],
        stop_reason=stop or ("tool_use" if calls else "end_turn"),
    )


def begun(clock: Any = lambda: 0.0) -> LoopState:
    state = LoopState(clock)
    for event in (AgentStartEvent(), TurnStartEvent(), *said(UserMessage(content="go"))):
        state.apply(event)
    return state


def said(message: Any) -> list[Any]:
    return [MessageStartEvent(message), MessageEndEvent(message)]


def marks(state: LoopState) -> str:
    letters = {"ahead": ".", "now": "N", "done": "d", "passed": "-"}
    return "".join(letters[state.marks[node]] for node in NODES)


def test_the_node_that_is_lit() -> None:
    state = begun()
    assert marks(state) == "N......."
    state.apply(StatusChangedEvent("waiting"))
    assert (marks(state), state.now) == ("dN......", "stream")
    message = answer("a", "b")
    state.apply(MessageStartEvent(answer()))
    state.apply(MessageUpdateEvent("m", ToolCallStartEvent(0, ToolCall(id="a", name="read"))))
    assert state.detail("calls") == "0 of 1" and state.will_go_on == "1 tool call"
    state.apply(MessageEndEvent(message))
    assert (marks(state), state.detail("calls")) == ("ddN.....", "0 of 2")
    state.apply(PermissionRequestEvent("r", "a", "read", {}))
    assert state.detail("calls") == "0 of 2, asks you"
    state.apply(PermissionResolvedEvent("r", "a", "allow"))
    for id in ("a", "b"):
        state.apply(ToolExecutionStartEvent(id, "read", {}))
    result = ToolResultMessage(tool_call_id="a", content=text_content("x"))
    state.apply(ToolExecutionEndEvent("a", "read", result, False, 3))
    assert state.detail("calls") == "1 of 2"
    state.apply(MessageStartEvent(result))
    assert marks(state) == "dddN...."
    state.apply(TurnEndEvent(message, [result]))
    assert (marks(state), state.now) == ("ddddN...", "prepare next")
    state.apply(TurnStartEvent())
    state.apply(MessageStartEvent(answer()))
    assert marks(state) == "-N......"
    assert state.went_on == "2 tool calls"


def test_queued_messages_are_counted_and_named_where_they_went() -> None:
    state = begun()
    entry = QueueEntry("q1", "steer", "no", "queued", "after this answer")
    later = QueueEntry("q2", "follow_up", "and", "queued", "when the turn ends")
    state.apply(QueueChangedEvent([entry, later], False))
    assert (state.detail("steering"), state.detail("follow-up")) == ("1", "1")
    assert state.will_go_on == "1 steer"
    message = answer("a")
    state.apply(MessageStartEvent(answer()))
    state.apply(MessageEndEvent(message))
    assert state.will_go_on == "1 tool call, then 1 steer"
    state.apply(TurnEndEvent(message, []))
    state.apply(QueueChangedEvent([later], False))
    state.apply(TurnStartEvent())
    for event in said(UserMessage(content="no", queue_item_id="q1")):
        state.apply(event)
    assert (state.went_on, state.detail("prompt")) == ("1 tool call, then 1 steer", "1 steer")
    assert state.will_go_on == "1 follow-up"
    state.apply(QueueChangedEvent([later], True))
    assert state.will_go_on == "" and state.will_end == "the queue is paused"
    assert state.detail("follow-up") == "1 paused"


def test_held_steering_does_not_make_a_turn() -> None:
    state = begun()
    entry = QueueEntry("q1", "steer", "no", "held", "held: a program is paused (2 calls)")
    state.apply(QueueChangedEvent([entry], False))
    state.apply(MessageEndEvent(answer(stop="pause_turn")))
    assert state.will_go_on == "the API paused the turn"
    assert state.detail("steering") == "1 held"


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ("end_turn", "the answer is complete"),
        ("max_tokens", "the output limit cut the answer"),
        ("refusal", "the model declined to answer"),
        ("model_context_window_exceeded", "the context window is full"),
        ("error", "the request failed"),
    ],
)
def test_why_it_will_end(stop: str, words: str) -> None:
    state = begun()
    assert state.will_end == "no tool call so far, nothing queued"
    state.apply(MessageEndEvent(answer(stop=stop)))
    assert (state.will_go_on, state.will_end) == ("", words)


def test_stopping_ends_it_whatever_is_queued() -> None:
    state = begun()
    state.apply(QueueChangedEvent([QueueEntry("q", "steer", "x", "queued", "")], False))
    state.apply(StatusChangedEvent("stopping"))
    assert (state.will_go_on, state.will_end) == ("", "stopped by the user")


def test_the_time_of_a_run_spans_its_tries_and_stops_with_it() -> None:
    now = [100.0]
    state = begun(lambda: now[0])
    now[0] = 107.0
    assert state.seconds == 7
    state.apply(AgentEndEvent([], "the request failed: overloaded"))
    state.apply(RetryEvent(1, 2.0, "overloaded"))
    now[0] = 110.0
    assert state.seconds == 7 and state.end_reason == "the request failed: overloaded"
    state.apply(AgentStartEvent())  # the driver tries again: the same run for the user
    assert state.seconds == 10
    state.apply(AgentEndEvent([], "the answer is complete"))
    state.apply(StatusChangedEvent("ready"))
    now[0] = 500.0
    state.apply(AgentStartEvent())
    assert state.seconds == 0


def test_deltas_change_nothing() -> None:
    state = begun()
    state.apply(MessageStartEvent(answer()))
    assert not state.apply(MessageUpdateEvent("m", TextDeltaEvent(0, "x")))
