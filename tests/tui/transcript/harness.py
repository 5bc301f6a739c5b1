"""What the transcript's tests share: an app around one Transcript, a clock, short makers."""

import asyncio
from collections.abc import Iterable
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from agent_tui.agent.events import MessageEndEvent, MessageStartEvent, MessageUpdateEvent
from agent_tui.agent.messages import (
    AssistantMessage,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.tui.glyphs import UNICODE, Glyphs
from agent_tui.tui.themes import DEFAULTS, THEMES
from agent_tui.tui.transcript import Transcript
from agent_tui.tui.transcript.blocks import Modes
from agent_tui.tui.transcript.feed import Feed
from agent_tui.tui.transcript.layout import Layout
from agent_tui.tui.transcript.lines import Line, Look
from agent_tui.tui.transcript.parts import Part
from agent_tui.tui.transcript.splitter import MarkdownSplitter


class Clock:
    """Seconds that only move when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TranscriptApp(App[None]):
    """One transcript over the whole screen."""

    def __init__(self, glyphs: Glyphs = UNICODE, theme: str = "dark") -> None:
        super().__init__()
        self.clock = Clock()
        self.new_lines: list[int] = []
        self.opened: list[str] = []
        self._glyphs = glyphs
        self._theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._theme

    def compose(self) -> ComposeResult:
        yield Transcript(glyphs=self._glyphs, clock=self.clock, whole_emoji=False)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def on_transcript_new_lines(self, message: Transcript.NewLines) -> None:
        self.new_lines.append(message.count)

    def on_transcript_tool_opened(self, message: Transcript.ToolOpened) -> None:
        self.opened.append(message.call_id)


async def settled(pilot: Pilot[None]) -> Transcript:
    """Wait until all that was applied is on the screen."""
    transcript = pilot.app.query_one(Transcript)
    async with asyncio.timeout(20):
        while not transcript.quiet:  # noqa: ASYNC110 - a bound is set
            await asyncio.sleep(0.005)
    await pilot.pause()
    return transcript


class Answer:
    """An assistant message that streams into a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.message = AssistantMessage()
        transcript.apply(MessageStartEvent(self.message))

    def event(self, event: object) -> None:
        self._transcript.apply(MessageUpdateEvent(self.message.id, event))  # type: ignore[arg-type]

    def end(self, content: list[object], stop_reason: str = "end_turn") -> None:
        final = self.message.model_copy(update={"content": content, "stop_reason": stop_reason})
        self._transcript.apply(MessageEndEvent(final))


def stored_answer(text: str) -> AssistantMessage:
    return AssistantMessage(content=[TextContent(text=text)])


def prompt(text: str) -> UserMessage:
    return UserMessage(content=text)


def result(call_id: str, name: str, text: str, **more: object) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id,
        tool_name=name,
        content=[TextContent(text=text)],
        **more,  # type: ignore[arg-type]
    )


def split(text: str, chunks: Iterable[int] = ()) -> MarkdownSplitter:
    """The text fed in chunks of these sizes (the rest at once), then finished."""
    splitter = MarkdownSplitter()
    at = 0
    for size in chunks:
        splitter.feed(text[at : at + size])
        at += size
    splitter.feed(text[at:])
    splitter.finish()
    return splitter


def lay(parts: Iterable[Part], width: int = 80) -> list[Line]:
    """The rows of parts with the gaps between them."""
    look = Look(width=width)
    lines: list[Line] = []
    for part in parts:
        rows = part.lay_out(look)
        if rows:
            lines += [Line([], "")] * part.gap
        lines += rows
    return lines


def shown(text: str, width: int = 80, chunks: Iterable[int] = ()) -> list[str]:
    """Markdown as it stands on a screen of this width."""
    return [line.shown for line in lay(split(text, chunks).parts, width)]


def copied(lines: Iterable[Line]) -> str:
    """What copying all of the rows gives."""
    text = ""
    for line in lines:
        text += line.copied() + ("\n" if line.join is None else line.join)
    return text.removesuffix("\n")


class Page:
    """A feed with the rows it gives, no screen."""

    def __init__(self, width: int = 70) -> None:
        self.clock = Clock()
        self.modes = Modes()
        self.layout = Layout(Look(width=width, now=self.clock))
        self.feed = Feed(self.layout, self.modes, self.clock)
        self.message = AssistantMessage()

    def apply(self, *events: Any) -> list[str]:
        for event in events:
            self.feed.apply(event)
        self.feed.flush()
        return self.rows()

    def stream(self, *events: Any) -> list[str]:
        return self.apply(*[MessageUpdateEvent(self.message.id, event) for event in events])

    def load(self, *messages: Any, **more: Any) -> list[str]:
        self.feed.load(messages, **more)
        return self.rows()

    def lines(self) -> list[Line]:
        return [
            line
            for block, part in self.layout.parts_from(0, 0)
            for line in self.layout.rows(block, part)
        ]

    def rows(self) -> list[str]:
        return [line.shown.rstrip() for line in self.lines()]

    def open(self, index: int = -1) -> list[str]:
        """Open the block at this place."""
        block = self.layout.blocks[index]
        block.expanded = True
        block.make(self.modes)
        self.layout.changed(block)
        return self.rows()
