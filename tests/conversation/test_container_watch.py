"""The container's state as it is told (DESIGN: container_changed; facts: programmatic calls)."""

from agent_tui.agent.events import (
    AgentEndEvent,
    ContainerEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    OpaqueEvent,
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

EXPIRES = "2026-12-01T10:00:00Z"
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
    assert told[-1].state == "busy"
    for number, id in enumerate(("t1", "t2")):
        watch.on_event(update(ToolCallEndEvent(number + 1, call(id))))
    watch.on_event(MessageEndEvent(AssistantMessage(stop_reason="tool_use")))
    assert (told[-1].state, told[-1].pending) == ("paused", 2)
    watch.on_event(finished("t2"))
    assert (told[-1].state, told[-1].pending) == ("paused", 1)
    watch.on_event(finished("t1"))
    assert (told[-1].state, told[-1].pending) == ("busy", 0)
    watch.on_event(update(ContainerEvent(Container(id="c1", expires_at=EXPIRES))))
    watch.on_event(update(OpaqueEvent(0, "end", OpaqueContent(raw=RESULT))))
    watch.on_event(MessageEndEvent(AssistantMessage()))
    last = told[-1]
    assert (last.state, last.reused, last.programs, last.last_output) == ("idle", 1, 1, "42\n")


def test_a_stopped_run_waits_for_nothing():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append)
    watch.enter(Container(id="c1"))
    watch.on_event(update(ToolCallEndEvent(0, call("t1"))))
    assert told[-1].state == "paused"
    watch.on_event(AgentEndEvent([]))
    assert (told[-1].state, told[-1].pending) == ("idle", 0)


def test_a_lost_container_is_told_once_as_expired():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append)
    watch.lost()
    assert told == [], "there was none"
    watch.enter(Container(id="c1", expires_at=EXPIRES))
    watch.lost()
    watch.lost()
    assert [(e.id, e.state) for e in told] == [("c1", "idle"), ("c1", "expired")]


def test_text_says_nothing_of_a_container():
    told: list[ContainerChangedEvent] = []
    watch = ContainerWatch(told.append)
    watch.on_event(MessageEndEvent(AssistantMessage()))
    watch.on_event(AgentEndEvent([]))
    assert told == []
