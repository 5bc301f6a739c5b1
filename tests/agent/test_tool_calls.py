"""Tool calls: whatever a tool, a hook or its arguments do, the loop goes on with a result."""

import asyncio
from typing import Any

import clock_loop
import pytest
from loop_making import Model, agent_with, answer, assert_well_formed, call, results, tool
from wire_check import check

from agent_tui.agent.agent import Agent
from agent_tui.agent.control import Stop
from agent_tui.agent.events import AgentEvent, ToolExecutionEndEvent, ToolExecutionUpdateEvent
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import (
    AfterToolCallContext,
    AfterToolCallResult,
    AgentLoopConfig,
    BeforeToolCallContext,
    BeforeToolCallResult,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.tool_calls import (
    FinalizedToolCallOutcome,
    ImmediateToolCallOutcome,
    PreparedToolCall,
    create_tool_result_message,
    prepare_tool_call,
)
from agent_tui.agent.tools import AgentTool, ToolResult


def prepared(
    tool_call: ToolCall, *tools: AgentTool, **config: Any
) -> PreparedToolCall | ImmediateToolCallOutcome:
    loop_config = AgentLoopConfig("m", Model(), **config)
    message = answer(tool_call)
    return clock_loop.run(prepare_tool_call(tool_call, tools, message, loop_config, Stop()))


def refused(tool_call: ToolCall, *tools: AgentTool, **config: Any) -> str:
    outcome = prepared(tool_call, *tools, **config)
    assert isinstance(outcome, ImmediateToolCallOutcome)
    assert outcome.kind == "immediate" and outcome.result.is_error
    return outcome.result.content[0].text  # type: ignore[union-attr]


def run(agent: Agent, prompt: str = "go") -> list[AgentEvent]:
    events: list[AgentEvent] = []
    agent.subscribe(events.append)
    clock_loop.run(agent.start(prompt))
    assert_well_formed(events)
    check(convert_to_llm(agent.state.messages))
    return events


# --- preparing -----------------------------------------------------------------------------------


def test_a_known_call_is_prepared_with_validated_arguments() -> None:
    echo = tool(prepare_arguments=lambda raw: {"n": raw["old"]})
    outcome = prepared(
        call("a", arguments={"old": "1"}), echo,
        validate_arguments=lambda schema, arguments: {"n": int(arguments["n"])},
    )  # fmt: skip
    assert isinstance(outcome, PreparedToolCall)
    assert (outcome.kind, outcome.tool, outcome.arguments) == ("prepared", echo, {"n": 1})


def test_an_unknown_tool_is_named_with_those_there_are() -> None:
    text = refused(call("a", "nope"), tool(), tool("shell"))
    assert "nope" in text and "echo, shell" in text


def test_arguments_that_were_no_json_object_are_shown() -> None:
    text = refused(call("a", invalid_arguments='{"cmd": "rm'), tool())
    assert "JSON" in text and "rm" in text


def test_an_incomplete_call_never_runs() -> None:
    assert "cut off" in refused(call("a", complete=False), tool())


def test_arguments_must_stay_an_object() -> None:
    assert "object" in refused(call("a"), tool(prepare_arguments=lambda raw: ["no"]))


def test_the_transcript_keeps_the_arguments_as_sent() -> None:
    async def before(context: BeforeToolCallContext) -> None:
        context.arguments["deep"]["list"].append("from the hook")

    sent = {"deep": {"list": [1]}}
    outcome = prepared(call("a", arguments=sent), tool(), before_tool_call=before)
    assert isinstance(outcome, PreparedToolCall)
    assert outcome.arguments == {"deep": {"list": [1, "from the hook"]}}
    assert sent == {"deep": {"list": [1]}}


def test_a_block_without_reason_has_a_text_of_its_own() -> None:
    async def before(_: BeforeToolCallContext) -> BeforeToolCallResult:
        return BeforeToolCallResult(block=True)

    assert "blocked" in refused(call("a"), tool(), before_tool_call=before)


def test_a_hook_that_is_cancelled_from_inside_is_an_error_result() -> None:
    async def before(_: BeforeToolCallContext) -> None:
        raise asyncio.CancelledError

    assert "cancelled from inside" in refused(call("a"), tool(), before_tool_call=before)


# --- executing -----------------------------------------------------------------------------------


class Catastrophe(BaseException):
    pass


def raising(error: BaseException) -> AgentTool:
    async def work(_: Any) -> str:
        raise error

    return tool(work=work)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (RuntimeError("disk full"), "disk full"),
        (ValueError(), "ValueError"),
        (asyncio.CancelledError(), "cancelled from inside"),
        (Catastrophe("out"), "out"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_whatever_a_tool_raises_is_an_error_result(error: BaseException, word: str) -> None:
    agent = agent_with(Model(answer(call("a")), answer("sorry")), raising(error))
    run(agent)
    text, is_error = results(agent)["a"]
    assert is_error and word in text
    assert agent.state.messages[-1].text == "sorry"  # type: ignore[union-attr]


def test_a_tool_that_gives_back_no_result_is_named() -> None:
    async def work(_: Any) -> Any:
        return 7

    agent = agent_with(Model(answer(call("a"))), tool(work=work))
    run(agent)
    text, is_error = results(agent)["a"]
    assert is_error and "echo" in text and "int" in text


def test_content_that_is_none_is_an_error_result() -> None:
    outcome = FinalizedToolCallOutcome(call("a"), ToolResult(["text"]))  # type: ignore[list-item]
    message = create_tool_result_message(outcome)
    assert message.is_error and "echo" in message.text


def test_parallel_calls_run_at_the_same_time_and_their_durations_are_measured() -> None:
    loop_time: list[float] = []

    async def work(_: Any) -> str:
        await asyncio.sleep(1)
        loop_time.append(asyncio.get_running_loop().time())
        return "r"

    agent = agent_with(Model(answer(call("a"), call("b"), call("c", "nope"))), tool(work=work))
    ends = [e for e in run(agent) if isinstance(e, ToolExecutionEndEvent)]
    assert loop_time == [1, 1]
    assert {e.tool_call_id: e.duration_ms for e in ends} == {"a": 1000, "b": 1000, "c": 0}


def test_none_executes_before_all_are_prepared() -> None:
    order: list[str] = []

    async def before(context: BeforeToolCallContext) -> None:
        await asyncio.sleep(1)
        order.append(f"before {context.tool_call.id}")

    async def work(ctx: Any) -> str:
        order.append(f"run {ctx.call_id}")
        return "r"

    run(agent_with(Model(answer(call("a"), call("b"))), tool(work=work), before_tool_call=before))
    assert order == ["before a", "before b", "run a", "run b"]


def test_updates_come_while_the_tool_runs() -> None:
    heard: list[Any] = []
    heard_at_end: list[Any] = []

    async def work(ctx: Any) -> str:
        for number in range(3):
            ctx.update({"line": number})
            await asyncio.sleep(1)
        heard_at_end.extend(heard)
        return "r"

    agent = agent_with(Model(answer(call("a", caller={"type": "direct"}))), tool(work=work))
    agent.subscribe(
        lambda e: heard.append(e.partial) if isinstance(e, ToolExecutionUpdateEvent) else None
    )
    events = run(agent)
    assert heard == heard_at_end == [{"line": 0}, {"line": 1}, {"line": 2}]
    assert all(e.caller == {"type": "direct"} for e in events if hasattr(e, "caller"))


def test_a_burst_of_updates_is_delivered_whole_and_before_the_end() -> None:
    async def work(ctx: Any) -> str:
        for number in range(5000):
            ctx.update(number)
        return "r"

    events = run(agent_with(Model(answer(call("a"))), tool(work=work)))
    updates = [e.partial for e in events if isinstance(e, ToolExecutionUpdateEvent)]
    assert updates == list(range(5000))


def test_the_state_tells_which_calls_run_and_which_wait() -> None:
    seen: list[tuple[list[str], list[str]]] = []

    async def work(_: Any) -> str:
        seen.append((list(agent.state.running_calls), list(agent.state.waiting_calls)))
        return "r"

    model = Model(answer(call("a"), call("b"), call("c")))
    agent = agent_with(model, tool(work=work), tool_execution="sequential")
    run(agent)
    assert seen == [(["a"], ["b", "c"]), (["b"], ["c"]), (["c"], [])]
    assert (agent.state.running_calls, agent.state.waiting_calls) == ([], [])


# --- finalizing ----------------------------------------------------------------------------------


def test_after_tool_call_sees_the_result_and_may_replace_parts() -> None:
    seen: list[Any] = []

    async def after(context: AfterToolCallContext) -> AfterToolCallResult:
        seen.append((context.tool_call.id, context.arguments, context.result.details))
        return AfterToolCallResult(details=None, is_error=True)

    async def work(_: Any) -> ToolResult:
        return ToolResult.text("r", details={"x": 1})

    agent = agent_with(
        Model(answer(call("a", arguments={"v": 1}))), tool(work=work), after_tool_call=after
    )
    run(agent)
    assert seen == [("a", {"v": 1}, {"x": 1})]
    (result,) = [m for m in agent.state.messages if isinstance(m, ToolResultMessage)]
    assert (result.text, result.details, result.is_error) == ("r", None, True)


def test_the_executed_result_is_not_changed_by_the_hook() -> None:
    kept = ToolResult.text("r")

    async def work(_: Any) -> ToolResult:
        return kept

    async def after(_: AfterToolCallContext) -> AfterToolCallResult:
        return AfterToolCallResult(content=text_content("other"), terminate=True)

    agent = agent_with(Model(answer(call("a"))), tool(work=work), after_tool_call=after)
    run(agent)
    assert results(agent)["a"][0] == "other"
    assert (kept.content[0].text, kept.terminate) == ("r", False)  # type: ignore[union-attr]


# --- ids (fault A14) -----------------------------------------------------------------------------


def test_a_call_id_twice_in_one_answer_runs_once() -> None:
    ran: list[str] = []

    async def work(ctx: Any) -> str:
        ran.append(ctx.call_id)
        return "r"

    agent = agent_with(Model(answer(call("toolu_1"), call("toolu_1"))), tool(work=work))
    run(agent)
    assert ran == ["toolu_1"]
    first, second = agent.state.messages[1].tool_calls  # type: ignore[union-attr]
    assert first.id == "toolu_1" != second.id
    assert results(agent)[first.id] == ("r", False)
    assert results(agent)[second.id][1] is True


def test_a_call_id_of_an_earlier_answer_is_stored_under_another() -> None:
    ran: list[str] = []

    async def work(ctx: Any) -> str:
        ran.append(ctx.call_id)
        return f"r{len(ran)}"

    model = Model(answer(call("toolu_1")), answer(call("toolu_1")))
    agent = agent_with(model, tool(work=work))
    run(agent)
    assert len(ran) == len(set(ran)) == 2
    assert sorted(text for text, _ in results(agent).values()) == ["r1", "r2"]


def test_ids_of_a_resumed_transcript_count() -> None:
    old = [
        UserMessage(content=text_content("hi")),
        AssistantMessage(content=[call("toolu_1")], stop_reason="tool_use"),
        ToolResultMessage(tool_call_id="toolu_1", content=text_content("old")),
    ]
    agent = Agent(
        AgentLoopConfig("m", Model(answer(call("toolu_1"))), tools=[tool()]), messages=old
    )
    run(agent)
    ids = [m.tool_call_id for m in agent.state.messages if isinstance(m, ToolResultMessage)]
    assert len(set(ids)) == 2
