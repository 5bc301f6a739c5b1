"""100,000 lines: jumps, resizes, search and scrolling show the right text."""

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.messages import AssistantMessage, TextContent
from agent_tui.tui.transcript.blocks import TextBlock
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.lines import Look
from agent_tui.tui.transcript.viewport import Viewport

from .harness import TranscriptApp, prompt, settled

LINES = 100_000
TURNS = 200


def line(number: int) -> str:
    return f"Line {number} " + "of the long answer " * (number % 7) + f"ends {number}."


def conversation() -> list[object]:
    """100,000 lines, each its own paragraph, in 200 turns."""
    each = LINES // TURNS
    messages: list[object] = []
    for turn in range(TURNS):
        text = "\n\n".join(line(number) for number in range(turn * each, (turn + 1) * each))
        messages += [prompt(f"turn {turn}"), AssistantMessage(content=[TextContent(text=text)])]
    return messages


def numbers(rows: list[str]) -> list[int]:
    """The lines that begin in these rows; they must follow each other."""
    found = [int(row.split()[1]) for row in rows if row.startswith("Line ")]
    assert found == list(range(found[0], found[0] + len(found)))
    return found


def whole(rows: list[str]) -> None:
    """Joined again, the rows from the first whole line on are the source."""
    begin = next(n for n, row in enumerate(rows) if row.startswith("Line "))
    text = " ".join(row.strip() for row in rows[begin:])
    first = int(rows[begin].split()[1])
    expected = ""
    for number in range(first, first + len(rows)):
        expected += line(number) + "  "
        if (number + 1) % (LINES // TURNS) == 0:
            expected += f"❯ turn {(number + 1) * TURNS // LINES}  "
    assert "".join(expected.split()).startswith("".join(text.split()))


async def test_jumps_resizes_and_search_at_100_000_lines_show_the_right_text() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.transcript.load(conversation())
        transcript = await settled(pilot)
        assert transcript.lines_shown[-1].endswith(f"{LINES - 1}.")
        rows = transcript.virtual_size.height
        assert rows > LINES
        transcript.scroll_to(y=rows // 2)
        middle = numbers(transcript.lines_shown)[0]
        assert LINES * 0.4 < middle < LINES * 0.6
        whole(transcript.lines_shown)
        for width, height in ((40, 30), (140, 12), (61, 40), (100, 30)):
            await pilot.resize_terminal(width, height)
            await settled(pilot)
            now = numbers(transcript.lines_shown)[0]
            assert abs(now - middle) <= 1, "the line at the top stays there"
            whole(transcript.lines_shown)
        rolls = random.Random(7)
        for _ in range(12):
            transcript.scroll_to(y=rolls.randrange(rows))
            whole(transcript.lines_shown)
            before = numbers(transcript.lines_shown)
            transcript.scroll_relative(y=17, animate=False)
            after = numbers(transcript.lines_shown)
            assert after[0] >= before[0]
            whole(transcript.lines_shown)
        for number in (77_777, 3, 50_000):
            transcript.search(f"ends {number}.")
            await settled(pilot)
            assert transcript.search_state.total == 1
            assert f"ends {number}." in " ".join(row.strip() for row in transcript.lines_shown)
        transcript.end_search(stay=False)
        transcript.scroll_home()
        assert transcript.lines_shown[2].startswith("Line 0 ")
        transcript.scroll_to_end()
        assert transcript.lines_shown[-1].endswith(f"{LINES - 1}.")


async def test_going_to_each_prompt_of_it_is_exact() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.transcript.load(conversation())
        transcript = await settled(pilot)
        for turn in reversed(range(TURNS - 20, TURNS)):
            assert transcript.go_to_prompt(-1)
            assert transcript.lines_shown[0] == f"❯ turn {turn}"
            await asyncio.sleep(0)
        assert transcript.go_to_prompt(1)
        assert transcript.lines_shown[0] == f"❯ turn {TURNS - 19}"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=12),
    st.lists(
        st.tuples(st.sampled_from(["to", "by", "width"]), st.integers(-400, 400)), max_size=12
    ),
)
def test_whatever_way_one_came_the_rows_are_those_of_the_whole(
    sizes: list[int], moves: list[tuple[str, int]]
) -> None:
    """After any jumps, steps and widths the screen is a stretch of the whole, laid out anew."""
    texts = ["\n\n".join(line(n * 97 + k) for k in range(size)) for n, size in enumerate(sizes)]
    layout = Layout(Look(width=60))
    for text in texts:
        layout.add(TextBlock(text))
    view = Viewport(layout)
    view.height = 9
    view.settle()
    for move, amount in moves:
        if move == "to":
            view.scroll_to(abs(amount))
        elif move == "by":
            view.scroll_by(amount)
        else:
            share = view.hold()
            layout.restyle(Look(width=20 + abs(amount) % 80, version=layout.look.version))
            if not view.following:
                view.restore(share)
            view.settle()
        fresh = Layout(Look(width=layout.look.width))
        for text in texts:
            fresh.add(TextBlock(text))
        everything = [
            row.shown for block, part in fresh.parts_from(0, 0) for row in fresh.rows(block, part)
        ]
        seen = [row.line.shown for row in view.frame]
        size = len(seen)
        assert size == min(9, len(everything))
        assert any(everything[n : n + size] == seen for n in range(len(everything) - size + 1))
