"""What is known of models: the table, the service's answer, other servers' answers."""

from typing import Any

import pytest
from loopback import Exchange, loopback

from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.models import (
    Prices,
    info_from_api,
    list_models,
    model_info,
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
    assert info.prices == Prices(3, 15, 0.3, 3.75)
    for name in ("claude-haiku-5-5", "claude-fable-5-2", "qwen3:8b", "claude-opus-9"):
        assert model_info(name).prices is None


@pytest.mark.parametrize(
    ("name", "modes", "known"),
    [
        ("claude-sonnet-5-5", {"adaptive", "between_tools"}, True),
        ("claude-opus-9", {"adaptive"}, False),
        ("claude-opus-4-8", {"adaptive"}, False),
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
    assert priced is not None and priced.prices == Prices(4, 20)


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
    assert Prices(2, 10).cost(input=0, output=0, cache_read=1_000_000) == 2.0


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
