"""Search: what is found, in what order, at what cost, and that it is shown where it is."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from agent_tui.agent.events import TextDeltaEvent, TextEndEvent, TextStartEvent
from agent_tui.agent.messages import (
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from agent_tui.tui.transcript import Transcript
from agent_tui.tui.transcript.blocks import Block, TextBlock
from agent_tui.tui.transcript.counts import Counts
from agent_tui.tui.transcript.layout import Layout, Spot
from agent_tui.tui.transcript.lines import Look
from agent_tui.tui.transcript.needle import CHUNK, Needle, fold, pieces
from agent_tui.tui.transcript.places import Places

from .harness import Answer, TranscriptApp, prompt, result, settled, stored_answer
from .test_folding import a_program

# --- comparing ----------------------------------------------------------------------------


@given(st.text())
def test_folding_letters_moves_no_character(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("Bold Text", "some **bold** text", 1),
        ("the_name", "call `the_name` now", 1),
        ("**bold**", "some **bold** text", 1),
        ("`x`", "x `x` x", 1),
        ("gross", "GROSS groß", 1),
        ("日本", "in 日本語", 1),
        ("aa", "aaaa", 2),
        ("a b", "a\nb", 0),
    ],
)
def test_letters_match_in_either_case_and_through_marks(
    query: str, text: str, matches: int
) -> None:
    needle = Needle(query)
    assert len(list(needle.found_in(needle.read(text, markdown=True)))) == matches


def test_only_the_first_line_of_what_is_typed_counts() -> None:
    assert Needle("one\ntwo").text == "one" and not Needle("\nx")


@given(st.lists(st.text("ab\n", max_size=30)), st.integers(1, 12))
def test_pieces_are_the_text_and_end_with_a_line(texts: list[str], chunk: int) -> None:
    big = [text * (CHUNK // 8) for text in texts[:2]]
    for given_texts in (texts, big):
        cut = list(pieces(given_texts))
        assert "".join(cut) == "".join(given_texts)


# --- counting -----------------------------------------------------------------------------


class Reads(Needle):
    """Counts the characters that are compared."""

    def __init__(self, query: str) -> None:
        super().__init__(query)
        self.read_so_far = 0

    def read(self, text: str, *, markdown: bool) -> str:
        self.read_so_far += len(text)
        return super().read(text, markdown=markdown)


def layout_of(*texts: str) -> Layout:
    layout = Layout(Look(width=60))
    for text in texts:
        layout.add(TextBlock(text))
    return layout


def counted(layout: Layout, needle: Needle, start: int) -> Counts:
    counts = Counts(layout.blocks, needle, start, lambda block: False)
    for _ in counts.steps():
        pass
    return counts


TEXTS = st.lists(st.text("ab \n", max_size=40), max_size=12)


@given(TEXTS, st.text("ab ", min_size=1, max_size=3), st.integers(-1, 14))
def test_every_match_of_every_block_is_counted_once(
    texts: list[str], query: str, start: int
) -> None:
    needle = Needle(query)
    counts = counted(layout_of(*texts), needle, start)
    each = [text.count(query) for text in texts]
    assert counts.done and counts.total == sum(each)
    ranks = [(index, n) for index, many in enumerate(each) for n in range(many)]
    assert [counts.find(rank) for rank in range(sum(each))] == ranks
    assert [counts.rank(*place) for place in ranks] == list(range(sum(each)))


@given(TEXTS, st.lists(st.tuples(st.integers(0, 11), st.text("ab\n", max_size=20)), max_size=8))
def test_what_changes_while_it_is_counted_is_counted_as_it_is_at_the_end(
    texts: list[str], changes: list[tuple[int, str]]
) -> None:
    layout = layout_of(*texts)
    needle = Needle("ab")
    counts = Counts(layout.blocks, needle, 3, lambda block: False)
    layout.watcher = counts.changed
    steps: Iterator[int] = counts.steps()
    for index, text in changes:
        next(steps, None)
        if index < len(layout.blocks):
            block = layout.blocks[index]
            layout.blocks[index] = other = TextBlock(text)
            other.index = block.index
            counts.changed(other)
        else:
            layout.add(TextBlock(text))
    for _ in counts.steps():
        pass
    assert counts.total == sum("".join(b.texts()).count("ab") for b in layout.blocks)


def test_a_step_reads_a_bounded_piece_of_the_largest_transcript() -> None:
    big = ("word " * 20 + "\n") * 20_000
    layout = layout_of(big, *["small\n" * 50] * 500, big)
    needle = Reads("word")
    counts = Counts(layout.blocks, needle, 0, lambda block: False)
    last = most = 0
    for _ in counts.steps():
        most = max(most, needle.read_so_far - last)
        last = needle.read_so_far
    assert counts.total == 800_000
    assert most <= 2 * CHUNK, "a step reads one piece or some small blocks"


def test_of_what_streams_only_what_is_new_is_read() -> None:
    block = TextBlock()
    layout = Layout(Look(width=60))
    layout.add(block)
    needle = Reads("needle")
    counts = Counts(layout.blocks, needle, 0, lambda block: False)
    layout.watcher = counts.changed
    for number in range(400):
        block.take(f"line {number} with a nee")
        layout.changed(block, block.drain())
        for _ in counts.steps():
            pass
        block.take("dle in it\n")
        layout.changed(block, block.drain())
        for _ in counts.steps():
            pass
        assert counts.total == number + 1
    assert needle.read_so_far < 6 * block.received


# --- on the page --------------------------------------------------------------------------


def mixed() -> list[object]:
    table = "| name | what |\n|---|---|\n" + "".join(f"| n{n} | needle {n} |\n" for n in range(5))
    code = "```python\n" + "".join(f"needle_{n} = {n}\n" for n in range(90)) + "```"
    return [
        prompt("where is the needle?"),
        AssistantMessage(
            content=[
                ThinkingContent(thinking="a needle in thought\n" * 3, signature="s"),
                TextContent(
                    text=f"# A needle\n\nA **need**le, a [needle](https://x.org)\n\n{code}"
                ),
                TextContent(text=f"{table}\n\n1. needle\n2. haystack\n   needle\n\n> needle"),
                ToolCall(id="c1", name="shell", arguments={"command": "grep needle"}),
                ToolCall(id="c2", name="write", arguments={"path": "p", "content": "x\nneedle\n"}),
            ]
        ),
        result("c1", "shell", "\n".join(f"{n} needle" for n in range(40))),
        result("c2", "write", "Wrote it."),
        stored_answer("last needle " + "and a long tail that wraps around the needle " * 20),
    ]


def marked_rows(transcript: Transcript) -> list[str]:
    """What is marked as the current match, row by row."""
    found: list[str] = []
    for row in transcript._view.frame:
        for (_, start, end), here in transcript._searching.marks(row.spot):
            if here:
                found.append(row.line.shown[start:end])
    return found


async def search(pilot: Pilot[None], query: str) -> Transcript:
    transcript = pilot.app.query_one(Transcript)
    transcript.search(query)
    return await settled(pilot)


@pytest.mark.parametrize("width", [44, 80])
async def test_each_match_is_brought_into_view_in_its_order(width: int) -> None:
    app = TranscriptApp()
    async with app.run_test(size=(width, 12)) as pilot:
        app.transcript.load(mixed())
        transcript = await search(pilot, "needle")
        total = transcript.search_state.total
        assert total == 1 + 3 + 3 + 90 + 5 + 3 + 1 + 40 + 1 + 21
        spots: list[tuple[int, int, int]] = []
        for number in range(total):
            transcript.next_match()
            await settled(pilot)
            assert transcript.search_state.position == number + 1, "on from the last one: round"
            assert "".join(marked_rows(transcript)).replace(" ", "").lower() == "needle"
            at = transcript._searching._at
            assert at is not None
            spots.append(at)
        assert spots == sorted(set(spots)), "each once, downward"


async def test_the_nearest_match_above_the_end_comes_first() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.transcript.load([stored_answer(f"word {n}\n\nfiller\n\n" * 3) for n in range(50)])
        transcript = await search(pilot, "word 7")
        assert transcript.search_state.position == 3 and transcript.search_state.total == 3
        transcript.search("word 4")
        await settled(pilot)
        assert transcript.search_state.total == 33
        assert transcript.search_state.position == 33, "from the end, not from the last match"


async def test_from_the_middle_the_nearest_above_else_below() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.transcript.load([stored_answer(f"word {n} here") for n in range(100)])
        transcript = await settled(pilot)
        transcript.scroll_to(y=80)
        before = transcript.lines_shown
        await search(pilot, "word 1")
        assert transcript.search_state.position == 11  # 1, 10..19
        await search(pilot, "word 9")
        assert transcript.search_state.position == 1
        await search(pilot, "word 91")
        assert transcript.search_state.position == 1, "only below: that one"
        assert any("word 91" in row for row in transcript.lines_shown)
        await search(pilot, "word 91x")
        assert transcript.lines_shown == before
        transcript.end_search(stay=False)
        assert transcript.lines_shown == before and not transcript.following


async def test_a_call_in_a_folded_program_is_opened_for_its_match_and_folded_again() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        a_program(app.transcript, calls=12, lines=100)
        transcript = await settled(pilot)
        before = transcript.lines_shown
        await search(pilot, "7-77")
        assert transcript.search_state.total == 1
        assert marked_rows(transcript) == ["7-77"]
        transcript.end_search(stay=False)
        await settled(pilot)
        assert transcript.lines_shown == before


async def test_what_stays_open_is_only_what_one_stays_at() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.transcript.load(mixed())
        transcript = await search(pilot, "39 needle")
        transcript.end_search(stay=True)
        await settled(pilot)
        assert any("39 needle" in row for row in transcript.lines_shown)
        assert not transcript.searching and transcript.search_state.total == 0


async def test_hidden_thinking_is_not_searched() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.transcript.load(mixed())
        app.transcript.set_thinking_mode("hidden")
        transcript = await search(pilot, "in thought")
        assert transcript.search_state.total == 0


async def test_a_match_holds_still_while_text_comes_in_below() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.transcript.load(mixed())
        answer = Answer(app.transcript)
        answer.event(TextStartEvent(0))
        transcript = await search(pilot, "haystack")
        before = transcript.lines_shown
        for number in range(30):
            answer.event(TextDeltaEvent(0, f"\n\nhaystack {number}"))
            await settled(pilot)
            assert transcript.lines_shown == before
            assert transcript.search_state.total == number + 2
        assert transcript.search_state.position == 1
        text = "".join(f"\n\nhaystack {number}" for number in range(30))
        answer.event(TextEndEvent(0, TextContent(text=text)))
        answer.end([TextContent(text=text)])
        await settled(pilot)
        assert transcript.search_state.total == 31


async def test_a_cleared_transcript_has_no_search() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.transcript.load(mixed())
        transcript = await search(pilot, "needle")
        transcript.clear()
        assert not transcript.searching
        transcript.next_match()
        transcript.load(mixed())
        await settled(pilot)


async def test_a_resize_keeps_the_match_marked() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.load(mixed())
        transcript = await search(pilot, "last needle")
        await pilot.resize_terminal(40, 16)
        await settled(pilot)
        assert "".join(marked_rows(transcript)) == "last needle"


# --- places -------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["plain ab text", "- ab\n- b", "1. ab\n\n   ab", "```\nab\nb ab\n```", "> ab\n> cd ab",
             "# ab", "| ab | b |\n|---|---|\n| cd | ab |", "a b" * 3, "ab " * 60]
        ),
        max_size=12,
    ),
    st.sampled_from(["ab", "b", "cd", "b a"]),
    st.sampled_from([20, 60]),
)  # fmt: skip
def test_a_match_of_the_source_is_found_in_the_rows(
    texts: list[str], query: str, width: int
) -> None:
    layout = Layout(Look(width=width))
    block: Block = TextBlock("\n\n".join(texts))
    layout.add(block)
    needle = Needle(query)
    counts = counted(layout, needle, 0)
    places = Places(layout, needle)
    layout.ready(0)
    keys: list[tuple[int, int]] = []
    for ordinal in range(counts.total):
        spot, number = places.spot(block, ordinal)
        if number >= 0:
            assert any(found == number for found, _, _ in places.marks(spot))
            keys.append((spot.part, number))
    assert keys == sorted(set(keys))
    if query != "b a":  # which an ordinal or a cell may part
        assert len(keys) == counts.total


def test_a_place_that_is_gone_is_no_failure() -> None:
    layout = layout_of("text with ab")
    places = Places(layout, Needle("ab"))
    block = layout.ready(0)
    assert isinstance(places.spot(block, 99)[0], Spot)
