"""What is seen and steered while it runs: arguments as they stream, the queue and its items,
approvals of every kind, the container, the status line."""

import re
import time
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess, result_text, texts_of
from tests.e2e.terminal import (
    ALT_UP,
    DOWN,
    ENTER,
    ESC,
    F3,
    F4,
    F6,
    GRACE_S,
    TAB,
    UP,
    Terminal,
    all_words,
)

PRICED = "claude-sonnet-5-5"
POEM = "".join(f"verse {n} of a long poem\n" for n in range(60))
TALK = {"text": "So much to tell. " * 900, "chunk_size": 6, "chunk_delay_ms": 20}
GATE = "until [ -e go ]; do sleep 0.05; done"


def shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "input": {"command": command}}]}


TURNS: list[dict[str, Any]] = [
    {
        "match": "write a poem",
        "tool_calls": [{"name": "write", "input": {"path": "poem.txt", "content": POEM}}],
        "chunk_size": 10,
        "chunk_delay_ms": 15,
    },
    {
        "match": "change the poem",
        "tool_calls": [
            {
                "name": "edit",
                "input": {
                    "path": "poem.txt",
                    "edits": [{"old": "verse 7 of", "new": "stanza 7 of"}],
                },
            }
        ],
    },
    {"match": "wait for a yes", **shell("touch approved")},
    {"match": "always", **shell("echo same"), "repeat": 2},
    {"match": "and again", **shell("echo same")},
    {"match": "name the keys", **shell("echo keys")},
    {"match": "something else", **shell("echo other")},
    {"match": "wait for the gate", **shell(GATE)},
    {"match": "talk and stop", **TALK},
    {
        "match": "use a container",
        "text": "It is there.",
        "container": {"id": "container_e2e_77", "expires_at": "2099-01-01T00:00:00Z"},
        "usage": {"input_tokens": 100_000, "output_tokens": 10_000},
    },
    {"text": "Noted.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS, models=[PRICED])


@pytest.fixture(scope="module")
def opened(server: OfflineProcess, open_terminal: Open) -> Terminal:
    return open_terminal("--base-url", server.url)


@pytest.fixture
def terminal(opened: Terminal) -> Terminal:
    if "wants to run" in opened.screen():
        opened.send(ESC)
    opened.wait_ready()
    return opened


def look_at(terminal: Terminal) -> None:
    """F4: the keys are the question's own now."""
    terminal.wait_for("F4 answer")
    terminal.send(F4)
    terminal.wait_gone("F4 answer")


def test_arguments_are_seen_while_they_stream(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("write a poem")
    terminal.wait_for(re.compile(r"● write\s+poem\.txt"))
    terminal.wait_for("verse 9 of a long poem")
    (request,) = server.requests("write a poem")
    assert not request.ended, "it was shown before it was whole"
    terminal.wait_for("wants to run")
    time.sleep(GRACE_S + 0.3)
    terminal.send("y")
    terminal.wait_for("longer than what is shown")
    assert not (terminal.cwd / "poem.txt").exists(), "what cannot be seen is not approved blindly"
    look_at(terminal)
    terminal.answer("wants to run", "y")
    terminal.wait_ready()
    assert (terminal.cwd / "poem.txt").read_text(encoding="utf-8") == POEM


def test_an_edit_is_approved_by_its_diff(terminal: Terminal) -> None:
    terminal.say("change the poem")
    terminal.wait_for("wants to run")
    for line in ("@@ -5,7 +5,7 @@", "-verse 7 of a long poem", "+stanza 7 of a long poem"):
        terminal.wait_for(line)
    assert '"old"' not in terminal.screen()
    assert (terminal.cwd / "poem.txt").read_text(encoding="utf-8") == POEM
    look_at(terminal)
    terminal.answer("wants to run", "y")
    terminal.wait_ready()
    changed = (terminal.cwd / "poem.txt").read_text(encoding="utf-8")
    assert changed == POEM.replace("verse 7 of", "stanza 7 of")


def test_a_steer_that_begins_with_y_approves_nothing(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.say("wait for a yes")
    terminal.wait_for(all_words(["wants to run", "touch approved"]))
    time.sleep(GRACE_S + 0.3)
    terminal.send("yes, but later")
    terminal.wait_for(lambda _: terminal.draft().strip() == "yes, but later")
    terminal.send(ENTER)
    terminal.wait_for(re.compile("↳.*yes, but later"))
    assert "wants to run" in terminal.screen()
    assert not (terminal.cwd / "approved").exists()
    time.sleep(GRACE_S + 0.3)
    terminal.send("y")
    terminal.wait_for("with another key it is text")
    (_, request) = server.wait_requests(2, "wait for a yes")
    terminal.wait_ready()
    assert (terminal.cwd / "approved").exists(), "y alone is an answer"
    assert request.texts[-1] == "yes, but later"


def test_always_asks_no_more_for_the_same(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("always, please")
    terminal.wait_for("wants to run")
    look_at(terminal)
    terminal.answer("wants to run", "a")
    # The scenario calls it a second time in the same run: nobody is asked.
    server.wait_requests(3, "always, please")
    terminal.wait_ready()
    terminal.say("and again")
    server.wait_requests(2, "and again")
    terminal.wait_ready()
    (result,) = server.requests("and again")[-1].tool_results
    assert "same" in result_text(result) and not result.get("is_error")


def test_a_question_names_the_keys_that_act_now(terminal: Terminal) -> None:
    terminal.say("name the keys")
    terminal.wait_for("wants to run")
    try:
        terminal.wait_for("F4 r no")
        look_at(terminal)
        terminal.wait_gone("F4 r no", timeout=1)
    finally:
        terminal.send(ESC)
        terminal.wait_for("F4 answer")
        terminal.send(ESC)
        terminal.wait_gone("wants to run")


def test_no_with_a_reason(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.write("a draft that waits")
    terminal.send(b"\x03")
    terminal.wait_for(lambda _: not terminal.draft().strip())
    terminal.say("something else")
    terminal.wait_for(all_words(["wants to run", "echo other"]))
    look_at(terminal)
    terminal.send("r")
    terminal.wait_for("why not?")
    terminal.write("because it is late")
    terminal.send(ENTER)
    terminal.wait_gone("wants to run")
    terminal.wait_ready()
    (result,) = server.requests("something else")[-1].tool_results
    assert result["is_error"] is True
    assert "because it is late" in result_text(result)


def test_queued_messages_are_edited_moved_and_withdrawn(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.say("wait for the gate")
    terminal.answer("wants to run", "y")
    terminal.wait_status("tools")
    for text in ("first afterwards", "second afterwards", "third afterwards"):
        terminal.write(text)
        terminal.send(TAB)
        terminal.wait_for(re.compile(f"⧗.*{text}"))
    terminal.say("and steer this")
    terminal.wait_for(re.compile(r"↳.*and steer this.*after 1 running tool"))
    assert terminal.wait_for("when the turn ends").count("⧗") == 3

    terminal.send(F3)
    terminal.wait_for("withdraw")
    terminal.send(UP * 3)
    terminal.send(DOWN)
    terminal.send("d")
    terminal.wait_gone(re.compile("⧗.*first afterwards"))
    terminal.send(ESC)
    terminal.wait_for("Enter steer")
    terminal.send(ALT_UP)
    terminal.wait_for(lambda _: "third" in terminal.draft())
    terminal.send(b"\x7f" * len("third afterwards"))
    terminal.write("third, corrected")
    terminal.send(ENTER)
    terminal.wait_for(re.compile("⧗.*third, corrected"))
    assert len(server.requests("wait for the gate")) == 1

    (terminal.cwd / "go").touch()
    server.wait_requests(4, "wait for the gate")
    terminal.wait_ready()
    first, second, third = server.requests("wait for the gate")[1:]
    assert [b["type"] for b in first.messages[-1]["content"]] == ["tool_result", "text"]
    assert first.texts[-1] == "and steer this"
    assert second.texts[-1] == "second afterwards"
    assert third.texts[-2:] == ["second afterwards", "third, corrected"]
    shown = terminal.wait_for(all_words(["↳ and steer this", "⧗ third, corrected"]))
    assert "turn 2" in shown, "where it went is shown"


def test_esc_pauses_the_queue_and_enter_resumes_it(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.say("talk and stop")
    terminal.wait_status("streaming")
    terminal.write("sent after the pause")
    terminal.send(TAB)
    terminal.wait_for(re.compile("⧗.*sent after the pause"))
    terminal.write("a draft")
    terminal.send(ESC)
    terminal.wait_ready()
    terminal.wait_for(re.compile("⏸.*sent after the pause"))
    assert terminal.draft().strip() == "a draft"
    assert not server.requests("sent after the pause")
    terminal.send(b"\x03")
    terminal.wait_for(lambda _: not terminal.draft().strip())
    terminal.send(ENTER)
    (request,) = server.wait_requests(1, "sent after the pause")
    assert texts_of(request.messages[-1])[-1] == "sent after the pause"
    terminal.wait_gone("⏸")
    terminal.wait_ready()


def test_the_status_line_says_model_context_and_cost(terminal: Terminal) -> None:
    terminal.say("use a container")
    terminal.wait_for("It is there.")
    terminal.wait_ready()
    status = terminal.lines()[-1]
    # "at least" where a test before stopped an answer: what that cost was never told.
    looks = r"ready · claude-sonnet-5-5 medium · context \d+ % · (≥ )?\$\d"
    assert re.search(looks, status), status


def test_the_container_is_in_the_panel(opened: Terminal) -> None:
    opened.wait_ready()
    opened.send(F6)
    opened.wait_gone(re.compile("✓ write"))
    opened.wait_for(all_words(["e2e_77", "hosted", "expires in"]))
