"""What an answer covers and what it does not; a question that is wrongly asked fails here and
does not wait for ever."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from .test_approvals import Asked, context

T = TypeVar("T")


async def soon(work: Awaitable[T]) -> T:
    async with asyncio.timeout(5):
        return await work


async def waiting(asked: Asked, number: int) -> None:
    async with asyncio.timeout(5):
        while len(asked.approvals.open_requests) < number:
            asked.new.clear()
            await asked.new.wait()


async def test_where_nobody_can_be_asked_nobody_is(tmp_path):
    asked = Asked(tmp_path, interactive=False)
    result = await soon(asked.approvals.before_tool_call(context("shell", command="ls")))
    assert result and result.block and asked.events == []


async def test_what_is_allowed_from_the_start_is_not_asked(tmp_path):
    asked = Asked(tmp_path, allow=["shell", "srv__*"])
    for name in ("shell", "srv__query"):
        assert await soon(asked.approvals.before_tool_call(context(name, command="ls"))) is None
    assert asked.events == []


async def test_allow_is_for_one_call_only(tmp_path):
    asked = Asked(tmp_path)
    for call_id in ("t1", "t2"):
        task = asyncio.create_task(
            asked.approvals.before_tool_call(context("shell", call_id, command="ls"))
        )
        request = await asked.request()
        assert request.tool_call_id == call_id
        asked.approvals.answer(request.request_id, "allow")
        assert await soon(task) is None


async def test_always_is_remembered(tmp_path):
    asked = Asked(tmp_path)
    task = asyncio.create_task(asked.approvals.before_tool_call(context("shell", command="ls")))
    request = await asked.request()
    asked.approvals.answer(request.request_id, "allow_always")
    assert await soon(task) is None
    again = asked.approvals.before_tool_call(context("shell", "t2", command="ls"))
    assert await soon(again) is None


async def test_always_answers_the_same_question_and_no_other(tmp_path):
    asked = Asked(tmp_path)
    calls = [
        context("shell", "t1", command="ls"),
        context("shell", "t2", command="ls"),
        context("shell", "t3", command="rm x"),
        context("write", "t4", path="ls"),
    ]
    tasks = [asyncio.create_task(asked.approvals.before_tool_call(call)) for call in calls]
    await waiting(asked, 4)
    asked.approvals.answer(asked.approvals.open_requests[0].request_id, "allow_always")
    assert await soon(tasks[0]) is None and await soon(tasks[1]) is None
    assert [r.tool_call_id for r in asked.approvals.open_requests] == ["t3", "t4"]
    assert not tasks[2].done() and not tasks[3].done()
    for request in asked.approvals.open_requests:
        asked.approvals.answer(request.request_id, "deny")
    for task in tasks[2:]:
        result = await soon(task)
        assert result and result.block


async def test_a_second_answer_changes_nothing(tmp_path):
    asked = Asked(tmp_path)
    task = asyncio.create_task(asked.approvals.before_tool_call(context("shell", command="ls")))
    request = await asked.request()
    assert asked.approvals.answer(request.request_id, "deny", "no")
    assert asked.approvals.answer(request.request_id, "allow") is False
    result = await soon(task)
    assert result and result.block
