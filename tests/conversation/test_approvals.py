"""Who is asked, and what an answer does."""

import asyncio

import pytest

from agent_tui.agent.loop import BeforeToolCallContext
from agent_tui.agent.messages import AssistantMessage, ToolCall
from agent_tui.agent.tools import AgentTool, ToolResult
from agent_tui.conversation.approvals import Approvals
from agent_tui.conversation.events import PermissionRequestEvent, PermissionResolvedEvent
from tests.faults.helpers import talking


async def nothing(call_id, arguments, ctx) -> ToolResult:
    return ToolResult.text("")


def context(name: str, call_id: str = "t1", **arguments: object) -> BeforeToolCallContext:
    tool = AgentTool(name, "", {"type": "object"}, nothing)
    call = ToolCall(id=call_id, name=name, arguments=arguments)
    return BeforeToolCallContext(AssistantMessage(content=[call]), call, tool, dict(arguments))


class Asked:
    def __init__(self, cwd, **options) -> None:
        self.events: list[PermissionRequestEvent | PermissionResolvedEvent] = []
        self.new = asyncio.Event()
        self.approvals = Approvals(str(cwd), self._note, **options)

    def _note(self, event) -> None:
        self.events.append(event)
        self.new.set()

    async def request(self) -> PermissionRequestEvent:
        async with asyncio.timeout(5):
            while not self.approvals.open_requests:
                self.new.clear()
                await self.new.wait()
        return self.approvals.open_requests[0]


async def test_reading_inside_the_folder_is_free(tmp_path):
    asked = Asked(tmp_path)
    assert await asked.approvals.before_tool_call(context("read", path="a.txt")) is None
    assert asked.events == []


async def test_allow_lets_the_call_run(tmp_path):
    asked = Asked(tmp_path)
    task = asyncio.create_task(asked.approvals.before_tool_call(context("shell", command="ls")))
    request = await asked.request()
    assert request.tool_name == "shell" and request.arguments == {"command": "ls"}
    assert asked.approvals.answer(request.request_id, "allow")
    assert await task is None
    assert [e.type for e in asked.events] == ["permission_request", "permission_resolved"]
    assert asked.approvals.answer(request.request_id, "allow") is False


async def test_deny_tells_the_model_what_the_user_said(tmp_path):
    asked = Asked(tmp_path)
    task = asyncio.create_task(asked.approvals.before_tool_call(context("shell", command="ls")))
    request = await asked.request()
    asked.approvals.answer(request.request_id, "deny", "use glob")
    result = await task
    assert result and result.block and result.reason and "use glob" in result.reason


async def test_always_covers_the_same_command_only(tmp_path):
    asked = Asked(tmp_path)
    task = asyncio.create_task(asked.approvals.before_tool_call(context("shell", command="ls")))
    request = await asked.request()
    asked.approvals.answer(request.request_id, "allow_always")
    await task
    assert await asked.approvals.before_tool_call(context("shell", "t2", command="ls")) is None
    other = asyncio.create_task(
        asked.approvals.before_tool_call(context("shell", "t3", command="ls; rm -rf x"))
    )
    assert (await asked.request()).tool_call_id == "t3"
    other.cancel()


async def test_a_stopped_run_withdraws_the_question(tmp_path):
    asked = Asked(tmp_path)
    task = asyncio.create_task(asked.approvals.before_tool_call(context("shell", command="ls")))
    await asked.request()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = asked.events[-1]
    assert isinstance(last, PermissionResolvedEvent) and last.decision == "withdrawn"
    assert asked.approvals.open_requests == []


async def test_nobody_to_ask_is_a_refusal_that_says_how_to_allow(tmp_path):
    asked = Asked(tmp_path, interactive=False)
    result = await asked.approvals.before_tool_call(context("shell", command="ls"))
    assert result and result.block and result.reason and "--allow shell" in result.reason
    assert asked.events == []


@pytest.mark.parametrize("allow", ["files__read", "files__*"])
async def test_allow_names_a_tool_or_a_whole_server(tmp_path, allow):
    asked = Asked(tmp_path, interactive=False, allow=[allow])
    assert await asked.approvals.before_tool_call(context("files__read")) is None
    result = await asked.approvals.before_tool_call(context("other__read"))
    assert result and result.block


async def test_an_unknown_decision_is_refused(tmp_path):
    with pytest.raises(ValueError, match="allow_always"):
        Asked(tmp_path).approvals.answer("x", "maybe")


async def test_steering_says_that_it_waits_for_the_call_that_asks(tmp_path):
    run = {"id": "toolu_1", "name": "shell", "input": {"command": "echo hi"}}
    async with talking({"tool_calls": [run]}, {"text": "Done."}, cwd=tmp_path) as talk:
        await talk.conversation.submit("go")
        asked = await talk.until_event("permission_request")
        await talk.conversation.submit("shorter")
        (entry,) = talk.conversation.queue()
        assert entry.delivery == "after the call that waits for you"
        told = len(talk.all("queue_changed"))
        talk.conversation.answer(asked.request_id, "allow")
        await talk.idle()
        later = [e.delivery for q in talk.all("queue_changed")[told:] for e in q.items]
        assert later[0] != "after the call that waits for you"
        talk.assert_accepted()
