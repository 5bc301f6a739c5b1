"""Programs on the offline server: the wire of programmatic tool calling, over real HTTP."""

import json
import threading
from typing import Any

import pytest
from offline_helpers import Serve, wait_for
from program_client import CODE, READ, Client, Refused, call_api, parse_events, tool

from agent_tui.offline import ContainerOptions
from agent_tui.programs import SandboxLimits

GATHER_AND_LOOP = """\
import asyncio
three = await asyncio.gather(read("a"), read(path="b"), read({"path": "c"}))
total = 0
for number in range(20):
    total += int(await read(str(number)))
print(three, total)
"""
ONE = "print(await read('a'))"
DONE = {"text": "That was it."}


def program(code: str, **more: Any) -> dict[str, Any]:
    return {"text": "I run a program.", "program": code, **more}


class TestTheWire:
    @pytest.mark.parametrize("stream", [True, False])
    def test_three_at_once_and_a_loop_of_20(self, serve: Serve, stream: bool) -> None:
        client = Client(serve(program(GATHER_AND_LOOP), DONE), stream=stream)
        responses = client.run()
        assert [len([b for b in r["content"] if b["type"] == "tool_use"]) for r in responses] == [
            3, *[1] * 20, 0,
        ]  # fmt: skip
        assert client.outcome == {
            "type": "code_execution_result",
            "stdout": f"['a', 'b', 'c'] {sum(range(20))}\n",
            "stderr": "",
            "return_code": 0,
            "content": [],
        }
        assert client.last["content"][-1] == {"type": "text", "text": "That was it."}
        assert client.last["stop_reason"] == "end_turn"
        assert len({r["container"]["id"] for r in responses}) == 1
        assert len({b["id"] for m in client.messages for b in m["content"] if "id" in b}) == 24
        state = client.state()
        assert (state["state"], state["programs"], state["reused"]) == ("idle", 1, 21)

    def test_the_first_response_is_as_recorded(self, serve: Serve) -> None:
        """Text, the code in deltas, each call whole in its start; container in message_delta."""
        client = Client(serve(program(GATHER_AND_LOOP)), stream=True)
        client.say()
        start, *_ = client.events
        assert start["message"]["content"] == [] and "container" not in start["message"]
        starts = [e["content_block"] for e in client.events if e["type"] == "content_block_start"]
        assert [b["type"] for b in starts] == ["text", "server_tool_use", *["tool_use"] * 3]
        code, call = starts[1], starts[2]
        assert code["name"] == "code_execution" and code["caller"] == {"type": "direct"}
        assert code["id"].startswith("srvtoolu_") and code["input"] == {}
        assert call["caller"] == {"type": "code_execution_20260120", "tool_id": code["id"]}
        assert call["id"].startswith("toolu_") and call["input"] == {"path": "a"}
        deltas = [e["index"] for e in client.events if e["type"] == "content_block_delta"]
        assert set(deltas) == {0, 1}
        assert client.last["content"][1]["input"] == {"code": GATHER_AND_LOOP}
        delta = client.events[-2]
        assert delta["type"] == "message_delta" and delta["delta"]["stop_reason"] == "tool_use"
        container = delta["delta"]["container"]
        assert container["id"].startswith("container_") and container["expires_at"].endswith("Z")

    def test_a_continuation_is_only_a_start_and_a_stop(self, serve: Serve) -> None:
        client = Client(
            serve(program("print(await read('a'), await read('b'))"), DONE), stream=True
        )
        client.say()
        client.answer()
        assert [e["type"] for e in client.events] == ["message_start", "message_stop"]
        message = client.events[0]["message"]
        assert [b["input"] for b in message["content"]] == [{"path": "b"}]
        assert message["stop_reason"] == "tool_use" and message["container"]["id"]
        assert message["usage"] == {
            "input_tokens": 0,
            "output_tokens": 0,
            "server_tool_use": {"web_search_requests": 0},
        }
        client.answer()
        kinds = [e["content_block"]["type"] for e in client.events if "content_block" in e]
        assert kinds == ["code_execution_tool_result", "text"]

    def test_pause_turn_while_it_waits_where_a_scenario_says_so(self, serve: Serve) -> None:
        code = "print(await read('a'), await read('b'))"
        client = Client(serve(program(code, pause_reason="pause_turn"), DONE))
        assert [r["stop_reason"] for r in client.run()] == ["pause_turn", "pause_turn", "end_turn"]

    def test_the_last_response_may_leave_the_container_out(self, serve: Serve) -> None:
        client = Client(serve(program(ONE, name_container=False), DONE))
        first, last = client.run()
        assert "container" in first and "container" not in last

    def test_a_program_without_calls_ends_in_the_message_that_began_it(self, serve: Serve) -> None:
        client = Client(serve(program("print(6 * 7)"), DONE), stream=True)
        client.say()
        kinds = [b["type"] for b in client.last["content"]]
        assert kinds == ["text", "server_tool_use", "code_execution_tool_result", "text"]
        assert client.outcome["stdout"] == "42\n" and client.last["stop_reason"] == "end_turn"

    def test_two_programs_in_one_message_and_then_a_direct_call(self, serve: Serve) -> None:
        turns = [
            program("x = 1"),
            {"program": "print(x + 1)"},
            {"text": "Now directly.", "tool_calls": [{"name": "look", "input": {}}]},
            DONE,
        ]
        client = Client(serve(*turns), [CODE, READ, tool("look", callers=["direct"])])
        client.say()
        kinds = [b["type"] for b in client.last["content"]]
        one = ["server_tool_use", "code_execution_tool_result"]
        assert kinds == ["text", *one, *one, "text", "tool_use"]
        assert client.last["content"][4]["content"]["stdout"] == "2\n"
        assert client.last["stop_reason"] == "tool_use"
        assert client.answer()["content"] == [{"type": "text", "text": "That was it."}]

    def test_a_program_in_a_request_without_code_execution_is_told(self, serve: Serve) -> None:
        client = Client(serve(program(ONE)), [READ])
        with pytest.raises(Refused, match="offers no code_execution"):
            client.say()


