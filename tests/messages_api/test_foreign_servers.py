"""Servers that people run themselves and where they differ from the API: what was seen of
Ollama, LM Studio, llama.cpp and vLLM is taken as it is, and goes back as a valid request."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import stream_making as making
from loopback import Exchange, Handler, loopback

from agent_tui.agent.events import DoneEvent, StreamEvent
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool, ToolResult
from agent_tui.messages_api import ApiEndpoint, ApiError
from agent_tui.messages_api.count_tokens import count_tokens
from agent_tui.messages_api.models import list_models, model_info
from agent_tui.messages_api.request import build_request
from agent_tui.messages_api.stream_function import make_stream_function
from agent_tui.offline.rules import validate_request

ASKED = UserMessage(content="read a")
NO_USAGE = {"input_tokens": 0, "output_tokens": 0}
PRINTED = '{"name": "read", "arguments": {"path": "a"}}'


async def run(call_id: str, arguments: dict[str, Any], ctx: Any) -> ToolResult:
    raise AssertionError("nothing runs here")


READ = AgentTool(
    "read", "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}, run,
)  # fmt: skip
CODE = AgentTool(
    "code_execution", "", {"type": "object"}, run, wire={"type": "code_execution_20260120"}
)


def answers(body: bytes) -> Handler:
    """A server of a few lines: one content type, no request-id, no ping, no date."""

    async def handle(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.send(body)
        await exchange.end()

    return handle


async def ask(url: str, *messages: Message, tools: tuple[AgentTool, ...] = (READ,)) -> Any:
    stream = make_stream_function(ApiEndpoint(base_url=url))
    context = LLMContext("Be brief.", list(messages) or [ASKED], list(tools))
    events: AsyncIterator[StreamEvent] = stream("qwen3:8b", context, StreamOptions())
    return [event async for event in events][-1]


async def answer_of(body: bytes) -> AssistantMessage:
    async with loopback(answers(body)) as server:
        last = await ask(server.url)
    assert isinstance(last, DoneEvent)
    return last.message


def assert_goes_back(message: AssistantMessage) -> None:
    """The next request, with the answer and results of its calls in it, breaks no rule."""
    results = [
        ToolResultMessage(
            tool_call_id=c.id, tool_name=c.name, content=[TextContent(text="a")], is_error=False
        )
        for c in message.tool_calls
    ]
    history = convert_to_llm([ASKED, message, *results, UserMessage(content="go on")])
    context = LLMContext("", list(history), [READ])
    body = build_request("qwen3:8b", context, StreamOptions(), model_info("qwen3:8b"))
    assert not validate_request({**body, "stream": True})


def begun(**fields: Any) -> making.Json:
    message = {"id": "chatcmpl-7", "role": "assistant", "content": [], "usage": NO_USAGE}
    return {"type": "message_start", "message": message | fields}


# --- what was seen ------------------------------------------------------------------------------


async def test_no_ping_and_ids_of_another_api() -> None:
    call = making.tool_use(1, '{"path": "a"}', id="call_0:x.y/z")
    message = await answer_of(
        making.foreign_sse([begun(), *making.text(0, "Grüße"), *call, *making.end("tool_use")])
    )
    assert message.api_id == "chatcmpl-7"
    (made,) = message.tool_calls
    assert (made.name, made.arguments) == ("read", {"path": "a"})
    assert_goes_back(message)


async def test_a_call_without_an_id_or_with_one_twice() -> None:
    calls = [
        *making.tool_use(0, '{"path": "a"}', id=""), *making.tool_use(1, '{"path": "b"}', id=""),
        *making.tool_use(2, '{"path": "c"}', id="call_1"),
        *making.tool_use(3, '{"path": "d"}', id="call_1"),
    ]  # fmt: skip
    message = await answer_of(making.foreign_sse([begun(), *calls, *making.end("tool_use")]))
    assert [c.arguments["path"] for c in message.tool_calls] == ["a", "b", "c", "d"]
    ids = [c.id for c in message.tool_calls]
    assert len(set(ids)) == 4 and all(ids)
    assert_goes_back(message)


@pytest.mark.parametrize("usage", [NO_USAGE, {}, None, {"input_tokens": None}])
async def test_usage_that_says_nothing(usage: Any) -> None:
    end = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
           {"type": "message_stop"}]  # fmt: skip
    message = await answer_of(
        making.foreign_sse([begun(usage=usage), *making.text(0, "Fine."), *end])
    )
    assert message.text == "Fine." and message.stop_reason == "end_turn"
    assert_goes_back(message)


async def test_a_call_printed_as_text_stays_text() -> None:
    """It is not known to be one: nobody asked that it be made one."""
    for printed in (PRINTED, f"<tool_call>\n{PRINTED}\n</tool_call>", f"```json\n{PRINTED}\n```"):
        message = await answer_of(
            making.foreign_sse([begun(), *making.text(0, printed), *making.end("end_turn")])
        )
        assert message.text == printed and message.tool_calls == []
        assert message.stop_reason == "end_turn"
        assert_goes_back(message)


async def test_a_server_tool_that_the_server_passes_over() -> None:
    """It is offered as it is, the answer knows nothing of it, and that is all."""
    body = making.foreign_sse([begun(), *making.text(0, "No idea."), *making.end("end_turn")])
    async with loopback(answers(body)) as server:
        last = await ask(server.url, tools=(READ, CODE))
        (exchange,) = server.exchanges
    offered = {t.get("type", "custom"): t["name"] for t in exchange.json["tools"]}
    assert offered["code_execution_20260120"] == "code_execution"
    assert isinstance(last, DoneEvent) and last.message.text == "No idea."
    assert last.message.container is None


async def test_blocks_that_are_never_closed() -> None:
    deltas = [
        making.block_start(0, {"type": "text", "text": ""}),
        making.delta(0, "text", text="Hi"),
    ]
    message = await answer_of(making.foreign_sse([begun(), *deltas, *making.end("end_turn")]))
    assert message.text == "Hi"
    assert_goes_back(message)


async def test_count_tokens_is_not_known_there() -> None:
    async def unknown(exchange: Exchange) -> None:
        await exchange.answer(404, b"404 page not found", kind="text/plain")

    async with loopback(unknown) as server:
        endpoint = ApiEndpoint(base_url=server.url)
        request = build_request("qwen3:8b", LLMContext("", [ASKED], []), StreamOptions())
        assert await count_tokens(endpoint, request) is None
        assert [e.path for e in server.exchanges] == ["/v1/messages/count_tokens"]


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (404, {"error": "model 'qwen3:8b' not found, try pulling it first"}, "not_found",
         ["try pulling it first", "/v1/messages"]),
        (400, {"error": {"code": 400, "message": "context is full", "type": "exceed_context"}},
         "invalid_request", ["context is full"]),
        (500, b"Internal Server Error", "server", ["Internal Server Error"]),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}},
         "server", ["Loading model"]),
        (422, {"detail": [{"loc": ["body", "tools"], "msg": "field required"}]},
         "invalid_request", ["field required"]),
    ],
)  # fmt: skip
async def test_an_error_without_a_request_id_is_told_in_its_words(
    status: int, body: Any, kind: str, words: list[str]
) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.answer(
            status, body, kind="text/plain" if isinstance(body, bytes) else "application/json"
        )

    async with loopback(refuse) as server:
        with pytest.raises(ApiError) as raised:
            await ask(server.url)
    said = str(raised.value)
    assert raised.value.kind == kind and raised.value.request_id is None
    assert all(word in said for word in words), said
    assert "Request id" not in said and "None" not in said


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"object": "list", "data": [{"id": "qwen3:8b", "object": "model", "owned_by": "x"}]},
         ["qwen3:8b"]),
        ({"models": [{"name": "qwen3:8b", "size": 7}, {"model": "llama"}]}, ["qwen3:8b", "llama"]),
        ([{"id": "a"}, "b", 7, {}], ["a", "b"]),
        ({}, []),
    ],
)  # fmt: skip
async def test_lists_of_models_of_every_form(body: Any, names: list[str]) -> None:
    async def listed(exchange: Exchange) -> None:
        await exchange.answer(200, json.dumps(body).encode())

    async with loopback(listed) as server:
        found = await list_models(ApiEndpoint(base_url=server.url))
    assert [m.id for m in found] == names
    assert all(m.prices is None for m in found), "what it costs is not known, and never 0"
