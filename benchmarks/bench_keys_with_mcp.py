"""Keys typed while MCP servers misbehave: how many are answered each second, and how late.

    python benchmarks/bench_keys_with_mcp.py [--seconds S]

The installed command in a pty, 60 keys a second into the draft while a turn runs: once with one
well-behaved server, once with the zoo of the tests (floods, crashes, megabytes, hundreds of tools,
servers that never answer). A key is answered when the draft on the screen has it.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.e2e.mcp_zoo import CALLS, animal, configured, wait_connected, zoo_calls, zoo_servers
from tests.e2e.servers import OfflineProcess
from tests.e2e.terminal import Terminal

KEYS_PER_S = 60
AT_LEAST = 0.95
"""Of the keys of a second, so many must be answered in it."""
MEGABYTES = 6


def measure(folder: Path, servers: dict[str, Any], calls: list[Any], seconds: float) -> list[float]:
    """Seconds from the press of each key to its letter on the screen."""
    api = OfflineProcess(folder / "api", [{"text": "All at once.", "tool_calls": calls}])
    allow = configured(folder, servers)
    terminal = Terminal("--base-url", api.url, "--allow", allow, home=folder, cols=190, rows=50)
    number = int(seconds * KEYS_PER_S)
    pressed: list[float] = []
    shown: list[float] = []

    def press() -> None:
        begun = time.monotonic()
        for n in range(number):
            time.sleep(max(0.0, begun + n / KEYS_PER_S - time.monotonic()))
            pressed.append(terminal.send("x"))

    def all_there(_: str) -> bool:
        now, there = time.monotonic(), min(terminal.draft().count("x"), number)
        shown.extend(now for _ in range(len(shown), there))
        return there == number

    try:
        terminal.wait_ready()
        wait_connected(terminal, len({call["name"].partition("__")[0] for call in calls}))
        terminal.say("go")
        terminal.wait_for("of 100000", timeout=60)
        typist = threading.Thread(target=press)
        typist.start()
        terminal.wait_for(all_there, timeout=seconds * 10)
        typist.join()
        return [at - before for before, at in zip(pressed, shown, strict=True)]
    finally:
        (folder / "gate").touch()
        terminal.close()
        api.stop()


def rate(late: list[float], seconds: float) -> float:
    """Keys answered each second, from the first press to the last letter."""
    return len(late) / (seconds - 1 / KEYS_PER_S + late[-1])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--quick", action="store_true", help="for two seconds")
    options = parser.parse_args()
    seconds = 2.0 if options.quick else options.seconds
    with tempfile.TemporaryDirectory() as name:
        quiet, wild = Path(name, "quiet"), Path(name, "zoo")
        slow = [call for call in zoo_calls(quiet) if call["name"] == "good__slow"]
        calls = zoo_calls(wild) + [{"name": "wild__megabytes", "input": {}}] * MEGABYTES
        found = {
            "one good server": measure(quiet, {"good": animal("Plain", quiet)}, slow, seconds),
            f"the zoo, {len(CALLS) + MEGABYTES} calls": measure(
                wild, zoo_servers(wild), calls, seconds
            ),
        }
    for who, late in found.items():
        ordered = sorted(late)
        print(
            f"{who:<24}{rate(late, seconds):6.1f} keys/s   "
            f"median {statistics.median(late) * 1000:4.0f} ms   "
            f"95 % {ordered[int(len(ordered) * 0.95)] * 1000:4.0f} ms   "
            f"longest {ordered[-1] * 1000:4.0f} ms"
        )
    alone, beside = (rate(late, seconds) for late in found.values())
    bound = AT_LEAST * min(KEYS_PER_S, alone)
    print(f"bound: {bound:.1f} keys/s")
    return 0 if beside >= bound else 1


if __name__ == "__main__":
    sys.exit(main())
