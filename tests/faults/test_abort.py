"""Faults of stopping: what Esc and Ctrl+C end, what they keep, and what never takes a key.

Keys go as bytes to the installed command in a terminal; processes are looked for by what only
they have in their command line.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.tui.keys import KeyTable
from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess, result_text, texts_of
from tests.e2e.terminal import (
    CTRL_C,
    CTRL_D,
    CTRL_J,
    ENTER,
    ESC,
    F4,
    UP,
    Terminal,
    all_words,
    wait_until,
)
from tests.faults.helpers import blocks, talking
from tests.tui.conftest import Drive

LEFT = b"\x1b[D"
BACKSPACE = b"\x7f"
GRACE_S = 0.7
"""So long a question takes no key after it has appeared, or after the last key (DESIGN)."""


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"id": "toolu_A", "name": "shell", "input": {"command": command, **more}}


def living(mark: str) -> list[int]:
    """Pids of processes (no zombies) with this in their command line."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (
                (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            )
            state = (entry / "stat").read_text().rpartition(") ")[2][:1]
            if mark in command and state != "Z" and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


@pytest.fixture
def mark() -> Iterator[str]:
    """A number of seconds that only this test's commands sleep; they are ended after it."""
    seconds = f"300.{time.time_ns() % 10**9:09}"
    yield seconds
    for pid in living(seconds):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# --- B18, B19: what a command has started --------------------------------------------------------

FAMILIES = {
    "a background child": 'sh -c "sleep {} & sleep {}"',
    "a pipe": "sleep {} | sleep {}",
    "a shell that ignores TERM": "trap '' TERM INT HUP; sleep {}; sleep {}",
    "a child that ignores TERM": "sh -c \"trap '' TERM; sleep {}; sleep {}\" & wait",
    "nohup": "nohup sleep {} >/dev/null & sleep {}",
}


@pytest.mark.parametrize("family", FAMILIES)
async def test_B18_esc_ends_a_command_with_all_it_started(
    family: str, mark: str, tmp_path: Path
) -> None:
    command = FAMILIES[family].format(mark, mark)
    async with talking(
        {"tool_calls": [shell(command)]}, {"text": "ok"}, cwd=tmp_path, allow=["shell"]
    ) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: len(living(f"sleep {mark}")) >= 1)
        talk.conversation.abort()
        await talk.idle()
        await talk.until(lambda: not living(mark))
        await talk.say("and?")
        talk.assert_accepted()
        assert blocks(talk.bodies[1], "tool_result")[0]["is_error"]


@pytest.mark.parametrize("writes", [True, False], ids=["writing on", "silent"])
async def test_B19_a_stop_settles_although_a_descendant_holds_the_pipe(
    writes: bool, mark: str, tmp_path: Path
) -> None:
    """It left the process group and the session, and keeps the output open: the turn settles
    within a bound all the same, and the result says what goes on."""
    loop = f"while :; do {'echo x;' if writes else ''} sleep .1; : {mark}; done"
    async with talking(
        {"tool_calls": [shell(f"setsid sh -c '{loop}' & wait")]}, {"text": "ok"}, cwd=tmp_path,
        allow=["shell"],
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: len(living(mark)) >= 2)
        talk.conversation.abort()
        async with asyncio.timeout(4):
            await talk.conversation.wait_idle()
        await talk.say("and?")
        talk.assert_accepted()
        (result,) = blocks(talk.bodies[1], "tool_result")
        assert result["is_error"]
        if living(mark):
            assert "still" in result_text(result) or "left" in result_text(result)


# --- in a terminal -------------------------------------------------------------------------------

TYPED = ("y", "yes please", "n")
PAUSES_S = (0.0, 0.2, 0.4)
TURNS: list[dict[str, Any]] = [
    {"match": "let it finish",
     "tool_calls": [shell("touch f.begun; while [ ! -e f.go ]; do sleep 0.02; done; echo whole")]},
    {"match": "typed meanwhile", "text": "Both seen."},
    {"match": "ask while I write", "first_event_delay_ms": 900,
     "tool_calls": [shell("touch asked-write.txt")]},
    *({"match": f"ask me {n}", "first_event_delay_ms": 250,
       "tool_calls": [shell(f"touch asked-{n}.txt")]}
      for n in (f"{t[0]}{len(t)}-{p:g}." for t in TYPED for p in PAUSES_S)),
    {"match": "be deaf",
     "tool_calls": [shell("trap '' TERM INT; touch deaf.begun; sleep 301; sleep 301")]},
    {"match": "silent", "hang": "before_headers", "repeat": True},
    {"text": "Good.", "repeat": True},
]  # fmt: skip


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def terminals(server: OfflineProcess, open_terminal: Open) -> Callable[[str], Terminal]:
    """Those of this module, started beside each other."""
    base = ("--base-url", server.url)
    opened = {
        "asks": open_terminal(*base),
        "allows": open_terminal(*base, "--allow", "shell"),
        "deaf": open_terminal(*base, "--allow", "shell"),
        "leaves": open_terminal(*base),
        "silence": open_terminal(*base, env={"AGENT_TUI_IDLE_TIMEOUT_S": "6"}),
    }
    return lambda name: opened[name]


