"""Faults of the queue: nothing typed is lost, doubled, stuck, or taken for something else.

With key bytes to the installed command in a terminal, where a key press is in the fault; the
screen and the server's log are looked at.
"""

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent import clock_loop
from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess, texts_of
from tests.e2e.terminal import ENTER, ESC, TAB, Terminal, all_words, wait_until
from tests.faults.helpers import (
    Gate,
    Script,
    make_conversation,
    moments,
    reply,
    talking,
    user_texts,
)

ALT_UP = b"\x1b[1;3A"
BACKSPACE = b"\x7f"

B01_TIMES = 16
B01_ANSWER = "word " * 30


def shell(command: str) -> dict[str, Any]:
    return {"name": "shell", "input": {"command": command}}


def waits_for(name: str) -> dict[str, Any]:
    """A command that says that it has begun and ends when a file is there."""
    return shell(f"touch {name}.begun; while [ ! -e {name}.go ]; do sleep 0.02; done; echo {name}")


TURNS: list[dict[str, Any]] = [
    {"match": "instant", "text": B01_ANSWER, "chunk_size": 5, "chunk_delay_ms": 8, "repeat": True},
    {"match": "reply to", "text": "Understood.", "repeat": True},
    {"match": "keep m1 and m2", "tool_calls": [shell("touch kept.begun; sleep 60")]},
    {"match": "resumed 1", "text": "First of them."},
    {"match": "resumed 2", "text": "Second of them."},
    {"match": "one copy", "text": "I work. ", "tool_calls": [waits_for("copy")]},
    {"match": "foo", "text": "foo it is."},
    {"match": "commands meanwhile", "text": "I work. ", "tool_calls": [waits_for("commands")]},
    {"match": "say when", "tool_calls": [waits_for("when")]},
    {"match": "pause after this", "text": "I pause."},
    {"text": "Nothing more to do.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def opened(server: OfflineProcess, open_terminal: Open) -> Terminal:
    model = ("--model", "claude-sonnet-5-5")
    return open_terminal("--base-url", server.url, "--allow", "shell", *model)


@pytest.fixture
def terminal(opened: Terminal) -> Terminal:
    """The terminal, idle, in a new conversation."""
    opened.wait_ready()
    opened.say("/clear")
    opened.wait_for(lambda shown: "❯" in shown and "word" not in shown and "it is" not in shown)
    return opened


def begun(terminal: Terminal, name: str) -> None:
    wait_until(lambda: (terminal.cwd / f"{name}.begun").exists(), what=f"{name} has begun; it")


def may_end(terminal: Terminal, name: str) -> None:
    (terminal.cwd / f"{name}.go").touch()


def records(terminal: Terminal) -> list[dict[str, Any]]:
    """The records of its newest session."""
    newest = max(terminal.state.glob("sessions/*/*.jsonl"), key=lambda p: p.stat().st_mtime)
    return [json.loads(line) for line in newest.read_text(encoding="utf-8").splitlines()]


# --- B01: the instant in which the turn ends -----------------------------------------------------


def test_B01_enter_around_the_end_of_a_turn_in_a_terminal(
    terminal: Terminal, server: OfflineProcess
) -> None:
    """Enter at many times around message_stop: each text is delivered once, in order, as steering
    while the run is on and as a prompt of its own after."""
    said: list[str] = []
    for number in range(B01_TIMES):
        prompt, typed = f"instant {number:02}.", f"reply to {number:02}."
        said += [prompt, typed]
        terminal.say(prompt)
        terminal.write(typed)
        took = len(B01_ANSWER) / 5 * 0.008
        server.wait_requests(1, prompt, ended=False)
        time.sleep(took * (0.7 + 0.6 * number / B01_TIMES))
        terminal.send(ENTER)

        def answered(typed: str = typed) -> bool:
            found = server.requests(typed)
            return bool(found) and all(r.ended for r in found)

        wait_until(answered, what=f"{typed} was delivered; it")
        terminal.wait_ready()
    last = server.requests(said[-1])[-1]
    assert last.texts == said, "each once, in the order in which it was typed"
    assert all(r.status == 200 for r in server.requests("instant"))
    ways = {
        bool(r["message"].get("queue_item_id"))
        for r in records(terminal)
        if r["type"] == "message"
        and r["message"]["role"] == "user"
        and "reply to" in r["message"]["content"][0]["text"]
    }
    assert ways == {True, False}, "the times were not around the end: all came before or after"


def test_B01_every_millisecond_around_the_end_of_a_turn() -> None:
    """As the screen does it (Enter sends, Tab queues), for each millisecond, on a clock."""

    async def play(moment: float, kind: str) -> None:
        script = Script([reply("a b c")], first_s=0.01, step_s=0.004)
        conversation = make_conversation(script)
        await conversation.submit("go")
        await asyncio.sleep(moment)
        send = conversation.submit if kind == "Enter" else conversation.follow_up
        await send("one")
        await send("two")
        await conversation.wait_idle()
        assert user_texts(conversation.messages) == ["go", "one", "two"], (moment, kind)
        assert user_texts(script.contexts[-1]) == ["go", "one", "two"], (moment, kind)
        assert conversation.queue() == []

    for kind in ("Enter", "Tab"):
        for moment in moments(0.1, 0.001):
            clock_loop.run(play(moment, kind))


# --- B02: Esc keeps the queue --------------------------------------------------------------------


def test_B02_esc_pauses_the_queue_and_keeps_it_and_the_draft(
    terminal: Terminal, server: OfflineProcess
) -> None:
    terminal.say("keep m1 and m2")
    begun(terminal, "kept")
    terminal.say("resumed 1")
    terminal.wait_for("↳")
    terminal.write("resumed 2")
    terminal.send(TAB)
    terminal.wait_for("⧗")
    terminal.write("a draft")
    terminal.send(ESC)
    terminal.wait_ready()
    shown = terminal.wait_for("paused")
    lines = [line for line in shown.splitlines() if "resumed" in line and "paused" in line]
    assert [re.search(r"resumed \d", line)[0] for line in lines] == ["resumed 1", "resumed 2"]  # type: ignore[index]
    assert terminal.draft().strip() == "a draft"
    assert len(server.requests("keep m1")) == 1, "Esc sent something"

    terminal.send(BACKSPACE * len("a draft"))
    terminal.wait_for(lambda _: not terminal._draft().strip())
    terminal.send(ENTER)
    terminal.wait_for(all_words(["First of them.", "Second of them."]))
    terminal.wait_ready()
    first, second = server.requests("keep m1")[1:]
    assert texts_of(first.messages[-1])[-1] == "resumed 1"
    assert texts_of(second.messages[-1]) == ["resumed 2"]
    assert (first.status, second.status) == (200, 200)


# --- B13: commands are no messages ---------------------------------------------------------------


def test_B13_a_command_typed_mid_turn_never_goes_to_the_model(
    terminal: Terminal, server: OfflineProcess
) -> None:
    """What can run at once does, and a name that is no command is refused; what needs the end of
    the run (/clear) waits in the queue, runs after what was queued before it, and what was queued
    behind it goes into the new conversation. None of them is ever sent."""
    terminal.say("commands meanwhile")
    begun(terminal, "commands")
    for line, answer in (
        ("/effort high", "thinking level is high"),
        ("/mcp list", "No MCP server is configured"),
    ):
        terminal.say(line)
        terminal.wait_for(answer)
        assert terminal.status() == "tools"
    for line in ("/compact", "/exit"):
        terminal.say_wrong(line, f"no command {line}")
        assert terminal.status() == "tools"
    assert "↳" not in terminal.screen().split("│")[0]
    terminal.write("before it")
    terminal.send(TAB)
    terminal.wait_for(re.compile("⧗.*before it"))
    terminal.say("/clear")
    terminal.wait_for(re.compile(r"⧗.*/clear.*when the run ends"))
    terminal.write("behind it")
    terminal.send(TAB)
    terminal.wait_for(re.compile("⧗.*behind it"))
    may_end(terminal, "commands")
    (behind,) = server.wait_requests(1, "behind it")
    terminal.wait_gone("before it")
    terminal.wait_ready()
    shown = terminal.wait_for(all_words(["behind it", "Nothing more to do."]))
    assert "commands meanwhile" not in shown and "/clear" not in shown
    first, second, third = server.requests("commands meanwhile")
    assert second.texts == ["commands meanwhile"]
    assert second.body["output_config"] == {"effort": "high"} != first.body["output_config"]
    assert third.texts == ["commands meanwhile", "before it"]
    assert behind.texts == ["behind it"], "a conversation of its own"
    assert behind.body["output_config"] == {"effort": "high"}, "what was chosen stays chosen"
    assert not any("/clear" in text for seen in server.requests() for text in seen.texts)


@pytest.mark.parametrize(
    "text", ["/usr/bin/env is a path", "/ is the root", "//comment", "/etc/hosts"]
)
async def test_B13_a_text_that_only_begins_like_a_command_is_sent(
    text: str, tmp_path: Path
) -> None:
    """The kind behind it: what is no command name is not swallowed as one."""
    async with talking({"text": "ok"}, cwd=tmp_path) as talk:
        submitted = await talk.conversation.submit(text)
        await talk.idle()
        assert submitted.kind == "started"
        assert talk.bodies[0]["messages"][0]["content"][0]["text"] == text


# --- B14: every end decides what becomes of the queue --------------------------------------------

ENDS: dict[str, dict[str, Any]] = {
    "ok": {"text": "done"},
    "max_tokens": {"text": "cut", "stop_reason": "max_tokens"},
    "refusal": {"text": "no", "stop_reason": "refusal"},
    "context": {"text": "full", "stop_reason": "model_context_window_exceeded"},
    "unknown": {"text": "odd", "stop_reason": "brand_new"},
    "error": {"status": 400, "error": "messages: no", "delay_ms": 100},
    "overloaded": {"status": 529, "repeat": 3, "delay_ms": 50},
    "cut": {"text": "half", "cut": True, "repeat": 3},
}
GO_ON = {"ok", "max_tokens", "refusal", "context", "unknown"}


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
@pytest.mark.parametrize("end", ENDS)
async def test_B14_every_end_drains_the_queue_or_says_why_not(
    end: str, kind: str, tmp_path: Path
) -> None:
    """After a failure what is queued is paused, in sight, and says how it goes on. (Steering of
    an answer that broke midway has gone out with its retry.)"""
    turn = {"first_event_delay_ms": 100, **ENDS[end]}
    if "status" in turn:
        del turn["first_event_delay_ms"]
    async with talking(turn, {"text": "queued seen", "repeat": True}, cwd=tmp_path) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: talk.entries)
        send = talk.conversation.submit if kind == "steer" else talk.conversation.follow_up
        await send("the queued one")
        await talk.idle()
        if (end, kind) == ("cut", "steer"):
            assert user_texts(talk.conversation.messages) == ["go", "the queued one"]
            await talk.say("and?")
        elif end not in GO_ON:
            (entry,) = talk.conversation.queue()
            assert (entry.text, entry.state) == ("the queued one", "paused")
            assert "Enter" in entry.delivery and "paused" in talk.notices
            submitted = await talk.conversation.submit("")
            assert submitted.kind == "resumed"
            await talk.idle()
        assert talk.conversation.queue() == []
        assert talk.last.text == "queued seen"
        assert str(talk.bodies[-1]).count("the queued one") == 1


@pytest.mark.parametrize("pauses", [True, False], ids=["Esc", "abort alone"])
async def test_B14_an_abort_keeps_the_queue_in_sight(pauses: bool, tmp_path: Path) -> None:
    """Esc pauses it; an abort by itself (rpc) leaves it for the next prompt. Either is said."""
    gate = Gate()
    async with talking(
        {"tool_calls": [{"name": "work"}]}, {"text": "ok", "repeat": True}, cwd=tmp_path,
        tools=[gate.tool],
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        await talk.conversation.follow_up("later")
        talk.conversation.abort(pause_queue=pauses)
        await talk.idle()
        (entry,) = talk.conversation.queue()
        assert entry.state == ("paused" if pauses else "queued")
        assert entry.delivery == ("paused: Enter resumes" if pauses else "after the next prompt")
        await talk.say("next")
        if pauses:
            assert [e.text for e in talk.conversation.queue()] == ["later"]
            talk.conversation.queue_resume()
            await talk.idle()
        assert talk.conversation.queue() == []
        assert user_texts(talk.conversation.messages) == ["go", "next", "later"]


async def test_B14_a_limit_that_ends_the_run_keeps_the_queue(tmp_path: Path) -> None:
    async with talking(
        {"text": "one", "first_event_delay_ms": 100}, {"text": "two"}, cwd=tmp_path, max_turns=1
    ) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: talk.entries)
        await talk.conversation.follow_up("later")
        await talk.idle()
        assert len(talk.entries) == 1
        (entry,) = talk.conversation.queue()
        assert entry.state == "paused" and "limit" in talk.notices


# --- B16: editing makes no copy ------------------------------------------------------------------


def test_B16_an_edited_message_stays_one_message(
    terminal: Terminal, server: OfflineProcess
) -> None:
    terminal.say("one copy")
    begun(terminal, "copy")
    terminal.write("fooo")
    terminal.send(TAB)
    terminal.wait_for("⧗")
    terminal.send(ALT_UP)
    terminal.wait_for("Enter saves")
    terminal.wait_for(lambda _: terminal._draft().strip() == "fooo")
    terminal.send(BACKSPACE)
    terminal.wait_for(lambda _: terminal._draft().strip() == "foo")
    terminal.send(ENTER)
    shown = terminal.wait_for(lambda shown: "Enter saves" not in shown and "⧗" in shown)
    queued = [line for line in shown.splitlines() if "⧗" in line]
    assert len(queued) == 1 and "foo " in queued[0] and "fooo" not in queued[0]
    may_end(terminal, "copy")
    terminal.wait_for("foo it is.")
    terminal.wait_ready()
    requests = server.requests("one copy")
    assert requests[-1].texts == ["one copy", "foo"]
    assert not server.requests("fooo")
    rows = [r for r in records(terminal) if r["type"] == "queue"]
    assert len({r["item_id"] for r in rows if r["op"] == "add"}) == 1


@pytest.mark.parametrize("leave", ["Esc", "empty"])
async def test_B16_an_item_under_edit_does_not_go_out(leave: str, tmp_path: Path) -> None:
    """Locked while it is edited, also past the end of the run; then one copy, or none."""
    gate = Gate()
    async with talking(
        {"tool_calls": [{"id": "toolu_A", "name": "work"}]}, {"text": "ok", "repeat": True},
        cwd=tmp_path, tools=[gate.tool],
    ) as talk:  # fmt: skip
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        await talk.conversation.submit("fooo")
        (entry,) = talk.conversation.queue()
        assert talk.conversation.queue_lock(entry.id) == "fooo"
        gate.may_end("toolu_A")
        await talk.idle()
        assert len(talk.entries) == 2, "it went out while it was edited"
        if leave == "Esc":
            talk.conversation.queue_unlock(entry.id)
            talk.conversation.queue_resume()
            await talk.idle()
            assert user_texts(talk.conversation.messages) == ["go", "fooo"]
        else:
            talk.conversation.queue_unlock(entry.id)
            talk.conversation.queue_remove(entry.id)
            await talk.say("on")
            assert user_texts(talk.conversation.messages) == ["go", "on"]
        assert talk.conversation.queue() == []


# --- B25: where a message is and where it went, on the screen ------------------------------------


def test_B25_the_screen_says_when_a_message_goes_out_and_where_it_went(
    terminal: Terminal, server: OfflineProcess
) -> None:
    terminal.say("say when")
    begun(terminal, "when")
    terminal.say("pause after this step")
    line = next(
        line
        for line in terminal.wait_for("after 1 running tool").splitlines()
        if "after 1 running tool" in line
    )
    assert "pause after this step" in line and "steer" in line
    may_end(terminal, "when")
    terminal.wait_for("I pause.")
    shown = terminal.wait_for("turn 2, after 1 tool result")
    assert shown.index("pause after this step") < shown.index("I pause.")
    assert "after 1 running tool" not in shown
    terminal.wait_ready()
    assert texts_of(server.requests("say when")[-1].messages[-1]) == ["pause after this step"]
