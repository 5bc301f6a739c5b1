"""The text of a long question: wrapped so that nothing of it is lost."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent_tui.tui.screens.long_text import wrap

TEXTS = st.text(st.sampled_from("ab \u6f22\u00e9-"), max_size=200)


@given(TEXTS, st.integers(2, 30))
def test_wrapping_loses_nothing_and_fits(text: str, width: int) -> None:
    rows = list(wrap(text, width))
    assert "".join(rows) == text
    assert rows and all(cell_len(row) <= width for row in rows)


def test_it_breaks_behind_a_space_near_the_end_of_a_row() -> None:
    assert list(wrap("pytest -q tests/unit", 12)) == ["pytest -q ", "tests/unit"]
    assert list(wrap("x" * 25, 10)) == ["x" * 10, "x" * 10, "x" * 5]


def test_a_width_too_small_for_a_character_still_ends() -> None:
    assert list(wrap("\u6f22\u6f22", 1)) == ["\u6f22", "\u6f22"]
