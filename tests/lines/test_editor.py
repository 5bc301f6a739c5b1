"""The line that is typed: nothing is lost, nothing is drawn again, a paste is one message."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agent_tui.lines.editor import LineEditor


class Typed:
    def __init__(self, encoding: str = "utf-8") -> None:
        self.written = ""
        self.sent: list[tuple[str, float]] = []
        self.left = 0
        self.now = 0.0
        self.editor = LineEditor(
            self, sent=lambda text, begun: self.sent.append((text, begun)),
            left=self._leave, clock=lambda: self.now, encoding=encoding,
        )  # fmt: skip

    def write(self, text: str) -> None:
        self.written += text

    def _leave(self) -> None:
        self.left += 1

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in self.sent]


def test_letters_are_echoed_and_taken_back_at_their_width() -> None:
    typed = Typed()
    typed.editor.feed("ab你".encode())
    typed.editor.feed(b"\x7f\x7f\n")
    assert typed.texts == ["a"]
    assert typed.written == "> ab你\b\b  \b\b\b \b\n"


def test_several_lines_at_once_are_one_message_and_commands_are_not_a_text() -> None:
    typed = Typed()
    typed.editor.feed(b"one\r\ntwo\nthree\n")
    typed.editor.feed(b"/tools\n/usage\nhello\n")
    assert typed.texts == ["one\ntwo\nthree", "/tools", "/usage", "hello"]
    typed.editor.feed(b"/usr/bin/env: no such file\nwhy?\n")
    assert typed.sent.pop()[0] == "/usr/bin/env: no such file\nwhy?", "a path is no command"
    # The last line without its end stays to be gone on with.
    typed.editor.feed(b"a\nb\nc")
    assert typed.texts[4:] == []
    assert typed.editor.draft == "a\nb\nc"
    typed.editor.feed(b"\n")
    assert typed.texts[4:] == ["a\nb\nc"]


def test_a_backslash_goes_on_and_a_secret_is_not_echoed() -> None:
    typed = Typed()
    typed.editor.feed(b"one \\\n")
    typed.editor.feed(b"two\n")
    assert typed.texts == ["one\ntwo"]
    typed.editor.secret = True
    typed.written = ""
    typed.editor.feed(b"sk-secret\n")
    assert typed.texts[-1] == "sk-secret"
    assert "s" not in typed.written
    assert "sk-secret" not in typed.editor.history
    assert typed.editor.draft == ""


def test_what_is_said_meanwhile_leaves_the_draft_to_be_gone_on_with() -> None:
    typed = Typed()
    typed.editor.feed(b"half a ")
    typed.editor.say("Answer: something.")
    typed.editor.feed(b"line\n")
    assert typed.written == "> half a \nAnswer: something.\n> half a line\n"
    assert typed.texts == ["half a line"]


def test_a_line_knows_when_it_was_begun() -> None:
    typed = Typed()
    typed.now = 1.0
    typed.editor.feed(b"y")
    typed.now = 5.0
    typed.editor.feed(b"\n")
    assert typed.sent == [("y", 1.0)]


def test_history_by_up_and_down_and_the_line_of_now_comes_back() -> None:
    typed = Typed()
    typed.editor.feed(b"first\n")
    typed.editor.feed(b"second\n")
    typed.editor.feed(b"now\x1b[A\x1b[A\x1b[A")
    assert typed.editor.draft == "first"
    typed.editor.feed(b"\x1b[B\x1b[B")
    assert typed.editor.draft == "now"


def test_a_latin_terminal_and_a_sequence_cut_in_two() -> None:
    typed = Typed("iso8859-1")
    typed.editor.feed(b"gr\xfcn\x1b")
    typed.editor.feed(b"[C\n")
    assert typed.texts == ["grün"]
    plain_c = Typed("ascii")
    plain_c.editor.feed("grün".encode()[:3])
    plain_c.editor.feed("grün\n".encode()[3:])
    assert plain_c.texts == ["grün"], "the keys send what they send, whatever the locale says"


def test_ctrl_d_leaves_only_on_an_empty_line() -> None:
    typed = Typed()
    typed.editor.feed(b"x\x04")
    assert typed.left == 0
    typed.editor.feed(b"\x15\x04")
    assert typed.left == 1


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_no_bytes_make_it_write_a_control_character(data: bytes, cuts: list[int]) -> None:
    typed = Typed()
    edges = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    for start, end in pairwise(edges):
        typed.editor.feed(data[start:end])
    assert not {c for c in typed.written if c < " " or "\x7f" <= c <= "\x9f"} - {"\n", "\b"}


def test_an_escape_is_a_key_of_its_own_once_it_has_stood_alone() -> None:
    typed = Typed()
    typed.editor.feed(b"\x1b")
    typed.now = 3.0
    typed.editor.feed(b"hello")
    typed.now = 4.0
    typed.editor.feed(b"\x1b")
    typed.now = 5.0
    typed.editor.feed(b"\r")
    assert typed.texts == ["hello"]
    # The pieces of one key belong together, also where a slow line parts them.
    typed.editor.feed(b"\x1b")
    typed.now = 5.1
    typed.editor.feed(b"[")
    typed.now = 5.2
    typed.editor.feed(b"A")
    assert typed.editor.text == "hello", "Up"
