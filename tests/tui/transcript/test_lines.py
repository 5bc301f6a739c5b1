"""Wrapping: nothing is lost, nothing is too wide, copying gives the source back."""

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.tui.transcript.lines import (
    Line,
    Look,
    Prefix,
    break_hard,
    break_text,
    crop_runs,
    lay_runs,
)

from .harness import copied

WORDS = st.text(st.sampled_from(list("abc    -/.你好é👍üあ")), max_size=120)
widths = st.integers(2, 30)


@given(WORDS, widths)
@example("一二三四五六", 5)
@example("あ  ", 2)
@example("あ  b", 2)
@example("word word", 4)
@example("    indented then", 6)
def test_rows_fit_and_together_are_the_text(text: str, width: int) -> None:
    rows = break_text(text, width)
    for start, end, _ in rows:
        assert cell_len(text[start:end]) <= width
    joined = "".join(text[start:end] + (join or "") for start, end, join in rows)
    assert joined.rstrip(" ") == text.rstrip(" ")
    assert [join is None for _, _, join in rows] == [False] * (len(rows) - 1) + [True]


@given(WORDS, widths)
def test_a_word_is_only_cut_where_it_is_longer_than_a_row(text: str, width: int) -> None:
    ascii_text = text.encode("ascii", "ignore").decode()
    for start, end, join in break_text(ascii_text, width):
        if join == "":
            assert end - start == width


@given(WORDS, widths)
def test_hard_rows_keep_every_space(text: str, width: int) -> None:
    rows = break_hard(text, width)
    assert "".join(text[start:end] for start, end, _ in rows) == text
    assert all(cell_len(text[start:end]) <= width for start, end, _ in rows)


def test_wide_characters_break_between_any_two() -> None:
    assert _rows("你好世界再见", 4) == ["你好", "世界", "再见"]


def test_an_emoji_sequence_is_not_cut_apart() -> None:
    family = "👨‍👩‍👧"
    for row in _rows(family * 6, 5):
        assert row.replace(family, "") == ""


def _rows(text: str, width: int) -> list[str]:
    return [text[start:end] for start, end, _ in break_text(text, width)]


@given(WORDS, widths)
def test_soft_wrapped_rows_copy_as_one_line(text: str, width: int) -> None:
    lines: list[Line] = []
    lay_runs([(text, "")], Look(width=width), lines)
    assert copied(lines).rstrip(" ") == text.rstrip(" ")


@given(st.text("a\tb ", max_size=60), widths)
def test_tabs_are_shown_as_spaces_and_copied_as_tabs(text: str, width: int) -> None:
    lines: list[Line] = []
    lay_runs([(text, "")], Look(width=width), lines, hard=True)
    assert not any("\t" in line.shown or "\0" in line.shown for line in lines)
    assert copied(lines) == text


def test_a_prefix_is_shown_on_every_row_and_copied_as_its_source_once() -> None:
    lines: list[Line] = []
    prefix = Prefix([("• ", "bullet")], [("  ", "")], "- ")
    lay_runs([("one two three", "")], Look(width=9), lines, prefix)
    assert [line.shown for line in lines] == ["• one two", "  three"]
    assert copied(lines) == "- one two three"


def test_a_part_of_a_row_copies_what_is_under_it() -> None:
    lines: list[Line] = []
    lay_runs([("abcdef", "")], Look(width=20), lines, Prefix([("• ", "")], [("  ", "")], "- "))
    assert lines[0].copied(3, 5) == "bc"
    assert lines[0].copied(0, 3) == "- a"
    assert lines[0].copied(2, 4) == "ab"


@given(WORDS, st.integers(1, 20))
def test_a_cropped_row_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    cropped = "".join(piece for piece, _ in crop_runs([(text, ""), (text, "x")], width, "…"))
    assert cell_len(cropped) <= width
    if cell_len(text) * 2 > width:
        assert cropped.endswith("…")
    else:
        assert cropped == text * 2
