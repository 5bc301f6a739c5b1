"""`python -m agent_tui.offline`: the server in the foreground, as other programs start it."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from offline_helpers import ask, wait_for

Start = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """start(*arguments): (the process, the URL that it printed)."""
    running: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "agent_tui.offline", "--port", "0", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        running.append(process)
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:"), (
            process.stderr and process.stderr.read()
        )
        return process, line.removeprefix("listening on ").strip()

    yield run
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def post(url: str, body: Any) -> Any:
    headers = {"content-type": "application/json", "anthropic-version": "2026-10-21"}
    sent = urllib.request.Request(url + "/v1/messages", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(sent, timeout=10) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_ends_cleanly(start: Start, number: int) -> None:
    process, url = start("--speed", "0")
    assert "scripted" in post(url, ask("who are you?"))["content"][0]["text"]
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_scenario_and_a_log_that_outlives_a_kill(start: Start, tmp_path: Path) -> None:
    scenario, log = tmp_path / "s.json", tmp_path / "log.jsonl"
    scenario.write_text(
        json.dumps({"turns": [{"text": "one"}, {"text": "x", "hang": "mid_stream"}]})
    )
    process, url = start("--scenario", str(scenario), "--log", str(log))
    assert post(url, ask("first"))["content"][0]["text"] == "one"
    headers = {"content-type": "application/json", "anthropic-version": "2026-10-21"}
    body = json.dumps(ask("second") | {"stream": True}).encode()
    with urllib.request.urlopen(
        urllib.request.Request(url + "/v1/messages", body, headers), timeout=10
    ):
        wait_for(lambda: log.read_text().count("\n") == 3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["event"], line["n"]) for line in lines] == [
        ("start", 1),
        ("end", 1),
        ("start", 2),
    ]
    assert lines[2]["body"]["messages"][0]["content"] == "second"


def test_the_containers_behave_as_the_options_say(start: Start, tmp_path: Path) -> None:
    scenario = tmp_path / "s.json"
    waits = {"program": "await read()"}
    turns = [waits, {"program": "print('x' * 99)"}, {"program": "while True: pass"}, {"text": "x"}]
    scenario.write_text(json.dumps(turns))
    _, url = start(
        "--scenario", str(scenario), "--container-seconds", "3600", "--result-seconds", "0.1",
        "--output-chars", "10", "--program-seconds", "0.1", "--expired-answer", "untyped",
    )  # fmt: skip
    tools = [
        {"type": "code_execution_20260120", "name": "code_execution"},
        {
            "name": "read",
            "input_schema": {"type": "object"},
            "allowed_callers": ["code_execution_20260120"],
        },
    ]
    body = ask("go", tools=tools)
    answer = post(url, body)

    def container() -> Any:
        with urllib.request.urlopen(url + "/_containers", timeout=10) as listed:
            return json.loads(listed.read())[0]

    wait_for(lambda: container()["state"] == "idle", 10)
    left = datetime.fromisoformat(container()["expires_at"]) - datetime.now(UTC)
    assert 3000 < left.total_seconds() < 3601
    call = answer["content"][-1]
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "late"}
    body["messages"] += [
        {"role": "assistant", "content": answer["content"]},
        {"role": "user", "content": [result]},
    ]
    answer = post(url, body | {"container": answer["container"]["id"]})
    late, _, cut, _, endless, _ = answer["content"]
    assert "TimeoutError: read: no result within 0.1 seconds" in late["content"]["stderr"]
    assert cut["content"]["stdout"].startswith("x" * 10 + "\n[output cut")
    assert endless["content"]["error_code"] == "execution_time_exceeded"


@pytest.mark.parametrize(
    "command", [["-m", "agent_tui.offline"], ["-m", "agent_tui", "offline", "serve"]]
)
def test_an_answer_to_expiry_that_there_is_not(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *command, "--expired-answer", "later"],
        capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 2 and "later" in done.stderr and "untyped" in done.stderr


def test_what_is_wrong_is_one_line_and_exit_2(tmp_path: Path) -> None:
    scenario = tmp_path / "s.json"
    scenario.write_text('[{"txt": "x"}]')
    done = subprocess.run(
        [sys.executable, "-m", "agent_tui.offline", "--scenario", str(scenario)],
        capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "turns.0.txt: unknown key, did you mean `text`?\n"


def test_importing_the_server_brings_in_no_heavy_library() -> None:
    """uvicorn, starlette and the SDK are imported at start(), not before."""
    heavy = ("anthropic", "uvicorn", "starlette", "textual", "mcp", "pydantic_monty")
    source = (
        f"import agent_tui.offline.server, sys; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=20
    )
    assert done.stdout.strip() == "[]"
