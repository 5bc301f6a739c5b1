"""Turns in a terminal: tools, approval, steering, follow-ups, and a stop at every point."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess, result_text, texts_of
from tests.e2e.terminal import (
    CTRL_END,
    CTRL_T,
    ESC,
    SLOW,
    TAB,
    Terminal,
    all_words,
    group_lives,
    wait_until,
)

STOPPING_WITHIN_S = 0.2
RETRY_LINE = "Esc stop │"
"""What the line of a wait ends in, on a screen with the panel beside it."""
LONG = "word " * 4000
"""At a letter every few milliseconds this streams for minutes: longer than any test waits."""


def call(name: str, **input: Any) -> dict[str, Any]:
    return {"name": name, "input": input}


TURNS: list[dict[str, Any]] = [
    # What was stopped before any answer is in the same message of the user: so this one first.
    {"match": "next after", "text": "I am still here.", "repeat": True},
    # steering and follow-up
    {
        "match": "look at the note",
        "text": "I read it." + " slowly" * 40,
        "tool_calls": [call("read", path="note.txt")],
        "chunk_size": 6,
        "chunk_delay_ms": 25,
    },
    {"match": "but in French", "text": "En francais.", "chunk_size": 4, "chunk_delay_ms": 20},
    {"match": "and then a summary", "text": "Here is the summary."},
    # stops
    {"match": "stop me before headers", "hang": "before_headers"},
    {"match": "stop me in thinking", "thinking": LONG, "chunk_size": 5, "chunk_delay_ms": 5},
    {
        "match": "stop me in arguments",
        "text": "Now I write.",
        "tool_calls": [call("write", path="never.txt", content=LONG)],
        "chunk_size": 5,
        "chunk_delay_ms": 5,
    },
    {
        "match": "stop me in a command",
        "tool_calls": [call("shell", command="trap '' TERM; echo $$ > pid; sleep 300; sleep 300")],
    },
    {"match": "stop me in a retry", "status": 529, "retry_after": 40, "repeat": True},
    {
        "match": "three at once",
        "thinking": "They do not depend on each other.",
        "text": "I do all three.",
        "tool_calls": [
            call("list"),
            call("glob", pattern="*.txt"),
            call("grep", pattern="needle", path="."),
        ],
    },
    {"text": "All three are done.", "repeat": True},
]


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def stoppable(server: OfflineProcess, open_terminal: Open) -> Terminal:
    return open_terminal("--base-url", server.url)


@pytest.fixture(scope="module")
def demo(open_terminal: Open) -> Terminal:
    return open_terminal("--demo")


def show_end(terminal: Terminal) -> None:
    """To the transcript's end (whether it stays there by itself is a test of its own)."""
    terminal.wait_ready()
    terminal.send(CTRL_END)


def test_demo_lists_files(demo: Terminal) -> None:
    (demo.cwd / "shopping.txt").write_text("three apples\n", encoding="utf-8")
    demo.wait_ready()
    demo.say("list the files")
    demo.wait_for(all_words(["holds 1 entry", "shopping.txt 13 B"]))
    demo.wait_ready()
    assert re.search(r"✓ list", demo.screen())


def test_demo_reads_what_a_file_holds_now(demo: Terminal) -> None:
    demo.wait_ready()
    demo.say("read shopping.txt")
    demo.wait_for(all_words(["1 line, 2 words", "three apples"]))
    demo.wait_ready()
    (demo.cwd / "shopping.txt").write_text("four ripe pears\n", encoding="utf-8")
    demo.say("read shopping.txt")
    demo.wait_for(all_words(["1 line, 3 words", "four ripe pears"]))
    demo.wait_ready()


def test_demo_runs_a_command_once_it_is_approved(demo: Terminal) -> None:
    demo.wait_ready()
    demo.say("run `echo marked > made.txt; echo $((40 + 2)) was counted`")
    demo.wait_for("wants to run")
    assert not (demo.cwd / "made.txt").exists(), "it ran before it was approved"
    demo.answer("wants to run", "y")
    show_end(demo)
    demo.wait_for(re.compile(r"^ +42 was counted", re.MULTILINE))
    assert (demo.cwd / "made.txt").read_text(encoding="utf-8") == "marked\n"


def test_demo_does_not_run_a_command_that_is_refused(demo: Terminal) -> None:
    demo.wait_ready()
    demo.say("run `touch refused.txt`")
    demo.answer("wants to run", "n")
    show_end(demo)
    demo.wait_for("refused this call")
    assert not (demo.cwd / "refused.txt").exists()


def test_the_view_follows_the_end_past_a_question(demo: Terminal) -> None:
    demo.wait_ready()
    demo.say("run `seq 1 400`")
    demo.answer("wants to run", "y")
    demo.wait_ready()
    assert "below" not in demo.screen()
    assert "400" in demo.screen()


def test_steering_goes_into_the_run_and_a_follow_up_after_it(
    server: OfflineProcess, stoppable: Terminal
) -> None:
    terminal = stoppable
    (terminal.cwd / "note.txt").write_text("the note says needle\n", encoding="utf-8")
    terminal.wait_ready()
    terminal.say("look at the note")
    terminal.wait_status("streaming")
    terminal.say("but in French")
    terminal.wait_for("↳")
    terminal.write("and then a summary")
    terminal.send(TAB)
    terminal.wait_for("⧗")
    assert len(server.requests("look at the note")) == 1, "it was sent before it was steered"
    terminal.wait_for("Here is the summary.", timeout=20)
    terminal.wait_ready()

    first, second, third = server.requests("look at the note")
    assert [r.status for r in (first, second, third)] == [200, 200, 200]
    last = second.messages[-1]
    assert [b["type"] for b in last["content"]] == ["tool_result", "text"], (
        "steering goes after the results, in the same message"
    )
    assert "needle" in result_text(last["content"][0])
    assert texts_of(last) == ["but in French"]
    assert texts_of(third.messages[-1]) == ["and then a summary"]
    assert third.messages[-2]["role"] == "assistant"
    assert "En francais." in texts_of(third.messages[-2])


