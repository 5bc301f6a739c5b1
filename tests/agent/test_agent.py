"""Agent: the queue on its way, phases, the transcript, what may be asked for when."""

import asyncio
from typing import Any

import clock_loop
import pytest
from loop_making import Model, agent_with, answer, assert_well_formed, call, results, tool
from wire_check import check

from agent_tui.agent.agent import Agent, AgentBusyError
from agent_tui.agent.events import AgentEndEvent, AgentEvent
from agent_tui.agent.loop import (
    AgentContext,
    AgentLoopConfig,
    NextTurnSnapshot,
    PrepareNextTurnContext,
    continue_agent_loop,
    run_agent_loop,
)
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    CustomMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    text_content,
)

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv"}


def user(text: str) -> UserMessage:
    return UserMessage(content=text_content(text))


def texts(agent: Agent) -> list[str]:
    return [getattr(m, "text", "") for m in agent.state.messages]


def on(agent: Agent, token: str, action: Any) -> None:
    """Run action at the first event of this type."""
    done: list[bool] = []

    def listen(event: AgentEvent) -> None:
        if event.type == token and not done:
            done.append(True)
            action()

    agent.subscribe(listen)


def reason_of(agent: Agent, prompt: str = "go") -> str:
    reasons: list[str] = []
    agent.subscribe(lambda e: reasons.append(e.reason) if isinstance(e, AgentEndEvent) else None)
    clock_loop.run(agent.start(prompt))
    (reason,) = reasons
    return reason


# --- delivery ------------------------------------------------------------------------------------


def test_delivery_points_while_idle() -> None:
    agent = agent_with(Model())
    first, second = agent.steer("s1"), agent.steer("s2")
    later = agent.follow_up("f1")
    assert agent.delivery_point(first) == "with the next prompt"
    assert agent.delivery_point(second) == "1 turn later"
    assert agent.delivery_point(later) == "after the next prompt"
    agent.queue.lock(first.id)
    assert agent.delivery_point(first) == "being edited"
    assert agent.delivery_point(second) == "with the next prompt"
    agent.queue.pause()
    assert agent.delivery_point(second) == agent.delivery_point(later) == "paused: Enter resumes"


def test_delivery_points_during_an_answer() -> None:
    agent = agent_with(Model(answer("one")))
    said: dict[str, str] = {}

    def look() -> None:
        for item in (agent.steer("s1"), agent.steer("s2"), agent.follow_up("f1")):
            said[item.text] = agent.delivery_point(item)
        said["f2"] = agent.delivery_point(agent.follow_up("f2"))

    on(agent, "message_update", look)
    clock_loop.run(agent.start("go"))
    assert said == {
        "s1": "after this answer",
        "s2": "1 turn later",
        "f1": "when the turn ends",
        "f2": "when the turn ends (1 before)",
    }


def test_delivery_point_counts_the_tools_left_and_send_now_the_running_ones() -> None:
    """B05, B06."""
    said: list[str] = []

    async def work(ctx: Any) -> str:
        if ctx.call_id == "b":
            item = agent.steer("stop, wrong folder")
            said.append(agent.delivery_point(item))
            said.append(agent.delivery_point(item, asking=True))
            assert agent.send_now()
            said.append(agent.delivery_point(item))
        return "r"

    calls = [call(i) for i in "abcde"]
    agent = agent_with(Model(answer(*calls)), tool(work=work), tool_execution="sequential")
    clock_loop.run(agent.start("go"))
    assert said == [
        "after 4 running tools", "after the call that waits for you", "after 1 running tool",
    ]  # fmt: skip
    results = [m.is_error for m in agent.state.messages if isinstance(m, ToolResultMessage)]
    assert results == [False, False, True, True, True]
    assert texts(agent)[-2:] == ["stop, wrong folder", "over"]


