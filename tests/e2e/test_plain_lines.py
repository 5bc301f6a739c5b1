"""Plain lines in a terminal: the installed command, keys as bytes, every byte it writes looked at.

Faults D18, D26, D27: a line mode without redraws, colours or spinners, in any locale.
"""

import json
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.mcp_zoo import ZOO
from tests.e2e.servers import OfflineProcess, result_text
from tests.e2e.terminal import CTRL_C, CTRL_D, Terminal, wait_until

SLOWLY = {"chunk_size": 5, "chunk_delay_ms": 10}


def call(name: str, **input: Any) -> dict[str, Any]:
    return {"name": name, "input": input}


TURNS: list[dict[str, Any]] = [
    {
        "match": "begin",
        "text": "# First\n\nI look **closely** at it. Then I `run` it:\n\n"
        "| file | size |\n|---|---|\n| a.txt | 3 |\n",
        "tool_calls": [call("shell", command="printf '\\033[31mred\\033[0m\\n'; sleep 0.3")],
    },
    {"match": "and mind the gap", "text": "I mind it. " + "Slowly on. " * 30, **SLOWLY},
    {"match": "afterwards a summary", "text": "The summary."},
    {"match": "never ends", "text": "Word by word. " * 2000, "repeat": True, **SLOWLY},
    {"match": "refuse me", "tool_calls": [call("shell", command="touch never")]},
    {"match": "ask the server", "tool_calls": [call("zoo__ask")]},
    {"text": "Understood.", "repeat": True},
]


