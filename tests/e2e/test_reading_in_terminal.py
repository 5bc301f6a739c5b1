"""Reading in a terminal: search with what it unfolds, jumps to one's messages, copies."""

import os
from pathlib import Path
from typing import Any

from tests.e2e.fixtures import Open, Serve
from tests.e2e.terminal import ENTER, ESC, Terminal, wait_until

CTRL_F, CTRL_UP, ALT_C, ALT_K, F8 = b"\x06", b"\x1b[1;5A", b"\x1bc", b"\x1bk", b"\x1b[19~"

ANSWER = "It **works**:\n\n```sh\nmake all\n```\n\n" + "\n".join(
    f"{n}. step {n}" for n in range(60)
)
TURNS: list[dict[str, Any]] = [
    {
        "match": "look around",
        "tool_calls": [{"name": "read", "input": {"path": "notes.txt"}}],
    },
    {"text": ANSWER, "repeat": True},
]


def helper(folder: Path) -> Path:
    """A wl-copy that writes what it takes into a file."""
    folder.mkdir()
    path = folder / "wl-copy"
    path.write_text('#!/bin/sh\ncat > "$HOME/copied"\n')
    path.chmod(0o755)
    return folder


def copied(terminal: Terminal) -> str:
    path = terminal.home / "user" / "copied"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def test_search_jumps_and_copies(serve: Serve, open_terminal: Open, tmp_path: Path) -> None:
    server = serve(TURNS)
    (cwd := tmp_path / "work").mkdir()
    text = "".join(f"note {n}{' needle' if n == 40 else ''}\n" for n in range(80))
    (cwd / "notes.txt").write_text(text)
    path = f"{helper(tmp_path / 'bin')}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    env = {"WAYLAND_DISPLAY": "wayland-0", "PATH": path}
    terminal = open_terminal("--base-url", server.url, cwd=cwd, env=env)
    terminal.wait_ready()
    terminal.say("look around")
    terminal.wait_for("59. step 59")
    terminal.wait_ready()
    terminal.send(ALT_C)
    wait_until(lambda: copied(terminal) == ANSWER, what="the source of the answer")
    terminal.wait_for("with wl-copy")
    terminal.send(ALT_K)
    wait_until(lambda: copied(terminal) == "make all", what="the code")
    terminal.say_wrong("/copy nonsense", "/copy [last | code] [N]")
    terminal.send(CTRL_F)
    terminal.send("NEEDLE")
    terminal.wait_for("1 of 1")
    terminal.wait_for("note 40 needle")
    terminal.send(ESC)
    terminal.wait_gone("note 40 needle")
    terminal.send(CTRL_UP)
    terminal.wait_for("❯ look around")
    terminal.send(F8)
    terminal.wait_for("Esc back")
    terminal.send("/")
    terminal.send("needle")
    terminal.wait_for("note 40 needle")
    terminal.send(ENTER)
    terminal.wait_for("stay here")
    terminal.send(ENTER)
    terminal.wait_gone("1 of 1")
    terminal.send("c")
    wait_until(lambda: "note 40 needle" in copied(terminal), what="the block of the match")
    terminal.send(ESC)
    terminal.wait_for("Enter send")
    terminal.write("typed")
    wait_until(lambda: terminal.draft().strip() == "typed", what="the keys are the composer's")
