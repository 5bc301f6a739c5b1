"""Streaming: one update per event, errors with what came, no hurry that starves the others."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any

import clock_loop
import pytest
from loop_making import Model, agent_with, answer, assert_well_formed

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    AgentEvent,
    ContainerEvent,
    DoneEvent,
    ErrorEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    TextStartEvent,
    UsageEvent,
)
from agent_tui.agent.loop import AgentLoopConfig
from agent_tui.agent.messages import AssistantMessage, Container, Usage, UserMessage, text_content
from agent_tui.agent.streaming import BUFFER_EVENTS


def agent_on(stream: Callable[..., Any]) -> tuple[Agent, list[AgentEvent]]:
    agent = Agent(AgentLoopConfig("m1", stream))
    events: list[AgentEvent] = []
    agent.subscribe(events.append)
    return agent, events


def last(agent: Agent) -> AssistantMessage:
    message = agent.state.messages[-1]
    assert isinstance(message, AssistantMessage)
    return message


def test_every_event_between_start_and_done_is_one_update_under_one_id() -> None:
    sent: list[StreamEvent] = [
        StartEvent("msg_1", "model-x"),
        TextStartEvent(0),
        TextDeltaEvent(0, "a"),
        UsageEvent(Usage(input=1)),
        ContainerEvent(Container(id="c")),
        DoneEvent(answer("a")),
    ]

    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        for event in sent:
            yield event

    agent, events = agent_on(stream)
    clock_loop.run(agent.start("go"))
    updates = [e for e in events if isinstance(e, MessageUpdateEvent)]
    assert [e.event for e in updates] == sent[1:-1]
    assert {e.message_id for e in updates} == {last(agent).id}
    (start,) = [
        e.message
        for e in events
        if isinstance(e, MessageStartEvent) and isinstance(e.message, AssistantMessage)
    ]
    assert (start.id, start.content, start.model) == (last(agent).id, [], "model-x")
    assert_well_formed(events)


def test_the_message_of_done_is_left_alone() -> None:
    """A scripted stream may give the same message twice."""
    same = answer("a")
    model = Model(same, same)
    agent = agent_with(model)

    async def main() -> None:
        await agent.start("go")
        await agent.start("again")

    clock_loop.run(main())
    first, second = (m for m in agent.state.messages if isinstance(m, AssistantMessage))
    assert len({same.id, first.id, second.id}) == 3


class Overloaded(Exception):
    type_name = "overloaded_error"


@pytest.mark.parametrize(
    ("error", "text", "kind"),
    [
        (Overloaded("busy: try again"), "busy: try again", "overloaded_error"),
        (ConnectionError(), "ConnectionError", "ConnectionError"),
    ],
)
def test_a_stream_that_raises_keeps_what_came(error: Exception, text: str, kind: str) -> None:
    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        yield StartEvent()
        yield TextDeltaEvent(0, "The three")
        raise error

    agent, events = agent_on(stream)
    clock_loop.run(agent.start("go"))
    message = last(agent)
    assert (message.stop_reason, message.text) == ("error", "The three")
    assert (message.error_message, message.error_type) == (text, kind)
    assert_well_formed(events)
    assert text in events[-1].reason  # type: ignore[union-attr]


def test_a_stream_that_ends_without_done_is_an_error() -> None:
    """A17: never taken for a whole answer."""

    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        yield StartEvent()
        yield TextDeltaEvent(0, "half")

    agent, _ = agent_on(stream)
    clock_loop.run(agent.start("go"))
    assert (last(agent).stop_reason, last(agent).error_type) == ("error", "stream_cut")


def test_an_error_event_ends_the_run_with_its_message() -> None:
    broken = answer("half", stop="error").model_copy(
        update={"error_message": "boom", "error_type": "api_error"}
    )

    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        yield StartEvent()
        yield ErrorEvent(broken)

    agent, _ = agent_on(stream)
    clock_loop.run(agent.start("go"))
    assert (last(agent).text, last(agent).error_message) == ("half", "boom")


def test_what_comes_after_done_is_not_read_and_the_stream_is_closed() -> None:
    read: list[str] = []

    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        try:
            yield DoneEvent(answer("a"))
            read.append("more")
            yield TextDeltaEvent(0, "more")
        finally:
            read.append("closed")

    agent, _ = agent_on(stream)
    clock_loop.run(agent.start("go"))
    assert read == ["closed"]


def test_an_iterator_that_cannot_be_closed_will_do() -> None:
    class Plain:
        def __init__(self) -> None:
            self.left: list[StreamEvent] = [StartEvent(), DoneEvent(answer("a"))]

        def __aiter__(self) -> "Plain":
            return self

        async def __anext__(self) -> StreamEvent:
            return self.left.pop(0)

    agent, _ = agent_on(lambda *_: Plain())
    clock_loop.run(agent.start("go"))
    assert last(agent).text == "a"


def test_a_slow_subscriber_slows_the_stream_down() -> None:
    """The buffer between them is bounded."""
    total = BUFFER_EVENTS * 4
    sent = 0
    furthest = 0

    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        nonlocal sent
        yield StartEvent()
        for _ in range(total):
            sent += 1
            yield TextDeltaEvent(0, "x")
        yield DoneEvent(answer("x"))

    heard = 0

    async def slow(event: AgentEvent) -> None:
        nonlocal heard, furthest
        if event.type == "message_update":
            heard += 1
            await asyncio.sleep(0.001)
            furthest = max(furthest, sent - heard)

    agent, _ = agent_on(stream)
    agent.subscribe(slow)
    clock_loop.run(agent.start("go"))
    assert heard == total
    assert furthest <= BUFFER_EVENTS + 1


@pytest.mark.parametrize("busy", ["stream", "subscriber"])
def test_a_burst_lets_others_run(busy: str) -> None:
    """Events that come without any suspension must not hold the event loop: each of these costs
    1 ms, and after 8 ms the others get a turn (DESIGN)."""
    loop = clock_loop.ClockLoop()
    turns: list[int] = []
    sent = heard = 0

    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        nonlocal sent
        yield StartEvent()
        for _ in range(600):
            sent += 1
            loop.now += 0.001 if busy == "stream" else 0
            yield TextDeltaEvent(0, "x")
        yield DoneEvent(answer("x"))

    def listen(event: AgentEvent) -> None:
        nonlocal heard
        if event.type == "message_update":
            heard += 1
            loop.now += 0.001 if busy == "subscriber" else 0

    async def other() -> None:
        while True:
            turns.append(sent if busy == "stream" else heard)
            await asyncio.sleep(0)

    async def main() -> None:
        agent, _ = agent_on(stream)
        agent.subscribe(listen)
        task = asyncio.create_task(other())
        await agent.start("go")
        task.cancel()

    loop.run_until_complete(main())
    loop.close()
    assert heard == 600
    assert max(b - a for a, b in itertools.pairwise(turns)) <= 9


def test_after_an_abort_nothing_buffered_is_emitted() -> None:
    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        yield StartEvent()
        for _ in range(100):
            yield TextDeltaEvent(0, "x")
        yield DoneEvent(answer("x" * 100))

    agent, events = agent_on(stream)
    agent.subscribe(lambda _: agent.abort() if len(events) == 15 else None)
    clock_loop.run(agent.start("go"))
    updates = [e for e in events if isinstance(e, MessageUpdateEvent)]
    assert len(last(agent).text) == len(updates) < 15
    assert last(agent).stop_reason == "aborted"
    assert [e.type for e in events[15:]] == ["message_end", "turn_end", "agent_end"]


@pytest.mark.parametrize("starts", [True, False])
def test_an_abort_as_the_message_starts_is_before_all_updates(starts: bool) -> None:
    async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
        if starts:
            yield StartEvent()
        yield TextDeltaEvent(0, "x")
        yield DoneEvent(answer("x"))

    agent, events = agent_on(stream)

    def abort(event: AgentEvent) -> None:
        if isinstance(event, MessageStartEvent) and event.message.role == "assistant":
            agent.abort()

    agent.subscribe(abort)
    clock_loop.run(agent.start("go"))
    assert not any(isinstance(e, MessageUpdateEvent) for e in events)
    assert last(agent).stop_reason == "aborted"


def test_options_and_tools_of_a_request() -> None:
    model = Model(answer("a"))
    agent = agent_with(model, max_tokens=123, thinking_level="high")
    agent.system_prompt = "be brief"
    clock_loop.run(agent.start("go"))
    assert (model.options[0].max_tokens, model.options[0].thinking_level) == (123, "high")
    assert model.contexts[0].system_prompt == "be brief"


def test_a_long_history_is_converted_in_a_thread() -> None:
    """And comes out the same."""
    model = Model(answer("a"))
    agent = agent_with(model)
    messages = [
        m for _ in range(300) for m in (UserMessage(content=text_content("hi")), answer("yo"))
    ]
    agent.replace_messages(messages)
    asyncio.run(agent.start("go"))
    sent = model.contexts[0].messages
    assert [m.id for m in sent[:-1]] == [m.id for m in messages]
