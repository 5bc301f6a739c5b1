"""However the program dies, none of its servers outlives it (fault C19)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.processes import process
from tests.mcp_servers.conftest import ZOO, Keeper, text_of

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import asyncio, sys
from agent_tui.mcp_servers.config import parse_server
from agent_tui.mcp_servers.manager import McpManager

async def main():
    manager = McpManager(".", on_event=lambda event: None, cap_text=None)
    for kind in ("Stubborn", "LeavesAChild"):
        args = ["-S", "-E", "-u", sys.argv[1], kind]
        raw = {"command": sys.executable, "args": args, "env": {"ZOO_DIARY": sys.argv[2]}}
        manager.add(parse_server(kind, raw))
    await manager.wait_ready(30)
    print("ready" if {s.state for s in manager.snapshots()} == {"connected"} else "not", flush=True)
    if sys.argv[3] == "return":
        return
    await asyncio.sleep(60)

asyncio.run(main())
"""


def until(condition: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["KILL", "TERM", "HUP", "return"])
def test_nothing_outlives_the_program(tmp_path: Path, how: str):
    diary = tmp_path / "diary"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(ZOO), str(diary), how],
        stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert program.stdout is not None and program.stdout.readline() == "ready\n"
    entries = [json.loads(line) for line in diary.read_text().splitlines()]
    pids = [pid for entry in entries for pid in entry.get("pids", [])]
    assert len(pids) == 4
    if hasattr(signal, f"SIG{how}"):
        assert all(process(pid) for pid in pids)
        program.send_signal(getattr(signal, f"SIG{how}"))
    program.wait(20)
    until(lambda: not [p for p in pids if (known := process(p)) and known.alive], 8)


class Recorder:
    """In place of the reaper: what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def watch(self, group: int) -> None:
        self.told.append(("watch", group))

    def forget(self, group: int) -> None:
        self.told.append(("forget", group))


async def test_the_reaper_is_told_of_every_process_and_of_its_end(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
):
    """The other tests here may be helped by another program's reaper."""
    recorder = Recorder()
    monkeypatch.setattr("agent_tui.mcp_servers.server_process.reaper", recorder)
    keeper.add("zoo", "Plain")
    await keeper.ready()
    pid = int(text_of(await keeper.call("zoo__pid")))
    assert recorder.told == [("watch", pid)]
    await keeper.manager.close()
    assert recorder.told == [("watch", pid), ("forget", pid)]
