"""/login in the demo: the conversation goes on, with the key, on the configured endpoint."""

from tests.e2e.fixtures import Open, Serve


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
