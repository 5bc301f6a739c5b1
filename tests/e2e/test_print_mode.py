"""`agent-tui -p`: output, piped input, tools allowed or refused, limits, signals."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Begin, Run, Serve
from tests.e2e.servers import OfflineProcess, result_text
from tests.e2e.terminal import SLOW, group_lives, start_command, wait_until

LOOKING = {"name": "list", "input": {}}
MAKE = "echo made > made.txt; cat made.txt"
MAKING = {"text": "I make it.", "tool_calls": [{"name": "shell", "input": {"command": MAKE}}]}
PRICED = "claude-sonnet-5-5"

TURNS: list[dict[str, Any]] = [
    {"match": "greet", "thinking": "A greeting.", "text": "Hello.\nAnd welcome.", "repeat": True},
    MAKING | {"match": "make a file, refused"},
    MAKING | {"match": "make a file, allowed"},
    {"match": "make a file", "text": "That is all.", "repeat": True},
    {"match": "for ever", "tool_calls": [LOOKING], "repeat": True},
    {
        "match": "dear",
        "tool_calls": [LOOKING],
        "usage": {"input_tokens": 2_000_000, "output_tokens": 1_000_000},
        "repeat": True,
    },
    {"match": "be silent", "hang": "mid_stream", "text": "So far " * 20, "repeat": True},
    {
        "match": "hang in a command",
        "tool_calls": [{"name": "shell", "input": {"command": "echo $$ > pid; sleep 300 & wait"}}],
    },
]  # fmt: skip


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS, models=[PRICED])


@pytest.fixture(scope="module")
def homes(folder: Callable[[str], Path]) -> dict[str, Path]:
    return {name: folder(name) for name in ("refused", "allowed")}


@pytest.fixture(scope="module")
def runs(server: OfflineProcess, begin: Begin, homes: dict[str, Path]) -> dict[str, Run]:
    """Every run of this module that goes to its end by itself, beside each other."""
    at = ["--base-url", server.url]
    started = {
        "text": begin(*at, "-p", "greet me", stdin=b"the piped text\nof two lines\n"),
        "json": begin(*at, "-p", "greet as json", "--output", "json"),
        "stream-json": begin(*at, "-p", "greet as events", "--output", "stream-json"),
        "refused": begin(
            *at, "-p", "make a file, refused", "--output", "json", home=homes["refused"]
        ),
        "allowed": begin(
            *at, "-p", "make a file, allowed", "--allow", "grep,shell", home=homes["allowed"]
        ),
        "max-turns": begin(*at, "-p", "for ever and on", "--max-turns", "2"),
        "max-cost": begin(*at, "-p", "dear model", "--max-cost", "0.5"),
        "max-seconds": begin(*at, "-p", "be silent for long", "--max-seconds", "1.5"),
    }
    return started


def test_text_with_piped_input(runs: dict[str, Run], server: OfflineProcess) -> None:
    run = runs["text"].result()
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout == b"Hello.\nAnd welcome.\n"
    (request,) = server.requests("greet me")
    assert request.texts == ["greet me\n\nthe piped text\nof two lines"]


def test_json_is_one_object(runs: dict[str, Run]) -> None:
    run = runs["json"].result()
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.count(b"\n") == 1
    value = json.loads(run.stdout)
    assert set(value) == {"result", "stop_reason", "usage", "session_id", "messages"}
    assert value["result"] == "Hello.\nAnd welcome."
    assert value["stop_reason"] == "end_turn"
    assert [m["role"] for m in value["messages"]] == ["user", "assistant"]
    assert value["usage"]["output"] > 0
    assert value["session_id"]


def test_stream_json_is_a_line_for_each_event(runs: dict[str, Run]) -> None:
    run = runs["stream-json"].result()
    assert (run.returncode, run.stderr) == (0, b"")
    events = [json.loads(line) for line in run.stdout.splitlines()]
    kinds = [event["type"] for event in events]
    loop = [k for k in kinds if k.startswith(("agent_", "turn_"))]
    assert loop == ["agent_start", "turn_start", "turn_end", "agent_end"]
    updates = [e for e in events if e["type"] == "message_update"]
    text = "".join(e["event"]["delta"] for e in updates if e["event"]["type"] == "text_delta")
    assert text == "Hello.\nAnd welcome."
    thought = [e["event"]["delta"] for e in updates if e["event"]["type"] == "thinking_delta"]
    assert "".join(thought) == "A greeting."
    assert all(set(e) == {"type", "message_id", "event"} for e in updates), "no partial is repeated"
    ends = [e["message"]["role"] for e in events if e["type"] == "message_end"]
    assert ends == ["user", "assistant"]


def test_a_call_nobody_can_approve_is_refused(runs: dict[str, Run], server: OfflineProcess) -> None:
    run = runs["refused"].result()
    assert run.returncode == 0
    assert json.loads(run.stdout)["result"] == "That is all."
    _, second = server.requests("make a file, refused")
    (result,) = second.tool_results
    assert result["is_error"] is True
    assert "--allow shell" in result_text(result)


def test_allow_lets_a_tool_run(
    runs: dict[str, Run], server: OfflineProcess, homes: dict[str, Path]
) -> None:
    run = runs["allowed"].result()
    assert (run.returncode, run.stdout, run.stderr) == (0, b"That is all.\n", b"")
    _, second = server.requests("make a file, allowed")
    (result,) = second.tool_results
    assert not result.get("is_error")
    assert "made" in result_text(result)
    made = {name: home / "work" / "made.txt" for name, home in homes.items()}
    assert made["allowed"].read_text(encoding="utf-8") == "made\n"
    assert not made["refused"].exists()


@pytest.mark.parametrize(
    ("limit", "said", "requests"),
    [
        ("max-turns", "for ever and on", 2),
        ("max-cost", "dear model", 1),
        ("max-seconds", "be silent for long", 1),
    ],
)
def test_a_limit_ends_the_run(
    limit: str, said: str, requests: int, runs: dict[str, Run], server: OfflineProcess
) -> None:
    run = runs[limit].result()
    assert run.returncode == 3
    error = run.stderr.decode()
    assert limit.replace("-", "_") in error
    assert len(error.splitlines()) == 1, error
    assert len(server.requests(said)) == requests


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run(
    number: signal.Signals, code: int, server: OfflineProcess, tmp_path: Path
) -> None:
    said = f"be silent until {number.name}"
    argv = ["--base-url", server.url, "-p", said, "--output", "json"]
    with start_command(*argv, home=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.close()
        server.wait_requests(1, said, ended=False)
        process.send_signal(number)
        out, err = _rest(process)
    assert process.returncode == code
    assert b"Traceback" not in err
    assert json.loads(out)["stop_reason"] in ("aborted", None)
    (request,) = server.wait_requests(1, said)
    assert request.closed_by_client


def test_a_signal_ends_the_command_too(server: OfflineProcess, tmp_path: Path) -> None:
    argv = ["--base-url", server.url, "-p", "hang in a command", "--allow", "shell"]
    with start_command(*argv, home=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.close()
        file = tmp_path / "work" / "pid"
        pid = int(wait_until(lambda: file.exists() and file.read_text().strip(), 20))
        process.send_signal(signal.SIGTERM)
        _rest(process)
    assert process.returncode == 143
    wait_until(lambda: not group_lives(pid), 3, "the command has ended; that")


def _rest(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    process.wait(20 * SLOW)
    return process.stdout.read(), process.stderr.read()
