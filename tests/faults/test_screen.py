"""Faults of screens: what blocks, output and emoji do to the terminal, the view and the copy."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import wcwidth

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    TextDeltaEvent,
    TextEndEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import AssistantMessage, OpaqueContent, TextContent, ToolCall
from agent_tui.tui.transcript.viewport import FrameRow
from tests.tui.conftest import Drive, Driven
from tests.tui.transcript.harness import (
    Answer,
    Page,
    TranscriptApp,
    prompt,
    result,
    settled,
    stored_answer,
)
from tests.tui.transcript.replaying import RECORDINGS, played, stored

EVIL = "[/x] [/] \x1b]52;c;UFdO\x1b\\\x1b[2J\x1b]0;x\x07\x1b]8;;http://evil/\x1b\\ok\x9b2J\u202e"
_OURS = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\]8;(?:id=[\w-]*)?;(?:https?://[!-~]*)?\x1b\\",
)
"""What a row of our own may hold: colours, and hyperlinks to printable addresses."""


def poisoned(value: Any) -> Any:
    """The same with every string behind a hostile one; kinds, names and ids stay."""
    if isinstance(value, dict):
        kept = ("type", "id", "tool_use_id", "name", "error_code", "command")
        return {k: v if k in kept else poisoned(v) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return EVIL + value if isinstance(value, str) else value


def blocks() -> Iterator[OpaqueContent | TextContent]:
    """Every block of the recorded answers, poisoned; ids of their own."""
    for number, path in enumerate(sorted(RECORDINGS.glob("answer-*.sse"))):
        text = stored(path).model_dump_json().replace("srvtoolu_", f"srvtoolu_{number}")
        for block in AssistantMessage.model_validate_json(text).content:
            if isinstance(block, OpaqueContent):
                yield OpaqueContent(raw=poisoned(block.raw))
            elif isinstance(block, TextContent):
                yield TextContent(text=EVIL + block.text, wire=poisoned(block.wire))


def written(d: Driven) -> str:
    """The bytes that the screen writes to the terminal for all of its rows."""
    strips = d.app.screen._compositor.render_strips()
    return "\n".join(strip.render(d.app.console) for strip in strips)


@pytest.mark.parametrize("opened", [False, True])
async def test_c08_d14_no_block_of_the_api_is_obeyed_by_the_terminal(
    drive: Drive, opened: bool
) -> None:
    content = list(blocks())
    async with drive(size=(110, 400)) as d:
        if opened:
            d.app.transcript.toggle_tools()
        emit = d.conv.emit
        emit(MessageStartEvent(AssistantMessage(id="m")))
        for index, block in enumerate(content):
            if isinstance(block, OpaqueContent):
                emit(MessageUpdateEvent("m", OpaqueEvent(index, "start", block)))
                emit(MessageUpdateEvent("m", OpaqueEvent(index, "end", block)))
            else:
                emit(MessageUpdateEvent("m", TextDeltaEvent(index, block.text)))
                emit(MessageUpdateEvent("m", TextEndEvent(index, block)))
        emit(MessageEndEvent(AssistantMessage(id="m", content=content, stop_reason=EVIL)))
        await d.shows("ended for a reason")
        await d.until(lambda: d.app.transcript.quiet)
        rest = _OURS.sub("", written(d))
        assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", rest) is None
        for word in ("web search", "advisor", "[/x]"):
            assert word in rest, d.screen


def test_c21_a_progress_bar_is_its_last_frame() -> None:
    page = Page()
    bar = "".join(f"\r{n}% of it" for n in range(10_000)) + "\ndone\n"
    rows = page.apply(
        ToolExecutionStartEvent("c", "shell", {"command": "make"}),
        ToolExecutionUpdateEvent("c", "shell", bar[:60_000]),
    )
    assert len(rows) == 2
    page.apply(ToolExecutionEndEvent("c", "shell", result("c", "shell", bar), False, 100))
    assert page.open()[1:] == ["    9999% of it", "    done"]


async def test_d02_the_view_stays_where_the_user_reads() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 10)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer(f"paragraph {n}") for n in range(100)])
        await settled(pilot)
        transcript.scroll_to(y=transcript.scroll_y - 20)
        await settled(pilot)
        read = transcript.lines_shown
        answer = Answer(transcript)
        for n in range(50):
            answer.event(TextDeltaEvent(0, f"line {n}\n\n"))
        await settled(pilot)
        app.set_focus(None)
        transcript.focus()
        await settled(pilot)
        assert transcript.lines_shown == read
        assert not transcript.following
        assert app.new_lines[-1] > 50
        transcript.scroll_to_end()
        await settled(pilot)
        assert "line 49" in transcript.lines_shown
        assert app.new_lines[-1] == 0


TABLE = "| a | b |\n| --- | :-: |\n| 漢字 | one |\n| ⚠️ x | two |\n"


def test_d08_a_table_is_readable_at_every_step_and_after_a_resume() -> None:
    page = Page(width=40)
    page.apply(MessageStartEvent(page.message))
    for end in range(1, len(TABLE) + 1):
        rows = page.stream(TextDeltaEvent(0, TABLE[end - 1]))
        seen = "".join(rows).replace(" ", "")
        for word in re.findall(r"[^\W_]+", TABLE[:end]):
            assert word in seen, (rows, word)
    message = page.message.model_copy(update={"content": [TextContent(text=TABLE)]})
    rows = page.apply(MessageEndEvent(message))
    assert rows == Page(width=40).load(message)
    assert [row.index("│") for row in rows if "│" in row] and "─┼─" in rows[1]


def test_d08_twelve_columns_in_forty_cells_become_keys_and_values() -> None:
    head = " | ".join(f"column{n}" for n in range(12))
    table = f"| {head} |\n|{'---|' * 12}\n| {' | '.join(f'value{n}' for n in range(12))} |\n"
    rows = Page(width=40).load(stored_answer(table))
    assert rows == [f"column{n}: value{n}" for n in range(12)]


async def test_d16_emoji_do_not_move_the_border_beside_them(drive: Drive) -> None:
    """Measured as a terminal does that adds up the code points of a sequence."""
    emoji = "❤️ ⚠️ 👨‍👩‍👧 🇫🇷 👍🏽 1️⃣ ✅"
    async with drive(size=(120, 24)) as d:
        d.app.transcript._layout.look.whole_emoji = False
        for n in range(6):
            d.conv.emit(MessageStartEvent(prompt(f"{emoji} {'x' * n}{emoji}")))
        await d.shows("xxxxx")
        borders = set()
        for row in d.screen.split("\n")[2:14]:
            assert "│" in row
            left = row[: row.index("│")]
            borders.add(sum(max(0, wcwidth.wcwidth(char)) for char in left))
        assert len(borders) == 1


async def test_d17_copying_code_gives_its_lines_without_wraps_and_bars() -> None:
    code = "def total(prices):\n    return sum(price for price in prices if price is not None)\n"
    app = TranscriptApp()
    async with app.run_test(size=(34, 16)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer(f"- so:\n\n  ```python\n{code}  ```\n"),
                         stored_answer(f"```python\n{code}```")])  # fmt: skip
        await settled(pilot)
        assert max(len(row) for row in transcript.lines_shown) <= 33
        frame = transcript._view.frame
        rows = [row for row in frame if row.spot.block == 1]
        text = "".join(row.line.copied() + ("\n" if row.line.join is None else row.line.join)
                       for row in _below_gap(rows))  # fmt: skip
        assert text == code


def _below_gap(rows: list[FrameRow]) -> list[FrameRow]:
    return [row for row in rows if row.line.segments]


async def test_d20_resizing_while_text_streams_loses_nothing() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(120, 40)) as pilot:
        transcript = app.transcript
        answer = Answer(transcript)
        words = [f"word{n}" for n in range(400)]
        sizes = [(60, 12), (150, 50), (120, 40), (33, 9)] * 5
        for n, size in enumerate(sizes):
            for word in words[20 * n : 20 * n + 20]:
                answer.event(TextDeltaEvent(0, word + ("\n\n" if word.endswith("9") else " ")))
            await pilot.resize_terminal(*size)
        text = "".join(w + ("\n\n" if w.endswith("9") else " ") for w in words)
        answer.event(TextEndEvent(0, TextContent(text=text)))
        answer.end([TextContent(text=text)])
        await pilot.resize_terminal(50, 200)
        await settled(pilot)
        assert " ".join(transcript.lines_shown).split() == words


async def test_d23_a_long_session_lays_out_what_is_seen() -> None:
    """Opening 500 messages costs a few screens: the rest waits until it is looked at."""
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        long = json.dumps([{"text": "x" * 50, "n": n} for n in range(40)], indent=2)
        transcript.load([stored_answer(f"# {n}\n\n```json\n{long}\n```\n") for n in range(500)])
        await settled(pilot)
        assert transcript.lines_shown[-1].strip()
        made = [block for block in transcript._layout.blocks if block.parts]
        assert len(made) <= 5
        assert len(transcript._layout._cache) <= 3 * 24


def test_d14_brackets_in_a_call_are_only_brackets() -> None:
    """Nothing is parsed, nothing dies."""
    page = Page(width=60)
    call = ToolCall(id="c", name="[/]", arguments={"[red]": "[/bold]"})
    rows = page.load(AssistantMessage(content=[call]), result("c", "[/]", "see /tmp/[/bad]"))
    assert rows == ["✓ [/]  [red]=[/bold]   1 line"]
    assert "    see /tmp/[/bad]" in page.open()


def test_recordings_are_played_whole() -> None:
    """What the tests above replay are whole answers."""
    for path in RECORDINGS.glob("answer-*.sse"):
        *_, end = played(path)
        assert end.message.stop_reason in ("end_turn", "tool_use")
