"""Rules of tool calls (DESIGN) that every other test here would let go unnoticed when broken."""

import asyncio
import itertools
from typing import Any

import clock_loop
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

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import AgentEvent, ToolExecutionUpdateEvent
from agent_tui.agent.loop import AfterToolCallContext, AfterToolCallResult
from agent_tui.agent.messages import ToolResultMessage, text_content
from agent_tui.agent.tools import ToolResult


def run(agent: Agent) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    agent.subscribe(events.append)
    clock_loop.run(agent.start("go"))
    assert_well_formed(events)
    return events


def test_a_burst_of_updates_lets_others_run() -> None:
    """Each update costs 1 ms here; after 8 ms the others get a turn (DESIGN)."""
    loop = clock_loop.ClockLoop()
    heard = 0
    turns: list[int] = []

    def listen(event: AgentEvent) -> None:
        nonlocal heard
        if event.type == "tool_execution_update":
            heard += 1
            loop.now += 0.001

    async def work(ctx: Any) -> str:
        for number in range(600):
            ctx.update(number)
        return "r"

    async def other() -> None:
        while True:
            turns.append(heard)
            await asyncio.sleep(0)

    async def main() -> None:
        agent = agent_with(Model(answer(call("a"))), tool(work=work))
        agent.subscribe(listen)
        task = asyncio.create_task(other())
        await agent.start("go")
        task.cancel()

    loop.run_until_complete(main())
    loop.close()
    assert heard == 600
    assert max(b - a for a, b in itertools.pairwise(turns)) <= 9


def test_a_tool_left_behind_is_not_heard_while_others_run() -> None:
    async def work(ctx: Any) -> str:
        if ctx.call_id == "b":
            await asyncio.sleep(10)
            return "r"
        for number in range(5):
            await deaf(1)
            ctx.update(number)
        return "too late"

    agent = agent_with(Model(answer(call("a"), call("b"))), tool(work=work))
    stopped: list[bool] = []

    def stop(event: AgentEvent) -> None:
        if event.type == "tool_execution_update" and not stopped:
            stopped.append(agent.abort_tool("a"))

    agent.subscribe(stop)
    events = run(agent)
    updates = [e.partial for e in events if isinstance(e, ToolExecutionUpdateEvent)]
    assert stopped == [True]
    assert updates == [0, 1], "2 s after it was stopped it is left behind"
    assert results(agent)["a"][1] and results(agent)["b"] == ("r", False)


def test_what_the_after_hook_does_not_name_stays() -> None:
    async def work(_: Any) -> ToolResult:
        return ToolResult(text_content("r"), is_error=True, details={"x": 1}, terminate=True)

    async def after(_: AfterToolCallContext) -> AfterToolCallResult:
        return AfterToolCallResult(content=text_content("other"))

    model = Model(answer(call("a")), answer("never asked for"))
    agent = agent_with(model, tool(work=work), after_tool_call=after)
    run(agent)
    result = agent.state.messages[-1]
    assert isinstance(result, ToolResultMessage), "every result said terminate"
    assert (result.text, result.is_error, result.details) == ("other", True, {"x": 1})


def test_a_tool_that_had_finished_keeps_its_result_though_its_after_hook_is_deaf() -> None:
    async def after(_: AfterToolCallContext) -> None:
        await deaf(10)

    agent = agent_with(Model(answer(call("a"))), tool(), after_tool_call=after)
    ended: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(1, agent.abort)
        await agent.start("go")
        ended.append(loop.time())
        await asyncio.sleep(10)  # what was left behind ends, so that no task is left

    clock_loop.run(main())
    assert ended == [3], "2 s after the stop"
    assert results(agent) == {"a": ("r", False)}


def test_send_now_while_the_answer_streams_skips_its_calls() -> None:
    agent = agent_with(Model(answer("I will", call("a"), call("b")), answer("ok")), tool())
    sent: list[bool] = []

    def send(event: AgentEvent) -> None:
        if event.type == "message_update" and not sent:
            agent.steer("rather not")
            sent.append(agent.send_now())

    agent.subscribe(send)
    run(agent)
    assert sent == [True]
    assert [is_error for _, is_error in results(agent).values()] == [True, True]
    assert [m.text for m in agent.state.messages[-2:]] == ["rather not", "ok"]  # type: ignore[union-attr]


def test_send_now_lets_running_calls_finish() -> None:
    async def work(ctx: Any) -> str:
        if ctx.call_id == "a":
            agent.steer("rather not")
            assert agent.send_now()
            assert not ctx.cancelled.is_set()
        await asyncio.sleep(1)
        return f"result of {ctx.call_id}"

    agent = agent_with(Model(answer(call("a"), call("b")), answer("ok")), tool(work=work))
    run(agent)
    assert results(agent) == {"a": ("result of a", False), "b": ("result of b", False)}
