"""Faults of the wire: broken streams, silence, refusals that stick, and what a request holds."""

import asyncio
import base64
import json
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    Container,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.messages_api.request import build_request
from agent_tui.offline import validate_request
from agent_tui.sessions.store import Session
from agent_tui.settings import ThinkingLevel
from tests.faults.helpers import (
    Body,
    Gate,
    Talk,
    blocks,
    instant,
    kinds,
    said,
    talking,
    without_marks,
)
from tests.faults.test_histories import CALL_A, CODE, FOR_PROGRAMS, from_disk, program_turns
from tests.tui.conftest import Drive


async def read_screen(drive: Drive, talk: Talk, *texts: str) -> str:
    """What a person sees of this conversation, once each of these texts is there."""

    async def give(asker: Any) -> Any:
        return talk.conversation

    async with drive(starter=give) as driven:
        for text in texts:
            await driven.shows(text)
        return driven.screen


# --- A12: a signature that is not taken ----------------------------------------------------------

BAD_SIGNATURE = {
    "status": 400,
    "error": "messages.1.content.0: Invalid `signature` in `thinking` block",
}


def foreign_session(tmp_path: Path) -> Session:
    """A session whose thinking was signed by somebody the service does not know."""
    session = Session.create(str(tmp_path), tmp_path / "home")
    session.append_message(UserMessage(content=[TextContent(text="earlier")]))
    session.append_message(
        AssistantMessage(
            content=[
                ThinkingContent(thinking="of another model", signature="Zm9yZWlnbg=="),
                TextContent(text="earlier answer"),
            ]
        )
    )
    return session


async def test_A12_thinking_is_left_out_once_and_for_good(tmp_path: Path) -> None:
    session = foreign_session(tmp_path)
    async with talking(
        {"thinking": "a new thought", "text": "Fine."},
        {"text": "Fine again."},
        cwd=tmp_path,
        session=session,
    ) as talk:
        await talk.say("go on")
        assert [e["status"] for e in talk.entries] == [400, 200], "one retry"
        assert "thinking" in talk.notices and "left out" in talk.notices
        assert talk.last.text == "Fine."
        refused, taken = talk.bodies
        assert blocks(refused, "thinking") and not blocks(taken, "thinking")
        assert said(taken["messages"][1]) == ["earlier answer"]

        await talk.say("and on")
        assert [e["status"] for e in talk.entries] == [400, 200, 200], "no second refusal"
        assert [b["thinking"] for b in blocks(talk.bodies[2], "thinking")] == ["a new thought"], (
            "thinking of now goes back"
        )
    kept = session.messages()[1]
    assert isinstance(kept, AssistantMessage) and isinstance(kept.content[0], ThinkingContent)
    async with talking({"text": "ok"}, cwd=tmp_path, session=from_disk(session)) as resumed:
        await resumed.say("from disk")
        assert [e["status"] for e in resumed.entries] == [200], "the mend was not kept"
        before = without_marks(talk.bodies[2]["messages"])
        assert without_marks(resumed.bodies[0]["messages"])[: len(before)] == before


async def test_A12_a_refusal_that_stays_is_not_answered_twice(tmp_path: Path) -> None:
    async with talking(
        {**BAD_SIGNATURE, "repeat": True}, cwd=tmp_path, session=foreign_session(tmp_path)
    ) as talk:
        await talk.say("go on")
        assert len(talk.entries) == 2
        assert talk.last.stop_reason == "error"
        assert "signature" in (talk.last.error_message or "")
        assert not talk.conversation.session.mends, "what did not help is not kept"


