"""Faults that grow with the conversation: work and memory are counted, small beside large in one
run, so that no clock decides. The figures in seconds and megabytes: benchmarks/bench_app.py."""

import asyncio
import gc
import itertools
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from textual.timer import Timer

from agent_tui.agent.events import TextDeltaEvent
from agent_tui.agent.messages import AgentMessage
from agent_tui.tui.transcript import layout
from tests.tui.conftest import Drive, Driven
from tests.tui.fake_conversation import FakeConversation
from tests.tui.transcript.harness import (
    Answer,
    Page,
    TranscriptApp,
    prompt,
    settled,
    stored_answer,
)

PARAGRAPH = "The **words** of an answer, with `code`, 漢字 and [a link](https://example.org). " * 8


class Work:
    """Python functions called, on this thread."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.calls += 1


@contextmanager
def counted() -> Iterator[Work]:
    work = Work()
    sys.setprofile(work)
    try:
        yield work
    finally:
        sys.setprofile(None)


def turns(number: int, size: int = 5_000) -> list[AgentMessage]:
    """Prompts and answers of about so many characters, each with something of everything."""
    table = "| a | b |\n|---|---|\n| 1 | 漢字 |\n\n"
    code = "```python\n" + "total = sum(price for price in prices)\n" * 8 + "```\n\n"
    body = table + code + "- one\n- two\n\n"
    rest = f"{PARAGRAPH}\n\n" * ((size - len(body)) // len(PARAGRAPH))
    made: list[AgentMessage] = []
    for n in range(number):
        made += [prompt(f"question {n}"), stored_answer(f"# Answer {n}\n\n{body}{rest}")]
    return made


# --- memory -------------------------------------------------------------------------------------


async def read_through(number: int) -> int:
    """Bytes that a conversation of so many turns holds, once every row of it has been seen."""
    gc.collect()
    tracemalloc.start()
    try:
        app = TranscriptApp()
        async with app.run_test(size=(80, 40)) as pilot:
            before, _ = tracemalloc.get_traced_memory()
            app.transcript.load(turns(number))
            await settled(pilot)
            app.transcript.scroll_home(animate=False)
            while not app.transcript.following:
                app.transcript.scroll_to(y=app.transcript.scroll_y + 40, animate=False)
                await settled(pilot)
            gc.collect()
            after, _ = tracemalloc.get_traced_memory()
            return after - before
    finally:
        tracemalloc.stop()


async def test_D03_what_was_seen_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """More turns cost their text, and what the screen knows of it. What is kept of rows and
    parts is bounded; so that a short text is beyond the bounds, they are small here. In
    megabytes, to 10 MB: `make bench`, "memory"."""
    monkeypatch.setattr(layout, "LINES_KEPT", 200)
    monkeypatch.setattr(layout, "PARTS_KEPT", 200)
    few = await read_through(10)
    many = await read_through(30)
    assert many - few < 20 * 5_000 * 10


async def test_D03_idle_costs_no_memory(drive: Drive) -> None:
    async with drive(conv=FakeConversation(messages=turns(20))) as d:
        await d.settle()

        async def idle() -> int:
            for _ in range(6):
                d.app.view.tick()
                await d.settle()
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            await idle()
            first, second = await idle(), await idle()
        finally:
            tracemalloc.stop()
        assert second - first < 5_000


# --- work ---------------------------------------------------------------------------------------


async def typing(d: Driven) -> int:
    """Work per key, once the app is warm."""
    await d.type("some words first")
    with counted() as work:
        for letter in "twenty more letters.":
            await d.press(letter if letter.isalnum() else "space")
    return work.calls


async def test_D04_a_key_costs_the_same_behind_two_thousand_messages(drive: Drive) -> None:
    """And there is no widget for a message."""
    work: list[int] = []
    widgets: list[int] = []
    for number in (2, 1_000):
        conv = FakeConversation(messages=turns(number, 600))
        async with drive(conv=conv) as d:
            await d.until(lambda: d.app.transcript.quiet)
            work.append(await typing(d))
            widgets.append(len(d.app.query("*")))
    assert work[1] < 1.5 * work[0]
    assert widgets[1] == widgets[0] < 100


KINDS = {
    "code": "```python\n" + "".join(f"value_{n} = compute({n})  # ok\n" for n in range(400)),
    "list": "".join(f"- item {n} of **them**\n" for n in range(400)),
    "table": "| a | b |\n|---|---|\n" + "".join(f"| cell {n} | 漢字 |\n" for n in range(300)),
    "prose": "One sentence follows another. " * 600,
    "quotes": "".join(f"> level {n}\n" for n in range(400)),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_D05_a_delta_costs_the_same_at_the_end_of_a_long_block(kind: str) -> None:
    """What is closed is not parsed again, and of what is open only what is new; as much is laid
    out as is seen."""
    text = KINDS[kind]
    deltas = [text[at : at + 40] for at in range(0, len(text), 40)]
    tenths: list[int] = []
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        answer = Answer(app.transcript)
        for tenth in range(10):
            with counted() as work:
                part = deltas[len(deltas) * tenth // 10 : len(deltas) * (tenth + 1) // 10]
                for piece in batches(part):
                    for delta in piece:
                        answer.event(TextDeltaEvent(0, delta))
                    await settled(pilot)
            tenths.append(work.calls)
        assert app.transcript.following
    assert tenths[-1] < 2 * max(tenths[1:3]), tenths


def batches(items: list[str], size: int = 10) -> Iterator[list[str]]:
    return (items[at : at + size] for at in range(0, len(items), size))


async def longest_slice(text: str) -> int:
    """The most work that is done at once while an answer is opened and stood on its head."""
    app = TranscriptApp()
    async with app.run_test(size=(80, 40)) as pilot:
        marks: list[int] = []

        async def mark(work: Work) -> None:
            while True:
                marks.append(work.calls)
                await asyncio.sleep(0)

        with counted() as work:
            marking = asyncio.create_task(mark(work))
            app.transcript.load([stored_answer(text)])
            await settled(pilot)
            app.transcript.scroll_home(animate=False)
            await settled(pilot)
            marking.cancel()
        return max(b - a for a, b in itertools.pairwise(marks))


async def test_D06_an_answer_of_500_kb_is_opened_in_slices() -> None:
    """However long the answer, the loop gets its turn after the same work."""
    piece = "".join(m.text for m in turns(1) if m.role == "assistant")
    small = await longest_slice(piece * 4)
    large = await longest_slice(piece * 100)
    with counted() as whole:
        Page(width=80).load(stored_answer(piece * 25))
    assert large < 3 * small
    assert large < whole.calls * 4 / 10


def active_timers(d: Driven) -> list[Timer]:
    nodes = [d.app, d.app.screen, *d.app.query("*")]
    return [t for node in nodes for t in node._timers if t._active.is_set() and t._repeat != 0]


async def test_D07_nothing_ticks_while_nothing_moves(drive: Drive) -> None:
    """No timer runs and no callback waits for a time that is near; the CPU: `make bench`."""
    async with drive(conv=FakeConversation(messages=turns(5))) as d:
        await d.until(lambda: d.app.transcript.quiet)
        await d.settle()
        assert [t for t in active_timers(d) if t._interval < 1.0] == []
        d.conv.set_status("streaming")
        await d.until(lambda: active_timers(d), "the mark turns while it works")
        d.conv.set_status("ready")
        await d.until(lambda: not active_timers(d))


async def test_D21_a_resize_costs_the_same_behind_nine_thousand_lines() -> None:
    """What is seen is laid out anew; the heights of the rest are estimates until it is seen."""
    work: list[int] = []
    for number in (8, 300):
        app = TranscriptApp()
        async with app.run_test(size=(120, 40)) as pilot:
            app.transcript.load(turns(number, 3_000))
            await settled(pilot)
            with counted() as counter:
                for size in ((60, 12), (150, 50), (119, 40)):
                    await pilot.resize_terminal(*size)
                    await settled(pilot)
            assert "The words of an answer" in " ".join(app.transcript.lines_shown)
            work.append(counter.calls)
            if number == 300:
                assert app.transcript.virtual_size.height > 9_000
    assert work[1] < 2 * work[0]


async def test_D01_a_tick_draws_what_moves_and_nothing_else(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row of the screen a second; test_long_session.py counts the bytes."""
    async with drive(conv=FakeConversation(messages=turns(5))) as d:
        d.conv.set_status("waiting")
        await d.until(lambda: d.app.transcript.quiet)
        for _ in range(3):
            d.app.view.tick()
            await d.settle()
        drawn: list[int] = []
        laid_out: list[object] = []
        panel = d.app.tools_panel
        render, lay_out = panel.render_line, d.app.screen._refresh_layout
        monkeypatch.setattr(panel, "render_line", lambda y: (drawn.append(y), render(y))[1])
        monkeypatch.setattr(
            d.app.screen, "_refresh_layout", lambda *a, **k: (laid_out.append(a), lay_out(*a, **k))
        )
        for _ in range(5):
            d.clock.pass_(1)
            d.app.view.tick()
            await d.settle()
        assert drawn == [] and laid_out == []
