"""A frame is made in small steps, however much came since the last."""

from collections.abc import Callable

import pytest

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    TextEndEvent,
    ThinkingDeltaEvent,
    ThinkingStartEvent,
)
from agent_tui.agent.messages import AssistantMessage, TextContent
from agent_tui.tui.transcript.blocks import DRAIN, TextBlock

from .harness import TranscriptApp, settled

UNIT = "A line of an answer that came all at once, like many others.\n\n"
TEXT = UNIT * (40 * DRAIN // len(UNIT))


def ends(message: AssistantMessage) -> list[object]:
    """The whole answer is over."""
    return [
        MessageUpdateEvent(message.id, TextEndEvent(0, TextContent(text=TEXT))),
        MessageEndEvent(message),
    ]


def thinks(message: AssistantMessage) -> list[object]:
    """The text is over because something else begins."""
    return [
        MessageUpdateEvent(message.id, TextEndEvent(0, TextContent(text=TEXT))),
        MessageUpdateEvent(message.id, ThinkingStartEvent(1)),
        MessageUpdateEvent(message.id, ThinkingDeltaEvent(1, "Hm.")),
    ]


@pytest.mark.parametrize("behind", [ends, thinks])
async def test_a_text_that_came_whole_is_split_in_small_steps(
    behind: Callable[[AssistantMessage], list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    message = AssistantMessage(content=[TextContent(text=TEXT)])
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.transcript
        step = most = 0
        split, slice_ = TextBlock.drain_some, transcript._frames._slice

        def counted(block: TextBlock) -> int:
            nonlocal step, most
            step += 1
            most = max(most, step)
            return split(block)

        def one_step() -> bool:
            nonlocal step
            step = 0
            return slice_()

        monkeypatch.setattr(TextBlock, "drain_some", counted)
        monkeypatch.setattr(transcript._frames, "_slice", one_step)
        monkeypatch.setattr("agent_tui.tui.transcript.frames.SLICE_S", -1.0)
        transcript.apply(MessageStartEvent(message))
        for at in range(0, len(TEXT), 1000):
            transcript.apply(
                MessageUpdateEvent(message.id, TextDeltaEvent(0, TEXT[at : at + 1000]))
            )
        for event in behind(message):
            transcript.apply(event)
        await settled(pilot)
        assert transcript.source_text().startswith(TEXT.rstrip())
        assert 0 < most <= 2, "more than a step's worth was split without a rest"
