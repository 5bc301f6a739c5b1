"""The frame is painted first; what is typed before the other parts are there is not lost."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agent_tui.tui import app as app_module
from agent_tui.tui.starter import CannotStartError
from tests.tui.conftest import Drive
from tests.tui.fake_conversation import FakeConversation


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The other parts are read only when this is set."""
    go, read = threading.Event(), app_module._read_body

    def wait() -> Any:
        assert go.wait(20)
        return read()

    monkeypatch.setattr(app_module, "_read_body", wait)
    yield go
    go.set()


async def test_letters_show_at_once_and_all_else_waits_in_order(
    drive: Drive, held: threading.Event
) -> None:
    conv = FakeConversation()

    async def starter(asker: Any) -> Any:
        return conv

    async with drive(conv=conv, starter=starter) as d:
        assert not d.app.grown
        await d.type("first")
        assert d.draft == "first"
        await d.press("enter")
        await d.type("second")
        await d.press("f2")
        assert d.draft == "first" and d.app.panel.display
        held.set()
        await d.until(lambda: conv.called("submit") == [("first",)])
        await d.until(lambda: d.draft == "second", "what was typed behind it is the next draft")
        await d.until(lambda: not d.app.panel.display, "the panel was closed")


async def test_a_paste_that_came_early_is_taken_behind_what_was_typed(
    drive: Drive, held: threading.Event
) -> None:
    conv = FakeConversation()

    async def starter(asker: Any) -> Any:
        return conv

    async with drive(conv=conv, starter=starter) as d:
        await d.type("see ")
        await d.paste("this text")
        await d.type("!")
        held.set()
        await d.until(lambda: d.draft == "see this text!")


async def test_the_frame_shows_the_prompt_the_panel_and_the_status(
    drive: Drive, held: threading.Event
) -> None:
    async def starter(asker: Any) -> Any:
        return FakeConversation()

    async with drive(starter=starter) as d:
        await d.shows("❯")
        for text in ("agent-tui", "Tools  Container", "starting"):
            assert text in d.screen
        await d.pilot.resize_terminal(60, 20)
        await d.until(lambda: "Tools" not in d.screen, "no room for the panel")
        held.set()
        await d.until(lambda: d.app.desk.conversation is not None)


async def test_ctrl_c_twice_leaves_once_the_parts_are_there(
    drive: Drive, held: threading.Event
) -> None:
    async def starter(asker: Any) -> Any:
        return FakeConversation()

    async with drive(starter=starter) as d:
        await d.press("ctrl+c", "ctrl+c")
        held.set()
        await d.until(lambda: d.app.leaving.code == 0)


async def test_settings_that_turn_out_wrong_end_it_with_their_line(drive: Drive) -> None:
    async def starter(asker: Any) -> Any:
        raise CannotStartError("agent-tui: config.toml:1: that is wrong", 2)

    async with drive(starter=starter) as d:
        await d.until(lambda: d.app.return_code == 2)
        assert d.app.leaving.last_words == "agent-tui: config.toml:1: that is wrong"
