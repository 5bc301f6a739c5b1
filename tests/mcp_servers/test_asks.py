"""Questions of servers: asked, answered by accept, decline and cancel, limited."""

import asyncio
import json
from typing import Any

import pytest

from agent_tui.agent.tools import ToolContext
from agent_tui.mcp_servers import asks
from agent_tui.mcp_servers.asks import form_problem
from agent_tui.mcp_servers.types import (
    ElicitAnswer,
    FormQuestion,
    SamplingAnswer,
    SamplingQuestion,
    UrlDone,
    UrlQuestion,
)
from tests.mcp_servers.conftest import Keeper, text_of, until

NAME = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}}}


class User:
    """Somebody who answers; a question may also wait for ever."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answer: Any = ElicitAnswer("decline")
        self.waits = False
        self.takes = 0.0
        self.withdrawn = 0

    async def __call__(self, question: Any) -> Any:
        self.asked.append(question)
        if self.waits:
            try:
                await asyncio.Event().wait()
            finally:
                self.withdrawn += 1
        await asyncio.sleep(self.takes)
        return self.answer


@pytest.fixture
def user() -> User:
    return User()


@pytest.fixture
async def asking(make_keeper, user: User):
    keeper = make_keeper(elicit=user, sample=user)
    keeper.add("zoo", "Plain", call_timeout_s=5)
    await keeper.ready()
    yield keeper
    await keeper.manager.close()


async def said(keeper: Keeper, alias: str, **arguments: Any) -> Any:
    return json.loads(text_of(await keeper.call(alias, **arguments)))


@pytest.mark.parametrize(
    ("answer", "comes"),
    [
        (ElicitAnswer("accept", {"name": "Ann"}), {"action": "accept", "content": {"name": "Ann"}}),
        (ElicitAnswer("decline"), {"action": "decline"}),
        (ElicitAnswer("cancel"), {"action": "cancel"}),
        # What does not fit the form is not sent.
        (ElicitAnswer("accept", {"name": "A"}), {"action": "cancel"}),
        (ElicitAnswer("accept", {"other": "x"}), {"action": "cancel"}),
    ],
)
async def test_each_answer_reaches_the_server(asking, user: User, answer: ElicitAnswer, comes):
    user.answer = answer
    assert await said(asking, "zoo__ask", schema=NAME) == comes
    assert user.asked == [FormQuestion("zoo", "Who are you?", NAME)]


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_an_address_is_asked_about_and_never_opened(asking, user: User, action):
    user.answer = ElicitAnswer(action)
    assert await said(asking, "zoo__ask_url", url="https://e.org/pay") == {"action": action}
    assert user.asked == [UrlQuestion("zoo", "Look", "https://e.org/pay", "e1")]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "https://"])
async def test_an_address_that_is_none_is_not_even_asked(asking, user: User, url: str):
    assert "web" in (await said(asking, "zoo__ask_url", url=url))["error"]["message"]
    assert user.asked == []


@pytest.mark.parametrize(
    "properties",
    [{"a": {"type": "object", "properties": {}}}, {f"f{n}": {"type": "string"} for n in range(51)}],
)
async def test_a_form_that_is_none_is_not_even_asked(asking, user: User, properties):
    answer = await said(asking, "zoo__ask", schema={"type": "object", "properties": properties})
    assert "error" in answer and user.asked == []


async def test_nobody_to_ask_is_told_to_servers(keeper: Keeper):
    keeper.add("zoo", "Plain")
    await keeper.ready()
    [told] = keeper.told("initialize")
    assert not {"elicitation", "sampling"} & told["params"]["capabilities"].keys()
    assert "error" in await said(keeper, "zoo__ask")
    assert "error" in await said(keeper, "zoo__sample")


async def test_the_time_of_the_user_is_not_the_server_s(make_keeper, user: User):
    keeper = make_keeper(elicit=user)
    keeper.add("zoo", "Plain", call_timeout_s=0.3)
    await keeper.ready()
    user.waits = True
    call = asyncio.create_task(keeper.call("zoo__ask"))
    await until(lambda: user.asked)
    await asyncio.sleep(1.5)  # five times its limit
    assert not call.done()
    call.cancel()
    # Stopping the call takes the question back; the server hears of both.
    await until(lambda: user.withdrawn == 1)
    await until(lambda: any(e.get("answered", {}).get("result") for e in keeper.diary()))
    await keeper.manager.close()


async def test_a_server_that_asks_without_end_is_stopped(make_keeper, user: User):
    user.answer, user.takes = ElicitAnswer("accept", {"name": "Ann"}), 0.1
    keeper = make_keeper(elicit=user)
    keeper.add("zoo", "Curious")
    await keeper.ready()
    answers = await said(keeper, "zoo__echo")
    assert len(answers) == 12
    refused = [a for a in answers if "too many questions" in str(a.get("error"))]
    assert 0 < len(refused) <= 12 - asks.MAX_WAITING
    assert len(user.asked) == 12 - len(refused)
    await keeper.manager.close()


async def test_what_a_url_was_for_is_told(asking):
    from mcp_types import ElicitCompleteNotification, ElicitCompleteNotificationParams

    life = asking.manager._servers["zoo"].connection._life
    params = ElicitCompleteNotificationParams(elicitation_id="e1")
    await life._on_message(ElicitCompleteNotification(params=params))
    assert UrlDone("zoo", "e1") in asking.events


# --- sampling -----------------------------------------------------------------------------


async def test_sampling_is_answered(asking, user: User):
    user.answer = SamplingAnswer("Something.", "model-x", "max_tokens")
    answer = await said(asking, "zoo__sample", tokens=10)
    assert answer == {
        "role": "assistant", "content": {"type": "text", "text": "Something."},
        "model": "model-x", "stopReason": "maxTokens",
    }  # fmt: skip
    [question] = user.asked
    assert isinstance(question, SamplingQuestion) and question.max_tokens == 10
    assert [(m.role, m.content[0].text) for m in question.messages] == [("user", "Say something.")]


async def test_sampling_is_bounded_and_can_be_refused(asking, user: User):
    user.answer = SamplingAnswer(None)
    answer = await said(asking, "zoo__sample", tokens=10**9)
    assert "refused" in answer["error"]["message"]
    assert user.asked[0].max_tokens == asks.MAX_SAMPLE_TOKENS


async def test_a_stopped_call_takes_its_sampling_back(asking, user: User):
    user.waits = True
    tool = asking.tools()["zoo__sample"]
    call = asyncio.create_task(tool.execute("c", {}, ToolContext("c", lambda partial: None)))
    await until(lambda: user.asked)
    await asking.manager.set_enabled("zoo", False)
    await until(lambda: user.withdrawn == 1)
    call.cancel()


# --- forms --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "fits"),
    [
        ({"type": "string", "format": "email"}, "a@b.org", True),
        ({"type": "string", "format": "date"}, "yesterday", False),
        ({"type": "integer", "minimum": 3}, 2, False),
        ({"type": "boolean"}, True, True),
        ({"enum": ["a", "b"]}, "c", False),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, ["a"], True),
        ({"type": "string", "pattern": "["}, "x", True),
    ],
)
def test_an_answer_is_held_against_its_form(field: dict, value: Any, fits: bool):
    schema = {"type": "object", "properties": {"f": field}, "required": ["f"]}
    assert (form_problem(schema, {"f": value}) is None) == fits
    if fits and "pattern" not in field:
        assert form_problem(schema, {}) == "f: must be given"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ({"type": "string", "format": "email"}, "nomail", "must be an e-mail address"),
        ({"type": "string", "format": "date"}, "now", "must be a date such as 2030-01-31"),
        ({"type": "integer"}, "seven", "must be a whole number"),
        ({"type": ["string", "null"]}, 7, "must be text or nothing"),
        ({"type": "string", "minLength": 2}, "A", "must have at least 2 characters"),
        ({"type": "string", "maxLength": 1}, "AB", "must have at most 1 character"),
        ({"type": "number", "minimum": 3}, 2, "must be at least 3"),
        ({"type": "number", "maximum": 3}, 4, "must be at most 3"),
        ({"type": "number", "exclusiveMinimum": 3}, 3, "must be more than 3"),
        ({"enum": ["a", "b"]}, "c", "must be one of a, b"),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, "c", "must be one of a, b"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, [],
         "takes at least 1 choice"),
        ({"type": "string", "pattern": "^a$"}, "b", "must fit the pattern ^a$"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_of_its_field_in_words(field: dict, value: Any, says: str):
    schema = {"type": "object", "properties": {"f": field}}
    assert form_problem(schema, {"f": value}) == f"f: {says}"