class TestWhatProgramsMayCall:
    def test_only_tools_that_allow_it(self, serve: Serve) -> None:
        code = "print(await both())\nprint(await direct())"
        tools = [
            CODE,
            tool("both", callers=["direct", "code_execution_20260120"]),
            tool("direct", callers=["direct"]),
        ]
        client = Client(serve(program(code), DONE), tools)
        client.run(answerer=lambda call: call["name"])
        assert client.outcome["stdout"] == "both\n"
        assert "NameError: name 'direct' is not defined" in client.outcome["stderr"]
        assert client.outcome["return_code"] == 1

    def test_an_error_result_is_raised_in_the_program(self, serve: Serve) -> None:
        code = (
            "try:\n    await read('a')\nexcept Exception as error:\n    print('got', error)\n" + ONE
        )
        client = Client(serve(program(code), DONE))
        client.run(answerer=lambda call: RuntimeError("no such file"))
        assert client.outcome["stdout"] == "got no such file\n"
        assert client.outcome["stderr"].endswith("RuntimeError: no such file\n")
        assert client.last["content"][-1]["text"] == "That was it.", "a failure is a result"

    def test_text_blocks_and_json_arrive_as_text(self, serve: Serve) -> None:
        code = "import json\nprint(json.loads(await read('a'))['n'], repr(await read('b')))"
        client = Client(serve(program(code), DONE))
        blocks = [{"type": "text", "text": '{"n":'}, {"type": "text", "text": " 5}"}]
        client.run(answerer=lambda call: blocks if call["input"]["path"] == "a" else "é\n")
        assert client.outcome["stdout"] == "5 'é\\n'\n"

    def test_a_tool_with_a_dash_in_its_name(self, serve: Serve) -> None:
        client = Client(serve(program("print(await get_time())"), DONE), [CODE, tool("get-time")])
        client.run(answerer=lambda call: call["name"])
        assert client.outcome["stdout"] == "get-time\n"


