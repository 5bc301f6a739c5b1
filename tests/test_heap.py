"""What is let go of goes back to the system, also after a very large block was freed."""

import gc
import platform
import subprocess
import sys

import pytest

from agent_tui import heap

HOLES = """
import sys
from agent_tui import heap

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 1_000_000

if "tight" in sys.argv:
    heap.keep_tight()
before = resident()
large = bytearray(30_000_000)
del large  # from now on glibc's own bound for blocks that are mapped is 30 MB
pinned = []
for _ in range(60):
    block = bytearray(1_000_000)
    pinned.append(bytearray(20_000))  # stays, right behind what goes
    pinned.append(block)
del pinned[1::2], block
print(resident() - before)
"""


def megabytes(*argv: str) -> int:
    ran = subprocess.run(
        [sys.executable, "-c", HOLES, *argv], capture_output=True, text=True, check=True, timeout=60
    )
    return int(ran.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a policy of glibc")
def test_freed_blocks_leave_no_holes() -> None:
    assert megabytes() > 40, "glibc keeps no holes any more: heap.keep_tight can go"
    assert megabytes("tight") < 10


def test_the_collector_passes_over_what_is_there_to_stay() -> None:
    gc.collect()
    gc.disable()
    before = gc.get_freeze_count()
    try:
        heap.settle()
        assert gc.isenabled()
        assert gc.get_freeze_count() - before > 1000
    finally:
        gc.enable()
        gc.unfreeze()
