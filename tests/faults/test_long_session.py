"""Faults of a screen with a long conversation in it: what is written to the terminal, and where
the reader stands. The installed command in a pty that goes on in a session of 500 messages."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.agent.messages import AssistantMessage, TextContent, UserMessage
from agent_tui.sessions.store import Session
from tests.e2e.fixtures import Open, Serve
from tests.e2e.terminal import CTRL_END, ESC, PAGE_UP, Terminal, flow, wait_until

MESSAGES = 500
WORDS = [f"word{n:03}" for n in range(250)]
FRAME_ON, FRAME_OFF = b"\x1b[?2026h", b"\x1b[?2026l"
FOCUS_OUT, FOCUS_IN = b"\x1b[O", b"\x1b[I"
SIZES = ((60, 12), (150, 50), (120, 40))

TURNS = [
    {"match": "keep me waiting", "first_event_delay_ms": 60_000, "text": "never"},
    {"match": "many words", "text": " ".join(WORDS) + "\n\nThe end of it.",
     "chunk_size": 8, "chunk_delay_ms": 12, "repeat": True},
]  # fmt: skip


@pytest.fixture(scope="module")
def terminal(serve: Serve, open_terminal: Open, folder: Callable[[str], Path]) -> Terminal:
    home = folder("long")
    cwd = home / "work"
    cwd.mkdir()
    session = Session.create(str(cwd), home / "agent-tui")
    for n in range(MESSAGES // 2):
        session.append_message(UserMessage(content=f"question {n}"))
        text = f"answer {n}, **first** line\n\n" + "one more line of it\n\n" * 15
        session.append_message(
            AssistantMessage(content=[TextContent(text=text)], stop_reason="end_turn")
        )
    assert session.close(20)
    server = serve(TURNS)
    return open_terminal("--base-url", server.url, "-c", home=home, cols=120, rows=40)


def test_D23_a_long_session_is_not_black(terminal: Terminal) -> None:
    """Its end is there, and its beginning when one goes there."""
    terminal.wait_ready()
    shown = terminal.wait_for(f"answer {MESSAGES // 2 - 1}")
    assert "one more line of it" in shown
    # This terminal can show a frame at once: it says so, as asked.
    assert b"\x1b[?2026$p" in terminal.raw
    terminal.send(b"\x1b[?2026;2$y")


def test_D01_a_tick_of_the_spinner_writes_a_few_bytes(terminal: Terminal) -> None:
    """One row of the screen, in a frame that is shown at once; nothing of the 500 messages."""
    terminal.say("keep me waiting")
    terminal.wait_for(re.compile(r"no answer for \d"))
    before = len(terminal.raw)
    wait_until(lambda: terminal.raw.count(FRAME_ON, before) >= 6, 20, "6 frames are there; that")
    written = terminal.raw[before:]
    frames = written.split(FRAME_ON)[1:-1]
    assert all(FRAME_OFF in frame for frame in frames)
    assert max(map(len, frames)) < 1_000
    terminal.send(ESC)
    terminal.wait_ready()


def test_D02_the_view_stays_where_one_reads_while_text_comes(terminal: Terminal) -> None:
    terminal.say("many words")
    terminal.wait_for("word005")
    terminal.send(PAGE_UP + PAGE_UP)
    terminal.wait_gone("word005")
    terminal.wait_for("new line")
    read = rows(terminal)
    terminal.send(FOCUS_OUT + FOCUS_IN)
    terminal.wait_ready()
    assert rows(terminal) == read
    assert re.search(r"\d+ new lines", terminal.screen())
    terminal.send(CTRL_END)
    terminal.wait_for("The end of it.")
    terminal.wait_gone(re.compile(r"\d+ new lines"))


def rows(terminal: Terminal) -> list[str]:
    """What is read: the rows of the transcript that do not tell what is new."""
    return [line for line in terminal.lines()[2:20] if "new line" not in line]


def test_D20_twenty_resizes_while_text_comes_leave_one_whole_screen(terminal: Terminal) -> None:
    terminal.say("/clear")
    terminal.wait_gone("The end of it.")
    terminal.say("many words")
    terminal.wait_for("word005")
    for n in range(20):
        cols, lines = SIZES[n % len(SIZES)]
        terminal.resize(cols, lines)
        terminal.wait_for(
            lambda shown: shown.rsplit("\n", 1)[-1].startswith((" streaming", " ready"))
        )
    terminal.resize(120, 40)
    terminal.wait_for("The end of it.")
    shown = terminal.wait_ready()
    assert sum(line.startswith(" ❯") for line in shown.split("\n")) == 2, (
        "the prompt and the composer"
    )
    assert re.findall(r"word\d+", flow(shown)) == WORDS
