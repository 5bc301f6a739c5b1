import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.style import Style

from agent_tui.text import (
    AnsiReader,
    SafeReader,
    SafeText,
    ansi_spans,
    clean,
    count,
    cut,
    duration,
    mask_secrets,
    wire_text,
    without_ansi,
)

FAMILY = "👨\u200d👩\u200d👧"
ANYTHING = st.text(alphabet=st.characters())  # lone surrogates too
NASTY = st.text(
    alphabet=st.sampled_from(
        "ab \n\t\r\x00\x07\x08\x1b[]mK;:?0138\\\x7f\x85\x9b\u00ad\u061c\u200b\u200c\u200d\u200f"
        "\u2028\u202e\u2066\u2069\u2060\ufeff\ufe0f\ufe0e\U000e0100\U000e0041\U000e007f\u180e"
        "\ud83d\ude00👨👩❤🏻🇫क्می한"
    ),
    max_size=40,
)

# What must never reach a terminal raw, whatever stands beside it. Written from the Unicode
# categories and the list of bidirectional controls, not from the code under test.
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
NEVER = (
    {chr(code) for code in range(0x20)} - {"\n", "\t"}
    | {chr(code) for code in range(0x7F, 0xA0)}
    | {chr(code) for code in range(0xD800, 0xE000)}
    | {chr(code) for code in range(0xE0000, 0xE0080)}
    | BIDI
    | set("\u00ad\u034f\u200b\u2028\u2029\u2060\u2061\u2062\u2063\u2064\u206a\u206f\ufeff")
    | set("\u115f\u1160\u3164\uffa0\ufff9\ufffa\ufffb")
)


# --- SafeText -------------------------------------------------------------------------


@given(ANYTHING | NASTY)
def test_no_forbidden_character_is_left(text: str):
    safe = SafeText(text)
    assert not NEVER & set(safe)
    safe.encode("utf-8")


@given(ANYTHING | NASTY)
def test_sanitising_twice_changes_nothing(text: str):
    once = SafeText(text)
    assert SafeText(str(once)) == once
    assert SafeText(once) is once


@given(NASTY)
def test_joiners_and_selectors_stay_only_where_they_do_something(text: str):
    safe = SafeText(text)
    for at, char in enumerate(safe):
        if char in "\u200c\u200d":
            assert at > 0 and unicodedata.category(safe[at - 1])[0] in "LMS"
            assert not safe[at - 1].isascii()
        if char in "\ufe0e\ufe0f\U000e0100" and at > 0:
            assert safe[at - 1] not in "\ufe0e\ufe0f\U000e0100"


ORDINARY = st.text(
    alphabet=st.characters(
        categories=["L", "M", "N", "P", "S", "Zs"],
        exclude_characters="\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
        + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])),
    )
)


@given(ORDINARY)
def test_ordinary_text_of_any_script_is_unchanged(text: str):
    assert SafeText(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Plain text,\n\twith lines and tabs\n",
        "zażółć gęślą jaźń, Ελληνικά, Русский, 日本語, 한국어, עברית, العربية, ไทย",
        "می\u200cخواهم",  # Persian: the non-joiner is spelling
        "क्\u200dष ශ්\u200dරී",  # Hindi, Sinhala: the joiner shapes the conjunct
        FAMILY,
        "❤\ufe0f ⚠\ufe0f ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈",
        "👩🏽\u200d🚀 🤷🏻\u200d♀\ufe0f 🇫🇷 1\ufe0f\u20e3",
        "葛\U000e0100",  # a variant of an ideograph
        "cafe\u0301",
        "\ue0b0 powerline",
        "[/red] [bold]{x}",
    ],
)
def test_what_people_write_is_unchanged(text: str):
    assert SafeText(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;UFdO\x1b\\", "␛]52;c;UFdO␛\\"),
        ("\x1b[2J\x1b]0;x\x07", "␛[2J␛]0;x␇"),
        ("\x00\x08\x7f", "␀␈␡"),
        ("\x9b31m\x85", "‹U+009B›31m‹U+0085›"),
        ("access\u202edetnarg", "access‹U+202E›detnarg"),
        ("\u2066x\u2069\u200b\ufeff", "‹U+2066›x‹U+2069›‹U+200B›‹U+FEFF›"),
        ("a\u2028b\u2029", "a‹U+2028›b‹U+2029›"),
        ("pass\u00adword a\u200db", "pass‹U+00AD›word a‹U+200D›b"),
        ("hi\U000e0069\U000e0067\U000e006e\U000e0001", "hi‹tags ign·›"),
        ("x\ufe0f\ufe01\ufe02", "x\ufe0f‹U+FE01›‹U+FE02›"),
        ("one\r\ntwo\rthree", "one\ntwo␍three"),
        ("\ud83d \ude00 \ud83d\ude00", "\ufffd \ufffd 😀"),
    ],
)
def test_what_a_terminal_acts_on_is_shown(text: str, shown: str):
    assert SafeText(text) == shown


