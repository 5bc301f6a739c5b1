"""A call is stopped while the model still writes it: the stream is closed there, the call never
runs, the model is told, the run goes on with a valid request."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import clock_loop
import pytest
from loop_making import agent_with, answer, assert_well_formed, call, events_of, results, tool
from wire_check import check

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_content,
)

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv"}
STOPPED = "Not run: the user stopped this call before its arguments were complete"


class Script:
    """A stream function: the first request gets these events, one turn of the event loop apart,
    the others are answered at once. A None in the script is a wait for go()."""

    def __init__(self, *events: StreamEvent | None, then: AssistantMessage | None = None) -> None:
        self.events = events
        self.then = then or answer("on")
        self.contexts: list[LLMContext] = []
        self.closed_at: int | None = None
        """How many events had been given when the first stream was closed before its end."""
        self.took = 0.0
        """Seconds from the first request to the second."""
        self._go = asyncio.Event()

    def go(self) -> None:
        self._go.set()

    async def __call__(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        self.contexts.append(context)
        self.took = asyncio.get_running_loop().time()
        if len(self.contexts) > 1:
            async for event in events_of(self.then):
                yield event
            return
        given, event = 0, None
        try:
            for event in self.events:
                await (asyncio.sleep(0) if event is not None else self._go.wait())
                if event is not None:
                    given += 1
                    yield event
        except (GeneratorExit, asyncio.CancelledError):
            if not isinstance(event, (DoneEvent, ErrorEvent)):
                self.closed_at = given
            raise


def begins(index: int, call_id: str = "a", **more: Any) -> ToolCallStartEvent:
    return ToolCallStartEvent(index, call(call_id, complete=False, **more))


def whole(index: int, block: ToolCall) -> list[StreamEvent]:
    return [begins(index, block.id, caller=block.caller), ToolCallEndEvent(index, block)]


def when(agent: Agent, wanted: Callable[[AgentEvent], bool], do: Callable[[], Any]) -> list[Any]:
    """What `do` gives, at the first event that is wanted."""
    given: list[Any] = []

    def look(event: AgentEvent) -> None:
        if not given and wanted(event):
            given.append(do())

    agent.subscribe(look)
    return given


def is_delta(event: AgentEvent, text: str) -> bool:
    update = event.event if isinstance(event, MessageUpdateEvent) else None
    return isinstance(update, ToolCallDeltaEvent) and update.delta == text


def play(agent: Agent, script: Script) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    agent.subscribe(events.append)
    clock_loop.run(agent.start("go"))
    assert_well_formed(events)
    for context in script.contexts:
        check(context.messages)
    return events


def first_answer(agent: Agent) -> AssistantMessage:
    return next(m for m in agent.state.messages if isinstance(m, AssistantMessage))


def test_the_stream_is_closed_what_had_come_is_kept_and_the_run_goes_on() -> None:
    thought = ThinkingContent(thinking="hm", signature="s1")
    script = Script(
        StartEvent("msg_1", "model-x"),
        ThinkingStartEvent(0), ThinkingDeltaEvent(0, "hm"), ThinkingEndEvent(0, thought),
        TextStartEvent(1), TextDeltaEvent(1, "I write."),
        TextEndEvent(1, TextContent(text="I write.")),
        *whole(2, call("first", arguments={"n": 1})),
        begins(3), ToolCallDeltaEvent(3, '{"path": "a.txt", '),
        ToolCallDeltaEvent(3, '"content": "x'),
        None,
    )  # fmt: skip
    ran: list[str] = []

    async def work(ctx: Any) -> str:
        ran.append(ctx.call_id)
        return "r"

    agent = agent_with(script, tool(work=work))  # type: ignore[arg-type]
    did = when(agent, lambda e: is_delta(e, '"content": "x'), lambda: agent.abort_tool("a", "no!"))
    agent.steer("use b.txt")
    agent.queue.pause()
    when(agent, lambda e: isinstance(e, ToolCallEndEvent) or is_delta(e, '"content": "x'),
         agent.queue.resume)  # fmt: skip
    play(agent, script)

    assert script.took == 0, "at once"
    assert did == [True] and script.closed_at == len(script.events) - 1
    message = first_answer(agent)
    assert message.stop_reason == "tool_use" and message.error_message is None
    assert message.content[:3] == [
        thought, TextContent(text="I write."), call("first", arguments={"n": 1}),
    ]  # fmt: skip
    (cut,) = message.content[3:]
    assert isinstance(cut, ToolCall) and cut.complete
    assert (cut.id, cut.arguments) == ("a", {})
    assert cut.cut_arguments == '{"path": "a.txt", "content": "x'
    assert ran == ["first"], "a call that was whole runs as usual"
    assert results(agent)["first"] == ("r", False)
    text, is_error = results(agent)["a"]
    assert is_error and text.startswith(f"{STOPPED}: no!\n")
    assert '{"path": "a.txt", "content": "x' in text, "the model is told how it began"
    roles = [m.role for m in script.contexts[1].messages]
    assert roles == ["user", "assistant", "toolResult", "toolResult", "user"], (
        "the steer goes along"
    )
    assert agent.state.messages[-1].text == "on"  # type: ignore[union-attr]


def test_without_a_reason_the_sentence_ends() -> None:
    script = Script(StartEvent(), begins(0), None)
    agent = agent_with(script, tool())  # type: ignore[arg-type]
    when(agent, lambda e: isinstance(e, MessageUpdateEvent), lambda: agent.abort_tool("a"))
    play(agent, script)
    assert results(agent) == {"a": (f"{STOPPED}.", True)}


def test_arguments_that_are_a_whole_object_go_back() -> None:
    script = Script(StartEvent(), begins(0), ToolCallDeltaEvent(0, '{"n": 1}'), None)
    agent = agent_with(script, tool())  # type: ignore[arg-type]
    when(agent, lambda e: is_delta(e, '{"n": 1}'), lambda: agent.abort_tool("a"))
    play(agent, script)
    assert first_answer(agent).tool_calls[0].arguments == {"n": 1}
    assert results(agent) == {"a": (f"{STOPPED}.", True)}


def test_arguments_that_cannot_go_back_do_not() -> None:
    for text in ("[1]", '{"n": NaN}', '{"n": 1e999}', '{"n":' * 101 + "1" + "}" * 101, '{"n": 1'):
        script = Script(StartEvent(), begins(0), ToolCallDeltaEvent(0, text), None)
        agent = agent_with(script, tool())  # type: ignore[arg-type]
        when(agent, lambda e, t=text: is_delta(e, t), lambda a=agent: a.abort_tool("a"))
        play(agent, script)
        assert first_answer(agent).tool_calls[0].arguments == {}, text
        assert len(results(agent)["a"][0]) < 500, "only the beginning is told"


def test_a_call_that_has_arrived_whole_is_refused_and_the_stream_goes_on() -> None:
    """The last delta and the end of the call wait in the buffer while a subscriber is busy."""
    done = answer(call("a", arguments={"n": 1}), "and so")
    script = Script(
        StartEvent(), begins(0), ToolCallDeltaEvent(0, "{"), ToolCallDeltaEvent(0, '"n": 1}'),
        ToolCallEndEvent(0, call("a", arguments={"n": 1})),
        TextStartEvent(1), TextDeltaEvent(1, "and so"), TextEndEvent(1, TextContent(text="and so")),
        DoneEvent(done),
    )  # fmt: skip
    agent = agent_with(script, tool())  # type: ignore[arg-type]

    async def slow(event: AgentEvent) -> None:
        if is_delta(event, "{"):
            await asyncio.sleep(1)
            assert agent.abort_tool("a", "wrong")

    agent.subscribe(slow)
    play(agent, script)
    assert script.closed_at is None
    assert first_answer(agent).content == done.content
    expected = "Not run: the user stopped this call before it started: wrong"
    assert results(agent) == {"a": (expected, True)}


def test_between_the_end_of_the_answer_and_its_batch_a_call_is_stopped_too() -> None:
    """The record of the answer is being written; a call must not slip through meanwhile."""
    script = Script(StartEvent(), *whole(0, call("a")), DoneEvent(answer(call("a"))))
    agent = agent_with(script, tool())  # type: ignore[arg-type]

    async def slow(event: AgentEvent) -> None:
        if isinstance(event, MessageEndEvent) and isinstance(event.message, AssistantMessage):
            await asyncio.sleep(1)
            given.append(agent.abort_tool("a"))

    given: list[bool] = []
    agent.subscribe(slow)
    play(agent, script)
    assert given[0] is True
    assert results(agent)["a"][0].startswith("Not run: the user stopped this call before it start")


def test_a_call_of_a_program_is_refused_once_it_is_whole() -> None:
    """Its container waits for the whole answer: the stream is not closed."""
    server = OpaqueContent(raw={"type": "server_tool_use", "id": "srv", "name": "code_execution",
                                "input": {}})  # fmt: skip
    called = call("a", caller=PROGRAM)
    script = Script(
        StartEvent(),
        OpaqueEvent(0, "start", server), OpaqueEvent(0, "end", server),
        begins(1, caller=PROGRAM), ToolCallDeltaEvent(1, "{"), ToolCallEndEvent(1, called),
        DoneEvent(answer(server, called, stop="pause_turn")),
    )  # fmt: skip
    agent = agent_with(script, tool())  # type: ignore[arg-type]
    when(agent, lambda e: is_delta(e, "{"), lambda: agent.abort_tool("a"))
    play(agent, script)
    assert script.closed_at is None
    assert results(agent)["a"] == ("Not run: the user stopped this call before it started.", True)
    assert [m.role for m in script.contexts[1].messages] == ["user", "assistant", "toolResult"]


def test_a_call_beside_one_of_the_server_that_waits_is_refused_once_it_is_whole() -> None:
    """Also when the server's call was made in an answer before, in the same turn."""
    server = OpaqueContent(raw={"type": "server_tool_use", "id": "srv", "name": "web_search",
                                "input": {}})  # fmt: skip
    script = Script(
        StartEvent(), begins(0), ToolCallDeltaEvent(0, "{"), None, *whole(0, call("a"))[1:],
        DoneEvent(answer(call("a"))),
    )  # fmt: skip
    agent = agent_with(script, tool())  # type: ignore[arg-type]
    agent.replace_messages(
        [UserMessage(content=text_content("search")), answer("", server, stop="pause_turn")]
    )

    def deny() -> bool:
        asyncio.get_running_loop().call_soon(script.go)
        return agent.abort_tool("a")

    when(agent, lambda e: is_delta(e, "{"), deny)
    clock_loop.run(agent.continue_())
    assert script.closed_at is None and results(agent)["a"][1]