def test_a_paused_program_holds_the_steer_and_says_so() -> None:
    said: list[tuple[str, str, int]] = []

    async def work(ctx: Any) -> str:
        item = agent.queue.items()[0] if agent.queue.items() else agent.steer("only Europe")
        pending = agent.state.pending_program_calls
        said.append((item.state, agent.delivery_point(item), pending))
        return "r"

    program = [call("a", caller=PROGRAM), call("b", caller=PROGRAM)]
    agent = agent_with(Model(answer(*program), answer("done")), tool(work=work))
    pending: list[int] = []
    agent.subscribe(
        lambda e: (
            pending.append(agent.state.pending_program_calls)
            if e.type == "message_update"
            else None
        )
    )
    clock_loop.run(agent.start("go"))
    assert set(pending) == {0}, "an answer that streams has no call that waits"
    held = ("held", "held: a program is paused (2 calls)", 2)
    assert said == [held, held]
    assert texts(agent)[-3:] == ["done", "only Europe", "over"]
    assert agent.queue.history()[0].landed == "turn 3, after the answer"
    assert agent.state.pending_program_calls == 0


def test_after_an_abort_in_a_program_nothing_is_held() -> None:
    agent = agent_with(Model(answer(call("a", caller=PROGRAM))), tool())
    item = agent.steer("s0")

    def stop() -> None:
        agent.queue.lock(agent.steer("s1").id)
        agent.abort()

    on(agent, "tool_execution_start", stop)
    clock_loop.run(agent.start("go"))
    (left,) = agent.queue.items()
    agent.queue.unlock(left.id)
    assert (item.state, left.state) == ("delivered", "queued")
    assert agent.delivery_point(left) == "with the next prompt"
    assert agent.state.pending_program_calls == 0


def test_a_paused_turn_holds_the_steer_until_the_turn_is_over() -> None:
    said: list[str] = []
    agent = agent_with(Model(answer("one", stop="pause_turn"), answer("two")))
    on(agent, "message_update", lambda: agent.steer("s1"))
    on(agent, "turn_end", lambda: said.append(agent.delivery_point(agent.queue.items()[0])))
    clock_loop.run(agent.start("go"))
    assert said[0].startswith("held: ")
    assert texts(agent) == ["go", "one", "two", "s1", "over"]


def test_where_a_message_landed_is_told() -> None:
    agent = agent_with(Model(answer(call("a"), call("b")), answer("x")), tool())
    before = agent.steer("s0")
    on(agent, "tool_execution_start", lambda: (agent.steer("s1"), agent.follow_up("f1")))
    clock_loop.run(agent.start("go"))
    landed = {item.text: item.landed for item in agent.queue.history()}
    assert landed == {
        "s0": "turn 1, with the prompt",
        "s1": "turn 2, after 2 tool results",
        "f1": "turn 3, after the answer",
    }
    assert agent.delivery_point(before) == "turn 1, with the prompt"


def test_an_item_is_delivered_only_when_all_subscribers_have_its_message() -> None:
    """The session's record is the delivery: until it is written the item is only taken."""
    states: list[str] = []
    agent = agent_with(Model(answer("x")))
    item = agent.steer("s1")

    async def record(event: AgentEvent) -> None:
        if event.type == "message_end" and event.message.id == item.message.id:
            await asyncio.sleep(1)
            states.append(item.state)
            assert event.message.queue_item_id == item.id  # type: ignore[union-attr]

    agent.subscribe(record)
    clock_loop.run(agent.start("go"))
    assert states == ["taken"]
    assert item.state == "delivered"


def test_what_the_user_may_not_say_cannot_be_queued() -> None:
    agent = agent_with(Model())
    for message in (AssistantMessage(), ToolResultMessage(tool_call_id="a")):
        with pytest.raises(ValueError, match="user"):
            agent.steer(message)
    assert agent.steer(CustomMessage(content=text_content("note"))).text == "note"


def test_a_command_of_the_user_can_be_steered() -> None:
    agent = agent_with(Model(answer("x")))
    item = agent.steer(BashExecutionMessage(command="ls", output="f1"))
    clock_loop.run(agent.start("go"))
    assert item.state == "delivered"
    assert [m.role for m in agent.state.messages] == ["user", "bash", "assistant"]


