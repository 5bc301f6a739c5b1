"""Folding for all and for one: a program's calls stay short where all are opened at once."""

from typing import Any

import pytest

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    ToolCallEndEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    BashExecutionMessage,
    OpaqueContent,
    ToolCall,
)
from agent_tui.tui.transcript import Transcript
from agent_tui.tui.transcript.blocks import Modes
from agent_tui.tui.transcript.program_tree import NESTED
from agent_tui.tui.transcript.tool_blocks import ToolBlock

from .harness import Answer, TranscriptApp, result, settled

RAW = {"type": "server_tool_use", "id": "srv1", "name": "code_execution", "input": {}}
CALLER = {"type": "code_execution_20260120", "tool_id": "srv1"}
CODE = {**RAW, "input": {"code": "for n in range(60):\n    await read(path=f'{n}')\n"}}


def a_program(transcript: Transcript, *, calls: int, lines: int) -> None:
    """A program whose calls have all read so many lines."""
    answer = Answer(transcript)
    answer.event(OpaqueEvent(0, "end", OpaqueContent(raw=CODE)))
    for number in range(calls):
        arguments = {"path": f"{number}.txt"}
        call = ToolCall(id=f"r{number}", name="read", arguments=arguments, caller=CALLER)
        answer.event(ToolCallEndEvent(number + 1, call))
        transcript.apply(ToolExecutionStartEvent(call.id, "read", arguments, CALLER))
        text = "\n".join(f"{number}-{line}" for line in range(lines))
        made = result(call.id, "read", text)
        transcript.apply(ToolExecutionEndEvent(call.id, "read", made, False, 100, CALLER))
    content = {"type": "code_execution_result", "stdout": "done", "return_code": 0}
    raw = {"type": "code_execution_tool_result", "tool_use_id": "srv1", "content": content}
    transcript.apply(
        MessageUpdateEvent(answer.message.id, OpaqueEvent(99, "end", OpaqueContent(raw=raw)))
    )
    transcript.apply(AgentEndEvent([]))


def rows(transcript: Transcript) -> list[str]:
    return [row.rstrip() for row in transcript.lines_shown]


async def test_all_opened_at_once_leaves_the_calls_of_a_program_short() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 40)) as pilot:
        a_program(app.transcript, calls=60, lines=398)
        transcript = await settled(pilot)
        transcript.toggle_tools()
        await settled(pilot)
        assert transcript.virtual_size.height <= 60 * (NESTED + 2) + 10
        assert rows(transcript).count("   │     … 394 more lines") >= 4


async def test_the_rest_opens_by_a_click_on_it_and_folds_by_one_on_the_line() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 60)) as pilot:
        a_program(app.transcript, calls=3, lines=30)
        transcript = await settled(pilot)
        transcript.toggle_tools()
        await settled(pilot)
        shown = rows(transcript)
        more = next(n for n, row in enumerate(shown) if row.endswith("26 more lines"))
        assert shown[more - 1].endswith(" 0-3")
        await pilot.click(transcript, offset=(10, more))
        shown = rows(transcript)
        assert shown[more].endswith(" 0-4") and shown[more + 25].endswith(" 0-29")
        assert sum(row.endswith("26 more lines") for row in shown) == 2, "the others stay short"
        await pilot.click(transcript, offset=(10, more - NESTED - 1))
        shown = rows(transcript)
        assert not any(" 0-1" in row for row in shown), "the line folds it"


async def test_enter_on_a_short_call_opens_the_whole_of_it() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 60)) as pilot:
        a_program(app.transcript, calls=1, lines=30)
        transcript = await settled(pilot)
        transcript.focus()
        transcript.toggle_tools()
        await settled(pilot)
        await pilot.press("n", "n", "enter")  # the program, then its call
        assert any(row.endswith(" 0-29") for row in rows(transcript))
        transcript.toggle_tools()
        transcript.toggle_tools()
        assert any(row.endswith("26 more lines") for row in rows(transcript)), "for all anew"


