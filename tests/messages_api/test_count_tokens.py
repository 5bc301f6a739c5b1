"""Counting tokens at the service, and where nobody can count."""

from typing import Any

import pytest
from loopback import Exchange, loopback

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import UserMessage
from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.count_tokens import count_tokens
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.request import build_request


def request() -> dict[str, Any]:
    context = LLMContext("Be brief.", [UserMessage(content="hi")], [])  # type: ignore[arg-type]
    options = StreamOptions(container_id="container_1", thinking_level="high")
    return build_request("claude-sonnet-5-5", context, options)


async def test_the_request_is_counted_without_what_is_no_part_of_it() -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(200, {"input_tokens": 1234})

    async with loopback(answer) as server:
        endpoint = ApiEndpoint(base_url=server.url, headers={"Anthropic-Beta": "own-1"})
        assert await count_tokens(endpoint, request(), ("more-2",)) == 1234
        (exchange,) = server.exchanges
    assert exchange.path.partition("?")[0] == "/v1/messages/count_tokens"
    assert exchange.json.keys() == {"model", "system", "messages", "thinking", "output_config"}
    assert exchange.json["messages"] == request()["messages"]
    assert exchange.headers["anthropic-beta"] == "own-1,more-2"


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_server_that_cannot_count_says_nothing(status: int) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(status, {"detail": "Not Found"})

    async with loopback(answer) as server:
        assert await count_tokens(ApiEndpoint(base_url=server.url), request()) is None


async def test_a_cloud_without_it_is_not_asked() -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(200, {"input_tokens": 1})

    async with loopback(answer) as server:
        endpoint = ApiEndpoint(base_url=server.url, provider="bedrock", api_key="key-of-the-cloud")
        assert await count_tokens(endpoint, request()) is None
        assert server.exchanges == []


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, {"error": {"message": "no"}}), (200, {"tokens": 3}), (200, [1]),
     (200, {"input_tokens": True}), (401, {"error": {"message": "no"}})],
)  # fmt: skip
async def test_anything_else_is_an_error(status: int, body: Any) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.answer(status, body)

    async with loopback(answer) as server:
        with pytest.raises(ApiError):
            await count_tokens(ApiEndpoint(base_url=server.url), request())
