"""Faults of histories: what an abort, a cut or an odd answer leaves must never be refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import ToolExecutionEndEvent
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from agent_tui.agent.tools import AgentTool, ToolResult
from agent_tui.sessions.store import Session
from tests.agent import clock_loop
from tests.faults.helpers import (
    Gate,
    Script,
    Talk,
    assert_valid,
    blocks,
    instant,
    kinds,
    make_agent,
    reply,
    said,
    slow,
    talking,
    without_marks,
)

CALL_A = {"id": "toolu_A", "name": "work"}
CALL_B = {"id": "toolu_B", "name": "work"}
CODE = AgentTool(
    "code_execution", "", {}, instant().execute, wire={"type": "code_execution_20260120"}
)
FOR_PROGRAMS = {"allowed_callers": ["direct", "code_execution_20260120"]}


def from_disk(session: Session) -> Session:
    """The session as another process reads it."""
    assert session.path is not None
    session.close()
    return Session.open(session.path)


# --- A01, A02: an abort while tools run ----------------------------------------------------------


async def test_A01_abort_while_a_tool_runs_leaves_a_valid_history(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    command = {"id": "toolu_A", "name": "shell", "input": {"command": "sleep 60"}}
    async with talking(
        {"text": "ok", "tool_calls": [command]},
        {"match": "never mind", "text": "Here they are."},
        cwd=tmp_path,
        session=session,
        allow=["shell"],
    ) as talk:
        await talk.conversation.submit("run it")
        await talk.until(lambda: talk.conversation.status == "tools")
        await talk.until(lambda: talk.conversation.agent.state.running_calls)
        talk.conversation.abort()
        await talk.idle()
        await talk.say("never mind, list files")
        talk.assert_accepted()
        assert talk.last.text == "Here they are."
        answer = talk.bodies[1]["messages"][-1]
        assert kinds(answer)[0] == "tool_result" and kinds(answer)[1:] == ["text"] * (
            len(kinds(answer)) - 1
        )
        result = answer["content"][0]
        assert (result["tool_use_id"], result["is_error"]) == ("toolu_A", True)
        assert said(answer)[-1] == "never mind, list files"

    async with talking(
        {"text": "Still here."}, cwd=tmp_path, session=from_disk(session)
    ) as resumed:
        await resumed.say("and now?")
        resumed.assert_accepted()
        before = without_marks(talk.bodies[1]["messages"])
        assert without_marks(resumed.bodies[0]["messages"])[: len(before)] == before


def _answers() -> list[AssistantMessage]:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    return [
        reply("I look at both.", "t1", "t2", thinking="two of them"),
        reply(
            "",
            thinking="on the web",
            content=[
                OpaqueContent(raw=search),
                OpaqueContent(raw=found),
                TextContent(text="found it"),
                ToolCall(id="t3", name="step"),
                ThinkingContent(thinking="and one more", signature="t" * 40),
                ToolCall(id="t4", name="step"),
            ],
        ),
        reply("All is done."),
    ]


TOOLS = [slow("work", 0.2), slow("step", 0.1, sequential=True)]
LONGEST_MS = 1300


async def _aborted_at(ms: int, home: Path, script: Script) -> tuple[Agent, list[AgentMessage]]:
    """A run aborted at this moment; the agent, and its transcript as another process reads it."""
    agent = make_agent(script, *TOOLS)
    run = asyncio.ensure_future(agent.start("go"))
    asyncio.get_running_loop().call_later(ms / 1000, agent.abort)
    await run
    session = Session.create("/somewhere", home)
    for message in agent.state.messages:
        session.append_message(message)
    return agent, from_disk(session).messages()


@pytest.mark.parametrize("step", [0, 4, 8, 12])
def test_A01_abort_at_any_moment_leaves_a_valid_history(step: int, tmp_path: Path) -> None:
    """Every 16 ms of a run with parallel, sequential and server tools; live and from disk."""
    reached: set[str] = set()

    async def play(ms: int) -> None:
        script = Script(_answers())
        agent, stored = await _aborted_at(ms, tmp_path / str(ms), script)
        reached.add(agent.state.messages[-1].role)
        live_script = Script([reply("Hello again.")])
        agent.config.stream_function = live_script
        await agent.start("never mind")
        live = live_script.contexts[0]
        body = assert_valid(live, TOOLS)
        assert said(body["messages"][-1])[-1] == "never mind"
        again = make_agent(script := Script([]), *TOOLS, messages=stored)
        await again.start("never mind")
        read = assert_valid(script.contexts[0], TOOLS)
        assert without_marks(read["messages"]) == without_marks(body["messages"])

    for ms in range(step, LONGEST_MS, 16):
        clock_loop.run(play(ms))
    assert reached >= {"assistant", "toolResult"}, "the moments miss a part of the run"


async def test_A02_what_comes_after_an_abort_is_a_new_assistant_message(tmp_path: Path) -> None:
    gate = Gate()
    async with talking(
        {"thinking": "hm", "tool_calls": [CALL_A]},
        {"match": "retry", "text": "Trying again"},
        {"text": "Yes."},
        cwd=tmp_path,
        tools=[gate.tool],
    ) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        talk.conversation.abort()
        await talk.idle()
        await talk.say("retry")
        await talk.say("really?")
        talk.assert_accepted()
        replies = [m for m in talk.bodies[2]["messages"] if m["role"] == "assistant"]
        assert [kinds(m) for m in replies] == [["thinking", "tool_use"], ["text"]]
        assert said(replies[1]) == ["Trying again"]


# --- A03, A26: where text may stand beside results -----------------------------------------------


@pytest.mark.parametrize("mode", ["one-at-a-time", "all"])
@pytest.mark.parametrize("ended", [[], ["toolu_A"], ["toolu_B"]], ids=["none", "A", "B"])
async def test_A03_results_come_first_and_together(
    ended: list[str], mode: str, tmp_path: Path
) -> None:
    gate = Gate()
    async with talking(
        {"tool_calls": [CALL_A, CALL_B]},
        {"text": "I stop.", "repeat": True},
        cwd=tmp_path,
        tools=[gate.tool],
        steering_mode=mode,
    ) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: len(gate.begun) == 2)
        for call_id in ended:
            gate.may_end(call_id)
        await talk.until(lambda: gate.ended == ended)
        await talk.conversation.submit("stop after this")
        await talk.conversation.submit("and say why")
        for call_id in ("toolu_B", "toolu_A"):
            gate.may_end(call_id)
        await talk.idle()
        talk.assert_accepted()
        answer = talk.bodies[1]["messages"][-1]
        texts = ["stop after this", "and say why"] if mode == "all" else ["stop after this"]
        assert kinds(answer) == ["tool_result", "tool_result", *["text"] * len(texts)]
        assert said(answer) == texts
        assert [b["tool_use_id"] for b in answer["content"][:2]] == ["toolu_A", "toolu_B"]


def program_turns() -> list[dict[str, Any]]:
    """A program that makes one call, and its continuation."""
    code = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "code_execution",
        "input": {"code": "print(await work())"},
        "caller": {"type": "direct"},
    }
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    done = {
        "type": "code_execution_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "code_execution_result",
            "stdout": "42",
            "stderr": "",
            "return_code": 0,
            "content": [],
        },
    }
    return [
        {
            "text": "A program.",
            "blocks": [code],
            "tool_calls": [{**CALL_A, "caller": caller}],
            "container": "container_1",
        },
        {"blocks": [done], "container": "container_1", "in_message_start": True},
    ]


async def test_A26_steering_waits_while_a_program_waits_for_results(tmp_path: Path) -> None:
    gate = Gate(**FOR_PROGRAMS)
    async with talking(
        *program_turns(), {"text": "In EUR."}, cwd=tmp_path, tools=[CODE, gate.tool]
    ) as talk:
        await talk.conversation.submit("count it")
        await talk.until(lambda: gate.begun)
        submitted = await talk.conversation.submit("use EUR")
        (entry,) = talk.conversation.queue()
        assert entry.state == "held" and "program" in entry.delivery
        gate.may_end("toolu_A")
        await talk.idle()
        talk.assert_accepted()
        assert kinds(talk.bodies[1]["messages"][-1]) == ["tool_result"]
        assert talk.bodies[1]["container"] == "container_1"
        assert said(talk.bodies[2]["messages"][-1]) == ["use EUR"]
        item = talk.conversation.agent.queue.get(submitted.item_id or "")
        assert item.state == "delivered"


# --- A06, A07, A10, A44: what a stop or an odd answer leaves half --------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
async def test_A06_an_empty_text_block_is_not_sent_back(text: str, tmp_path: Path) -> None:
    async with talking(
        {"blocks": [{"type": "text", "text": text}], "tool_calls": [CALL_A]},
        {"blocks": [{"type": "text", "text": text}]},
        {"text": "ok"},
        cwd=tmp_path,
        tools=[instant()],
    ) as talk:
        await talk.say("go")
        await talk.say("and?")
        talk.assert_accepted()
        assert len(talk.entries) == 3
        for body in talk.bodies:
            assert all(block["text"].strip() for block in blocks(body, "text"))
        first = next(m for m in talk.conversation.messages if isinstance(m, AssistantMessage))
        assert first.content[0] == TextContent(text=text, wire=first.content[0].wire), (  # type: ignore[union-attr]
            "the record keeps what came"
        )


@pytest.mark.parametrize(
    "silence",
    [
        {"hang": "before_headers"},
        {"hang": "mid_stream", "cut_after": 1},
        {"hang": "mid_stream", "cut_after": 3},
    ],
    ids=["before headers", "after message_start", "in an empty block"],
)
async def test_A07_an_abort_before_the_first_block_leaves_nothing_to_send(
    silence: dict[str, Any], tmp_path: Path
) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(
        {"text": "never seen", **silence}, {"text": "Hello."}, cwd=tmp_path, session=session
    ) as talk:
        await talk.conversation.submit("first")
        await talk.until(lambda: talk.entries)
        if silence.get("cut_after"):
            await talk.until(
                lambda: any(e.message.role == "assistant" for e in talk.all("message_start"))
            )
        talk.conversation.abort()
        await talk.idle()
        await talk.say("hi")
        talk.assert_accepted()
        (message,) = talk.bodies[1]["messages"]
        assert message["role"] == "user" and said(message)[0] == "first"
        assert said(message)[-1] == "hi"
    async with talking({"text": "Hello."}, cwd=tmp_path, session=from_disk(session)) as resumed:
        await resumed.say("still there?")
        resumed.assert_accepted()


async def test_A10_unsigned_thinking_is_shown_and_never_sent(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    turn = {"thinking": "one two three four five " * 50, "chunk_delay_ms": 10}
    async with talking(turn, {"text": "ok"}, cwd=tmp_path, session=session) as talk:
        await talk.conversation.submit("think")
        await talk.until(
            lambda: sum(e.event.type == "thinking_delta" for e in talk.all("message_update")) >= 3
        )
        talk.conversation.abort()
        await talk.idle()
        (block,) = talk.last.content
        assert isinstance(block, ThinkingContent) and block.signature is None
        assert block.thinking.startswith("one two")
        await talk.say("go on")
        talk.assert_accepted()
        assert not blocks(talk.bodies[1], "thinking")
    session = from_disk(session)
    kept = [m for m in session.messages() if isinstance(m, AssistantMessage)]
    assert kept[0].content == [block]
    async with talking({"text": "ok"}, cwd=tmp_path, session=session) as resumed:
        await resumed.say("and again")
        resumed.assert_accepted()
        assert not blocks(resumed.bodies[0], "thinking")


async def test_A44_a_request_after_an_abort_ends_with_the_user(tmp_path: Path) -> None:
    """Adjusted: there is nothing to continue after an abort without a new message, and it says
    so; nothing is sent. A history that ends so is still closed by a message of the user."""
    turn = {"text": "word " * 200, "chunk_delay_ms": 5}
    async with talking(turn, {"text": "ok"}, cwd=tmp_path) as talk:
        await talk.conversation.submit("tell")
        await talk.until_stream("text_delta")
        talk.conversation.abort()
        await talk.idle()
        with pytest.raises(ValueError, match="nothing to continue"):
            await talk.conversation.continue_()
        assert len(talk.entries) == 1
        body = assert_valid(convert_to_llm(talk.conversation.messages))
        assert body["messages"][-1]["role"] == "user"
        await talk.say("retry")
        talk.assert_accepted()
        assert talk.bodies[1]["messages"][-1]["role"] == "user"
        assert said(talk.bodies[1]["messages"][1])[0].startswith("word")


# --- A09, A13, A22: blocks go back as they came --------------------------------------------------


def thinking(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def use(call_id: str, **input: Any) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": call_id,
        "name": "work",
        "input": input,
        "caller": {"type": "direct"},
    }


SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_9",
    "name": "web_search",
    "input": {"query": "exchange rate"},
    "caller": {"type": "direct"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_9",
    "content": [
        {
            "type": "web_search_result",
            "title": "Rates",
            "url": "https://example.org/rates",
            "encrypted_content": "EpsCCioIARgCIiQ3ZTc=",
            "page_age": None,
        }
    ],
    "caller": {"type": "direct"},
}
WEB_SEARCH = AgentTool(
    "web_search", "", {}, instant().execute, wire={"type": "web_search_20260209"}
)

ANSWERS: dict[str, list[dict[str, Any]]] = {
    "A09 interleaved": [
        thinking("first", "sig-one"),
        {"type": "text", "text": "I do A. "},
        use("toolu_A", b=1, a=[1.0, None, "x"]),
        thinking("", "sig-two"),
        use("toolu_B"),
    ],
    "A09 neighbours": [
        thinking("one", "sig-1"),
        thinking("two", "sig-2"),
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        use("toolu_A"),
    ],
    "A13 redacted": [{"type": "redacted_thinking", "data": "EmABC=="}, use("toolu_A")],
    "A22 server blocks": [thinking("look", "sig-3"), SEARCH, FOUND, use("toolu_A")],
}


async def _goes_back_as_it_came(name: str, tmp_path: Path) -> Talk:
    """The blocks of this answer are in the next request, in the one after it, and in the first
    of a resumed session: value-equal, in order, with the order of keys."""
    sent = ANSWERS[name]
    session = Session.create(str(tmp_path), tmp_path / "home")
    tools = [instant(), WEB_SEARCH]
    async with talking(
        {"blocks": sent, "stop_reason": "tool_use"},
        {"text": "ok", "repeat": True},
        cwd=tmp_path,
        tools=tools,
        session=session,
    ) as talk:
        await talk.say("go")
        await talk.say("again")
        talk.assert_accepted()
        bodies = talk.bodies[1:]
    async with talking(
        {"text": "ok"},
        cwd=tmp_path,
        tools=tools,
        session=from_disk(session),
        top={"no_rules": True},
    ) as resumed:
        await resumed.say("from disk")
        bodies += resumed.bodies
    assert len(bodies) == 3
    for body in bodies:
        assert json.dumps(body["messages"][1]["content"]) == json.dumps(sent)
    return talk


@pytest.mark.parametrize("name", ["A09 interleaved", "A09 neighbours"])
async def test_A09_thinking_goes_back_in_its_place(name: str, tmp_path: Path) -> None:
    await _goes_back_as_it_came(name, tmp_path)


async def test_A13_redacted_thinking_goes_back_and_is_no_call(tmp_path: Path) -> None:
    talk = await _goes_back_as_it_came("A13 redacted", tmp_path)
    assert [e.tool_call_id for e in talk.all("tool_execution_start")] == ["toolu_A"]
    first = next(m for m in talk.conversation.messages if isinstance(m, AssistantMessage))
    assert isinstance(first.content[0], ThinkingContent)
    assert first.content[0].redacted == "EmABC=="


async def test_A22_blocks_of_server_tools_go_back_verbatim(tmp_path: Path) -> None:
    await _goes_back_as_it_came("A22 server blocks", tmp_path)


# --- A14, A15, A16: odd calls --------------------------------------------------------------------


async def test_A14_a_repeated_call_id_is_made_unique_before_it_is_stored(tmp_path: Path) -> None:
    """From the wire: each block is a call of its own under an id of its own, with one result,
    in one answer and in a later one (servers that number from "call_0" do that)."""
    twice = {"id": "toolu_1", "name": "work"}
    async with talking(
        {"tool_calls": [twice, twice]},
        {"tool_calls": [twice]},
        {"text": "ok", "repeat": True},
        cwd=tmp_path,
        tools=[instant()],
    ) as talk:
        await talk.say("go")
        await talk.say("and?")
        talk.assert_accepted()
        last = talk.bodies[-1]
        calls = [block["id"] for block in blocks(last, "tool_use")]
        assert len(calls) == len(set(calls)) == 3
        assert [block["tool_use_id"] for block in blocks(last, "tool_result")] == calls
        assert [e.tool_call_id for e in talk.all("tool_execution_start")] == calls
        stored = [m for m in talk.conversation.messages if isinstance(m, AssistantMessage)]
        assert [c.id for m in stored for c in m.tool_calls] == calls


def test_A14_a_stream_that_repeats_a_call_runs_it_once() -> None:
    """What the loop itself is handed twice under one id runs once; the other has an error."""
    runs: list[str] = []

    async def execute(call_id: str, arguments: dict[str, Any], ctx: Any) -> ToolResult:
        runs.append(call_id)
        return ToolResult.text("ran")

    tool = AgentTool("work", "", {"type": "object"}, execute)

    async def play() -> None:
        script = Script([reply("", "toolu_1", "toolu_1"), reply("ok")])
        await make_agent(script, tool).start("go")
        body = assert_valid(script.contexts[1], [tool])
        assert len({c["id"] for c in blocks(body, "tool_use")}) == 2
        results = blocks(body, "tool_result")
        assert [bool(r.get("is_error")) for r in results] == [False, True]

    clock_loop.run(play())
    assert runs == ["toolu_1"]


NO_DELTA = """\
event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",\
"model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,\
"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use",\
"id":"toolu_now","name":"work","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},\
"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}
"""


@pytest.mark.parametrize(
    "turn",
    [{"tool_calls": [{"id": "toolu_now", "name": "work"}]}, {"raw_sse": NO_DELTA}],
    ids=["an empty delta", "no delta"],
)
async def test_A15_a_call_without_arguments_has_an_empty_object(
    turn: dict[str, Any], tmp_path: Path
) -> None:
    async with talking(turn, {"text": "noon"}, cwd=tmp_path, tools=[instant()]) as talk:
        await talk.say("what time is it?")
        talk.assert_accepted()
        (start,) = talk.all("tool_execution_start")
        assert start.arguments == {}
        (end,) = talk.all("tool_execution_end")
        assert not end.is_error
        (call,) = blocks(talk.bodies[1], "tool_use")
        assert call["input"] == {}


CUT = '{"cmd":"rm -rf build", "dry_run":tr'


@pytest.mark.parametrize("queued", [False, True], ids=["nothing queued", "a follow-up queued"])
@pytest.mark.parametrize("arguments", [CUT, '{"cmd":"rm -rf build"}'], ids=["cut", "whole"])
async def test_A16_a_call_cut_by_the_output_limit_never_runs(
    arguments: str, queued: bool, tmp_path: Path
) -> None:
    """No call of a message that stopped at max_tokens runs, whole or not. A call that was cut
    is no call at all; a whole one gets an error result that says what to do."""
    gate = Gate()
    call = {"id": "toolu_A", "name": "work", "partial_json": arguments}
    async with talking(
        {"text": "I clean. " * 20, "tool_calls": [call], "stop_reason": "max_tokens",
         "chunk_delay_ms": 2},
        {"text": "ok", "repeat": True},
        cwd=tmp_path,
        tools=[gate.tool],
    ) as talk:  # fmt: skip
        await talk.conversation.submit("clean up")
        await talk.until_stream("text_delta")
        if queued:
            await talk.conversation.follow_up("then go on")
        await talk.idle()
        assert not gate.begun
        (end,) = talk.all("tool_execution_end")
        assert end.is_error and "smaller" in end.result.text
        assert len(talk.entries) == (2 if queued else 1)
        await talk.say("and?")
        talk.assert_accepted()
        results = blocks(talk.bodies[1], "tool_result")
        assert all(r["is_error"] for r in results)
        for sent in blocks(talk.bodies[-1], "tool_use"):
            assert sent["input"] != {"cmd": "rm -rf build"} or arguments != CUT


def test_A01_a_finished_tool_keeps_its_result_through_an_abort() -> None:
    """Of two parallel calls one has ended: its result is the real one, the other's an error."""
    ended: list[str] = []

    async def play() -> None:
        calls = [ToolCall(id="q", name="quick"), ToolCall(id="l", name="long")]
        script = Script([reply(content=calls)])
        agent = make_agent(script, slow("quick", 0.1), slow("long", 60))

        def on_event(event: Any) -> None:
            if isinstance(event, ToolExecutionEndEvent):
                ended.append(event.tool_call_id)
                agent.abort()

        agent.subscribe(on_event)
        await agent.start("go")
        body = assert_valid(convert_to_llm(agent.state.messages))
        first, second = blocks(body, "tool_result")
        assert "is_error" not in first and "q done" in str(first["content"])
        assert second["is_error"] is True

    clock_loop.run(play())
    assert ended == ["q", "l"]
