"""What the terminal is said to read, and what is written where it lacks a character (D27)."""

import os
import threading

import pytest

from agent_tui.lines.terminal import Out, encoded, without_sequences
from agent_tui.terminal_locale import terminal_encoding


@pytest.mark.parametrize(
    ("environ", "encoding"),
    [
        ({}, "utf-8"),
        ({"LANG": "C.UTF-8"}, "utf-8"),
        ({"LANG": "de_DE.utf8"}, "utf-8"),
        ({"LANG": "de_DE"}, "utf-8"),
        ({"LANG": "C"}, "ascii"),
        ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, "ascii"),
        ({"LC_ALL": "", "LC_CTYPE": "fr_FR.UTF-8", "LANG": "C"}, "utf-8"),
        ({"LANG": "de_DE.ISO-8859-1"}, "iso8859-1"),
        ({"LANG": "de_DE.ISO-8859-15@euro"}, "iso8859-15"),
        ({"LANG": "ja_JP.eucJP"}, "euc_jp"),
        ({"LANG": "xx_XX.no-such"}, "utf-8"),
    ],
)
def test_the_first_variable_that_is_set_decides(environ: dict[str, str], encoding: str) -> None:
    assert terminal_encoding(environ) == encoding


@pytest.mark.parametrize(
    ("text", "encoding", "written"),
    [
        ("é — “x” …", "ascii", b'e - "x" ...'),
        ("é — 你", "iso8859-1", b"\xe9 - ?"),
        ("é 你 ✓", "utf-8", "é 你 ✓".encode()),
        ("ﬁ ²", "ascii", b"fi 2"),
        ("e\u0301", "iso8859-1", b"e"),
        ("\ud800", "utf-8", b"?"),
    ],
)
def test_what_it_lacks_is_told_plainly(text: str, encoding: str, written: bytes) -> None:
    assert encoded(text, encoding) == written


def test_keys_that_are_no_letters_are_told_from_letters() -> None:
    assert without_sequences("a\x1b[1;5Cb\x1bOPc\x1bxd") == (
        ["a", "\x1b[1;5C", "b", "\x1bOP", "c", "\x1bx", "d"], "",
    )  # fmt: skip
    for unfinished in ("\x1b", "\x1b[", "\x1b[1;", "\x1bO"):
        assert without_sequences("a" + unfinished) == (["a"], unfinished)


def test_writing_never_waits_for_a_terminal_that_does_not_read() -> None:
    reader, writer = os.pipe()
    out = Out(writer, "utf-8")
    text = "x" * 1_000_000  # more than a pipe holds
    out.write(text)
    assert not out.flush(0.05)
    got = bytearray()

    def read() -> None:
        while len(got) < len(text):
            got.extend(os.read(reader, 65536))

    thread = threading.Thread(target=read)
    thread.start()
    assert out.flush(10)
    thread.join(10)
    assert len(got) == len(text)
    os.close(reader)
    out.write("nobody is there")
    assert out.flush(10) and out.closed
    os.close(writer)
