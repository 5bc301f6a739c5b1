"""The Loop panel: the diagram with the node that is lit, down a narrow panel and across a wide."""

from agent_tui.agent.events import (
    AgentEndEvent,
    AgentStartEvent,
    MessageEndEvent,
    MessageStartEvent,
    ToolExecutionStartEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from agent_tui.agent.messages import AssistantMessage, ToolCall, UserMessage
from agent_tui.tui.glyphs import ASCII
from agent_tui.tui.loop_state import LoopState
from agent_tui.tui.panels.loop_panel import LoopText
from agent_tui.tui.panels.side_panel import Tabs
from tests.tui.conftest import Drive, Driven
from tests.tui.test_panels import end, panel


async def choose_by_key(d: Driven, title: str) -> None:
    titles = d.app.query_one(Tabs).titles
    for _ in range(titles.index(title)):
        await d.press("f6")


def second_turn(d: Driven) -> None:
    """A turn with two calls, then one whose answer makes two more; one of them has ended."""
    calls = AssistantMessage(
        content=[ToolCall(id=id, name="read") for id in ("a", "b")], stop_reason="tool_use"
    )
    d.conv.set_status("waiting")
    for event in (
        AgentStartEvent(),
        TurnStartEvent(),
        MessageStartEvent(UserMessage(content="go")),
        MessageStartEvent(AssistantMessage()),
        MessageEndEvent(calls),
        TurnEndEvent(calls, []),
        TurnStartEvent(),
        MessageStartEvent(AssistantMessage()),
        MessageEndEvent(calls),
        ToolExecutionStartEvent("a", "read", {}),
        ToolExecutionStartEvent("b", "read", {}),
        end("a"),
    ):
        d.conv.emit(event)
    d.conv.queue_item("steer", "only Europe", "after 1 running tool")
    d.conv.queue_item("follow_up", "then a changelog")


async def test_the_diagram_is_live(drive: Drive) -> None:
    async with drive(size=(120, 30)) as d:
        await choose_by_key(d, "Loop")
        await d.shows("no run yet")
        second_turn(d)
        await d.shows("1 of 2")
        d.clock.pass_(38)
        d.app.view.tick()
        await d.shows("running 38 s")
        assert panel(d)[2:17] == [
            " turn 2   running 38 s",
            "",
            "    prompt",
            " ┌─ stream ✓",
            " │  calls ● 1 of 2",
            " │  results",
            " │  prepare next",
            " │  stop?",
            " ├─ steering ↳1",
            " └─ follow-up ⧗1",
            "",
            " last turn went on because:",
            "   2 tool calls",
            "",
            " this turn will go on because:",
        ]
        assert panel(d)[17] == "   2 tool calls, then 1 steer"


async def test_the_end_is_told_and_the_screen_rests(drive: Drive) -> None:
    async with drive(size=(120, 30)) as d:
        await choose_by_key(d, "Loop")
        second_turn(d)
        d.clock.pass_(75)
        d.conv.emit(AgentEndEvent([], "the output limit cut the answer"))
        d.conv.emit(end("b"))
        d.conv.set_status("ready")
        await d.shows("the run ended because:")
        rows = panel(d)
        assert " turn 2   ended after 1 min 15 s" in rows
        assert "   the output limit cut the answer" in rows
        assert "went on" not in d.screen, "of a run that is over only its end is told"
        await d.until(lambda: not d.app.view._ticker._active.is_set(), "nothing ticks")


def test_across_in_one_line_and_in_ascii() -> None:
    text = LoopText(ASCII)
    text.state = LoopState(lambda: 0.0)
    text.state.apply(AgentStartEvent())
    text.state.apply(TurnStartEvent())
    assert text._across().plain == (
        "  prompt * -> stream -> calls -> results -> prepare next -> stop? -> steering -> follow-up"
    )


async def test_a_wide_drawer_shows_it_in_one_line(drive: Drive) -> None:
    async with drive(size=(120, 30)) as d:
        await choose_by_key(d, "Loop")
        second_turn(d)
        d.app.panel.styles.max_width = d.app.panel.styles.min_width = 110
        await d.shows("stream ✓ → calls ● 1 of 2 → results → prepare next → stop?")


async def test_a_reason_of_the_service_is_foreign_text(drive: Drive) -> None:
    async with drive(size=(120, 30)) as d:
        await choose_by_key(d, "Loop")
        second_turn(d)
        d.conv.emit(AgentEndEvent([], "the request failed: \x1b]2;PWNED\x07[bold]x[/bold]"))
        await d.shows("[bold]x[/bold]")
        assert "\x1b" not in d.screen