def empty(terminal: Terminal) -> None:
    terminal.wait_for(lambda _: not terminal._draft().strip())


def test_B15_enter_while_a_tool_runs_stops_nothing(
    server: OfflineProcess, terminals: Callable[[str], Terminal]
) -> None:
    """Enter steers, Tab queues, Esc stops: three keys, in the last line while it runs."""
    terminal = terminals("allows")
    terminal.wait_ready()
    terminal.say("let it finish")
    wait_until(lambda: (terminal.cwd / "f.begun").exists(), what="the tool runs; it")
    keys = all_words(["Enter steer", "Tab follow-up", "Esc stop"])
    terminal.wait_for(lambda shown: keys(shown.splitlines()[-1]))
    terminal.say("typed meanwhile")
    terminal.wait_for("after 1 running tool")
    terminal.send(ENTER)  # an empty one more
    assert terminal.status() == "tools"
    (terminal.cwd / "f.go").touch()
    terminal.wait_for("Both seen.")
    terminal.wait_ready()
    first, second = server.requests("let it finish")
    assert not first.closed_by_client
    (result,) = second.tool_results
    assert "whole" in result_text(result) and not result.get("is_error")
    assert texts_of(second.messages[-1]) == ["typed meanwhile"]


async def test_B15_the_keys_can_be_bound_anew(drive: Drive) -> None:
    """Adjusted: the setting for it comes later; the screen takes other keys already, acts by
    them, and says them in its last line."""
    keys = {"send": "ctrl+s", "follow_up": "ctrl+f", "stop": "ctrl+x"}
    defaults = [next(k for k in KeyTable().hints("running") if k[1] == w)[0] for w in
                ("steer", "follow-up", "stop")]  # fmt: skip
    assert len(set(defaults)) == 3
    async with drive(settings=SimpleNamespace(theme="dark", keys=keys)) as driven:
        driven.conv.set_status("tools")
        await driven.shows("Ctrl+S steer")
        await driven.type("one")
        await driven.press("ctrl+s")
        await driven.type("two")
        await driven.press("ctrl+f")
        await driven.press("ctrl+x")
        names = [call[0] for call in driven.conv.calls]
        assert names.index("submit") < names.index("follow_up") < names.index("abort")


def test_B20_ctrl_c_and_ctrl_d_step_by_step(terminals: Callable[[str], Terminal]) -> None:
    """Idle: Ctrl+C clears the draft, Up brings it back; on an empty one the first arms, typing
    disarms, twice within a second ends. Ctrl+D on a draft deletes, it does not end."""
    terminal = terminals("leaves")
    terminal.wait_ready()
    terminal.write("long draft")
    terminal.send(CTRL_C)
    empty(terminal)
    terminal.send(UP)
    terminal.wait_for(lambda _: terminal._draft().strip() == "long draft")
    terminal.send(CTRL_C)
    empty(terminal)
    terminal.send(CTRL_C)
    terminal.wait_for("Ctrl+C again quits")
    terminal.write("x")
    terminal.send(CTRL_C)
    empty(terminal)
    terminal.send(CTRL_C)
    terminal.wait_for("Ctrl+C again quits")
    terminal.wait_gone("Ctrl+C again quits")
    terminal.send(CTRL_C)
    terminal.wait_for("Ctrl+C again quits")
    assert terminal.status() == "ready", "it ended though more than a second had passed"
    terminal.wait_gone("Ctrl+C again quits")
    terminal.write("ab")
    terminal.send(LEFT)
    terminal.send(CTRL_D)
    terminal.wait_for(lambda _: terminal._draft().strip() == "a")
    terminal.send(BACKSPACE)
    empty(terminal)
    terminal.send(CTRL_D)
    assert terminal.exit_code() == 0
    terminal.assert_restored()


def test_B20_ctrl_c_while_running_is_esc(
    server: OfflineProcess, terminals: Callable[[str], Terminal]
) -> None:
    terminal = terminals("allows")
    terminal.wait_ready()
    terminal.say("silent, please")
    server.wait_requests(1, "silent, please", ended=False)
    terminal.write("a draft")
    terminal.send(CTRL_C)
    terminal.wait_ready()
    assert terminal.draft().strip() == "a draft"
    assert server.wait_requests(1, "silent, please")[0].closed_by_client
    terminal.send(CTRL_C)
    empty(terminal)


def test_A20_silence_is_seen_and_counted_and_tried_again(
    server: OfflineProcess, terminals: Callable[[str], Terminal]
) -> None:
    """On the screen: while the server is silent the last line counts up to the deadline; then
    the request is tried again, which is said; Esc works all the while."""
    terminal = terminals("silence")
    terminal.wait_ready()
    terminal.say("silent all along")
    shown = terminal.wait_for(re.compile(r"waiting no answer for [345] s \(asks again at 6 s\)"))
    assert "Esc stop" in shown.splitlines()[-1]
    terminal.wait_for("silent for too long")
    server.wait_requests(2, "silent all along", ended=False)
    terminal.send(ESC)
    terminal.wait_ready()
    first, second = server.wait_requests(2, "silent all along")
    assert first.closed_by_client and second.closed_by_client


