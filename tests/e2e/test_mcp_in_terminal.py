"""MCP servers in the installed command: attached by a sentence, called, asked for, answered."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tui.mcp_servers.names import alias
from tests.e2e.fixtures import Begin, Open, Serve
from tests.e2e.mcp_zoo import ZOO, look_at_panel
from tests.e2e.servers import OfflineProcess, result_text
from tests.e2e.terminal import DOWN, F4, TAB, Terminal, wait_until

Folder = Callable[[str], Path]
PYTHON = [sys.executable, "-S", "-E", "-u", str(ZOO)]


@pytest.fixture(scope="module")
def api(serve: Serve) -> OfflineProcess:
    """The demo, as a server of its own so that its requests can be read."""
    return serve()


@pytest.fixture(scope="module")
def home(folder: Folder) -> Path:
    return folder("servers")


@pytest.fixture(scope="module")
def terminal(api: OfflineProcess, home: Path, open_terminal: Open) -> Terminal:
    allow = "zoo__ask,zoo__ask_url,zoo__sample"
    argv = ["--base-url", api.url, "--model", "demo", "--allow", allow]
    browser = home / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> "{home / "opened"}"\n')
    browser.chmod(0o755)
    return open_terminal(*argv, home=home, rows=44, env={"BROWSER": str(browser)})


def diary(home: Path) -> list[dict[str, Any]]:
    """What the server of the zoo was told."""
    path = home / "diary"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def answered(home: Path, count: int) -> dict[str, Any]:
    """The so many-th answer that reached the server's question."""
    found = wait_until(
        lambda: [e["answered"] for e in diary(home) if "answered" in e][count - 1 : count],
        what="an answer at the server",
    )
    return found[0].get("result") or found[0]


ASKS = {
    "ask": "zoo asks for details", "ask_url": "zoo wants you to open an address",
    "sample": "wants an answer of the model",
}  # fmt: skip


def ask(terminal: Terminal, tool: str = "ask", given: str = "") -> None:
    terminal.say(f"call zoo__{tool}{given}")
    terminal.wait_for(ASKS[tool])


def decide(terminal: Terminal, question: str, key: str) -> None:
    """Answer with the focus: no grace time has to pass."""
    terminal.wait_for(question)
    terminal.send(F4)
    terminal.wait_for("c cancel: no answer")
    terminal.send(key)
    terminal.wait_gone(question)


def test_a_server_is_attached_by_a_sentence_called_and_answered(
    terminal: Terminal, api: OfflineProcess, home: Path
) -> None:
    terminal.wait_ready()
    command = " ".join(PYTHON)
    terminal.say(f"/mcp add zoo -e ZOO_DIARY={home / 'diary'} -- {command} Plain")
    terminal.wait_for("zoo is connected: 13 tools.")
    look_at_panel(terminal)
    terminal.wait_for(lambda _: re.search(r"✓ zoo +13 tools", terminal.panel()))
    assert sys.executable[:12] in terminal.panel()  # the command, as far as it fits
    terminal.send(b"\x1b[18~")
    terminal.wait_gone("Enter details")
    # A call is asked for, by the server and the tool's own name.
    terminal.say('call zoo__echo with {"text": "through the cage"}')
    terminal.answer("echo of zoo wants to run", "y")
    terminal.wait_for("zoo__echo gave 1 line")
    assert result_text(api.requests()[-1].tool_results[0]) == "through the cage"
    # Each of the three answers to a form reaches the server.
    ask(terminal)
    terminal.send(F4)
    terminal.wait_for("[ decline ]")
    terminal.send("Ann")
    terminal.wait_for("Ann▍")
    terminal.send(b"\r\r")
    assert answered(home, 1) == {"action": "accept", "content": {"name": "Ann"}}
    terminal.wait_ready()
    for number, (downs, action) in enumerate([(2, "decline"), (3, "cancel")], start=2):
        ask(terminal)
        terminal.send(F4)
        terminal.wait_for("[ decline ]")
        terminal.send(DOWN * downs + b"\r")
        assert answered(home, number) == {"action": action}
        terminal.wait_ready()
    # The model is run for a server, and its answer sent, only as the user says.
    ask(terminal, "sample")
    decide(terminal, "wants an answer of the model", "y")
    decide(terminal, "would get this answer", "y")
    assert answered(home, 4)["content"]["type"] == "text"
    terminal.wait_ready()
    for number, key in enumerate("nc", start=5):
        ask(terminal, "sample")
        decide(terminal, "wants an answer of the model", key)
        assert "refused" in answered(home, number)["error"]["message"]
        terminal.wait_ready()
    # An address is opened when it is accepted, and only then.
    url = "https://zoo.example/ticket?for=Ann"
    for number, (key, action) in enumerate(
        [("n", "decline"), ("c", "cancel"), ("y", "accept")], start=7
    ):
        assert not (home / "opened").exists()
        ask(terminal, "ask_url", f' with {{"url": "{url}"}}')
        decide(terminal, "wants you to open an address", key)
        assert answered(home, number) == {"action": action}
        terminal.wait_ready()
    wait_until((home / "opened").exists, what="the browser")
    assert (home / "opened").read_text() == f"{url}\n"


