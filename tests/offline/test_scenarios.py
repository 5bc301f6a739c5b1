"""Scenarios: each key of a turn, played over the wire; and what is refused at loading."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from offline_helpers import Serve, ask, wait_for

from agent_tui.offline.demo.intents import find_script
from agent_tui.offline.scenarios import UNSCRIPTED, Scenario, ScenarioError
from agent_tui.offline.server import OfflineServer

Client = Any


async def whole(client: Client, **more: Any) -> Any:
    return await client.beta.messages.create(**(ask() | more))


async def events_of(client: Client, **more: Any) -> list[Any]:
    stream = await client.beta.messages.create(stream=True, **(ask() | more))
    return [event async for event in stream]


def text_of(message: Any) -> str:
    return "".join(b.text for b in message.content if b.type == "text")


class TestOrder:
    async def test_turns_in_order_then_unscripted(self, serve: Serve, sdk: Any) -> None:
        client = sdk(serve({"text": "one"}, {"text": "two"}))
        said = [text_of(await whole(client)) for _ in range(4)]
        assert said == ["one", "two", UNSCRIPTED, UNSCRIPTED]

    async def test_a_turn_with_match_waits_for_its_text(self, serve: Serve, sdk: Any) -> None:
        client = sdk(
            serve({"text": "pong", "match": "ping"}, {"text": "first"}, {"text": "second"})
        )
        said = [text_of(await whole(client, **ask(t))) for t in ("hello", "do ping now", "ping")]
        assert said == ["first", "pong", "second"]

    async def test_match_looks_at_the_last_text_of_the_user(self, serve: Serve, sdk: Any) -> None:
        """Also behind tool results; the results' own text does not count."""
        client = sdk(
            serve({"text": "steered", "match": "use EUR"}, {"text": "plain", "repeat": True})
        )
        call = {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "use EUR"}
        history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [call]}]
        only_result = [*history, {"role": "user", "content": [result]}]
        assert text_of(await whole(client, messages=only_result)) == "plain"
        also = {"role": "user", "content": [result, {"type": "text", "text": "please use EUR"}]}
        assert text_of(await whole(client, messages=[*history, also])) == "steered"

    async def test_repeat(self, serve: Serve, sdk: Any) -> None:
        client = sdk(serve({"text": "twice", "repeat": 2}, {"text": "ever", "repeat": True}))
        said = [text_of(await whole(client)) for _ in range(5)]
        assert said == ["twice", "twice", "ever", "ever", "ever"]


