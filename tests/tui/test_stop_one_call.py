"""One call is chosen in the side panel and stopped alone."""

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    ToolCallDeltaEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, text_content
from tests.tui.conftest import Drive, Driven


def start(d: Driven, *ids: str) -> None:
    d.conv.set_status("tools")
    d.conv.stoppable |= set(ids)
    for call_id in ids:
        d.conv.emit(ToolExecutionStartEvent(call_id, "shell", {"command": f"run {call_id}"}))


def end(d: Driven, call_id: str) -> None:
    d.conv.stoppable.discard(call_id)
    result = ToolResultMessage(tool_call_id=call_id)
    d.conv.emit(ToolExecutionEndEvent(call_id, "shell", result, False, 5))


async def test_f5_chooses_the_first_call_that_runs_and_x_stops_it(drive: Drive):
    async with drive(size=(140, 30)) as d:
        start(d, "a", "b", "c")
        end(d, "a")
        await d.shows("F5 calls")
        await d.press("f5")
        assert d.app.tools_panel.chosen_id == "b"
        await d.shows("x stop this call")
        await d.press("x")
        assert d.conv.called("abort_tool") == [("b",)]
        await d.press("down", "x", "down", "up", "up", "up", "x")
        assert d.conv.called("abort_tool") == [("b",), ("c",), ("a",)]
        await d.shows("Only a call that has not ended can be stopped.")
        assert d.conv.called("abort") == []


async def test_esc_goes_back_and_stops_nothing(drive: Drive):
    async with drive(size=(140, 30)) as d:
        start(d, "a")
        await d.type("a draft")
        await d.press("f5", "z", "escape")
        assert d.app.composer.has_focus and d.draft == "a draft"
        assert d.conv.called("abort") == d.conv.called("abort_tool") == []
        await d.press("f5", "f5")
        assert d.app.composer.has_focus


async def test_a_hidden_panel_is_shown_for_it_and_hidden_again(drive: Drive):
    async with drive(size=(80, 24)) as d:
        start(d, "a")
        assert not d.app.panel.display
        await d.press("f6", "f5")
        assert d.app.panel.display and d.app.tools_panel.has_focus, "also from another tab"
        await d.press("x")
        assert d.conv.called("abort_tool") == [("a",)]
        await d.press("escape")
        assert not d.app.panel.display and d.app.composer.has_focus


async def test_the_chosen_call_is_in_sight(drive: Drive):
    async with drive(size=(140, 20)) as d:
        start(d, *(f"c{n}" for n in range(40)))
        await d.press("f5")
        await d.shows("run c0")
        for _ in range(25):
            await d.press("down")
        await d.shows("run c25")
        end(d, "c39")
        await d.settle()
        assert "run c25" in d.screen, "it does not follow the end meanwhile"


async def test_no_call_at_all(drive: Drive):
    async with drive(size=(140, 30)) as d:
        await d.press("f5", "up", "x", "down", "escape")
        assert d.app.composer.has_focus and d.conv.called("abort_tool") == []
        assert "F5 calls" not in d.screen


async def test_x_on_a_call_in_the_transcript_stops_it_too(drive: Drive):
    async with drive(size=(140, 30)) as d:
        start(d, "a", "b")
        await d.shows("run b")
        await d.press("f8", "k", "x")
        assert d.conv.called("abort_tool") == [("a",)]
        await d.press("j", "x")
        assert d.conv.called("abort_tool") == [("a",), ("b",)]


async def test_when_the_last_call_is_stopped_the_keys_go_back_to_the_composer(drive: Drive):
    async with drive(size=(140, 30)) as d:
        start(d, "a", "b")
        await d.press("f5", "x")
        end(d, "a")
        await d.settle()
        assert d.app.tools_panel.has_focus, "one more can be stopped"
        await d.press("down", "x")
        end(d, "b")
        await d.until(lambda: d.app.composer.has_focus, "back")
        await d.type("xargs")
        assert d.draft == "xargs"


async def test_when_the_run_ends_the_keys_go_back_and_the_panel_goes(drive: Drive):
    async with drive(size=(80, 24)) as d:
        start(d, "a")
        await d.press("f5")
        d.conv.emit(AgentEndEvent([], "stopped"))
        await d.until(lambda: d.app.composer.has_focus, "back")
        assert not d.app.panel.display


async def test_with_no_call_to_stop_what_is_typed_in_the_panel_is_the_draft(drive: Drive):
    async with drive(size=(140, 30)) as d:
        await d.press("f5")
        assert d.app.tools_panel.has_focus
        await d.type("x marks")
        assert d.draft == "x marks" and d.app.composer.has_focus


