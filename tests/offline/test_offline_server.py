"""The offline server over real HTTP: the SDK's client where it can, raw requests where not."""

import asyncio
import json
import socket
import stat
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from offline_helpers import Serve, ask, wait_for

from agent_tui.offline.scenarios import Scenario
from agent_tui.offline.server import OfflineServer, OfflineServerError, _listen

Client = Callable[[OfflineServer], Any]
JSON = {"content-type": "application/json", "anthropic-version": "2026-10-21"}


def http(
    server: OfflineServer,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
    method: str | None = None,
) -> tuple[int, dict[str, str], Any]:
    """(status, headers, parsed JSON) of a plain request. body: bytes as they are, else JSON."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    sent = urllib.request.Request(server.url + path, data, JSON | (headers or {}), method=method)
    try:
        with urllib.request.urlopen(sent, timeout=10) as answer:
            return answer.status, dict(answer.headers), json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), json.loads(error.read())


async def stream_text(client: Any, **request: Any) -> list[Any]:
    return [event async for event in await client.beta.messages.create(stream=True, **request)]


TURN = {
    "thinking": "First this, then that.",
    "text": "Zwölf Boxkämpfer 你好 👩‍💻\n\n```py\nx = 1\n```",
    "tool_calls": [
        {"name": "read", "input": {"path": 'a\\b "c".txt', "n": [1, None, {"é": True}]}},
        {"name": "now"},
    ],
    "container": {"id": "container_1", "expires_at": "2026-12-01T00:00:00Z"},
}


class TestMessages:
    async def test_a_stream_adds_up_to_the_whole_message(self, serve: Serve, sdk: Client) -> None:
        client = sdk(serve(TURN, TURN))
        whole = await client.beta.messages.create(**ask())
        async with client.beta.messages.stream(**ask()) as stream:
            streamed = await stream.get_final_message()
        a, b = (m.model_dump(exclude={"id", "usage", "parsed_output"}) for m in (whole, streamed))
        for block in [*a["content"], *b["content"]]:
            block.pop("parsed_output", None)
            block.pop("id", None)  # no two replies share an id
        assert a == b
        assert [block["type"] for block in a["content"]] == [
            "thinking",
            "text",
            "tool_use",
            "tool_use",
        ]
        assert a["content"][1]["text"] == TURN["text"]
        assert a["content"][2]["input"] == TURN["tool_calls"][0]["input"]
        assert a["content"][3]["input"] == {}
        assert a["stop_reason"] == "tool_use"
        assert whole.usage.output_tokens == streamed.usage.output_tokens > 1

    async def test_the_order_of_events(self, serve: Serve, sdk: Client) -> None:
        server = serve({"text": "one two", "tool_calls": [{"name": "now"}]})
        raw = await sdk(server).messages.with_raw_response.create(stream=True, **ask())
        lines = [line async for line in raw.http_response.aiter_lines()]
        names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
        data = [json.loads(line[5:]) for line in lines if line.startswith("data:")]
        assert names == [d["type"] for d in data]
        assert names == [
            "message_start", "ping",
            "content_block_start", "content_block_delta", "content_block_delta",
            "content_block_stop",
            "content_block_start", "content_block_delta", "content_block_stop",
            "message_delta", "message_stop",
        ]  # fmt: skip
        assert data[0]["message"]["content"] == [] and data[0]["message"]["stop_reason"] is None
        assert data[0]["message"]["id"].startswith("msg_")
        call = data[6]["content_block"]
        assert (call["input"], call["caller"]) == ({}, {"type": "direct"})
        assert call["id"].startswith("toolu_")
        # A call without arguments sends one empty piece of JSON.
        assert data[7]["delta"] == {"type": "input_json_delta", "partial_json": ""}
        assert data[9]["delta"]["stop_reason"] == "tool_use"
        assert raw.headers["content-type"].startswith("text/event-stream")
        assert raw.headers["request-id"].startswith("req_")

    async def test_a_paused_text_goes_back_as_it_came(self, serve: Serve, sdk: Client) -> None:
        """pause_turn: the conversation is sent back unchanged, and the turn goes on (facts)."""
        client = sdk(serve({"text": "Part one. ", "stop_reason": "pause_turn"}, {"text": "Two."}))
        first = await client.beta.messages.create(**ask())
        request = ask()
        request["messages"] += [{"role": "assistant", "content": first.content}]
        counted = {k: v for k, v in request.items() if k != "max_tokens"}
        assert (await client.beta.messages.count_tokens(**counted)).input_tokens > 0
        second = await client.beta.messages.create(**request)
        assert [b.text for b in second.content] == ["Two."]
        status, _, refused = http(
            serve({"text": "Two."}),
            "/v1/messages",
            ask() | {"messages": [*ask()["messages"], {"role": "assistant", "content": "Part"}]},
        )
        assert status == 400 and "prefill" in refused["error"]["message"]

    async def test_a_round_trip_of_a_tool(self, serve: Serve, sdk: Client) -> None:
        """What the SDK received goes back as it came, and the rules accept it."""
        client = sdk(serve(TURN, {"text": "done"}))
        first = await client.beta.messages.create(**ask())
        results = [
            {"type": "tool_result", "tool_use_id": b.id, "content": "ok"}
            for b in first.content
            if b.type == "tool_use"
        ]
        request = ask()
        request["messages"] += [
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": results},
        ]
        second = await client.beta.messages.create(**request)
        assert second.content[0].text == "done"
        assert second.id != first.id

    async def test_a_breach_of_the_rules_is_the_sdks_bad_request(
        self, serve: Serve, sdk: Client
    ) -> None:
        import anthropic

        server = serve({"text": "not reached"})
        with pytest.raises(anthropic.BadRequestError) as caught:
            await sdk(server).messages.create(**ask(), extra_body={"temperature": 1.0})
        error = caught.value
        assert error.body["error"]["type"] == "invalid_request_error"
        assert error.request_id == error.body["request_id"]
        assert (server.journal[0]["status"], server.journal[0]["rule"]) == (400, "sampling")
        # A refused request takes no turn of the scenario.
        assert (await sdk(server).messages.create(**ask())).content[0].text == "not reached"

    def test_thinking_that_was_not_signed_here_is_refused(self, serve: Serve) -> None:
        block = {"type": "thinking", "thinking": "I made this up", "signature": "abcd"}
        body = ask() | {
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [block, {"type": "text", "text": "x"}]},
                {"role": "user", "content": "on"},
            ]
        }
        status, _, answer = http(serve(), "/v1/messages", body)
        assert status == 400
        assert answer["error"]["message"] == (
            "messages.1.content.0: Invalid `signature` in `thinking` block"
        )

    def test_the_beta_query_is_accepted(self, serve: Serve) -> None:
        server = serve({"text": "fine"})
        assert http(server, "/v1/messages?beta=true", ask())[0] == 200
        assert server.journal[0]["path"] == "/v1/messages?beta=true"

    def test_a_lone_surrogate_in_a_scripted_reply_reaches_the_client(self, serve: Serve) -> None:
        status, _, answer = http(serve({"text": "cut \ud83d"}), "/v1/messages", ask())
        assert (status, answer["content"][0]["text"]) == (200, "cut \ud83d")


class TestErrors:
    @pytest.mark.parametrize(
        ("body", "status", "says"),
        [
            (b"{not json", 400, "not valid JSON"),
            (b"", 400, "not valid JSON"),
            (b"\xff\xfe", 400, "not valid JSON"),
            (b"[" * 50_000, 400, "not valid JSON"),
            (json.dumps({"a": json.loads("[" * 300 + "]" * 300)}).encode(), 400, "too deeply"),
            (b"[]", 400, "dictionary"),
        ],
    )
    def test_bodies_that_are_no_request(
        self, serve: Serve, body: bytes, status: int, says: str
    ) -> None:
        got, headers, answer = http(serve(), "/v1/messages", body)
        assert (got, answer["type"]) == (status, "error")
        assert answer["error"]["type"] == "invalid_request_error"
        assert says in answer["error"]["message"]
        assert headers["request-id"] == answer["request_id"]

    def test_a_body_over_32_mb(self, serve: Serve) -> None:
        status, _, answer = http(serve(), "/v1/messages", b" " * (32 * 1024 * 1024 + 1))
        assert (status, answer["error"]["type"]) == (413, "request_too_large")

    def test_the_version_header_is_required(self, serve: Serve) -> None:
        status, _, answer = http(serve(), "/v1/messages", ask(), {"anthropic-version": ""})
        assert (status, answer["error"]["message"]) == (
            400,
            "anthropic-version: header is required",
        )

    def test_an_unknown_path_and_a_wrong_method(self, serve: Serve) -> None:
        server = serve()
        status, _, answer = http(server, "/v1/complete", {})
        assert (status, answer["error"]["type"]) == (404, "not_found_error")
        status, _, answer = http(server, "/v1/messages", method="GET")
        assert (status, answer["type"]) == (405, "error")

    def test_the_demo_serves_only_its_own_model(self, serve: Serve) -> None:
        status, _, answer = http(serve(), "/v1/messages", ask() | {"model": "claude-sonnet-5-5"})
        assert (status, answer["error"]["type"]) == (404, "not_found_error")
        assert "claude-sonnet-5-5" in answer["error"]["message"]
        assert "demo" in answer["error"]["message"]

    def test_a_scenario_answers_for_any_model(self, serve: Serve) -> None:
        server = serve({"text": "hi"})
        status, _, answer = http(server, "/v1/messages", ask() | {"model": "claude-opus-5-5"})
        assert (status, answer["model"]) == (200, "claude-opus-5-5")

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
    def test_another_hosts_name_is_refused(self, serve: Serve, host: str) -> None:
        """A page in a browser may have its own name point here (DNS rebinding)."""
        status, _, answer = http(serve(), "/_journal", headers={"host": host})
        assert (status, answer["error"]["type"]) == (403, "permission_error")

    @pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:9"])
    def test_loopbacks_names_are_accepted(self, serve: Serve, host: str) -> None:
        assert http(serve(), "/v1/models", headers={"host": host})[0] == 200


class TestKey:
    """The app's own demo is for the app: other users of the machine can reach its port."""

    def test_only_requests_with_the_key_are_answered(self, serve: Serve) -> None:
        server = serve(api_key="secret-of-this-run")
        for path in ("/v1/models", "/v1/files", "/_containers", "/_journal", "/"):
            for headers in ({}, {"x-api-key": "demo"}, {"authorization": "Bearer"}):
                status, _, answer = http(server, path, headers=headers)
                assert (status, answer["error"]["type"]) == (401, "authentication_error")
        for headers in (
            {"x-api-key": "secret-of-this-run"},
            {"authorization": "Bearer secret-of-this-run"},
        ):
            assert http(server, "/v1/files", headers=headers)[0] == 200

    async def test_the_sdk_sends_it(self, serve: Serve, sdk: Client) -> None:
        server = serve({"text": "hi"}, api_key="sk-test-secret")
        answer = await sdk(server).messages.create(**ask())
        assert answer.content[0].text == "hi"

    def test_without_one_any_is_taken(self, serve: Serve) -> None:
        assert http(serve(), "/v1/models", headers={"x-api-key": "whatever"})[0] == 200