async def test_A12_after_a_change_of_model_too(tmp_path: Path) -> None:
    """The model is changed between two turns, and its service refuses what the other signed."""
    async with talking(
        {"thinking": "mine", "tool_calls": [CALL_A]},
        {"text": "done"},
        BAD_SIGNATURE,
        {"text": "I see no thinking."},
        cwd=tmp_path,
        tools=[instant()],
        top={"models": ["claude-sonnet-5-5", "claude-opus-5-5"]},
    ) as talk:
        await talk.say("go")
        talk.conversation.set_model("claude-opus-5-5")
        await talk.say("go on")
        talk.assert_accepted(2)
        assert [b["model"] for b in talk.bodies[2:]] == ["claude-opus-5-5"] * 2
        assert talk.last.text == "I see no thinking."
        assert not blocks(talk.bodies[3], "thinking")
        assert kinds(talk.bodies[3]["messages"][1]) == ["tool_use"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_A12_no_other_refusal_is_repeated(status: int, tmp_path: Path) -> None:
    turn = {"status": status, "error": "messages.0: that is not right", "repeat": True}
    async with talking(turn, cwd=tmp_path) as talk:
        await talk.say("go")
        assert len(talk.entries) == 1
        assert talk.last.stop_reason == "error"


# --- A17, A18: broken streams --------------------------------------------------------------------

CALL_EVENTS = 9
"""start, ping, block start, empty delta, three deltas, block stop, delta; then the stop."""


async def test_A17_a_stream_that_ends_early_is_cut_wherever_it_ends(tmp_path: Path) -> None:
    """After each event of a call, cleanly and not: no tool runs, and the request goes out again
    from the unchanged history."""
    call = {"id": "toolu_A", "name": "work", "partial_json": '{"cmd":"rm -rf /tmp/x"}'}
    turns: list[dict[str, Any]] = []
    ways = [(n, how) for n in range(1, CALL_EVENTS + 1) for how in (True, "clean")]
    for after, how in ways:
        turns.append({"tool_calls": [call], "chunk_size": 8, "cut_after": after, "cut": how})
        turns.append({"text": "Nothing ran."})
    gate = Gate()
    async with talking(*turns, cwd=tmp_path, tools=[gate.tool]) as talk:
        for number, way in enumerate(ways):
            await talk.say(f"prompt {number}")
            assert len(talk.entries) == 2 * (number + 1), way
            cut, again = talk.bodies[-2:]
            assert cut["messages"] == again["messages"], way
            assert talk.last.text == "Nothing ran.", way
            assert len(talk.retries) == number + 1, way
        assert not gate.begun
        talk.assert_accepted()
        assert [e["events_sent"] for e in talk.entries[::2]] == [n for n, _ in ways]


async def test_A17_a_last_event_without_a_stop_reason_is_a_cut(tmp_path: Path) -> None:
    gate = Gate()
    turn = {"tool_calls": [CALL_A], "stop_reason": None}
    async with talking(turn, {"text": "ok"}, cwd=tmp_path, tools=[gate.tool]) as talk:
        await talk.say("go")
        assert not gate.begun and len(talk.retries) == 1
        assert talk.last.text == "ok"


async def test_A18_an_error_in_the_stream_is_no_answer(tmp_path: Path) -> None:
    """Tried again, visibly; the broken sample is on no later request and on a dead branch."""
    session = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(
        {"text": "The three", "sse_error": "overloaded_error"},
        {"text": "The three kings."},
        cwd=tmp_path,
        session=session,
    ) as talk:
        await talk.say("who?")
        (retry,) = talk.retries
        assert "verloaded" in retry.reason
        assert talk.bodies[0]["messages"] == talk.bodies[1]["messages"]
        texts = [m.text for m in talk.conversation.messages if isinstance(m, AssistantMessage)]
        assert texts == ["The three kings."]
    stored = [m for m in from_disk(session).messages() if isinstance(m, AssistantMessage)]
    assert [m.text for m in stored] == ["The three kings."]


async def test_A18_an_error_that_stays_leaves_a_marked_partial(
    tmp_path: Path, drive: Drive
) -> None:
    async with talking(
        {"match": "who?", "text": "The three", "sse_error": "overloaded_error", "repeat": 3},
        {"text": "Kings."},
        cwd=tmp_path,
    ) as talk:
        await talk.say("who?")
        assert len(talk.entries) == 3
        assert (talk.last.stop_reason, talk.last.error_type) == ("error", "overloaded_error")
        assert talk.last.text == "The three"
        await read_screen(drive, talk, "The three", "verloaded")
        await talk.say("go on")
        talk.assert_accepted()
        _, partial, user = talk.bodies[3]["messages"]
        assert said(partial) == ["The three"]
        assert "cut off" in said(user)[0] and said(user)[1] == "go on"


# --- A20: silence --------------------------------------------------------------------------------

SILENCES: dict[str, dict[str, Any]] = {
    "before the headers": {"hang": "before_headers"},
    "after message_start": {"hang": "mid_stream", "cut_after": 2},
    "in the text": {"text": "The three kings", "hang": "mid_stream", "cut_after": 5},
}


@pytest.mark.parametrize("where", SILENCES)
async def test_A20_silence_is_ended_and_tried_again_once(where: str, tmp_path: Path) -> None:
    turn = {"text": "x", **SILENCES[where]}
    async with talking(turn, {"text": "Here."}, cwd=tmp_path, idle_timeout_s=0.4) as talk:
        await talk.say("hello?")
        (retry,) = talk.retries
        assert "silent" in retry.reason
        assert talk.last.text == "Here."
        assert talk.entries[0]["closed_by_client"], "the dead connection was left open"
        assert talk.bodies[0]["messages"] == talk.bodies[1]["messages"]


@pytest.mark.parametrize("where", SILENCES)
async def test_A20_silence_that_stays_ends_the_run(where: str, tmp_path: Path) -> None:
    turn = {"text": "x", **SILENCES[where], "repeat": True}
    async with talking(turn, cwd=tmp_path, idle_timeout_s=0.4) as talk:
        await talk.say("hello?")
        assert len(talk.entries) == 2
        assert talk.last.stop_reason == "error" and "silent" in (talk.last.error_message or "")


@pytest.mark.parametrize("where", SILENCES)
async def test_A20_stop_works_at_once_in_silence(where: str, tmp_path: Path) -> None:
    turn = {"text": "x", **SILENCES[where]}
    async with talking(turn, {"text": "Here."}, cwd=tmp_path, idle_timeout_s=600) as talk:
        await talk.conversation.submit("hello?")
        await talk.until(lambda: talk.entries)
        if where != "before the headers":
            await talk.until(lambda: talk.conversation.status == "streaming")
        talk.conversation.abort()
        assert talk.conversation.status == "stopping"
        async with asyncio.timeout(1.5):
            await talk.conversation.wait_idle()
        await talk.until(lambda: talk.entries[0]["closed_by_client"])
        assert talk.last.stop_reason == "aborted"


async def test_A20_pings_count_as_a_sign_of_life(tmp_path: Path) -> None:
    raw = sse(START, *[{"type": "ping"}] * 10, *TEXT_REST)
    turn = {"raw_sse": raw, "chunk_delay_ms": 100}
    async with talking(turn, cwd=tmp_path, idle_timeout_s=1.0) as talk:
        await talk.say("hello?")
        assert not talk.retries and talk.last.text == "Hello."


# --- A21, A23, A24: a turn that the API paused, and its container --------------------------------

SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "weather in Oslo"},
    "caller": {"type": "direct"},
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
WEB_SEARCH = AgentTool(
    "web_search", "", {}, instant().execute, wire={"type": "web_search_20260209"}
)