class Lines:
    """A terminal read as a text that only grows."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.at = 0

    def type(self, text: str) -> None:
        self.terminal.send(text + "\r")

    @property
    def text(self) -> str:
        return self.terminal.raw.decode("utf-8", "replace").replace("\r\n", "\n")

    def hear(self, wanted: str, timeout: float = 10.0) -> str:
        """Until this has been said after what was heard before; gives what was said up to it."""

        def said() -> str | None:
            text = self.text
            found = text.find(wanted, self.at)
            if found < 0:
                return None
            before, self.at = text[self.at : found], found + len(wanted)
            return before or " "

        try:
            return wait_until(said, timeout)
        except AssertionError:
            raise AssertionError(f"{wanted!r} is not in {self.text[self.at :]!r}") from None


def assert_plain(terminal: Terminal) -> None:
    """No ESC, no control of any kind but newline, and what takes typed letters back."""
    found = set(re.findall(rb"[\x00-\x1f\x7f]", terminal.raw)) - {b"\r", b"\n", b"\b"}
    assert not found, f"{found} in {terminal.raw!r}"


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def home(folder: Callable[[str], Path]) -> Path:
    return folder("plain")


@pytest.fixture(scope="module")
def lines(server: OfflineProcess, home: Path, open_terminal: Open) -> Lines:
    terminal = open_terminal(
        "--plain", "--base-url", server.url, "--model", "demo", home=home, cols=40, rows=12,
        env={"NO_COLOR": "1"},
    )  # fmt: skip
    return Lines(terminal)


def test_a_turn_is_told_steered_approved_and_followed_up(
    lines: Lines, server: OfflineProcess
) -> None:
    lines.hear("Ready.", 20)
    lines.type("begin")
    lines.hear("You: begin\n")
    told = lines.hear("Waiting for your approval: shell wants to run:")
    # Whole sentences, without the marks of markdown; a table cell by cell.
    assert "Answer: Heading: First\n" in told
    assert "\nI look closely at it.\nThen I run it:\n" in told
    assert "Table: file, size\na.txt; size: 3\n" in told
    lines.hear("Then Enter.")
    # What is no answer to the question is a message: it steers.
    lines.type("and mind the gap")
    lines.hear("Queue: 1 message waits. 1, steering: and mind the gap")
    lines.type("y")
    lines.hear("Approved, once.")
    told = lines.hear("Answer: I mind it.")
    assert "Tool shell: done after" in told
    assert "  red\n" in told
    assert "Delivered: and mind the gap; turn 2, after 1 tool result." in told
    steered = server.requests("and mind the gap")[0]
    assert "red" in result_text(steered.tool_results[0])
    # Follow-ups, by either form; one is taken back.
    lines.type("> afterwards a summary")
    lines.hear("1, follow-up: afterwards a summary; when the turn ends")
    lines.type("/queue this one not")
    lines.hear("2, follow-up: this one not")
    lines.type("/withdraw 2")
    lines.hear("Withdrawn: this one not")
    lines.hear("You: afterwards a summary")
    lines.hear("Answer: The summary.")
    lines.hear("Ready.")
    assert not server.requests("this one not")
    assert server.requests()[-1].texts == [
        "begin", "and mind the gap", "afterwards a summary",
    ]  # fmt: skip
    assert_plain(lines.terminal)


def test_it_is_stopped_refused_and_asked_what_it_has_cost(
    lines: Lines, server: OfflineProcess, home: Path
) -> None:
    for number, stop in enumerate(("/stop\r", CTRL_C), 1):
        lines.type("this never ends")
        lines.hear("Answer: Word by word.")
        lines.terminal.send(stop)
        lines.hear("Stopping.")
        lines.hear("Stopped: the answer is kept as far as it came.")
        lines.hear("Ready.")
        assert server.wait_requests(number, "never ends")[-1].closed_by_client
    lines.type("refuse me")
    lines.hear("touch never")
    lines.hear("Then Enter.")
    lines.type("n not in this folder")
    lines.hear("Refused, with your reason.")
    lines.hear("Answer: Understood.")
    assert "not in this folder" in result_text(server.requests("refuse me")[-1].tool_results[0])
    assert not (home / "work" / "never").exists()
    lines.hear("Ready.")
    for command, answer in [
        ("/usage", "Table: answer"), ("/tools", "shell"), ("/container", "ontainer"),
        ("/mcp", "erver"), ("/help", "/withdraw [N]: take a message back"),
        ("/output", "Output of shell:"), ("/nonsense", "Error: There is no command /nonsense."),
    ]:  # fmt: skip
        lines.type(command)
        lines.hear(f"> {command}\n")
        lines.hear(answer)
    # Typed letters are taken back; several lines at once are one message.
    lines.terminal.send("helo\x7flo\x17hello\x15good day\r")
    lines.hear("You: good day")
    lines.hear("Ready.")
    lines.terminal.send("one\rtwo\rthree\r")
    lines.hear("Pasted: 3 lines, as one message.")
    lines.hear("Ready.")
    assert server.requests()[-1].texts[-2:] == ["good day", "one\ntwo\nthree"]
    assert_plain(lines.terminal)


def test_a_form_of_a_server_is_filled_in_lines(
    lines: Lines, server: OfflineProcess, home: Path
) -> None:
    diary = home / "diary"
    python = f"{sys.executable} -S -E -u {ZOO}"
    lines.type(f"/mcp add zoo -e ZOO_DIARY={diary} -- {python} Plain")
    lines.hear("Server zoo: connected, 13 tools.")
    lines.type("ask the server")
    lines.hear("Waiting for your approval: ask of the server zoo")
    lines.hear("Then Enter.")
    lines.type("y")
    lines.hear("Question of the server zoo: it asks for details.")
    lines.hear("/cancel to give no answer.")
    lines.type("/answer")
    lines.hear("Field 1 of 1: ")
    lines.hear("may be left empty.")
    lines.type("Ann")
    lines.hear("Ready.")
    told = [json.loads(line) for line in diary.read_text().splitlines()]
    answers = [entry["answered"]["result"] for entry in told if "answered" in entry]
    assert answers == [{"action": "accept", "content": {"name": "Ann"}}]
    assert_plain(lines.terminal)


def test_it_is_left_and_gone_on_with(
    lines: Lines, server: OfflineProcess, home: Path, open_terminal: Open
) -> None:
    lines.type("/clear")
    lines.hear("New conversation.")
    lines.type("another conversation")
    lines.hear("Ready.")
    lines.type("/resume")
    listed = lines.hear("Type its number, then Enter.")
    assert "1: stay in this one" in listed and "begin (" in listed
    lines.type("2")
    lines.hear("Answer: Understood.")
    lines.hear("Ready.")
    lines.type("/quit")
    assert lines.terminal.exit_code() == 0
    left = re.search(r"Go on with: \S+ -r (\w+)   \(so far \$", lines.text)
    assert left, lines.text[-300:]
    assert_plain(lines.terminal)
    # A dumb terminal gets plain lines without being asked, and the draft of a hang-up is kept.
    argv = ["--base-url", server.url, "--model", "demo", "-r", left[1]]
    again = Lines(open_terminal(*argv, home=home, env={"TERM": "dumb"}))
    again.hear("Note: Session")
    again.hear("Ready.", 20)
    again.terminal.send("half a thought")
    again.hear("half a thought")
    again.terminal.signal(signal.SIGTERM)
    assert again.terminal.exit_code() == 143
    assert_plain(again.terminal)
    third = Lines(open_terminal(*argv, home=home, env={"TERM": "dumb"}))
    third.hear("Draft: what you had typed", 20)
    third.hear("> half a thought")
    third.terminal.send(b"\x15" + CTRL_D)
    assert third.terminal.exit_code() == 0


def test_D27_any_locale_is_written_to(serve: Serve, open_terminal: Open) -> None:
    server = serve([{"text": "naïve — café 你", "repeat": True}])
    argv = ["--base-url", server.url, "--model", "demo", "--no-session"]
    cases: list[tuple[dict[str, str], bytes]] = [
        ({"LC_ALL": "C"}, b"naive - cafe ?"),
        ({"LANG": "de_DE.ISO-8859-1"}, b"na\xefve - caf\xe9 ?"),
        ({"LANG": "C.UTF-8"}, "naïve — café 你".encode()),
    ]
    setting = {"AGENT_TUI_SCREEN_READER": "true", "LANG": ""}
    for lines, shown in [(Lines(open_terminal(*argv, env=setting | env)), s) for env, s in cases]:
        lines.hear("Ready.", 20)
        lines.type("hello")
        lines.hear("Ready.")
        assert b"Answer: " + shown in lines.terminal.raw
        lines.terminal.send(CTRL_D)
        assert lines.terminal.exit_code() == 0


def test_D27_the_screen_starts_in_any_locale_and_no_byte_ends_it(
    serve: Serve, open_terminal: Open
) -> None:
    server = serve([{"text": "naïve 你", "repeat": True}])
    argv = ["--base-url", server.url, "--model", "demo", "--no-session"]
    latin, plain_c = (
        open_terminal(*argv, env={"LANG": "", **env})
        for env in ({"LANG": "de_DE.ISO-8859-1"}, {"LC_ALL": "C"})
    )
    for terminal, typed, said in (
        (latin, b"gr\xfcn", "grün"),
        (plain_c, "grün".encode(), "grün"),
        (plain_c, b"gr\xfcn", "gr\ufffdn"),
    ):
        terminal.wait_ready()
        assert " > " in terminal.screen() and "❯" not in terminal.screen()
        number = len(server.requests()) + 1
        terminal.send(typed)
        terminal.wait_for(lambda _, terminal=terminal: terminal.draft().startswith("gr"))
        terminal.send(b"\r")
        assert server.wait_requests(number)[-1].texts[-1] == said
        terminal.wait_ready()
    assert b"na\xefve ?" in latin.raw
