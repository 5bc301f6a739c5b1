"""The view: it follows the end, or holds still for the reader, whatever grows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.tui.transcript.blocks import Modes, PromptBlock, TextBlock
from agent_tui.tui.transcript.layout import LINES_KEPT, Layout, Spot
from agent_tui.tui.transcript.lines import Look
from agent_tui.tui.transcript.viewport import Viewport

HEIGHT = 10


def view_of(*texts: str, width: int = 30) -> Viewport:
    layout = Layout(Look(width=width))
    view = Viewport(layout)
    view.height = HEIGHT
    for text in texts:
        layout.add(TextBlock(text))
    view.settle()
    return view


def screen(view: Viewport) -> list[str]:
    return [row.line.shown for row in view.frame]


def numbered(count: int, start: int = 0) -> str:
    return "\n\n".join(f"paragraph {number}" for number in range(start, start + count))


def stream(view: Viewport, text: str) -> TextBlock:
    block = TextBlock()
    view.layout.add(block)
    grow(view, block, text)
    return block


def grow(view: Viewport, block: TextBlock, text: str) -> None:
    block.take(text)
    view.layout.changed(block, block.drain())
    view.settle()


def test_it_starts_at_the_end() -> None:
    view = view_of(numbered(50))
    assert screen(view)[-1] == "paragraph 49"
    assert view.following


def test_it_follows_what_streams() -> None:
    view = view_of(numbered(50))
    block = stream(view, "new")
    assert screen(view)[-1] == "new"
    grow(view, block, " words\n\nand more")
    assert screen(view)[-1] == "and more"


def test_what_the_reader_looks_at_stays_while_text_streams() -> None:
    view = view_of(numbered(50))
    view.scroll_by(-20)
    before = screen(view)
    block = stream(view, "new")
    for number in range(30):
        grow(view, block, f"\n\nstreamed {number}")
        assert screen(view) == before
    assert not view.following


def test_scrolling_down_to_the_end_follows_again() -> None:
    view = view_of(numbered(50))
    view.scroll_by(-7)
    view.scroll_by(6)
    assert not view.following
    view.scroll_by(1)
    assert view.following
    assert screen(view)[-1] == "paragraph 49"


def test_scrolling_moves_by_exactly_so_many_rows() -> None:
    # Long paragraphs: their estimated heights differ from the real ones.
    texts = [f"{number} " + "word " * (number % 37) for number in range(200)]
    view = view_of("\n\n".join(texts))
    rows = screen(view)
    for _ in range(60):
        view.scroll_by(-3)
        now = screen(view)
        assert now[3:] == rows[:-3]
        rows = now


def test_scrolling_up_and_down_comes_back() -> None:
    view = view_of(*[numbered(7, 7 * n) + " " + "word " * n for n in range(40)])
    view.scroll_by(-50)
    before = screen(view)
    view.scroll_by(-33)
    view.scroll_by(33)
    assert screen(view) == before


def test_the_top_is_the_top() -> None:
    view = view_of(numbered(50))
    view.scroll_by(-1000)
    assert screen(view)[0] == "paragraph 0"
    assert view.y == 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=12),
    st.lists(st.one_of(st.integers(-40, 40), st.just("jump")), max_size=12),
    st.data(),
)
def test_the_frame_is_always_rows_of_the_whole(
    sizes: list[int], moves: list[int | str], data: st.DataObject
) -> None:
    texts = [f"{n} " + "word " * size for n, size in enumerate(sizes)]
    view = view_of(*texts, width=20)
    whole = view_of(*texts, width=20)
    whole.height = 10_000
    whole.settle()
    everything = screen(whole)
    for move in moves:
        if isinstance(move, int):
            view.scroll_by(move)
        else:
            view.scroll_to(data.draw(st.integers(0, 200)))
        rows = screen(view)
        assert len(rows) == min(HEIGHT, len(everything))
        at = view.y
        # Once laid out, heights are exact from the top row down.
        assert any(
            everything[start : start + len(rows)] == rows
            for start in range(len(everything) - len(rows) + 1)
        ), at


def test_another_width_keeps_the_words_at_the_top() -> None:
    texts = [f"{number} " + " ".join(f"w{number}.{n}" for n in range(60)) for number in range(40)]
    view = view_of("\n\n".join(texts), width=60)
    view.scroll_by(-100)
    words = screen(view)[0].split()
    share = view.hold()
    view.layout.restyle(Look(width=25))
    view.restore(share)
    view.settle()
    assert set(screen(view)[0].split()) & set(words)


def test_only_what_is_seen_is_laid_out() -> None:
    view = view_of(*[numbered(20) for _ in range(500)])
    laid = sum(part.lines is not None for block in view.layout.blocks for part in block.parts)
    assert laid <= HEIGHT + 1
    assert sum(bool(block.parts) for block in view.layout.blocks) <= 2


def test_laid_out_rows_are_bounded() -> None:
    view = view_of(*[numbered(50) for _ in range(200)])
    for _ in range(1500):
        view.scroll_by(-HEIGHT)
    kept = sum(
        len(part.lines)
        for block in view.layout.blocks
        for part in block.parts
        if part.lines is not None
    )
    assert kept <= LINES_KEPT + 100


def test_texts_that_were_streamed_long_ago_keep_their_source_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent_tui.tui.transcript.layout.PARTS_KEPT", 300)
    view = view_of()
    for _ in range(40):
        block = stream(view, numbered(30))
        view.layout.changed(block, block.close())
    awake = sum(len(block.parts) for block in view.layout.blocks)
    assert awake <= 16 * 30 + 30, "the last ones stay awake, however many parts they have"
    assert view.layout.blocks[0].source() == numbered(30)
    view.scroll_by(-100_000)
    assert screen(view)[0] == "paragraph 0"


def test_a_part_that_became_shorter_leaves_the_view_on_a_row() -> None:
    view = view_of(numbered(5))
    block = PromptBlock("\n".join(f"line {n}" for n in range(40)))
    block.compose(Modes())
    view.layout.add(block)
    view.layout.add(TextBlock(numbered(30)))
    view.settle()
    view.scroll_by(-75)
    assert view.layout.blocks[view.top.block] is block
    block.text = type(block.text)("short")
    block.compose(Modes())
    view.layout.changed(block)
    view.settle()
    assert len(view.frame) == HEIGHT
    assert screen(view)[0] in ("❯ short", "")


def test_spots_survive_as_numbers_in_their_order() -> None:
    spots = [Spot(0, 0, 0), Spot(0, 0, 3), Spot(0, 2, 1), Spot(5, 0, 0), Spot(5, 7000, 2)]
    assert [Spot.from_key(spot.key) for spot in spots] == spots
    assert [spot.key for spot in spots] == sorted(spot.key for spot in spots)
