"""The widget: streaming, following, folding, selecting, resizing; idle costs no timer."""

from typing import Any

import pytest
from textual.events import MouseScrollUp
from textual.geometry import Offset

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    TextDeltaEvent,
    TextEndEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import AssistantMessage, TextContent, ToolCall
from agent_tui.conversation.events import NoticeEvent
from agent_tui.tui.glyphs import ASCII
from agent_tui.tui.transcript import Transcript

from .harness import Answer, TranscriptApp, prompt, result, settled, stored_answer

PARAGRAPHS = "\n\n".join(f"paragraph {number}" for number in range(60))


async def test_events_come_to_the_screen_in_their_order() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.apply(MessageStartEvent(prompt("hello")))
        answer = Answer(transcript)
        for piece in ("Some ", "**bold", "** text.\n\n- a", "\n- b"):
            answer.event(TextDeltaEvent(0, piece))
        await settled(pilot)
        assert transcript.lines_shown == ["❯ hello", "", "Some bold text.", "", "• a", "• b"]


async def test_streamed_and_loaded_text_look_the_same() -> None:
    text = "# T\n\n```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend"
    app = TranscriptApp()
    async with app.run_test(size=(40, 30)) as pilot:
        transcript = app.transcript
        answer = Answer(transcript)
        for at in range(0, len(text), 3):
            answer.event(TextDeltaEvent(0, text[at : at + 3]))
            if at % 9 == 0:
                await settled(pilot)
        answer.event(TextEndEvent(0, TextContent(text=text)))
        answer.end([TextContent(text=text)])
        await settled(pilot)
        streamed = [row.line.segments for row in transcript._view.frame]
        transcript.clear()
        transcript.load([stored_answer(text)])
        await settled(pilot)
        assert [row.line.segments for row in transcript._view.frame] == streamed


async def test_it_follows_the_end_until_the_user_scrolls() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer(PARAGRAPHS)])
        await settled(pilot)
        assert transcript.following
        assert transcript.lines_shown[-1] == "paragraph 59"
        transcript.scroll_relative(y=-10)
        await pilot.pause()
        assert not transcript.following
        before = transcript.lines_shown
        answer = Answer(transcript)
        answer.event(TextDeltaEvent(0, "new\n\nlines\n\n"))
        await settled(pilot)
        assert transcript.lines_shown == before
        assert app.new_lines[-1] == 4, "a gap, two lines and the gap between them"
        transcript.scroll_to_end()
        await settled(pilot)
        assert transcript.following
        assert transcript.lines_shown[-1] == "lines"
        assert app.new_lines[-1] == 0


async def test_the_wheel_and_the_keys_scroll() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer(PARAGRAPHS)])
        transcript.focus()
        await settled(pilot)
        rows = transcript.lines_shown
        await pilot._post_mouse_events([MouseScrollUp], transcript, (5, 5))
        await pilot.pause()
        assert transcript.lines_shown[2:] != rows[2:]
        assert not transcript.following
        await pilot.press("end")
        assert transcript.lines_shown == rows
        await pilot.press("pageup")
        assert transcript.lines_shown == PARAGRAPHS.split("\n")[-24:-12]
        await pilot.press("home")
        assert transcript.lines_shown[0] == "paragraph 0"
        assert transcript.scroll_offset.y == 0
        await pilot.press("pagedown")
        assert transcript.lines_shown == PARAGRAPHS.split("\n")[12:24]


async def test_no_timer_and_no_worker_run_when_nothing_moves() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        answer = Answer(transcript)
        answer.event(TextDeltaEvent(0, "text"))
        await settled(pilot)
        assert not transcript._timers
        assert not [worker for worker in app.workers if worker.is_running]
        transcript.apply(ToolExecutionStartEvent("c", "shell", {"command": "x"}))
        await settled(pilot)
        assert len(transcript._timers) == 1
        done = ToolExecutionEndEvent("c", "shell", result("c", "shell", "ok"), False, 10)
        transcript.apply(done)
        await settled(pilot)
        assert not transcript._timers


async def test_a_running_call_shows_its_time() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.apply(ToolExecutionStartEvent("c", "shell", {"command": "x"}))
        await settled(pilot)
        app.clock.now += 75
        transcript._tick()
        assert transcript.lines_shown[0].endswith("1 min 15 s")