class TestRulesOfTheAnswer:
    """Each breach is refused by a 400 and harms nothing: the right answer is still taken."""

    @pytest.fixture
    def client(self, serve: Serve) -> Client:
        code = "import asyncio\nprint(await asyncio.gather(read('a'), read('b')))"
        client = Client(serve(program(code), DONE))
        client.say()
        return client

    def refused(self, client: Client, content: list[dict[str, Any]], **more: Any) -> str:
        messages = [*client.messages, {"role": "user", "content": content}]
        body = client.body(messages=messages) | more
        body = {key: value for key, value in body.items() if value is not None}
        with pytest.raises(Refused) as error:
            call_api(client.server, "/v1/messages", body)
        assert (error.value.status, error.value.type) == (400, "invalid_request_error")
        client.answer()
        assert client.outcome["stdout"] == "['a', 'b']\n"
        return error.value.message

    def test_without_the_container(self, client: Client) -> None:
        said = self.refused(client, client.results(), container=None)
        assert said.startswith("container_id is required")

    def test_with_text_beside_the_results(self, client: Client) -> None:
        text = {"type": "text", "text": "use EUR"}
        assert "only contain `tool_result`" in self.refused(client, [*client.results(), text])

    def test_with_a_call_unanswered(self, client: Client) -> None:
        assert "without `tool_result`" in self.refused(client, client.results()[:1])

    def test_with_an_image(self, client: Client) -> None:
        results = client.results()
        source = {"type": "url", "url": "https://example.com/a.png"}
        results[0]["content"] = [{"type": "image", "source": source}]
        assert "only contain text" in self.refused(client, results)

    def test_with_other_tools(self, client: Client) -> None:
        assert "`read` of a pending" in self.refused(client, client.results(), tools=[CODE])


class TestRetries:
    def test_the_same_results_again_get_the_same_step(self, serve: Serve) -> None:
        """A client whose answer was cut asks again; the program has moved on but once."""
        client = Client(serve(program(GATHER_AND_LOOP), DONE))
        client.say()
        client.messages.append({"role": "user", "content": client.results()})
        first = client.send()["content"]
        client.messages.pop()
        assert client.send()["content"] == first

    def test_the_output_is_given_again_after_a_cut(self, serve: Serve) -> None:
        cut = {"text": "That was it, cut.", "cut": True}
        client = Client(serve(program(ONE + "\nopen('a', 'w')"), cut, DONE), stream=True)
        client.say()
        body = client.body(
            messages=[*client.messages, {"role": "user", "content": client.results()}]
        )
        with pytest.raises(Exception):  # noqa: B017 - how a cut shows is the HTTP library's affair
            call_api(client.server, "/v1/messages", body)
        client.answer()
        assert client.outcome["stdout"] == "a\n"
        listed = json.loads(call_api(client.server, "/v1/files"))["data"]
        assert [f["id"] for f in listed] == [client.outcome["content"][0]["file_id"]]

    def test_old_results_are_not_taken_for_new_ones(self, serve: Serve) -> None:
        client = Client(serve(program(GATHER_AND_LOOP), DONE))
        client.say()
        old = client.body(
            messages=[*client.messages, {"role": "user", "content": client.results()}]
        )
        client.answer()
        client.answer()
        with pytest.raises(Refused, match="do not answer the pending programmatic calls"):
            call_api(client.server, "/v1/messages", old)


class TestFailures:
    def test_a_traceback_and_return_code_1(self, serve: Serve) -> None:
        client = Client(serve(program("def f():\n    return [][1]\nprint('a')\nf()"), DONE))
        client.run()
        assert client.outcome["stdout"] == "a\n" and client.outcome["return_code"] == 1
        stderr = client.outcome["stderr"].splitlines()
        assert stderr[0] == "Traceback (most recent call last):"
        assert stderr[-1] == "IndexError: list index out of range"

    def test_too_long_a_computation_is_an_error_code(self, serve: Serve) -> None:
        options = ContainerOptions(limits=SandboxLimits(seconds=0.2))
        client = Client(serve(program("while True: pass"), DONE, containers=options))
        client.run()
        assert client.outcome == {
            "type": "code_execution_tool_result_error",
            "error_code": "execution_time_exceeded",
        }
        assert client.state()["state"] == "idle"

    def test_the_container_goes_on_after_it(self, serve: Serve) -> None:
        options = ContainerOptions(limits=SandboxLimits(seconds=0.2))
        turns = [program("while True: pass"), DONE, program("print('again')"), DONE]
        client = Client(serve(*turns, containers=options))
        client.run()
        before = client.container
        client.run()
        assert client.outcome["stdout"] == "again\n" and client.container == before

    def test_an_error_of_the_scenario_after_a_program(self, serve: Serve) -> None:
        turns = [program("print(1)"), {"status": 529, "error": "Overloaded"}]
        client = Client(serve(*turns), stream=True)
        with pytest.raises(Refused) as error:
            client.say()
        assert (error.value.status, error.value.type) == (200, "overloaded_error")