class TestMessage:
    async def test_blocks_go_out_verbatim(self, serve: Serve, sdk: Any) -> None:
        blocks = [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "search", "input": {"q": "x"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "e"}],
            },
            {"type": "redacted_thinking", "data": "EmABC=="},
            {"type": "hologram", "depth": 3, "layers": [None, {"a": 1}]},
            {"type": "text", "text": "see", "citations": [{"type": "page", "cited_text": "c"}]},
        ]  # fmt: skip
        client = sdk(serve({"blocks": blocks}, {"blocks": blocks}))
        streamed = await events_of(client)
        raw = await client.messages.with_raw_response.create(**ask())
        assert json.loads(raw.http_response.content)["content"] == blocks
        starts = [e.content_block.to_dict() for e in streamed if e.type == "content_block_start"]
        assert starts[0]["input"] == {}
        assert starts[1:4] == blocks[1:4]
        pieces = [e.delta for e in streamed if e.type == "content_block_delta"]
        assert (
            "".join(d.partial_json for d in pieces if d.type == "input_json_delta") == '{"q":"x"}'
        )
        citations = [d.citation.to_dict() for d in pieces if d.type == "citations_delta"]
        assert citations == blocks[4]["citations"]

    async def test_a_programs_call_is_whole_at_its_start(self, serve: Serve, sdk: Any) -> None:
        caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
        program = {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "code_execution",
            "input": {"code": "x"},
        }
        turn = {
            "blocks": [program],
            "tool_calls": [{"name": "query", "input": {"year": 2026}, "caller": caller}],
            "container": "container_9",
        }
        client = sdk(serve(turn, turn | {"in_message_start": True}))
        events = await events_of(client)
        start = next(e for e in events if e.type == "content_block_start" and e.index == 1)
        assert start.content_block.input == {"year": 2026}
        assert start.content_block.caller.tool_id == "srvtoolu_1"
        assert not [e for e in events if e.type == "content_block_delta" and e.index == 1]
        delta = next(e for e in events if e.type == "message_delta")
        assert delta.delta.container.id == "container_9"
        assert delta.delta.stop_reason == "tool_use"

        first, last = await events_of(client)
        assert (first.type, last.type) == ("message_start", "message_stop")
        assert first.message.content[1].input == {"year": 2026}
        assert first.message.container.id == "container_9"
        assert first.message.stop_reason == "tool_use"

    async def test_container_at_the_start(self, serve: Serve, sdk: Any) -> None:
        turn = {"text": "x", "container": "c1", "container_at": "message_start"}
        events = await events_of(sdk(serve(turn)))
        assert events[0].message.container.id == "c1"
        assert events[-2].delta.container is None

    async def test_stop_fields_and_usage(self, serve: Serve, sdk: Any) -> None:
        details = {"type": "refusal", "category": "cyber", "explanation": "no"}
        client = sdk(
            serve(
                {"stop_reason": "refusal", "stop_details": details},
                {"text": "a", "stop_reason": None},
                {
                    "text": "a",
                    "usage": {"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 3},
                },
            )
        )
        refused = await whole(client)
        assert (refused.stop_reason, refused.content) == ("refusal", [])
        assert refused.stop_details.explanation == "no"
        assert (await events_of(client))[-2].delta.stop_reason is None
        events = await events_of(client)
        assert (events[0].message.usage.input_tokens, events[0].message.usage.output_tokens) == (
            7,
            1,
        )
        usage = events[-2].usage
        assert (usage.output_tokens, usage.cache_read_input_tokens) == (9, 3)

    async def test_partial_json_is_streamed_as_it_is(self, serve: Serve, sdk: Any) -> None:
        call = {"name": "rm", "partial_json": '{"cmd":"rm -rf build","dry_run":tr'}
        events = await events_of(sdk(serve({"tool_calls": [call], "stop_reason": "max_tokens"})))
        sent = "".join(e.delta.partial_json for e in events if e.type == "content_block_delta")
        assert sent == call["partial_json"]
        assert events[-2].delta.stop_reason == "max_tokens"

    async def test_ids_are_given_or_made_and_never_twice(self, serve: Serve, sdk: Any) -> None:
        turn = {"tool_calls": [{"name": "a", "id": "toolu_mine"}, {"name": "a"}, {"name": "a"}]}
        message = await whole(sdk(serve(turn)))
        ids = [b.id for b in message.content]
        assert ids[0] == "toolu_mine" and len(set(ids)) == 3

    async def test_scripted_thinking_may_come_back(self, serve: Serve, sdk: Any) -> None:
        """Signed by the server, or verbatim with a signature of the scenario's own."""
        mine = {"type": "thinking", "thinking": "hm", "signature": "my own"}
        client = sdk(serve({"thinking": "well", "blocks": [mine], "text": "a"}, {"text": "b"}))
        first = await whole(client)
        history = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": "on"},
        ]
        assert text_of(await whole(client, messages=history)) == "b"

    async def test_chunk_size(self, serve: Serve, sdk: Any) -> None:
        events = await events_of(sdk(serve({"text": "abcdefgh", "chunk_size": 3})))
        pieces = [e.delta.text for e in events if e.type == "content_block_delta"]
        assert pieces == ["abc", "def", "gh"]


