"""A real agent, looked at after each of its events as a new process would after a crash."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from session_making import assistant, quick_session, user

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    AgentEvent,
    DoneEvent,
    MessageEndEvent,
    MessageStartEvent,
    StartEvent,
    StreamEvent,
    ToolExecutionEndEvent,
)
from agent_tui.agent.loop import AgentLoopConfig
from agent_tui.agent.messages import AgentMessage, AssistantMessage, ToolResultMessage
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.sessions import Delivered, Session, SessionRecorder
from agent_tui.sessions.store import CUT_OFF

NAME = "20260101T000000_0123456789abcdef.jsonl"


class World:
    """An agent whose model gives these answers, with one tool `read` that ends out of order."""

    def __init__(self, path: Path, answers: list[AssistantMessage]) -> None:
        self.path = path
        self.session = quick_session(path)
        self.answers = list(answers)
        self.b_ended = asyncio.Event()
        self.accepted: list[str] = []
        self.ended: list[AgentMessage] = []
        self.outcomes: list[ToolResultMessage] = []
        self.looks = 0
        self.answering = False
        self.failures: list[AssertionError] = []
        tool = AgentTool("read", "reads", {"type": "object"}, self.execute)
        config = AgentLoopConfig(
            model="m", tools=[tool], stream_function=self.stream, max_tokens=100
        )
        self.agent = Agent(config)
        self.recorder = SessionRecorder(self.session)
        self.recorder.attach_queue(self.agent.queue)
        self.agent.subscribe(self.recorder.on_event)
        self.agent.subscribe(self.look)

    async def stream(self, *_: Any) -> AsyncIterator[StreamEvent]:
        answer = self.answers.pop(0)
        yield StartEvent()
        yield DoneEvent(answer)

    async def execute(self, call_id: str, _: dict[str, Any], ctx: ToolContext) -> ToolResult:
        if call_id == "a":
            await self.b_ended.wait()
            return ToolResult.text("result of a", details={"n": 1})
        if call_id == "b":
            for queue, text in ((self.agent.steer, "steer"), (self.agent.follow_up, "later")):
                queue(text)
                self.accepted.append(text)
            self.b_ended.set()
        return ToolResult.text(f"result of {call_id}")

    async def look(self, event: AgentEvent) -> None:
        self.looks += 1
        match event:
            case MessageStartEvent():
                self.answering = isinstance(event.message, AssistantMessage)
            case MessageEndEvent():
                self.answering = False
                self.ended.append(event.message)
                if isinstance(event.message, ToolResultMessage):
                    self.outcomes = [o for o in self.outcomes if o.id != event.message.id]
            case ToolExecutionEndEvent():
                self.outcomes.append(event.result)
                self.outcomes.sort(key=lambda r: r.tool_call_id)
            case _:
                pass
        try:
            await self.compare(event)
        except AssertionError as failure:  # an agent only logs what a subscriber throws
            self.failures.append(failure)

    async def compare(self, event: AgentEvent) -> None:
        found = await self.found()
        assert found.notices == ([CUT_OFF] if self.answering else []), event.type
        assert found.messages() == [*self.ended, *self.outcomes], event.type
        delivered = [m.text for m in self.ended if getattr(m, "queue_item_id", None)]  # type: ignore
        waiting = [i.message.text for i in found.queue_items()]  # type: ignore
        assert sorted(delivered + waiting) == sorted(self.accepted), event.type

    async def found(self) -> Session:
        """What is on disk now."""
        assert await self.recorder.written()
        copy = self.path.with_name(f"{self.looks}.jsonl")
        if not self.path.exists():
            return Session.in_memory("/work")
        copy.write_bytes(self.path.read_bytes())
        return Session.open(copy, read_only=True)


async def test_after_each_event_the_session_holds_what_happened(tmp_path: Path) -> None:
    world = World(
        tmp_path / NAME,
        [assistant("first", "a", "b"), assistant("second", "c"), assistant("third"),
         assistant("last")],
    )  # fmt: skip
    await world.agent.start("go")
    assert world.failures == []
    assert world.looks > 20
    texts = [m.text for m in world.ended if m.role == "user"]  # type: ignore[union-attr]
    assert texts == ["go", "steer", "later"]
    again = await world.found()
    assert again.messages() == world.agent.state.messages
    assert again.queue_items() == []
    # Where each landed is told as it was told while it happened.
    told = {item.id: Delivered(item.kind, item.landed) for item in world.agent.queue.history()}
    assert again.deliveries() == told
    assert {(d.kind, d.landed) for d in told.values()} == {
        ("steer", "turn 2, after 2 tool results"), ("follow_up", "turn 4, after the answer"),
    }  # fmt: skip
    world.session.close()


async def test_an_aborted_run_is_in_the_session_as_it_is_in_the_agent(tmp_path: Path) -> None:
    world = World(tmp_path / NAME, [assistant("first", "a", "x")])
    started = asyncio.Event()

    async def on_event(event: AgentEvent) -> None:
        if isinstance(event, ToolExecutionEndEvent) and event.tool_call_id == "x":
            started.set()

    world.agent.subscribe(on_event)
    run = asyncio.create_task(world.agent.start([user("go")]))
    await asyncio.wait_for(started.wait(), 10)
    world.agent.abort()
    await asyncio.wait_for(run, 10)
    assert world.failures == []
    again = await world.found()
    assert again.messages() == world.agent.state.messages
    results = [m for m in again.messages() if isinstance(m, ToolResultMessage)]
    assert [(r.tool_call_id, r.is_error) for r in results] == [("a", True), ("x", False)]
    world.session.close()
