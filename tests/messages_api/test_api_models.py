"""What is known of models: the table, the service's answer, other servers' answers."""

from datetime import date
from typing import Any

import pytest
from loopback import Exchange, loopback

from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.model_table import TABLE
from agent_tui.messages_api.models import (
    ModelInfo,
    Prices,
    info_from_api,
    list_models,
    model_info,
    retirement_warning,
    retrieve_model,
)

SERVICE = {
    "id": "claude-opus-9", "type": "model", "display_name": "Claude Opus 9",
    "created_at": "2027-01-01T00:00:00Z", "lifecycle": "active", "retires_at": None,
    "max_input_tokens": 2_000_000, "max_tokens": 256_000,
    "capabilities": {
        "thinking": {"supported": True, "types": {
            "adaptive": {"supported": True}, "enabled": {"supported": False},
            "disabled": {"supported": False}, "between_tools": {"supported": True}}},
        "effort": {"supported": True, "low": {"supported": True}, "high": {"supported": True},
                   "medium": {"supported": False}, "max": {"supported": True}, "xhigh": None},
    },
}  # fmt: skip


def test_the_table_knows_dated_names_and_no_price_is_zero() -> None:
    info = model_info("claude-sonnet-4-5-20250929")
    assert info.id == "claude-sonnet-4-5-20250929"
    assert (info.context_window, info.max_output, info.retires_at) == (
        200_000,
        64_000,
        "2026-11-30",
    )
    assert info.prices == Prices(3, 15, 0.3, 3.75, 6)
    for name in ("qwen3:8b", "claude-opus-9", "claude-3-opus-20240229", ""):
        assert model_info(name).prices is None
    for name in TABLE:
        prices = model_info(name).prices
        assert prices is not None and prices.cost(
            input=1, output=1, cache_read=1, cache_write=1, cache_write_1h=1
        )


def test_the_prices_of_the_list() -> None:
    """As published in 2026-11; dollars per million tokens."""
    published = {
        "claude-fable-5-2": (8, 40, 0.2, 10, 16),
        "claude-opus-5-5": (4, 20, 0.2, 5, 8),
        "claude-sonnet-5-5": (2, 10, 0.1, 2.5, 4),
        "claude-haiku-5-5": (0.1, 0.5, 0.01, 0.125, 0.2),
        "claude-opus-4-6": (5, 25, 0.5, 6.25, 10),
        "claude-haiku-4-5-20251001": (1, 5, 0.1, 1.25, 2),
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0": (3, 15, 0.3, 3.75, 6),
    }
    for name, expected in published.items():
        p = model_info(name).prices
        assert p is not None
        assert (p.input, p.output, p.cache_read, p.cache_write, p.cache_write_1h) == expected


def test_a_long_prompt_has_other_prices() -> None:
    """Haiku 5.5: five times the price on every token of a prompt of more than 100,000."""
    prices = model_info("claude-haiku-5-5").prices
    assert prices is not None
    short = prices.cost(input=1000, output=1000, cache_read=99_000)
    long = prices.cost(input=1000, output=1000, cache_read=99_001)
    assert short == pytest.approx((1000 * 0.1 + 1000 * 0.5 + 99_000 * 0.01) / 1e6)
    assert long == pytest.approx((1000 * 0.5 + 1000 * 2.5 + 99_001 * 0.05) / 1e6)


@pytest.mark.parametrize(
    ("lifecycle", "retires_at", "said"),
    [
        ("active", None, None),
        ("active", "2027-03-01T00:00:00Z", None),
        ("deprecated", "2027-02-01T00:00:00Z", None),
        ("deprecated", "2027-01-29", "will be retired on 2027-01-29"),
        ("deprecated", "2026-11-30T00:00:00Z", "will be retired today"),
        ("deprecated", "2026-11-29", "was to be retired on 2026-11-29"),
        ("retired", "2026-10-01", "is retired: requests will fail"),
        ("deprecated", "soon", None),
    ],
)
def test_a_model_near_its_end_is_told(lifecycle: str, retires_at: str, said: str | None) -> None:
    info = ModelInfo("claude-old", lifecycle=lifecycle, retires_at=retires_at)
    warning = retirement_warning(info, date(2026, 11, 30))
    if said is None:
        assert warning is None
    else:
        assert warning is not None and said in warning and "/model" in warning


@pytest.mark.parametrize(
    ("name", "modes", "known"),
    [
        ("claude-sonnet-5-5", {"adaptive", "between_tools"}, True),
        ("claude-opus-9", {"adaptive"}, False),
        ("claude-opus-4-8", {"adaptive", "disabled"}, True),
        ("claude-sonnet-4-6", {"adaptive", "disabled"}, False),
        ("claude-opus-4-20250514", {"enabled", "disabled"}, False),
        ("anthropic/claude-opus-7-1", {"adaptive"}, False),
        ("qwen3:8b", set(), False),
        ("", set(), False),
    ],
)
def test_names_tell_the_thinking_modes(name: str, modes: set[str], known: bool) -> None:
    assert (model_info(name).thinking, model_info(name).known) == (frozenset(modes), known)