async def test_A21_a_paused_turn_goes_back_unchanged(tmp_path: Path) -> None:
    async with talking(
        {"text": "I search.", "blocks": [SEARCH], "stop_reason": "pause_turn",
         "container": "container_1", "chunk_delay_ms": 5},
        {"blocks": [FOUND, {"type": "text", "text": "Rain."}]},
        {"text": "In French: pluie."},
        cwd=tmp_path,
        tools=[WEB_SEARCH, CODE],
    ) as talk:  # fmt: skip
        await talk.conversation.submit("weather?")
        await talk.until_stream("opaque")
        await talk.conversation.submit("in French")
        await talk.idle()
        talk.assert_accepted()
        body = talk.bodies[1]
        assert [m["role"] for m in body["messages"]] == ["user", "assistant"]
        assert json.dumps(body["messages"][1]["content"][1]) == json.dumps(SEARCH)
        assert body["container"] == "container_1"
        assert said(talk.bodies[2]["messages"][-1]) == ["in French"], "it waited for its place"


async def test_A21_pauses_without_end_are_stopped_and_said(tmp_path: Path) -> None:
    pause = {"text": "Still at it.", "blocks": [SEARCH], "stop_reason": "pause_turn"}
    many = [
        {**pause, "blocks": [{**SEARCH, "id": f"srvtoolu_{n}"}]} for n in range(30)
    ]  # fmt: skip
    async with talking(*many, cwd=tmp_path, tools=[WEB_SEARCH], top={"no_rules": True}) as talk:
        await talk.say("go")
        assert 2 <= len(talk.entries) <= 12
        assert "paused" in talk.all("agent_end")[-1].reason


async def test_A23_the_container_goes_with_every_request(tmp_path: Path) -> None:
    """After a plain tool, a pause, a retry, steering, a new prompt, and from disk."""
    gate = Gate()
    session = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(
        {"text": "It ran.", "container": "container_1"},
        {"tool_calls": [CALL_A]},
        {"status": 529},
        {"text": "and", "sse_error": "overloaded_error"},
        {"text": "I search.", "blocks": [SEARCH], "stop_reason": "pause_turn"},
        {"blocks": [FOUND, {"type": "text", "text": "Rain."}]},
        {"text": "ok", "repeat": True},
        cwd=tmp_path,
        tools=[gate.tool, WEB_SEARCH, CODE],
        session=session,
    ) as talk:
        await talk.say("run it")
        await talk.conversation.submit("work")
        await talk.until(lambda: gate.begun)
        await talk.conversation.submit("steered")
        gate.may_end("toolu_A")
        await talk.idle()
        await talk.say("again")
        talk.assert_accepted(2)
        assert len(talk.entries) == 7
        assert [b.get("container") for b in talk.bodies] == [None, *["container_1"] * 6]
    async with talking(
        {"text": "ok"}, cwd=tmp_path, tools=[CODE], session=from_disk(session)
    ) as resumed:
        await resumed.say("still there?")
        assert resumed.bodies[0]["container"] == "container_1"


@pytest.mark.parametrize("place", ["message_delta", "message_start", "only message_start"])
async def test_A24_the_container_is_read_wherever_it_comes(place: str, tmp_path: Path) -> None:
    turn: dict[str, Any] = {"text": "ran", "container": "container_abc"}
    if place == "only message_start":
        turn["in_message_start"] = True
    else:
        turn["container_at"] = place
    async with talking(turn, {"text": "ok"}, cwd=tmp_path, tools=[CODE]) as talk:
        await talk.say("go")
        assert talk.conversation.state()["container"]["id"] == "container_abc"
        await talk.say("on")
        talk.assert_accepted()
        assert talk.bodies[1]["container"] == "container_abc"


# --- A25: a container that is gone ---------------------------------------------------------------

GONE: dict[str, dict[str, Any]] = {
    "expired": {"status": 400, "error": "container: Container container_1 has expired"},
    "not found": {"status": 404, "error": "Container not found: container_1"},
    "a code": {"status": 400, "error": {"type": "invalid_request_error",
                                         "message": "container_expired"}},
    "an untyped 500": {"status": 500, "error": "Internal server error", "repeat": 3},
}  # fmt: skip


