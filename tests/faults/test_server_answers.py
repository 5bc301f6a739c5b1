"""What a server can answer wrongly, to the installed command: one clear message for each, the
right exit code, in every form of output and on the screen; and nothing half-said is run.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import (  # noqa: F401 - fixtures
    Begin,
    Open,
    Run,
    Serve,
    begin,
    folder,
    open_terminal,
    serve,
)
from tests.e2e.servers import OfflineProcess, free_port
from tests.e2e.terminal import SLOW, Terminal, all_words, flow

HALF = "I begin to say something and"
RUNS = {"name": "shell", "input": {"command": "touch it-ran"}}


class Fault:
    """A turn; the exit code, words of the message, how many requests are right, the form of
    output this fault is tried with, and words on the screen where they are others."""

    def __init__(
        self,
        code: int,
        words: list[str],
        tries: int,
        output: str,
        screen: list[str] | None = None,
        **turn: Any,
    ) -> None:
        self.code, self.words, self.tries, self.output, self.turn = code, words, tries, output, turn
        self.screen = screen or words


FAULTS: dict[str, Fault] = {
    "529 with retry-after": Fault(
        75, ["overloaded_error", "529", "busy"], 3, "text", status=529, retry_after=0
    ),
    "429 for long": Fault(
        75, ["rate_limit_error", "3600 s"], 1, "json", status=429, retry_after=3600
    ),
    "500": Fault(75, ["api_error", "500"], 3, "stream-json", status=500, retry_after=0),
    "400": Fault(
        1,
        ["400", "invalid_request_error", "messages: too odd", "Request id: req_"],
        1,
        "json",
        status=400,
        error="messages: too odd",
    ),
    "401": Fault(1, ["401", "authentication_error", "API key"], 1, "text", status=401),
    "413": Fault(1, ["413", "request_too_large", "too big"], 1, "stream-json", status=413),
    "cut connection": Fault(
        75, ["broke off"], 3, "text", text=HALF, tool_calls=[RUNS], cut=True
    ),
    "body that just ends": Fault(
        75, ["cut off before its end"], 3, "json", text=HALF, tool_calls=[RUNS], cut="clean"
    ),
    "error in the stream": Fault(
        75, ["overloaded_error"], 3, "stream-json", text=HALF, sse_error="overloaded_error"
    ),
    "refusal": Fault(
        3,
        ["declined", "(weapons)", "It is about weapons"],
        1,
        "text",
        ["declined", "It is about weapons"],
        text=HALF,
        stop_reason="refusal",
        stop_details={"category": "weapons", "explanation": "It is about weapons."},
    ),
    "output limit": Fault(
        3, ["max_tokens"], 1, "json", ["it reached its limit"],
        text=HALF, tool_calls=[RUNS], stop_reason="max_tokens",
    ),
    "full context": Fault(
        3, ["context window"], 1, "stream-json", text=HALF,
        stop_reason="model_context_window_exceeded",
    ),
    "unknown stop": Fault(
        1, ["brand_new_reason"], 1, "json", text=HALF, tool_calls=[RUNS],
        stop_reason="brand_new_reason",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:  # noqa: F811
    turns = [{"match": f"try {name} now", "repeat": True} | f.turn for name, f in FAULTS.items()]
    return serve([{"match": "all well", "text": "It goes on.", "repeat": True}, *turns])


@pytest.fixture(scope="module")
def runs(
    server: OfflineProcess,
    begin: Begin,  # noqa: F811
    folder: Callable[[str], Path],  # noqa: F811
) -> dict[str, tuple[Path, Run]]:
    """A run for each fault, some beside each other: most only wait for the next try."""
    started: dict[str, tuple[Path, Run]] = {}
    for name, fault in FAULTS.items():
        home = folder("fault")
        argv = ["--base-url", server.url, "--allow", "shell", "--output", fault.output]
        started[name] = (home, begin(*argv, "-p", f"try {name} now", home=home))
    return started


@pytest.mark.parametrize("name", FAULTS)
def test_in_print_mode(
    name: str, runs: dict[str, tuple[Path, Run]], server: OfflineProcess
) -> None:
    fault = FAULTS[name]
    home, future = runs[name]
    run = future.result()
    error = run.stderr.decode()
    assert run.returncode == fault.code, error
    last = error.splitlines()[-1]
    assert all(word in last for word in fault.words), error
    assert "Traceback" not in error
    assert all(line.startswith("agent-tui: ") for line in error.splitlines())
    assert len(server.requests(f"try {name} now")) == fault.tries
    assert not (home / "work" / "it-ran").exists(), "a call of a broken answer ran"

    said = fault.turn.get("text", "")
    out = run.stdout.decode()
    match fault.output:
        case "text":
            assert out == (f"{said}\n" if said else "")
        case "json":
            value = json.loads(out)
            assert value["result"] == said
            assert value["stop_reason"] == fault.turn.get("stop_reason", "error")
            assert value["messages"][0]["role"] == "user"
        case _:
            events = [json.loads(line) for line in out.splitlines()]
            ends = [e["message"] for e in events if e["type"] == "message_end"]
            answer = next(m for m in reversed(ends) if m["role"] == "assistant")
            assert answer["stop_reason"] == fault.turn.get("stop_reason", "error")
            kinds = [e["type"] for e in events]
            assert "agent_end" in kinds
            assert "turn_end" in kinds


def test_no_server_in_print_mode(begin: Begin) -> None:  # noqa: F811
    url = f"http://127.0.0.1:{free_port()}"
    run = begin("--base-url", url, "-p", "hi", "--output", "json").result()
    assert run.returncode == 75
    error = run.stderr.decode().splitlines()
    assert len(error) == 3, "each try is told"
    assert all(word in error[-1] for word in (url.removeprefix("http://"), "base_url"))
    assert json.loads(run.stdout)["stop_reason"] == "error"


# --- on the screen ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def terminal(server: OfflineProcess, open_terminal: Open) -> Terminal:  # noqa: F811
    return open_terminal("--base-url", server.url, "--allow", "shell", rows=45)


@pytest.mark.parametrize("name", FAULTS)
def test_on_the_screen(name: str, terminal: Terminal, server: OfflineProcess) -> None:
    fault = FAULTS[name]
    terminal.wait_ready()
    before = len(server.requests())
    terminal.say(f"try {name} now")
    server.wait_requests(before + fault.tries)
    terminal.wait_ready()
    terminal.wait_for(all_words(fault.screen))
    assert f"❯ try {name} now" in terminal.screen()
    if said := fault.turn.get("text"):
        terminal.wait_for(lambda screen: said in flow(screen))  # what had come is kept
    assert not (terminal.cwd / "it-ran").exists(), "a call of a broken answer ran"

    terminal.say(f"all well after {name}?")
    (request,) = server.wait_requests(1, f"all well after {name}?")
    assert (request.status, request.rule) == (200, None), request.error
    terminal.wait_for("It goes on.")
    terminal.wait_ready()
    terminal.say("/clear")
    terminal.wait_gone("It goes on.")


def test_no_server_on_the_screen(open_terminal: Open) -> None:  # noqa: F811
    url = f"http://127.0.0.1:{free_port()}"
    terminal = open_terminal("--base-url", url, "is anybody there?")
    terminal.wait_for("trying again", timeout=20)
    terminal.wait_ready()
    terminal.wait_for(all_words(["✗", url.removeprefix("http://"), "base_url"]))
    terminal.say("/quit")
    assert terminal.exit_code() == 0


def test_ctrl_c_and_quit_work_while_a_request_is_silent(
    serve: Serve,  # noqa: F811
    open_terminal: Open,  # noqa: F811
) -> None:
    server = serve([{"hang": "before_headers", "repeat": True}])
    terminal = open_terminal("--base-url", server.url, "are you there?")
    server.wait_requests(1, ended=False)
    terminal.wait_status("waiting")
    terminal.send(b"\x03")
    terminal.wait_ready()
    assert server.wait_requests(1)[0].closed_by_client
    terminal.say("and now?")
    server.wait_requests(2, ended=False)
    terminal.say("/quit")
    assert terminal.exit_code(5 * SLOW) == 0
    assert server.wait_requests(2)[1].closed_by_client
