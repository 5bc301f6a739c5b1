"""A call is stopped by key while the model still writes it: what the screen says, what the
server saw, and that the run goes on with what waits."""

import json
import re
from typing import Any

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import result_text
from tests.e2e.terminal import CTRL_O, F5, wait_until

POEM = "".join(f"verse {n} of a long poem\n" for n in range(800))
TURNS: list[dict[str, Any]] = [
    {
        "match": "write a poem",
        "thinking": "A poem it is.",
        "text": "I look first.",
        "tool_calls": [
            {"name": "list", "input": {}},
            {"name": "write", "input": {"path": "poem.txt", "content": POEM}},
        ],
        "chunk_size": 12,
        "chunk_delay_ms": 15,
    },
    {"text": "Prose, then.", "repeat": True},
]


def test_a_call_is_denied_before_its_arguments_are_complete(
    serve: Serve, open_terminal: Open
) -> None:
    server = serve(TURNS)
    terminal = open_terminal("--base-url", server.url, "--allow", "write", "--thinking", "high")
    terminal.wait_ready()
    terminal.say("write a poem")
    terminal.wait_for("+verse 2 of a long")
    terminal.say("in plain words")
    terminal.wait_for(re.compile("↳.*in plain words"))
    terminal.send(F5)  # to the one that is written, past the one that is whole
    terminal.wait_for("r with a reason")
    terminal.send("r")
    terminal.wait_for("why stop it?")
    terminal.say("no verses")
    terminal.wait_for("Prose, then.")
    terminal.wait_ready()

    first, second = server.wait_requests(2, "write a poem")
    assert (first.closed_by_client, first.at) == (True, "arguments")
    assert (second.status, second.rule) == (200, None), "its rules are those of the API"
    thinking, text, listed, written = second.messages[-2]["content"]
    assert thinking["thinking"] == "A poem it is." and thinking["signature"]
    assert text["text"] == "I look first."
    assert (listed["name"], written["name"], written["input"]) == ("list", "write", {})
    whole, denied = second.tool_results
    assert not whole.get("is_error") and denied["is_error"] is True
    told = result_text(denied)
    assert told.startswith(
        "Not run: the user stopped this call before its arguments were complete: no verses"
    )
    assert "verse 0 of a long poem" in told
    assert second.texts[-1] == "in plain words", "the steer goes along"
    assert not (terminal.cwd / "poem.txt").exists()

    said = "write  poem.txt   stopped while it was written: no verses"
    terminal.wait_for(said)
    assert re.search(r"⊘ write +poem.txt +not run", terminal.panel())
    terminal.send(CTRL_O)
    terminal.wait_for("+verse 2 of a long")
    terminal.send(CTRL_O)

    # What is on disk says the same.
    (path,) = wait_until(lambda: list(terminal.home.rglob("sessions/*/*.jsonl")), what="a session")
    calls = [
        block
        for line in path.read_text(encoding="utf-8").splitlines()
        for block in json.loads(line).get("message", {}).get("content", ())
        if block["type"] == "toolCall"
    ]
    assert [c["arguments"] for c in calls] == [{}, {}]
    assert calls[1]["cut_arguments"].startswith('{"path"')
