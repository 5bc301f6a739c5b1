"""The container's state as it is told (DESIGN: container_changed; facts: programmatic calls)."""

import asyncio
from datetime import UTC, datetime

from agent_tui.agent.events import (
    AgentEndEvent,
    ContainerEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    StartEvent,
    TextDeltaEvent,
    ToolCallEndEvent,
    ToolExecutionEndEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    Container,
    OpaqueContent,
    ToolCall,
    ToolResultMessage,
)
from agent_tui.conversation.container_watch import ContainerWatch
from agent_tui.conversation.events import ContainerChangedEvent
from agent_tui.conversation.token_estimate import estimate_tokens
from agent_tui.messages_api.container import ANSWER_WITHIN_S

EXPIRES = "2026-12-01T10:00:00Z"
EXPIRY = datetime(2026, 12, 1, 10, tzinfo=UTC).timestamp()
PROGRAM = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}
RESULT = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "code_execution_result", "stdout": "42\n", "stderr": "", "return_code": 0},
}


def update(event) -> MessageUpdateEvent:
    return MessageUpdateEvent("m", event)


def call(id: str) -> ToolCall:
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    return ToolCall(id=id, name="query", caller=caller)


def finished(id: str) -> ToolExecutionEndEvent:
    result = ToolResultMessage(tool_call_id=id, tool_name="query")
    return ToolExecutionEndEvent(id, "query", result, False, 1)


def test_a_program_from_its_start_to_its_output():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    watch.on_event(update(ContainerEvent(Container(id="c1", expires_at=EXPIRES))))
    assert (told[-1].id, told[-1].expires_at) == ("c1", EXPIRES)
    watch.on_event(update(OpaqueEvent(0, "start", OpaqueContent(raw=PROGRAM))))
    assert (told[-1].state, [r.state for r in told[-1].runs]) == ("idle", ["written"])
    watch.on_event(update(OpaqueEvent(0, "end", OpaqueContent(raw=PROGRAM))))
    assert told[-1].state == "busy"
    for number, id in enumerate(("t1", "t2")):
        watch.on_event(update(ToolCallEndEvent(number + 1, call(id))))
    watch.on_event(MessageEndEvent(AssistantMessage(stop_reason="tool_use")))
    assert (told[-1].state, told[-1].pending) == ("paused", 2)
    for id in ("t2", "t1"):  # they go out together, with the next request
        watch.on_event(finished(id))
        assert (told[-1].state, told[-1].pending) == ("paused", 2)
    watch.on_event(update(StartEvent("msg_2", "demo")))
    assert (told[-1].state, told[-1].pending) == ("busy", 0)
    watch.on_event(update(ContainerEvent(Container(id="c1", expires_at=EXPIRES))))
    watch.on_event(update(OpaqueEvent(0, "end", OpaqueContent(raw=RESULT))))
    watch.on_event(MessageEndEvent(AssistantMessage()))
    last = told[-1]
    assert (last.state, last.reused, last.programs, last.last_output) == ("idle", 1, 1, "42\n")
    assert (last.calls, last.failed, last.round_trips_saved) == (2, 0, 1)
    (run,) = last.runs
    assert (run.number, run.state, run.exit_code, run.calls) == (1, "done", 0, 2)


def test_a_stopped_run_waits_for_nothing():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    watch.enter(Container(id="c1"))
    watch.on_event(update(ToolCallEndEvent(0, call("t1"))))
    assert told[-1].state == "paused"
    watch.on_event(AgentEndEvent([]))
    assert (told[-1].state, told[-1].pending) == ("paused", 0)


async def test_a_program_that_was_given_up_is_held_until_about_then():
    """The service waits for its answer; nothing else happens when it lets it go."""
    told: list[ContainerChangedEvent] = []
    free = asyncio.Event()
    now = [0.0]

    def tell(event: ContainerChangedEvent) -> None:
        told.append(event)
        if event.state == "idle":
            free.set()

    watch = ContainerWatch(tell, clock=lambda: now[0])
    watch.enter(Container(id="c1"))
    watch.on_event(update(ToolCallEndEvent(0, call("t1"))))
    now[0] = ANSWER_WITHIN_S - 0.01
    watch.on_event(AgentEndEvent([]))
    assert told[-1].held_until == ANSWER_WITHIN_S
    now[0] = ANSWER_WITHIN_S
    async with asyncio.timeout(5):
        await free.wait()
    assert (told[-1].state, told[-1].held_until) == ("idle", None)
    watch.close()


