"""What a conversation costs and holds, on the screen: panel, commands, the cache, a limit."""

from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess
from tests.e2e.terminal import F6, Terminal, flow, wait_until

MODELS = ["claude-sonnet-5-5", "claude-opus-5-5"]
TURNS: list[dict[str, Any]] = [
    {"match": "for ever", "tool_calls": [{"name": "list", "input": {}}], "repeat": True},
    {"text": "Hello to you.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS, models=MODELS)


@pytest.fixture(scope="module")
def terminal(server: OfflineProcess, open_terminal: Open) -> Terminal:
    return open_terminal("--base-url", server.url, "--max-turns", "2", rows=44)


def look_at_the_context(terminal: Terminal) -> None:
    """From tab to tab until it is the one."""
    for _ in range(8):
        before = terminal.panel()
        if "of 200,000 tokens" in before or "nothing was sent yet" in before:
            return
        terminal.send(F6)
        wait_until(lambda: terminal.panel() != before, what="another tab")  # noqa: B023
    raise AssertionError("there is no such tab")


def test_what_it_holds_costs_and_why_the_cache_broke(terminal: Terminal) -> None:
    terminal.wait_ready()
    look_at_the_context(terminal)
    terminal.wait_for(lambda s: "of 200,000 tokens" in s and "shares estimated, total counted" in s)
    assert "last answer" not in terminal.panel(), "it was counted before anything was sent"

    terminal.say("hello")
    terminal.wait_for("last answer")
    terminal.wait_ready()
    terminal.say("hello again")
    terminal.wait_for("% from cache")
    terminal.wait_ready()
    panel = terminal.panel()
    for words in (
        "system prompt",
        "tools",
        "your messages",
        "cache, last request",
        "cost",
    ):
        assert words in panel
    assert "$0.0" in terminal.lines()[-1]

    terminal.say("/model claude-opus-5-5")
    terminal.wait_for("the model is claude-opus-5-5")
    terminal.say("hello as another")
    terminal.wait_for("! broke at answer 3")
    said = "The prompt cache starts anew: the model changed from claude-sonnet-5-5 to"
    terminal.wait_for(lambda shown: said in flow(shown))
    terminal.wait_ready()

    terminal.say("/usage")
    terminal.wait_for("The prompt cache broke last at answer 3")
    shown = flow(terminal.screen())
    assert "opus-5-5" in shown and "session" in shown


def test_a_limit_is_said_on_the_screen(terminal: Terminal, server: OfflineProcess) -> None:
    terminal.wait_ready()
    terminal.say("for ever and on")
    terminal.wait_for("Stopped: the limit of 2 turns is reached (max_turns).")
    terminal.wait_ready()
    assert len(server.requests("for ever and on")) == 2
