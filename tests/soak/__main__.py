"""make soak: the long runs, with the seed they can be repeated by.

python -m soak [--seed S] [--actions N] [--kills N]      (with tests/ on PYTHONPATH)
"""

import argparse
import asyncio
import random
import secrets
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from .driver import Soak
from .kills import KilledConversation, draw_kills
from .program import Launcher

KILLS_OF_ONE = 5


async def random_actions(seed: str, actions: int, launcher: Launcher) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="agent-tui-soak-"))
    soak = Soak(seed, actions, folder, launcher)
    began = time.monotonic()
    try:
        await soak.run()
    except Exception:
        print("\n".join(soak.recent))
        traceback.print_exc()
        print(f"FAILED after {soak.histogram.total()} actions; its files: {folder}")
        return False
    finally:
        print(table(soak.histogram))
    seconds = time.monotonic() - began
    print(f"{soak.histogram.total()} actions, {soak.requests} requests, {seconds:.0f} s")
    return True


async def random_kills(seed: str, count: int, launcher: Launcher) -> bool:
    kills = draw_kills(random.Random(seed), count)
    reached: Counter[str] = Counter()
    good = True
    for start in range(0, count, KILLS_OF_ONE):
        folder = Path(tempfile.mkdtemp(prefix="agent-tui-kills-"))
        conversation = KilledConversation(f"{seed} {start}", folder, launcher)
        try:
            await conversation.run(kills[start : start + KILLS_OF_ONE])
            conversation.check()
        except Exception:
            good = False
            traceback.print_exc()
            print(f"FAILED: {kills[start : start + KILLS_OF_ONE]}; its files: {folder}")
        reached.update(conversation.ledger.reached)
    print(f"{reached.total()} kills: " + ", ".join(f"{n} {k}" for k, n in sorted(reached.items())))
    return good


def table(histogram: Counter[tuple[str, str]]) -> str:
    """Actions by the status they met."""
    statuses = ("ready", "waiting", "streaming", "tools", "stopping")
    rows = [["", *statuses, "all"]]
    for action in sorted({action for action, _ in histogram}):
        counts = [histogram[action, status] for status in statuses]
        rows.append([action, *(str(n or "") for n in counts), str(sum(counts))])
    sums = [sum(n for (_, s), n in histogram.items() if s == status) for status in statuses]
    rows.append(["all", *map(str, sums), str(sum(sums))])
    lines = ["".join(cell.rjust(11) if i else cell.ljust(16) for i, cell in enumerate(row))
             for row in rows]  # fmt: skip
    share = 100 * (sum(sums) - sums[0]) / max(1, sum(sums))
    return "\n".join([*lines, f"{share:.0f} % while a run was on"])


async def main() -> int:
    parser = argparse.ArgumentParser(description="Random commands and kills, for long.")
    parser.add_argument("--seed", default=secrets.token_hex(4))
    parser.add_argument("--actions", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=200)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    launcher = Launcher()
    try:
        good = True
        if options.actions:
            good &= await random_actions(options.seed, options.actions, launcher)
        if options.kills:
            good &= await random_kills(options.seed, options.kills, launcher)
    finally:
        launcher.close()
    print("all is well" if good else f"something is wrong (seed {options.seed})")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