def test_resources_and_prompts_of_a_server_are_typed(
    terminal: Terminal, api: OfflineProcess, home: Path
) -> None:
    terminal.wait_ready()
    terminal.send("echo: look at @zoo:")
    terminal.wait_for("zoo://cage/{n} cages")
    terminal.send(TAB)
    terminal.wait_for(lambda _: terminal.draft().endswith("@zoo:zoo://cage/1"))
    terminal.enter()
    terminal.wait_for("zoo://cage/1  19 characters")
    terminal.wait_ready()
    assert "[resource zoo://cage/1]\ninside zoo://cage/1" in api.requests()[-1].texts
    terminal.send("/zoo:fe")
    terminal.wait_for("/zoo:feed who=...")
    terminal.send(TAB)
    terminal.wait_for(lambda _: terminal.draft().rstrip().endswith("/zoo:feed"))
    terminal.send("who=Ann")
    terminal.enter()
    terminal.wait_for("Feed Ann.")
    terminal.wait_ready()
    assert api.requests()[-1].texts[-1] == "Feed Ann."


# --- names that meet, without a screen, and after a restart --------------------------------------

ODD = ("read.file", "read_file", "read/file", "read file", "a__b", "x" * 200, "x" * 201)


def test_tools_whose_names_meet_reach_their_own_servers_also_after_a_restart(
    begin: Begin, folder: Folder, serve: Serve
) -> None:
    """The names of the first run hold in the second, with the servers the other way round; and a
    server that the project brings is not used where nobody can be asked."""
    home = folder("names")
    path, project = home / "agent-tui" / "mcp.json", home / "work" / ".mcp.json"
    for file in (path, project):
        file.parent.mkdir()
    entry = {"command": PYTHON[0], "args": [*PYTHON[1:], "BadNames"]}
    project.write_text(json.dumps({"mcpServers": {"ours": entry}}))
    pairs = [(server, tool) for server in ("odd", "odd_2") for tool in ODD]
    aliases = [alias(server, tool) for server, tool in pairs]
    assert len(set(aliases)) == len(aliases)
    calls = [{"name": name, "input": {}} for name in aliases]
    turns = [{"text": "All.", "tool_calls": calls}, {"text": "Done."}]
    api = serve([*turns, *turns])
    argv = ["--allow", "odd__*,odd_2__*", "--base-url", api.url]
    for number, (order, more) in enumerate([(("odd", "odd_2"), []), (("odd_2", "odd"), ["-c"])]):
        path.write_text(json.dumps({"mcpServers": dict.fromkeys(order, entry)}))
        ran = begin("-p", f"call them {number}", *argv, *more, home=home).result()
        assert ran.returncode == 0, ran.stderr
        assert b"ours of this project's .mcp.json is not used" in ran.stderr
        results = api.wait_requests(2 * number + 2)[-1].tool_results
        assert [result_text(b) for b in results] == [f"this is {tool}" for _, tool in pairs]
