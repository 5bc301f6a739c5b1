"""`/calls` and `/stop N REASON`: a number means the call that it was told for."""

from typing import Any

import pytest

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import AssistantMessage, ToolCall, ToolResultMessage
from agent_tui.conversation.results import CommandResult
from agent_tui.lines.commands import LineCommands
from agent_tui.lines.teller import Teller


class Told:
    """The commands by name, what they said, and what was stopped."""

    def __init__(self) -> None:
        self.teller = Teller()
        self.said: list[str] = []
        self.stopped: list[tuple[str, str]] = []
        self.work: dict[str, Any] = {}

        async def no_follow_up(text: str) -> None:
            raise AssertionError(text)

        LineCommands(self.teller, lambda: False, no_follow_up, self.said.extend).add(self)  # type: ignore[arg-type]

    def add_command(self, name: str, usage: str, help: str, run: Any) -> None:
        self.work[name] = run

    def abort_tool(self, call_id: str, reason: str = "") -> bool:
        self.stopped.append((call_id, reason))
        return True

    async def run(self, name: str, arguments: str = "") -> CommandResult:
        self.said.clear()
        return await self.work[name](self, arguments)


def writes(call_id: str) -> MessageUpdateEvent:
    return MessageUpdateEvent("m", ToolCallStartEvent(1, ToolCall(id=call_id, name="write")))


def ended(call_id: str) -> ToolExecutionEndEvent:
    return ToolExecutionEndEvent(
        call_id, "shell", ToolResultMessage(tool_call_id=call_id), False, 3
    )


@pytest.fixture
def told() -> Told:
    return Told()


async def test_a_call_keeps_its_number_when_another_ends(told: Told) -> None:
    for call_id in "abc":
        told.teller.apply(ToolExecutionStartEvent(call_id, "shell", {"command": call_id}))
    await told.run("calls")
    assert told.said == ["1, shell: a", "2, shell: b", "3, shell: c"]
    told.teller.apply(ended("a"))
    assert not (await told.run("stop", "2 not so")).error
    assert told.stopped == [("b", "not so")]
    await told.run("calls")
    assert told.said == ["2, shell: b", "3, shell: c"]
    assert (await told.run("stop", "1")).error == "Call 1 has ended already."
    for number in ("0", "4", "x", "²"):
        assert "There is no call" in ((await told.run("stop", number)).error or "")
    assert len(told.stopped) == 1


@pytest.mark.parametrize("how", ["error", "aborted", "max_tokens"])
async def test_what_was_written_and_never_came_is_no_call(told: Told, how: str) -> None:
    told.teller.apply(writes("a"))
    assert list(told.teller.calls.values()) == ["write, being written"]
    told.teller.apply(MessageEndEvent(AssistantMessage(stop_reason=how)))  # type: ignore[arg-type]
    assert (await told.run("calls")).text == "No call is under way."
    told.teller.apply(writes("b"))
    await told.run("calls")
    assert told.said == ["2, write, being written"]
    assert not (await told.run("stop", "2 use prose")).error
    assert told.stopped == [("b", "use prose")]


async def test_each_run_counts_anew(told: Told) -> None:
    told.teller.apply(ToolExecutionStartEvent("a", "shell", {"command": "a"}))
    told.teller.apply(ended("a"))
    told.teller.apply(AgentEndEvent([], "the answer is complete"))
    told.teller.apply(ToolExecutionStartEvent("b", "shell", {"command": "b"}))
    await told.run("calls")
    assert told.said == ["1, shell: b"]