def _with_tool(transcript: Transcript) -> None:
    call = ToolCall(id="c1", name="shell", arguments={"command": "ls"})
    transcript.load(
        [
            prompt("look"),
            AssistantMessage(content=[call], stop_reason="tool_use"),
            result("c1", "shell", "one\ntwo"),
            stored_answer("done"),
        ]
    )


FOLDED = ["❯ look", "", "✓ shell  ls   2 lines", "", "done"]
OPEN = ["❯ look", "", "✓ shell  ls   2 lines", "    one", "    two", "", "done"]


async def test_a_click_opens_and_folds_a_call_and_says_so() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        _with_tool(transcript)
        await settled(pilot)
        app.set_focus(None)
        assert transcript.lines_shown == FOLDED
        await pilot.click(transcript, offset=(5, 2))
        assert transcript.lines_shown == OPEN
        assert app.opened == ["c1"]
        assert app.focused is not transcript
        await pilot.click(transcript, offset=(5, 2))
        assert transcript.lines_shown == FOLDED


async def test_a_click_elsewhere_opens_nothing() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        _with_tool(transcript)
        await settled(pilot)
        for row in (0, 1, 4, 8):
            await pilot.click(transcript, offset=(5, row))
        assert transcript.lines_shown == FOLDED
        assert app.opened == []


async def test_keys_open_the_block_under_the_cursor() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        _with_tool(transcript)
        transcript.focus()
        await settled(pilot)
        await pilot.press("n", "enter")
        assert transcript.lines_shown == OPEN
        assert app.opened == ["c1"]


async def test_all_calls_open_and_fold_together() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        _with_tool(transcript)
        await settled(pilot)
        assert transcript.toggle_tools() is True
        assert transcript.lines_shown == OPEN
        assert transcript.toggle_tools() is False
        assert transcript.lines_shown == FOLDED


async def test_opening_far_above_moves_nothing_above_it() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer(PARAGRAPHS)])
        _with_tool(transcript)
        await settled(pilot)
        before = transcript.lines_shown
        line = before.index("✓ shell  ls   2 lines")
        await pilot.click(transcript, offset=(5, line))
        assert transcript.lines_shown[: line + 1] == before[: line + 1]


async def test_selected_text_is_source_text() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(32, 12)) as pilot:
        transcript = app.transcript
        text = "- a list item that is longer than one row\n\n```py\nx = 1\n```"
        transcript.load([stored_answer(text)])
        await settled(pilot)
        assert transcript.lines_shown == ["• a list item that is longer", "  than one row", "",
                                          "  x = 1"]  # fmt: skip
        await _drag(pilot, transcript, (3, 0), (8, 3))
        assert transcript.text_of_selection == "a list item that is longer than one row\n\nx = 1"
        app.screen.clear_selection()
        app.screen._select_all_in_widget(transcript)
        assert transcript.text_of_selection == "- a list item that is longer than one row\n\nx = 1"


async def test_a_selection_stays_on_its_words_while_text_streams() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(30, 12)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer("first words\n\nsecond words")])
        answer = Answer(transcript)
        await settled(pilot)
        await _drag(pilot, transcript, (7, 0), (6, 2))
        assert transcript.text_of_selection == "words\n\nsecond"
        answer.event(TextDeltaEvent(0, PARAGRAPHS))
        await settled(pilot)
        assert transcript.text_of_selection == "words\n\nsecond"


async def test_a_very_long_selection_copies_the_source() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        text = "\n\n".join(f"paragraph {number}" for number in range(3000))
        transcript.load([stored_answer(text)])
        await settled(pilot)
        app.screen._select_all_in_widget(transcript)
        lines = [line for line in transcript.text_of_selection.split("\n") if line]
        assert lines == [line for line in text.split("\n") if line]


@pytest.mark.parametrize("width", [20, 60, 120])
async def test_resizing_keeps_all_text(width: int) -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 20)) as pilot:
        transcript = app.transcript
        text = " ".join(f"w{number}" for number in range(30))
        transcript.load([stored_answer(text)])
        await settled(pilot)
        await pilot.resize_terminal(width, 20)
        await settled(pilot)
        assert " ".join(transcript.lines_shown) == text
        assert all(len(row) <= width - 3 for row in transcript.lines_shown)