def test_send_now_without_a_message_or_a_run_skips_nothing() -> None:
    agent = agent_with(Model(answer(call("a"), call("b"))), tool(), tool_execution="sequential")
    assert not agent.send_now()
    answers: list[bool] = []

    def try_it() -> None:
        answers.append(agent.send_now())
        agent.queue.lock(agent.steer("being typed").id)
        answers.append(agent.send_now())

    on(agent, "tool_execution_start", try_it)
    clock_loop.run(agent.start("go"))
    assert answers == [False, False]
    assert [m.text for m in agent.state.messages if isinstance(m, ToolResultMessage)] == ["r", "r"]


def test_a_message_of_the_last_instant_waits_in_the_queue() -> None:
    """B01: after the last poll it is not lost; the next run takes it."""
    agent = agent_with(Model(answer("x"), answer("y")))
    on(agent, "agent_end", lambda: agent.steer("late"))

    async def main() -> None:
        await agent.start("go")
        assert [i.text for i in agent.queue.items()] == ["late"]
        await agent.continue_()

    clock_loop.run(main())
    assert texts(agent) == ["go", "x", "late", "y"]
    assert not agent.queue.items()


# --- phases --------------------------------------------------------------------------------------


def test_phases_are_told_at_once() -> None:
    agent = agent_with(Model(answer("t", call("a")), answer("x")), tool())
    phases: list[str] = []
    unsubscribe = agent.subscribe_phase(phases.append)
    clock_loop.run(agent.start("go"))
    assert phases == ["waiting", "streaming", "tools", "waiting", "streaming", "idle"]
    unsubscribe()
    clock_loop.run(agent.start("again"))
    assert len(phases) == 6


def test_stopping_is_out_before_abort_returns_and_stays() -> None:
    agent = agent_with(Model(answer("t", call("a"))), tool())
    phases: list[str] = []
    agent.subscribe_phase(phases.append)

    def abort() -> None:
        agent.abort()
        assert phases[-1] == "stopping"

    on(agent, "message_end", lambda: None)
    on(agent, "tool_execution_start", abort)
    clock_loop.run(agent.start("go"))
    assert phases == ["waiting", "streaming", "tools", "stopping", "idle"]


def test_a_bad_phase_subscriber_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def bad(phase: str) -> None:
        raise RuntimeError("trouble")

    agent = agent_with(Model(answer("x")))
    agent.subscribe_phase(bad)
    clock_loop.run(agent.start("go"))
    assert agent.state.phase == "idle"
    assert "trouble" in caplog.text


def test_the_streaming_message_can_be_looked_at() -> None:
    seen: list[str] = []
    agent = agent_with(Model(answer("abc")))

    def look(event: AgentEvent) -> None:
        if event.type == "message_update" and agent.partial is not None:
            seen.append(agent.partial.snapshot().text)

    agent.subscribe(look)
    clock_loop.run(agent.start("go"))
    assert seen == ["", "a", "ab", "abc", "abc"]
    assert agent.partial is None


# --- what may be asked for when ------------------------------------------------------------------


def test_a_running_agent_refuses_a_second_run() -> None:
    refused: list[str] = []

    async def main() -> None:
        run = asyncio.create_task(agent.start("go"))
        await asyncio.sleep(0)
        for attempt in (agent.start("x"), agent.continue_(), agent.run_queued()):
            with pytest.raises(AgentBusyError, match="steer"):
                await attempt
            refused.append("yes")
        for change in (agent.drop_last_message, agent.check_can_continue):
            with pytest.raises(AgentBusyError):
                change()
        with pytest.raises(AgentBusyError):
            agent.replace_messages([])
        with pytest.raises(AgentBusyError):
            await agent.add_message(user("x"))
        await run

    agent = agent_with(Model(answer("x")))
    clock_loop.run(main())
    assert len(refused) == 3
    assert texts(agent) == ["go", "x"]


def test_wait_idle_waits_for_the_last_subscriber() -> None:
    done: list[str] = []

    async def slow(event: AgentEvent) -> None:
        if event.type == "agent_end":
            await asyncio.sleep(5)
            done.append("agent_end")

    async def main() -> None:
        agent = agent_with(Model(answer("x")))
        await agent.wait_idle()
        agent.subscribe(slow)
        run = asyncio.create_task(agent.start("go"))
        await asyncio.sleep(1)
        await agent.wait_idle()
        assert done == ["agent_end"]
        await run

    clock_loop.run(main())


