"""What a killed program leaves behind is ended (faults C04, C19)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent_tui.processes import process

ROOT = Path(__file__).resolve().parent.parent
STUBBORN = (
    "trap '' TERM HUP INT; echo $$ > {pid}.new; mv {pid}.new {pid}; while :; do sleep 1; done"
)
PROGRAM = """
import subprocess, sys, time
from agent_tui.reaper import reaper
for command in sys.argv[2:]:
    child = subprocess.Popen(["sh", "-c", command], start_new_session=True)
    reaper.watch(child.pid)
    if command.endswith("# let-go"):
        reaper.forget(child.pid)
open(sys.argv[1], "w").close()
if sys.argv[1].endswith("quit"):
    reaper.stop()
time.sleep(60)
"""


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    known = process(pid)
    return known is not None and known.alive


@pytest.fixture
def children(tmp_path: Path) -> Iterator[list[int]]:
    pids: list[int] = []
    yield pids
    for pid in pids:
        if alive(pid):
            os.killpg(pid, signal.SIGKILL)


def run(tmp_path: Path, children: list[int], *names: str, ready: str = "ready") -> subprocess.Popen:
    commands = [STUBBORN.format(pid=tmp_path / name) + f" # {name}" for name in names]
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path / ready), *commands],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    until(lambda: all((tmp_path / name).exists() for name in (*names, ready)))
    children += [int((tmp_path / name).read_text()) for name in names]
    return program


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_children_that_ignore_signals_end_with_the_program(
    tmp_path: Path, children: list[int], number: signal.Signals
) -> None:
    program = run(tmp_path, children, "one", "two")
    assert all(map(alive, children))
    program.send_signal(number)
    program.wait(10)
    until(lambda: not any(map(alive, children)), 5)


def test_what_was_forgotten_is_let_be(tmp_path: Path, children: list[int]) -> None:
    program = run(tmp_path, children, "kept", "let-go")
    program.kill()
    program.wait(10)
    until(lambda: not alive(children[0]), 5)
    assert alive(children[1])


def test_a_stopped_reaper_ends_nothing(tmp_path: Path, children: list[int]) -> None:
    program = run(tmp_path, children, "one", ready="ready-quit")
    program.kill()
    program.wait(10)
    with pytest.raises(AssertionError):
        until(lambda: not alive(children[0]), 1.5)
