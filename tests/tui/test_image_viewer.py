"""An image of the container is fetched whole and shown on its page; one too large is named."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.conversation.results import CommandResult
from agent_tui.tui import image_viewer
from agent_tui.tui.screens.image_page import ImagePage
from tests.tui.conftest import Drive
from tests.tui.fake_conversation import FakeConversation
from tests.tui.pictures import png

CHART = png(60, 40)
FOUND = CommandResult(
    action="image", data={"file_id": "file_1", "name": "chart.png", "media_type": "image/png"}
)


def conversation(asked: list[tuple[str, int]]) -> FakeConversation:
    async def head(file_id: str, size: int) -> bytes:
        asked.append((file_id, size))
        return CHART[:size]

    conv: Any = FakeConversation()
    conv.files = SimpleNamespace(api=SimpleNamespace(head=head))
    return conv


async def test_a_file_of_the_container_gets_its_page(
    drive: Drive, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path))
    asked: list[tuple[str, int]] = []
    async with drive(conv=conversation(asked)) as d:
        d.app.show_result(FOUND, "/container preview chart.png")
        await d.until(lambda: isinstance(d.app.screen, ImagePage), "the page")
        await d.shows("chart.png  PNG")
        await d.shows("Not drawn: this terminal draws none.")
        assert [file_id for file_id, _ in asked] == ["file_1"]
        await d.press("escape")
        await d.until(lambda: not isinstance(d.app.screen, ImagePage), "back")


async def test_one_that_is_too_large_is_not_shown(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_viewer, "LARGEST", 1000)
    asked: list[tuple[str, int]] = []
    async with drive(conv=conversation(asked)) as d:
        d.app.show_result(FOUND, "/container preview chart.png")
        await d.shows("chart.png is too large to be shown here")
        assert asked == [("file_1", 1001)]
        assert not isinstance(d.app.screen, ImagePage)