def writes(d: Driven, call_id: str = "a") -> AssistantMessage:
    """A call is being written: two of its arguments have begun."""
    message = AssistantMessage(id="m1", content=[])
    begun = ToolCall(id=call_id, name="write", complete=False)
    d.conv.set_status("streaming")
    d.conv.stoppable.add(call_id)
    d.conv.emit(MessageStartEvent(message))
    d.conv.emit(MessageUpdateEvent("m1", ToolCallStartEvent(0, begun)))
    partial = [("path", "poem.txt"), ("content", "verse one\nverse tw")]
    d.conv.emit(MessageUpdateEvent("m1", ToolCallDeltaEvent(0, "...", partial)))
    cut = begun.model_copy(
        update={
            "complete": True,
            "cut_arguments": '{"path": "poem.txt", "content": "verse one\\nverse tw',
        }
    )
    return message.model_copy(update={"content": [cut], "stop_reason": "tool_use"})


def cut_result(why: str) -> ToolResultMessage:
    text = f"Not run: the user stopped this call before its arguments were complete{why}\nSo far"
    return ToolResultMessage(tool_call_id="a", content=text_content(text), is_error=True)


async def test_a_call_that_is_being_written_is_stopped_with_a_reason(drive: Drive):
    async with drive(size=(140, 30)) as d:
        start(d, "whole")
        ended = writes(d)
        await d.shows("arguments streaming")
        await d.type("a draft")
        await d.press("f5", "r")
        await d.shows("why stop it?")
        assert d.app.composer.has_focus and d.conv.called("abort_tool") == []
        await d.type("use prose")
        await d.press("enter")
        assert d.conv.called("abort_tool") == [("a", "use prose")], "not the one that is whole"
        await d.shows("That call will not run.")
        assert d.draft == "a draft", "it comes back"
        d.conv.emit(MessageEndEvent(ended))
        d.conv.emit(ToolExecutionStartEvent("a", "write", {}))
        result = cut_result(": use prose")
        d.conv.emit(ToolExecutionEndEvent("a", "write", result, True, 0))
        await d.shows("write  poem.txt   stopped while it was written: use prose")
        panel = [line for line in d.screen.splitlines() if "⊘ write" in line]
        assert len(panel) == 1 and "poem.txt" in panel[0].partition("│")[2]
        assert "verse one" not in d.screen
        await d.press("f8", "enter")
        await d.shows("+verse one")
        assert "+verse tw" in d.screen and "So far" not in d.screen


async def test_it_looks_the_same_in_a_session_that_is_opened_again(drive: Drive):
    async with drive(size=(140, 30)) as d:
        ended = writes(d)
        stored = [ended.model_copy(update={"id": "m0"}), cut_result(".")]
        d.app.transcript.clear()
        d.app.transcript.load(stored)
        await d.shows("write  poem.txt   stopped while it was written")
        assert "use prose" not in d.screen
        await d.press("f8", "k", "enter")
        await d.shows("+verse one")


async def test_x_in_the_transcript_stops_a_call_that_is_being_written(drive: Drive):
    async with drive(size=(140, 30)) as d:
        writes(d)
        await d.shows("arguments streaming")
        await d.press("f8", "k", "x")
        assert d.conv.called("abort_tool") == [("a",)]
        await d.press("r")
        await d.shows("why stop it?")
        await d.press("escape")
        assert d.conv.called("abort_tool") == [("a",)]


async def test_a_call_that_will_not_run_shows_it_before_its_answer_has_ended(drive: Drive):
    async with drive(size=(140, 30)) as d:
        writes(d)
        await d.shows("arguments streaming")
        await d.press("f5", "x")
        await d.shows("That call will not run.")
        await d.until(lambda: "arguments" not in d.screen, "neither in the transcript nor beside")
        rows = [row.partition("│") for row in d.screen.splitlines() if "⊘ write" in row]
        beside = [row for _, _, row in rows if "⊘ write" in row and "not run" in row]
        assert len(beside) == 1
        assert any("⊘ write" in row and "not run" in row for row, _, _ in rows)


async def test_times_leave_a_cell_to_the_scrollbar(drive: Drive):
    async with drive(size=(140, 12)) as d:
        for number in range(20):
            start(d, f"c{number}")
        await d.until(lambda: d.app.tools_panel.show_vertical_scrollbar)
        d.app.view.tick()
        await d.settle()
        panel = d.app.tools_panel
        assert panel.scrollable_content_region.width == panel.size.width - 1
        for y in range(panel.size.height):
            row = panel.render_line(y).text[: panel.scrollable_content_region.width]
            assert row.rstrip().endswith(" s") and row.endswith(" "), row
