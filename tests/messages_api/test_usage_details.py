"""Usage objects as the service sends them: what they tell, and what they cost."""

from typing import Any

import pytest

from agent_tui.agent.messages import Usage
from agent_tui.messages_api import usage_details
from agent_tui.messages_api.models import model_info
from agent_tui.messages_api.prices import Prices


def usage(**raw: Any) -> Usage:
    """As the assembler makes it of the API's object."""
    return Usage(
        input=raw.get("input_tokens"),
        output=raw.get("output_tokens"),
        cache_read=raw.get("cache_read_input_tokens"),
        cache_write=raw.get("cache_creation_input_tokens"),
        raw=raw,
    )


def priced(model: str) -> Prices | None:
    return model_info(model).prices


# As recorded: an advisor of another model was asked between two samplings.
ADVISOR = usage(
    input_tokens=2411, cache_creation_input_tokens=0, cache_read_input_tokens=0,
    output_tokens=145, output_tokens_details={"thinking_tokens": 47},
    server_tool_use={"web_search_requests": 0, "web_fetch_requests": 0},
    iterations=[
        {"input_tokens": 1128, "output_tokens": 135, "cache_read_input_tokens": 0,
         "cache_creation_input_tokens": 0, "type": "message"},
        {"input_tokens": 2543, "output_tokens": 18, "cache_read_input_tokens": 0,
         "cache_creation_input_tokens": 0, "type": "advisor_message", "model": "claude-opus-4-8"},
        {"input_tokens": 1283, "output_tokens": 10, "cache_read_input_tokens": 0,
         "cache_creation_input_tokens": 0, "type": "message"},
    ],
)  # fmt: skip

# As recorded: the context was summarised first, read from the cache.
COMPACTION = usage(
    input_tokens=181, cache_creation_input_tokens=0, cache_read_input_tokens=0, output_tokens=8,
    iterations=[
        {"input_tokens": 100, "output_tokens": 83, "cache_read_input_tokens": 55_096,
         "cache_creation_input_tokens": 0, "type": "compaction"},
        {"input_tokens": 181, "output_tokens": 8, "cache_read_input_tokens": 0,
         "cache_creation_input_tokens": 0, "type": "message"},
    ],
)  # fmt: skip


def test_thinking_and_server_tools() -> None:
    assert usage_details.thinking_tokens(ADVISOR) == 47
    assert usage_details.thinking_tokens(usage(output_tokens=3)) is None
    assert usage_details.server_tools(ADVISOR) == {}
    searched = usage(server_tool_use={"web_search_requests": 3, "web_fetch_requests": 1, "x": "?"})
    assert usage_details.server_tools(searched) == {"web_search": 3, "web_fetch": 1}


def test_the_context_is_that_of_the_last_sampling() -> None:
    """The top level counts the context of both samplings; only the last one is its length."""
    assert usage_details.context_tokens(ADVISOR) == 1283 + 10
    assert usage_details.context_tokens(COMPACTION) == 181 + 8
    plain = usage(input_tokens=5, cache_read_input_tokens=70, cache_creation_input_tokens=20,
                  output_tokens=9)  # fmt: skip
    assert usage_details.context_parts(plain) == (95, 9)
    assert usage_details.context_tokens(usage()) is None


@pytest.mark.parametrize(
    ("counts", "model", "dollars"),
    [
        # Sonnet 5.5: 2 in, 10 out, 0.1 read, 2.5 and 4 written.
        ({"input_tokens": 1000, "output_tokens": 100}, "claude-sonnet-5-5", 0.003),
        ({"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 100_000},
         "claude-sonnet-5-5", 0.01),
        ({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 30_000},
         "claude-sonnet-5-5", 0.075),
        ({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 30_000,
          "cache_creation": {"ephemeral_5m_input_tokens": 20_000,
                             "ephemeral_1h_input_tokens": 10_000}},
         "claude-sonnet-5-5", 0.05 + 0.04),
        ({"input_tokens": 0, "output_tokens": 0,
          "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 5}},
         "claude-sonnet-5-5", 0.03),
        ({"input_tokens": 1000, "output_tokens": 100, "inference_geo": "us"},
         "claude-sonnet-5-5", 0.0033),
        ({"input_tokens": 1000, "output_tokens": 100, "speed": "fast"}, "claude-sonnet-5-5", None),
        ({"input_tokens": 1000, "output_tokens": 100, "service_tier": "priority"},
         "claude-sonnet-5-5", None),
        ({"input_tokens": 1000, "output_tokens": 100}, "qwen3:8b", None),
        ({"output_tokens": 100}, "claude-sonnet-5-5", None),
        ({"input_tokens": 1000}, "claude-sonnet-5-5", None),
    ],
)  # fmt: skip
def test_what_a_response_costs(counts: dict[str, Any], model: str, dollars: float | None) -> None:
    cost = usage_details.cost(usage(**counts), model, priced)
    assert cost == (None if dollars is None else pytest.approx(dollars))


def test_an_advisor_costs_on_top_at_its_own_prices() -> None:
    own = (2411 * 2 + 145 * 10) / 1e6
    advisor = (2543 * 5 + 18 * 25) / 1e6
    assert usage_details.cost(ADVISOR, "claude-sonnet-5", priced) == pytest.approx(own + advisor)


def test_a_compaction_costs_on_top() -> None:
    own = (181 * 3 + 8 * 15) / 1e6
    summary = (100 * 3 + 83 * 15 + 55_096 * 0.3) / 1e6
    cost = usage_details.cost(COMPACTION, "claude-sonnet-4-6", priced)
    assert cost == pytest.approx(own + summary)


def test_after_a_fallback_each_model_has_its_own_prices() -> None:
    declined = {"type": "message", "model": "claude-fable-5", "input_tokens": 400,
                "output_tokens": 0}  # fmt: skip
    served = {"type": "fallback_message", "model": "claude-opus-4-8", "input_tokens": 400,
              "output_tokens": 200}  # fmt: skip
    told = usage(input_tokens=400, output_tokens=200, iterations=[declined, served])
    dollars = (400 * 10 + 400 * 5 + 200 * 25) / 1e6
    assert usage_details.cost(told, "claude-fable-5", priced) == pytest.approx(dollars)
    unknown = usage(input_tokens=4, output_tokens=2, iterations=[{**served, "model": "mystery"}])
    assert usage_details.cost(unknown, "claude-fable-5", priced) is None


@pytest.mark.parametrize("broken", [
    {"iterations": "many", "server_tool_use": [], "output_tokens_details": 7},
    {"iterations": [None, 7, {}], "cache_creation": "none"},
    {"iterations": [{"type": "message", "input_tokens": "x", "output_tokens": True}]},
])  # fmt: skip
def test_what_another_server_makes_of_it_does_no_harm(broken: dict[str, Any]) -> None:
    told = usage(input_tokens=10, output_tokens=5, **broken)
    usage_details.cost(told, "claude-sonnet-5-5", priced)
    usage_details.context_tokens(told)
    assert usage_details.thinking_tokens(told) is None
    assert usage_details.server_tools(told) == {}