@pytest.mark.parametrize("how", GONE)
async def test_A25_a_lost_container_is_dropped_once(how: str, tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    session.append_message(UserMessage(content=[TextContent(text="make a file")]))
    session.append_message(AssistantMessage(content=[TextContent(text="made")]))
    session.record_container(Container(id="container_1", expires_at="2099-01-01T00:00:00Z"))
    async with talking(
        GONE[how],
        {"text": "I make it anew."},
        {"text": "ok"},
        cwd=tmp_path,
        session=session,
        tools=[CODE],
    ) as talk:
        await talk.say("read the file")
        refused = GONE[how].get("repeat", 1)
        assert len(talk.entries) == refused + 1
        assert talk.last.text == "I make it anew."
        assert "container" in talk.notices and "files" in talk.notices, "the user was not told"
        assert talk.bodies[0]["container"] == "container_1"
        body = talk.bodies[-1]
        assert "container" not in body
        *_, note = said(body["messages"][-1])
        assert "container" in note and "gone" in note, "the model was not told"
        assert talk.conversation.state()["container"]["state"] == "expired"
        (changed,) = talk.all("container_changed")
        assert (changed.id, changed.state) == ("container_1", "expired")
        await talk.say("and?")
        assert "container" not in talk.bodies[-1]
        before = without_marks(body["messages"])
        assert without_marks(talk.bodies[-1]["messages"])[: len(before)] == before
    session = from_disk(session)
    assert session.container is None
    async with talking({"text": "ok"}, cwd=tmp_path, session=session, tools=[CODE]) as resumed:
        await resumed.say("from disk")
        assert without_marks(resumed.bodies[0]["messages"])[: len(before)] == before


async def test_A25_it_is_gone_also_where_the_request_without_it_is_refused(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    session.append_message(UserMessage(content=[TextContent(text="make a file")]))
    session.append_message(AssistantMessage(content=[TextContent(text="made")]))
    session.record_container(Container(id="container_1", expires_at="2099-01-01T00:00:00Z"))
    too_large = {"status": 413, "error": "Request exceeds the maximum size"}
    async with talking(
        GONE["expired"], too_large, {"text": "ok"}, cwd=tmp_path, session=session, tools=[CODE]
    ) as talk:
        await talk.say("read the file")
        assert talk.last.stop_reason == "error"
        assert talk.conversation.state()["container"]["state"] == "expired"
        assert from_disk(session).container is None
        await talk.say("and now?")
        assert talk.last.text == "ok"
        asked_for = [body.get("container") for body in talk.bodies]
        assert asked_for == ["container_1", None, None], "it was asked for again"
        told = "\n".join(said(talk.bodies[-1]["messages"][-1]))
        assert told.count("is gone") == 1, "the model is told, once"
        assert talk.notices.count("container is gone") == 1, "the user is told once"


async def test_A25_one_that_expired_days_ago_is_not_even_asked_for(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    session.append_message(UserMessage(content=[TextContent(text="make a file")]))
    session.append_message(AssistantMessage(content=[TextContent(text="made")]))
    session.record_container(Container(id="container_1", expires_at="2026-01-01T00:00:00Z"))
    async with talking({"text": "ok"}, cwd=tmp_path, session=session, tools=[CODE]) as talk:
        await talk.say("read the file")
        (body,) = talk.bodies
        assert "container" not in body and "gone" in said(body["messages"][-1])[-1]
        assert "expired" in talk.notices


async def test_A25_a_program_that_waited_in_it_is_cut(tmp_path: Path) -> None:
    """The results that a program waits for cannot go to it any more: the model gets them in
    words, and the run goes on."""
    start, _ = program_turns()
    body = await _lost_midway(start, tmp_path)
    assert not blocks(body, "tool_result")
    assert "it is 42" in "\n".join(said(body["messages"][-1]))


async def test_A25_a_paused_turn_whose_container_is_gone_is_cut(tmp_path: Path) -> None:
    paused = {"text": "I search.", "blocks": [SEARCH], "stop_reason": "pause_turn"}
    body = await _lost_midway({**paused, "container": "container_1"}, tmp_path)
    assert "web_search" in "\n".join(said(body["messages"][-1]))


async def _lost_midway(start: dict[str, Any], tmp_path: Path) -> Body:
    """The container goes while a turn waits to go on; gives the request that was taken."""
    async with talking(
        start,
        GONE["expired"],
        {"text": "Then without it."},
        {"text": "ok"},
        cwd=tmp_path,
        tools=[CODE, WEB_SEARCH, instant(result="it is 42", **FOR_PROGRAMS)],
    ) as talk:
        await talk.say("count it")
        talk.assert_accepted(1)
        assert talk.last.text == "Then without it."
        body = talk.bodies[2]
        assert "container" not in body and not blocks(body, "server_tool_use")
        assert "gone" in said(body["messages"][-1])[-1]
        await talk.say("and?")
        talk.assert_accepted(1)
        before = without_marks(body["messages"])
        assert without_marks(talk.bodies[3]["messages"])[: len(before)] == before
        return body


async def test_A23_a_program_whose_container_is_not_known_is_cut(tmp_path: Path) -> None:
    """Results for a program may not be sent without its container's id; where it was lost (the
    program died before it was recorded), the request goes out without the program."""
    start, _ = program_turns()
    del start["container"]
    async with talking(
        start,
        {"text": "Then without it."},
        {"text": "ok"},
        cwd=tmp_path,
        tools=[CODE, instant(result="it is 42", **FOR_PROGRAMS)],
    ) as talk:
        await talk.say("count it")
        await talk.say("and?")
        talk.assert_accepted()
        assert len(talk.entries) == 3
        assert not blocks(talk.bodies[1], "server_tool_use")
        assert "it is 42" in "\n".join(said(talk.bodies[1]["messages"][-1]))


async def test_A25_a_fault_of_the_service_costs_no_container(tmp_path: Path) -> None:
    """A 500 that also comes without the container says nothing about it: it is kept."""
    async with talking(
        {"text": "made", "container": "container_1"},
        {"match": "read", "status": 500, "error": "Internal server error", "repeat": 6},
        {"text": "back again"},
        cwd=tmp_path,
        tools=[CODE],
    ) as talk:
        await talk.say("make a file")
        await talk.say("read it")
        assert talk.last.stop_reason == "error"
        assert talk.conversation.state()["container"]["id"] == "container_1"
        await talk.say("once more")
        assert talk.last.text == "back again"
        assert talk.bodies[-1]["container"] == "container_1"
        assert len(said(talk.bodies[-1]["messages"][-1])) == 2


# --- A28, A29: the cache -------------------------------------------------------------------------


def mark_count(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(mark_count(v) for v in value.values())
    return sum(mark_count(v) for v in value) if isinstance(value, list) else 0


async def test_A28_a_request_has_four_marks_at_most(tmp_path: Path) -> None:
    """With 30 tools that bring marks of their own, several user turns, tools and steering."""
    gate = Gate(cache_control={"type": "ephemeral"})
    tools = [instant(f"server__tool_{n}", cache_control={"type": "ephemeral"}) for n in range(30)]
    async with talking(
        {"text": "ok"},
        {"tool_calls": [CALL_A]},
        {"text": "ok", "repeat": True},
        cwd=tmp_path,
        tools=[*tools, gate.tool],
    ) as talk:
        await talk.say("one")
        await talk.conversation.submit("two")
        await talk.until(lambda: gate.begun)
        await talk.conversation.submit("steered")
        gate.may_end("toolu_A")
        await talk.idle()
        await talk.say("three")
        talk.assert_accepted()
        assert len(talk.bodies) == 4
        for body in talk.bodies:
            assert 1 <= mark_count(body) <= 4
            assert len(body["tools"]) == 31


async def test_A29_each_request_begins_with_the_one_before(tmp_path: Path) -> None:
    """System and tools are equal byte for byte, also when a server names its tools in another
    order; the messages grow at their end only (thinking of old turns stays); and a mark stands
    where the request before had its last one, so the cache is hit."""
    tools = [instant(f"server__tool_{n}") for n in range(12)]
    turns = [
        {"thinking": "hm", "tool_calls": [{"name": "server__tool_3"}]},
        {"thinking": "so", "text": "one"},
        {"text": "two"},
        {"text": "three"},
    ]
    async with talking(*turns, cwd=tmp_path, tools=tools) as talk:
        for number, prompt in enumerate(("a", "b", "c")):
            again = list(tools)
            random.Random(number).shuffle(again)
            talk.conversation.agent.set_tools(again)
            await talk.say(prompt)
        talk.assert_accepted()
        assert len(talk.bodies) == 4
        for before, after in zip(talk.bodies, talk.bodies[1:], strict=False):
            for part in ("system", "tools"):
                assert json.dumps(before[part]) == json.dumps(after[part])
            length = len(before["messages"])
            assert json.dumps(without_marks(before["messages"])) == json.dumps(
                without_marks(after["messages"][:length])
            )
            last_mark = _last_mark(before)
            assert last_mark in _marks(after), "the cache of the request before is not read"
        assert [b["thinking"] for b in blocks(talk.bodies[-1], "thinking")] == ["hm", "so"]


def _marks(body: Body) -> list[tuple[int, int]]:
    return [
        (m, b)
        for m, message in enumerate(body["messages"])
        for b, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def _last_mark(body: Body) -> tuple[int, int]:
    return _marks(body)[-1]


# --- A30, A31: images ----------------------------------------------------------------------------


def png(width: int, height: int, size: int = 0) -> bytes:
    """A PNG of this many pixels (black), made `size` bytes long by a chunk of no meaning."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    rows = zlib.compress((b"\0" + b"\0" * ((width + 7) // 8)) * height, 9)
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), chunk(b"IDAT", rows)]
    length = sum(map(len, parts)) + 24
    if size > length:
        parts.append(chunk(b"junk", random.Random(size).randbytes(size - length)))
    return b"".join([*parts, chunk(b"IEND", b"")])


def image(data: bytes, media_type: str = "image/png") -> ImageContent:
    return ImageContent(data=base64.b64encode(data).decode(), media_type=media_type)


def camera(*pictures: ImageContent) -> AgentTool:
    """A tool that gives these images, all at once."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult([TextContent(text="pictures"), *pictures])

    return AgentTool("work", "Takes pictures.", {"type": "object", "properties": {}}, execute)


TOO_MANY: dict[str, list[ImageContent]] = {
    "9000 px": [image(png(9000, 200))],
    "6 MB": [image(png(10, 10, 6_000_000))],
    "21, one of 2400 px": [image(png(30 + n, 20)) for n in range(20)] + [image(png(2400, 20))],
    "40 of 1 MB": [image(png(40 + n, 20, 1_000_000)) for n in range(40)],
    "120": [image(png(50 + n, 20)) for n in range(120)],
}


@pytest.mark.parametrize("what", TOO_MANY)
async def test_A30_images_past_the_limits_do_not_go_out(what: str, tmp_path: Path) -> None:
    """Adjusted: nothing is shrunk (no library for it); what does not fit is replaced by a note
    that says why, newest images first; every later request is valid."""
    pictures = TOO_MANY[what]
    async with talking(
        {"tool_calls": [CALL_A]}, {"text": "seen", "repeat": True}, cwd=tmp_path,
        tools=[camera(*pictures)],
    ) as talk:  # fmt: skip
        await talk.say("look")
        await talk.say("and?")
        talk.assert_accepted()
        for body in talk.bodies[1:]:
            (result,) = blocks(body, "tool_result")
            sent = [b for b in result["content"] if b["type"] == "image"]
            notes = [b["text"] for b in result["content"][1:] if b["type"] == "text"]
            assert len(sent) + len(notes) == len(pictures)
            assert notes and all("image" in note for note in notes)
            assert (not sent) == (len(pictures) == 1)
            assert sum(len(b["source"]["data"]) for b in sent) < 25_000_000


async def test_A30_a_picture_file_that_is_too_large_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "wide.png").write_bytes(png(9000, 200))
    call = {"id": "toolu_A", "name": "read", "input": {"path": "wide.png"}}
    async with talking({"tool_calls": [call]}, {"text": "I see."}, cwd=tmp_path) as talk:
        await talk.say("look at wide.png")
        talk.assert_accepted()
        (result,) = blocks(talk.bodies[1], "tool_result")
        assert "8000" in json.dumps(result) and not blocks(talk.bodies[1], "image")


SMALL = [image(png(10 + n, 10)) for n in range(3)]


@pytest.mark.parametrize(
    ("refusal", "left"),
    [
        ("messages.2.content.0.tool_result.content.2.image.source.base64: image exceeds 5 MB", 2),
        ("messages.2.content.0.content.2.image.source.base64.data: the dimensions are too big", 2),
        ("messages.4.content.0: image cannot be processed", 0),
        ("Could not process image", 0),
    ],
)
async def test_A30_an_image_that_the_service_refuses_is_left_out_for_good(
    refusal: str, left: int, tmp_path: Path
) -> None:
    """The service's limits may be other than ours: the image that it names (or the old ones,
    when it names none) becomes a note, once and for good; user and model are told."""
    session = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(
        {"tool_calls": [CALL_A]},
        {"text": "seen"},
        {"status": 400, "error": refusal},
        {"text": "Going on."},
        {"text": "ok"},
        cwd=tmp_path,
        tools=[camera(*SMALL)],
        session=session,
    ) as talk:
        await talk.say("look")
        await talk.say("go on")
        talk.assert_accepted(2)
        assert talk.last.text == "Going on."
        assert "image" in talk.notices
        (result,) = blocks(talk.bodies[3], "tool_result")
        assert [b["type"] for b in result["content"]].count("image") == left
        assert sum("left out" in b.get("text", "") for b in result["content"]) == 3 - left
        if left:
            assert result["content"][2]["type"] == "text", "the wrong one was left out"
        await talk.say("and?")
        before = without_marks(talk.bodies[3]["messages"])
        assert without_marks(talk.bodies[4]["messages"])[: len(before)] == before
    async with talking({"text": "ok"}, cwd=tmp_path, session=from_disk(session)) as resumed:
        await resumed.say("from disk")
        assert without_marks(resumed.bodies[0]["messages"])[: len(before)] == before


async def test_A30_a_request_that_is_too_large_loses_its_old_images_first(tmp_path: Path) -> None:
    async with talking(
        {"tool_calls": [CALL_A]},
        {"text": "seen"},
        {"tool_calls": [{"id": "toolu_B", "name": "work"}]},
        {"status": 413, "error": "Request exceeds the maximum size"},
        {"text": "Only the new ones."},
        cwd=tmp_path,
        tools=[camera(*SMALL)],
    ) as talk:
        await talk.say("look")
        talk.conversation.agent.set_tools([camera(image(png(99, 99)))])
        await talk.say("look again")
        talk.assert_accepted(3)
        assert talk.last.text == "Only the new ones."
        old, new = blocks(talk.bodies[4], "tool_result")
        assert "image" not in [b["type"] for b in old["content"]]
        assert "image" in [b["type"] for b in new["content"]]


async def test_A30_a_refusal_of_images_ends_somewhere(tmp_path: Path) -> None:
    """When leaving images out does not help, the error is shown; nothing is tried for ever, and
    nothing is left out for good."""
    async with talking(
        {"tool_calls": [CALL_A]},
        {"status": 413, "error": "Request exceeds the maximum size", "repeat": True},
        cwd=tmp_path,
        tools=[camera(*SMALL)],
    ) as talk:
        await talk.say("look")
        assert talk.last.stop_reason == "error"
        assert len(talk.entries) == 3, "with its images, then without"
        assert not talk.conversation.session.mends


WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0"


@pytest.mark.parametrize(
    ("data", "claimed", "sent"),
    [
        (png(10, 10), "image/jpeg", "image/png"),
        (WEBP, "image/png", "image/webp"),
        (b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "image/png", "image/gif"),
        (b"BM not one that is taken", "image/png", None),
        (b"", "image/png", None),
    ],
    ids=["PNG", "WebP", "GIF", "BMP", "nothing"],
)
async def test_A31_the_media_type_is_that_of_the_bytes(
    data: bytes, claimed: str, sent: str | None, tmp_path: Path
) -> None:
    async with talking(
        {"tool_calls": [CALL_A]}, {"text": "seen"}, cwd=tmp_path,
        tools=[camera(image(data, claimed))],
    ) as talk:  # fmt: skip
        await talk.say("look")
        talk.assert_accepted()
        (result,) = blocks(talk.bodies[1], "tool_result")
        found = result["content"][1]
        if sent is None:
            assert found["type"] == "text" and "image" in found["text"]
        else:
            assert found["source"]["media_type"] == sent


async def test_A31_a_file_whose_name_lies_is_read_for_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(WEBP)
    call = {"id": "toolu_A", "name": "read", "input": {"path": "logo.png"}}
    async with talking({"tool_calls": [call]}, {"text": "seen"}, cwd=tmp_path) as talk:
        await talk.say("look")
        talk.assert_accepted()
        (result,) = blocks(talk.bodies[1], "tool_result")
        (source,) = [b["source"] for b in result["content"] if b["type"] == "image"]
        assert source["media_type"] == "image/webp"


# --- A32: tools of others ------------------------------------------------------------------------

ODD_SCHEMAS: dict[str, dict[str, Any]] = {
    "anyOf": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "oneOf of objects": {
        "oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]
    },
    "allOf": {
        "type": "object",
        "allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}],
    },
    "no type": {"properties": {"a": {"type": "string"}}},
    "not an object": {"type": "string"},
    "a list of types": {"type": ["object", "null"], "properties": {}},
    "empty": {},
    "a key of odd characters": {"type": "object", "properties": {"a b": {"type": "string"}}},
}


@pytest.mark.parametrize("what", ODD_SCHEMAS)
async def test_A32_one_odd_schema_does_not_stop_the_others(what: str, tmp_path: Path) -> None:
    """The tool is folded into a plain object, or left out; every request goes through."""
    odd = instant("server__odd")
    odd.parameters = ODD_SCHEMAS[what]
    async with talking({"text": "ok"}, cwd=tmp_path, tools=[instant(), odd]) as talk:
        await talk.say("go")
        talk.assert_accepted()
        (body,) = talk.bodies
        names = [tool["name"] for tool in body["tools"]]
        assert "work" in names
        assert ("server__odd" in talk.notices) == ("server__odd" not in names), "left out unsaid"
        schemas = [t["input_schema"] for t in body["tools"] if t["name"] == "server__odd"]
        for schema in schemas:
            assert schema["type"] == "object"
            known = ODD_SCHEMAS[what].get("properties", {})
            assert set(known) <= set(schema.get("properties", {})) or what.startswith("a key")


async def test_A32_a_schema_that_changes_later_does_not_stop_the_session(tmp_path: Path) -> None:
    changing = instant("server__tool")
    async with talking({"text": "ok", "repeat": True}, cwd=tmp_path, tools=[changing]) as talk:
        await talk.say("go")
        changed = instant("server__tool")
        changed.parameters = ODD_SCHEMAS["oneOf of objects"]
        talk.conversation.agent.set_tools([changed])
        await talk.say("on")
        talk.assert_accepted()
        assert len(talk.entries) == 2


# --- A34, A35: characters ------------------------------------------------------------------------


async def test_A34_lone_surrogates_reach_neither_the_request_nor_the_disk(tmp_path: Path) -> None:
    """From a tool, from the user, from a model's arguments, and from a line of a session."""
    half = json.loads('"\\ud83d"')
    session = Session.create(str(tmp_path), tmp_path / "home")
    async with talking(
        {"tool_calls": [{**CALL_A, "partial_json": '{"text": "\\ud83d"}'}]},
        {"text": "ok"},
        {"text": "ok"},
        cwd=tmp_path,
        tools=[instant(result=f"cut in two: {half}")],
        session=session,
    ) as talk:
        await talk.say(f"go {half}")
        await talk.say("on")
        talk.assert_accepted()
        assert len(talk.entries) == 3
        text = json.dumps(talk.bodies, ensure_ascii=False)
        text.encode()
        assert "cut in two: \ufffd" in text and "go \ufffd" in text
    assert session.path is not None
    session.close()
    lines = session.path.read_text(encoding="utf-8")
    session.path.write_text(lines.replace("cut in two: \ufffd", "cut in two: \\ud83d"))
    async with talking({"text": "ok"}, cwd=tmp_path, session=Session.open(session.path)) as again:
        await again.say("on")
        again.assert_accepted()
        json.dumps(again.bodies, ensure_ascii=False).encode()


async def test_A35_nul_and_binary_output_go_out_as_text(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\x02\x01\x01\0" + bytes(range(256)) * 4)
    calls = [
        {"name": "shell", "input": {"command": "printf 'a\\0b'"}},
        {"name": "read", "input": {"path": "program"}},
    ]
    async with talking(
        {"tool_calls": calls}, {"text": "ok"}, cwd=tmp_path, allow=["shell"]
    ) as talk:
        await talk.say("go \0 on")
        talk.assert_accepted()
        shell, read = (json.dumps(r["content"]) for r in blocks(talk.bodies[1], "tool_result"))
        assert "\\u0000" not in json.dumps(talk.bodies[1])
        assert "a\\\\x00b" in shell
        assert "binary" in read.lower() or "\\\\x00" in read


# --- A36, A37: how an answer ends ----------------------------------------------------------------


@pytest.mark.parametrize("call", [False, True], ids=["empty", "with a call"])
async def test_A36_a_refusal_is_said_and_is_not_tried_again(
    call: bool, tmp_path: Path, drive: Drive
) -> None:
    """Adjusted: rewinding comes with a later issue; here the refusal is said with its category,
    nothing runs, nothing is repeated, and the next prompt works."""
    gate = Gate()
    details = {"type": "refusal", "category": "bioweapons", "explanation": "not this"}
    refusal: dict[str, Any] = {"stop_reason": "refusal", "stop_details": details}
    async with talking(
        refusal | ({"tool_calls": [CALL_A]} if call else {"blocks": []}),
        {"text": "ok"},
        cwd=tmp_path,
        tools=[gate.tool],
    ) as talk:
        await talk.say("do it")
        assert len(talk.entries) == 1 and not talk.retries and not gate.begun
        assert "declined" in talk.all("agent_end")[-1].reason
        await read_screen(drive, talk, "declined", "bioweapons")
        await talk.say("something else")
        talk.assert_accepted()
        assert talk.last.text == "ok"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("model_context_window_exceeded", "context window is full"),
        ("max_tokens", "it reached its limit"),
        ("brand_new_reason", "brand_new_reason"),
    ],
)
async def test_A37_an_answer_that_ends_oddly_is_marked_and_runs_nothing(
    reason: str, words: str, tmp_path: Path, drive: Drive
) -> None:
    """Adjusted: compaction comes with a later issue; the cut is marked and said."""
    gate = Gate()
    async with talking(
        {"text": "half an ans", "tool_calls": [CALL_A], "stop_reason": reason},
        {"text": "ok"},
        cwd=tmp_path,
        tools=[gate.tool],
    ) as talk:
        await talk.say("go")
        assert not gate.begun and len(talk.entries) == 1
        (end,) = talk.all("tool_execution_end")
        assert end.is_error
        await read_screen(drive, talk, "half an ans", words)
        await talk.say("on")
        talk.assert_accepted()


# --- A38, A39: raw streams -----------------------------------------------------------------------

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "demo",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 25, "output_tokens": 1},
    },
}
TEXT_REST: list[dict[str, Any]] = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
     "usage": {"output_tokens": 15}},
    {"type": "message_stop"},
]  # fmt: skip


