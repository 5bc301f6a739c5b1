"""Abort at every event and at every turn of the event loop, with tools, hooks, streams and
subscribers that do not behave."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import clock_loop
import pytest
from loop_making import (
    Model,
    agent_with,
    answer,
    assert_well_formed,
    call,
    deaf,
    results,
    tool,
)
from wire_check import check

from agent_tui.agent.agent import Agent
from agent_tui.agent.control import RunControl
from agent_tui.agent.events import AgentEvent, DoneEvent, StartEvent, StreamEvent, TextDeltaEvent
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import (
    AgentContext,
    AgentLoopConfig,
    BeforeToolCallContext,
    PrepareNextTurnContext,
    run_agent_loop,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    ThinkingContent,
    UserMessage,
    text_content,
)

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv"}


def scenario(name: str) -> tuple[Agent, Model]:
    """An agent whose run goes through all kinds of awaits."""

    async def yielding(*_: Any) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    async def hook(*_: Any) -> None:
        if agent.state.phase == "stopping":
            CALLED_TOO_LATE.append("a hook")
        await yielding()

    async def work(ctx: Any) -> str:
        ctx.update("half")
        await yielding()
        ctx.update("nearly")
        return "r"

    async def transform(messages: list[Any]) -> list[Any]:
        await yielding()
        return messages

    config: dict[str, Any] = {}
    program = "program" in name
    caller = PROGRAM if program else None
    if "hooks" in name:
        config = {
            "before_tool_call": hook,
            "after_tool_call": hook,
            "prepare_next_turn": hook,
            "should_stop_after_turn": hook,
            "transform_context": transform,
        }
    model = Model(
        answer(
            ThinkingContent(thinking="hm", signature="S"), "ok",
            call("a", caller=caller), call("b", caller=caller), call("c", "nope"),
        ),
        answer("so", call("d"), stop="pause_turn" if program else None),
        answer("on", stop="compaction" if program else None),
        answer("done"),
    )  # fmt: skip
    mode = "sequential" if name == "sequential" else "parallel"
    agent = agent_with(model, tool(work=work, execution_mode=mode), **config)
    return agent, model


CALLED_TOO_LATE: list[str] = []
NAMES = ["parallel", "sequential", "hooks", "program", "program with hooks"]


async def play(name: str, *, at_event: int | None = None, at_turn: int | None = None) -> int:
    """One run, aborted once; asserts what must hold, then that a prompt still works. Gives the
    number of events, or of turns of the event loop, that the run took."""
    agent, model = scenario(name)
    events: list[AgentEvent] = []
    aborted_at: list[int] = []

    def abort() -> None:
        if agent.state.phase != "idle" and not aborted_at:
            agent.abort()
            assert agent.state.phase == "stopping"
            aborted_at.append(len(events))
            aborted_at.append(len(model.contexts))

    async def listen(event: AgentEvent) -> None:
        events.append(event)
        await asyncio.sleep(0)
        if len(events) - 1 == at_event:
            abort()

    agent.subscribe(listen)
    agent.steer("s1")
    agent.steer("s2")
    agent.follow_up("f1")
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            if turns == at_turn:
                abort()
            turns += 1
            await asyncio.sleep(0)

    counter = asyncio.create_task(count())
    await agent.start("go")
    counter.cancel()
    took = len(events) if at_event is not None else turns

    assert agent.state.phase == "idle"
    assert_well_formed(events)
    if aborted_at:
        seen, calls = aborted_at
        assert not any(e.type == "message_update" for e in events[seen + 1 :])
        assert len(model.contexts) == calls, "no model call after an abort"
        if any(e.type == "turn_start" for e in events[:seen]):
            assert not any(e.type == "turn_start" for e in events[seen + 1 :]), "no further turn"
    assert not CALLED_TOO_LATE, "no hook is called after an abort"
    check(convert_to_llm(agent.state.messages))
    everywhere = [
        m.text for m in agent.state.messages if isinstance(m, UserMessage) and m.text != "go"
    ] + [item.text for item in agent.queue.items()]
    assert sorted(everywhere) == ["f1", "s1", "s2"], "nothing lost, nothing twice"
    assert [i.text for i in agent.queue.items()] == sorted(
        (i.text for i in agent.queue.items()), key=["s1", "s2", "f1"].index
    ), "the queue keeps its order"

    first_run = len(events)
    await agent.start("again")
    assert_well_formed(events[first_run:])
    assert events[-1].type == "agent_end"
    check(model.contexts[-1].messages)
    assert not agent.queue.items()
    return took


@pytest.mark.parametrize("name", NAMES)
def test_abort_at_every_event(name: str) -> None:
    total = clock_loop.run(play(name, at_event=10_000))
    assert total > 60
    for number in range(total):
        clock_loop.run(play(name, at_event=number))


@pytest.mark.parametrize("name", NAMES)
def test_abort_at_every_turn_of_the_event_loop(name: str) -> None:
    total = clock_loop.run(play(name, at_turn=-1))
    assert total > 60
    for number in range(total + 1):
        clock_loop.run(play(name, at_turn=number))


# --- what does not stop --------------------------------------------------------------------------


async def abort_after(agent: Agent, seconds: float) -> float:
    """Start, abort after so long; gives how long the run took from then on."""
    run = asyncio.create_task(agent.start("go"))
    await asyncio.sleep(seconds)
    agent.abort()
    began = asyncio.get_running_loop().time()
    await run
    return asyncio.get_running_loop().time() - began


def test_a_deaf_tool_has_two_seconds(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        late: list[Any] = []

        async def work(ctx: Any) -> str:
            await deaf(9)
            ctx.update("too late")
            return "too late"

        agent = agent_with(Model(answer(call("a", "deaf"), call("b"))), tool("deaf", work), tool())
        agent.subscribe(lambda e: late.append(e) if e.type == "tool_execution_update" else None)
        assert await abort_after(agent, 1) == pytest.approx(2)
        assert results(agent)["a"][1] is True
        assert results(agent)["b"] == ("r", False), "a finished one keeps its result"
        await asyncio.sleep(10)
        assert not late
        assert results(agent)["a"][1] is True

    clock_loop.run(main())
    assert "left behind" in caplog.text


def test_a_deaf_tool_that_is_stopped_alone_does_not_hold_the_run() -> None:
    async def main() -> None:
        model = Model(answer(call("a", "deaf"), call("b")), answer("on"))
        agent = agent_with(model, tool("deaf", lambda _: deaf(9)), tool())
        run = asyncio.create_task(agent.start("go"))
        await asyncio.sleep(1)
        assert agent.abort_tool("a") and not agent.abort_tool("b") and not agent.abort_tool("x")
        await run
        assert asyncio.get_running_loop().time() == pytest.approx(3)
        assert results(agent)["a"][1] is True
        assert agent.state.messages[-1].text == "on"  # type: ignore[union-attr]
        assert not agent.abort_tool("a")
        await asyncio.sleep(10)

    clock_loop.run(main())


def test_a_deaf_tool_that_ends_in_time_keeps_its_result() -> None:
    async def main() -> None:
        agent = agent_with(Model(answer(call("a"))), tool(work=lambda _: deaf(2)))
        assert await abort_after(agent, 1) == pytest.approx(1)
        assert results(agent) == {"a": ("deaf", False)}

    clock_loop.run(main())


def test_a_tool_that_was_stopped_in_its_after_hook_keeps_its_result() -> None:
    async def main() -> None:
        async def after(_: Any) -> None:
            await asyncio.sleep(60)

        agent = agent_with(Model(answer(call("a"))), tool(), after_tool_call=after)
        assert await abort_after(agent, 1) == 0
        assert results(agent) == {"a": ("r", False)}

    clock_loop.run(main())


def test_a_tool_that_fails_while_it_is_stopped_gives_that_failure() -> None:
    async def main() -> None:
        async def work(_: Any) -> str:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise RuntimeError("half a file was written") from None
            return "never"

        agent = agent_with(Model(answer(call("a"))), tool(work=work))
        assert await abort_after(agent, 1) == 0
        assert results(agent) == {"a": ("half a file was written", True)}

    clock_loop.run(main())


def test_the_tool_is_told_by_its_context_too() -> None:
    async def main() -> None:
        told: list[bool] = []

        async def work(ctx: Any) -> str:
            try:
                await ctx.cancelled.wait()
            finally:
                told.append(ctx.cancelled.is_set())
            return "stopped myself"

        agent = agent_with(Model(answer(call("a"))), tool(work=work))
        await abort_after(agent, 1)
        assert told == [True]

    clock_loop.run(main())


def test_a_waiting_approval_ends_at_once_and_is_cancelled() -> None:
    async def main() -> None:
        ended: list[str] = []

        async def before(context: BeforeToolCallContext) -> None:
            try:
                await asyncio.sleep(600)
            finally:
                ended.append(context.tool_call.id)

        agent = agent_with(Model(answer(call("a"), call("b"))), tool(), before_tool_call=before)
        assert await abort_after(agent, 1) == 0
        assert ended == ["a"]
        assert {error for _, error in results(agent).values()} == {True}

    clock_loop.run(main())


def test_a_deaf_hook_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async def before(_: BeforeToolCallContext) -> None:
            await deaf(9)

        agent = agent_with(Model(answer(call("a"))), tool(), before_tool_call=before)
        assert await abort_after(agent, 1) == pytest.approx(2)
        assert results(agent)["a"][1] is True
        await asyncio.sleep(10)

    clock_loop.run(main())
    assert "left behind" in caplog.text


def test_a_waiting_hook_of_the_loop_ends_at_once() -> None:
    async def main() -> None:
        async def prepare(_: PrepareNextTurnContext) -> None:
            await asyncio.sleep(600)

        model = Model(answer(call("a")), answer("never"))
        agent = agent_with(model, tool(), prepare_next_turn=prepare)
        assert await abort_after(agent, 1) == 0
        assert len(model.contexts) == 1

    clock_loop.run(main())


def test_a_source_of_messages_is_not_asked_after_an_abort() -> None:
    async def main() -> None:
        asked: list[str] = []

        async def source() -> list[Any]:
            asked.append("steering")
            return []

        control = RunControl()

        def emit(event: AgentEvent) -> None:
            if event.type == "message_start":
                control.abort()

        config = AgentLoopConfig("m", Model(), get_steering_messages=source)
        go = UserMessage(content=text_content("go"))
        added = await run_agent_loop([go], AgentContext("", [], []), config, emit, control)
        assert [m.role for m in added] == ["user", "assistant"]
        assert asked == []

    clock_loop.run(main())


def test_a_silent_model_ends_at_once_and_its_connection_is_closed() -> None:
    async def main() -> None:
        closed: list[bool] = []

        async def silent(*_: Any) -> AsyncIterator[StreamEvent]:
            try:
                await asyncio.sleep(600)
                yield StartEvent()
            finally:
                closed.append(True)

        agent = Agent(AgentLoopConfig("m", silent))
        assert await abort_after(agent, 1) == 0
        assert closed == [True]
        last = agent.state.messages[-1]
        assert isinstance(last, AssistantMessage)
        assert (last.stop_reason, last.content) == ("aborted", [])

    clock_loop.run(main())


def test_a_deaf_stream_is_left_behind_and_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async def stream(*_: Any) -> AsyncIterator[StreamEvent]:
            yield StartEvent()
            yield TextDeltaEvent(0, "one ")
            await deaf(9)
            for _ in range(1000):
                yield TextDeltaEvent(0, "two ")
            yield DoneEvent(answer("one two"))

        agent = Agent(AgentLoopConfig("m", stream))
        assert await abort_after(agent, 1) == pytest.approx(2)
        last = agent.state.messages[-1]
        assert isinstance(last, AssistantMessage)
        assert (last.stop_reason, last.text) == ("aborted", "one ")
        await asyncio.sleep(10)
        assert agent.state.messages[-1] is last

    clock_loop.run(main())
    assert "left behind" in caplog.text


# --- subscribers ---------------------------------------------------------------------------------


def test_a_subscriber_is_never_cut_off() -> None:
    async def main() -> None:
        done: list[str] = []

        async def slow(event: AgentEvent) -> None:
            await asyncio.sleep(5)
            done.append(event.type)

        agent = agent_with(Model(answer("one", call("a"))), tool())
        seen: list[str] = []
        agent.subscribe(lambda event: seen.append(event.type))
        agent.subscribe(slow)
        await abort_after(agent, 42)
        assert done == seen

    clock_loop.run(main())


def test_what_a_subscriber_throws_is_logged_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        def bad(event: AgentEvent) -> None:
            raise RuntimeError("sync trouble")

        async def worse(event: AgentEvent) -> None:
            await asyncio.sleep(0)
            raise RuntimeError("async trouble")

        async def cancelled(event: AgentEvent) -> None:
            gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            gone.cancel()
            await gone

        agent = agent_with(Model(answer("t", call("a")), answer("ok")), tool())
        seen: list[AgentEvent] = []
        for fn in (bad, worse, cancelled, seen.append):
            agent.subscribe(fn)
        agent.steer("s1")
        await agent.start("go")
        assert_well_formed(seen)
        assert results(agent) == {"a": ("r", False)}
        assert not agent.queue.items()

    clock_loop.run(main())
    assert "sync trouble" in caplog.text and "async trouble" in caplog.text


def test_abort_inside_a_tool_and_twice_and_when_idle() -> None:
    async def main() -> None:
        async def work(_: Any) -> str:
            agent.abort()
            agent.abort()
            await asyncio.sleep(0)
            return "never"

        agent = agent_with(Model(answer(call("a"))), tool(work=work))
        agent.abort()
        await agent.start("go")
        assert results(agent)["a"][1] is True
        agent.abort()
        await agent.start("again")
        assert agent.state.messages[-1].text == "over"  # type: ignore[union-attr]

    clock_loop.run(main())


def test_cancelling_the_caller_aborts_the_run_and_lets_it_settle() -> None:
    async def main() -> None:
        events: list[AgentEvent] = []

        async def slow(event: AgentEvent) -> None:
            await asyncio.sleep(1)
            events.append(event)

        agent = agent_with(Model(answer(call("a"))), tool(work=lambda _: asyncio.sleep(600, "x")))
        agent.subscribe(slow)
        caller = asyncio.create_task(agent.start("go"))
        await asyncio.sleep(30)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert agent.state.phase == "idle"
        assert_well_formed(events)
        await agent.start(UserMessage(content=text_content("again")))

    clock_loop.run(main())
