"""The side panel's drawings."""

from agent_tui.agent.events import (
    MessageUpdateEvent,
    OpaqueEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import OpaqueContent, ToolCall, ToolResultMessage
from tests.tui.conftest import Drive, Driven


def panel(d: Driven) -> list[str]:
    edge = d.app.panel.region.x
    return [line[edge + 1 :].rstrip() for line in d.screen.splitlines()]


def end(call_id: str, *, is_error: bool = False, text: str = "") -> ToolExecutionEndEvent:
    result = ToolResultMessage(
        tool_call_id=call_id, content=[{"type": "text", "text": text}], is_error=is_error
    )
    return ToolExecutionEndEvent(call_id, "shell", result, is_error, 112)


async def test_the_timeline(drive: Drive):
    async with drive(size=(120, 30)) as d:
        emit = d.conv.emit
        emit(ToolExecutionStartEvent("a", "grep", {"pattern": "def total"}))
        emit(end("a"))
        emit(ToolExecutionStartEvent("b", "shell", {"command": "pytest -q"}))
        emit(ToolExecutionUpdateEvent("b", "shell", "collected 5\n....F\n"))
        emit(ToolExecutionStartEvent("c", "read", {"path": "x"}))
        emit(end("c", is_error=True, text="no such file"))
        emit(ToolExecutionStartEvent("d", "shell", {"command": "sleep 9"}))
        emit(end("d", is_error=True, text="Interrupted: the user stopped this call."))
        emit(MessageUpdateEvent("m", ToolCallStartEvent(0, ToolCall(id="e", name="edit"))))
        d.clock.pass_(6)
        d.app.view.tick()
        await d.until(lambda: "arguments…" in d.screen)
        rows = panel(d)[2:8]
        assert [row.split() for row in rows] == [
            ["✓", "grep", "def", "total", "0.1", "s"],
            ["●", "shell", "pytest", "-q", "6", "s"],
            ["2", "lines", "....F"],
            ["✗", "read", "x", "0.1", "s"],
            ["⊘", "shell", "sleep", "9", "0.1", "s"],
            ["●", "edit", "arguments…"],
        ]


async def test_a_programs_calls_are_indented_below_it(drive: Drive):
    async with drive(size=(120, 30)) as d:
        use = OpaqueContent(raw={"type": "server_tool_use", "id": "s", "name": "code_execution"})
        caller = {"type": "code_execution_20250825", "tool_id": "s"}
        d.conv.emit(MessageUpdateEvent("m", OpaqueEvent(0, "start", use)))
        d.conv.emit(ToolExecutionStartEvent("x", "query_db", {"year": 2025}, caller))
        await d.until(lambda: "query_db" in d.screen)
        rows = panel(d)
        assert rows[2].startswith(" ▣ program 1")
        assert rows[3].startswith("   ● query_db")


async def test_a_program_with_many_calls_shows_those_that_matter(drive: Drive):
    async with drive(size=(120, 30)) as d:
        use = OpaqueContent(raw={"type": "server_tool_use", "id": "s", "name": "code_execution"})
        caller = {"type": "code_execution_20250825", "tool_id": "s"}
        d.conv.emit(MessageUpdateEvent("m", OpaqueEvent(0, "start", use)))
        for number in range(20):
            id = f"g{number}"
            d.conv.emit(ToolExecutionStartEvent(id, "geocode", {"place": f"p{number}"}, caller))
            d.conv.emit(end(id, is_error=number == 7, text="no such place"))
        d.conv.emit(ToolExecutionStartEvent("q", "query_db", {"year": 2025}, caller))
        await d.until(lambda: "query_db" in d.screen)
        rows = [" ".join(row.split()) for row in panel(d)[2:6]]
        assert rows == [
            "▣ program 1 paused for 1",
            "✓ 19 calls 19 geocode 2.2 s",
            "✗ geocode place=p7 0.1 s",
            "● query_db year=2025 0 s",
        ]


async def test_a_long_timeline_follows_its_end_until_it_is_scrolled(drive: Drive):
    async with drive(size=(120, 20)) as d:
        for at in range(60):
            d.conv.emit(ToolExecutionStartEvent(f"c{at}", "read", {"path": f"file{at}"}))
        await d.until(lambda: any("file59" in row for row in panel(d)))
        from agent_tui.tui.panels.tools_panel import ToolsPanel

        tools = d.app.query_one(ToolsPanel)
        tools.scroll_to(y=0, animate=False)
        await d.settle()
        d.conv.emit(ToolExecutionStartEvent("new", "read", {"path": "newest"}))
        await d.settle()
        assert any("file0" in row for row in panel(d))
        assert not any("newest" in row for row in panel(d))


async def test_a_click_on_a_tab_chooses_it(drive: Drive):
    async with drive(size=(120, 30)) as d:
        await d.pilot.click("#panel-tabs", offset=(10, 0))
        await d.shows("no container yet")
