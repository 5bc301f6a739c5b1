"""One call is chosen in the side panel and stopped alone."""

from agent_tui.agent.events import AgentEndEvent, ToolExecutionEndEvent, ToolExecutionStartEvent
from agent_tui.agent.messages import ToolResultMessage
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
