"""Pictures of what a person sees. `pytest --snapshot-update` renews them; look before you do."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    TextStartEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from agent_tui.conversation.events import UsageChangedEvent
from agent_tui.tui.app import AgentTuiApp
from tests.tui.conftest import FakeClock
from tests.tui.fake_conversation import FakeConversation


def scene(conv: FakeConversation) -> None:
    """SCREEN, picture 1: direct calls, one steer waiting, one follow-up."""
    emit = conv.emit
    prompt = UserMessage(content="find out why checkout is slow and fix it")
    conv.set_status("tools")
    emit(MessageStartEvent(prompt))
    emit(MessageEndEvent(prompt))
    emit(MessageStartEvent(AssistantMessage(id="m")))
    emit(MessageUpdateEvent("m", TextStartEvent(0)))
    emit(MessageUpdateEvent("m", TextDeltaEvent(0, "I'll look at the cart first.")))
    emit(ToolExecutionStartEvent("a", "grep", {"pattern": "def total"}))
    result = ToolResultMessage(tool_call_id="a", content=[{"type": "text", "text": "1\n2\n3"}])
    emit(ToolExecutionEndEvent("a", "grep", result, False, 112))
    emit(ToolExecutionStartEvent("b", "shell", {"command": "pytest -q tests/"}))
    emit(ToolExecutionUpdateEvent("b", "shell", "....................F....\n"))
    emit(MessageUpdateEvent("m", ToolCallStartEvent(1, ToolCall(id="c", name="edit"))))
    emit(UsageChangedEvent(1, 2, 3, 4, 0.042, 36_000, 200_000))
    conv.queue_item("steer", "don't touch db.py, it is generated", "after 2 running tools")
    conv.queue_item("follow_up", "then write a changelog entry", "when the turn ends")


@pytest.fixture
def look(snap_compare: Any, monkeypatch: pytest.MonkeyPatch):
    """look(size, theme, then): compare the scene; then(conv) adds to it."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def compare(
        size: tuple[int, int], *, theme: str = "dark", then: Any = None, **conv_options: Any
    ):
        conv = FakeConversation(**conv_options)

        async def starter(asker: Any) -> Any:
            return conv

        app = AgentTuiApp(settings=SimpleNamespace(theme=theme), starter=starter, clock=FakeClock())

        async def run_before(pilot: Any) -> None:
            for _ in range(200):
                if app.desk.conversation is not None:
                    break
                await pilot.pause(0.01)
            if not conv.demo:
                scene(conv)
            if then is not None:
                then(conv)
            for _ in range(200):
                await pilot.pause(0.01)
                if app.transcript.quiet:
                    break
            await pilot.pause(0.1)

        return snap_compare(app, terminal_size=size, run_before=run_before)

    return compare


def test_wide(look: Any):
    assert look((120, 40))


def test_narrow(look: Any):
    assert look((60, 20))


def test_light(look: Any):
    assert look((120, 30), theme="light")


def test_an_approval(look: Any):
    assert look(
        (100, 30),
        then=lambda conv: conv.ask(
            {"command": "git push --force origin main"}, rule="shell: git push"
        ),
    )


def test_the_first_start_in_the_demo(look: Any):
    assert look((100, 20), demo=True)
