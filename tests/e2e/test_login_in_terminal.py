"""/login in the demo: the conversation goes on, with the key, on the configured endpoint."""

import time

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.terminal import wait_until


def test_a_conversation_goes_on_with_the_key(serve: Serve, open_terminal: Open) -> None:
    server = serve([{"text": "I have read all of it.", "repeat": True}])
    terminal = open_terminal("--demo", env={"AGENT_TUI_BASE_URL": server.url})
    terminal.wait_ready()
    terminal.say("remember the word turnip")
    terminal.wait_for("turnip")
    terminal.wait_ready()
    terminal.say("/login")
    terminal.wait_for("Enter a key")
    terminal.send("sk-test-key\r")
    terminal.wait_for("this conversation goes on with it", timeout=20)
    terminal.wait_for("remember the word turnip")
    assert "scripted replies" not in terminal.lines()[0], "the demo is left"
    terminal.say("what was the word?")
    terminal.wait_for("I have read all of it.")
    [seen] = server.wait_requests(1)
    assert seen.texts == ["remember the word turnip", "what was the word?"]
    assert b"sk-test-key" not in terminal.raw


@pytest.mark.parametrize("flags", [(), ("--plain",)])
def test_what_is_typed_while_the_key_is_taken_goes_to_the_same_conversation(
    serve: Serve, open_terminal: Open, flags: tuple[str, ...]
) -> None:
    server = serve([{"text": "I have read all of it.", "repeat": True}])
    terminal = open_terminal("--demo", *flags, env={"AGENT_TUI_BASE_URL": server.url})
    wait_until(lambda: b"list the files" in terminal.raw, what="the demo")
    terminal.send("remember the word turnip\r")
    wait_until(lambda: b"no script for" in terminal.raw, what="an answer")
    if flags:
        wait_until(lambda: terminal.raw.rstrip().endswith(b"Ready."), what="its end")
    else:
        terminal.wait_ready()
    terminal.send("/login\r")
    wait_until(lambda: b"Enter a key" in terminal.raw, what="the question")
    terminal.send("sk-test-key\r")
    # Not at once: what comes together with a key is a part of it.
    time.sleep(0.15)
    terminal.send("what was the word?\r")
    [seen] = server.wait_requests(1)
    assert seen.texts == ["remember the word turnip", "what was the word?"]
