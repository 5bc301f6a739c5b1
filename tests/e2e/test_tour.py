"""The tour by keys, in the demo: each step waits until its thing has really happened."""

import re
from collections.abc import Callable
from pathlib import Path

from agent_tui.tui.tour.steps import STEPS
from tests.e2e.fixtures import Open, Serve
from tests.e2e.terminal import ENTER, ESC, F3, TAB, Terminal, flow

ALT_C, ALT_N, CTRL_F, F6 = b"\x1bc", b"\x1bn", b"\x06", b"\x1b[17~"
ALL = len(STEPS)


def at_step(terminal: Terminal, number: int) -> str:
    """Wait for the step; what its box says, in one line."""
    title = STEPS[number - 1].title
    shown = terminal.wait_for(f"Tour {number}/{ALL}  {title}", timeout=15)
    return flow(shown).partition(f"Tour {number}/{ALL}")[2]


def stop(terminal: Terminal) -> None:
    terminal.wait_status("streaming", "tools", "waiting", "ready")
    if terminal.status() != "ready":
        terminal.send(ESC)
    terminal.wait_ready()


def test_every_step_by_its_keys(open_terminal: Open, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "files.md").write_text("# files\n")
    terminal = open_terminal(
        "--demo", home=tmp_path, cwd=work, rows=40, env={"AGENT_TUI_DEMO_SPEED": "1200"}
    )
    terminal.wait_for("/tour two minutes, see it all", timeout=20)
    terminal.wait_ready()
    terminal.say("/tour")
    assert "list the files" in at_step(terminal, 1)
    # Something else is done first: it is done, and the tour waits on.
    terminal.say("/usage")
    terminal.wait_for("Nothing was asked yet.")
    at_step(terminal, 1)
    terminal.say("list the files")
    # Steering.
    assert "write a long answer" in at_step(terminal, 2)
    terminal.wait_ready()
    terminal.say("write 400 words")
    terminal.wait_for("Type shorter please")
    terminal.say("shorter please")
    terminal.wait_for("steer")
    # A follow-up, and the queue.
    at_step(terminal, 3)
    terminal.wait_ready(30)
    assert "write a very long answer" in at_step(terminal, 3)
    terminal.say("write 400 words")
    terminal.wait_for("Type then list the files")
    terminal.write("then list the files")
    terminal.send(TAB)
    assert "Press F3, then d" in at_step(terminal, 4)
    terminal.send(F3)
    terminal.wait_for("Enter edit")
    terminal.send("d")
    at_step(terminal, 5)
    terminal.send(ESC)
    stop(terminal)
    # An approval.
    terminal.say("run ls")
    terminal.wait_for("Press y (or n)")
    terminal.answer("shell wants to run", "y")
    # Programs and their container.
    at_step(terminal, 6)
    terminal.wait_ready()
    terminal.say("/tools all both")
    at_step(terminal, 7)
    terminal.say("run a program")
    at_step(terminal, 8)
    terminal.wait_ready()
    terminal.send(F6)
    # A server: the command that is shown, as it is shown.
    command = re.search(r"/mcp add tour -- (.*?) and press", at_step(terminal, 9))
    assert command
    terminal.say(f"/mcp add tour -- {command[1].strip()}")
    at_step(terminal, 10)
    terminal.say("call tour__dice")
    terminal.answer("dice of tour wants to run", "y")
    at_step(terminal, 11)
    terminal.wait_ready()
    terminal.send(ALT_C)
    at_step(terminal, 12)
    terminal.send(CTRL_F)
    terminal.send("files")
    terminal.wait_for(re.compile("[0-9] of [0-9]"))
    terminal.send(ESC)
    at_step(terminal, 13)
    terminal.say("/settings")
    terminal.wait_for("type to search")
    terminal.send(ESC)
    at_step(terminal, 14)
    terminal.say("/clear")
    at_step(terminal, 15)
    terminal.say("/resume")
    terminal.wait_for("Go on in which session?")
    terminal.choose("Go on in which session?", "list the files")
    terminal.wait_for("That was the tour.")
    terminal.send(ESC)
    terminal.wait_gone("That was the tour.")
    # Again, left at once, and skipped through.
    terminal.say("/tour")
    at_step(terminal, 1)
    terminal.send(ALT_N)
    at_step(terminal, 2)
    terminal.send(ESC)
    terminal.wait_for("Esc again leaves the tour.")
    at_step(terminal, 2)
    terminal.send(ESC)
    terminal.wait_gone("Tour 2/")


def test_elsewhere_it_says_that_it_runs_in_the_demo_and_goes_there(
    serve: Serve, open_terminal: Open, folder: Callable[[str], Path]
) -> None:
    server = serve([{"text": "An answer.", "repeat": True}])
    terminal = open_terminal("--base-url", server.url, "--model", "some", home=folder("tour"))
    terminal.wait_ready()
    terminal.say("hello")
    terminal.wait_for("An answer.")
    terminal.wait_ready()
    terminal.say("/tour")
    terminal.wait_for("no model is asked and nothing is spent")
    assert "Tour 1/" not in terminal.screen()
    terminal.say("/tour demo")
    at_step(terminal, 1)
    terminal.wait_for("demo: scripted replies, no model")
    terminal.say("list the files")
    at_step(terminal, 2)
    assert len(server.requests()) == 1, "the demo asks nobody"
    terminal.send(ENTER)