def test_an_empty_prompt_is_refused() -> None:
    agent = agent_with(Model())
    with pytest.raises(ValueError):
        clock_loop.run(agent.start([]))
    assert agent.state.phase == "idle"


@pytest.mark.parametrize(
    ("messages", "why"), [([], "empty"), ([user("hi"), answer("yo")], "assistant message")]
)
def test_nothing_to_continue(messages: list[AgentMessage], why: str) -> None:
    agent = Agent(AgentLoopConfig("m", Model()), messages=messages)
    with pytest.raises(ValueError, match=why):
        clock_loop.run(agent.continue_())
    agent.queue.lock(agent.steer("being typed").id)
    with pytest.raises(ValueError, match=why):
        agent.check_can_continue()


def test_continue_looks_past_what_the_model_does_not_see() -> None:
    hidden = [BashExecutionMessage(command="x", exclude=True), UnknownMessage(role="hologram")]
    agent = Agent(AgentLoopConfig("m", Model(answer("yo"))), messages=[user("hi"), *hidden])
    clock_loop.run(agent.continue_())
    assert texts(agent)[-1] == "yo"


def test_continue_goes_on_with_a_paused_turn() -> None:
    model = Model(answer("part two"))
    paused = answer("part one", stop="pause_turn")
    agent = Agent(AgentLoopConfig("m", model), messages=[user("hi"), paused])
    steer = agent.steer("s1")
    clock_loop.run(agent.continue_())
    assert model.contexts[0].messages == [agent.state.messages[0], paused]
    assert steer.state == "delivered"
    assert texts(agent) == ["hi", "part one", "part two", "s1", "over"]


def test_continue_answers_a_waiting_program_before_the_steer_goes_out() -> None:
    model = Model(answer("done"))
    history = [
        user("hi"),
        answer(call("a", caller=PROGRAM)),
        ToolResultMessage(tool_call_id="a", content=text_content("r")),
    ]
    agent = Agent(AgentLoopConfig("m", model), messages=history)
    agent.steer("s1")
    clock_loop.run(agent.continue_())
    assert [m.role for m in model.contexts[0].messages] == ["user", "assistant", "toolResult"]
    assert texts(agent)[-3:] == ["done", "s1", "over"]


def test_continue_takes_a_follow_up_when_nothing_steers() -> None:
    agent = Agent(AgentLoopConfig("m", Model(answer("r"))), messages=[user("hi"), answer("yo")])
    agent.follow_up("f1")
    clock_loop.run(agent.continue_())
    assert texts(agent) == ["hi", "yo", "f1", "r"]


def test_run_queued_prompts_with_the_queue_after_an_abort() -> None:
    async def main() -> None:
        agent = agent_with(Model(answer(call("a")), answer("ok")), tool())
        on(agent, "tool_execution_start", agent.abort)
        await agent.start("go")
        assert await agent.run_queued() is False
        agent.follow_up("and then this")
        assert await agent.run_queued() is True
        assert texts(agent)[-2:] == ["and then this", "ok"]

    clock_loop.run(main())


# --- transcript and settings ---------------------------------------------------------------------


def test_messages_can_be_added_while_idle() -> None:
    seen: list[str] = []
    agent = agent_with(Model(answer("x")))
    agent.subscribe(lambda e: seen.append(e.type))

    async def main() -> None:
        await agent.add_message(BashExecutionMessage(command="ls", output="f1"))
        assert seen == ["message_start", "message_end"]
        await agent.start("go")

    clock_loop.run(main())
    assert [m.role for m in agent.state.messages] == ["bash", "user", "assistant"]


def test_a_replaced_transcript_and_context() -> None:
    model = Model(answer("x"), answer("y"))
    agent = agent_with(model)
    agent.replace_messages([user("old"), answer("older")], context=[user("SUMMARY")])

    async def main() -> None:
        await agent.start("go")
        await agent.start("again")

    clock_loop.run(main())
    assert texts(agent) == ["old", "older", "go", "x", "again", "y"]
    sent = [[getattr(m, "text", "") for m in c.messages] for c in model.contexts]
    assert sent == [["SUMMARY", "go"], ["SUMMARY", "go", "x", "again"]]
    assert agent.context_messages()[0].text == "SUMMARY"  # type: ignore[union-attr]


