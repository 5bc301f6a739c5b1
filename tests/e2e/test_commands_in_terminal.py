"""The first prompt, slash commands, the panel, the composer, and terminals of other sizes."""

import json
import re
import stat
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import Catcher, OfflineProcess, catcher, texts_of
from tests.e2e.terminal import (
    CTRL_B,
    CTRL_END,
    CTRL_J,
    CTRL_T,
    DOWN,
    ENTER,
    ESC,
    F1,
    F2,
    PAGE_UP,
    UP,
    Terminal,
    all_words,
    flow,
)

KEY = "sk-ant-e2e-" + "5c0ffee5" * 5
LINES = 500
PASTED = "\n".join(f"pasted line {n} [/b] \\ {'x' * (n % 50)}" for n in range(LINES))

TURNS: list[dict[str, Any]] = [
    {"match": "fix the test", "text": "I look at the test first.", "repeat": True},
    {
        "match": "resize me",
        "text": "".join(f"Sentence number {n} of many. " for n in range(160)) + "The very end.",
        "chunk_size": 20,
        "chunk_delay_ms": 12,
    },
    {
        "match": "think aloud",
        "thinking": "A thought of my own.",
        "text": "Thought over.",
        "repeat": True,
    },
    {"text": "Noted.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS, models=["model-one", "model-two"])


@pytest.fixture(scope="module")
def refusing() -> Iterator[Catcher]:
    """A server that knows no key, and says in its refusal which one it was given."""

    def answer(path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, Any]:
        given = headers.get("authorization", "") + " " + headers.get("x-api-key", "")
        error = {"type": "authentication_error", "message": f"invalid key: {given}"}
        return 401, json.dumps({"type": "error", "error": error}).encode(), {}

    with catcher(answer) as found:
        yield found


@pytest.fixture(scope="module")
def terminals(
    server: OfflineProcess, refusing: Catcher, open_terminal: Open
) -> dict[str, Terminal]:
    """Started beside each other."""
    at = ["--base-url", server.url]
    return {
        "main": open_terminal(*at, "fix the test"),
        "login": open_terminal("--base-url", refusing.url, "--model", "any"),
        "60x20": open_terminal("--demo", cols=60, rows=20),
        "40x12": open_terminal("--demo", cols=40, rows=12),
    }


@pytest.fixture
def terminal(terminals: dict[str, Terminal]) -> Terminal:
    """The main one, idle, with an empty draft and no page before it."""
    main = terminals["main"]
    if "While you type" in main.screen():
        main.send(ESC)
    main.wait_ready()
    return main


def test_the_text_on_the_command_line_is_the_first_prompt(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.wait_for(all_words(["❯ fix the test", "I look at the test first."]))
    (request,) = server.wait_requests(1, "fix the test")
    assert request.texts == ["fix the test"]
    assert request.body["model"] == "model-one", "the endpoint's first, where ours is not served"
    assert terminal.draft().strip() == ""


def test_model_changes_the_next_request(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("/model")
    terminal.wait_for(all_words(["The model is", "model-two"]))
    terminal.say("/model model-two")
    terminal.wait_for(re.compile(r"^ ready · model-two", re.MULTILINE))
    terminal.say("who answers?")
    (request,) = server.wait_requests(1, "who answers?")
    assert request.body["model"] == "model-two"


def test_effort_changes_the_next_request(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say_wrong("/effort enormous", all_words(["enormous", "low, medium, high"]))
    terminal.say("/effort low")
    terminal.wait_for("model-two low")
    terminal.say("think less")
    (less,) = server.wait_requests(1, "think less")
    terminal.wait_ready()
    terminal.say("/effort max")
    terminal.wait_for("model-two max")
    terminal.say("more thought")
    (more,) = server.wait_requests(1, "more thought")
    sent = [[r.body["thinking"], r.body.get("output_config")] for r in (less, more)]
    assert sent[0] != sent[1], sent


def test_system_shows_what_is_sent(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("/system")
    sent = server.requests()[-1].body["system"][0]["text"]
    line = next(line for line in sent.splitlines() if line.startswith("- Look before"))
    terminal.wait_for(all_words(["You are agent-tui", line[:40]]))


def test_help_lists_commands_and_keys(terminal: Terminal) -> None:
    terminal.say("/help model")
    terminal.wait_for(all_words(["/model [NAME]", "show or choose the model"]))
    terminal.say("/help")
    terminal.wait_for(all_words(["While you type", "Ctrl+J", "Ctrl+R"]))
    terminal.send(b"\x1b[F")
    terminal.wait_for(all_words(["Commands", "/login", "/quit"]))
    terminal.send(ESC)
    terminal.wait_gone("While you type")
    terminal.send(F1)
    terminal.wait_for("While you type")
    terminal.send(ESC)
    terminal.wait_gone("While you type")


def test_an_unknown_command_is_named_and_not_sent(
    server: OfflineProcess, terminal: Terminal
) -> None:
    before = len(server.requests())
    refusal = all_words(["There is no command /modle", "Did you mean /model?"])
    terminal.say_wrong("/modle model-one", refusal)
    terminal.say("/etc/passwd is a path")
    server.wait_requests(1, "/etc/passwd is a path")
    assert len(server.requests()) == before + 1


def test_clear_begins_without_history(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("/clear")
    terminal.wait_gone("fix the test")
    terminal.wait_gone("/etc/passwd")
    terminal.say("a fresh start")
    (request,) = server.wait_requests(1, "a fresh start")
    assert [m["role"] for m in request.messages] == ["user"]
    assert request.texts == ["a fresh start"]


def test_the_panel_opens_and_closes(terminal: Terminal) -> None:
    assert "Container" in terminal.lines()[0]
    terminal.send(F2)
    terminal.wait_for(lambda shown: "Container" not in shown.split("\n")[0])
    terminal.send(CTRL_B)
    terminal.wait_for(lambda shown: "Container" in shown.split("\n")[0])


def test_thinking_unfolds(terminal: Terminal) -> None:
    terminal.say("think aloud")
    terminal.wait_for(all_words(["▸ thought", "Thought over."]))
    assert "A thought of my own." not in terminal.screen()
    terminal.send(CTRL_T)
    terminal.wait_for("A thought of my own.")
    terminal.send(CTRL_T)
    terminal.wait_gone("A thought of my own.")


def test_a_burst_of_letters_and_enter_stays_in_order(
    server: OfflineProcess, terminal: Terminal
) -> None:
    terminal.send(b"typed in a burst\r")
    (request,) = server.wait_requests(1, "typed in")
    assert request.texts[-1] == "typed in a burst"
    terminal.wait_ready()
    assert not terminal.draft().strip()


def test_many_lines_and_history(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.write("the first line")
    terminal.send(CTRL_J)
    terminal.write("the second line")
    terminal.enter()
    (request,) = server.wait_requests(1, "the second line")
    assert texts_of(request.messages[-1]) == ["the first line\nthe second line"]
    terminal.wait_ready()
    terminal.send(UP)
    terminal.wait_for(lambda _: "the second line" in terminal.draft())
    assert terminal.draft().split("\n")[0].strip() == "the first line"
    terminal.send(DOWN + DOWN)
    terminal.wait_for(lambda _: not terminal.draft().strip())


def test_a_paste_of_500_lines_is_one_message(server: OfflineProcess, terminal: Terminal) -> None:
    before = len(server.requests())
    terminal.write("what is this? ")
    terminal.paste(PASTED)
    terminal.wait_for(re.compile(rf"{LINES} lines|pasted line {LINES - 1}"))
    assert len(server.requests()) == before, "a line end in a paste must not send"
    terminal.enter()
    (request,) = server.wait_requests(1, "what is this?")
    assert texts_of(request.messages[-1]) == [f"what is this? {PASTED}"]
    terminal.wait_ready()
    terminal.wait_for("Noted.")


def test_resize_while_an_answer_streams(server: OfflineProcess, terminal: Terminal) -> None:
    terminal.say("/clear")
    terminal.say("resize me")
    terminal.wait_for(re.compile(r"number\s+5\s+of"))
    for cols, rows in ((60, 14), (150, 40), (45, 30), (99, 20), (120, 36)):
        terminal.resize(cols, rows)
        terminal.wait_for(lambda shown: "streaming" in shown.rsplit("\n", 1)[-1])
    terminal.wait_for("The very end.", timeout=20)
    terminal.wait_ready()
    (request,) = server.wait_requests(1, "resize me")
    assert (request.status, request.closed_by_client) == (200, False)
    lines = terminal.lines()
    assert len(lines) == 36
    assert sum(line.startswith(" ❯") for line in lines) == 1, "the composer is there once"
    said = flow("\n".join(lines))
    shown = [int(n) for n in re.findall(r"Sentence number (\d+)", said)]
    assert shown == list(range(shown[0], 160)), "no sentence is lost or twice"
    terminal.send(PAGE_UP)
    terminal.wait_gone("The very end.")
    terminal.send(CTRL_END)
    terminal.wait_for("The very end.")


# --- a key ----------------------------------------------------------------------------------


def test_login_and_logout(terminals: dict[str, Terminal], refusing: Catcher) -> None:
    terminal = terminals["login"]
    credentials = terminal.state / "credentials.json"
    terminal.wait_ready()
    terminal.write("/login " + "not-a-key-of-mine")
    terminal.send(ENTER)
    terminal.wait_for("The key is asked for, unseen")  # and the command alone comes back
    assert not credentials.exists()
    terminal.say("/login")
    terminal.wait_for("Enter a key")
    terminal.send(KEY)
    terminal.wait_for("•" * 20)
    terminal.send(ENTER)
    terminal.wait_for("The key is stored")
    assert stat.S_IMODE(credentials.stat().st_mode) == 0o600
    assert KEY in credentials.read_text(encoding="utf-8")
    terminal.wait_ready()
    terminal.say("do you know my key?")
    terminal.wait_for(all_words(["401", "authentication_error"]))
    terminal.wait_ready()
    assert any(KEY in value for value in refusing.headers[-1].values()), "the key is not used"

    terminal.say("/logout")
    terminal.wait_for("The stored key is removed")
    assert not credentials.exists()
    terminal.say("/quit")
    assert terminal.exit_code() == 0
    assert KEY.encode() not in terminal.raw, "the key was on the screen"
    for file in terminal.home.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), f"{file} holds the key"


# --- other sizes ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["60x20", "40x12"])
def test_a_narrow_terminal(size: str, terminals: dict[str, Terminal]) -> None:
    terminal = terminals[size]
    cols, rows = map(int, size.split("x"))
    (terminal.cwd / "a-file.txt").write_text("the text of it\n", encoding="utf-8")
    terminal.wait_ready()
    assert "demo" in terminal.lines()[-1], "that it is the demo can always be seen"
    assert "Container" not in terminal.screen()
    terminal.say("read a-file.txt")
    terminal.wait_for("the text of it")
    terminal.wait_ready()
    lines = terminal.lines()
    assert len(lines) == rows
    assert max(len(line) for line in lines) <= cols
    assert sum(line.startswith(" ❯") for line in lines[-5:]) == 1, "there is a composer"

    terminal.send(F2)
    terminal.wait_for(re.compile(r"✓ read"))
    terminal.wait_for("Container")
    terminal.write("typed beside the drawer")
    terminal.send(ESC)
    terminal.wait_gone("Container")
    assert "drawer" in terminal.draft(), "closing the drawer costs no draft"
    terminal.send(b"\x03")
    terminal.wait_for(lambda _: not terminal.draft().strip())
    terminal.say("run `echo $((6 * 7))`")
    terminal.wait_for("wants to run")
    assert "echo $((6 * 7))" in terminal.screen()
    terminal.send(ESC)
    terminal.wait_gone("wants to run")
    terminal.wait_ready()
    terminal.say("/quit")
    assert terminal.exit_code() == 0
    terminal.assert_restored()
