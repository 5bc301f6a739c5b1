"""Every way out leaves the terminal as it was found, and says so by its exit code."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.fixtures import Open
from tests.e2e.terminal import (
    AGENT_TUI,
    CTRL_C,
    CTRL_D,
    CTRL_Z,
    F1,
    UP,
    Terminal,
    group_lives,
    wait_until,
)

BROKEN = '''
import sys, threading, time

def break_help():
    """Once the app's class is there: its help page raises, with a secret in a local variable."""
    for _ in range(3000):
        app = sys.modules.get("agent_tui.tui.app")
        cls = getattr(app, "AgentTuiApp", None)
        if cls is not None:
            def action_help(self):
                pass_word = "hidden" + "-in-a-local"
                raise ZeroDivisionError("broken on purpose")
            cls.action_help = action_help
            return
        time.sleep(0.01)

threading.Thread(target=break_help, daemon=True).start()
'''

Ready = Callable[[str], Terminal]


@pytest.fixture(scope="module")
def terminals(open_terminal: Open, folder: Callable[[str], Path]) -> Ready:
    """Those of this module, started beside each other; each test uses up its own."""
    broken = folder("broken")
    (broken / "sitecustomize.py").write_text(BROKEN, encoding="utf-8")
    opened = {name: open_terminal("--demo") for name in ("quit", "ctrl+d", "ctrl+c", "SIGHUP")}
    opened["SIGTERM"] = open_terminal("--demo", "write a very long answer")
    opened["error"] = open_terminal("--demo", env={"PYTHONPATH": str(broken)})
    # The shell's own bracketed paste would hide whether the app has switched it off.
    (broken / "inputrc").write_text("set enable-bracketed-paste off\n", encoding="utf-8")
    shell_env = {"PS1": "prompt> ", "INPUTRC": str(broken / "inputrc")}
    opened["shell"] = open_terminal("--norc", "-i", program="/bin/bash", env=shell_env)
    opened["hang-up"] = open_terminal(
        "--demo", "--allow", "shell", "run `echo $$ > pid; sleep 300 & sleep 300`"
    )
    return lambda name: opened[name]


def assert_left(terminal: Terminal, code: int) -> None:
    assert terminal.exit_code() == code
    terminal.assert_restored()
    assert "Traceback" not in terminal.screen() + terminal.after_screen()


def test_quit(terminals: Ready) -> None:
    terminal = terminals("quit")
    terminal.wait_ready()
    terminal.say("/quit")
    assert_left(terminal, 0)
    assert terminal.after_screen().strip() == ""


def test_ctrl_d_on_an_empty_draft(terminals: Ready) -> None:
    terminal = terminals("ctrl+d")
    terminal.wait_ready()
    terminal.write("ab")
    terminal.send(CTRL_D)
    terminal.write("c")
    assert terminal.draft().strip() == "abc", "Ctrl+D with a draft deletes, it does not quit"
    terminal.send(b"\x7f" * 3)
    terminal.wait_for(lambda _: not terminal.draft().strip())
    terminal.send(CTRL_D)
    assert_left(terminal, 0)


def test_ctrl_c_twice_on_an_empty_draft(terminals: Ready) -> None:
    terminal = terminals("ctrl+c")
    terminal.wait_ready()
    terminal.write("a draft of value")
    terminal.send(CTRL_C)
    terminal.wait_gone("a draft of value")
    terminal.send(UP)
    terminal.wait_for("a draft of value")
    terminal.send(CTRL_C)
    terminal.wait_gone("a draft of value")
    terminal.send(CTRL_C)
    terminal.wait_for("again quits")
    terminal.wait_gone("again quits")
    assert terminal.status() == "ready", "one Ctrl+C does not quit"
    terminal.send(CTRL_C)
    terminal.wait_for("again quits")
    terminal.send(CTRL_C)
    assert_left(terminal, 0)


def test_sigterm_while_an_answer_streams(terminals: Ready) -> None:
    terminal = terminals("SIGTERM")
    terminal.wait_status("streaming", timeout=20)
    terminal.signal(signal.SIGTERM)
    assert_left(terminal, 143)


def test_sighup(terminals: Ready) -> None:
    terminal = terminals("SIGHUP")
    terminal.wait_ready()
    terminal.signal(signal.SIGHUP)
    assert_left(terminal, 129)


def test_a_hang_up_ends_the_commands_too(terminals: Ready) -> None:
    terminal = terminals("hang-up")
    file = terminal.cwd / "pid"
    pid = int(wait_until(lambda: file.exists() and file.read_text().strip(), 20))
    terminal.hang_up()
    wait_until(lambda: not group_lives(terminal.pid), 10, "the app has ended; that")
    wait_until(lambda: not group_lives(pid), 5, "the command has ended; that")


def test_an_error_inside_the_app(terminals: Ready) -> None:
    terminal = terminals("error")
    terminal.wait_ready()
    terminal.send(F1)
    assert_left(terminal, 1)
    said = terminal.after_screen()
    logs = list((terminal.state / "logs").glob("*"))
    assert any(str(log) in "".join(said.split()) for log in logs), said
    assert "ended by an unexpected error" in " ".join(said.split())
    assert "hidden-in-a-local" not in terminal.raw.decode("utf-8", "replace")
    written = "".join(log.read_text(encoding="utf-8") for log in logs)
    assert "ZeroDivisionError: broken on purpose" in written


def test_suspend_and_resume_in_a_shell(terminals: Ready) -> None:
    terminal = terminals("shell")
    terminal.wait_for("prompt>")
    terminal.send(f"{AGENT_TUI} --demo\r")
    terminal.wait_ready(timeout=30)
    terminal.write("kept over the pause")
    terminal.send(CTRL_Z)
    terminal.wait_for("Stopped")
    terminal.assert_restored()
    terminal.send("echo in the $((1 + 1))nd shell\r")
    terminal.wait_for("in the 2nd shell")
    terminal.send("fg\r")
    terminal.wait_for("kept over the pause")
    terminal.wait_ready()
    terminal.write(" and after")
    terminal.send(CTRL_C)
    terminal.wait_gone("kept over the pause")
    terminal.send(CTRL_D)
    # A new one: those of before stand there as soon as the screen is left.
    terminal.wait_for(re.compile(r"--demo\nprompt>\s*\Z"))
    terminal.assert_restored()
    terminal.send("echo code $?\r")
    terminal.wait_for("code 0")
    terminal.send("stty -a | tr ' ' '\\n' | grep -x -e icanon -e echo | sort | tr '\\n' ,\r")
    terminal.wait_for("echo,icanon,")
