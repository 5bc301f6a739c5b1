"""Usage of a conversation: by answer and in all, what is unknown said to be so."""

from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.events import AgentEvent, MessageEndEvent, MessageStartEvent
from agent_tui.agent.messages import AssistantMessage, Usage, UserMessage
from agent_tui.conversation.usage import UsageMeter, UsageTotals
from agent_tui.messages_api.models import model_info
from agent_tui.sessions.store import Session
from tests.faults.helpers import Talk, talking

SONNET = "claude-sonnet-5-5"


def answer(model: str = SONNET, *, stop: str = "end_turn", **counts: Any) -> AssistantMessage:
    """counts: of the API's usage object."""
    usage = Usage(
        input=counts.get("input_tokens"),
        output=counts.get("output_tokens"),
        cache_read=counts.get("cache_read_input_tokens"),
        cache_write=counts.get("cache_creation_input_tokens"),
        raw=counts,
    )
    return AssistantMessage(model=model, stop_reason=stop, usage=usage)


KNOWN = answer(input_tokens=1000, output_tokens=100, cache_read_input_tokens=10_000,
               output_tokens_details={"thinking_tokens": 40},
               server_tool_use={"web_search_requests": 2})  # fmt: skip
KNOWN_COST = (1000 * 2 + 100 * 10 + 10_000 * 0.1) / 1e6 + 0.02
UNKNOWN = answer("qwen3:8b", input_tokens=50, output_tokens=5)


def counted(*messages: AssistantMessage) -> UsageTotals:
    totals = UsageTotals()
    for message in messages:
        totals.add(message, model_info)
    return totals


def test_all_counts_add_up() -> None:
    totals = counted(KNOWN, KNOWN, answer(input_tokens=1, output_tokens=2))
    assert (totals.input, totals.output, totals.cache_read) == (2001, 202, 20_000)
    assert totals.thinking == 80
    assert totals.server_tools == {"web_search": 4}
    assert totals.cost == pytest.approx(2 * KNOWN_COST + (2 + 20) / 1e6)
    assert totals.cost_at_least == totals.cost
    assert (totals.context_tokens, totals.context_window) == (3, 1_000_000)
    assert [a.number for a in totals.answers] == [1, 2, 3]


def test_an_unknown_price_is_never_counted_as_nothing() -> None:
    totals = counted(UNKNOWN)
    assert totals.cost is None and totals.cost_at_least == 0
    totals = counted(KNOWN, UNKNOWN)
    assert totals.cost is None, "a sum of which a part is unknown is not known"
    assert totals.cost_at_least == pytest.approx(KNOWN_COST)
    event = totals.event()
    assert (event.cost, event.cost_at_least) == (None, totals.cost_at_least)


def test_an_answer_that_was_cut_off_cost_at_least_what_was_told() -> None:
    """message_start tells the input; how much had been said by then nobody knows."""
    cut = answer(stop="aborted", input_tokens=1000, output_tokens=1)
    totals = counted(KNOWN, cut)
    assert totals.cost is None
    assert totals.cost_at_least == pytest.approx(KNOWN_COST + (1000 * 2 + 10) / 1e6)
    free = UsageTotals()
    free.add(cut, lambda name: model_info("nothing"))
    assert free.cost is None and free.cost_at_least == 0


def test_thinking_that_was_never_told_is_unknown() -> None:
    assert counted(answer(input_tokens=1, output_tokens=1)).thinking is None


def test_a_response_without_usage_changes_nothing() -> None:
    totals = counted(KNOWN)
    assert totals.add(AssistantMessage(), model_info) is None
    assert len(totals.answers) == 1


def test_a_response_in_which_only_a_program_went_on_is_no_answer() -> None:
    """As recorded: it says 0 of everything, and that the context were empty."""
    between = answer(input_tokens=0, output_tokens=0, server_tool_use={"web_search_requests": 0})
    totals = counted(KNOWN)
    assert totals.add(between, model_info) is None
    assert len(totals.answers) == 1 and totals.context_tokens == 11_100


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_rate_is_that_of_the_answer() -> None:
    clock = Clock()
    meter = UsageMeter(model_info, clock)
    message = answer(input_tokens=1, output_tokens=120)

    def run(*events: AgentEvent) -> None:
        for event in events:
            meter.on_event(event)

    run(MessageStartEvent(message))
    clock.now += 2
    run(MessageEndEvent(message))
    assert meter.totals.rate == pytest.approx(60)
    assert meter.totals.event().rate == pytest.approx(60)
    broken = answer(stop="error", input_tokens=1, output_tokens=120)
    run(MessageStartEvent(broken))
    clock.now += 1
    run(MessageEndEvent(broken))
    assert meter.totals.rate is None, "its tokens were not all told"


def test_a_resumed_session_counts_its_past() -> None:
    meter = UsageMeter(model_info)
    meter.begin([UserMessage(content="x"), KNOWN, UNKNOWN])  # type: ignore[arg-type]
    assert [a.model for a in meter.totals.answers] == [SONNET, "qwen3:8b"]
    assert meter.totals.rate is None
    meter.on_event(MessageEndEvent(KNOWN))
    assert meter.totals.answers[-1].number == 3
    meter.begin([])
    assert meter.totals.answers == []


def test_what_was_paid_for_is_counted_and_fills_no_context() -> None:
    left = answer(input_tokens=7000, output_tokens=70)
    stands = answer(input_tokens=30, output_tokens=3)
    meter = UsageMeter(model_info)
    meter.begin([stands], [stands, left])
    assert (meter.totals.input, meter.totals.output) == (7030, 73)
    assert meter.totals.context_tokens == 33, "only what stands is in the context"
    meter.begin([stands])
    assert (meter.totals.input, len(meter.totals.answers)) == (30, 1)
    meter.begin([], [left])
    assert (meter.totals.input, meter.totals.context_tokens) == (7000, None)


async def test_asked_again_or_broken_an_answer_stays_counted(tmp_path: Path) -> None:
    def sums(talk: Talk) -> tuple[int, int, int]:
        usage = talk.conversation.usage
        return usage.input, usage.output, len(usage.answers)

    session = Session.create(str(tmp_path), tmp_path / "home")
    turns = ({"text": "So far", "hang": "mid_stream"}, {"text": "half of it", "cut": True},
             {"text": "whole"}, {"text": "more"})  # fmt: skip
    async with talking(*turns, cwd=tmp_path, session=session) as talk:
        await talk.conversation.submit("hello")
        await talk.until_stream("text_delta")
        talk.conversation.abort()
        await talk.idle()
        await talk.conversation.command("/retry")
        await talk.idle()
        await talk.say("go on")
        before, context = sums(talk), talk.conversation.usage.context_tokens
        assert before[2] > len([m for m in talk.conversation.messages if m.role == "assistant"])
    assert session.path is not None
    again = Session.open(session.path, read_only=True)
    async with talking({"text": "last"}, cwd=tmp_path, session=again) as talk:
        assert sums(talk) == before
        assert talk.conversation.usage.context_tokens == context
        await talk.conversation.open_session(Session.in_memory(str(tmp_path)))
        assert sums(talk) == (0, 0, 0)
        await talk.conversation.open_session(Session.open(session.path, read_only=True))
        assert sums(talk) == before
