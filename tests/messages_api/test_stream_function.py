"""One model call over a real connection on loopback: what is yielded, raised, sent, closed."""

import asyncio
import contextlib
import queue
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import stream_making as making
from loopback import BOUND, Exchange, Loopback, loopback

from agent_tui.agent.events import DoneEvent, ErrorEvent, StreamEvent, TextDeltaEvent
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import UserMessage
from agent_tui.messages_api import ApiEndpoint, ApiError, CredentialError, StreamCutError
from agent_tui.messages_api.client import make_client
from agent_tui.messages_api.stream import encode_body, raw_events
from agent_tui.messages_api.stream_function import make_stream_function, warm_up

HELLO = making.recordings()["text"]
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.fixture(scope="session", autouse=True)
def sdk() -> None:
    """Import the SDK before a test measures silence."""
    make_client(ApiEndpoint(base_url="http://127.0.0.1:9"))


async def hello(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.send(HELLO)
    await exchange.end()


def call(server: Loopback | str, text: str = "hi", **fields: Any) -> AsyncIterator[StreamEvent]:
    url = server if isinstance(server, str) else server.url
    stream = make_stream_function(ApiEndpoint(base_url=url, **fields))
    return stream("claude-sonnet-5-5", LLMContext("", [UserMessage(content=text)], []),
                  StreamOptions())  # fmt: skip


async def collect(events: AsyncIterator[StreamEvent]) -> list[StreamEvent]:
    return [e async for e in events]


# --- a good answer ----------------------------------------------------------------------


async def test_it_yields_start_to_done() -> None:
    async with loopback(hello) as server:
        events = await collect(call(server))
    assert events[0].type == "start"
    assert isinstance(events[-1], DoneEvent)
    assert events[-1].message.text == "Hello there"


async def test_what_is_sent() -> None:
    async with loopback(hello) as server:
        await collect(call(f"{server.url}/v1/", "Grüße"))
        [exchange] = server.exchanges
    assert exchange.path.partition("?")[0] == "/v1/messages"
    assert exchange.json["stream"] is True
    assert exchange.json["messages"][0]["content"][0]["text"] == "Grüße"
    assert exchange.headers["anthropic-version"] == "2026-10-21"
    assert exchange.headers["authorization"] == "Bearer no-key"
    assert exchange.headers["content-type"] == "application/json"
    assert exchange.headers["x-stainless-retry-count"] == "0"


async def test_the_key_goes_as_the_sdk_sends_it() -> None:
    async with loopback(hello) as server:
        await collect(call(server, api_key="sk-ant-1234567", headers={"X-Team": "t"}))
        headers = server.exchanges[0].headers
    assert (headers["authorization"], headers["x-team"]) == ("Bearer sk-ant-1234567", "t")


async def test_a_second_call_uses_the_open_connection() -> None:
    async with loopback(hello) as server:
        stream = make_stream_function(ApiEndpoint(base_url=server.url))
        context = LLMContext("", [UserMessage(content="hi")], [])
        for _ in range(3):
            await collect(stream("m", context, StreamOptions()))
        assert (len(server.exchanges), server.connections) == (3, 1)


async def test_events_come_as_they_are_sent_and_none_is_added() -> None:
    """Each raw event is there before the next one is sent; ping and error are among them."""
    wanted = [making.start(), making.PING, *making.text(0, "a"), *making.end("end_turn")]
    seen = asyncio.Queue[Any]()

    async def step_by_step(exchange: Exchange) -> None:
        await exchange.begin()
        for event in wanted:
            await exchange.send(making.sse([event]))
            assert await seen.get() == event
        await exchange.end()

    async with loopback(step_by_step) as server:
        client = make_client(ApiEndpoint(base_url=server.url))
        read: list[Any] = []
        async for event in raw_events(client, encode_body({"model": "m"})):
            read.append(event)
            seen.put_nowait(event)
    assert read == wanted


async def test_a_server_that_stays_silent_after_message_stop_is_not_waited_for() -> None:
    gone = asyncio.Event()

    async def stays(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.send(HELLO)
        await exchange.client_gone()
        gone.set()

    async with loopback(stays) as server:
        events = await collect(call(server))
        await gone.wait()
    assert isinstance(events[-1], DoneEvent)


async def test_compressed_streams_are_read() -> None:
    import gzip

    async def compressed(exchange: Exchange) -> None:
        await exchange.begin(extra="content-encoding: gzip\r\n")
        await exchange.send(gzip.compress(HELLO))
        await exchange.end()

    async with loopback(compressed) as server:
        assert isinstance((await collect(call(server)))[-1], DoneEvent)


# --- faults before anything came --------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "extra", "kind", "retryable"),
    [
        (400, "", "invalid_request", False),
        (401, "", "authentication", False),
        (429, "retry-after: 3\r\n", "rate_limit", True),
        (529, "", "overloaded", True),
    ],
)
async def test_an_error_status_is_raised_once_and_never_retried(
    status: int, extra: str, kind: str, retryable: bool
) -> None:
    body = {"type": "error", "error": {"type": "x_error", "message": "No: sk-ant-secret99"}}

    async def refuse(exchange: Exchange) -> None:
        await exchange.answer(status, body, extra=f"request-id: req_7\r\n{extra}")

    async with loopback(refuse) as server:
        with pytest.raises(ApiError) as raised:
            await collect(call(server, api_key="sk-ant-secret99"))
        assert len(server.exchanges) == 1
    error = raised.value
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    assert error.request_id == "req_7"
    assert error.retry_after_s == (3.0 if status == 429 else None)
    assert "sk-ant-secret99" not in str(error)


async def test_a_redirect_is_not_followed() -> None:
    async def elsewhere(exchange: Exchange) -> None:
        await exchange.answer(307, {}, extra="location: http://127.0.0.1:9/v1/messages\r\n")

    async with loopback(elsewhere) as server:
        with pytest.raises(ApiError) as raised:
            await collect(call(server, api_key="sk-ant-secret99"))
        assert len(server.exchanges) == 1
    assert raised.value.kind == "endpoint" and not raised.value.retryable


async def test_an_error_event_first_is_raised() -> None:
    async def overloaded(exchange: Exchange) -> None:
        await exchange.answer(200, making.sse([OVERLOADED]), kind="text/event-stream")

    async with loopback(overloaded) as server:
        with pytest.raises(ApiError) as raised:
            await collect(call(server))
    assert raised.value.kind == "overloaded" and raised.value.retryable


@pytest.mark.parametrize("body", [b"", b": hello\n\n", making.sse([making.PING])])
async def test_an_empty_answer_is_a_cut_stream(body: bytes) -> None:
    async def nothing(exchange: Exchange) -> None:
        await exchange.begin()
        if body:
            await exchange.send(body)
        await exchange.end()

    async with loopback(nothing) as server:
        with pytest.raises(StreamCutError) as raised:
            await collect(call(server))
    assert raised.value.retryable


@pytest.mark.parametrize(
    ("kind", "body", "words", "retryable"),
    [
        ("text/html", b"<html>Sign in</html>", "web page", False),
        ("application/json", {"type": "message"}, "JSON object", False),
        ("application/json", {"error": {"message": "quota gone"}}, "quota gone", True),
        ("text/event-stream", b"data: {oops\n\n", "not valid JSON", True),
    ],
)
async def test_an_answer_that_is_no_stream(
    kind: str, body: Any, words: str, retryable: bool
) -> None:
    async def wrong(exchange: Exchange) -> None:
        await exchange.answer(200, body, kind=kind)

    async with loopback(wrong) as server:
        with pytest.raises(ApiError) as raised:
            await collect(call(server))
    assert words in str(raised.value)
    assert raised.value.retryable == retryable


async def test_no_server_is_named() -> None:
    async with loopback(hello) as server:
        url = server.url
    with pytest.raises(ApiError) as raised:
        await collect(call(url))
    assert raised.value.kind == "connection" and raised.value.retryable
    assert url.removeprefix("http://") in str(raised.value)


async def test_f01_a_bad_key_sends_nothing() -> None:
    async with loopback(hello) as server:
        with pytest.raises(CredentialError):
            await collect(call(server, api_key="sk-ant-1\n"))
        assert server.connections == 0


async def test_a20_silence_before_the_headers_ends() -> None:
    async def silent(exchange: Exchange) -> None:
        await exchange.client_gone()

    async with loopback(silent) as server:
        with pytest.raises(ApiError) as raised:
            await collect(call(server, idle_timeout_s=0.2))
    assert raised.value.kind == "timeout" and raised.value.retryable


# --- faults after something came --------------------------------------------------------


async def test_a20_silence_between_events_ends_and_keeps_what_came() -> None:
    async def falls_silent(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.send(making.sse([making.start(), *making.text(0, "Half")[:-1]]))
        await exchange.client_gone()

    async with loopback(falls_silent) as server:
        events = await collect(call(server, idle_timeout_s=0.2))
    last = events[-1]
    assert isinstance(last, ErrorEvent)
    assert (last.message.error_type, last.message.text) == ("timeout", "Half")


async def test_a20_pings_count_as_life() -> None:
    async def pings(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.send(making.sse([making.start()]))
        for _ in range(6):
            await asyncio.sleep(0.3)
            await exchange.send(making.sse([making.PING]))
        await exchange.send(making.sse([*making.text(0, "Late"), *making.end("end_turn")]))
        await exchange.end()

    async with loopback(pings) as server:
        events = await collect(call(server, idle_timeout_s=1.5))
    assert isinstance(events[-1], DoneEvent)


@pytest.mark.parametrize("how", ["reset", "clean end", "error event", "bad JSON"])
async def test_a17_a18_a_broken_stream_keeps_what_came(how: str) -> None:
    async def breaks(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.send(making.sse([making.start(), *making.text(0, "The ", "three")[:-1]]))
        match how:
            case "reset":
                exchange.close()
                return
            case "error event":
                await exchange.send(making.sse([OVERLOADED]))
            case "bad JSON":
                await exchange.send(b"data: {oops\n\n")
            case _:
                pass
        await exchange.end()

    async with loopback(breaks) as server:
        events = await collect(call(server))
    last = events[-1]
    assert isinstance(last, ErrorEvent)
    wanted = {"error event": "overloaded_error", "bad JSON": "invalid_response"}
    assert last.message.error_type == wanted.get(how, "stream_cut")
    assert last.message.text == "The three"
    assert last.message.stop_reason == "error" and last.message.error_message


# --- stopping ---------------------------------------------------------------------------


class Endless:
    """Answers with a start and half a block, or not at all; `gone`: the client has left."""

    def __init__(self, *, answers: bool = True) -> None:
        self.gone = asyncio.Event()
        self.reached = asyncio.Event()
        self._answers = answers

    async def __call__(self, exchange: Exchange) -> None:
        self.reached.set()
        if self._answers:
            await exchange.begin()
            await exchange.send(making.sse([making.start(), *making.text(0, "a")[:-1]]))
        await exchange.client_gone()
        self.gone.set()


async def test_cancelling_before_the_headers_closes_the_connection_at_once() -> None:
    endless = Endless(answers=False)
    async with loopback(endless) as server:
        task = asyncio.create_task(collect(call(server)))
        await endless.reached.wait()
        await cancelled(task)
        await asyncio.wait_for(endless.gone.wait(), 1)


async def test_cancelling_between_events_closes_the_connection_at_once() -> None:
    endless = Endless()
    came = asyncio.Event()

    async def read(events: AsyncIterator[StreamEvent]) -> None:
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                came.set()

    async with loopback(endless) as server:
        task = asyncio.create_task(read(call(server)))
        await came.wait()
        await cancelled(task)
        await asyncio.wait_for(endless.gone.wait(), 1)


async def cancelled(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_closing_the_iterator_closes_the_connection() -> None:
    endless = Endless()
    async with loopback(endless) as server:
        events: Any = call(server)
        async for event in events:
            if isinstance(event, TextDeltaEvent):
                break
        await events.aclose()
        await asyncio.wait_for(endless.gone.wait(), 1)


async def test_a_call_after_a_cancelled_one_works() -> None:
    endless = Endless()
    first = True

    async def handle(exchange: Exchange) -> None:
        nonlocal first
        if first:
            first = False
            await endless(exchange)
        else:
            await hello(exchange)

    async with loopback(handle) as server:
        stream = make_stream_function(ApiEndpoint(base_url=server.url))
        context = LLMContext("", [UserMessage(content="hi")], [])
        task = asyncio.create_task(collect(stream("m", context, StreamOptions())))
        await endless.reached.wait()
        task.cancel()
        await asyncio.wait([task])
        assert isinstance((await collect(stream("m", context, StreamOptions())))[-1], DoneEvent)


def test_one_stream_function_serves_several_event_loops() -> None:
    """As a library: asyncio.run again and again."""
    ready: queue.Queue[str] = queue.Queue()
    stop = threading.Event()

    async def serve() -> None:
        async with loopback(hello) as server:
            ready.put(server.url)
            await asyncio.to_thread(stop.wait, BOUND)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        stream = make_stream_function(ApiEndpoint(base_url=ready.get(timeout=BOUND)))
        context = LLMContext("", [UserMessage(content="hi")], [])
        for _ in range(2):
            events = asyncio.run(collect(stream("m", context, StreamOptions())))
            assert isinstance(events[-1], DoneEvent)
    finally:
        stop.set()
        thread.join()


async def test_warm_up_never_raises() -> None:
    await warm_up(ApiEndpoint())
    await warm_up(ApiEndpoint(api_key="", base_url="nonsense"))
    await warm_up(ApiEndpoint(base_url="http://127.0.0.1:9"))


def test_importing_the_room_leaves_the_sdk_alone() -> None:
    """It costs seconds; faces import this room before their first paint."""
    heavy = ("anthropic", "httpx2", "mcp", "textual")
    code = (
        "import sys, agent_tui.messages_api.stream_function, agent_tui.messages_api.models;"
        f"sys.exit(', '.join(m for m in {heavy!r} if m in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