class TestUsage:
    def test_results_of_programs_are_no_input_of_the_model(self, serve: Serve) -> None:
        """facts: only the program's output enters the context."""
        client = Client(serve(program("text = await read('a')\nprint(len(text))"), DONE))
        client.say()
        before = client.body(messages=client.messages[:1])
        client.answer(lambda call: "x" * 40_000)
        assert client.outcome["stdout"] == "40000\n"
        counted = self.count(client, client.messages)
        assert counted - self.count(client, before["messages"]) < 200
        # The same text as a direct result counts whole.
        direct = [
            *client.messages,
            {"role": "user", "content": "x" * 40_000},
        ]
        assert self.count(client, direct) - counted > 5_000

    def test_the_usage_agrees_with_count_tokens(self, serve: Serve) -> None:
        client = Client(serve(program("text = await read('a')\nprint(len(text))"), DONE, DONE))
        client.say()
        assert client.last["usage"]["input_tokens"] == self.count(client, client.messages[:1])
        client.answer(lambda call: "x" * 40_000)
        ended = client.last["usage"]
        client.say("and?")
        assert client.last["usage"]["input_tokens"] == self.count(client, client.messages[:-1])
        # What was read for the last answer: everything but that answer and the new prompt.
        new = client.last["usage"]["input_tokens"] - ended["input_tokens"]
        assert 0 < new < 50

    @staticmethod
    def count(client: Client, messages: list[dict[str, Any]]) -> int:
        body = {k: v for k, v in client.body(messages=messages).items() if k not in _NOT_COUNTED}
        answer = call_api(client.server, "/v1/messages/count_tokens", body)
        return json.loads(answer)["input_tokens"]


_NOT_COUNTED = {"stream", "max_tokens", "container"}


class TestStaged:
    def test_the_code_is_streamed_before_it_runs(self, serve: Serve) -> None:
        """While a program computes its client has all of its code, and the container is busy."""
        code = "import asyncio\nawait asyncio.sleep(0.5)\nprint('slept')"
        client = Client(serve(program(code), DONE), stream=True)
        worker = threading.Thread(target=client.say)
        worker.start()
        try:
            state = wait_for(lambda: [c for c in client.server.containers if c["state"] == "busy"])[
                0
            ]
            assert state["programs"] == 1 and state["pending"] == 0
            entry = wait_for(lambda: [e for e in client.server.journal if e["events_sent"] > 5])[0]
            assert entry["container"] is None, "this answer has not ended"
        finally:
            worker.join(10)
        assert client.outcome["stdout"] == "slept\n"
        ended = wait_for(lambda: client.server.journal[0]["container"])
        assert ended["state"] == "idle"

    def test_a_client_that_leaves_while_it_runs_finds_the_outcome_later(self, serve: Serve) -> None:
        import socket

        code = "import asyncio\nawait asyncio.sleep(0.3)\nn = 5"
        client = Client(serve(program(code), program("print(n)"), DONE), stream=True)
        client.messages.append({"role": "user", "content": "go"})
        body = json.dumps(client.body()).encode()
        host, port = client.server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as wire:
            head = (
                f"POST /v1/messages HTTP/1.1\r\nHost: {host}\r\ncontent-type: application/json\r\n"
            )
            head += f"anthropic-version: 2026-10-21\r\ncontent-length: {len(body)}\r\n\r\n"
            wire.sendall(head.encode() + body)
            wait_for(lambda: [c for c in client.server.containers if c["state"] == "busy"])
        (state,) = wait_for(lambda: [c for c in client.server.containers if c["state"] == "idle"])
        client.container = state["id"]
        client.send()
        assert client.outcome["stdout"] == "5\n"

    def test_events_of_a_stage_keep_their_pace(self, serve: Serve) -> None:
        slow = {"text": "a b c d e f g h i j", "chunk_delay_ms": 20}
        client = Client(serve(program("print(1)"), slow), stream=True)
        client.say()
        duration = wait_for(lambda: client.server.journal[0]["duration_ms"])
        assert duration >= 150 and client.last["content"][-1]["text"] == slow["text"]


def test_the_events_of_a_plain_reply_are_what_they_were(serve: Serve) -> None:
    raw = call_api(
        serve({"text": "hi"}),
        "/v1/messages",
        {
            "model": "demo",
            "max_tokens": 10,
            "stream": True,
            "messages": [{"role": "user", "content": "x"}],
        },
    ).decode()
    assert [e["type"] for e in parse_events(raw)] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
