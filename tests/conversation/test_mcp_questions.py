"""What MCP servers ask of the user and of the model: each answer reaches the server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_tui.conversation.events import NoticeEvent
from agent_tui.conversation.mcp.link import McpLink
from agent_tui.conversation.mcp.plan import McpPlan
from agent_tui.conversation.toolset import Toolset
from agent_tui.mcp_servers import McpError, McpManager
from agent_tui.sessions.store import Session
from tests.conversation.mcp_making import attach, call, result_text, run
from tests.faults.helpers import Talk, talking
from tests.mcp_servers.conftest import animal

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer"}},
    "required": ["name"],
}


async def asked(talk: Talk, text: str = "ask", count: int = 1) -> Any:
    """Say something that lets a tool ask; the question."""
    await talk.conversation.submit(text)
    return await talk.until_event("server_question", count)


async def answer_of(talk: Talk) -> dict[str, Any]:
    """What the server got, as its tool returned it."""
    await talk.idle()
    talk.assert_accepted()
    return json.loads(result_text(talk.bodies[-1]))


@pytest.mark.parametrize(
    "action, content",
    [("accept", {"name": "Ann", "age": 7}), ("decline", None), ("cancel", None)],
)
async def test_each_answer_to_a_form_reaches_the_server(
    tmp_path: Path, action: str, content: dict[str, Any] | None
) -> None:
    turns = [call("zoo__ask", schema=SCHEMA), {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo")
        question = await asked(talk)
        assert (question.kind, question.server, question.message) == ("form", "zoo", "Who are you?")
        assert question.schema == SCHEMA
        assert talk.conversation.mcp.questions.open_questions == [question]
        assert talk.conversation.answer_question(question.request_id, action, content)
        resolved = await talk.until_event("server_question_resolved")
        assert (resolved.request_id, resolved.action) == (question.request_id, action)
        expected: dict[str, Any] = {"action": action} | ({"content": content} if content else {})
        assert await answer_of(talk) == expected
        assert not talk.conversation.answer_question(question.request_id, "accept", content)
        told = [e.text for e in talk.events if isinstance(e, NoticeEvent) and "asked for" in e.text]
        assert len(told) == 1 and "Ann" not in told[0]


async def test_what_does_not_fit_the_form_is_not_sent(tmp_path: Path) -> None:
    turns = [call("zoo__ask", schema=SCHEMA), {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo")
        question = await asked(talk)
        answer = talk.conversation.answer_question
        for wrong in ({}, {"name": "A"}, {"name": "Ann", "age": "seven"}, {"name": "Ann", "x": 1}):
            with pytest.raises(ValueError):
                answer(question.request_id, "accept", wrong)
        with pytest.raises(ValueError, match="accept, decline or cancel"):
            answer(question.request_id, "maybe")
        assert talk.all("server_question_resolved") == [], "it stays open"
        answer(question.request_id, "accept", {"name": "Ann"})
        assert (await answer_of(talk))["content"] == {"name": "Ann"}


async def test_a_question_goes_when_its_call_is_stopped(tmp_path: Path) -> None:
    turns = [call("zoo__ask", schema=SCHEMA), {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo")
        question = await asked(talk)
        talk.conversation.abort()
        resolved = await talk.until_event("server_question_resolved")
        assert (resolved.request_id, resolved.action) == (question.request_id, "withdrawn")
        await talk.idle()
        assert not talk.conversation.answer_question(question.request_id, "accept", {"name": "Ann"})


async def test_an_address_is_only_accepted_never_opened_here(tmp_path: Path) -> None:
    url = "https://bank.example/pay?to=1"
    turns = [call("zoo__ask_url", url=url), {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo")
        question = await asked(talk)
        assert (question.kind, question.url, question.schema) == ("url", url, None)
        talk.conversation.answer_question(question.request_id, "decline")
        assert await answer_of(talk) == {"action": "decline"}


# --- sampling --------------------------------

SAMPLED = {"match": "Say something.", "text": "Something, STOP and more."}


async def test_sampling_asks_runs_the_model_and_asks_again(tmp_path: Path) -> None:
    turns = [call("zoo__sample", tokens=50), SAMPLED, {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo")
        question = await asked(talk)
        assert question.kind == "sampling" and question.details["max_tokens"] == 50
        (message,) = question.details["messages"]
        assert message == {"role": "user", "content": [{"type": "text", "text": "Say something."}]}
        assert len(talk.bodies) == 1, "the model is not run before it is allowed"
        before = talk.conversation.usage.output
        talk.conversation.answer_question(question.request_id, "accept")
        shown = await talk.until_event("server_question", 2)
        assert shown.kind == "sampling_result"
        assert shown.details["text"] == "Something, STOP and more."
        body = talk.bodies[1]
        assert body["max_tokens"] == 50 and "tools" not in body and "Folder:" not in str(body)
        assert talk.conversation.usage.output > before, "it costs"
        talk.conversation.answer_question(shown.request_id, "accept")
        got = await answer_of(talk)
        assert got["content"]["text"] == "Something, STOP and more."
        assert got["stopReason"] == "endTurn"
        roles = [m.role for m in talk.conversation.messages]
        assert roles == ["user", "assistant", "toolResult", "assistant"], "it is no part of this"


async def test_what_a_server_asked_for_is_paid_for_after_a_resume_too(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path), tmp_path / "home")
    turns = [call("zoo__sample", tokens=50), SAMPLED, {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"], session=session) as talk:
        await attach(talk, "zoo")
        talk.conversation.answer_question((await asked(talk)).request_id, "accept")
        shown = await talk.until_event("server_question", 2)
        talk.conversation.answer_question(shown.request_id, "decline")
        await talk.idle()
        usage, roles = talk.conversation.usage, [m.role for m in talk.conversation.messages]
    assert session.path is not None
    assert "Something, STOP" not in session.path.read_text(), "what it said is the server's"
    again = Session.open(session.path, read_only=True)
    async with talking({"text": "-"}, cwd=tmp_path, session=again) as talk:
        now = talk.conversation.usage
        assert (now.input, now.output, now.cost) == (usage.input, usage.output, usage.cost)
        assert now.context_tokens == usage.context_tokens
        assert len(now.answers) == len(usage.answers) == 3
        assert [m.role for m in talk.conversation.messages] == roles


@pytest.mark.parametrize("answers", [["decline"], ["cancel"], ["accept", "decline"]])
async def test_what_the_user_refuses_the_server_does_not_get(
    tmp_path: Path, answers: list[str]
) -> None:
    turns = [call("zoo__sample", tokens=50), SAMPLED, {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo")
        question = await asked(talk)
        for number, action in enumerate(answers, start=1):
            question = await talk.until_event("server_question", number)
            talk.conversation.answer_question(question.request_id, action)
        await talk.idle()
        said = result_text(talk.bodies[-1])
        assert "refused" in said and "Something" not in said


async def test_no_answer_is_bought_over_the_limit_of_cost(tmp_path: Path) -> None:
    turns = [call("zoo__sample"), {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"], max_cost=0.000001) as talk:
        await attach(talk, "zoo")
        question = await asked(talk)
        talk.conversation.limits.spent = lambda: 5.0
        talk.conversation.answer_question(question.request_id, "accept")
        await talk.idle()
        assert len(talk.bodies) == 1, "neither for the server nor after it"
        result = next(m for m in talk.conversation.messages if m.role == "toolResult")
        assert "max_cost" in result.text


async def test_where_nobody_can_answer_servers_are_told_so(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    told: list[Any] = []
    link = McpLink(str(tmp_path), McpPlan(interactive=False), Toolset(), told.append)
    manager = await link.get_manager()
    manager.add(animal("zoo", "Plain", env={"ZOO_DIARY": str(diary)}))
    async with asyncio.timeout(20):
        await link.wait_for(["zoo"], 20)
    await link.close()
    entries = [json.loads(line) for line in diary.read_text().splitlines()]
    (hello,) = [e for e in entries if e.get("method") == "initialize"]
    assert not {"elicitation", "sampling"} & hello["params"]["capabilities"].keys()


# --- logging in --------------------------------


async def test_a_login_is_a_question_that_the_code_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[str | None] = []

    async def login(self: Any, name: str, *, show_url: Any, pasted: Any) -> None:
        await show_url("https://login.example/authorize?x=1")
        code = await pasted()
        codes.append(code)
        if code is None:
            raise McpError("The login was given up.")

    monkeypatch.setattr(McpManager, "login", login)
    async with talking(cwd=tmp_path) as talk:
        await run(talk, "/mcp add web http://127.0.0.1:9/mcp")
        await run(talk, "/mcp login web")
        question = await talk.until_event("server_question")
        assert (question.kind, question.url) == ("login", "https://login.example/authorize?x=1")
        with pytest.raises(ValueError):
            talk.conversation.answer_question(question.request_id, "accept", {})
        talk.conversation.answer_question(question.request_id, "accept", {"code": "c0de"})
        await talk.until(lambda: "web: you are logged in" in talk.notices)
        await run(talk, "/mcp login web")
        question = await talk.until_event("server_question", 2)
        talk.conversation.answer_question(question.request_id, "cancel")
        await talk.until(lambda: "web: The login was given up." in talk.notices)
        assert codes == ["c0de", None]
        assert "c0de" not in talk.notices


async def test_nothing_waits_for_an_answer_when_the_conversation_is_closed(tmp_path: Path) -> None:
    turns = [call("zoo__ask", schema=SCHEMA), {"text": "Done."}]
    async with talking(*turns, cwd=tmp_path, allow=["zoo__*"]) as talk:
        await attach(talk, "zoo")
        await asked(talk)
        async with asyncio.timeout(15):
            await talk.conversation.close()
        assert talk.conversation.mcp.questions.open_questions == []