def sse(*events: dict[str, Any]) -> str:
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)


async def test_A38_usage_is_replaced_and_never_added(tmp_path: Path) -> None:
    more = {
        "type": "message_delta",
        "delta": {},
        "usage": {"input_tokens": 900, "output_tokens": 40},
    }
    raw = sse(START, *TEXT_REST[:-1], more, TEXT_REST[-1])
    async with talking({"raw_sse": raw}, cwd=tmp_path) as talk:
        await talk.say("go")
        usage = talk.last.usage
        assert usage is not None and (usage.input, usage.output) == (900, 40)
        total = talk.conversation.state()["usage"]
        assert (total["input"], total["output"]) == (900, 40)
        assert talk.all("usage")[-1].input == 900


async def test_A38_a_field_that_is_missing_later_keeps_its_value(tmp_path: Path) -> None:
    async with talking({"raw_sse": sse(START, *TEXT_REST)}, cwd=tmp_path) as talk:
        await talk.say("go")
        usage = talk.last.usage
        assert usage is not None and (usage.input, usage.output) == (25, 15)


async def test_A39_unknown_kinds_are_kept_shown_and_sent_back(tmp_path: Path, drive: Drive) -> None:
    hologram = {"type": "hologram", "depth": 3, "light": {"r": 1}}
    raw = sse(
        START,
        {"type": "content_block_start", "index": 0, "content_block": hologram},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "sparkle_delta", "x": 1}},
        {"type": "content_block_stop", "index": 0},
        {"type": "weather_report", "rain": True},
        *({**e, "index": 1} if "index" in e else e for e in TEXT_REST),
    )
    async with talking(
        {"raw_sse": raw}, {"text": "ok"}, cwd=tmp_path, top={"no_rules": True}
    ) as talk:
        await talk.say("go")
        assert talk.last.text == "Hello."
        assert isinstance(talk.last.content[0], OpaqueContent)
        screen = await read_screen(drive, talk, "hologram", "Hello.")
        assert len([line for line in screen.splitlines() if "hologram" in line]) == 1
        await talk.say("on")
        talk.assert_accepted()
        content = without_marks(talk.bodies[1]["messages"][1]["content"])
        assert json.dumps(content[0]) == json.dumps(hologram)