def test_a_server_call_that_has_its_result_holds_nothing_up() -> None:
    raw = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}
    blocks = [OpaqueContent(raw=raw), OpaqueContent(raw=found)]
    script = Script(
        StartEvent(),
        *(OpaqueEvent(n, "end", block) for n, block in enumerate(blocks)),
        begins(2), ToolCallDeltaEvent(2, "{"), None,
    )  # fmt: skip
    agent = agent_with(script, tool())  # type: ignore[arg-type]
    when(agent, lambda e: is_delta(e, "{"), lambda: agent.abort_tool("a"))
    play(agent, script)
    assert script.closed_at is not None
    assert first_answer(agent).content[:2] == blocks


def test_an_answer_that_fails_in_the_same_moment_has_failed() -> None:
    failed = AssistantMessage(stop_reason="error", error_message="cut", error_type="stream_cut")
    script = Script(StartEvent(), begins(0), ToolCallDeltaEvent(0, "{"), ErrorEvent(failed))
    agent = agent_with(script, tool())  # type: ignore[arg-type]

    async def slow(event: AgentEvent) -> None:
        if is_delta(event, "{"):
            await asyncio.sleep(1)
            agent.abort_tool("a")

    agent.subscribe(slow)
    play(agent, script)
    assert first_answer(agent).stop_reason == "error" and results(agent) == {}


