"""Emoji sequences take on every terminal the cells that are measured for them."""

import pytest
import wcwidth
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.tui.glyphs import draws_whole_emoji
from agent_tui.tui.transcript.clusters import clusters, is_narrow, measurable, steady
from agent_tui.tui.transcript.lines import Line, Look, break_hard, break_text, lay_runs

from .harness import TranscriptApp, copied, prompt, settled

SEQUENCES = {
    "family": "👨‍👩‍👧",
    "woman technologist, dark": "👩🏿‍💻",
    "rainbow flag": "🏳️‍🌈",
    "burning heart": "❤️‍🔥",
    "thumb with a tone": "👍🏽",
    "flag": "🇩🇪",
    "three letters of flags": "🇩🇪🇫",
    "heart with its selector": "❤️",
    "warning with its selector": "⚠️",
    "sign as text": "☺︎",
    "keycap": "1️⃣",
    "keycap without selector": "#⃣",
    "a tone alone": "🏽",
    "plain": "✅ 🚀 漢字 é",
}


def cells_added_up(text: str) -> int:
    """As terminals measure that add up the code points."""
    return sum(max(0, wcwidth.wcwidth(char)) for char in text)


@pytest.mark.parametrize("text", SEQUENCES.values(), ids=SEQUENCES)
def test_a_sequence_takes_the_same_cells_everywhere(text: str) -> None:
    shown = steady(text)
    assert cells_added_up(shown) == cell_len(shown) == cell_len(text)
    assert wcwidth.wcswidth(shown) == cell_len(text)
    assert len(shown) == len(text)


def test_what_a_sequence_shows() -> None:
    def seen(text: str) -> str:
        return steady(text).replace("\u2060", "")

    assert seen("👨‍👩‍👧!") == "👨!"
    assert seen("👍🏽") == "👍"
    assert seen("🇩🇪") == "DE"
    assert seen("⚠️ mind") == "⚠  mind"
    assert seen("1️⃣ first") == "1  first"
    assert seen("plain ✅") == "plain ✅"


PIECES = st.lists(
    st.sampled_from([*SEQUENCES.values(), "a", " ", "漢", "क्‍ष", "\u200d", "🇫", "🏽", "x" * 9]),
    max_size=12,
).map("".join)


@settings(max_examples=200)
@given(PIECES)
def test_any_mix_takes_the_same_cells(text: str) -> None:
    text = measurable(text)
    shown = steady(text)
    assert len(shown) == len(text)
    assert cell_len(shown) == cell_len(text) == cells_added_up(shown)


@settings(max_examples=200)
@given(PIECES, st.integers(2, 20))
def test_no_row_is_too_wide_and_no_sequence_is_cut(text: str, width: int) -> None:
    text = measurable(text)
    edges = {start for start, _, _ in clusters(text)} | {len(text)}
    for breaks in (break_text(text, width), break_hard(text, width)):
        assert breaks[0][0] == 0 and breaks[-1][2] is None
        for start, end, _ in breaks:
            assert cell_len(text[start:end].rstrip(" ")) <= width
            assert {start, end} <= edges


def test_wide_and_zero_width_characters_do_not_make_up_for_each_other() -> None:
    assert cell_len("👍🏽") == len("👍🏽")
    assert not is_narrow("👍🏽")
    text = "x" * 30 + "👍🏽"
    assert [text[a:b] for a, b, _ in break_text(text, 31)] == ["x" * 30, "👍🏽"]


def test_a_joiner_between_letters_hides_no_letter_from_the_measure() -> None:
    text = "क्‍ष"
    assert cell_len(text) < cells_added_up(text)
    assert cell_len(measurable(text)) == cells_added_up(text)
    out: list[Line] = []
    lay_runs([(text, "")], Look(width=20), out)
    assert copied(out) == text
    out = []
    lay_runs([(f"\t{text}", "")], Look(width=20), out)
    assert copied(out) == f"\t{text}"
    out = []
    lay_runs([(text * 30, "")], Look(width=20), out)
    assert max(cells_added_up(line.shown) for line in out) <= 20
    assert copied(out) == text * 30


@pytest.mark.parametrize(
    ("environ", "whole"),
    [
        ({}, False),
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"TERM_PROGRAM": "WezTerm"}, True),
        ({"TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/t,1,0"}, False),
        ({"TERM_PROGRAM": "ghostty", "STY": "1.x"}, False),
        ({"TERM_PROGRAM": "Apple_Terminal"}, False),
        ({"TERM": "xterm-256color"}, False),
    ],
)
def test_which_terminals_draw_them_whole(environ: dict[str, str], whole: bool) -> None:
    assert draws_whole_emoji(environ) is whole


@pytest.mark.parametrize("whole", [False, True])
async def test_the_painted_row_is_steady_and_copies_as_it_was(whole: bool) -> None:
    app = TranscriptApp()
    text = "family 👨‍👩‍👧 and ⚠️ 🇩🇪 end"
    async with app.run_test(size=(40, 6)) as pilot:
        transcript = app.transcript
        transcript._layout.look.whole_emoji = whole
        transcript.load([prompt(text)])
        await settled(pilot)
        row = transcript.render_lines(transcript.size.region)[0]
        shown = "".join(segment.text for segment in row)
        assert ("\u200d" in shown) is whole
        assert ("🇩🇪" in shown) is whole
        assert row.cell_length == transcript.size.width
        if not whole:
            assert cells_added_up(shown) == transcript.size.width
        assert transcript.source_text() == text
