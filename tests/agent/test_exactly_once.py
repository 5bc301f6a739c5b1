"""Each queued message goes out exactly once, whenever it is typed and whatever happens to the
run meanwhile (faults B01, B03, B09, B12)."""

import asyncio
from dataclasses import dataclass
from typing import Any

import clock_loop
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_making import Model, agent_with, answer, assert_well_formed, call, tool
from wire_check import check

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import AgentEvent
from agent_tui.agent.message_queue import QueueError

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv"}
ACTS = [
    "steer", "steer", "steer", "follow_up", "follow_up", "abort", "withdraw", "promote", "demote",
    "lock", "unlock", "pause", "resume", "send_now", "edit", "all", "stop_call", "stop_call",
]  # fmt: skip


@dataclass
class Act:
    do: str
    after: int
    """Turns of the event loop since the act before."""
    which: int


acts = st.lists(
    st.builds(Act, st.sampled_from(ACTS), st.integers(0, 40), st.integers(0, 3)), max_size=14
)


class User:
    """Does the acts, and knows what should have come out of them."""

    def __init__(self, agent: Agent, plan: list[Act]) -> None:
        self.agent = agent
        self.plan = plan
        self.said: dict[str, str] = {}
        """Text as it should arrive, by item id."""

    async def play(self) -> None:
        for act in self.plan:
            for _ in range(act.after):
                await asyncio.sleep(0)
            self.do(act)

    def do(self, act: Act) -> None:
        agent, queue = self.agent, self.agent.queue
        items = queue.items()
        item = items[act.which % len(items)] if items else None
        try:
            match act.do:
                case "steer" | "follow_up":
                    add = agent.steer if act.do == "steer" else agent.follow_up
                    new = add(f"message {len(self.said)}")
                    self.said[new.id] = new.text
                case "abort":
                    agent.abort()
                case "pause":
                    queue.pause()
                case "resume":
                    queue.resume()
                case "send_now":
                    agent.send_now()
                case "stop_call":
                    # Whatever it is at: written, waiting, running, over.
                    agent.abort_tool("abcd"[act.which], "not this one")
                case "all":
                    queue.steering_mode = queue.follow_up_mode = "all"
                case "withdraw" if item is not None:
                    queue.withdraw(item.id)
                    del self.said[item.id]
                case "edit" if item is not None:
                    queue.edit(item.id, f"{item.text} edited")
                    self.said[item.id] = item.text
                case other if item is not None:
                    getattr(queue, other)(item.id)
        except QueueError:
            assert item is not None and item.state == "taken"


@settings(max_examples=150, deadline=None, derandomize=True)
@given(acts)
def test_every_message_arrives_once(plan: list[Act]) -> None:
    clock_loop.run(_conversation(plan))


async def _conversation(plan: list[Act]) -> None:
    async def work(_: Any) -> str:
        await asyncio.sleep(0)
        return "r"

    model = Model(
        answer("hm", call("a"), call("b")),
        answer(call("c", caller=PROGRAM)),
        answer("so", stop="pause_turn"),
        answer("on", call("d", "slow")),
    )
    agent = agent_with(model, tool(work=work), tool("slow", work, execution_mode="sequential"))
    events: list[AgentEvent] = []

    async def listen(event: AgentEvent) -> None:
        events.append(event)
        await asyncio.sleep(0)

    agent.subscribe(listen)
    user = User(agent, plan)
    typing = asyncio.create_task(user.play())
    await agent.start("go")
    # What a conversation does: run on while something may go out.
    while not typing.done() or agent.queue.items():
        if typing.done():
            agent.queue.resume()
            for item in agent.queue.items():
                agent.queue.unlock(item.id)
        if not await agent.run_queued():
            await asyncio.sleep(0)
    await typing

    arrived = {
        m.queue_item_id: m.text
        for m in agent.state.messages
        if m.role == "user" and m.queue_item_id is not None
    }
    texts = [m.text for m in agent.state.messages if m.role == "user"]
    assert arrived == user.said
    assert sorted(texts) == sorted(["go", *user.said.values()])
    assert {i.id for i in agent.queue.history() if i.state == "delivered"} == set(user.said)
    for context in model.contexts:
        check(context.messages)
    for run in _runs(events):
        assert_well_formed(run)


def _runs(events: list[AgentEvent]) -> list[list[AgentEvent]]:
    runs: list[list[AgentEvent]] = []
    for event in events:
        if event.type == "agent_start":
            runs.append([])
        runs[-1].append(event)
    return runs
