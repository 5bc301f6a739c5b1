"""Pictures of what a person sees. Time stands still, so nothing in them flickers."""

from typing import Any

import pytest

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    TextDeltaEvent,
    TextEndEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import TextContent, ThinkingContent, ToolCall, UserMessage
from agent_tui.conversation.events import PermissionRequestEvent, QueueDeliveredEvent
from agent_tui.tui.glyphs import ASCII

from .harness import Answer, TranscriptApp, prompt, result, settled, stored_answer
from .test_markdown import DOCUMENT


async def a_turn(app: TranscriptApp, pilot: Any) -> None:
    """SCREEN: a turn with direct calls, one of them still streaming its arguments."""
    transcript = app.transcript
    question = prompt("find out why checkout is slow and fix it")
    transcript.apply(MessageStartEvent(question))
    transcript.apply(MessageEndEvent(question))
    answer = Answer(transcript)
    answer.event(ThinkingDeltaEvent(0, "The cart first."))
    await settled(pilot)
    app.clock.now += 4
    answer.event(ThinkingEndEvent(0, ThinkingContent(thinking="The cart first.", signature="s")))
    text = "I'll look at the cart first, then run its **tests**."
    answer.event(TextDeltaEvent(1, text))
    answer.event(TextEndEvent(1, TextContent(text=text)))
    calls = [
        ToolCall(id="a", name="grep", arguments={"pattern": "def total"}),
        ToolCall(id="b", name="read", arguments={"path": "shop/cart.py"}),
        ToolCall(id="c", name="shell", arguments={"command": "pytest -q tests/"}),
    ]
    for index, call in enumerate(calls, 2):
        answer.event(ToolCallEndEvent(index, call))
        transcript.apply(ToolExecutionStartEvent(call.id, call.name, call.arguments))
    for call, details in (
        (calls[0], {"count": 3}),
        (calls[1], {"first_line": 1, "last_line": 80}),
    ):
        done = result(call.id, call.name, "…", details=details)
        transcript.apply(ToolExecutionEndEvent(call.id, call.name, done, False, 100))
    output = "....................\x1b[31mF\x1b[0m...."
    transcript.apply(ToolExecutionUpdateEvent("c", "shell", output))
    await settled(pilot)
    app.clock.now += 6.2
    answer.event(ToolCallStartEvent(5, ToolCall(id="d", name="edit", complete=False)))
    additions = [
        ("path", "shop/cart.py"),
        ("edits.0.old", "    return sum(db.price(i) for i in items)"),
        ("edits.0.new", "    prices = db.prices(items)\n    return sum(pri"),
    ]
    answer.event(ToolCallDeltaEvent(5, "", additions))
    await settled(pilot)
    transcript._tick()


async def what_follows(app: TranscriptApp, pilot: Any) -> None:
    """A call that waits, one that failed, a delivery, an answer, notices."""
    transcript = app.transcript
    push = {"command": "git push --force origin main"}
    transcript.apply(ToolExecutionStartEvent("e", "shell", push))
    transcript.apply(PermissionRequestEvent("r", "e", "shell", push))
    transcript.apply(ToolExecutionStartEvent("f", "read", {"path": "shop/db.py"}))
    failed = result("f", "read", "there is no file shop/db.py", is_error=True)
    transcript.apply(ToolExecutionEndEvent("f", "read", failed, True, 3))
    steer = UserMessage(content="don't touch db.py, it is generated", queue_item_id="q")
    transcript.apply(QueueDeliveredEvent("q", "steer", "", "turn 2, after 4 tool results"))
    transcript.apply(MessageStartEvent(steer))
    transcript.apply(MessageEndEvent(steer))
    transcript.add_markdown("Fixed: `total` asks **once** now.")
    transcript.add_notice("warning", "the server is slow: trying again in 2.0 s (attempt 2)")
    transcript.add_notice("error", "No key found. /login enters one.")
    transcript.add_separator("earlier turns were compacted", "summary")
    await settled(pilot)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_turn(snap_compare: Any, theme: str) -> None:
    app = TranscriptApp(theme=theme)

    async def play(pilot: Any) -> None:
        await a_turn(app, pilot)
        await what_follows(app, pilot)

    assert snap_compare(app, terminal_size=(76, 32), run_before=play)


def test_a_turn_in_ascii_on_a_narrow_screen(snap_compare: Any) -> None:
    app = TranscriptApp(glyphs=ASCII)

    async def play(pilot: Any) -> None:
        await a_turn(app, pilot)
        await what_follows(app, pilot)

    assert snap_compare(app, terminal_size=(50, 40), run_before=play)


@pytest.mark.parametrize("width", [32, 76])
def test_markdown(snap_compare: Any, width: int) -> None:
    app = TranscriptApp()

    async def play(pilot: Any) -> None:
        app.transcript.load([stored_answer(DOCUMENT)])
        await settled(pilot)

    assert snap_compare(app, terminal_size=(width, 42), run_before=play)
