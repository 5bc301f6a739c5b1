"""Faults of keys and pastes, ways out and odd terminals: key bytes to the installed command in a
pty; its screen, every byte it writes and the server's log are looked at."""

import base64
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fixtures import Open, Serve
from tests.e2e.servers import OfflineProcess
from tests.e2e.terminal import (
    CTRL_C,
    ENTER,
    LEFT_ON,
    Terminal,
    group_lives,
    run_command,
    wait_until,
)

CTRL_G, CTRL_V, LEFT, BACKSPACE = b"\x07", b"\x16", b"\x1b[D", b"\x7f"
PASTE_ON, PASTE_OFF = LEFT_ON["bracketed paste"]

CODE = (
    "def total(prices: list[float], discount: float = 0.0, currency: str = 'EUR') -> str:\n"
    "    return ' '.join([currency, format(sum(prices) * (1.0 - discount), '.2f'), 'in total'])\n"
)
TURNS: list[dict[str, Any]] = [
    {"match": "write code", "text": f"Here:\n\n```python\n{CODE}```\n", "repeat": True},
    {"text": "Received: größer, 漢字, ✓.", "repeat": True},
]

EDITOR = """#!/bin/sh
printf 'EDITOR HERE'
echo edited > "$1"
"""


@pytest.fixture(scope="module")
def server(serve: Serve) -> OfflineProcess:
    return serve(TURNS)


