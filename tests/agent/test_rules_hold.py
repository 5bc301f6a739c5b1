"""Rules of the loop (DESIGN) that every other test here would let go unnoticed when broken."""

from typing import Any

import clock_loop
import pytest
from loop_making import (
    Model,
    agent_with,
    answer,
    assert_well_formed,
    call,
    results,
    tool,
)
from wire_check import check

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    AgentEndEvent,
    AgentEvent,
    DoneEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    ToolCallStartEvent,
)
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
    BashExecutionMessage,
    Message,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.partial import PartialMessage


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


# --- the queue and the run --------------------------------------------------------------------

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv"}


def at(agent: Agent, kind: str, action: Any, *, number: int = 1) -> None:
    """Run the action at the number-th event of this kind."""
    seen: list[str] = []

    def listen(event: AgentEvent) -> None:
        if event.type == kind:
            seen.append(kind)
            if len(seen) == number:
                action()

    agent.subscribe(listen)


def texts(agent: Agent) -> list[str]:
    return [getattr(m, "text", "") for m in agent.state.messages]


def test_what_was_taken_when_the_stop_came_goes_out_with_the_next_run() -> None:
    agent = agent_with(Model(answer(call("a")), answer("ok")), tool())
    at(agent, "tool_execution_start", lambda: agent.steer("s1"))
    at(agent, "turn_start", agent.abort, number=2)
    run(agent)
    (item,) = agent.queue.items()
    assert (item.state, agent.queue.taken()) == ("queued", [])
    assert clock_loop.run(agent.run_queued()) is True
    assert texts(agent)[-2:] == ["s1", "ok"]
    assert item.state == "delivered"


def test_a_run_from_the_queue_begins_with_one_item_and_steering_first() -> None:
    model = Model(answer("one"), answer("two"), answer("three"))
    agent = agent_with(model)
    agent.follow_up("f1")
    agent.steer("s1")
    agent.steer("s2")
    clock_loop.run(agent.run_queued())
    assert texts(agent) == ["s1", "one", "s2", "two", "f1", "three"]


def test_continue_from_the_queue_begins_with_one_item_and_steering_first() -> None:
    agent = Agent(
        AgentLoopConfig("m", Model(answer("one"), answer("two"), answer("three"))),
        messages=[user("hi"), answer("yo")],
    )
    agent.follow_up("f1")
    agent.steer("s1")
    agent.steer("s2")
    clock_loop.run(agent.continue_())
    assert texts(agent)[2:] == ["s1", "one", "s2", "two", "f1", "three"]


def test_a_program_whose_calls_may_not_run_holds_nothing_back() -> None:
    """Cut by the output limit, its calls get error results; the turn is over for it, and the
    steer goes out. A call that was cut too is none that the program waits for."""
    whole, cut = call("a", caller=PROGRAM), call("b", caller=PROGRAM, complete=False)
    agent = agent_with(Model(answer(whole, cut, stop="max_tokens"), answer("ok")), tool())
    agent.follow_up("f1")
    said: list[tuple[str | None, int]] = []
    at(
        agent,
        "message_end",
        lambda: said.append((agent.queue.held, agent.state.pending_program_calls)),
        number=2,
    )
    at(agent, "tool_execution_start", lambda: agent.steer("s1"))
    run(agent)
    assert said == [("a program is paused (1 call)", 1)]
    assert texts(agent)[-4:] == ["s1", "ok", "f1", "over"]
    assert agent.queue.held is None


def test_send_now_is_nothing_while_the_queue_is_paused() -> None:
    async def work(ctx: Any) -> str:
        if ctx.call_id == "a":
            agent.steer("s1")
            agent.queue.pause()
            assert not agent.send_now()
        return "r"

    agent = agent_with(
        Model(answer(call("a"), call("b"))), tool(work=work), tool_execution="sequential"
    )
    run(agent)
    assert results(agent) == {"a": ("r", False), "b": ("r", False)}


def test_a_command_kept_from_the_model_gives_it_nothing_to_answer() -> None:
    hidden = BashExecutionMessage(command="ls", exclude=True)
    agent = Agent(AgentLoopConfig("m", Model()), messages=[user("hi"), answer("yo"), hidden])
    with pytest.raises(ValueError, match="nothing to continue"):
        agent.check_can_continue()


def test_stopping_is_the_last_phase_before_idle_though_a_turn_had_begun() -> None:
    agent = agent_with(Model(answer(call("a")), answer("never")), tool())
    phases: list[str] = []
    agent.subscribe_phase(phases.append)
    at(agent, "turn_start", agent.abort, number=2)
    run(agent)
    assert phases[-2:] == ["stopping", "idle"]


# --- one streamed answer ------------------------------------------------------------------------


def test_a_stream_is_closed_by_us_and_not_by_the_garbage_collector() -> None:
    log: list[str] = []

    class Stream:
        def __init__(self) -> None:
            self._left: list[StreamEvent] = [StartEvent(), DoneEvent(answer("a"))]

        def __aiter__(self) -> "Stream":
            return self

        async def __anext__(self) -> StreamEvent:
            return self._left.pop(0)

        async def aclose(self) -> None:
            log.append("closed")

    agent = Agent(AgentLoopConfig("m", lambda *_: Stream()))
    at(agent, "message_end", lambda: log.append("message_end"), number=2)
    run(agent)
    assert log == ["closed", "message_end"]


def test_a_response_that_starts_anew_leaves_nothing_of_what_came() -> None:
    partial = PartialMessage("m")
    for event in (
        StartEvent("msg_1"),
        TextDeltaEvent(0, "broken"),
        ToolCallStartEvent(1, call("a", complete=False)),
        StartEvent("msg_2"),
        TextDeltaEvent(0, "whole"),
    ):
        partial.apply(event)
    assert [block.type for block in partial.snapshot().content] == ["text"]
    assert partial.snapshot().text == "whole"


def test_a_transform_that_changes_its_list_changes_no_transcript() -> None:
    async def transform(messages: list[AgentMessage]) -> list[AgentMessage]:
        kept = messages[-1:]
        messages.clear()
        return [user("(left out)"), *kept] if not isinstance(kept[0], UserMessage) else kept

    seen: list[int] = []

    async def prepare(context: PrepareNextTurnContext) -> None:
        seen.append(len(context.context.messages))

    agent = agent_with(Model(answer("one")), transform_context=transform, prepare_next_turn=prepare)
    run(agent)
    assert seen == [2], "the question and its answer"


def test_what_a_convert_of_ones_own_leaves_is_repaired_too() -> None:
    """An invalid request would be refused for good."""

    def convert(messages: list[AgentMessage]) -> list[Message]:
        return [m for m in messages if isinstance(m, UserMessage | AssistantMessage)]

    model = Model(answer(call("a")), answer("ok"))
    run(agent_with(model, tool(), convert_to_llm=convert))
    check(model.contexts[-1].messages)
    last = model.contexts[-1].messages[-1]
    assert isinstance(last, ToolResultMessage) and last.tool_call_id == "a"
