"""Image lines open: by a click, by Enter on a message, by a key on any block."""

import base64
from typing import Any

from textual import on
from textual.geometry import Offset

from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.tui.transcript import Transcript
from agent_tui.tui.transcript.images import ContainerImage
from tests.tui.pictures import png

from .harness import TranscriptApp, settled
from .test_folding import CODE

ONE, TWO = (base64.b64encode(png(20, 10, seed)).decode() for seed in (1, 2))


def image(data: str) -> ImageContent:
    return ImageContent(data=data, media_type="image/png")


HISTORY = [
    UserMessage(content=[TextContent(text="look at both"), image(ONE), image(TWO)]),
    AssistantMessage(content=[ToolCall(id="c", name="read", arguments={"path": "a.png"})]),
    ToolResultMessage(tool_call_id="c", tool_name="read", content=[image(TWO)]),
]


class ImageApp(TranscriptApp):
    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[tuple[list[Any], int]] = []

    @on(Transcript.ImageWanted)
    def _wanted(self, message: Transcript.ImageWanted) -> None:
        self.wanted.append((list(message.pictures), message.first))


async def test_a_click_enter_and_a_key_open_them() -> None:
    app = ImageApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.load(HISTORY)
        await settled(pilot)
        rows = transcript.lines_shown
        second = [at for at, row in enumerate(rows) if "[image:" in row][1]
        await pilot.click(Transcript, offset=Offset(6, second))
        await pilot.pause()
        assert [(len(pictures), first) for pictures, first in app.wanted] == [(2, 1)]
        assert [picture.data for picture in app.wanted[0][0]] == [ONE, TWO]
        transcript.focus()
        await pilot.press("[", "enter")
        await pilot.pause()
        assert [picture.data for picture in app.wanted[1][0]] == [ONE, TWO]
        await pilot.press("j", "i")
        await pilot.pause()
        [shown], first = app.wanted[2]
        assert (shown.data, shown.name, first) == (TWO, "a.png", 0)
        assert not any("a.png  PNG" in row for row in transcript.lines_shown), "still folded"
        assert transcript.source_text().count("[image: PNG") == 2


async def test_images_among_a_programs_files_open_too() -> None:
    made = [{"type": "code_execution_output", "file_id": f"file_{n}"} for n in (1, 2)]
    result = {
        "type": "code_execution_tool_result", "tool_use_id": "srv1",
        "content": {"type": "code_execution_result", "stdout": "", "stderr": "",
                    "return_code": 0, "content": made},
    }  # fmt: skip
    app = ImageApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        raws: list[Any] = [{"type": "opaque", "raw": raw} for raw in (CODE, result)]
        transcript.load([AssistantMessage(content=raws)])
        transcript._feed._api.know_files(
            [
                {"file_id": "file_1", "name": "data.csv", "size": 10},
                {"file_id": "file_2", "name": "Chart.PNG", "size": 44_000},
            ]
        )
        transcript.toggle_tools()
        await settled(pilot)
        row = next(at for at, row in enumerate(transcript.lines_shown) if "Chart.PNG" in row)
        await pilot.click(Transcript, offset=Offset(8, row))
        await pilot.pause()
        assert app.wanted == [([ContainerImage("file_2", "Chart.PNG")], 0)]
