"""`agent-tui rpc` as a process: its streams, its signals, its end (DESIGN: RPC, exit codes)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from agent_tui.offline import OfflineServer, Scenario

Json = dict[str, Any]
COMMAND = [str(Path(sys.executable).with_name("agent-tui")), "rpc"]
BOUND_S = 60

BUSY: Json = {
    "text": "Working.",
    "tool_calls": [{"name": "shell", "input": {"command": "sleep 600 & sleep 600"}}],
}


@pytest.fixture(scope="module")
def server() -> Iterator[OfflineServer]:
    """Every run begins with a tool that does not end by itself."""
    started = OfflineServer(scenario=Scenario(turns=[BUSY | {"repeat": True}]))
    started.start()
    yield started
    started.stop()


class Process:
    """The installed command; what it starts can be found by its environment."""

    def __init__(self, process: "subprocess.Popen[bytes]", mark: str) -> None:
        self.process = process
        self._mark = f"RPC_TEST={mark}".encode()
        assert process.stdin is not None and process.stdout is not None
        self.stdin: IO[bytes] = process.stdin
        self.stdout: IO[bytes] = process.stdout

    def send(self, *commands: Json) -> None:
        for number, command in enumerate(commands):
            self.stdin.write(json.dumps({"id": number} | command).encode() + b"\n")
        self.stdin.flush()

    def until(self, kind: str) -> Json:
        """The next line of this type."""
        for line in self.stdout:
            value = json.loads(line)
            if value["type"] == kind:
                return value
        raise AssertionError(f"it ended before a line of type {kind}")

    def work(self) -> None:
        """Into the middle of a run, with a command that runs."""
        self.send({"type": "prompt", "text": "Go."})
        self.until("tool_execution_start")
        deadline = time.monotonic() + BOUND_S
        while not any("sleep" in left for left in self.family()):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self) -> int:
        """Its exit code; that it ends at all, and leaves nothing."""
        code = self.process.wait(BOUND_S)
        assert self.family() == [], "what it started is gone with it"
        return code

    def family(self) -> list[str]:
        found: list[str] = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if self._mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
        return found


@contextmanager
def started(server: OfflineServer, folder: Path, **streams: Any) -> Iterator[Process]:
    arguments = ["--base-url", server.url, "--allow", "shell"]
    mark = folder.name
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=os.environ | {"RPC_TEST": mark},
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE} | streams,
    )
    try:
        yield Process(process, mark)
    finally:
        process.kill()
        process.wait(10)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def test_the_end_of_stdin_ends_a_run_and_leaves_nothing(
    server: OfflineServer, tmp_path: Path
) -> None:
    with started(server, tmp_path, stderr=subprocess.PIPE) as it:
        it.work()
        it.stdin.close()
        assert it.end() == 1, "what was asked for did not come about"
        assert it.process.stderr is not None
        (said,) = it.process.stderr.read().decode().splitlines()
        assert "stdin ended while a run was on, so it was stopped" in said and "keep stdin" in said
        rest = [json.loads(line) for line in it.stdout]
        assert rest[-1] == {"type": "status", "status": "ready"}, "all was written"
        assert "agent_end" in [line["type"] for line in rest]


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
)
def test_a_signal_ends_it_in_order(
    server: OfflineServer, tmp_path: Path, number: int, code: int
) -> None:
    with started(server, tmp_path) as it:
        it.work()
        it.process.send_signal(number)
        assert it.end() == code


def test_quit_is_answered_before_it_ends(server: OfflineServer, tmp_path: Path) -> None:
    with started(server, tmp_path) as it:
        it.work()
        it.send({"type": "quit", "id": "bye"})
        assert it.until("response") == {"type": "response", "id": "bye", "ok": True}
        assert it.end() == 0


def test_it_ends_when_nobody_reads_its_answers(server: OfflineServer, tmp_path: Path) -> None:
    with started(server, tmp_path) as it:
        it.work()
        it.stdout.close()
        it.send({"type": "state"})
        assert it.end() == 0


def test_it_ends_though_its_answers_are_left_unread(server: OfflineServer, tmp_path: Path) -> None:
    with started(server, tmp_path) as it:
        it.work()
        # Far more than a pipe holds; nobody takes it.
        it.send(*[{"type": "command", "text": "/help"}] * 300)
        it.stdin.close()
        assert it.end() == 1


def test_commands_may_come_from_a_file_and_end_without_a_newline(
    server: OfflineServer, tmp_path: Path
) -> None:
    commands = tmp_path / "commands.jsonl"
    commands.write_bytes(b'{"id": 1, "type": "state"}\r\n\n  \n{"id": 2, "type": "queue"}')
    with commands.open("rb") as file:
        done = subprocess.run(
            [*COMMAND, "--base-url", server.url],
            stdin=file, stdout=subprocess.PIPE, cwd=tmp_path, timeout=BOUND_S, check=True,
        )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(a["id"], a["ok"]) for a in answers] == [(1, True), (2, True)]


def test_no_input_at_all_ends_it_at_once(server: OfflineServer, tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--base-url", server.url],
        stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path, timeout=BOUND_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_a_key_it_says_so_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        COMMAND,
        stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path, timeout=BOUND_S, check=False,
        text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "--demo" in done.stderr