def test_a_lost_container_is_told_once_as_expired():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    watch.lost()
    assert told == [], "there was none"
    watch.enter(Container(id="c1", expires_at=EXPIRES))
    watch.lost()
    watch.lost()
    assert [(e.id, e.state) for e in told] == [("c1", "created"), ("c1", "expired")]


def test_text_says_nothing_of_a_container():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    watch.on_event(MessageEndEvent(AssistantMessage()))
    watch.on_event(AgentEndEvent([]))
    assert told == []


def test_each_change_is_told_once():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    named = update(ContainerEvent(Container(id="c1", expires_at=EXPIRES)))
    for _ in range(3):
        watch.on_event(named)
    for _ in range(50):
        watch.on_event(update(TextDeltaEvent(0, "word ")))
    assert len(told) == 1


def test_what_the_results_kept_out_is_told_when_the_program_has_them():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    watch.enter(Container(id="c1"))
    watch.on_event(update(OpaqueEvent(0, "end", OpaqueContent(raw=PROGRAM))))
    watch.on_event(update(ToolCallEndEvent(1, call("t1"))))
    watch.on_event(MessageEndEvent(AssistantMessage(stop_reason="tool_use")))
    assert told[-1].answer_due_at == 240.0
    text = "one row after the other, " * 200
    result = ToolResultMessage(tool_call_id="t1", content=[{"type": "text", "text": text}])
    watch.on_event(ToolExecutionEndEvent("t1", "query", result, False, 1))
    assert (told[-1].kept_out_tokens_estimate, told[-1].answer_due_at) == (0, 240.0)
    watch.on_event(update(OpaqueEvent(0, "end", OpaqueContent(raw=RESULT))))
    assert told[-1].kept_out_tokens_estimate == estimate_tokens(text)


async def test_its_end_is_told_when_the_time_is_over():
    told: list[ContainerChangedEvent] = []
    over = asyncio.Event()
    now = EXPIRY - 0.02

    def tell(event: ContainerChangedEvent) -> None:
        told.append(event)
        over.set() if event.state == "expired" else None

    watch = ContainerWatch(tell, clock=lambda: now)
    watch.enter(Container(id="c1", expires_at=EXPIRES))
    assert told[-1].state == "created"
    now = EXPIRY + 1
    async with asyncio.timeout(5):
        await over.wait()
    assert [e.state for e in told] == ["created", "expired"]


def test_a_face_that_comes_later_finds_the_history_of_a_session():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    messages = [
        AssistantMessage(
            content=[OpaqueContent(raw=PROGRAM), OpaqueContent(raw=RESULT)],
            container=Container(id="c1", expires_at=EXPIRES),
        )
    ]
    watch.enter(Container(id="c1", expires_at=EXPIRES), messages)
    assert watch.last is told[-1]
    assert (watch.last.state, watch.last.programs, watch.last.last_output) == ("idle", 1, "42\n")


def test_files_are_asked_for_once_and_told_with_what_is_known():
    told: list[ContainerChangedEvent] = []
    asked: list[list[str]] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    watch.tell_files_to(asked.append)
    watch.enter(Container(id="c1"))
    made = {"type": "code_execution_output", "file_id": "file_1"}
    result = {**RESULT, "content": {**RESULT["content"], "content": [made]}}
    for _ in range(2):
        watch.on_event(update(OpaqueEvent(0, "end", OpaqueContent(raw=result))))
    watch.on_event(MessageEndEvent(AssistantMessage()))
    watch.on_event(update(OpaqueEvent(0, "end", OpaqueContent(raw={**PROGRAM, "id": "p2"}))))
    assert told[-1].state == "busy" and told[-1].files == [made]
    assert asked == [["file_1"]]
    watch.know_file("file_1", {"name": "chart.png", "size": 44_000})
    assert told[-1].files == [{**made, "name": "chart.png", "size": 44_000}]


def test_given_up_by_the_user():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append, clock=lambda: 0.0)
    watch.forgotten()
    assert told == [], "there was none"
    watch.enter(Container(id="c1"))
    watch.forgotten()
    assert (told[-1].id, told[-1].state) == ("", "created")
