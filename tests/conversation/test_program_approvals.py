"""A program that asks does not wait for ever: who asks is said, and when its time runs short."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from agent_tui.agent.loop import BeforeToolCallContext
from agent_tui.agent.messages import AssistantMessage, OpaqueContent, ToolCall
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.conversation.approvals import PROGRAM_PATIENCE_S, WARN_AFTER_S, Approvals
from agent_tui.conversation.programs import program_number
from tests.agent import clock_loop

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srvtoolu_2"}


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread: the clock of these tests jumps."""

    async def now(work: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return work(*args, **more)

    monkeypatch.setattr(asyncio, "to_thread", now)


async def nothing(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
    return ToolResult.text("")


class Asking:
    """One answer with calls `names`; events with their times."""

    def __init__(self, *names: str, caller: dict[str, Any] | None = PROGRAM) -> None:
        self.told: list[tuple[float, Any]] = []
        self.approvals = Approvals(
            "/", self._note, program_number={"srvtoolu_1": 1, "srvtoolu_2": 2}.get
        )
        calls = [ToolCall(id=f"t_{n}", name=n, caller=caller) for n in names]
        self._message = AssistantMessage(content=calls)

    def _note(self, event: Any) -> None:
        self.told.append((asyncio.get_running_loop().time(), event))

    def ask(self, number: int) -> "asyncio.Task[Any]":
        call = self._message.tool_calls[number]
        tool = AgentTool(call.name, "", {"type": "object"}, nothing)
        context = BeforeToolCallContext(self._message, call, tool, {})
        return asyncio.ensure_future(self.approvals.before_tool_call(context))

    def answer(self, decision: str = "allow") -> None:
        (request,) = self.approvals.open_requests
        assert self.approvals.answer(request.request_id, decision)

    def of(self, type_: str) -> list[tuple[float, Any]]:
        return [(at, event) for at, event in self.told if event.type == type_]


def on_the_clock(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        clock_loop.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def test_the_warning_comes_well_before_the_end() -> None:
    assert PROGRAM_PATIENCE_S == 240, "about 4 minutes (facts)"
    assert 60 <= WARN_AFTER_S <= PROGRAM_PATIENCE_S - 60


@on_the_clock
async def test_a_question_that_stays_open_says_so_before_it_is_too_late() -> None:
    asking = Asking("shell")
    waiting = asking.ask(0)
    await asyncio.sleep(WARN_AFTER_S - 1)
    assert [event.type for _, event in asking.told] == ["permission_request"]
    assert asking.told[0][1].program == 2
    await asyncio.sleep(2)
    ((at, delayed),) = asking.of("permission_delayed")
    assert (at, delayed.waited_s, delayed.limit_s) == (WARN_AFTER_S, 150.0, 240.0)
    ((_, notice),) = asking.of("notice")
    assert notice.level == "warning"
    assert all(part in notice.text for part in ("Program 2", "2:30", "shell", "4:00"))
    await asyncio.sleep(PROGRAM_PATIENCE_S)
    (_, (at, notice)) = asking.of("notice")
    assert at == PROGRAM_PATIENCE_S and "given up" in notice.text
    asking.answer()
    assert await waiting is None, "the answer still counts"


@on_the_clock
async def test_answers_given_before_took_of_the_time_too() -> None:
    """The program waits for all its calls: the second question has only the rest."""
    asking = Asking("shell", "write")
    first = asking.ask(0)
    await asyncio.sleep(100)
    asking.answer()
    await first
    second = asking.ask(1)
    await asyncio.sleep(49)
    assert not asking.of("permission_delayed")
    await asyncio.sleep(2)
    ((at, delayed),) = asking.of("permission_delayed")
    assert (at, delayed.tool_call_id) == (150.0, "t_write")
    asking.answer("deny")
    assert (await second).block


@on_the_clock
async def test_a_question_asked_late_warns_at_once() -> None:
    asking = Asking("shell", "write")
    first = asking.ask(0)
    await asyncio.sleep(200)
    asking.answer()
    await first
    second = asking.ask(1)
    await asyncio.sleep(0.1)
    assert asking.of("permission_delayed")[-1][1].waited_s == 200.0
    asking.answer()
    await second


@on_the_clock
async def test_an_answer_in_time_is_followed_by_no_warning() -> None:
    asking = Asking("shell")
    waiting = asking.ask(0)
    await asyncio.sleep(100)
    asking.answer()
    await waiting
    await asyncio.sleep(300)
    assert [e.type for _, e in asking.told] == ["permission_request", "permission_resolved"]


@on_the_clock
async def test_a_question_that_is_withdrawn_is_followed_by_no_warning() -> None:
    asking = Asking("shell")
    waiting = asking.ask(0)
    await asyncio.sleep(100)
    waiting.cancel()
    await asyncio.sleep(300)
    assert [e.type for _, e in asking.told] == ["permission_request", "permission_resolved"]


@on_the_clock
async def test_the_model_itself_waits_as_long_as_it_takes() -> None:
    for caller in (None, {"type": "direct"}):
        asking = Asking("shell", caller=caller)
        waiting = asking.ask(0)
        await asyncio.sleep(10_000)
        assert [e.type for _, e in asking.told] == ["permission_request"]
        assert asking.told[0][1].program is None
        asking.answer()
        await waiting


def test_programs_are_counted_over_the_whole_conversation() -> None:
    def answer(*names: tuple[str, str]) -> AssistantMessage:
        blocks = [
            OpaqueContent(raw={"type": "server_tool_use", "id": id_, "name": name})
            for id_, name in names
        ]
        return AssistantMessage(content=blocks)

    messages = [
        answer(("srvtoolu_1", "code_execution"), ("srvtoolu_w", "web_search")),
        answer(),
        answer(("srvtoolu_2", "code_execution"), ("srvtoolu_3", "code_execution")),
    ]
    assert [program_number(messages, f"srvtoolu_{n}") for n in (1, 2, 3)] == [1, 2, 3]
    assert program_number(messages, "srvtoolu_w") is None