def test_slices_are_plain_and_any_object_can_be_shown():
    assert type(SafeText("ab")[:1]) is str
    assert SafeText(ValueError("\x1b[31m")) == "␛[31m"


def test_clean_is_one_line():
    assert clean("a\r\nb\n\tc\x1b") == "a⏎b⏎ c␛"


@given(st.lists(NASTY))
def test_text_in_pieces_is_shown_as_the_whole(pieces: list[str]):
    reader = SafeReader()
    shown = [reader.feed(piece) for piece in pieces]
    assert "".join(shown) + reader.flush() == SafeText("".join(pieces))


def test_an_emoji_sequence_survives_any_cut():
    for at in range(len(FAMILY)):
        reader = SafeReader()
        assert reader.feed(FAMILY[:at]) + reader.feed(FAMILY[at:]) + reader.flush() == FAMILY


def test_a_piece_costs_no_more_late_than_early():
    """What is held back does not grow, so neither does the work of a piece."""
    reader = SafeReader()
    for _ in range(100):
        reader.feed("a\u200d\U000e0041\r" * 50)
    held = sum(len(getattr(reader, name)) for name in reader.__slots__)
    assert held < 100


# --- the wire -------------------------------------------------------------------------


@given(ANYTHING | NASTY)
def test_wire_text_can_be_sent_and_stored(text: str):
    sent = wire_text(text)
    sent.encode("utf-8")
    assert not {chr(code) for code in range(0x20)} - set("\n\r\t") & set(sent)
    assert wire_text(sent) == sent


@given(st.text(alphabet=st.characters(min_codepoint=0x20, exclude_categories=["Cs"])))
def test_wire_text_leaves_the_rest_alone(text: str):
    assert wire_text(text) == text


def test_wire_text_of_binary_output():
    assert wire_text("a\0b\x1b[0m\r\n\t") == "a\\x00b\\x1b[0m\r\n\t"
    assert wire_text("cut \ud83d") == "cut \ufffd"
    assert wire_text("\ud83d\ude00") == "😀"


# --- cut, mask, numbers ---------------------------------------------------------------


@given(ANYTHING | NASTY, st.integers(-2, 60))
def test_cut_is_a_prefix_of_at_most_n(text: str, n: int):
    short = cut(text, n)
    assert text.startswith(short)
    assert len(short) <= max(n, 0)
    assert short or not text or n <= 0
    if len(text) <= n:
        assert short == text


@pytest.mark.parametrize(
    ("text", "n", "short"),
    [
        ("hello", 3, "hel"),
        ("ae\u0301b", 2, "a"),
        ("ae\u0301b", 3, "ae\u0301"),
        ("a" + FAMILY, 4, "a"),
        ("a👩🏽", 2, "a"),
        ("a❤\ufe0f", 2, "a"),
        ("a\ud83d\ude00", 2, "a"),
        ("a\r\nb", 2, "a"),
    ],
)
def test_cut_never_splits_what_is_seen_as_one(text: str, n: int, short: str):
    assert cut(text, n) == short


def test_a_pile_of_accents_is_still_cut():
    assert len(cut("e" + "\u0301" * 1000, 500)) == 500


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"key={SECRET}!",
        f"{{'x-api-key': '{SECRET}'}}",
        f"http://me:{SECRET}@host/",
    ],
)
def test_a_given_secret_is_masked(text: str):
    assert SECRET not in mask_secrets(text, [SECRET])


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("sk-ant-api03-AbC_dEf-123", "AbC_dEf"),
        ("Authorization: Bearer abcdef", "abcdef"),
        ("authorization: Basic QWxhZGRpbg==", "QWxh"),
        ("{'authorization': 'Bearer abc'}", "abc"),
        ("(b'Authorization', b'Bearer abcdefgh')", "abcdefgh"),
        ("curl -H 'X-Api-Key: letmein'", "letmein"),
        ("sent with bearer a1b2c3d4e5", "a1b2c3d4e5"),
        ("https://me:pa55@proxy:8080", "pa55"),
        ('api_key = "letmein"', "letmein"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, hidden: str):
    masked = mask_secrets(text)
    assert hidden not in masked and "***" in masked


@pytest.mark.parametrize(
    "text",
    ["bearer of bad news", "basic understanding", "see http://host:80/a@b", "the api key, then"],
)
def test_ordinary_sentences_are_not_masked(text: str):
    assert mask_secrets(text, ["", "the"]) == text


def test_the_longer_of_two_secrets_is_masked_whole():
    assert mask_secrets("abcdefgh", ["abcd", "abcdefgh"]) == "***"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"), (0, "0.0 s"), (0.06, "0.1 s"), (6.24, "6.2 s"), (59.94, "59.9 s"),
        (59.96, "1 min 0 s"), (123, "2 min 3 s"), (3599.6, "1 h 0 min"), (3720, "1 h 2 min"),
    ],
)  # fmt: skip
def test_duration(seconds: float, text: str):
    assert duration(seconds) == text


