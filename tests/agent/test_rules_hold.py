"""Rules of the loop (DESIGN) that every other test here would let go unnoticed when broken."""

from typing import Any

import clock_loop
import pytest
from loop_making import Model, agent_with, answer, assert_well_formed, call, results, tool

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import AgentEndEvent, AgentEvent
from agent_tui.agent.loop import (
    AgentContext,
    AgentLoopConfig,
    NextTurnSnapshot,
    PrepareNextTurnContext,
    run_agent_loop,
)
from agent_tui.agent.message_queue import MessageQueue
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    ToolResultMessage,
    UserMessage,
    text_content,
)


def user(text: str) -> UserMessage:
    return UserMessage(content=text_content(text))


def run(agent: Agent, prompt: str = "go") -> list[AgentEvent]:
    events: list[AgentEvent] = []
    unsubscribe = agent.subscribe(events.append)
    clock_loop.run(agent.start(prompt))
    unsubscribe()
    assert_well_formed(events)
    return events


def run_loop(model: Model, **config: Any) -> list[AgentMessage]:
    """The bare loop, with sources of its own instead of an Agent's queue."""
    loop_config = AgentLoopConfig("m1", model, tools=[tool()], **config)
    context = AgentContext("", [], [])
    return clock_loop.run(run_agent_loop([user("go")], context, loop_config, lambda _: None))


# --- the order of events, polling -------------------------------------------------------------


def test_agent_end_holds_only_what_the_run_added() -> None:
    agent = agent_with(Model(answer("one"), answer("two")))
    run(agent, "first")
    end = run(agent, "second")[-1]
    assert isinstance(end, AgentEndEvent)
    assert [m.text for m in end.messages] == ["second", "two"]  # type: ignore[union-attr]


def test_a_queue_that_throws_ends_no_run() -> None:
    async def broken() -> list[AgentMessage]:
        raise OSError("the queue is gone")

    added = run_loop(
        Model(answer(call("a")), answer("done")),
        get_steering_messages=broken,
        get_follow_up_messages=broken,
    )
    assert [m.role for m in added] == ["user", "assistant", "toolResult", "assistant"]


def test_the_hooks_of_a_turn_come_once_in_their_order_and_before_the_poll() -> None:
    order: list[str] = []

    async def prepare(_: PrepareNextTurnContext) -> None:
        order.append("prepare")

    async def should_stop(context: PrepareNextTurnContext) -> bool:
        order.append("should stop")
        return not context.message.tool_calls

    async def steering() -> list[AgentMessage]:
        order.append("steering")
        return []

    async def follow_ups() -> list[AgentMessage]:
        order.append("follow-ups")
        return [user("never taken")]

    added = run_loop(
        Model(answer(call("a")), answer("done")),
        prepare_next_turn=prepare,
        should_stop_after_turn=should_stop,
        get_steering_messages=steering,
        get_follow_up_messages=follow_ups,
    )
    assert order == ["steering", "prepare", "should stop", "steering", "prepare", "should stop"]
    assert added[-1].text == "done"  # type: ignore[union-attr]


# --- stop reasons -----------------------------------------------------------------------------


@pytest.mark.parametrize("stop", ["tool_use", "end_turn", "stop_sequence", "pause_turn"])
def test_calls_run_after_every_reason_that_leaves_them_whole(stop: str) -> None:
    """Only max_tokens, refusal, a full context and unknown reasons keep calls from running."""
    agent = agent_with(Model(answer("", call("a"), stop=stop), answer("done")), tool())
    run(agent)
    assert results(agent) == {"a": ("r", False)}
    assert agent.state.messages[-1].text == "done"  # type: ignore[union-attr]


def test_only_pauses_in_a_row_end_a_run() -> None:
    """An answer or results of ours between two pauses: the count begins anew."""
    pause, calls = answer("...", stop="pause_turn"), answer("", call("a"), stop="pause_turn")
    answers = [pause, calls, pause, answer("first"), pause, pause, answer("second")]
    agent = agent_with(Model(*answers), tool(), max_pauses=3)
    agent.follow_up("and?")
    run(agent)
    said = [m.text for m in agent.state.messages if isinstance(m, AssistantMessage)]
    assert said[-1] == "second"


def test_pauses_around_a_follow_up_do_not_add_up() -> None:
    pause = answer("...", stop="pause_turn")
    agent = agent_with(Model(pause, answer("first"), pause, answer("second")), max_pauses=2)
    agent.follow_up("and?")
    run(agent)
    assert agent.state.messages[-1].text == "second"  # type: ignore[union-attr]


# --- ids over a replaced context ----------------------------------------------------------------


def test_ids_in_a_context_that_a_hook_put_in_count_as_used() -> None:
    """Else an id would not tell which of two calls an event or a result is of."""
    old = [
        user("earlier"),
        AssistantMessage(content=[call("toolu_1")], stop_reason="tool_use"),
        ToolResultMessage(tool_call_id="toolu_1", content=text_content("old")),
    ]
    replaced: list[bool] = []

    async def prepare(context: PrepareNextTurnContext) -> NextTurnSnapshot | None:
        if replaced:
            return None
        replaced.append(True)
        return NextTurnSnapshot(AgentContext("", [*old], []))

    model = Model(answer(call("toolu_0")), answer(call("toolu_1")), answer("done"))
    agent = agent_with(model, tool(), prepare_next_turn=prepare)
    run(agent)
    everything = [*old, *agent.state.messages]
    ids = [c.id for m in everything if isinstance(m, AssistantMessage) for c in m.tool_calls]
    assert len(ids) == len(set(ids)) == 3
    assert len(results(agent)) == 2


# --- the queue ----------------------------------------------------------------------------------


def test_both_kinds_go_out_one_at_a_time_unless_told_otherwise() -> None:
    queue = MessageQueue()
    for kind in ("steer", "follow_up"):
        for text in ("1", "2", "3"):
            queue.add(kind, user(text))
        assert [item.text for item in queue.take(kind)] == ["1"]
    queue.follow_up_mode = "all"
    assert [item.text for item in queue.take("follow_up")] == ["2", "3"]
    assert [item.text for item in queue.take("steer")] == ["2"]


def test_a_hold_is_for_steering_only() -> None:
    queue = MessageQueue()
    queue.add("steer", user("s"))
    queue.add("follow_up", user("f"))
    queue.hold("a program is paused (1 call)")
    assert queue.take("steer") == []
    assert [item.text for item in queue.take("follow_up")] == ["f"]


def test_what_is_given_back_waits_in_its_order_and_says_so() -> None:
    queue = MessageQueue()
    queue.steering_mode = "all"
    for text in ("1", "2", "3"):
        queue.add("steer", user(text))
    taken = queue.take("steer")
    queue.add("steer", user("4"))
    queue.pause()
    heard: list[list[str]] = []
    queue.subscribe(lambda: heard.append([item.state for item in queue.items()]))
    queue.give_back(taken)
    assert [item.text for item in queue.waiting("steer")] == ["1", "2", "3", "4"]
    assert heard == [["paused"] * 4]


def test_a_place_before_the_first_is_the_first() -> None:
    queue = MessageQueue()
    for text in ("a", "b", "c"):
        queue.add("steer", user(text), text)
    queue.move("c", -1)
    assert [item.text for item in queue.items()] == ["c", "a", "b"]