def test_an_answer_that_begins_anew_has_no_such_call_any_more() -> None:
    script = Script(
        StartEvent(), begins(0), ToolCallDeltaEvent(0, "{"),
        StartEvent(), TextStartEvent(0), TextDeltaEvent(0, "anew"), None,
        DoneEvent(answer("anew")),
    )  # fmt: skip
    agent = agent_with(script, tool())  # type: ignore[arg-type]

    def deny() -> bool:
        script.go()
        return agent.abort_tool("a")

    given = when(agent, lambda e: isinstance(getattr(e, "event", None), TextDeltaEvent), deny)
    play(agent, script)
    assert given == [False] and first_answer(agent).text == "anew"


@pytest.mark.parametrize("more_has_come", [False, True])
def test_a_stop_of_the_run_wins(more_has_come: bool) -> None:
    script = Script(
        StartEvent(), begins(0), ToolCallDeltaEvent(0, "{"), ToolCallDeltaEvent(0, " "), None
    )
    agent = agent_with(script, tool())  # type: ignore[arg-type]

    async def both(event: AgentEvent) -> None:
        if is_delta(event, "{" if more_has_come else " "):
            await asyncio.sleep(1)
            agent.abort_tool("a")
            agent.abort()

    agent.subscribe(both)
    play(agent, script)
    assert first_answer(agent).stop_reason == "aborted" and len(script.contexts) == 1
    assert results(agent) == {}