def test_count():
    assert count(48200) == "48,200"


# --- colours of tool output -----------------------------------------------------------


@given(NASTY)
@example("\x1b[" + "9" * 5000 + "m")
@example("\x1b[38;5;999m\x1b[38;2;1m\x1b[48m\x1b[38:2m\x1b[;;;m\x1b[٣m")
def test_spans_never_raise_and_hold_only_safe_text_and_styles(text: str):
    for span, style in ansi_spans(text):
        assert not NEVER & set(span)
        Style(**style)


@given(st.lists(NASTY))
def test_output_in_pieces_is_read_as_the_whole(pieces: list[str]):
    def cells(spans: list[tuple[str, object]]) -> list[tuple[str, object]]:
        return [(char, style) for span, style in spans for char in span]

    whole = AnsiReader()
    expected = cells([*whole.feed("".join(pieces)), *whole.flush()])
    reader = AnsiReader()
    spans = [span for piece in pieces for span in reader.feed(piece)]
    assert cells([*spans, *reader.flush()]) == expected


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("31", {"color": "color(1)"}),
        ("97", {"color": "color(15)"}),
        ("42", {"bgcolor": "color(2)"}),
        ("100", {"bgcolor": "color(8)"}),
        ("38;5;200", {"color": "color(200)"}),
        ("48;2;1;2;255", {"bgcolor": "#0102ff"}),
        ("38:2:1:2:3", {"color": "#010203"}),
        ("38:2::1:2:3", {"color": "#010203"}),
        ("38:5:9", {"color": "color(9)"}),
        ("1;2;3;4;7;9", dict.fromkeys(["bold", "dim", "italic", "underline", "reverse", "strike"],
                                      True)),
        ("4:3", {"underline": True}),
        ("4;4:0", {}),
        ("1;2;22", {}),
        ("31;39;41;49", {}),
        ("1;31;0;3", {"italic": True}),
        ("1;", {}),
        ("", {}),
        ("8", {}),  # conceal would hide text
        ("58;5;1;1", {"bold": True}),  # the colour of the underline, then bold
        ("38;5;1;1", {"color": "color(1)", "bold": True}),
        ("?25", {}),
    ],
)  # fmt: skip
def test_sgr(codes: str, style: dict[str, object]):
    assert ansi_spans(f"\x1b[{codes}mx") == [("x", style)]


def test_a_style_lasts_until_it_is_reset():
    assert ansi_spans("a\x1b[1mb\nc\x1b[md") == [("a", {}), ("b\nc", {"bold": True}), ("d", {})]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("\x1b[2J\x1b[1;1Hx\x1b[K\x1b[?25l\x1b(B\x1b7", "x"),
        ("\x1b]8;;http://evil/\x1b\\ok\x1b]8;;\x07", "ok"),
        ("\x1b]52;c;UFdO\x07", "␛]52;c;UFdO␇"),
        ("\x1bP1$r0m\x1b\\", "␛P1$r0m␛\\"),
        ("\x1b", "␛"),
        ("\x1b[31", "␛[31"),
        ("x\x9b31m", "x‹U+009B›31m"),
    ],
)
def test_everything_but_sgr_is_dropped_or_shown(output: str, text: str):
    assert without_ansi(output) == text


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("1%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("abcdef\rXY\n", "XYcdef\n"),
        ("abcdef\r\x1b[KXY\n", "XY\n"),
        ("one\r\ntwo\r\r\nthree\r", "one\ntwo\nthree"),
        ("\rx", "x"),
    ],
)
def test_progress_bars_look_as_on_a_terminal(output: str, text: str):
    assert without_ansi(output) == text


def test_what_is_not_overwritten_keeps_its_colour():
    assert ansi_spans("\x1b[31mabc\x1b[0m\rX") == [("X", {}), ("bc", {"color": "color(1)"})]


HOSTILE = {
    "returns": "\r" * 100_000 + "x",
    "one long line": "x" * 100_000 + "\r" + "y" * 100_000,
    "open links": "\x1b]8;" * 25_000,
    "open sequences": "\x1b[" * 50_000,
    "joiners": "\u200d" * 100_000,
    "tags": "\U000e0041" * 100_000,
    "keys": "authorization: " * 10_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_read_at_once(name: str):
    """Where a pattern were quadratic, this would take minutes."""
    text = HOSTILE[name]
    assert not NEVER & set(without_ansi(text))
    assert not NEVER & set(SafeText(text))
    assert "\x1b" not in mask_secrets(SafeText(text))


def test_text_knows_no_widgets():
    source = sys.modules["agent_tui.text"].__dict__
    assert not any(
        getattr(value, "__module__", "").startswith(("rich", "textual"))
        for value in source.values()
    )
