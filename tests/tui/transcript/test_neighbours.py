"""Widgets above or below the transcript come and go (queue lines, questions): it keeps its end."""

from textual.app import ComposeResult
from textual.widgets import Static

from .harness import TranscriptApp, settled


class WithQueueLine(TranscriptApp):
    CSS = "#line { height: 2; }"

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield Static("a queued message", id="line")


async def test_it_follows_on_when_its_height_changes() -> None:
    app = WithQueueLine()
    async with app.run_test(size=(60, 20)) as pilot:
        app.transcript.add_markdown("\n\n".join(f"line {n}" for n in range(100)))
        transcript = await settled(pilot)
        for shown in (False, True, False):
            app.query_one("#line").display = shown
            await pilot.pause()
            transcript = await settled(pilot)
            assert transcript.following
            assert transcript.scroll_y == transcript.max_scroll_y