async def test_a_call_opened_alone_is_whole() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 60)) as pilot:
        a_program(app.transcript, calls=1, lines=30)
        transcript = await settled(pilot)
        transcript.focus()
        await pilot.press("n", "enter", "n", "enter")
        assert any(row.endswith(" 0-29") for row in rows(transcript))
        assert not any("more line" in row for row in rows(transcript))


async def test_a_short_result_is_not_cut() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 60)) as pilot:
        a_program(app.transcript, calls=1, lines=NESTED)
        transcript = await settled(pilot)
        transcript.toggle_tools()
        shown = rows(transcript)
        assert any(row.endswith(f" 0-{NESTED - 1}") for row in shown)
        assert not any("more line" in row for row in shown)


async def test_earlier_lines_of_a_command_open_by_a_click_on_the_words() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 60)) as pilot:
        made: dict[str, Any] = {
            "command": "seq 30", "output": "".join(f"{n}\n" for n in range(30)), "exit_code": 0
        }  # fmt: skip
        app.transcript.load([BashExecutionMessage(**made)])
        transcript = await settled(pilot)
        assert "    … 18 earlier lines" in rows(transcript)
        await pilot.click(transcript, offset=(10, rows(transcript).index("    … 18 earlier lines")))
        assert "    0" in rows(transcript) and "    29" in rows(transcript)


def many_calls(count: int) -> list[Any]:
    """A stored history of so many calls with an answer of three lines each."""
    out: list[Any] = []
    for start in range(0, count, 100):
        numbers = range(start, start + 100)
        calls = [ToolCall(id=f"c{n}", name="lookup", arguments={"n": n}) for n in numbers]
        out.append(AssistantMessage(content=[*calls]))
        out += [result(f"c{n}", "lookup", f"one {n}\ntwo {n}\nthree {n}") for n in numbers]
    return out


async def test_thousands_of_blocks_are_opened_in_small_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.load(many_calls(3_000))
        await settled(pilot)
        made = most = 0
        make, slice_ = ToolBlock.make, transcript._folding._slice

        def counted(block: ToolBlock, modes: Modes) -> None:
            nonlocal made, most
            made += 1
            most = max(most, made)
            make(block, modes)

        def one_step() -> None:
            nonlocal made
            made = 0
            slice_()

        monkeypatch.setattr(ToolBlock, "make", counted)
        monkeypatch.setattr(transcript._folding, "_slice", one_step)
        monkeypatch.setattr("agent_tui.tui.transcript.folding.SLICE_S", -1.0)
        transcript.toggle_tools()
        assert 0 < most <= 2, "more than a step's worth was made without a rest"
        await settled(pilot)
        assert 0 < most <= 2
        blocks = transcript._layout.blocks
        assert len(blocks) == 3_000
        assert all(len(block.parts) > 1 for block in blocks)


async def test_what_is_seen_opens_at_once_and_stays_in_its_place() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.load(many_calls(1_000))
        await settled(pilot)
        transcript.scroll_to(y=transcript.max_scroll_y // 2)
        await settled(pilot)
        top = transcript.lines_shown[0]
        transcript.toggle_tools()
        assert transcript.lines_shown[0] == top
        assert sum("three" in line for line in transcript.lines_shown) >= 4
        await settled(pilot)
        assert transcript.lines_shown[0] == top
        transcript.toggle_tools()
        await settled(pilot)
        assert transcript.lines_shown[0] == top
        assert not any("three" in line for line in transcript.lines_shown)


async def test_the_last_choice_counts_while_blocks_are_still_made() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        transcript.load(many_calls(1_000))
        await settled(pilot)
        transcript.toggle_tools()
        transcript.toggle_tools()
        await settled(pilot)
        assert all(len(block.parts) == 1 for block in transcript._layout.blocks)