def test_dropping_a_broken_answer_takes_it_from_the_context_too() -> None:
    model = Model(answer("x"), answer("half", stop="error"), answer("whole"))
    agent = agent_with(model)

    async def main() -> None:
        await agent.start("go")
        await agent.start("again")
        assert agent.drop_last_message().text == "half"  # type: ignore[union-attr]
        await agent.continue_()

    clock_loop.run(main())
    assert texts(agent) == ["go", "x", "again", "whole"]
    assert [getattr(m, "text", "") for m in model.contexts[-1].messages] == ["go", "x", "again"]


def test_the_transcript_given_is_not_the_agents_own() -> None:
    given = [user("hi"), answer("yo")]
    agent = Agent(AgentLoopConfig("m", Model(answer("x"))), messages=given)
    clock_loop.run(agent.start("go"))
    assert len(given) == 2


class Requests(Model):
    """Notes the model of each request."""

    def __init__(self, *answers: AssistantMessage) -> None:
        super().__init__(*answers)
        self.models: list[str] = []

    def __call__(self, model: str, *rest: Any) -> Any:
        self.models.append(model)
        return super().__call__(model, *rest)


def test_a_model_chosen_in_mid_run_is_the_next_requests() -> None:
    model = Requests(answer(call("a")), answer(call("b")), answer("x"))
    agent = agent_with(model, tool())
    on(agent, "message_update", lambda: agent.set_model("m2", "high"))
    clock_loop.run(agent.start("go"))
    assert model.models == ["m1", "m2", "m2"]
    assert [o.thinking_level for o in model.options] == ["off", "high", "high"]
    assert (agent.state.model, agent.state.thinking_level) == ("m2", "high")


def test_what_prepare_next_turn_sets_lasts_for_the_run_and_the_user_wins() -> None:
    async def prepare(context: PrepareNextTurnContext) -> NextTurnSnapshot | None:
        first = len(context.new_messages) == 3
        return NextTurnSnapshot(model="fallback") if first else None

    model = Requests(answer(call("a")), answer(call("b")), answer("x"), answer("y"))
    agent = agent_with(model, tool(), prepare_next_turn=prepare)
    seen: list[str] = []

    def choose(event: AgentEvent) -> None:
        if event.type == "tool_execution_start":
            seen.append(agent.state.model)
            if event.tool_call_id == "b":
                agent.set_model("chosen")

    agent.subscribe(choose)

    async def main() -> None:
        await agent.start("go")
        await agent.start("again")

    clock_loop.run(main())
    assert model.models == ["m1", "fallback", "chosen", "chosen"]
    assert seen == ["m1", "fallback"]


def test_hooks_of_the_loop_that_raise_are_logged_and_do_no_harm(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def bad(_: PrepareNextTurnContext) -> Any:
        raise RuntimeError("hook trouble")

    agent = agent_with(
        Model(answer(call("a")), answer("x")), tool(),
        prepare_next_turn=bad, should_stop_after_turn=bad,
    )  # fmt: skip
    clock_loop.run(agent.start("go"))
    assert texts(agent)[-1] == "x"
    assert "hook trouble" in caplog.text


# --- why a run ended -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ("end_turn", "complete"),
        ("stop_sequence", "stop sequence"),
        ("max_tokens", "output limit"),
        ("refusal", "declined"),
        ("model_context_window_exceeded", "context window"),
        ("brand_new", "brand_new"),
        ("tool_use", "named none"),
    ],
)
def test_the_reason_of_the_end_in_words(stop: str, words: str) -> None:
    assert words in reason_of(agent_with(Model(answer("x", stop=stop))))