class TestFaults:
    async def test_an_http_error_and_retry_after(self, serve: Serve, sdk: Any) -> None:
        import anthropic

        client = sdk(
            serve(
                {"status": 429, "retry_after": 3, "error": "slow down"},
                {"status": 529},
                {"error": {"type": "authentication_error", "message": "bad key"}},
                {
                    "status": 500,
                    "error": {"type": "api_error", "message": "x"},
                    "headers": {"X-A": "b"},
                },
            )
        )
        with pytest.raises(anthropic.RateLimitError) as limited:
            await whole(client)
        assert limited.value.response.headers["retry-after"] == "3"
        assert limited.value.body["error"] == {"type": "rate_limit_error", "message": "slow down"}
        with pytest.raises(anthropic.APIStatusError) as overloaded:
            await events_of(client)
        assert overloaded.value.status_code == 529
        assert overloaded.value.body["error"]["type"] == "overloaded_error"
        with pytest.raises(anthropic.AuthenticationError):
            await whole(client)
        with pytest.raises(anthropic.InternalServerError) as failed:
            await whole(client)
        assert failed.value.response.headers["x-a"] == "b"

    async def test_an_error_event_after_the_content(self, serve: Serve, sdk: Any) -> None:
        import anthropic

        seen: list[str] = []
        stream = await sdk(
            serve({"text": "half", "sse_error": "overloaded_error"})
        ).beta.messages.create(stream=True, **ask())
        with pytest.raises(anthropic.APIStatusError) as caught:
            async for event in stream:
                seen.append(event.type)
        assert caught.value.body["error"] == {"type": "overloaded_error", "message": "Overloaded"}
        assert seen[-1] == "content_block_stop" and "message_delta" not in seen

    async def test_a_connection_that_breaks_off(self, serve: Serve, sdk: Any) -> None:
        import httpx2

        server = serve({"text": "one two three", "cut": True, "cut_after": 5})
        seen: list[str] = []
        stream = await sdk(server).messages.create(stream=True, **ask())
        with pytest.raises(httpx2.HTTPError):
            async for event in stream:
                seen.append(event.type)
        # message_start, (ping), block start, two deltas
        assert seen == ["message_start", "content_block_start", *["content_block_delta"] * 2]
        assert server.journal[0]["events_sent"] == 5
        assert not server.journal[0]["closed_by_client"]

    async def test_a_body_that_just_ends(self, serve: Serve, sdk: Any) -> None:
        events = await events_of(sdk(serve({"text": "one two", "cut": "clean"})))
        assert events[-1].type == "content_block_stop"

    async def test_the_same_faults_without_a_stream(self, serve: Serve, sdk: Any) -> None:
        import anthropic

        server = serve(
            {"text": "half", "sse_error": "overloaded_error"},
            {"text": "one two", "cut": True},
            {"text": "one two", "hang": "mid_stream"},
            {"raw_sse": "event: ping\ndata: {}\n\n"},
        )
        client = sdk(server)
        with pytest.raises(anthropic.APIStatusError) as caught:
            await whole(client)
        assert caught.value.status_code == 529
        with pytest.raises(anthropic.APIConnectionError):
            await whole(client)
        waiting = asyncio.ensure_future(whole(client))
        await asyncio.to_thread(
            wait_for, lambda: server.journal[2:] and server.journal[2]["status"]
        )
        waiting.cancel()
        await asyncio.to_thread(wait_for, lambda: server.journal[2]["closed_by_client"])
        with pytest.raises(anthropic.InternalServerError, match="stream: true"):
            await whole(client)

    async def test_ids_differ_also_for_equal_requests(self, serve: Serve, sdk: Any) -> None:
        client = sdk(serve({"tool_calls": [{"name": "a"}], "repeat": 2}))
        first, second = await whole(client), await whole(client)
        assert first.id != second.id and first.content[0].id != second.content[0].id

    async def test_raw_sse_as_text_and_from_a_file(self, sdk: Any, tmp_path: Path) -> None:
        start = {
            "type": "message_start",
            "message": {
                "id": "msg_raw", "type": "message", "role": "assistant", "content": [],
                "model": "m", "stop_reason": None, "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        }  # fmt: skip
        raw = f"event: message_start\ndata: {json.dumps(start)}\n\nevent: weather\ndata: {{}}\n\n"
        (tmp_path / "r.sse").write_text(raw)
        (tmp_path / "s.json").write_text(json.dumps([{"raw_sse": raw}, {"raw_sse": "r.sse"}]))
        server = OfflineServer(scenario=Scenario.from_file(tmp_path / "s.json"))
        server.start()
        try:
            client = sdk(server)
            for _ in range(2):
                raw_answer = await client.messages.with_raw_response.create(stream=True, **ask())
                body = [line async for line in raw_answer.http_response.aiter_lines()]
                assert "\n".join(body).strip() == raw.strip()
        finally:
            server.stop()
        assert [e["events_sent"] for e in server.journal] == [2, 2]

    async def test_delays_hold_back_the_headers_and_the_first_event(
        self, serve: Serve, sdk: Any
    ) -> None:
        """No timing of our own: what must not have come yet has not, in an answer without end."""
        hour = 3_600_000
        server = serve({"text": "a", "delay_ms": hour}, {"text": "a", "first_event_delay_ms": hour})
        client = sdk(server)
        waiting = asyncio.ensure_future(client.messages.create(stream=True, **ask()))
        await asyncio.to_thread(wait_for, lambda: server.journal)
        assert server.journal[0]["status"] is None
        waiting.cancel()
        stream = await client.messages.create(stream=True, **ask())
        assert stream.response.status_code == 200
        assert server.journal[1]["events_sent"] == 0
        await stream.close()

    async def test_chunk_delay_paces_the_deltas(self, serve: Serve, sdk: Any) -> None:
        server = serve({"text": "one two", "chunk_delay_ms": 3_600_000})
        stream = await sdk(server).messages.create(stream=True, **ask())
        seen = [(await anext(stream)).type for _ in range(2)]
        assert seen == ["message_start", "content_block_start"]
        await stream.close()
        await asyncio.to_thread(wait_for, lambda: server.journal[0]["closed_by_client"])
        assert server.journal[0]["events_sent"] == 3  # with the ping


class TestRules:
    async def test_no_rules_lets_everything_through(self, serve: Serve, sdk: Any) -> None:
        orphan = {"type": "tool_result", "tool_use_id": "toolu_x", "content": ""}
        messages = [{"role": "user", "content": [orphan]}]
        client = sdk(serve({"text": "fine"}, top={"no_rules": True}))
        assert text_of(await whole(client, messages=messages)) == "fine"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{", "not valid JSON"),
        ('"x"', "a list of turns"),
        ('{"turn": []}', "turn: unknown key, did you mean `turns`"),
        ('{"turns": {}}', "turns: should be a list"),
        ("[3]", "turns.0: a turn is an object"),
        ('[{}, {"txt": "a"}]', "turns.1.txt: unknown key, did you mean `text`"),
        ('[{"text": 3}]', "turns.0.text: should be str, not 3"),
        ('[{"delay_ms": -1}]', "turns.0.delay_ms: should not be negative"),
        ('[{"chunk_size": 0}]', "turns.0.chunk_size: should be at least 1"),
        ('[{"hang": "later"}]', "turns.0.hang: should be one of"),
        ('[{"cut": "maybe"}]', "turns.0.cut: should be one of"),
        ('[{"error": "x"}]', "turns.0.error: needs a `status`"),
        ('[{"blocks": ["text"]}]', "turns.0.blocks.0"),
        (
            '[{"tool_calls": [{"input": {}}]}]',
            "turns.0.tool_calls.0: a call is an object with a `name`",
        ),
        ('[{"tool_calls": [{"name": "a", "args": {}}]}]', "turns.0.tool_calls.0.args: unknown key"),
        ('[{"raw_sse": "missing.sse"}]', "turns.0.raw_sse: cannot read"),
        ('[{"program": 3}]', "turns.0.program: should be str, not 3"),
        (
            '[{"program": "1", "tool_calls": []}]',
            "turns.0.tool_calls: not together with a program",
        ),
        ('[{"program": "1", "container": "c"}]', "turns.0.container: not together"),
        ('[{"program": "1", "pause_reason": "end_turn"}]', "turns.0.pause_reason: should be one"),
        ('[{"text": "a", "pause_reason": "pause_turn"}]', "turns.0.pause_reason: only for a turn"),
        ('[{"text": "a", "name_container": false}]', "turns.0.name_container: only for a turn"),
    ],
)
def test_a_scenario_that_is_wrong_says_where(source: str, says: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_json(source)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_keys_are_those_that_the_docstring_names() -> None:
    from agent_tui.offline import scenarios

    described = Scenario.__doc__ or ""
    for key in scenarios._TURN_KEYS | scenarios._TOP_KEYS | scenarios._CALL_KEYS:
        assert key in described, key


def test_the_demo_knows_no_unscripted() -> None:
    """A scenario's default text is not a task of the demo (the two cannot be mixed up)."""
    assert find_script(UNSCRIPTED) is None


RECORDINGS = os.environ.get("AGENT_TUI_RECORDINGS", "")


@pytest.mark.skipif(not RECORDINGS, reason="AGENT_TUI_RECORDINGS names no folder")
class TestRecordings:
    """Recorded streams of the service: what they add up to is what our own events add up to."""

    @staticmethod
    def paths() -> list[Path]:
        return sorted(Path(RECORDINGS).glob("*.sse")) if RECORDINGS else []

    def test_there_are_some(self) -> None:
        assert self.paths()

    def test_ours_add_up_to_the_same(self) -> None:
        from agent_tui.offline.wire import Reply, stream_events

        for path in self.paths():
            content = add_up(parsed(path.read_text(encoding="utf-8")))
            events = stream_events(Reply(content), message_id="m", model="m")
            ours = add_up([json.loads(e.encode().split(b"data: ", 1)[1]) for e in events])
            assert ours == content, path.name

    def test_the_rules_accept_a_recorded_reply_sent_back(self) -> None:
        from agent_tui.offline.rules import validate_request

        for path in self.paths():
            content = [
                b for b in add_up(parsed(path.read_text(encoding="utf-8"))) if whole_block(b)
            ]
            calls = [b for b in content if b["type"] == "tool_use"]
            if not content or any(
                b.get("caller", {}).get("type", "direct") != "direct" for b in calls
            ):
                continue
            results = [
                {"type": "tool_result", "tool_use_id": b["id"], "content": "ok"} for b in calls
            ]
            found = {
                ref["tool_name"]
                for b in content
                if isinstance(b.get("content"), dict)
                for ref in b["content"].get("tool_references", [])
            }
            schema = {"type": "object"}
            body = ask() | {
                "tools": [{"name": name, "input_schema": schema} for name in sorted(found)],
                "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": content},
                    *([{"role": "user", "content": results}] if results else []),
                ],
            }
            problems = [
                p for p in validate_request(body)
                # A lone recording may end or begin in the middle of the service's turn.
                if p.rule not in ("prefill", "server_results_unexpected", "trailing_whitespace")
            ]  # fmt: skip
            assert problems == [], path.name


