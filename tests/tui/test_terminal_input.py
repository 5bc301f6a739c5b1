"""Fault D10: pastes that are broken, slow, or come without bracket marks."""

import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from agent_tui.tui import terminal_input
from agent_tui.tui.terminal_input import PasteAwareParser
from tests.tui.conftest import FakeClock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the driver there differs")


class Terminal:
    """Feeds a parser as the driver does: reads, and a tick every 0.1 s and after reads."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.parser = PasteAwareParser(clock=self.clock)
        self.out: list[Message] = []

    def read(self, data: str, after: float = 0.2) -> None:
        for _ in range(int(after / 0.1)):
            self.clock.pass_(0.1)
            self.out += self.parser.tick()
        self.clock.pass_(after % 0.1)
        self.out += self.parser.feed(data)
        self.out += self.parser.tick()

    def silence(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.1) + 1):
            self.clock.pass_(0.1)
            self.out += self.parser.tick()

    @property
    def keys(self) -> list[str]:
        return [e.key for e in self.out if isinstance(e, events.Key)]

    @property
    def pastes(self) -> list[str]:
        return [e.text for e in self.out if isinstance(e, events.Paste)]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr("textual._parser.get_time", terminal.clock)
    return terminal


def pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def test_typed_keys_are_keys(terminal: Terminal):
    for key in "hi\r":
        terminal.read(key)
    assert terminal.keys == ["h", "i", "enter"] and not terminal.pastes


def test_a_line_and_its_enter_from_a_script_are_keys(terminal: Terminal):
    terminal.read("/quit\r")
    terminal.silence(0.2)
    assert terminal.keys == ["slash", "q", "u", "i", "t", "enter"] and not terminal.pastes


@pytest.mark.parametrize("size", [1, 7, 12, 100])
def test_two_short_lines_in_one_burst_were_typed(terminal: Terminal, size: int):
    """A message, Enter, another one and Tab, while the app was busy."""
    for piece in pieces("steer me\ra follow-up\t", size):
        terminal.read(piece, after=0.001)
    terminal.silence(0.2)
    assert not terminal.pastes
    assert terminal.keys.index("enter") == len("steer me") and terminal.keys[-1] == "tab"


@pytest.mark.parametrize(
    "text",
    ["def f(x):\r    return x + 1  # and more of it that was copied", "a\rb\rc", "cd x\rmake\r"],
)
def test_what_is_longer_or_has_more_lines_was_copied(terminal: Terminal, text: str):
    terminal.read(text)
    terminal.silence(0.2)
    assert terminal.pastes == [text] and not terminal.keys


def test_text_and_enter_in_two_quick_writes_are_keys(terminal: Terminal):
    terminal.read("hello")
    terminal.read("\r", after=0.001)
    terminal.silence(0.2)
    assert terminal.keys[-1] == "enter" and not terminal.pastes


@pytest.mark.parametrize("size", [1, 7, 4096, 10**6])
def test_a_bracketed_paste_is_one_paste_however_it_is_cut(terminal: Terminal, size: int):
    text = "\r".join(f"line {i}" for i in range(432))
    for piece in pieces(f"\x1b[200~{text}\x1b[201~", size):
        terminal.read(piece, after=0.001)
    terminal.silence(0.3)
    assert terminal.pastes == [text] and terminal.keys == []


@pytest.mark.parametrize("size", [7, 4096, 10**6])
def test_a_paste_without_marks_never_sends(terminal: Terminal, size: int):
    text = "\r".join(f"line {i}" for i in range(432)) + "\r"
    for piece in pieces(text, size):
        terminal.read(piece, after=0.001)
    terminal.silence(0.3)
    assert "enter" not in terminal.keys
    # What came before the first line end was typed; nothing is missing.
    typed = "".join(e.character or "" for e in terminal.out if isinstance(e, events.Key))
    assert typed + "".join(terminal.pastes) == text


def test_single_bytes_without_marks_never_send(terminal: Terminal):
    text = "one\rtwo\rthree"
    for piece in text:
        terminal.read(piece, after=0.001)
    terminal.silence(0.3)
    assert "enter" not in terminal.keys
    typed = "".join(e.character or "" for e in terminal.out if isinstance(e, events.Key))
    assert typed + "".join(terminal.pastes) == text


@pytest.mark.parametrize(
    ("quick", "after", "keys"),
    [
        (False, 0.09, ["ctrl+left"]),
        (False, 0.12, ["escape", "b"]),
        (True, 0.04, ["ctrl+left"]),
        (True, 0.06, ["escape", "b"]),
    ],
)
def test_a_letter_some_time_behind_esc_is_no_part_of_it(
    terminal: Terminal, quick: bool, after: float, keys: list[str]
):
    terminal_input.expect_quick_escape(quick)
    try:
        terminal.out += terminal.parser.feed("\x1b")
        terminal.clock.pass_(after)  # the driver's tick comes every 0.1 s: none here
        terminal.out += terminal.parser.feed("b")
    finally:
        terminal_input.expect_quick_escape(False)
    assert terminal.keys == keys


@pytest.mark.parametrize(("size", "gap"), [(1024, 0.001), (1, 0.0001)])
def test_one_endless_line_without_marks_is_a_paste(terminal: Terminal, size: int, gap: float):
    """Fault D11: as keys it would take minutes."""
    text = "x" * 20_000
    for piece in pieces(text, size):
        terminal.read(piece, after=gap)
    terminal.silence(0.2)
    assert len(terminal.keys) <= terminal_input.FLOOD + 1
    assert "x" * len(terminal.keys) + "".join(terminal.pastes) == text
    terminal.read("y" * 1000 + "\r")
    terminal.silence(0.2)
    assert terminal.pastes[-1] == "y" * 1000 and terminal.keys[-1] == "enter"


def test_a_key_held_down_is_keys(terminal: Terminal):
    for _ in range(2000):
        terminal.read("x", after=0.03)
    assert not terminal.pastes


def test_a_paste_whose_end_is_lost_comes_after_two_seconds_and_keys_work_again(
    terminal: Terminal,
):
    terminal.read("\x1b[200~half of it")
    terminal.silence(1.5)
    assert terminal.pastes == []
    terminal.silence(1.0)
    assert terminal.pastes == ["half of it"]
    terminal.read("x")
    assert terminal.keys == ["x"]


def test_a_slow_paste_is_not_taken_for_a_broken_one(terminal: Terminal):
    terminal.read("\x1b[200~")
    for _ in range(5):
        terminal.read("x", after=1.5)
    terminal.read("\x1b[201~", after=1.5)
    assert terminal.pastes == ["xxxxx"]


def test_other_keys_and_the_mouse_are_as_before(terminal: Terminal):
    terminal.read("\x1b[A")
    terminal.read("\x1b[<35;10;10M")
    terminal.read("\x1b")
    terminal.silence(0.3)
    assert terminal.keys == ["up", "escape"]
    assert any(isinstance(e, events.MouseMove) for e in terminal.out)


@settings(deadline=None)
@given(st.lists(st.text(alphabet="ab \r\té", min_size=1, max_size=30), min_size=1, max_size=20))
def test_no_character_is_lost_or_doubled(chunks: list[str]):
    terminal = Terminal()
    for chunk in chunks:
        terminal.read(chunk, after=0.001)
    terminal.silence(0.5)
    got = "".join(
        (e.character or "") if isinstance(e, events.Key) else e.text
        for e in terminal.out
        if isinstance(e, events.Key | events.Paste)
    )
    assert got == "".join(chunks)


def test_the_place_that_is_mended_is_still_there():
    from textual.drivers import linux_driver

    before = linux_driver.XTermParser
    try:
        terminal_input.mend_terminal_input()
        assert linux_driver.XTermParser is PasteAwareParser
        assert "XTermParser" in linux_driver.LinuxDriver.run_input_thread.__code__.co_names
    finally:
        linux_driver.XTermParser = before
