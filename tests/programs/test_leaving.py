"""The interpreter ends cleanly, whatever state its sandboxes are in, and leaves no process."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

BODY = """
import asyncio, threading, time
from agent_tui.programs import HostFunction
from agent_tui.programs.monty import MontySandbox

TOOLS = {"read": HostFunction("read", {"type": "object"})}

async def main():
    box = MontySandbox()
    session = await box.open()
    print((await session.start("print('ran')", TOOLS)).stdout.strip())
    print(session._pid, flush=True)
    await session.start("await read()", TOOLS)
    %s

asyncio.run(main())
"""

ENDINGS = {
    "closed": "box.close()",
    "left-paused": "pass",
    "left-computing": (
        "other = await box.open()\n"
        "    asyncio.ensure_future(other.start('while True: pass', TOOLS))\n"
        "    await asyncio.sleep(0.1)\n"
        "    box.close()"
    ),
    "left-raising": "raise SystemExit(0)",
}


@pytest.mark.parametrize("ending", list(ENDINGS.values()), ids=list(ENDINGS))
def test_an_interpreter_ends_without_an_abort(ending: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BODY % ending], capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ran\n")


def test_a_killed_interpreter_leaves_no_worker() -> None:
    body = BODY % "import os; os._exit(0)"
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, timeout=20)
    worker = int(done.stdout.splitlines()[1])
    end = time.monotonic() + 10
    while Path(f"/proc/{worker}/cmdline").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not Path(f"/proc/{worker}/cmdline").exists()


def test_importing_the_room_does_not_load_the_interpreter() -> None:
    code = "import sys, agent_tui.programs; print('pydantic_monty' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert done.stdout == "False\n"
