"""Servers that misbehave, in the installed command: the prompt goes out, keys are answered, all
other servers work, each fault is a line in the panel, and nothing is left when the app is gone.
"""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.mcp_zoo import (
    CALLS,
    animal,
    configured,
    leave_panel,
    living,
    look_at_panel,
    wait_connected,
    zoo_calls,
    zoo_servers,
)
from tests.e2e.servers import OfflineProcess, result_text
from tests.e2e.terminal import CTRL_C, DOWN, UP, Terminal, wait_until

Folder = Callable[[str], Path]


@dataclass
class Zoo:
    """The app with servers in its mcp.json. home: also the mark of their processes."""

    home: Path
    api: OfflineProcess
    terminal: Terminal

    def living(self) -> list[int]:
        return living(self.home)

    def open_the_gate(self) -> None:
        (self.home / "gate").touch()


def make(
    open_terminal: Open,
    home: Path,
    api: OfflineProcess,
    servers: dict[str, dict[str, Any]],
    **more: Any,
) -> Zoo:
    allow = ["--allow", configured(home, servers)]
    return Zoo(home, api, open_terminal("--base-url", api.url, *allow, home=home, **more))


# --- a prompt waits for nobody ------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd(open_terminal: Open, folder: Folder, serve: Serve) -> Zoo:
    """20 servers: 15 that do not answer until they may, five that never will."""
    home = folder("crowd")
    servers = {f"good{n:02}": animal("Gated", home) for n in range(15)}
    servers |= {f"dead{n}": animal("DeadAtStart", home) for n in range(2)}
    servers |= {f"mute{n}": animal("Silent", home) for n in range(3)}
    api = serve([{"text": f"This is answer {n}."} for n in (1, 2)])
    return make(open_terminal, home, api, servers, rows=50)


FAULTS = {
    "bad-names": "the tool read.file is listed twice",
    "crashing": "agent-tui: it ended with exit code 3.",
    "dead": "it ended with exit code 7. It said: cannot open the gate: no key",
    "endless": "the list of tools has no end and was cut short",
    "flood": "it writes something else than MCP messages to its standard output: I am a log",
    "good": "",
    "loud": "stderr: 2026-01-01 DEBUG",
    "many": "the tool array is left out: its schema is not",
    "noisy": "it writes to stdout what is no message",
    "silent": "it did not answer within 2.0 s",
    "stubborn": "",
    "wild": "",
}
"""What the panel says of each server, so far as its width goes."""


@pytest.fixture(scope="module")
def zoo(open_terminal: Open, folder: Folder, serve: Serve) -> Zoo:
    home = folder("zoo")
    servers = zoo_servers(home)
    turns = [{"text": "All at once.", "tool_calls": zoo_calls(home)}, {"text": "That was the zoo."}]
    return make(open_terminal, home, serve(turns), servers, cols=190, rows=50)


def test_the_first_prompt_waits_for_no_server(crowd: Zoo, zoo: Zoo) -> None:
    terminal = crowd.terminal
    terminal.wait_ready()
    terminal.say("hello")
    # No server has said a word yet: the gate is closed.
    terminal.wait_for("This is answer 1.")
    terminal.wait_for("are still connecting")
    [first] = crowd.api.wait_requests(1)
    assert not [tool for tool in first.body["tools"] if "__" in tool["name"]]
    crowd.open_the_gate()
    wait_connected(terminal, 15)
    terminal.say("and now?")
    terminal.wait_for("This is answer 2.")
    second = crowd.api.wait_requests(2)[-1]
    names = {tool["name"] for tool in second.body["tools"]}
    assert {f"good{n:02}__echo" for n in range(15)} <= names
    assert not [name for name in names if name.startswith(("dead", "mute"))]


# --- the zoo ------------------------------------------------------------------------------------


def test_the_zoo(zoo: Zoo) -> None:
    """One visit: keys during the worst of it, the result of every call, the panel, the way out."""
    terminal = zoo.terminal
    terminal.wait_ready()
    # All that can be there are there; one writes on and on to its stderr.
    wait_connected(terminal, 9)
    keys_are_answered(zoo)
    zoo.open_the_gate()
    terminal.wait_for("That was the zoo.", 20)
    results = zoo.api.wait_requests(2)[-1].tool_results
    for (name, _, wanted), block in zip(CALLS, results, strict=True):
        assert wanted in result_text(block), (name, block)
        assert len(result_text(block)) < 60_000, name
    look_at_panel(terminal)
    each_fault_is_a_line(terminal)
    leave_panel(terminal)
    terminal.send(CTRL_C)
    terminal.wait_for(lambda _: not terminal.draft())
    assert zoo.living()
    terminal.say("/quit")
    assert terminal.exit_code() == 0
    wait_until(lambda: not zoo.living(), 10, "the end of the zoo")
    assert "Traceback" not in terminal.after_screen()


def keys_are_answered(zoo: Zoo) -> None:
    """Each key of a line is on the screen while the calls of the turn run."""
    terminal = zoo.terminal
    terminal.say("go")
    begun = steps(terminal)
    text = "every key of this line is answered"
    for n in range(1, len(text) + 1):
        terminal.send(text[n - 1])
        terminal.wait_for(lambda _, n=n: terminal.draft() == text[:n].rstrip())
    # What counts here, a hundred times a second, has the same machine: it bounds no time.
    assert steps(terminal) - begun < 20 * len(text)
    assert terminal.status() == "tools" and len(zoo.api.requests()) == 1


def steps(terminal: Terminal) -> int:
    """How often the slow call has reported, as far as is shown."""
    shown = terminal.wait_for(re.compile(r"\d+ of 100000"))
    return int(re.findall(r"(\d+) of 100000", shown)[-1])


def each_fault_is_a_line(terminal: Terminal) -> None:
    terminal.send(UP * len(FAULTS))
    for number, (name, fault) in enumerate(FAULTS.items()):
        terminal.send(DOWN if number else b"")

        def says(_: str, name: str = name, fault: str = fault) -> bool:
            found = details(terminal)
            quiet = not {"!", "stderr:", "stdout:"} & set(found.split())
            return found.startswith(f"{name} ") and (fault in found if fault else quiet)

        try:
            terminal.wait_for(says)
        except AssertionError as error:
            raise AssertionError(f"{name}: {fault!r} is not there\n{error}") from None


def details(terminal: Terminal) -> str:
    """What the panel says of the chosen server, in one line."""
    parts = re.split(r"^─+.*$", terminal.panel(), flags=re.MULTILINE)
    return " ".join(parts[2].split()) if len(parts) > 2 else ""


# --- the app is killed --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def doomed(open_terminal: Open, folder: Folder, serve: Serve) -> dict[str, Zoo]:
    api = serve([])
    made: dict[str, Zoo] = {}
    for how in ("SIGTERM", "SIGHUP", "SIGKILL"):
        home = folder("doomed")
        kinds = ("Stubborn", "LeavesAChild", "Plain")
        servers = {kind: animal(kind, home) for kind in kinds}
        made[how] = make(open_terminal, home, api, servers)
    return made


def test_nothing_of_servers_outlives_an_app_that_is_killed(doomed: dict[str, Zoo]) -> None:
    for how, dying in doomed.items():
        wait_until(lambda dying=dying: len(dying.living()) == 5, 30, f"five processes, {how}")
    for how, dying in doomed.items():
        os.kill(dying.terminal.pid, getattr(signal, how))
    for how, dying in doomed.items():
        wait_until(lambda dying=dying: not dying.living(), 15, f"the end of all after {how}")
