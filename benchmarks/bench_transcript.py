"""What the transcript costs: CPU, event-loop gaps and memory for a streamed text.

    python benchmarks/bench_transcript.py [dense|prose|code|list|table|line] [--size MB] [--width N]

The text comes in 20-character deltas as fast as the loop takes them, the producer yielding
after 8 ms of work as the agent does. Figures are of this process: a ratio to another run on
the same machine tells more than their size.
"""

import argparse
import asyncio
import gc
import resource
import statistics
import time

from textual.app import App, ComposeResult

from agent_tui.agent.events import MessageStartEvent, MessageUpdateEvent, TextDeltaEvent
from agent_tui.agent.messages import AssistantMessage
from agent_tui.tui.glyphs import UNICODE
from agent_tui.tui.themes import DARK, DEFAULTS
from agent_tui.tui.transcript import Transcript

_PROSE = (
    "The cart asks the database for *each* line, so `total()` takes a second for a hundred "
    "lines; **batching** the prices makes it one query, as [the guide](https://example.org) says. "
)
_DENSE = """## What was found

- the first thing is `cart.total`
- the second is **much** larger
  - a nested one
  - and another

| file | calls | time |
|------|------:|-----:|
| cart.py | 120 | 1.2 s |
| prices.py | 3 | 0.1 s |

```python
def total(items):
    prices = db.prices(items)  # one query
    return sum(prices[i] for i in items)
```

1. measure
2. change
3. measure again

> Nothing is as slow as what nobody measured.

"""

TEXTS = {
    "dense": _DENSE,
    "prose": _PROSE * 3 + "\n\n",
    "code": "    value = compute(index, other) + 1  # a comment of this line\n",
    "list": "- an item with `code` and **bold** text in it\n",
    "table": "| a cell | another cell | 1,234 |\n",
    "line": _PROSE,
}
_HEADS = {"code": "```python\n", "table": "| one | two | three |\n|---|---|---|\n"}


def make(kind: str, size: int) -> str:
    unit = TEXTS[kind]
    return _HEADS.get(kind, "") + unit * (size // len(unit) + 1)


class Bench(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def on_mount(self) -> None:
        self.register_theme(DARK)
        self.theme = "dark"

    def compose(self) -> ComposeResult:
        yield Transcript(glyphs=UNICODE)


async def settled(transcript: Transcript) -> None:
    while not transcript.quiet:  # noqa: ASYNC110 - polling from outside, as a test would
        await asyncio.sleep(0.002)


async def run(kind: str, size: int, width: int, rate: int = 0) -> None:
    text = make(kind, size)
    app = Bench()
    async with app.run_test(size=(width, 50)):
        transcript = app.query_one(Transcript)
        message = AssistantMessage()
        transcript.apply(MessageStartEvent(message))
        gaps: list[float] = []
        over = False

        async def watch() -> None:
            last = time.thread_time()
            while not over:
                await asyncio.sleep(0.001)
                now = time.thread_time()
                gaps.append(now - last)
                last = now

        watcher = asyncio.create_task(watch())
        gc.collect()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin_cpu, begin = time.process_time(), time.perf_counter()
        tenths: list[float] = []
        mark = time.process_time()
        slice_end = time.perf_counter() + 0.008
        step = max(20, len(text) // 10 // 20 * 20)
        for at in range(0, len(text), 20):
            transcript.apply(MessageUpdateEvent(message.id, TextDeltaEvent(0, text[at : at + 20])))
            if rate and at % (20 * rate // 100) == 0:
                await asyncio.sleep(0.01)
            if time.perf_counter() > slice_end:
                await asyncio.sleep(0)
                slice_end = time.perf_counter() + 0.008
            if at and at % step == 0:
                await settled(transcript)
                tenths.append(time.process_time() - mark)
                mark = time.process_time()
        await settled(transcript)
        cpu, wall = time.process_time() - begin_cpu, time.perf_counter() - begin
        over = True
        await watcher
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        gaps.sort()
        p99, longest = gaps[len(gaps) * 99 // 100] * 1e3, gaps[-1] * 1e3
        print(
            f"{kind:6} {len(text) / 1e6:.2f} MB  cpu {cpu:.2f} s  wall {wall:.2f} s  "
            f"loop p50 {statistics.median(gaps) * 1e3:.1f}  p99 {p99:.1f}  max {longest:.1f} ms  "
            f"memory +{grown / 1024:.0f} MB  tenths {tenths[0]:.2f} .. {tenths[-1]:.2f} s"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", nargs="?", default="dense", choices=sorted(TEXTS))
    parser.add_argument("--size", type=float, default=1.0, help="megabytes")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    parser.add_argument("--width", type=int, default=110)
    parser.add_argument("--rate", type=int, default=0, help="deltas a second; 0: all it takes")
    options = parser.parse_args()
    size = int(options.size * (1e5 if options.quick else 1e6))
    asyncio.run(run(options.kind, size, options.width, options.rate))