class TestModelsAndTokens:
    async def test_the_models_page(self, serve: Serve, sdk: Client) -> None:
        client = sdk(serve())
        page = await client.models.list()
        assert [m.id for m in page.data] == ["demo"]
        demo = await client.beta.models.retrieve("demo")
        assert demo.display_name == "demo: scripted replies, no model"
        assert demo.capabilities.thinking.types.adaptive.supported
        assert demo.capabilities.code_execution.supported
        assert demo.max_tokens > 0 and demo.lifecycle == "active"

    async def test_an_unknown_model_is_not_found(self, serve: Serve, sdk: Client) -> None:
        import anthropic

        with pytest.raises(anthropic.NotFoundError):
            await sdk(serve()).models.retrieve("claude-nothing")

    async def test_a_scenarios_models_come_in_pages(self, serve: Serve, sdk: Client) -> None:
        names = [f"claude-m-{n}" for n in range(5)]
        client = sdk(serve(top={"models": names}))
        page = await client.models.list(limit=2)
        assert [m.id for m in page.data] == names[:2] and page.has_more
        assert [m.id async for m in client.models.list(limit=2)] == names

    def test_a_models_entry_claims_what_the_rules_accept(self, serve: Serve) -> None:
        """Each thinking type: supported in /v1/models exactly when a request with it passes."""
        model = "claude-sonnet-4-6"
        server = serve({"text": "ok", "repeat": True}, top={"models": [model]})
        types = http(server, f"/v1/models/{model}")[2]["capabilities"]["thinking"]["types"]
        for kind, claim in types.items():
            thinking = {"type": kind} | ({"budget_tokens": 2000} if kind == "enabled" else {})
            status, _, _ = http(server, "/v1/messages", ask(model=model, thinking=thinking))
            assert (status == 200) is claim["supported"], kind

    async def test_counting_grows_with_what_is_sent(self, serve: Serve, sdk: Client) -> None:
        client = sdk(serve())
        counts = []
        for text in ("hi", "hi " * 400):
            request = {k: v for k, v in ask(text).items() if k != "max_tokens"}
            counts.append((await client.messages.count_tokens(**request)).input_tokens)
        assert counts[0] < 50 and 250 < counts[1] - counts[0] < 350

    def test_counting_holds_the_rules_too(self, serve: Serve) -> None:
        status, _, answer = http(
            serve(), "/v1/messages/count_tokens", {"model": "demo", "messages": []}
        )
        assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


