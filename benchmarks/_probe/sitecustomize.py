"""Watches the event loop of the program it is put before (PYTHONPATH): how late is it?

Every 5 ms a callback notes by how much it came too late. SIGUSR1 writes what was noted since
the last one to the file that AGENT_TUI_BENCH_GAPS names.
"""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

STEP_S = 0.005
_file = os.environ.get("AGENT_TUI_BENCH_GAPS")
_late: list[float] = []


def _watch(loop: asyncio.AbstractEventLoop) -> None:
    due = loop.time() + STEP_S

    def look() -> None:
        nonlocal due
        _late.append(time.monotonic() - due)
        due = loop.time() + STEP_S
        loop.call_at(due, look)

    loop.call_at(due, look)


def _write(*_: object) -> None:
    found = _late[:]
    _late.clear()
    assert _file is not None
    part = Path(f"{_file}.part")
    part.write_text(json.dumps(found))
    part.replace(_file)


if _file:
    signal.signal(signal.SIGUSR1, _write)
    _run = asyncio.Runner.run

    def run(self, coro, **options):
        self.get_loop().call_soon(_watch, self.get_loop())
        return _run(self, coro, **options)

    asyncio.Runner.run = run