def test_B22_a_stop_that_does_not_settle_has_a_way_out(
    server: OfflineProcess, terminals: Callable[[str], Terminal]
) -> None:
    """Esc, Esc, Ctrl+C, Ctrl+C within the half second that a deaf command is given: it ends by
    force, with the terminal as it was, nothing left running, and the session kept."""
    terminal = terminals("deaf")
    terminal.wait_ready()
    terminal.say("be deaf")
    wait_until(lambda: (terminal.cwd / "deaf.begun").exists(), what="the command runs; it")
    terminal.send(ESC)
    terminal.wait_raw(b"stopping")
    for key in (ESC, CTRL_C, CTRL_C):
        terminal.send(key)
    assert terminal.exit_code() == 130
    terminal.assert_restored()
    wait_until(lambda: not living(str(terminal.cwd)), 5, "the command has ended; that")
    wait_until(lambda: not living("sleep 301"), 5, "the command has ended; that")
    (session,) = terminal.state.glob("sessions/*/*.jsonl")
    kept = [json.loads(line) for line in session.read_text(encoding="utf-8").splitlines()]
    messages = [r.get("message") or {"role": "toolResult"} for r in kept if r["type"] == "message"]
    assert [m["role"] for m in messages[:2]] == ["user", "assistant"]
    assert messages[1]["content"][0]["id"] == "toolu_A"
    with Terminal(
        "-c", "--base-url", server.url, home=terminal.home, cwd=terminal.cwd
    ) as again:  # fmt: skip
        again.wait_for("be deaf")
        again.wait_ready()
        again.say("still here?")
        again.wait_for("Good.")
    assert server.wait_requests(1, "still here?")[0].status == 200


# --- B23, B24: a question never takes what is typed ----------------------------------------------


def test_B23_a_question_leaves_the_draft_and_its_cursor(
    server: OfflineProcess, terminals: Callable[[str], Terminal]
) -> None:
    terminal = terminals("asks")
    terminal.wait_ready()
    terminal.say("ask while I write")
    for line in ("the first paragraph", "the second", "the third"):
        terminal.send(line)
        terminal.send(CTRL_J)
    terminal.send("the end")
    terminal.send(LEFT * 4)
    terminal.wait_for("wants to run")
    terminal.send("X")
    draft = "the first paragraph\nthe second\nthe third\ntheX end"
    terminal.wait_for(lambda _: _lines(terminal._draft()) == draft)
    time.sleep(GRACE_S + 0.3)
    terminal.send(F4)
    terminal.wait_for("F4 back")
    terminal.send("n")
    terminal.wait_gone("wants to run")
    assert _lines(terminal.draft()) == draft
    terminal.send("Y")
    terminal.wait_for(lambda _: _lines(terminal._draft()) == draft.replace("X", "XY"))
    terminal.wait_ready()
    assert not (terminal.cwd / "asked-write.txt").exists()
    terminal.send(CTRL_C)
    empty(terminal)


def _lines(draft: str) -> str:
    return "\n".join(line.rstrip() for line in draft.rstrip().split("\n"))


@pytest.mark.parametrize("pause_s", PAUSES_S)
@pytest.mark.parametrize("typed", TYPED)
def test_B24_a_question_takes_no_key_that_was_meant_for_the_composer(
    typed: str, pause_s: float, server: OfflineProcess, terminals: Callable[[str], Terminal]
) -> None:
    """It opens between two letters, or just before the only one: the text goes where it was
    meant, nothing is approved or refused; after its grace time it can be answered."""
    terminal = terminals("asks")
    terminal.wait_ready()
    number = f"{typed[0]}{len(typed)}-{pause_s:g}."
    asked = terminal.cwd / f"asked-{number}.txt"
    terminal.say(f"ask me {number}")
    head, tail = typed[:-1], typed[-1]
    terminal.send(head)
    terminal.wait_for("wants to run")
    time.sleep(pause_s)
    terminal.send(tail)
    terminal.wait_for(lambda _: terminal._draft().strip() == typed)
    bare = len(typed) == 1  # with Enter, and the question in sight, it would be the answer
    if bare:
        terminal.send(b"\x7f")
        terminal.wait_for(lambda _: not terminal._draft().strip())
    else:
        terminal.send(ENTER)
        terminal.wait_for("↳")
    shown = terminal.wait_for("wants to run")
    assert bare or typed in shown
    assert not asked.exists()
    empty(terminal)
    time.sleep(GRACE_S + 0.3)
    terminal.send("y")
    terminal.wait_gone("wants to run")
    wait_until(asked.exists, what="the approved command has run; that")
    terminal.wait_ready()
    request = server.requests(f"ask me {number}")[1]
    assert texts_of(request.messages[-1]) == ([] if bare else [typed])
