"""Any SDK client can run programs against `agent-tui offline serve`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def serve_command() -> Iterator[Any]:
    """serve_command(*arguments): the URL of the installed command's server."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> str:
        command = [str(Path(sys.executable).parent / "agent-tui"), "offline", "serve"]
        process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout
        line = process.stdout.readline()
        assert line.startswith("listening on "), line
        return line.removeprefix("listening on ").strip()

    yield start
    for process in running:
        process.terminate()
        assert process.wait(10) == 0


def test_the_bare_sdk_completes_a_programmatic_run(serve_command: Any) -> None:
    """Three calls at once and a loop of 20 in one container, streamed and not."""
    from foreign_client import converse

    url = serve_command("--speed", "0")
    for stream in (True, False):
        answers = converse(url, "run a program", stream=stream)
        calls = [[b for b in a.content if b.type == "tool_use"] for a in answers]
        assert [len(c) for c in calls] == [3, *[1] * 20, 0]
        assert {c.name for made in calls for c in made} == {"roll_die"}
        assert {c.caller.type for made in calls for c in made} == {"code_execution_20260120"}
        assert all(c.input == {"player": "example"} for made in calls for c in made)
        assert len({a.container.id for a in answers}) == 1
        assert [a.stop_reason for a in answers] == [*["tool_use"] * 21, "end_turn"]
        result, text = answers[-1].content
        assert result.type == "code_execution_tool_result"
        assert result.content.return_code == 0, result.content.stderr
        # The loop's results are "1" each: one call a message.
        assert "20 calls in a loop: 20 characters" in result.content.stdout
        assert "The program made 23 calls" in text.text