async def test_resizing_while_text_streams_loses_nothing() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(120, 40)) as pilot:
        transcript = app.transcript
        answer = Answer(transcript)
        words = [f"w{number}" for number in range(120)]
        for number, word in enumerate(words):
            answer.event(TextDeltaEvent(0, word + " "))
            if number % 20 == 0:
                await pilot.resize_terminal(60 + number, 12 + number // 4)
        await settled(pilot)
        assert " ".join(transcript.lines_shown).split() == words


async def test_reading_position_survives_a_resize() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer("\n\n".join(f"{n} " + "word " * 40 for n in range(50)))])
        await settled(pilot)
        transcript.scroll_relative(y=-60)
        await pilot.pause()
        heading = next(row for row in transcript.lines_shown if row[:2].strip().isdigit())
        number = heading.split()[0]
        await pilot.resize_terminal(35, 12)
        await settled(pilot)
        assert any(
            abs(int(row.split()[0]) - int(number)) <= 1
            for row in transcript.lines_shown
            if row[:2].strip().isdigit()
        )


async def test_another_theme_gives_other_colours() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.load([prompt("hello")])
        await settled(pilot)
        dark = transcript.render_line(0)._segments
        app.theme = "light"
        await settled(pilot)
        light = transcript.render_line(0)._segments
        assert [s.text for s in dark] == [s.text for s in light]
        assert [s.style for s in dark] != [s.style for s in light]


async def test_ascii_glyphs() -> None:
    app = TranscriptApp(glyphs=ASCII)
    async with app.run_test(size=(40, 20)) as pilot:
        transcript = app.transcript
        _with_tool(transcript)
        transcript.load(
            [stored_answer("- a\n- [x] b\n\n> q\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---")]
        )
        transcript.add_notice("error", "failed")
        transcript.add_separator("rest")
        await settled(pilot)
        assert all(row.isascii() for row in transcript.lines_shown), transcript.lines_shown


async def test_the_same_commands_for_notices_and_answers() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.add_notice("warning", "careful")
        transcript.apply(NoticeEvent("error", "broken"))
        transcript.add_markdown("**help**")
        transcript.add_separator("new")
        await settled(pilot)
        assert transcript.lines_shown[:4] == ["! careful", "✗ broken", "", "help"]
        assert transcript.source_text() == "careful\n\nbroken\n\nhelp\n\nnew".replace(
            "help", "**help**"
        )
        transcript.clear()
        assert transcript.lines_shown == []
        assert transcript.source_text() == ""


async def test_what_was_applied_before_mounting_is_shown() -> None:
    app = TranscriptApp()
    transcript = Transcript(clock=app.clock)
    transcript.apply(NoticeEvent("info", "early"))
    async with app.run_test(size=(40, 12)) as pilot:
        await app.transcript.remove()
        await app.mount(transcript)
        await settled(pilot)
        assert transcript.lines_shown == ["· early"]


async def test_hidden_thinking_comes_back() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        message = AssistantMessage.model_validate(
            {
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "yes"},
                ]
            }
        )
        transcript.load([prompt("q"), message])
        transcript.set_thinking_mode("hidden")
        await settled(pilot)
        assert transcript.lines_shown == ["❯ q", "", "yes"]
        transcript.set_thinking_mode("folded")
        assert transcript.lines_shown == ["❯ q", "", "▸ thought", "yes"]
        assert transcript.toggle_thinking() == "open"
        assert transcript.lines_shown == ["❯ q", "", "▾ thought", "  hm", "yes"]


async def test_a_long_history_lays_out_a_screenful() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        history: list[Any] = []
        for number in range(500):
            history += [prompt(f"question {number}"), stored_answer(PARAGRAPHS)]
        transcript.load(history)
        await settled(pilot)
        blocks = transcript._layout.blocks
        laid = sum(part.lines is not None for block in blocks for part in block.parts)
        assert laid < 30
        assert transcript.lines_shown[-1] == "paragraph 59"


async def test_no_raw_control_reaches_a_strip() -> None:
    evil = "\x1b]52;c;UFdO\x07\x1b[2J\x9b31m\x00\u202e[/x] [/]"
    app = TranscriptApp()
    async with app.run_test(size=(60, 30)) as pilot:
        transcript = app.transcript
        transcript.apply(MessageStartEvent(prompt(evil)))
        transcript.apply(MessageEndEvent(prompt(evil)))
        answer = Answer(transcript)
        for char in evil * 3:
            answer.event(TextDeltaEvent(0, char))
        transcript.add_notice("error", evil)
        transcript.add_markdown(f"# {evil}\n\n`{evil}`\n\n```\n{evil}\n```")
        transcript.add_separator(evil, evil)
        await settled(pilot)
        for y in range(30):
            text = transcript.render_line(y).text
            assert not [c for c in text if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]