class TestLeaving:
    """The client closes the connection; the server sees it at once, and where."""

    @pytest.mark.parametrize(
        ("turn", "until", "at"),
        [
            ({"thinking": "word " * 4000}, "thinking_delta", "thinking"),
            ({"text": "word " * 4000}, "text_delta", "text"),
            (
                {"tool_calls": [{"name": "write", "input": {"content": "word " * 4000}}]},
                "input_json_delta",
                "arguments",
            ),
        ],
    )
    async def test_in_the_middle_of_a_block(
        self, serve: Serve, sdk: Client, turn: dict[str, Any], until: str, at: str
    ) -> None:
        server = serve(turn | {"chunk_delay_ms": 5})
        stream = await sdk(server).beta.messages.create(stream=True, **ask())
        async for event in stream:
            if event.type == "content_block_delta" and event.delta.type == until:
                break
        await stream.close()
        await asyncio.to_thread(wait_for, lambda: server.journal[0]["closed_by_client"])
        entry = server.journal[0]
        assert entry["at"] == at
        # Far from the end: it stopped sending when the client left.
        assert 3 <= entry["events_sent"] < 1000

    async def test_while_it_thinks_before_the_headers(self, serve: Serve, sdk: Client) -> None:
        server = serve({"text": "never", "hang": "before_headers"})
        asking = asyncio.ensure_future(sdk(server).messages.create(**ask()))
        await asyncio.to_thread(wait_for, lambda: server.journal)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await asyncio.to_thread(wait_for, lambda: server.journal[0]["closed_by_client"])
        entry = server.journal[0]
        assert (entry["at"], entry["status"], entry["events_sent"]) == ("before_headers", None, 0)

    async def test_while_it_has_gone_silent(self, serve: Serve, sdk: Client) -> None:
        server = serve({"text": "a b c", "hang": "mid_stream", "cut_after": 4})
        stream = await sdk(server).messages.create(stream=True, **ask())
        assert (await anext(stream)).type == "message_start"
        await asyncio.to_thread(wait_for, lambda: server.journal[0]["events_sent"] == 4)
        await stream.close()
        await asyncio.to_thread(wait_for, lambda: server.journal[0]["closed_by_client"])
        assert server.journal[0]["events_sent"] == 4

    async def test_an_answer_read_to_its_end_was_not_left(self, serve: Serve, sdk: Client) -> None:
        server = serve({"text": "all of it"})
        events = await stream_text(sdk(server), **ask())
        await asyncio.to_thread(wait_for, lambda: server.journal[0]["duration_ms"] is not None)
        entry = server.journal[0]
        assert (entry["closed_by_client"], entry["at"], entry["status"]) == (False, None, 200)
        assert entry["events_sent"] == len(events) + 1  # and the ping, which the SDK keeps back


