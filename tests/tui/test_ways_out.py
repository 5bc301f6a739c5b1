"""Every way out of the app in a real terminal: exit code, and the terminal as it was."""

import os
import signal
import sys
import termios
from pathlib import Path

import pytest

pexpect = pytest.importorskip("pexpect")

ROOT = Path(__file__).parents[2]
MODES = (1000, 1003, 1006, 2004, 1004, 1049)
SHOWN = "\x1b[?25h"


class Terminal:
    """The app in a pseudo-terminal; out: all it has written."""

    def __init__(self, *arguments: str) -> None:
        env = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        env.pop("NO_COLOR", None)
        script = str(ROOT / "tests" / "tui" / "app_in_a_terminal.py")
        self.child = pexpect.spawn(
            sys.executable, [script, *arguments], env=env, dimensions=(24, 100), timeout=30
        )
        self.before = termios.tcgetattr(self.child.child_fd)
        self.out = b""
        self.until(b"ready")

    def until(self, text: bytes) -> None:
        self.child.expect_exact(text)
        self.out += self.child.before + text

    def end(self) -> int:
        """Read to the end; the exit code."""
        self.child.expect(pexpect.EOF)
        self.out += self.child.before
        self.child.close()
        return self.child.exitstatus

    def is_restored(self) -> bool:
        text = self.out.decode("utf-8", "replace")
        off = all(text.rfind(f"\x1b[?{m}l") > text.rfind(f"\x1b[?{m}h") for m in MODES)
        return off and text.rfind(SHOWN) > text.rfind("\x1b[?25l")


def test_ctrl_d_leaves_with_0():
    terminal = Terminal()
    terminal.child.send(b"\x04")
    assert terminal.end() == 0 and terminal.is_restored()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_signals_leave_with_their_code(number: int, code: int):
    terminal = Terminal()
    terminal.child.kill(number)
    assert terminal.end() == code and terminal.is_restored()


def test_a_terminal_that_goes_away_ends_it_with_129():
    terminal = Terminal()
    os.close(terminal.child.child_fd)
    _, status = os.waitpid(terminal.child.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 129
    terminal.child.child_fd, terminal.child.closed = -1, True


def test_a_signal_ends_a_loop_that_hangs():
    terminal = Terminal()
    terminal.child.send(b"block\r")
    terminal.until(b"the loop hangs")
    terminal.child.kill(signal.SIGTERM)
    terminal.child.kill(signal.SIGTERM)
    assert terminal.end() == 143 and terminal.is_restored()


def test_an_error_names_the_log_and_shows_no_traceback():
    terminal = Terminal()
    terminal.child.send(b"crash\r")
    assert terminal.end() == 1 and terminal.is_restored()
    printed = terminal.out.rpartition(b"\x1b[?1004l")[2]
    assert b"unexpected error" in printed
    assert b"Traceback" not in printed and b"AttributeError" not in printed


def test_a_conversation_that_does_not_close_is_left_by_a_second_press():
    terminal = Terminal("hang")
    terminal.child.send(b"\x04")
    terminal.until(b"leaving")
    terminal.child.send(b"\x04")
    assert terminal.end() == 130 and terminal.is_restored()


def test_suspended_it_gives_the_terminal_back_and_redraws_when_it_returns():
    terminal = Terminal()
    terminal.child.send(b"my draft")
    terminal.until(b"draft")
    terminal.child.send(b"\x1a")
    terminal.until(b"\x1b[?1004l")
    os.waitid(os.P_PID, terminal.child.pid, os.WSTOPPED | os.WNOWAIT)
    assert terminal.is_restored()
    terminal.child.kill(signal.SIGCONT)
    terminal.until(b"my draft")
    terminal.until(b"new line")
    terminal.child.send(b"\x03\x04")
    assert terminal.end() == 0 and terminal.is_restored()
