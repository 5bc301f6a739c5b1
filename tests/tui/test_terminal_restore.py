"""Faults D12 and D13: the modes are reset, and leaving ends within a bound."""

import os
import pty
import signal
import termios
import threading

import pytest

from agent_tui.tui.terminal_restore import (
    EXIT_BY_SIGNAL,
    RESTORE,
    ExitLadder,
    TerminalState,
    signals_handled,
)


@pytest.fixture
def terminal():
    """(master, slave) of a pseudo-terminal."""
    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def test_every_mode_the_app_sets_is_reset():
    for mode in (1000, 1003, 1004, 1006, 1015, 1016, 2004, 2026, 2048, 1049):
        assert f"\x1b[?{mode}l" in RESTORE
    assert "\x1b[?25h" in RESTORE and "\x1b[?7h" in RESTORE and "\x1b[<u" in RESTORE
    assert RESTORE.index("\x1b[<u") < RESTORE.index("\x1b[?1049l")


def test_restore_writes_the_modes_and_sets_the_line_discipline_back(terminal):
    master, slave = terminal
    state = TerminalState(slave, slave)
    raw = termios.tcgetattr(slave)
    raw[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(slave, termios.TCSANOW, raw)
    state.restore()
    assert os.read(master, 1000).decode() == RESTORE
    assert termios.tcgetattr(slave)[3] & termios.ICANON
    assert os.get_blocking(slave)


def test_restore_of_a_closed_terminal_is_no_error():
    master, slave = pty.openpty()
    state = TerminalState(slave, slave)
    os.close(master)
    state.restore()
    os.close(slave)
    state.restore()


def test_restore_does_not_wait_for_a_terminal_that_does_not_read(terminal):
    _, slave = terminal
    state = TerminalState(slave, slave)
    os.set_blocking(slave, False)
    try:
        while True:
            os.write(slave, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(slave, True)
    state.restore()  # would hang here for ever


def test_nothing_is_written_where_there_is_no_terminal(tmp_path):
    with (tmp_path / "out").open("w+b") as out:
        TerminalState(out.fileno(), out.fileno()).restore()
        out.seek(0)
        assert out.read() == b""


class Killed:
    def __init__(self) -> None:
        self.codes: list[int] = []
        self.called = threading.Event()

    def __call__(self, code: int) -> None:
        self.codes.append(code)
        self.called.set()


def test_the_ladder_forces_the_end_when_patience_is_over():
    killed = Killed()
    ladder = ExitLadder(TerminalState(-1, -1), patience_s=0.01, kill=killed)
    ladder.begin(143)
    assert killed.called.wait(5) and killed.codes == [143]


def test_the_ladder_called_off_kills_nobody():
    killed = Killed()
    ladder = ExitLadder(TerminalState(-1, -1), patience_s=0.05, kill=killed)
    ladder.begin(0)
    ladder.done()
    for thread in threading.enumerate():
        if thread.name == "exit-watchdog":
            thread.join(5)
    assert killed.codes == []


def test_a_second_begin_forces_at_once():
    killed = Killed()
    ladder = ExitLadder(TerminalState(-1, -1), patience_s=60, kill=killed)
    ladder.begin(143)
    ladder.begin(143)
    assert killed.codes == [143]
    ladder.done()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_exit_codes_are_those_of_a_shell(number: int, code: int):
    assert EXIT_BY_SIGNAL[signal.Signals(number)] == code == 128 + number


def test_signals_are_handled_inside_and_the_old_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM)
    got: list[int] = []
    with signals_handled(got.append):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
    assert got == [143, 129]
    assert signal.getsignal(signal.SIGTERM) is before
