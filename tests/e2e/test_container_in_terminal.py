"""The container in the installed command: the panel against the server's own state through a
whole life, the program as a tree, and what /container does to disk and to the next request."""

import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_tui.offline import OfflineServer, Scenario
from agent_tui.offline.containers import ContainerOptions
from tests.e2e.fixtures import Open
from tests.e2e.terminal import CTRL_O, F6, TAB, Terminal, all_words, wait_until

WORK = """\
import asyncio
total = 0
for number in range(1_500_000):
    total += number
found = await asyncio.gather(
    read(path="a.txt"),
    glob(pattern="*.txt"))
for number in range(20):
    await grep(pattern="alpha")
open("chart.csv", "w").write("region,sum\\nnorth,12\\n")
print(*await asyncio.gather(
    shell(command="until [ -e go ]; do sleep 0.05; done; echo open"), list()))
print("all is counted")
"""

TURNS: list[dict[str, Any]] = [
    {"match": "look at this", "text": "I have it."},
    {"match": "count it", "text": "I count in a program.", "program": WORK},
    {"match": "count it", "text": "Counted."},
    {"match": "print it", "program": "print(open('data.csv').read())"},
    {"match": "print it", "text": "Printed."},
    {"text": "Noted.", "repeat": True},
]


class Life:
    """A server whose containers live as long as a test wants."""

    def __init__(self) -> None:
        self.options = ContainerOptions(idle_seconds=200.0)
        self.server = OfflineServer(scenario=Scenario(turns=TURNS), containers=self.options)
        self.server.start()

    def live_for(self, seconds: float) -> None:
        object.__setattr__(self.options, "idle_seconds", seconds)

    @property
    def container(self) -> dict[str, Any]:
        """The newest one, as GET /_containers has it."""
        return self.server.containers[-1]

    def bodies(self) -> list[dict[str, Any]]:
        return [e["body"] for e in self.server.journal if e["path"].startswith("/v1/messages")]


@pytest.fixture(scope="module")
def life() -> Iterator[Life]:
    made = Life()
    yield made
    made.server.stop()