class TestJournal:
    def test_what_a_request_said_without_its_secrets(self, serve: Serve) -> None:
        server = serve({"text": "hi"})
        headers = {
            "x-api-key": "sk-secret-1",
            "authorization": "Bearer sk-secret-2",
            "x-other": "1",
        }
        connector = {"type": "url", "url": "https://x", "name": "x", "authorization_token": "sk-3"}
        body = ask("remember me") | {"mcp_servers": [connector]}
        assert http(server, "/v1/messages", body, headers)[0] == 200
        status, _, journal = http(server, "/_journal")
        assert status == 200 and len(journal) == 1
        assert journal[0]["body"]["messages"][0]["content"] == "remember me"
        assert journal[0]["headers"]["x-other"] == "1"
        assert "sk-" not in json.dumps(journal)

    def test_the_log_has_a_line_for_each_start_and_end(self, serve: Serve, tmp_path: Path) -> None:
        path = tmp_path / "server.jsonl"
        server = serve({"text": "hi"}, log_path=str(path))
        http(server, "/v1/messages", ask("with a surrogate \ud800"))
        http(server, "/v1/messages", ask("one"), {"x-api-key": "sk-secret"})
        # The end is noted after the client has its answer.
        wait_for(lambda: path.read_text().count("\n") == 4)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(line["event"], line["n"]) for line in lines] == [
            ("start", 1), ("end", 1), ("start", 2), ("end", 2),
        ]  # fmt: skip
        assert [line["status"] for line in lines if line["event"] == "end"] == [400, 200]
        assert lines[2]["body"]["messages"][0]["content"] == "one"
        assert "sk-secret" not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_closed_journal_keeps_and_shows_nothing(self, serve: Serve) -> None:
        server = serve(open_journal=False)
        assert http(server, "/v1/messages", ask())[0] == 200
        assert http(server, "/_journal")[0] == 404
        assert server.journal[0]["body"] is None

    def test_old_bodies_are_dropped_at_the_budget(self) -> None:
        from agent_tui.offline.journal import Journal

        journal = Journal(budget=100)
        for n in range(3):
            journal.begin(method="POST", path="/", headers=[], body=n, size=50)
        assert [e["body"] for e in journal.entries()] == [None, 1, 2]
        assert [e["n"] for e in journal.entries()] == [1, 2, 3]


