"""Pastes that hold what a terminal takes for keys: they must stay text (fault D10)."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.test_terminal_input import Terminal, pieces

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the driver there differs")


@pytest.fixture(name="terminal")
def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr("textual._parser.get_time", terminal.clock)
    return terminal


HOSTILE = "a\x1b[31mred\x1b]52;c;aGk=\x07 b\r\nc\x1b[A\x1b\r\x03\x1b[Bd\te\x1b"


@pytest.mark.parametrize("size", [1, 2, 5, 7, 4096])
def test_control_characters_in_a_paste_are_no_keys(terminal: Terminal, size: int):
    for piece in pieces(f"\x1b[200~{HOSTILE}\x1b[201~", size):
        terminal.read(piece, after=0.001)
    terminal.silence(0.3)
    assert terminal.pastes == [HOSTILE]
    assert terminal.keys == []


def test_an_end_mark_in_what_was_copied_does_not_end_the_paste(terminal: Terminal):
    terminal.read("\x1b[200~echo \x1b[201~rm -rf x\r\x1b[201~")
    terminal.silence(0.3)
    assert terminal.keys == []
    assert terminal.pastes == ["echo \x1b[201~rm -rf x\r"]


def test_keys_around_pastes_in_one_read_stay_keys(terminal: Terminal):
    terminal.read("x\x1b[200~one\x1b[201~\x1b[A\x1b[200~two\x1b[201~y")
    terminal.silence(0.3)
    assert terminal.keys == ["x", "up", "y"]
    assert terminal.pastes == ["one", "two"]


def test_a_start_mark_in_what_was_copied_is_text(terminal: Terminal):
    terminal.read("\x1b[200~one\x1b[200~two\x1b[201~")
    terminal.silence(0.3)
    assert terminal.pastes == ["one\x1b[200~two"] and terminal.keys == []


def test_an_empty_paste_leaves_the_keys_working(terminal: Terminal):
    terminal.read("\x1b[200~\x1b[201~")
    terminal.read("x")
    assert terminal.keys == ["x"]


@settings(deadline=None)
@given(
    st.text(alphabet="a\r\n\x1b[20~\x07\x03;m", max_size=40),
    st.integers(min_value=1, max_value=9),
)
def test_whatever_is_between_the_marks_gives_no_key(text: str, size: int):
    terminal = Terminal()
    for piece in pieces(f"\x1b[200~{text}\x1b[201~", size):
        terminal.read(piece, after=0.001)
    terminal.silence(0.3)
    if "\x1b[201~" not in text:
        assert terminal.keys == [] and "".join(terminal.pastes) == text