@pytest.fixture(scope="module")
def home(folder: Callable[[str], Path]) -> Path:
    made = folder("container")
    (made / "work").mkdir()
    for name, text in (("a.txt", "alpha\n"), ("data.csv", "north,12\n")):
        (made / "work" / name).write_text(text, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def terminal(life: Life, home: Path, open_terminal: Open) -> Terminal:
    argv = ["--base-url", life.server.url, "--allow", "shell"]
    opened = open_terminal(*argv, home=home, rows=44, env={"AGENT_TUI_PROGRAMMATIC": "both"})
    opened.wait_ready()
    opened.send(F6)
    opened.wait_for("no container yet")
    return opened


STATES = {
    r"· created, no program yet": "created",
    r"● busy: program \d+ runs": "busy",
    r"⏸ paused, waiting for (\d+) calls?": "paused",
    r"✓ idle": "idle",
    r"⊘ expired": "expired",
}


def in_panel(terminal: Terminal) -> dict[str, Any]:
    """What the panel says, in the words of the server."""
    text = terminal.panel()
    shown: dict[str, Any] = {"pending": 0, "reused": 0, "programs": 0}
    for words, state in STATES.items():
        if match := re.search(words, text):
            shown["state"] = state
            shown["pending"] = int(match[1]) if match.groups() else 0
    if match := re.search(r"reused (\d+) time", text):
        shown["reused"] = int(match[1])
    if match := re.search(r"programs +(\d+)", text):
        shown["programs"] = int(match[1])
    if match := re.search(r"expires in (?:(\d+):)?(\d+)", text):
        shown["left"] = 60 * int(match[1] or 0) + int(match[2])
    return shown


def equals_the_server(life: Life, terminal: Terminal, state: str) -> None:
    """Panel and server agree on all that both know (waits for the screen, not for the server)."""
    theirs = life.container
    wanted = {name: theirs[name] for name in ("state", "pending", "reused", "programs")}
    assert wanted["state"] == state, theirs

    def agrees(_: str) -> bool:
        shown = in_panel(terminal)
        return {name: shown.get(name) for name in wanted} == wanted

    terminal.wait_for(agrees)
    assert theirs["id"][-12:] in terminal.panel()
    if state != "expired":
        left = datetime.fromisoformat(theirs["expires_at"]).timestamp() - time.time()
        assert abs(in_panel(terminal)["left"] - left) < 3


def test_the_panel_equals_the_servers_state_through_a_whole_life(
    life: Life, terminal: Terminal
) -> None:
    terminal.say("/container upload data.csv")
    terminal.wait_for("with your next message")
    terminal.say("look at this")
    terminal.wait_for("I have it.")
    terminal.wait_for("[data.csv 9 B, to the container]")
    equals_the_server(life, terminal, "created")

    terminal.say("count it")
    terminal.wait_for("busy: program 1 runs")
    equals_the_server(life, terminal, "busy")
    terminal.wait_for(re.compile(r"● shell +until"), timeout=20)
    wait_until(lambda: life.container["state"] == "paused")
    assert life.container["pending"] == 2, "it waits for both, though one of them is done"
    terminal.wait_for("1 glob, 1 list")
    equals_the_server(life, terminal, "paused")
    assert re.search(r"answer due in 3:\d\d", terminal.panel())
    terminal.say("only Europe please")
    terminal.wait_for("held: a program is paused (2 calls)")

    # The program as a tree: its lines marked, the loop in one, what it waits for below.
    shown = terminal.wait_for(re.compile(r"▣ program 1  in container …\w+ +paused for 1"))
    assert re.search(r"✓ +6 +read\(path", shown)
    assert re.search(r"✓ +9 +await grep.* 20 calls", shown)
    assert re.search(r"● +12 +shell\(command", shown)
    assert re.search(r"├─ ▸ ✓ 20 grep, 1 read, 1 glob, 1 list", shown)
    assert re.search(r"└─ ● shell +until", shown)

    (terminal.cwd / "go").touch()
    terminal.wait_for("Noted.", timeout=20)
    terminal.wait_ready()
    equals_the_server(life, terminal, "idle")
    panel = terminal.wait_for("chart.csv  20 B")
    for words in ("exit 0", "24 calls", "all is counted", "round trips saved 23"):
        assert words in panel
    assert "kept out of context ≈" in panel
    assert re.search(r"✓ ▣ program 1 +13 lines, 24 calls +open", panel)


def test_container_saves_and_sends_files(life: Life, terminal: Terminal) -> None:
    (terminal.cwd / "out").mkdir()
    terminal.send("/container download ch")
    terminal.wait_for("made in the container")
    terminal.send(TAB)
    terminal.write(" out")
    terminal.enter()
    terminal.wait_for(all_words(["Saved", "out/chart.csv"]))
    saved = terminal.cwd / "out" / "chart.csv"
    assert saved.read_text() == "region,sum\nnorth,12\n"
    assert saved.stat().st_mode & 0o777 == 0o600
    terminal.say("/container download chart.csv out")
    terminal.wait_for("chart (2).csv")
    assert sorted(p.name for p in saved.parent.iterdir()) == ["chart (2).csv", "chart.csv"]
    terminal.say("/container preview chart.csv")
    terminal.wait_for("north,12")

    terminal.say("print it")
    terminal.wait_for("Printed.")
    terminal.wait_for("north,12")
    uploads = [
        [b["file_id"] for m in body["messages"] for b in m["content"]
         if b["type"] == "container_upload"]
        for body in life.bodies()
    ]  # fmt: skip
    assert all(found == uploads[0] and len(found) == 1 for found in uploads)
    # All of it opens at once, and folds again.
    terminal.send(CTRL_O)
    terminal.wait_for("print(open('data.csv').read())")
    terminal.send(CTRL_O)
    terminal.wait_gone("print(open('data.csv').read())")


def test_another_start_shows_it_and_it_expires(
    life: Life, terminal: Terminal, home: Path, open_terminal: Open
) -> None:
    before = in_panel(terminal)
    terminal.say("/quit")
    assert terminal.exit_code() == 0
    again = open_terminal("--base-url", life.server.url, "-c", home=home, rows=44)
    again.wait_ready()
    again.send(F6)
    again.wait_for("✓ idle")
    after = in_panel(again)
    assert {k: after[k] for k in ("reused", "programs")} == {
        k: before[k] for k in ("reused", "programs")
    }
    assert "chart.csv  20 B" in again.wait_for("chart.csv  20 B"), "its name is asked for anew"
    life.live_for(0.4)
    again.say("one more")
    again.wait_for("⊘ expired")
    wait_until(lambda: life.container["state"] == "expired")
    equals_the_server(life, again, "expired")
    life.live_for(200.0)
    again.say("/container new")
    again.wait_for("There is no live container")
