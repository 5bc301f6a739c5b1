"""Fault D14 and escape sequences: no foreign string is obeyed, wherever it is shown."""

from typing import Any

import pytest

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    TextStartEvent,
    ToolCallEndEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from agent_tui.conversation.events import (
    ContainerChangedEvent,
    NoticeEvent,
    ProgramRun,
    QueueEntry,
    RetryEvent,
    SettingChangedEvent,
)
from agent_tui.conversation.results import CommandInfo, CommandResult
from tests.tui.conftest import Drive, Driven

MARKUP = "[/x] [/] [bold red]b[/bold red] [@click=app.bell]c[/] "
EVIL = MARKUP + "\x1b]2;PWNED\x07\x1b[31m\x9b31m\u202e\u200b"
RAW = ("\x1b", "\x07", "\x9b", "\u202e", "\u200b")


def whole_screen(d: Driven) -> str:
    strips = d.app.screen._compositor.render_strips()
    return "".join(segment.text for strip in strips for segment in strip)


async def nothing_raw(d: Driven) -> None:
    await d.settle()
    shown = whole_screen(d)
    assert [c for c in RAW if c in shown] == []


async def test_no_widget_obeys_or_dies_of_foreign_text(drive: Drive, monkeypatch: Any):
    monkeypatch.setattr(
        "tests.tui.fake_conversation.COMMANDS", [CommandInfo("evil", f"/evil {EVIL}", EVIL)]
    )
    async with drive(size=(140, 45)) as d:
        emit = d.conv.emit
        call = ToolCall(id="c1", name=EVIL, arguments={"command": EVIL})
        d.conv.set_status("tools")
        emit(MessageStartEvent(UserMessage(content=EVIL)))
        emit(MessageEndEvent(UserMessage(content=EVIL)))
        emit(MessageStartEvent(AssistantMessage(id="m")))
        emit(MessageUpdateEvent("m", TextStartEvent(0)))
        emit(MessageUpdateEvent("m", TextDeltaEvent(0, EVIL)))
        emit(MessageUpdateEvent("m", ToolCallEndEvent(1, call)))
        emit(ToolExecutionStartEvent("c1", EVIL, {"command": EVIL}))
        emit(ToolExecutionUpdateEvent("c1", EVIL, EVIL + "\n" + EVIL))
        runs = [ProgramRun("p1", 1, "failed", error_code=EVIL)]
        emit(
            ContainerChangedEvent(
                EVIL, "busy", EVIL, last_output=EVIL, files=[{"name": EVIL}], runs=runs
            )
        )
        emit(RetryEvent(1, 5, EVIL))
        emit(NoticeEvent("error", EVIL))
        emit(SettingChangedEvent("model", EVIL))
        emit(SettingChangedEvent("thinking", EVIL))
        d.conv.entries = [QueueEntry("q1", "steer", EVIL, "queued", EVIL)]
        d.conv.queue_changed()
        d.conv.ask({EVIL: EVIL, "command": EVIL}, tool=EVIL, rule=EVIL)
        await d.shows("y once")
        await nothing_raw(d)
        await d.press("f4")
        await nothing_raw(d)
        await d.press("f4", "f6")
        await d.shows("busy: a program runs")
        await nothing_raw(d)
        await d.press("f3")
        await nothing_raw(d)
        await d.press("escape")
        await d.type("/ev")
        await d.shows("/evil")
        await nothing_raw(d)
        await d.press("f1", "end")
        await d.shows("Commands")
        await nothing_raw(d)
        await d.press("escape")
        result = ToolResultMessage(tool_call_id="c1", content=[{"type": "text", "text": EVIL}])
        emit(ToolExecutionEndEvent("c1", EVIL, result, True, 5))
        await nothing_raw(d)


@pytest.mark.parametrize("text", [EVIL, "[/x]", "a [data: /m?s=b-] b"])
async def test_answers_of_commands_and_notices(drive: Drive, text: str):
    async with drive() as d:
        d.conv.command_results["model"] = CommandResult(text=text, error=text)
        await d.type("/model")
        await d.press("enter")
        await d.until(lambda: d.conv.called("command"))
        await nothing_raw(d)
        d.app.flash("[/x]")
        await nothing_raw(d)


async def test_choice_and_secret_show_foreign_text_as_it_is(drive: Drive):
    from types import SimpleNamespace

    async def starter(asker: Any) -> Any:
        await asker.choose(EVIL, EVIL, [SimpleNamespace(key="a", label=EVIL)])
        await asker.ask_secret(EVIL, EVIL)

    async with drive(starter=starter) as d:
        await d.shows("waiting for you")
        await nothing_raw(d)
        await d.press("f4", "1")
        await d.shows("Enter store")
        await nothing_raw(d)