class TestLife:
    def test_it_listens_on_loopback_only(self, serve: Serve) -> None:
        server = serve()
        assert server.url.startswith("http://127.0.0.1:")
        port = int(server.url.rsplit(":", 1)[1])
        listening = Path("/proc/net/tcp")
        if listening.exists():
            local = [line.split()[1] for line in listening.read_text().splitlines()[1:]]
            assert f"0100007F:{port:04X}" in local and f"00000000:{port:04X}" not in local

    def test_a_taken_port_is_one_clear_sentence(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(OfflineServerError, match=f"127.0.0.1:{port}.*another port"):
                OfflineServer(port=port).start()

    def test_a_port_that_cannot_be(self) -> None:
        with pytest.raises(OfflineServerError, match="99999"):
            OfflineServer(port=99_999).start()

    def test_a_log_that_cannot_be_written(self, tmp_path: Path) -> None:
        path = tmp_path / "missing" / "log"
        with pytest.raises(OfflineServerError, match="cannot write the log"):
            OfflineServer(log_path=str(path)).start()

    async def test_stop_ends_answers_under_way(self, serve: Serve, sdk: Client) -> None:
        server = serve({"text": "never", "hang": "before_headers"})
        asking = asyncio.ensure_future(sdk(server).messages.create(**ask()))
        await asyncio.to_thread(wait_for, lambda: server.journal)
        await asyncio.wait_for(asyncio.to_thread(server.stop), 5)
        with pytest.raises(Exception, match="Connection error"):
            await asyncio.wait_for(asking, 5)
        assert server.journal[0]["duration_ms"] is not None
        assert not server.journal[0]["closed_by_client"]
        with pytest.raises(urllib.error.URLError):
            http(server, "/v1/models")

    def test_stop_twice_and_before_start(self) -> None:
        server = OfflineServer()
        server.stop()
        server.start()
        server.stop()
        server.stop()

    async def test_many_streams_at_once(self, serve: Serve, sdk: Client) -> None:
        server = serve({"text": "word " * 200, "chunk_size": 7, "repeat": True})
        client = sdk(server)
        answers = await asyncio.gather(*(stream_text(client, **ask(str(n))) for n in range(20)))
        for events in answers:
            text = "".join(e.delta.text for e in events if e.type == "content_block_delta")
            assert text == "word " * 200

    def test_speed_holds_on_average(self) -> None:
        """Against a clock that is set by hand: 100 characters at 50 per second take 2 s."""
        from agent_tui.offline import exchange
        from agent_tui.offline.wire import WireEvent

        async def run() -> float:
            loop = asyncio.get_running_loop()
            now = [1000.0]
            loop.time = lambda: now[0]  # type: ignore[method-assign]
            pace = exchange.Pace(speed=50, chunk_delay=None)
            for _ in range(20):
                now[0] += pace.wait_before(WireEvent("x", {}, "text", 5))
            del loop.time
            return now[0] - 1000.0

        assert asyncio.run(run()) == pytest.approx(2.0, abs=0.01)


def test_a_scenario_object_is_not_used_up_by_a_server() -> None:
    scenario = Scenario(turns=[{"text": "a"}])
    for _ in range(2):
        server = OfflineServer(scenario=scenario)
        server.start()
        try:
            assert http(server, "/v1/messages", ask())[2]["content"][0]["text"] == "a"
        finally:
            server.stop()


def test_connections_send_at_once() -> None:
    """asyncio sets TCP_NODELAY only where the listener names its protocol; without it every
    answer in two parts waits 40 ms for an acknowledgement."""
    with _listen(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