def test_tools_that_run_together_show_in_the_panel(
    server: OfflineProcess, stoppable: Terminal
) -> None:
    terminal = stoppable
    terminal.wait_ready()
    terminal.say("three at once")
    terminal.wait_for("All three are done.")
    terminal.wait_ready()
    panel = terminal.panel()
    for name in ("list", "glob", "grep"):
        assert re.search(rf"✓ {name}\b.*\d s", panel), panel
    result = server.requests("three at once")[-1]
    assert len(result.tool_results) == 3
    assert "needle" in result_text(result.tool_results[2])


# --- Esc ----------------------------------------------------------------------------------


def stop(terminal: Terminal) -> float:
    """Esc; the seconds until the terminal was told, by "stopping" or by the idle state."""
    sent = terminal.send(ESC)
    return terminal.wait_raw(b"stopping", b"ready", since=sent, timeout=5) - sent


def assert_next_prompt_works(terminal: Terminal, server: OfflineProcess, place: str) -> None:
    terminal.wait_ready()
    terminal.say(f"next after {place}")
    found = server.wait_requests(1, f"next after {place}")[-1]
    assert (found.status, found.rule, found.error) == (200, None, None)
    terminal.wait_for("I am still here.")
    terminal.wait_ready()


def clear(terminal: Terminal) -> None:
    """A new conversation, so that what is on the screen is of this test."""
    terminal.wait_ready()
    terminal.say("/clear")
    terminal.wait_gone("I am still here.")


STOPS: dict[str, tuple[str, Callable[[Terminal], Any]]] = {
    "before headers": ("before_headers", lambda t: t.wait_status("waiting")),
    "in thinking": ("thinking", lambda t: t.wait_for("word word")),
    "in arguments": ("arguments", lambda t: t.wait_for(all_words(["write", "never.txt"]))),
}


@pytest.mark.parametrize("place", STOPS)
def test_esc_stops_the_request(place: str, server: OfflineProcess, stoppable: Terminal) -> None:
    terminal = stoppable
    at, under_way = STOPS[place]
    clear(terminal)
    terminal.send(CTRL_T)
    terminal.say(f"stop me {place}")
    server.wait_requests(1, f"stop me {place}", ended=False)
    under_way(terminal)
    took = stop(terminal)
    assert took < STOPPING_WITHIN_S * SLOW * 2, f"told after {took:.2f} s"
    seen = server.wait_requests(1, f"stop me {place}")[0]
    assert seen.closed_by_client
    assert seen.at == at
    assert_next_prompt_works(terminal, server, place)
    assert not (terminal.cwd / "never.txt").exists(), "a half-streamed call ran"
    sent = server.requests(f"next after {place}")[-1]
    kinds = [b["type"] for m in sent.messages if m["role"] == "assistant" for b in m["content"]]
    assert "tool_use" not in kinds, "a half-streamed call was sent back"


def test_esc_stops_a_command_and_all_it_started(
    server: OfflineProcess, stoppable: Terminal
) -> None:
    terminal = stoppable
    clear(terminal)
    terminal.say("stop me in a command")
    terminal.answer("wants to run", "y")
    pid_file = terminal.cwd / "pid"
    pid = int(wait_until(lambda: pid_file.exists() and pid_file.read_text().strip()))
    terminal.wait_status("tools")
    sent = terminal.send(ESC)
    # The command shrugs off SIGTERM, so it is there for half a second more, visibly.
    took = terminal.wait_raw(b"stopping", since=sent, timeout=5) - sent
    assert took < STOPPING_WITHIN_S * SLOW * 2, f"told after {took:.2f} s"
    wait_until(lambda: not group_lives(pid), 5, "the command's group has ended; that")
    assert_next_prompt_works(terminal, server, "a command")
    request = server.requests("next after a command")[-1]
    result = next(b for b in request.messages[-1]["content"] if b["type"] == "tool_result")
    assert result["is_error"] is True


def test_esc_ends_the_wait_for_a_retry(server: OfflineProcess, stoppable: Terminal) -> None:
    terminal = stoppable
    clear(terminal)
    terminal.say("stop me in a retry")
    terminal.wait_for(all_words(["trying again in 40", RETRY_LINE]))
    took = stop(terminal)
    assert took < STOPPING_WITHIN_S * SLOW * 2, f"told after {took:.2f} s"
    terminal.wait_gone(RETRY_LINE)
    assert_next_prompt_works(terminal, server, "a retry")
    assert len([r for r in server.requests("stop me in a retry") if r.status == 529]) == 1


def test_the_wait_for_a_retry_counts_down(stoppable: Terminal) -> None:
    terminal = stoppable
    clear(terminal)
    terminal.say("stop me in a retry")
    terminal.wait_for(all_words(["trying again in 40", RETRY_LINE]))
    try:
        terminal.wait_for(re.compile(r"again in 3[0-9] s"), timeout=1)
    finally:
        terminal.send(ESC)
        terminal.wait_ready()
