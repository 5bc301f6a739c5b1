"""Sizes: wide, narrow, tiny; and resizing at any time."""

import pytest

from agent_tui.agent.events import (
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    TextStartEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import AssistantMessage
from tests.tui.conftest import Drive, Driven


def composer_row(d: Driven) -> int:
    return d.app.composer.region.y


async def test_the_panel_stands_beside_from_100_columns_and_is_a_drawer_below(drive: Drive):
    async with drive(size=(120, 30)) as d:
        assert d.app.panel.display and d.app.panel.region.right == 120
        left = d.app.transcript.region
        assert left.right <= d.app.panel.region.x
        await d.press("f2")
        assert not d.app.panel.display and d.app.transcript.region.width > left.width
        await d.press("f2")
        await d.pilot.resize_terminal(80, 30)
        await d.settle()
        assert not d.app.panel.display, "a drawer is closed until it is asked for"
        await d.press("ctrl+b")
        assert d.app.panel.display and d.app.transcript.region.width == 80
        assert not d.app.panel.region.overlaps(d.app.composer.region)
        await d.press("escape")
        assert not d.app.panel.display


async def test_where_narrow_the_panel_takes_the_whole_width_and_goes_again(drive: Drive):
    async with drive(size=(40, 20)) as d:
        await d.press("f2")
        assert d.app.panel.display and d.app.panel.region.width == 40
        assert not d.app.panel.region.overlaps(d.app.composer.region)
        await d.press("f2")
        assert not d.app.panel.display
        await d.pilot.resize_terminal(80, 20)
        await d.settle()
        await d.press("f2")
        assert d.app.panel.region.width == 46


@pytest.mark.parametrize("size", [(20, 6), (40, 10), (40, 12), (60, 20), (80, 24), (200, 60)])
async def test_composer_and_status_are_always_in_sight(drive: Drive, size: tuple[int, int]):
    async with drive(size=size) as d:
        d.conv.set_status("tools")
        for at in range(8):
            d.conv.queue_item("steer", f"message {at} " + "x" * 100)
        d.conv.ask({"command": "echo hello\n" * 30})
        for _ in range(6):
            await d.press("ctrl+j")
        await d.type("here")
        await d.shows("here")
        region = d.app.composer.region
        assert region.y >= 0 and region.bottom <= size[1] and region.right <= size[0]
        assert d.screen.splitlines()[-1].startswith(" tools")
        assert "wants to run" in d.screen


async def test_resizing_while_it_streams_loses_nothing(drive: Drive):
    """Fault D20."""
    async with drive(size=(120, 40)) as d:
        d.conv.set_status("streaming")
        await d.type("my draft")
        for at in range(12):
            width, height = [(120, 40), (60, 12), (150, 50), (20, 6)][at % 4]
            d.conv.emit(MessageUpdateEvent("m", TextDeltaEvent(0, f"word{at} ")))
            await d.pilot.resize_terminal(width, height)
        await d.pilot.resize_terminal(120, 40)
        await d.settle()
        assert d.draft == "my draft"
        lines = d.screen.split("\n")
        assert len(lines) == 40
        assert sum("my draft" in line for line in lines) == 1
        assert sum("Tools  Container" in line for line in lines) == 1


async def test_the_panel_shows_what_runs_and_the_next_tab_the_container(drive: Drive):
    async with drive(size=(120, 30)) as d:
        d.conv.emit(ToolExecutionStartEvent("c1", "shell", {"command": "pytest -q"}))
        await d.shows("● shell")
        d.clock.pass_(6)
        d.app.view.tick()
        await d.shows("6 s")
        await d.press("f6")
        await d.shows("no container yet")


async def test_the_panel_starts_closed_when_the_setting_says_so(drive: Drive):
    from types import SimpleNamespace

    async with drive(settings=SimpleNamespace(theme="dark", show_panel=False)) as d:
        assert not d.app.panel.display


async def test_page_keys_scroll_the_transcript_from_the_composer(drive: Drive):
    async with drive(size=(80, 20)) as d:
        d.app.transcript.add_markdown("\n\n".join(f"paragraph {at}" for at in range(60)))
        await d.shows("paragraph 59")
        await d.press("pageup")
        assert not d.app.transcript.following and "paragraph 59" not in d.screen
        await d.press("ctrl+end")
        await d.shows("paragraph 59")
        assert d.app.transcript.following and d.app.composer.has_focus


async def test_it_goes_on_following_while_parts_below_it_come_and_go(drive: Drive):
    async with drive(size=(80, 24)) as d:
        d.conv.set_status("streaming")
        d.conv.emit(MessageStartEvent(AssistantMessage(id="m")))
        d.conv.emit(MessageUpdateEvent("m", TextStartEvent(0)))

        async def stream(word: str) -> None:
            for at in range(20):
                d.conv.emit(MessageUpdateEvent("m", TextDeltaEvent(0, f"{word} {at}\n\n")))
            await d.shows(f"{word} 19")
            assert d.app.transcript.following

        await stream("first")
        d.conv.queue_item("steer", "a message")
        request = d.conv.ask({"command": "ls"})
        await d.press("ctrl+j", "ctrl+j")
        await stream("second")
        d.conv.entries.clear()
        d.conv.queue_changed()
        d.conv.resolve(request, "withdrawn")
        d.app.composer.load("")
        await d.settle()
        await stream("third")