def test_the_services_answer_wins() -> None:
    info = info_from_api(SERVICE)
    assert info is not None and info.known
    assert (info.context_window, info.max_output) == (2_000_000, 256_000)
    assert info.thinking == {"adaptive", "between_tools"}
    assert info.efforts == ("low", "high", "max")
    assert info.lifecycle == "active" and info.retires_at is None
    priced = info_from_api({**SERVICE, "id": "claude-opus-5-5"})
    assert priced is not None and priced.prices == Prices(4, 20, 0.2, 5, 8)


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"id": "a", "max_model_len": 4096}, 4096),
        ({"id": "a", "max_context_length": 8192}, 8192),
        ({"id": "a", "meta": {"n_ctx": 2048}}, 2048),
        ({"name": "a"}, None),
        ({"id": "a", "max_input_tokens": "many", "capabilities": [], "display_name": 7}, None),
        ({"id": "a", "capabilities": {"thinking": {"types": {"adaptive": True}}}}, None),
    ],
)
def test_other_servers_entries(entry: dict[str, Any], window: int | None) -> None:
    info = info_from_api(entry)
    assert info is not None
    assert (info.id, info.context_window) == ("a", window)


def test_entries_without_an_id_are_none() -> None:
    assert info_from_api({}) is None and info_from_api({"id": 7}) is None


def test_cost() -> None:
    prices = Prices(2, 10, 0.2, 2.5)
    cost = prices.cost(input=1000, output=100, cache_read=10_000, cache_write=2000)
    assert cost == pytest.approx(0.002 + 0.001 + 0.002 + 0.005)
    assert Prices(2, 10).cost(input=1_000_000, output=0) == 2.0


def test_an_unknown_price_makes_the_cost_unknown_where_it_counts() -> None:
    assert Prices(2, 10).cost(input=1, output=1, cache_read=1) is None
    assert Prices(2, 10, 0.2).cost(input=1, output=1, cache_write=1) is None
    assert Prices(2, 10, 0.2, 2.5).cost(input=1, output=1, cache_write_1h=1) is None


@pytest.mark.parametrize(
    ("page", "ids"),
    [
        ({"data": [SERVICE, {"id": "b"}], "has_more": False}, ["claude-opus-9", "b"]),
        ({"object": "list", "data": [{"id": "llama", "object": "model"}]}, ["llama"]),
        ({"models": [{"name": "gemma"}], "data": None}, []),
        ({"models": [{"name": "gemma"}]}, ["gemma"]),
        (["x", {"id": "y"}, 7, None], ["x", "y"]),
        ({}, []),
        (7, []),
    ],
)
async def test_list_models_of_any_shape(page: Any, ids: list[str]) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(200, page)

    async with loopback(answer) as server:
        found = await list_models(ApiEndpoint(base_url=server.url))
        assert server.exchanges[0].path.startswith("/v1/models")
    assert [m.id for m in found] == ids


async def test_all_pages_are_read_and_an_endless_list_ends() -> None:
    async def answer(exchange: Exchange) -> None:
        after = int(exchange.path.partition("after_id=m")[2] or 0)
        more = after < 3 or endless
        page = {"data": [{"id": f"m{after + 1}"}], "has_more": more, "last_id": f"m{after + 1}"}
        await exchange.answer(200, page)

    endless = False
    async with loopback(answer) as server:
        found = await list_models(ApiEndpoint(base_url=server.url))
        assert [m.id for m in found] == ["m1", "m2", "m3", "m4"]
        endless = True
        assert len(await list_models(ApiEndpoint(base_url=server.url))) < 100


async def test_retrieve_one_model() -> None:
    async def answer(exchange: Exchange) -> None:
        if exchange.path == "/v1/models/claude-opus-9":
            await exchange.answer(200, SERVICE)
        else:
            await exchange.answer(404, {"error": {"type": "not_found_error", "message": "no"}})

    async with loopback(answer) as server:
        endpoint = ApiEndpoint(base_url=server.url)
        assert (await retrieve_model(endpoint, "claude-opus-9")).max_output == 256_000
        with pytest.raises(ApiError) as raised:
            await retrieve_model(endpoint, "a/b")
    assert raised.value.kind == "not_found"
    assert "/v1/models/a%2Fb" in str(raised.value)


async def test_an_answer_that_is_no_json_is_an_api_error() -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(200, b"<html>", kind="text/html")

    async with loopback(answer) as server:
        with pytest.raises(ApiError) as raised:
            await list_models(ApiEndpoint(base_url=server.url))
    assert raised.value.kind == "invalid_response"
