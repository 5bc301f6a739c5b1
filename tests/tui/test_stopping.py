"""Stopping, and the ways out of what does not stop."""

import asyncio

from agent_tui.conversation.events import RetryEvent
from tests.tui.conftest import Drive


async def test_escape_stops_the_run_and_says_so_at_once(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await d.press("escape")
        assert d.conv.called("abort") == [(True,)]
        assert "stopping" in d.screen.splitlines()[-1]


async def test_escape_when_idle_stops_nothing(drive: Drive):
    async with drive() as d:
        await d.type("draft")
        await d.press("escape")
        assert d.conv.called("abort") == [] and d.draft == "draft"


async def test_ctrl_c_while_running_keeps_the_draft(drive: Drive):
    async with drive() as d:
        d.conv.set_status("streaming")
        await d.type("draft")
        await d.press("ctrl+c")
        assert d.conv.called("abort") == [(True,)] and d.draft == "draft"
        assert d.app.return_code is None


async def test_ctrl_c_closes_a_list_before_it_stops(drive: Drive):
    async with drive() as d:
        d.conv.set_status("streaming")
        await d.type("/cl")
        await d.until(lambda: d.app.composer.completion.is_open)
        await d.press("ctrl+c")
        assert d.conv.called("abort") == [] and not d.app.composer.completion.is_open
        assert d.draft == "/cl"
        await d.press("ctrl+c")
        assert d.conv.called("abort") == [(True,)] and d.draft == "/cl"


async def test_a_run_that_does_not_settle_can_be_left(drive: Drive):
    """Fault B22: Esc, Esc, Ctrl+C, Ctrl+C."""
    async with drive() as d:
        d.conv.set_status("tools")
        await d.press("escape", "escape", "ctrl+c")
        await d.shows("Ctrl+C again leaves now")
        assert d.app.return_code is None
        await d.press("ctrl+c")
        await d.until(lambda: d.app.return_code is not None)
        assert d.app.return_code == 130 and d.conv.closed


async def test_closing_that_hangs_is_bounded(drive: Drive, monkeypatch):
    monkeypatch.setattr("agent_tui.tui.leaving.CLOSE_WITHIN_S", 0.05)
    async with drive() as d:
        d.conv.settles = False
        await d.press("ctrl+d")
        await d.until(lambda: d.app.return_code == 0)


async def test_a_retry_counts_down_and_escape_ends_it(drive: Drive):
    async with drive() as d:
        d.conv.set_status("waiting")
        d.conv.emit(RetryEvent(1, 8.0, "overloaded [/x]\x1b"))
        await d.shows("again in 8 s")
        assert "overloaded [/x]␛" in d.screen
        d.clock.pass_(3)
        d.app.view.tick()
        await d.shows("again in 5 s")
        await d.press("escape")
        assert d.conv.called("abort")
        await d.until(lambda: "again in 5 s" not in d.screen)


async def test_the_screen_ticks_only_while_something_moves(drive: Drive):
    """Fault D07."""
    async with drive() as d:
        ticker = d.app.view._ticker
        assert not ticker._active.is_set(), "idle: no timer"
        d.conv.set_status("streaming")
        await d.until(ticker._active.is_set)
        d.conv.set_status("ready")
        await d.until(lambda: not ticker._active.is_set())


async def test_a_late_event_after_the_end_breaks_nothing(drive: Drive):
    async with drive() as d:
        conv = d.conv
        await d.press("ctrl+d")
        await d.until(lambda: d.app.return_code == 0)
    conv.set_status("ready")
    await asyncio.sleep(0)