def parsed(text: str) -> list[dict[str, Any]]:
    events = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:")]
    return [e for e in events if isinstance(e, dict)]


def whole_block(block: dict[str, Any]) -> bool:
    empty_text = block["type"] == "text" and not block["text"].strip()
    return not empty_text and not (block["type"] == "thinking" and not block.get("signature"))


def add_up(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The content that a stream's events add up to; a plain reading of the documentation."""
    content: list[dict[str, Any]] = []
    json_text: dict[int, str] = {}
    for event in events:
        if event["type"] == "message_start":
            content = list(event["message"]["content"])
        elif event["type"] == "content_block_start":
            content.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            block, delta = content[event["index"]], event["delta"]
            match delta["type"]:
                case "text_delta":
                    block["text"] += delta["text"]
                case "thinking_delta":
                    block["thinking"] += delta["thinking"]
                case "signature_delta":
                    block["signature"] = delta["signature"]
                case "citations_delta":
                    block["citations"] = [*(block.get("citations") or []), delta["citation"]]
                case "compaction_delta":
                    block["content"] = delta["content"]
                case "input_json_delta":
                    at = event["index"]
                    json_text[at] = json_text.get(at, "") + delta["partial_json"]
    for at, text in json_text.items():
        if text:
            try:
                content[at]["input"] = json.loads(text)
            except ValueError:
                content[at]["input"] = {}
    return content
