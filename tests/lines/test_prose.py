"""Markdown as it is read aloud."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.lines.prose import LONGEST_HELD, Prose, plain


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("One. Two is longer! Three", ["One.", "Two is longer!", "Three"]),
        ("e.g. this, i.e. that.", ["e.g. this, i.e. that."]),
        ("1. first\n2. second. And more.", ["1. first", "2. second.", "And more."]),
        ("It is **bold. And goes on** here.", ["It is bold. And goes on here."]),
        ("Call `os.path. join` now", ["Call os.path. join now"]),
        ("See [the docs](https://a.b/c).", ["See the docs (https://a.b/c)."]),
        ("2**3 is 8 and `**x**` stays", ["2**3 is 8 and **x** stays"]),
        ("> so it *was* said.\n> And then\n>\nout", ["Quote: so it was said.", "Quote: And then",
                                                      "out"]),
        ("the one *after* it, _not_ the *very. First* one",
         ["the one after it, not the very. First one"]),
        ("2 * 3 * 4 is a*b*c, ***loud***", ["2 * 3 * 4 is a*b*c, loud"]),
        ("* a point\n* `*x*` and *y*", ["* a point", "* *x* and y"]),
        ("my_file_name __init__", ["my_file_name __init__"]),
        ("## A head ##\n---\ntext", ["Heading: A head", "text"]),
        (
            "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | |\n\nafter",
            ["Table: a, b", "1; b: 2", "3", "after"],
        ),
        ("| no table |\nbut text", ["| no table |", "but text"]),
        ("```py\nx = 1. y\n\n  **z**\n```\nend", ["Code, py:", "x = 1. y", "  **z**",
                                                     "End of code.", "end"]),
        ("~~~\n```\n~~~", ["Code:", "```", "End of code."]),
        ("```\nopen", ["Code:", "open", "End of code."]),
        ("他来了。我走了。", ["他来了。", "我走了。"]),
        ("the file `.` holds", ['the file "." holds']),
        ("\x1b[31mred\x1b[0m", ["␛[31mred␛[0m"]),
    ],
)  # fmt: skip
def test_text_is_told(text: str, told: list[str]) -> None:
    assert plain(text) == told


@given(st.text(alphabet="ab.*`-[] \n\x1b1é。", max_size=80), st.data())
def test_however_it_is_cut_the_same_is_told(text: str, data: st.DataObject) -> None:
    prose = Prose()
    told: list[str] = []
    rest = text
    while rest:
        n = data.draw(st.integers(1, len(rest)))
        told += prose.feed(rest[:n])
        rest = rest[n:]
    told += prose.flush()
    letters = [c for c in "".join(told) if c in "abé1"]
    assert letters == [c for c in text if c in "abé1"], "nothing is lost, nothing twice"
    assert "\x1b" not in "".join(told)


def test_a_sentence_is_told_when_it_is_whole_and_not_before() -> None:
    prose = Prose()
    assert prose.feed("I look at ") == []
    assert prose.feed("it. Th") == ["I look at it."]
    assert prose.feed("en\n") == ["Then"]


def test_a_line_without_an_end_is_told_in_the_end() -> None:
    prose = Prose()
    told = [line for _ in range(LONGEST_HELD) for line in prose.feed("word ")]
    assert len(told) >= 4
    assert all(len(line) <= LONGEST_HELD for line in told)