@pytest.fixture(scope="module")
def opened(
    server: OfflineProcess, open_terminal: Open, folder: Callable[[str], Path]
) -> dict[str, Terminal]:
    """The terminals of this module, started beside each other. No clipboard program is there."""
    home = folder("typing")
    editor = home / "editor"
    editor.write_text(EDITOR)
    editor.chmod(0o755)

    def start(*argv: str, **env: str) -> Terminal:
        return open_terminal("--base-url", server.url, *argv, cols=90, rows=30, env=env)

    return {
        "typing": start(EDITOR=str(editor), VISUAL=str(editor), SSH_TTY="/dev/pts/0"),
        "no colour": start(NO_COLOR="1"),
        "light": start(COLORFGBG="0;15"),
        "dumb": start(TERM="dumb", COLORTERM=""),
        "C": start(LANG="", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
        "latin": start(LANG="de_DE.ISO-8859-1", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
        "TERM": start(),
        "killed": open_terminal("--demo", "--allow", "shell", "run `setsid sleep 1000.125 &`"),
    }


@pytest.fixture
def terminal(opened: dict[str, Terminal]) -> Terminal:
    """The one that is typed into; its draft is empty."""
    found = opened["typing"]
    found.wait_ready()
    if found.draft().strip():
        found.send(CTRL_C)
        found.wait_for(lambda _: not found.draft().strip())
    return found


# --- the composer -------------------------------------------------------------------------------


def test_D15_the_terminals_cursor_stands_where_the_next_letter_goes(terminal: Terminal) -> None:
    terminal.write("你好abc")
    start = len(" ❯ ")
    cursor = terminal._screen.cursor
    terminal.wait_for(lambda _: cursor.x == start + 7)
    terminal.send(LEFT)
    terminal.wait_for(lambda _: cursor.x == start + 6)
    terminal.send(BACKSPACE)
    terminal.wait_for(lambda _: cursor.x == start + 5 and terminal.draft().strip() == "你好ac")
    terminal.send(LEFT + BACKSPACE)
    terminal.wait_for(lambda _: cursor.x == start + 2 and terminal.draft().strip() == "你ac")
    # Drawn by the screen, but the terminal's own stands there too: an input method opens at it.
    assert terminal.lines()[cursor.y].startswith(" ❯ 你ac")


def lines(number: int, word: str) -> str:
    return "\n".join(f"{word} {n} [/x] größer" for n in range(number))


WAYS = {
    "432 lines, marked": (432, lambda text: [b"\x1b[200~" + text + b"\x1b[201~"]),
    "432 lines, marked, byte by byte": (
        432,
        lambda text: [bytes([b]) for b in b"\x1b[200~" + text + b"\x1b[201~"],
    ),
    "432 lines, no marks": (432, lambda text: [text]),
    "10,000 lines, marked": (10_000, lambda text: [b"\x1b[200~" + text + b"\x1b[201~"]),
    "10,000 lines, no marks": (10_000, lambda text: [text]),
}


@pytest.mark.parametrize("way", WAYS)
def test_D10_a_paste_arrives_whole_and_sends_nothing_itself(
    terminal: Terminal, server: OfflineProcess, way: str
) -> None:
    number, cut = WAYS[way]
    word = f"{way.replace(',', '').replace(' ', '-')}-line"
    text = lines(number, word)
    sent = len(server.requests())
    for piece in cut(text.replace("\n", "\r").encode()):
        terminal.send(piece)
    last = f"{word} {number - 1} [/x]"
    terminal.wait_for(lambda shown: "[pasted" in terminal.draft() or last in shown, 20)
    assert len(server.requests()) == sent, "no line of it was sent"
    terminal.write(" <end>")
    terminal.enter()
    [request] = server.wait_requests(sent + 1)[sent:]
    assert request.texts[-1] == f"{text} <end>"
    terminal.wait_ready()


def test_D11_a_paste_costs_a_placeholder_and_a_key_a_few_bytes(terminal: Terminal) -> None:
    """Counted in bytes to the terminal: 31 lines once cost 162 MB."""
    written = len(terminal.raw)
    terminal.paste("\n".join(f"line {n} of thirty-one" for n in range(31)))
    terminal.wait_for("[pasted 31 lines]")
    terminal.paste("x" * 400_000)
    terminal.wait_for(lambda _: terminal.draft().count("[pasted") == 2)
    assert len(terminal.raw) - written < 50_000
    for letter in "abc":
        before = len(terminal.raw)
        terminal.send(letter)
        terminal.wait_for(lambda _, letter=letter: terminal.draft().rstrip().endswith(letter))
        assert len(terminal.raw) - before < 3_000
    assert "xxx" not in terminal.draft()


def test_D25_pasting_by_key_without_a_clipboard_blocks_and_loses_nothing(
    terminal: Terminal,
) -> None:
    terminal.write("before")
    terminal.send(CTRL_V)
    terminal.write("behind")
    assert terminal.draft().strip() == "beforebehind"
    terminal.paste(" pasted by the terminal")
    terminal.wait_for(lambda _: "beforebehind pasted by the terminal" in terminal.draft())


def test_D17_a_copy_is_the_source_and_goes_to_the_terminal_over_ssh(terminal: Terminal) -> None:
    """OSC 52: without borders, padding and wraps; the rows on the screen are wrapped."""
    terminal.say("write code")
    terminal.wait_for("def total(prices")
    terminal.wait_ready()
    assert CODE.splitlines()[1] not in terminal.screen()
    terminal.say("/copy code")
    wanted = b"\x1b]52;c;" + base64.b64encode(CODE.encode())
    without_end = b"\x1b]52;c;" + base64.b64encode(CODE.rstrip("\n").encode())
    terminal.wait_raw(wanted, without_end)


# --- ways out -----------------------------------------------------------------------------------


def switched(raw: bytes, on: bytes, off: bytes) -> bool:
    """Whether the mode is on after these bytes."""
    return raw.rfind(on) > raw.rfind(off)


def test_D12_no_child_and_no_shell_gets_bracketed_pastes(terminal: Terminal) -> None:
    """Off before an external editor writes its first byte, on again behind it."""
    before = len(terminal.raw)
    terminal.send(CTRL_G)
    terminal.wait_for(lambda _: terminal.draft().strip() == "edited")
    raw = terminal.raw
    at = raw.index(b"EDITOR HERE", before)
    for name, (on, off) in LEFT_ON.items():
        assert not switched(raw[:at], on, off), f"{name} is on in the editor"
    terminal.wait_for(lambda _: switched(terminal.raw, PASTE_ON, PASTE_OFF))


@pytest.mark.parametrize(
    ("name", "number", "code"), [("TERM", signal.SIGTERM, 143), ("typing", signal.SIGHUP, 129)]
)
def test_D13_a_signal_leaves_the_terminal_as_it_was(
    opened: dict[str, Terminal], name: str, number: signal.Signals, code: int
) -> None:
    terminal = opened[name]
    terminal.wait_ready()
    terminal.signal(number)
    assert terminal.exit_code() == code
    terminal.assert_restored()
    assert not switched(terminal.raw, PASTE_ON, PASTE_OFF)


def command_lines() -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
        except OSError:
            continue
    return found


def test_C04_what_a_killed_program_started_is_ended(opened: dict[str, Terminal]) -> None:
    """Although it has left every group; by what outlives the program, or by the next start."""
    terminal = opened["killed"]
    wait_until(lambda: "sleep 1000.125" in command_lines(), 20, "the command runs; that")
    terminal.wait_ready()
    os.kill(terminal.pid, signal.SIGKILL)
    wait_until(lambda: not group_lives(terminal.pid), what="the program is gone; that")
    run_command("-p", "hello", "--demo", home=terminal.home)
    wait_until(lambda: "sleep 1000.125" not in command_lines(), 15, "all is ended; that")


# --- terminals that are not ours to choose ------------------------------------------------------

COLOURS = re.compile(rb"\x1b\[(?:[0-9;:]*[;:])?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:[;:][0-9;:]*)?m")


def answered(terminal: Terminal) -> str:
    terminal.wait_ready()
    terminal.say("hello")
    return terminal.wait_for("Received:")


def test_D18_no_color_writes_no_colour_and_draws_everything(opened: dict[str, Terminal]) -> None:
    terminal = opened["no colour"]
    answered(terminal)
    shown = terminal.wait_ready()
    assert COLOURS.search(terminal.raw) is None
    assert "hello" in shown and "medium" in shown and "Enter send" in shown


def test_D18_a_dumb_terminal_gets_all_that_is_said(opened: dict[str, Terminal]) -> None:
    """As lines, without one escape sequence."""
    terminal = opened["dumb"]
    terminal.wait_raw(b"\n")
    terminal.send(b"hello\r")
    terminal.wait_for("Received:")
    assert b"\x1b" not in terminal.raw


def test_D26_a_screen_reader_hears_everything_once(opened: dict[str, Terminal]) -> None:
    """Plain lines: none is drawn again, no cursor goes up, and nothing turns while it waits."""
    terminal = opened["dumb"]
    terminal.wait_for("Received:")
    before = len(terminal.raw)
    terminal.send(b"say it again\r")
    terminal.wait_for(lambda shown: shown.count("Received:") == 2)
    said = terminal.raw[before:]
    assert said.count("größer".encode()) == 1
    assert not re.search(rb"\x1b|\x08|\r(?!\n)", said)


def luminance(colour: str) -> float:
    """Of rrggbb, by WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_D19_on_a_light_terminal_every_letter_can_be_read(opened: dict[str, Terminal]) -> None:
    """The terminal says that its ground is light. Each letter, of code too, has a contrast of at
    least 4.5 to what is behind it."""
    terminal = opened["light"]
    terminal.wait_ready()
    terminal.say("write code")
    terminal.wait_for("def total(prices")
    terminal.wait_ready()
    ground = terminal.backgrounds().most_common(1)[0][0]
    assert luminance(ground) > 0.7
    poor: set[tuple[str, str, str]] = set()
    pairs: set[tuple[str, str]] = set()
    for y, row in enumerate(terminal.lines()):
        for x in range(len(row)):
            cell = terminal._screen.buffer[y][x]
            if not cell.data.isalnum():
                continue
            fg, bg = (cell.bg, cell.fg) if cell.reverse else (cell.fg, cell.bg)
            light, dark = sorted((luminance(fg), luminance(bg)), reverse=True)
            pairs.add((fg, bg))
            if (light + 0.05) / (dark + 0.05) < 4.5:
                poor.add((cell.data, fg, bg))
    assert poor == set()
    assert len(pairs) >= 4, "text, muted text, code"


@pytest.mark.parametrize("locale", ["C", "latin"])
def test_D27_a_locale_without_unicode_starts_draws_and_answers(
    opened: dict[str, Terminal], locale: str
) -> None:
    terminal = opened[locale]
    terminal.wait_ready()
    terminal.send("hello")
    terminal.send(ENTER)
    terminal.wait_for("Received:")
    assert "Traceback" not in terminal.screen()


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LANG": "de_DE.ISO-8859-1"}])
def test_D27_printing_in_such_a_locale_prints(
    server: OfflineProcess, tmp_path: Path, locale: dict[str, str]
) -> None:
    env = {"LANG": "", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", **locale}
    asked = ("-p", "größer", "--base-url", server.url)
    whole = run_command(*asked, "--output", "json", home=tmp_path, env=env)
    assert json.loads(whole.stdout)["result"] == "Received: größer, 漢字, ✓."
    done = run_command(*asked, home=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"Received: gr") and b"Traceback" not in done.stderr