async def _drag(pilot: Any, widget: Any, start: tuple[int, int], end: tuple[int, int]) -> None:
    left, top = widget.content_region.offset
    await pilot.mouse_down(offset=Offset(left + start[0] - 1, top + start[1]))
    await pilot.hover(offset=Offset(left + end[0] - 1, top + end[1]))
    await pilot.mouse_up(offset=Offset(left + end[0] - 1, top + end[1]))
    await pilot.pause()


async def test_closed_code_gets_its_colours() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        transcript = app.transcript
        transcript.load(
            [stored_answer("```python\nreturn 1\n```\n\n- ```python\n  return 2\n  ```")]
        )
        await settled(pilot)
        keyword = transcript._layout.look.palette["code-keyword"].color
        for y in (0, 2):
            segments = transcript._view.frame[y].line.segments
            [style] = [s.style for s in segments if s.text == "return"]
            assert style is not None and style.color == keyword


async def test_an_event_that_cannot_be_shown_costs_itself_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        type = "notice"

    app = TranscriptApp()
    async with app.run_test(size=(70, 12)) as pilot:
        transcript = app.transcript
        transcript.apply(Broken())
        transcript.apply(NoticeEvent("info", "and on it goes"))
        await settled(pilot)
        assert transcript.lines_shown == [
            "✗ something that came could not be shown; the log file says what",
            "· and on it goes",
        ]
    assert "notice" in caplog.text


async def test_a_text_that_cannot_be_laid_out_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of the parser")

    monkeypatch.setattr("agent_tui.tui.transcript.markdown._Writer.write", broken)
    app = TranscriptApp()
    async with app.run_test(size=(40, 12)) as pilot:
        app.transcript.load([stored_answer("some **text**")])
        await settled(pilot)
        assert app.transcript.lines_shown == ["some **text**"]


@pytest.mark.parametrize("theme", ["ansi", "high-contrast", "light", "textual-dark"])
async def test_every_theme_can_be_painted(theme: str) -> None:
    app = TranscriptApp(theme=theme)
    async with app.run_test(size=(60, 30)) as pilot:
        _with_tool(app.transcript)
        app.transcript.load([stored_answer("# T\n\n`c` **b**\n\n```py\nx = 1\n```\n\n> q")])
        await settled(pilot)
        assert "❯" in app.export_screenshot()


async def test_without_colour_nothing_is_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = TranscriptApp(theme="ansi")
    async with app.run_test(size=(60, 30)) as pilot:
        transcript = app.transcript
        _with_tool(transcript)
        transcript.load([stored_answer("# T\n\n`c` **b**\n\n```py\nx = 1\n```")])
        await settled(pilot)
        for strip in transcript.render_lines(transcript.size.region):
            for segment in strip:
                color = segment.style.color if segment.style else None
                if color is not None and color.triplet is not None:
                    assert len(set(color.triplet)) == 1, "only shades of grey"


async def test_only_rows_that_changed_are_painted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 30)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer(PARAGRAPHS)])
        transcript.apply(ToolExecutionStartEvent("c", "shell", {"command": "x"}))
        await settled(pilot)
        regions: list[Any] = []
        real = transcript.refresh
        monkeypatch.setattr(
            transcript, "refresh", lambda *area, **more: regions.extend(area) or real(*area, **more)
        )
        app.clock.now += 3
        transcript._tick()
        assert [(region.y, region.height) for region in regions] == [(29, 1)]


async def test_it_follows_on_when_its_height_changes() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 30)) as pilot:
        transcript = app.transcript
        transcript.load([stored_answer(PARAGRAPHS)])
        await settled(pilot)
        for height in (12, 30, 8):
            await pilot.resize_terminal(60, height)
            await settled(pilot)
            assert transcript.following
            assert transcript.lines_shown[-1] == "paragraph 59"
            assert len(transcript.lines_shown) == height


async def test_events_of_a_run_that_was_cleared_away_do_no_harm() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)) as pilot:
        transcript = app.transcript
        answer = Answer(transcript)
        answer.event(TextDeltaEvent(0, "before"))
        transcript.apply(ToolExecutionStartEvent("c", "shell", {"command": "x"}))
        await settled(pilot)
        transcript.clear()
        answer.event(TextDeltaEvent(0, "after"))
        done = ToolExecutionEndEvent("c", "shell", result("c", "shell", "ok"), False, 10)
        transcript.apply(done)
        await settled(pilot)
        assert transcript.lines_shown[0] == "after"
