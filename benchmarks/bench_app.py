"""The installed command in a terminal, fed over HTTP, beside what it could be measured against.

    python benchmarks/bench_app.py [--quick] [--only PART[,PART...]]

The app runs in a pty of 120 x 40, panel and session on; the offline server answers from a
process of its own. Beside it, in the same run: the SDK's raw event loop over the same streams,
a bare Textual app, and a minimal one on Markdown.get_stream. A stream is over when its last line
shows; then the answer is copied and must be the text that was sent. docs/performance.md says
what is measured how. Exits 1 when something is wrong or a bound is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _gate import gated
from _terminal import AGENT_TUI, CTRL_U, BenchmarkError, Memory, Terminal
from _texts import text_of

HERE = Path(__file__).parent
DELTA_CHARS = 20
SLOW_RATE = 800
"""Characters a second of the stream beside which keys are timed."""
LETTERS = "абвгдежзиклмнопрстуфхцчшщыэюя"
"""What is typed for the latency: nothing of it stands on the screen before."""

DENSE_BOUND, PROSE_BOUND = 4.0, 2.5
FLAT_BOUND = 1.5
GAP_MS, GAP_BARE = 16.0, 2.0
KEY_MS = 50.0
PAINT_BOUND = 1.6
IDLE_BOUND = 1.0
PAINT_MB, ANSWER_MB, ALL_MB, ONE_MB, TEN_MB = 60.0, 130.0, 165.0, 20.0, 100.0
FAR_MS = 500.0


@dataclass(frozen=True)
class Sizes:
    """bytes of one answer, answers of the long conversation, bytes for Markdown.get_stream."""

    answer: int
    answers: int
    markdown: int
    paints: int
    keys: int


FULL = Sizes(1_000_000, 10, 20_000, 9, 60)
QUICK = Sizes(100_000, 4, 5_000, 5, 25)


class Table:
    def __init__(self) -> None:
        self.missed: list[str] = []

    def row(self, what: str, value: float, bound: float, unit: str = "", detail: str = "") -> None:
        good = value <= bound
        if not good:
            self.missed.append(what)
        number = f"{value:.2f}" if unit in ("", "x") else f"{value:.1f}"
        print(
            f"{'ok  ' if good else 'MISS'} {what:<58} {number:>8} <= {bound:<6g}{unit:<3} {detail}",
            flush=True,
        )

    def note(self, what: str, detail: str) -> None:
        print(f"     {what:<58} {detail}", flush=True)

    def wrong(self, what: str, why: str) -> None:
        self.missed.append(what)
        print(f"FAIL {what}: {why}", flush=True)


# --- the server ------------------------------------------------------------------------


def turn(said: str, text: str, **more: Any) -> dict[str, Any]:
    return {"match": said, "text": text, "chunk_size": DELTA_CHARS, "repeat": True, **more}


@dataclass
class Server:
    """The offline server in a process of its own, and the texts it answers with, by what is
    said."""

    url: str
    texts: dict[str, str]


@contextmanager
def serving(folder: Path, sizes: Sizes) -> Iterator[Server]:
    folder.mkdir(parents=True)
    texts = {
        "say hello": "Hello. That is all.",
        "dense please": text_of("dense", sizes.answer, end="The dense text ends here."),
        "prose please": text_of("prose", sizes.answer, end="The prose text ends here."),
        "slow please": text_of("dense", SLOW_RATE * 120),
        "markdown please": text_of("dense", sizes.markdown, end="all of it"),
    }
    for n in range(sizes.answers):
        texts[f"part {n} please"] = text_of(
            "dense", sizes.answer, first=200_000 + 10_000 * n, end=f"Part {n} ends here."
        )
    slow = {"chunk_delay_ms": 1000 * DELTA_CHARS / SLOW_RATE}
    turns = [turn(k, text, **(slow if k == "slow please" else {})) for k, text in texts.items()]
    scenario = folder / "scenario.json"
    scenario.write_text(json.dumps({"turns": turns, "models": ["bench"]}), "utf-8")
    server = subprocess.Popen(
        [sys.executable, "-m", "agent_tui.offline", "--scenario", str(scenario), "--speed", "0"],
        stdout=subprocess.PIPE, text=True, cwd=folder, env=os.environ | {"HOME": str(folder)},
    )  # fmt: skip
    try:
        assert server.stdout is not None
        yield Server(server.stdout.readline().split()[-1], texts)
    finally:
        server.terminate()
        server.wait()


# --- the app ---------------------------------------------------------------------------


class Bench:
    """One run: where things are, what is compared, what came out."""

    def __init__(self, folder: Path, server: Server, sizes: Sizes, table: Table) -> None:
        self.folder, self.server, self.sizes, self.table = folder, server, sizes, table
        self.ready_after = 0.0
        self._homes = 0
        self._raw: dict[str, float] = {}

    def home(self) -> Path:
        self._homes += 1
        return self.folder / f"home-{self._homes}"

    @contextmanager
    def app(self, *argv: str, probe: bool = False, home: Path | None = None) -> Iterator[Terminal]:
        """The installed command, ready."""
        argv = argv or ("--base-url", self.server.url)
        with Terminal([AGENT_TUI, *argv], home or self.home(), probe=probe) as terminal:
            self.ready_after = terminal.wait_status("ready") - terminal.started
            terminal.settle()
            yield terminal

    def textual(self, *argv: str, probe: bool = False) -> Terminal:
        script = str(HERE / "_textual_apps.py")
        return Terminal([sys.executable, script, *argv], self.home(), probe=probe)

    def raw_loop(self, said: str) -> float:
        """CPU seconds of the SDK's raw loop over the answer to this; the best of three."""
        if said not in self._raw:
            found: list[float] = []
            for _ in range(3):
                out = subprocess.run(
                    [sys.executable, str(HERE / "_raw_loop.py"), self.server.url, said],
                    capture_output=True, text=True, check=True,
                ).stdout  # fmt: skip
                read = json.loads(out)
                assert read["characters"] == len(self.server.texts[said]), read
                found.append(read["cpu"])
            self._raw[said] = min(found)
        return self._raw[said]

    def stream(self, terminal: Terminal, said: str) -> float:
        """Send this and wait for the last line of its answer and for rest; CPU seconds."""
        text = self.server.texts[said]
        before = terminal.cpu()
        at = terminal.say(said)
        last = text.rstrip("\n").rpartition("\n")[2]
        terminal.wait(last.encode(), at, 600)
        terminal.wait_status("ready", at)
        used = terminal.settle() - before
        copied = terminal.copy(b"\x1bc")
        if copied != text:
            same = os.path.commonprefix([copied, text])  # noqa: RUF071
            self.table.wrong(said, f"what was copied differs after {len(same)} characters")
        return used

    # --- the parts -----------------------------------------------------------------------

    def first_paint(self) -> None:
        """Until the app's prompt shows, and a bare app's text; and the memory then."""
        walls: dict[str, list[float]] = {"bare": [], "app": []}
        cpus: dict[str, list[float]] = {"bare": [], "app": []}
        memory: list[Memory] = []
        wanted = {"bare": b"bare and ready", "app": "❯".encode()}
        for _ in range(self.sizes.paints + 1):  # the first of each writes byte code
            for name, text in wanted.items():
                with (
                    self.textual("bare")
                    if name == "bare"
                    else Terminal(
                        [AGENT_TUI, "--base-url", self.server.url], self.home()
                    ) as terminal
                ):
                    at = terminal.wait_raw(text)
                    cpus[name].append(terminal.exact_cpu())
                    walls[name].append(at - terminal.started)
                    if name == "app":
                        memory.append(terminal.memory())
        med = {k: statistics.median(v[1:]) for k, v in walls.items()}
        cpu = {k: statistics.median(v[1:]) for k, v in cpus.items()}
        self.table.row("first paint: app / bare Textual app", med["app"] / med["bare"],
                       PAINT_BOUND, "x", f"{med['app']:.2f} s / {med['bare']:.2f} s; "
                       f"CPU {cpu['app']:.2f} s / {cpu['bare']:.2f} s")  # fmt: skip
        paint = statistics.median(m.rss for m in memory)
        pss = statistics.median(m.pss for m in memory)
        self.table.row("memory at first paint (resident)", paint, PAINT_MB, "MB", f"PSS {pss:.0f}")

    def dense(self) -> None:
        """One big answer of everything: CPU, gaps of the event loop, memory; idle before it."""
        with self.app(probe=True) as terminal:
            self.stream(terminal, "say hello")
            answered = terminal.memory()
            self.table.row("memory after the first answer", answered.rss, ANSWER_MB, "MB",
                           f"PSS {answered.pss:.0f}")  # fmt: skip
            terminal.gaps()
            used = self.stream(terminal, "dense please")
            gaps = terminal.gaps()
            after = terminal.memory()
        raw = self.raw_loop("dense please")
        size = len(self.server.texts["dense please"].encode()) / 1e6
        self.table.row(f"{size:.2g} MB of dense markdown: app / raw loop (CPU)", used / raw,
                       DENSE_BOUND, "x", f"{used:.2f} s / {raw:.2f} s")  # fmt: skip
        self.gap_rows(gaps)
        self.table.row(f"memory more after {size:.2g} MB", after.rss - answered.rss, ONE_MB, "MB",
                       f"{after.rss:.0f} resident, PSS {after.pss:.0f}")  # fmt: skip

    def gap_rows(self, gaps: Sequence[float]) -> None:
        with self.textual("counter", self.server.url, "dense please", probe=True) as bare:
            bare.wait(b"imported")
            bare.gaps()
            bare.wait(b"all read", seconds=300)
            beside = bare.gaps()
        mine, other = percentile(gaps, 99), percentile(beside, 99)
        bound = max(GAP_MS, GAP_BARE * other)
        self.table.row("event loop late while it streams, p99", mine, round(bound, 1), "ms",
                       f"p50 {percentile(gaps, 50):.1f}, longest {max(gaps):.0f}; bare app reading"
                       f" the same: p99 {other:.1f}, longest {max(beside):.0f}")  # fmt: skip

    def prose(self) -> None:
        with self.app() as terminal:
            self.stream(terminal, "say hello")
            used = self.stream(terminal, "prose please")
        raw = self.raw_loop("prose please")
        self.table.row("the same of prose: app / raw loop (CPU)", used / raw, PROSE_BOUND, "x",
                       f"{used:.2f} s / {raw:.2f} s")  # fmt: skip

    def flat(self) -> None:
        """The same stream through a gate that holds it at a tenth and at nine tenths."""
        text = self.server.texts["dense please"]
        total = len(text) // DELTA_CHARS
        with gated(self.server.url) as gate, self.app("--base-url", gate.url) as terminal:
            self.stream(terminal, "say hello")
            marks = [terminal.cpu()]
            gate.hold_at(total // 10, total * 9 // 10)
            at = terminal.say("dense please")
            for _ in range(2):
                gate.wait_held()
                marks.append(terminal.settle())
                gate.go_on()
            terminal.wait_status("ready", at, 300)
            marks.append(terminal.settle())
        first, last = marks[1] - marks[0], marks[3] - marks[2]
        self.table.row("CPU of its last tenth / of its first", last / first, FLAT_BOUND, "x",
                       f"{last:.2f} s / {first:.2f} s")  # fmt: skip

    def keys(self) -> None:
        """Beside a stream of 800 characters a second."""
        with self.app() as terminal:
            self.stream(terminal, "say hello")
            self.latency(terminal, "key until it shows, streaming 800 chars/s, p95")

    def latency(self, terminal: Terminal, what: str) -> None:
        at = terminal.say("slow please")
        terminal.wait_status("streaming", at)
        time.sleep(1)
        delays: list[float] = []
        while len(delays) < self.sizes.keys:
            for letter in LETTERS[: self.sizes.keys - len(delays)]:
                sent = time.monotonic()
                at = terminal.send(letter)
                delays.append(1000 * (terminal.wait_raw(letter.encode(), at) - sent))
                # Not in step with the frames of the screen.
                time.sleep(0.05 + 0.013 * (len(delays) % 7))
            terminal.send(CTRL_U)
            time.sleep(0.3)
        terminal.send(b"\x1b")
        terminal.wait_status("ready", at)
        self.table.row(what, percentile(delays, 95), KEY_MS, "ms",
                       f"p50 {percentile(delays, 50):.0f}, longest {max(delays):.0f}, "
                       f"{len(delays)} keys")  # fmt: skip

    def idle(self, terminal: Terminal, what: str, seconds: float = 5.0) -> None:
        terminal.settle()
        before, began = terminal.cpu(), time.monotonic()
        time.sleep(seconds)
        share = 100 * (terminal.cpu() - before) / (time.monotonic() - began)
        self.table.row(what, share, IDLE_BOUND, "%")

    def rest(self) -> None:
        with self.app() as terminal:
            self.stream(terminal, "say hello")
            self.table.note("until a conversation is there (the SDK imported)",
                            f"{self.ready_after:.2f} s")  # fmt: skip
            self.idle(terminal, "idle CPU")

    def everything_on(self) -> None:
        """The demo in the same process, and an MCP server."""
        home = self.home()
        (home / "agent-tui").mkdir(parents=True)
        command = [sys.executable, str(HERE / "_mcp_server.py")]
        server = {"command": command[0], "args": command[1:]}
        (home / "agent-tui" / "mcp.json").write_text(json.dumps({"mcpServers": {"b": server}}))
        with self.app("--demo", home=home) as terminal:
            at = terminal.say("/mcp")
            terminal.wait(b"connected", at)
            at = terminal.say("repeat after me: one")
            terminal.wait_status("ready", at)
            terminal.settle()
            used = terminal.memory()
        self.table.row("memory after it, with demo and MCP", used.rss, ALL_MB, "MB",
                       f"PSS {used.pss:.0f}")  # fmt: skip

    def markdown(self) -> None:
        """A minimal Textual app on Markdown.get_stream; no bound, it is what others have."""
        text = self.server.texts["markdown please"]
        size = len(text.encode()) / 1000
        with self.textual("markdown", self.server.url, "markdown please") as other:
            other.wait(b"imported")
            before = other.settle()
            other.wait(b"all read", seconds=300)
            theirs = other.settle(1.0) - before
            memory = other.memory()
        with self.app() as terminal:
            self.stream(terminal, "say hello")
            ours = self.stream(terminal, "markdown please")
        self.table.row(f"{size:.0f} KB: app / Textual's Markdown.get_stream (CPU)", ours / theirs,
                       0.5, "x", f"{ours:.2f} s / {theirs:.2f} s, it has {memory.rss:.0f} MB then",
                       )  # fmt: skip

    def long(self) -> None:
        """A conversation of ten such answers: memory, rest, keys, and every way to get about."""
        from _far_places import get_about

        with self.app() as terminal:
            self.stream(terminal, "say hello")
            before = terminal.memory()
            used = [self.stream(terminal, f"part {n} please") for n in range(self.sizes.answers)]
            after = terminal.memory()
            size = self.sizes.answer * self.sizes.answers / 1e6
            what = f"conversation of {size:.2g} MB"
            self.table.note(f"{what}: CPU of each answer", " ".join(f"{u:.1f}" for u in used))
            self.table.row(f"{what}: memory more", after.rss - before.rss, TEN_MB, "MB",
                           f"{after.rss:.0f} resident, PSS {after.pss:.0f}")  # fmt: skip
            self.idle(terminal, f"{what}: idle CPU")
            for name, took in get_about(terminal, self.server.texts, self.sizes.answers):
                self.table.row(f"{what}: {name}", 1000 * took, FAR_MS, "ms")
            self.latency(terminal, f"{what}: key until it shows, p95")


def percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


PARTS: dict[str, Callable[[Bench], None]] = {
    "paint": Bench.first_paint,
    "dense": Bench.dense,
    "prose": Bench.prose,
    "flat": Bench.flat,
    "keys": Bench.keys,
    "idle": Bench.rest,
    "all-on": Bench.everything_on,
    "markdown": Bench.markdown,
    "long": Bench.long,
}


def main(sizes: Sizes, chosen: Sequence[str]) -> int:
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(folder / "server", sizes) as server:
            bench = Bench(folder, server, sizes, table)
            for part in chosen:
                began = time.monotonic()
                try:
                    PARTS[part](bench)
                except (BenchmarkError, TimeoutError) as error:
                    table.wrong(part, str(error))
                print(f"       ({part}: {time.monotonic() - began:.0f} s)", flush=True)
    return 1 if table.missed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of: {', '.join(PARTS)}")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    sys.exit(main(QUICK if options.quick else FULL, names))
