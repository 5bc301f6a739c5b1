"""Sums and searches over row counts, against the plain list they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from agent_tui.tui.transcript.heights import Heights

rows = st.lists(st.integers(0, 9), max_size=40)


def where(values: list[int], row: int) -> tuple[int, int]:
    for index, value in enumerate(values):
        if row < value:
            return index, row
        row -= value
    return len(values), row


@given(rows, rows)
def test_sums_are_those_of_the_list(first: list[int], later: list[int]) -> None:
    heights = Heights(first)
    for value in later:
        heights.append(value)
    values = first + later
    assert len(heights) == len(values)
    assert heights.total == sum(values)
    assert [heights.before(i) for i in range(len(values) + 1)] == [
        sum(values[:i]) for i in range(len(values) + 1)
    ]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.data())
def test_a_changed_height_changes_all_sums_behind_it(
    values: list[int], data: st.DataObject
) -> None:
    heights = Heights(values)
    index = data.draw(st.integers(0, len(values) - 1))
    new = data.draw(st.integers(0, 20))
    assert heights.set(index, new) == new - values[index]
    values[index] = new
    assert heights.total == sum(values)
    assert heights.before(index + 1) == sum(values[: index + 1])


@given(rows, st.integers(0, 400))
def test_find_gives_the_entry_that_holds_the_row(values: list[int], row: int) -> None:
    assert Heights(values).find(row) == where(values, row)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(0, 9))
def test_append_after_pop_keeps_the_sums(values: list[int], new: int) -> None:
    heights = Heights(values)
    assert heights.pop() == values.pop()
    heights.append(new)
    values.append(new)
    assert heights.total == sum(values)
    assert heights.find(max(0, sum(values) - 1)) == where(values, max(0, sum(values) - 1))
