"""Keys that were typed faster than the page opened that they are for."""

import pytest
from textual import events

from agent_tui.tui.screens.help import HelpScreen
from tests.tui.conftest import Drive, Driven


async def at_once(d: Driven, *keys: str) -> None:
    """All keys are there before the first is handled."""
    for key in keys:
        event = events.Key(key, key if len(key) == 1 else None)
        event.set_sender(d.app)
        d.app.post_message(event)
    await d.settle()


def pages(d: Driven) -> int:
    return sum(isinstance(screen, HelpScreen) for screen in d.app.screen_stack)


async def test_escape_right_behind_f1_leaves_the_help_and_stops_no_turn(drive: Drive):
    async with drive() as d:
        d.conv.set_status("streaming")
        await at_once(d, "f1", "escape")
        await d.until(lambda: pages(d) == 0, "the help is left")
        assert d.conv.called("abort") == []


async def test_f1_twice_opens_the_help_and_leaves_it(drive: Drive):
    async with drive() as d:
        await at_once(d, "f1", "f1")
        await d.until(lambda: pages(d) == 0, "one page, left again")


@pytest.mark.parametrize("key", ["f8", "ctrl+f", "f4", "f3"])
async def test_no_key_behind_f1_locks_the_help(drive: Drive, key: str):
    """Focus given to what lies below a page left that page without its keys."""
    async with drive() as d:
        await at_once(d, "f1", key)
        assert pages(d) == 1
        await d.press("escape")
        await d.until(lambda: pages(d) == 0, "the help is left")
        await d.until(lambda: d.app.screen is d.app.composer.screen)


async def test_what_reaches_the_transcript_below_a_page_leaves_that_its_keys(drive: Drive):
    """As when a slash command opens a page while the key for the transcript is under way."""
    async with drive() as d:
        d.app.action_help()
        d.app.action_focus_transcript()
        await d.settle()
        await d.press("escape")
        await d.until(lambda: pages(d) == 0, "the help is left")
        assert d.app.transcript.has_focus


async def test_text_right_behind_f1_is_no_draft(drive: Drive):
    """q leaves the help; nothing of it is found in the draft, to be sent by mistake."""
    async with drive() as d:
        await at_once(d, "f1", "q")
        await d.until(lambda: pages(d) == 0, "the help is left")
        assert d.draft == ""
