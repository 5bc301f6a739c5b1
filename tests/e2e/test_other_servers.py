"""Against servers that others wrote: aimock (npm) and llmock (PyPI), in print mode and on the
screen. What they can do is asked of both; what only our own server can is tested elsewhere."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Begin, Open, Run
from tests.e2e.peers import Peer, start_aimock, start_llmock
from tests.e2e.terminal import Terminal, all_words

pytestmark = pytest.mark.network_registry

# --- aimock ---------------------------------------------------------------------------------

BOTH = [
    {"name": "read", "arguments": {"path": "note.txt"}},
    {"name": "grep", "arguments": {"pattern": "needle", "path": "."}},
]
SAID = "This answer is cut short by the server, long before what would have been its end."
AIMOCK: list[dict[str, Any]] = [
    {"match": {"userMessage": "greet"}, "response": {"content": "Hello from the other server."}},
    {
        "match": {"userMessage": "think and look", "hasToolResult": False},
        "response": {"reasoning": "Both at once.", "content": "I look.", "toolCalls": BOTH},
    },
    {
        "match": {"userMessage": "think and look", "hasToolResult": True},
        "response": {"reasoning": "Now I know.", "content": "It holds a needle."},
    },
    {
        "match": {"userMessage": "overloaded"},
        "response": {"error": {"message": "So busy", "type": "overloaded_error"}, "status": 529},
    },
    {
        "match": {"userMessage": "rate limit"},
        "response": {
            "error": {"message": "Too fast", "type": "rate_limit_error"},
            "status": 429,
            "retryAfter": 1,
        },
    },
    {
        "match": {"userMessage": "odd"},
        "response": {
            "error": {"message": "How odd", "type": "invalid_request_error"},
            "status": 400,
        },
    },
    {
        "match": {"userMessage": "who am i"},
        "response": {
            "error": {"message": "No such key", "type": "authentication_error"},
            "status": 401,
        },
    },
    {
        "match": {"userMessage": "cut"},
        "response": {"content": SAID},
        "latency": 30,
        "chunkSize": 12,
        "truncateAfterChunks": 5,
    },
    {
        "match": {"userMessage": "no stream"},
        "response": {"content": "x"},
        "chaos": {"malformedRate": 1},
    },
]


@pytest.fixture(scope="module")
def aimock(request: pytest.FixtureRequest, folder: Callable[[str], Path]) -> Iterator[Peer]:
    fixtures = folder("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": AIMOCK}), encoding="utf-8")
    with start_aimock(request.config, fixtures) as peer:
        yield peer


@pytest.fixture(scope="module")
def aimock_terminal(aimock: Peer, open_terminal: Open) -> Terminal:
    return open_terminal("--base-url", aimock.url, "--model", "claude-sonnet-5-5")


@pytest.fixture(scope="module")
def aimock_runs(aimock: Peer, begin: Begin, folder: Callable[[str], Path]) -> dict[str, Run]:
    home = folder("aimock")
    (home / "work").mkdir()
    (home / "work" / "note.txt").write_text("a needle\n", encoding="utf-8")
    at = ["--base-url", aimock.url, "--model", "claude-sonnet-5-5"]
    forms = {
        "greet": "text",
        "think and look": "stream-json",
        "overloaded": "text",
        "rate limit": "json",
        "odd": "stream-json",
        "who am i": "json",
        "cut": "json",
        "no stream": "text",
    }
    return {
        said: begin(*at, "-p", said, "--output", form, home=home if said[0] == "t" else None)
        for said, form in forms.items()
    }


def asked(peer: Peer, said: str) -> list[dict[str, Any]]:
    """The requests in which the user said this."""
    return [
        entry
        for entry in peer.get("/v1/_requests")
        if any(said == _text(m) for m in entry["body"]["messages"] if m["role"] == "user")
    ]


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def test_aimock_text(aimock_runs: dict[str, Run]) -> None:
    run = aimock_runs["greet"].result()
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout == b"Hello from the other server.\n"


def test_aimock_thinking_and_parallel_tools(aimock: Peer, aimock_runs: dict[str, Run]) -> None:
    run = aimock_runs["think and look"].result()
    assert (run.returncode, run.stderr) == (0, b"")
    events = [json.loads(line) for line in run.stdout.splitlines()]
    ends = [e["message"] for e in events if e["type"] == "message_end"]
    assert [m["role"] for m in ends] == ["user", "assistant", *["toolResult"] * 2, "assistant"]
    assert ends[-1]["content"][-1]["text"] == "It holds a needle."
    thought = [b for m in ends for b in m["content"] if b["type"] == "thinking"]
    assert [b["thinking"] for b in thought] == ["Both at once.", "Now I know."]
    done = [e for e in events if e["type"] == "tool_execution_end"]
    assert {e["tool_name"] for e in done} == {"read", "grep"}
    assert not any(e["is_error"] for e in done)
    assert "needle" in json.dumps(ends[2]) and "needle" in json.dumps(ends[3])
    assert len(asked(aimock, "think and look")) == 2


@pytest.mark.parametrize(
    ("said", "code", "words", "tries"),
    [
        ("overloaded", 75, ["So busy", "529", "overloaded_error"], 3),
        ("rate limit", 75, ["Too fast", "429", "1 s"], 3),
        ("odd", 1, ["How odd", "400", "invalid_request_error"], 1),
        ("who am i", 1, ["No such key", "401", "API key"], 1),
        ("cut", 75, ["broke off"], 3),
    ],
)
def test_aimock_faults(
    said: str, code: int, words: list[str], tries: int, aimock: Peer, aimock_runs: dict[str, Run]
) -> None:
    run = aimock_runs[said].result()
    error = run.stderr.decode()
    assert run.returncode == code, error
    assert len(error.splitlines()) == tries, error
    assert all(word in error.splitlines()[-1] for word in words), error
    assert len(asked(aimock, said)) == tries
    if said == "cut":
        value = json.loads(run.stdout)
        assert value["stop_reason"] == "error"
        assert value["result"] and SAID.startswith(value["result"]), "what had come is kept"


def test_aimock_an_answer_that_is_no_stream(aimock: Peer, aimock_runs: dict[str, Run]) -> None:
    """It is not tried again, since it would come again: so it is no passing fault either."""
    run = aimock_runs["no stream"].result()
    assert len(asked(aimock, "no stream")) == 1
    assert b"base_url" in run.stderr
    assert run.returncode == 1


def test_aimock_on_the_screen(aimock_terminal: Terminal) -> None:
    terminal = aimock_terminal
    (terminal.cwd / "note.txt").write_text("a needle\n", encoding="utf-8")
    terminal.wait_ready()
    for said, words in (
        ("greet", ["Hello from the other server."]),
        ("think and look", ["It holds a needle.", "✓ read", "✓ grep"]),
        ("odd", ["How odd", "400"]),
        ("who am i", ["No such key", "401"]),
        ("cut", ["✗", "broke off", "This answer"]),
        ("overloaded", ["So busy", "529"]),
    ):
        terminal.say(said)
        terminal.wait_for(all_words(words))
        terminal.wait_ready()
        terminal.say("/clear")
        terminal.wait_gone(words[0])


# --- llmock ---------------------------------------------------------------------------------

NOTE = [{"name": "read", "arguments": {"path": "note.txt"}}]
TWO = [*NOTE, {"name": "list", "arguments": {}}]
LLMOCK: dict[str, list[dict[str, Any]]] = {
    "text": [{"type": "reply", "text": "Words from the second server."}],
    "tools": [
        {"type": "reply", "tool_calls": TWO},
        {"type": "reply", "text": "Both tools have run."},
    ],
    "recovers": [
        {"type": "fail", "status": 429, "retry_after": 1, "times": 2},
        {"type": "reply", "text": "Now it works."},
    ],
    "down": [{"type": "fail", "status": 529, "times": None}],
    "bad": [{"type": "fail", "status": 400, "times": None}],
    "no-key": [{"type": "fail", "status": 401, "times": None}],
    "dropped": [
        {"type": "reply", "text": SAID, "times": None},
        {"type": "stream_fault", "kind": "disconnect", "after_chunks": 4, "times": None},
    ],
    "truncated": [
        {"type": "reply", "text": SAID, "times": None},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 4, "times": 2},
    ],
    "garbled": [
        {"type": "reply", "text": SAID, "times": None},
        {"type": "stream_fault", "kind": "malformed", "after_chunks": 4, "times": 2},
    ],
    "broken-call": [{"type": "tool_fault", "kind": "malformed_arguments"}],
    "unknown-tool": [{"type": "tool_fault", "kind": "unknown_tool"}],
}


@pytest.fixture(scope="module")
def llmock(request: pytest.FixtureRequest) -> Iterator[Peer]:
    """Each list of behaviours is for the model of its name, so that runs do not mix."""
    with start_llmock(request.config) as peer:
        for name, behaviours in LLMOCK.items():
            match = {"model": f"*{name}"}
            peer.post(
                "/_llmock/scenario", {"behaviors": [b | {"match": match} for b in behaviours]}
            )
        yield peer


@pytest.fixture(scope="module")
def llmock_runs(llmock: Peer, begin: Begin, folder: Callable[[str], Path]) -> dict[str, Run]:
    home = folder("llmock")
    (home / "work").mkdir()
    (home / "work" / "note.txt").write_text("a needle\n", encoding="utf-8")
    at = ["--base-url", f"{llmock.url}/anthropic", "--output", "json", "--no-session"]
    return {name: begin(*at, "-p", "look", "--model", name, home=home) for name in LLMOCK}


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("text", "Words from the second server."),
        ("tools", "Both tools have run."),
        ("recovers", "Now it works."),
        ("truncated", SAID),
        ("garbled", SAID),
    ],
    ids=["text", "tools", "recovers", "truncated", "garbled"],
)
def test_llmock_answers(name: str, result: str, llmock_runs: dict[str, Run]) -> None:
    run = llmock_runs[name].result()
    assert run.returncode == 0, run.stderr
    value = json.loads(run.stdout)
    assert value["result"] == result
    results = [m for m in value["messages"] if m["role"] == "toolResult"]
    if name == "tools":
        assert len(results) == 2
        assert "needle" in json.dumps(results[0]) and "note.txt" in json.dumps(results[1])
    waits = run.stderr.decode().splitlines()
    words = {"recovers": "429", "truncated": "cut off", "garbled": "not valid JSON"}.get(name)
    assert len(waits) == (2 if words else 0), "each wait is told"
    assert all(words is not None and words in wait for wait in waits)
    assert [m["role"] for m in value["messages"]].count("assistant") == 1 + (name == "tools")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("down", 75, ["529", "busy"]),
        ("bad", 1, ["400", "invalid_request_error"]),
        ("no-key", 1, ["401", "authentication_error", "API key"]),
        ("dropped", 75, ["broke off"]),
    ],
)
def test_llmock_faults(name: str, code: int, words: list[str], llmock_runs: dict[str, Run]) -> None:
    run = llmock_runs[name].result()
    error = run.stderr.decode()
    assert run.returncode == code, error
    assert all(word in error.splitlines()[-1] for word in words), error
    value = json.loads(run.stdout)
    assert value["stop_reason"] == "error"
    assert SAID.startswith(value["result"])


@pytest.mark.parametrize("name", ["broken-call", "unknown-tool"])
def test_llmock_a_call_that_cannot_run_is_answered(name: str, llmock_runs: dict[str, Run]) -> None:
    run = llmock_runs[name].result()
    assert run.returncode == 0, run.stderr
    value = json.loads(run.stdout)
    (result,) = [m for m in value["messages"] if m["role"] == "toolResult"]
    assert result["is_error"] is True
    assert value["result"].startswith("Hello"), "the run goes on with the error's result"


def test_llmock_finds_nothing_wrong_with_this_client(
    llmock: Peer, llmock_runs: dict[str, Run]
) -> None:
    """Its verdict: retry-after kept, nothing final tried again, no cut stream taken as whole."""
    for run in llmock_runs.values():
        run.result()
    verdict = llmock.get("/_llmock/verdict")
    # A short garbled stream is sent whole before this client can leave it; that it was tried
    # again is asserted above.
    codes = {finding["code"] for finding in verdict["findings"]} - {"malformed_chunk_ignored"}
    assert codes == set(), verdict
    assert verdict["faults_injected"] >= 14, "the server did break things"


def test_llmock_on_the_screen(llmock: Peer, open_terminal: Open) -> None:
    match = {"model": "on-screen"}
    script: list[dict[str, Any]] = [
        {"type": "reply", "tool_calls": NOTE},
        {"type": "reply", "text": "The note was read."},
        {"type": "fail", "status": 429, "retry_after": 30},
    ]
    script = [behaviour | {"match": match} for behaviour in script]
    terminal = open_terminal("--base-url", f"{llmock.url}/anthropic", "--model", "on-screen")
    (terminal.cwd / "note.txt").write_text("a needle\n", encoding="utf-8")
    terminal.wait_ready()
    llmock.post("/_llmock/scenario", {"behaviors": script[:2]})
    terminal.say("read my note")
    terminal.wait_for(all_words(["✓ read", "The note was read."]))
    terminal.wait_ready()
    llmock.post("/_llmock/scenario", {"behaviors": script[2:]})
    terminal.say("once more")
    terminal.wait_for(all_words(["429", "trying again in 30"]))
    terminal.send(b"\x1b")
    terminal.wait_ready()
    terminal.say("/quit")
    assert terminal.exit_code() == 0
