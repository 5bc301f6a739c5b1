"""One call stopped alone, steering sent now, the two kinds of queued messages changed into each
other: each by key, seen on the screen and in what the server was sent."""

import re
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess, result_text
from tests.e2e.terminal import DOWN, ESC, F3, F5, TAB, UP, Terminal, wait_until


def gate(name: str) -> str:
    return f"touch {name}.begun; until [ -e {name}.go ]; do sleep 0.02; done; echo {name} done"


def shells(*commands: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "input": {"command": c}} for c in commands]}


TURNS: list[dict[str, Any]] = [
    {"match": "stop two of three", **shells(gate("one"), "echo two", "echo three")},
    {"match": "send it now", **shells(gate("first"), "touch second", "touch third")},
    {"match": "change their kinds", **shells(gate("kinds"))},
    {"text": "Noted.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def opened(server: OfflineProcess, open_terminal: Open) -> Terminal:
    # In sequence, so that some calls have not begun yet.
    env = {"AGENT_TUI_TOOL_EXECUTION": "sequential"}
    return open_terminal("--base-url", server.url, "--allow", "shell", env=env)


@pytest.fixture
def terminal(opened: Terminal) -> Terminal:
    opened.wait_ready()
    return opened


def begun(terminal: Terminal, name: str) -> None:
    wait_until(lambda: (terminal.cwd / f"{name}.begun").exists(), what=f"{name} has begun; it")


def test_one_call_is_stopped_alone_and_the_run_goes_on(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.say("stop two of three")
    begun(terminal, "one")
    terminal.wait_for("F5 calls")
    terminal.send(F5)
    terminal.wait_for("x stop this call")
    terminal.send(DOWN)  # the one that runs is chosen; the next has not begun
    terminal.send("x")
    terminal.send(UP)
    terminal.send("x")
    (_, request) = server.wait_requests(2, "stop two of three")
    terminal.wait_ready()
    one, two, three = request.tool_results
    assert [r.get("is_error", False) for r in (one, two, three)] == [True, True, False]
    assert "stopped" in result_text(one) and "stopped" in result_text(two)
    assert result_text(three).strip() == "three"
    panel = terminal.panel()
    assert re.search(r"⊘ shell +touch one", panel) and re.search(r"⊘ shell +echo two", panel)
    assert re.search(r"✓ shell +echo three", panel)
    # With no call left to stop, the composer has the keys again.
    terminal.wait_for(lambda _: "Enter send" in terminal.lines()[-1])


def test_send_now_skips_what_has_not_begun(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("send it now")
    begun(terminal, "first")
    terminal.say("wrong folder")
    terminal.wait_for("after 3 running tools")
    terminal.send(F3)
    terminal.wait_for("s send now")
    terminal.send("s")
    terminal.wait_for("after 1 running tool")
    terminal.send(F3)
    (terminal.cwd / "first.go").touch()
    (_, request) = server.wait_requests(2, "send it now")
    terminal.wait_ready()
    kinds = [block["type"] for block in request.messages[-1]["content"]]
    assert kinds == ["tool_result"] * 3 + ["text"]
    first, second, third = request.tool_results
    assert result_text(first).strip() == "first done" and not first.get("is_error")
    assert all("skipped by the user" in result_text(r).lower() for r in (second, third))
    assert request.texts[-1] == "wrong folder"
    assert not (terminal.cwd / "second").exists() and not (terminal.cwd / "third").exists()


def test_a_follow_up_becomes_steering_and_the_reverse(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.say("change their kinds")
    begun(terminal, "kinds")
    terminal.say("typed to steer")
    terminal.wait_for(re.compile("↳.*typed to steer"))
    terminal.write("typed for later")
    terminal.send(TAB)
    terminal.wait_for(re.compile("⧗.*typed for later"))
    terminal.send(F3)
    terminal.wait_for("p steer")
    terminal.send(DOWN)
    terminal.send("p")
    terminal.wait_for(re.compile("↳.*typed for later"))
    terminal.send(UP)
    terminal.send("m")
    terminal.wait_for(re.compile("⧗.*typed to steer.*when the turn ends"))
    terminal.send(ESC)
    (terminal.cwd / "kinds.go").touch()
    second, third = server.wait_requests(3, "change their kinds")[1:]
    terminal.wait_ready()
    assert second.texts[-1] == "typed for later" and len(second.tool_results) == 1
    assert third.texts[-2:] == ["typed for later", "typed to steer"]
    terminal.wait_for(re.compile("↳ typed for later.*turn 2, after 1 tool result"))
    terminal.wait_for(re.compile("⧗ typed to steer.*turn 3, after the answer"))