def test_a_call_that_got_another_id_is_stopped_all_the_same() -> None:
    """The server used an id of the history again (fault A14)."""
    again = answer(call("a"))
    script = Script(StartEvent(), *whole(0, call("a")), DoneEvent(again))
    agent = agent_with(script, tool())  # type: ignore[arg-type]
    agent.replace_messages([
        UserMessage(content=text_content("before")), answer(call("a")),
        ToolResultMessage(tool_call_id="a", content=text_content("r")),
    ])  # fmt: skip
    when(
        agent,
        lambda e: isinstance(e, MessageUpdateEvent) and isinstance(e.event, ToolCallEndEvent),
        lambda: agent.abort_tool("a"),
    )
    play(agent, script)
    last = [m for m in agent.state.messages if isinstance(m, ToolResultMessage)][-1]
    assert last.tool_call_id != "a" and last.is_error


def test_a_stream_that_does_not_end_is_left_behind() -> None:
    """Two seconds, as for a stop of the whole run."""

    async def deaf(*request: Any) -> AsyncIterator[StreamEvent]:
        contexts.append(request)
        if len(contexts) > 1:
            async for event in events_of(answer("on")):
                yield event
            return
        yield StartEvent()
        yield begins(0)
        for _ in range(3):  # it takes no notice of being cancelled
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(100)

    contexts: list[Any] = []
    agent = agent_with(deaf, tool())  # type: ignore[arg-type]
    when(agent, lambda e: isinstance(e, MessageUpdateEvent), lambda: agent.abort_tool("a"))

    async def main() -> None:
        run = asyncio.create_task(agent.start("go"))
        await asyncio.wait_for(asyncio.shield(run), 5)
        await asyncio.sleep(500)

    clock_loop.run(main())
    assert agent.state.messages[-1].text == "on"  # type: ignore[union-attr]


def test_the_reason_is_told_for_a_call_that_runs() -> None:
    async def work(_: Any) -> str:
        await asyncio.sleep(60)
        return "r"

    script = Script(StartEvent(), *whole(0, call("a")), DoneEvent(answer(call("a"))))
    agent = agent_with(script, tool(work=work))  # type: ignore[arg-type]

    async def main() -> None:
        run = asyncio.create_task(agent.start("go"))
        await asyncio.sleep(1)
        assert agent.abort_tool("a", "  it takes too long ")
        await run

    clock_loop.run(main())
    expected = "Interrupted: the user stopped this call: it takes too long"
    assert results(agent) == {"a": (expected, True)}
