"""Meters of a whole conversation over HTTP: the cache, the context, usage, and what they say."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.messages import UserMessage, text_content
from agent_tui.conversation import model_choice
from agent_tui.conversation.events import CacheEvent
from agent_tui.conversation.meters import cache_words
from agent_tui.messages_api.models import model_info
from agent_tui.sessions.store import Session
from tests.faults.helpers import Talk, instant, talking

SONNET = "claude-sonnet-5-5"
OPUS = "claude-opus-5-5"
TWO_MODELS = {"models": [SONNET, OPUS]}


def breaks(talk: Talk) -> list[tuple[str, str]]:
    return [(e.cause, e.detail) for e in talk.all("cache") if e.broke]


async def test_A29_each_request_reads_what_the_one_before_left(tmp_path: Path) -> None:
    call = {"tool_calls": [{"name": "list", "input": {}}]}
    async with talking(call, {"text": "done"}, {"text": "again"}, cwd=tmp_path) as talk:
        await talk.say("list the files")
        await talk.say("and again")
        talk.assert_accepted()
        first, second, third = talk.all("cache")
    assert (first.read, first.broke) == (0, False) and first.written > 1024
    assert second.read == first.written
    assert third.read == second.read + second.written
    assert not breaks(talk)


async def test_the_lens_names_an_injected_change_of_model_tools_and_system(tmp_path: Path) -> None:
    turns = [{"text": f"answer {n}"} for n in range(5)]
    async with talking(*turns, cwd=tmp_path, top=TWO_MODELS) as talk:
        conversation = talk.conversation
        await talk.say("one")
        conversation.set_model(OPUS)
        await talk.say("two")
        assert breaks(talk) == [("model", f"the model changed from {SONNET} to {OPUS}")]
        conversation.toolset.offer("a server", [instant("a_server__fetch")])
        await talk.say("three")
        assert breaks(talk)[1:] == [("tools", "tools changed: added a_server__fetch")]
        conversation.agent.system_prompt += "\nAnswer in verse. " * 20
        await talk.say("four")
        assert breaks(talk)[2:] == [("system", "the system prompt changed")]
        await talk.say("five")
        assert len(breaks(talk)) == 3
        talk.assert_accepted()
        told = [line for line in talk.notices.splitlines() if "prompt cache" in line]
        assert told[0] == (
            f"The prompt cache starts anew: the model changed from {SONNET} to {OPUS}. "
            f"{talk.all('cache')[1].lost:,} tokens that it held were not read from it."
        )
        used = await conversation.command("/usage")
    assert "The prompt cache broke last at answer 4: the system prompt changed" in used.text


def test_what_was_read_of_the_cache_is_told() -> None:
    """It starts anew only where nothing of it was read."""
    broken = CacheEvent(4, 9_000, 500, 20, 12_000, True, 3_000, "system", "it changed")
    assert cache_words(broken) == (
        "Only an older beginning was found in the prompt cache: it changed. "
        "9,000 tokens were read from it, 3,000 more that it held were not."
    )
    assert cache_words(replace(broken, read=0, lost=12_000)) == (
        "The prompt cache starts anew: it changed. "
        "12,000 tokens that it held were not read from it."
    )


async def test_the_context_is_told_with_each_answer(tmp_path: Path) -> None:
    call = {"text": "I look.", "tool_calls": [{"name": "list", "input": {}}]}
    async with talking(call, {"text": "done"}, cwd=tmp_path, top=TWO_MODELS) as talk:
        await talk.say("list the files")
        first, second = talk.all("context")
        usages = [m.usage for m in talk.conversation.messages if m.role == "assistant"]
    for event, usage in zip((first, second), usages, strict=True):
        assert event.exact
        assert event.total == usage.input + usage.cache_read + usage.cache_write + usage.output
        assert event.total == sum(event.sources.values())
        assert event.sources["answer"] == usage.output
        assert event.window == 200_000, "as the server says, not as the table does"
    assert first.sources.keys() == {"system", "tools", "prompts", "answer"}
    assert {"answers", "calls", "results"} <= second.sources.keys()


async def test_what_the_next_request_would_hold_is_counted_before_it_is_sent(
    tmp_path: Path,
) -> None:
    async with talking({"text": "done"}, cwd=tmp_path) as talk:
        await talk.conversation.measure_context()
        (before,) = talk.all("context")
        assert before.exact and before.sources.keys() == {"system", "tools", "prompts"}
        assert [e["path"] for e in talk.server.journal] == [], "counting is no request to the model"
        await talk.say("hello")
        sent = talk.all("context")[-1].total - talk.last.usage.output  # type: ignore[union-attr]
        assert abs(before.total - sent) <= 10, "all but the few words of the prompt"


async def test_a_server_that_cannot_count_gets_an_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: Any) -> None:
        return None

    monkeypatch.setattr("agent_tui.conversation.context_measure.count_tokens", none)
    async with talking({"text": "done"}, cwd=tmp_path) as talk:
        command = await talk.conversation.command("/context")
        (event,) = talk.all("context")
        assert not event.exact
        assert "an estimate: nothing was counted" in command.text
        await talk.say("hello")
        sent = talk.all("context")[-1].total
        assert 0.7 * sent < event.total < 1.3 * sent


async def test_usage_by_answer_and_of_the_session(tmp_path: Path) -> None:
    counts = {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 10_000,
              "output_tokens_details": {"thinking_tokens": 40},
              "server_tool_use": {"web_search_requests": 2}}  # fmt: skip
    turns = [{"text": "a", "usage": counts}, {"text": "b", "usage": counts}]
    async with talking(*turns, cwd=tmp_path, top=TWO_MODELS) as talk:
        nothing = await talk.conversation.command("/usage")
        assert nothing.text == "Nothing was asked yet."
        await talk.say("one")
        await talk.say("two")
        result = await talk.conversation.command("/usage")
        wrong = await talk.conversation.command("/usage now")
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in result.text.splitlines()[:5]]
    assert rows[0][:4] == ["answer", "model", "new in", "cache read"]
    assert rows[2][:7] == ["1", "`sonnet-5-5`", "1,000", "10,000", "0", "100", "40"]
    assert rows[2][8] == "$0.0240", "0.002 in, 0.001 read, 0.001 out, 0.02 for two searches"
    assert rows[4] == ["**session**", "", "2,000", "20,000", "0", "200", "80", "", "$0.0480"]
    assert "- web search: 4" in result.text
    assert result.data is not None and result.data["cost"] == pytest.approx(0.048)
    assert wrong.error == "The form is: /usage"


async def test_a_cost_that_is_not_known_is_not_shown_as_one(tmp_path: Path) -> None:
    turns = [{"text": "a"}, {"text": "b"}]
    async with talking(*turns, cwd=tmp_path, top={"models": ["qwen3:8b", SONNET]}) as talk:
        talk.conversation.set_model("qwen3:8b")
        await talk.say("one")
        lines = (await talk.conversation.command("/usage")).text.splitlines()
        assert lines[2].endswith("| ? |") and lines[3].endswith("| ? |")
        assert talk.all("usage")[-1].cost is None
        talk.conversation.set_model(SONNET)
        await talk.say("two")
        lines = (await talk.conversation.command("/usage")).text.splitlines()
        assert lines[4].split("|")[-2].strip().startswith("≥ $0.00")
        assert any("not known in full" in line for line in lines)


async def test_a_long_session_shows_its_last_answers_and_the_sum_of_those_before(
    tmp_path: Path,
) -> None:
    async with talking(cwd=tmp_path) as talk:
        totals = talk.conversation.usage
        for _ in range(30):
            totals.add(answered(), model_info)
        lines = (await talk.conversation.command("/usage")).text.splitlines()
    numbers = [line.split("|")[1].strip() for line in lines[2:] if line.startswith("|")]
    assert numbers == ["1-10", *(str(n) for n in range(11, 31)), "**session**"]
    assert "| 1-10 |  | 10 | 0 | 0 | 20 |" in lines[2]


def answered() -> Any:
    from agent_tui.agent.messages import AssistantMessage, Usage

    return AssistantMessage(model=SONNET, usage=Usage(input=1, output=2))


async def test_a_resumed_session_is_counted_and_told(tmp_path: Path) -> None:
    session = Session.in_memory(str(tmp_path))
    session.append_message(UserMessage(content=text_content("before")))
    session.append_message(answered())
    async with talking({"text": "on"}, cwd=tmp_path, session=session) as talk:
        (told,) = talk.conversation.told()
        assert (told.input, told.output) == (1, 2)
        await talk.say("go on")
        assert talk.all("usage")[-1].output > 2
        assert [e.type for e in talk.conversation.told()] == ["usage", "cache", "context"]
        await talk.conversation.clear()
        assert [e.type for e in talk.conversation.told()] == ["usage"]
        assert talk.conversation.usage.answers == []


# --- limits ---------------------------------------------------------------------------------------


async def test_a_limit_of_cost_that_cannot_be_watched_is_said_before_a_dollar_is_spent(
    tmp_path: Path,
) -> None:
    top = {"models": ["qwen3:8b", SONNET]}
    async with talking({"text": "a"}, cwd=tmp_path, top=top, max_cost=0.5, model=SONNET) as talk:
        assert "max_cost" not in talk.notices
        talk.conversation.set_model("qwen3:8b")
        assert talk.notices.count("The limit of $0.5 (max_cost) cannot be watched: the price") == 1
        talk.conversation.set_model("qwen3:8b")
        assert talk.notices.count("cannot be watched") == 1, "once"


async def test_a_run_ends_by_what_it_has_cost_itself(tmp_path: Path) -> None:
    dear = {"tool_calls": [{"name": "list", "input": {}}],
            "usage": {"input_tokens": 100_000, "output_tokens": 0}}  # fmt: skip
    turns = [{**dear, "repeat": True}]
    async with talking(*turns, cwd=tmp_path, top=TWO_MODELS, max_cost=0.5) as talk:
        await talk.say("one")
        assert len(talk.entries) == 3, "0.2 + 0.2 + 0.2 dollars"
        assert "Stopped: the limit of $0.50 is reached (max_cost)" in talk.notices
        await talk.say("two")
        assert len(talk.entries) == 6, "what the first run cost is not of the second"


# --- what the endpoint says of its models ---------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_choice, "LEARN_AFTER_S", 0.0)


async def test_what_the_endpoint_says_is_learned_in_the_background(
    tmp_path: Path, at_once: None
) -> None:
    top = {"models": ["claude-unheard-of-9"]}
    async with talking({"text": "a"}, cwd=tmp_path, top=top, model="claude-unheard-of-9") as talk:
        models = talk.conversation.models
        assert models.info().context_window is None
        await talk.until(lambda: models.info().context_window)
        assert models.info().context_window == 200_000
        assert models.info().thinking, "as the server's rules have it"
        await talk.say("hello")
        talk.assert_accepted()
        assert talk.bodies[0]["max_tokens"] == 32_000
        assert talk.all("context")[-1].window == 200_000


async def test_a_window_that_is_known_later_is_told(tmp_path: Path) -> None:
    top = {"models": ["mystery"]}
    async with talking({"text": "a"}, cwd=tmp_path, top=top, model="mystery") as talk:
        await talk.say("hello")
        assert talk.all("usage")[-1].context_window is None
        await asyncio.wait_for(talk.conversation.model_names(), 10)
        assert talk.all("usage")[-1].context_window == 200_000
        assert talk.all("context")[-1].window == 200_000


async def test_a_model_near_its_end_warns(tmp_path: Path) -> None:
    top = {"models": ["claude-sonnet-4-5"]}
    async with talking(cwd=tmp_path, top=top, model="claude-sonnet-4-5", thinking="off") as talk:
        assert talk.notices.startswith("claude-sonnet-4-5 w")
        assert "Choose another with /model." in talk.notices


async def test_A43_a_level_that_needs_more_tokens_than_there_are_is_said(tmp_path: Path) -> None:
    top = {"models": ["claude-haiku-4-5"]}
    async with talking(
        {"text": "a"}, cwd=tmp_path, top=top, model="claude-haiku-4-5", thinking="off",
        max_tokens=1500,
    ) as talk:  # fmt: skip
        assert talk.notices == ""
        talk.conversation.set_thinking("high")
        assert talk.notices == (
            "claude-haiku-4-5 will not think: max_tokens is 1,500, and its thinking needs 2,048 or "
            "more (a budget of at least 1,024, below max_tokens). Raise max_tokens, or choose "
            "/effort off."
        )
        await talk.say("hello")
        talk.assert_accepted()
        assert "thinking" not in talk.bodies[0]