def test_other_reasons() -> None:
    agent = agent_with(Model(answer("x")))
    on(agent, "message_update", agent.abort)
    assert "user" in reason_of(agent)

    async def stop(_: PrepareNextTurnContext) -> bool:
        return True

    assert "stop" in reason_of(agent_with(Model(answer("x")), should_stop_after_turn=stop))

    async def finish(_: Any) -> Any:
        from agent_tui.agent.tools import ToolResult

        return ToolResult(text_content("bye"), terminate=True)

    assert "tool" in reason_of(agent_with(Model(answer(call("a"))), tool(work=finish)))


def test_a_turn_that_is_paused_again_and_again_ends_with_a_word() -> None:
    """A21: a cap on continuations, with a message; nothing is lost."""
    model = Model(*(answer(f"part {n}", stop="pause_turn") for n in range(12)))
    agent = agent_with(model)
    agent.steer("s0")
    on(agent, "message_update", lambda: agent.steer("s1"))
    reason = reason_of(agent)
    assert len(model.contexts) == 10
    assert "10 times" in reason
    assert [i.text for i in agent.queue.items()] == ["s1"]
    clock_loop.run(agent.continue_())
    assert texts(agent)[-4:] == ["part 11", "over", "s1", "over"]
    check(model.contexts[-1].messages)


# --- the loop as a function ----------------------------------------------------------------------


def test_the_loop_is_a_function_with_a_sink() -> None:
    events: list[AgentEvent] = []
    context = AgentContext("be brief", [], [tool()])
    config = AgentLoopConfig("m1", Model(answer(call("a")), answer("x")))

    async def emit(event: AgentEvent) -> None:
        events.append(event)

    added = clock_loop.run(run_agent_loop([user("go")], context, config, emit))
    assert [m.role for m in added] == ["user", "assistant", "toolResult", "assistant"]
    assert context.messages == added
    assert_well_formed(events)
    more = clock_loop.run(continue_agent_loop(AgentContext("", [user("hi")], []), config, emit))
    assert [m.role for m in more] == ["assistant"]


def test_tools_of_the_config_are_offered_when_the_context_has_none() -> None:
    model = Model(answer(call("a")), answer("x"))
    config = AgentLoopConfig("m1", model, tools=[tool()])
    added = clock_loop.run(
        run_agent_loop([user("go")], AgentContext("", [], []), config, lambda _: None)
    )
    assert [t.name for t in model.contexts[0].tools] == ["echo"]
    assert added[2].text == "r"  # type: ignore[union-attr]


@pytest.mark.parametrize("at", ["message_start", "message_update", "tool_execution_update"])
def test_what_the_sink_raises_comes_out_and_nothing_runs_on(at: str) -> None:
    """clock_loop.run fails if a task were left."""

    async def work(ctx: Any) -> str:
        ctx.update("half")
        await asyncio.sleep(600)
        return "never"

    def emit(event: AgentEvent) -> None:
        if event.type == at:
            raise KeyError("the sink is full")

    config = AgentLoopConfig("m1", Model(answer("t", call("a"))), tools=[tool(work=work)])
    with pytest.raises(KeyError):
        clock_loop.run(run_agent_loop([user("go")], AgentContext("", [], []), config, emit))


def test_cancelling_the_loop_cancels_its_tools() -> None:
    ended: list[str] = []

    async def work(_: Any) -> str:
        try:
            await asyncio.sleep(600)
        finally:
            ended.append("tool")
        return "never"

    async def main() -> None:
        config = AgentLoopConfig("m1", Model(answer(call("a"))), tools=[tool(work=work)])
        context = AgentContext("", [], [])
        run = asyncio.create_task(run_agent_loop([user("go")], context, config, lambda _: None))
        await asyncio.sleep(1)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.sleep(0)

    clock_loop.run(main())
    assert ended == ["tool"]


async def test_what_transform_context_has_waited_for_can_be_called() -> None:
    """Tools that come before the request is made are the request's, and its answer's."""
    model = Model(answer(call("a", "late")), answer("done"))
    agent = agent_with(model, tool("early"))

    async def wait(messages: list[AgentMessage]) -> list[AgentMessage]:
        agent.set_tools([tool("early"), tool("late")])
        return messages

    agent.config.transform_context = wait
    await agent.start("go")
    assert [t.name for t in model.contexts[0].tools] == ["early", "late"]
    assert results(agent) == {"a": ("r", False)}