# --- A43: thinking -------------------------------------------------------------------------------


async def test_A43_a_thinking_level_is_checked_when_it_is_set(tmp_path: Path) -> None:
    """Adjusted: thinking is set by level (/effort), not by tokens. A number is refused by name
    of what may be given, and the level stays."""
    async with talking({"text": "ok"}, cwd=tmp_path) as talk:
        before = talk.conversation.thinking
        for wrong in ("500", "enormous", "0"):
            submitted = await talk.conversation.submit(f"/effort {wrong}")
            assert submitted.command is not None and submitted.command.error
            assert wrong in submitted.command.error and "medium" in submitted.command.error
        unknown = await talk.conversation.submit("/thinking 500")
        assert unknown.command is not None and "/thinking" in unknown.command.error
        assert talk.conversation.thinking == before and not talk.entries


@pytest.mark.parametrize("max_tokens", [1, 100, 1024, 1500, 2048, 4096, 32_000])
@pytest.mark.parametrize("level", ["off", "low", "medium", "high", "xhigh", "max"])
@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-sonnet-5-5"])
def test_A43_no_level_asks_for_a_budget_that_is_refused(
    model: str, level: ThinkingLevel, max_tokens: int
) -> None:
    context = LLMContext("", [UserMessage(content=[TextContent(text="hi")])], [])
    options = StreamOptions(max_tokens=max_tokens, thinking_level=level)
    body = build_request(model, context, options)
    assert not validate_request({**body, "stream": True})
    budget = body.get("thinking", {}).get("budget_tokens")
    assert budget is None or 1024 <= budget < body["max_tokens"]
