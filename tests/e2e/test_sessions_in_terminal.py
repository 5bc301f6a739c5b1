"""What is said and typed outlives the program: -c, -r, /resume, --no-session, kill -9, SIGHUP.

Looked at are the screen and what the server was sent.
"""

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Begin, Open, Serve
from tests.e2e.servers import OfflineProcess, result_text, texts_of
from tests.e2e.terminal import CTRL_C, ENTER, TAB, Terminal, all_words, wait_until

GATE = "touch {0}.begun; until [ -e {0}.go ]; do sleep 0.02; done; echo {0} done"
BIG = "\n".join(f"pasted line {n}" for n in range(30))
MODEL = ("--allow", "shell")


def waits_for(name: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "input": {"command": GATE.format(name)}}]}


TURNS: list[dict[str, Any]] = [
    {"match": "through the gate", **waits_for("gate")},
    {"match": "and then hang", **waits_for("hang")},
    {"text": "Noted.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS, models=["claude-sonnet-5-5", "claude-opus-4-8"])


def records(home: Path) -> list[dict[str, Any]]:
    """Those of all sessions of this home."""
    files = sorted(home.glob("agent-tui/sessions/*/*.jsonl"))
    return [json.loads(line) for f in files for line in f.read_text("utf-8").splitlines()]


def wait_draft(terminal: Terminal, text: str) -> None:
    def recorded() -> bool:
        drafts = [r for r in records(terminal.home) if r["type"] == "draft"]
        return bool(drafts) and text in drafts[-1]["text"].replace("\u205f", " ")

    wait_until(recorded, what="the draft is recorded; it")


@pytest.fixture(scope="module")
def scripts(server: OfflineProcess, folder: Callable[[str], Path], begin: Begin) -> Path:
    """A home in which only -p was used."""
    home = folder("scripts")
    begin("-p", "alone in its folder", "--base-url", server.url, home=home)
    return home


@pytest.fixture(scope="module")
def home(
    server: OfflineProcess,
    open_terminal: Open,
    folder: Callable[[str], Path],
    begin: Begin,
    scripts: Path,
) -> Path:
    """A home in which a person's run was killed while it was busy, with messages queued and a
    draft typed; later a script ran -p there."""
    home = folder("killed")
    (home / "agent-tui").mkdir(parents=True)
    # A level that was chosen is that of its session alone here, so that the two differ.
    (home / "agent-tui" / "config.toml").write_text("remember_choices = false\n")
    terminal = open_terminal("--base-url", server.url, *MODEL, home=home)
    terminal.wait_ready()
    terminal.say("/effort high")
    terminal.wait_for("thinking level is high")
    terminal.say("through the gate")
    wait_until(lambda: (terminal.cwd / "gate.begun").exists())
    terminal.say("steered there")
    terminal.wait_for("after 1 running tool")
    (terminal.cwd / "gate.go").touch()
    terminal.wait_for("turn 2, after 1 tool result")
    terminal.wait_ready()
    terminal.say("and then hang")
    wait_until(lambda: (terminal.cwd / "hang.begun").exists())
    terminal.write("queued for later")
    terminal.send(TAB)
    terminal.wait_for(re.compile("⧗.*queued for later"))
    terminal.write("look at ")
    terminal.paste(BIG)
    terminal.wait_for("[pasted 30 lines]")
    wait_draft(terminal, "[pasted 30 lines]")
    terminal.signal(signal.SIGKILL)
    terminal.exit_code()
    script = begin("-p", "asked by a script", "--base-url", server.url, home=home)
    assert script.result().returncode == 0
    return home


@pytest.fixture(scope="module")
def continued(server: OfflineProcess, open_terminal: Open, home: Path) -> Terminal:
    """-c after the kill."""
    return open_terminal("--base-url", server.url, *MODEL, "-c", home=home)


def test_all_is_back_after_kill_9_and_nothing_is_sent_by_itself(
    server: OfflineProcess, continued: Terminal
) -> None:
    before = len(server.requests())
    continued.wait_ready()
    shown = continued.wait_for(
        all_words(["through the gate", "and then hang", "queued for later", "[pasted 30 lines]"])
    )
    assert "turn 2, after 1 tool result" in shown, "where the steer landed"
    assert "asked by a script" not in shown, "the newest session here is of -p"
    continued.wait_for("was passed over")
    assert continued.draft().strip() == "look at [pasted 30 lines]"
    continued.wait_for(lambda _: "high" in continued.lines()[-1])
    continued.wait_for(lambda _: continued.panel().count("touch ") == 2)  # the calls of before
    assert len(server.requests()) == before, "something went out by itself"


def test_each_goes_out_once_and_whole(server: OfflineProcess, continued: Terminal) -> None:
    continued.wait_ready()
    continued.send(ENTER)
    (draft, queued) = server.wait_requests(3, "and then hang")[1:]
    continued.wait_ready()
    assert [r.status for r in server.requests("and then hang")][-2:] == [200, 200]
    assert texts_of(draft.messages[-1])[-1] == f"look at {BIG}"
    steered = server.requests("steered there")[0]
    assert [result_text(r).strip() for r in steered.tool_results] == ["gate done"]
    (result,) = draft.tool_results
    assert result["is_error"] is True, "the call that the kill cut off"
    assert texts_of(queued.messages[-1]) == ["queued for later"]
    texts = queued.texts
    for text in ("through the gate", "steered there", "and then hang", f"look at {BIG}"):
        assert texts.count(text) == 1
    assert draft.body["output_config"] == {"effort": "high"}
    assert not continued.draft().strip()


@pytest.fixture(scope="module")
def picked(
    server: OfflineProcess, continued: Terminal, open_terminal: Open, home: Path
) -> Terminal:
    """-r after the terminal had gone away, and the person's session chosen."""
    continued.wait_ready()
    continued.write("typed at the last moment")
    continued.signal(signal.SIGHUP)
    assert continued.exit_code() == 129
    terminal = open_terminal("--base-url", server.url, *MODEL, "-r", home=home)
    terminal.wait_for(all_words(["which session", "through the gate", "-p: asked by a script"]), 20)
    terminal.choose("which session", "through the gate")
    return terminal


def test_a_hang_up_keeps_the_draft_and_r_asks_which_session(
    server: OfflineProcess, picked: Terminal
) -> None:
    picked.wait_for("typed at the last moment")
    picked.wait_ready()
    assert picked.draft().strip() == "typed at the last moment"
    assert not server.requests("typed at the last moment")
    picked.send(CTRL_C)
    picked.wait_for(lambda _: not picked.draft().strip())


def test_resume_goes_to_another_session_and_back(picked: Terminal, home: Path) -> None:
    """Each with its own transcript and thinking level."""
    person = _id_of(home, "through the gate")
    (script,) = {r["id"] for r in records(home) if r["type"] == "session"} - {person}
    picked.say("/resume")
    picked.choose("which session", "asked by a script")
    picked.wait_for(f"Session {script[:8]}")
    picked.wait_for(re.compile(r"medium\b.*$"))
    assert "asked by a script" in picked.wait_gone("queued for later")
    picked.say(f"/resume {person[:8]}")
    picked.wait_for(all_words(["turn 2, after the answer", f"Session {person[:8]}"]))
    picked.wait_for(re.compile(r"high\b.*$"))
    assert not picked.draft().strip(), "a draft that was cleared stays so"


def _id_of(home: Path, said: str) -> str:
    """The session in which this was said."""
    for file in home.glob("agent-tui/sessions/*/*.jsonl"):
        text = file.read_text("utf-8")
        if said in text:
            return str(json.loads(text.split("\n", 1)[0])["id"])
    raise AssertionError(f"nobody said {said}")


def test_no_session_keeps_nothing(
    server: OfflineProcess, open_terminal: Open, begin: Begin
) -> None:
    terminal = open_terminal("--base-url", server.url, *MODEL, "--no-session")
    terminal.wait_ready()
    terminal.say("told in confidence")
    terminal.wait_for("Noted.")
    terminal.wait_ready()
    terminal.say("/clear")
    terminal.wait_gone("Noted.")
    terminal.say("told again")
    terminal.wait_for("Noted.")
    terminal.write("a secret draft")
    terminal.signal(signal.SIGTERM)
    assert terminal.exit_code() == 143
    kept = [f for f in terminal.state.rglob("*") if f.is_file() and "logs" not in f.parts]
    assert not list(terminal.state.rglob("*.jsonl")), kept
    for file in kept:
        text = file.read_bytes()
        assert b"confidence" not in text and b"secret draft" not in text, file
    run = begin("-p", "and now", "--base-url", server.url, "-c", home=terminal.home).result()
    assert run.returncode == 2 and b"No conversation was kept" in run.stderr


def test_a_session_of_p_is_continued_where_there_is_no_other(
    server: OfflineProcess, open_terminal: Open, scripts: Path
) -> None:
    terminal = open_terminal("--base-url", server.url, "-c", home=scripts)
    shown = terminal.wait_for(all_words(["alone in its folder", "Noted."]), timeout=20)
    assert "passed over" not in shown
    terminal.wait_ready()
