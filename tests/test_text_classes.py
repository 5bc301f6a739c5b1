"""Each class of characters, cuts and colours in text.py, one at a time (DESIGN: terminal-safe
text). The classes come from Unicode's own tables, not from the code under test."""

import sys
import unicodedata

import pytest

from agent_tui.text import AnsiReader, SafeReader, SafeText, ansi_spans, cut

# Unicode, DerivedCoreProperties: Default_Ignorable_Code_Point. Nothing is drawn for these.
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164),
    (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip

# Of category Cf, but drawn: signs that enclose Arabic, Syriac and Kaithi numbers; and the
# controls that place hieroglyphs.
DRAWN_FORMATS = {
    *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD,
    *range(0x13430, 0x13440),
}  # fmt: skip

ONE_SELECTOR_MAY_STAY = {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}


def unseen() -> list[int]:
    """Every code point that a terminal acts on or draws nothing for."""
    by_category = [
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and chr(code) not in "\n\t"
        and code not in DRAWN_FORMATS
    ]
    ignorable = [code for first, last in IGNORABLE for code in range(first, last + 1)]
    return sorted({*by_category, *ignorable, 0xFFFE, 0xFFFF})


def test_nothing_unseen_stays_between_two_letters() -> None:
    kept = [
        f"U+{code:04X}"
        for code in unseen()
        if chr(code) in SafeText(f"a{chr(code)}b") and code not in ONE_SELECTOR_MAY_STAY
    ]
    assert kept == []


def test_no_second_selector_stays() -> None:
    kept = [
        f"U+{code:04X}"
        for code in sorted(ONE_SELECTOR_MAY_STAY)
        if SafeText(f"a\ufe0e{chr(code)}").count(chr(code)) > (code == 0xFE0E)
    ]
    assert kept == []


def test_mongolian_keeps_what_spells_it() -> None:
    for mark in "\u180b\u180c\u180d\u180e\u180f":
        assert SafeText(f"\u182d{mark}\u1820") == f"\u182d{mark}\u1820"


CUT_ANYWHERE = {
    "line ends": "a\r\n\rb\r\r\n",
    "halves of a pair": "x\ud83d\ude00\ud83d\ude00y\ude00\ud83d",
    "tags": "a\U000e0068\U000e0069b",
    "an emoji sequence": "👨\u200d👩\u200d👧",
    "a heart on fire": "❤\ufe0f\u200d🔥",
    "a joiner behind a letter": "a\u200db",
    "Persian": "می\u200cخواهم",
    "two selectors": "x\ufe0f\ufe01",
}


@pytest.mark.parametrize("name", CUT_ANYWHERE)
def test_a_text_is_read_alike_wherever_it_is_cut(name: str) -> None:
    text = CUT_ANYWHERE[name]
    for at in range(len(text) + 1):
        reader = SafeReader()
        shown = [reader.feed(text[:at]), reader.feed(text[at:]), reader.flush()]
        assert "".join(shown) == SafeText(text), f"cut at {at}"
    reader = SafeReader()
    assert "".join([*map(reader.feed, text), reader.flush()]) == SafeText(text)


@pytest.mark.parametrize("output", ["a\x1b[1;31mb\x1b[mc", "\x1b]8;;http://x/\x1b\\ok", "\x1b(Bx"])
def test_a_sequence_is_read_alike_wherever_it_is_cut(output: str) -> None:
    expected = ansi_spans(output)
    for at in range(len(output) + 1):
        reader = AnsiReader()
        spans = [*reader.feed(output[:at]), *reader.feed(output[at:]), *reader.flush()]
        cells = [(char, style) for span, style in spans for char in span]
        assert cells == [(char, style) for span, style in expected for char in span], at


@pytest.mark.parametrize(
    "codes",
    [
        ">4;2",  # xterm: modifyOtherKeys; its 2 is not "dim"
        "<1;1",
        "=1;3",
        "58;5;9",  # the colour of the underline is 9; no strike
        "58;2;1;3;9",
        "38;5;256",
        "38;5;999",
        "48;2;1;2;256",
        "38;2;1;2",
        "38:5:300",
        "1?3",
        "1<",
        "12345",
    ],
)
def test_what_selects_nothing(codes: str) -> None:
    assert ansi_spans(f"\x1b[{codes}mx") == [("x", {})]


def test_a_pile_of_marks_costs_only_itself() -> None:
    """The letters before it stay, however high it is."""
    assert cut("ab" + "\u0301" * 1000, 500) == "ab" + "\u0301" * 498
