"""Faults of steering: when a message typed mid-turn goes out, where it lands, what it skips.

Times are of a clock that jumps: a run is played again for each moment of it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.events import (
    AgentEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.agent import clock_loop
from tests.faults.helpers import (
    Gate,
    Script,
    assert_valid,
    instant,
    make_agent,
    make_conversation,
    moments,
    reply,
    said,
    slow,
    talking,
    user_texts,
)
from tests.tui.conftest import Drive


def at(seconds: float, act: Callable[[], Any]) -> None:
    """Do it so many seconds from now, by the loop's clock."""
    asyncio.get_running_loop().call_later(seconds, act)


def calls_of(tool: str, *ids: str) -> AssistantMessage:
    return reply(content=[ToolCall(id=i, name=tool) for i in ids])


def results(messages: list[Any]) -> dict[str, ToolResultMessage]:
    return {m.tool_call_id: m for m in messages if isinstance(m, ToolResultMessage)}


FIVE = ("c1", "c2", "c3", "c4", "c5")


# --- B05, B06, B07: the batch --------------------------------------------------------------------


def test_B05_the_item_says_when_it_goes_out_and_goes_out_then() -> None:
    """Five sequential tools of 10 s; typed in the second: it says at once after how many, counts
    down, and is delivered after all five, before the next model call."""
    seen: list[str] = []

    async def play() -> None:
        script = Script([calls_of("work", *FIVE), reply("I stop.")])
        agent = make_agent(script, slow("work", 10, sequential=True))
        item = None

        def type_it() -> None:
            nonlocal item
            assert agent.state.running_calls == ["c2"]
            item = agent.steer("stop, wrong folder")
            seen.append(agent.delivery_point(item))

        def on_event(event: AgentEvent) -> None:
            if item is not None and isinstance(event, ToolExecutionEndEvent):
                seen.append(agent.delivery_point(item))

        agent.subscribe(on_event)
        run = asyncio.ensure_future(agent.start("go"))
        at(15, type_it)
        await run
        assert item is not None and item.state == "delivered"
        assert item.landed == "turn 2, after 5 tool results"
        told = results(script.contexts[1])
        assert [m.is_error for m in told.values()] == [False] * 5
        assert user_texts(script.contexts[1]) == ["go", "stop, wrong folder"]
        assert script.contexts[1][-1].text == "stop, wrong folder"

    clock_loop.run(play())
    assert seen[:4] == [f"after {n} running tool{'s' * (n > 1)}" for n in (4, 3, 2, 1)]


@pytest.mark.parametrize("now", [False, True], ids=["by itself", "send now"])
def test_B06_only_send_now_skips_what_has_not_started(now: bool) -> None:
    """By itself the batch runs whole. With send now the running call finishes and keeps its
    result, the others get an error result that says who skipped them, then the text."""

    async def play() -> None:
        script = Script([calls_of("work", *FIVE), reply("I stop.")])
        agent = make_agent(script, slow("work", 10, sequential=True))

        def type_it() -> None:
            agent.steer("stop, wrong folder")
            if now:
                assert agent.send_now()

        at(15, type_it)
        await agent.start("go")
        told = results(script.contexts[1])
        skipped = {"c3", "c4", "c5"} if now else set[str]()
        assert {i for i, m in told.items() if m.is_error} == skipped
        assert all("skipped by the user" in told[i].text.lower() for i in skipped)
        assert told["c2"].text == "c2 done"
        assert script.contexts[1][-1].text == "stop, wrong folder"
        assert_valid(script.contexts[1], [slow("work")])
        took = asyncio.get_running_loop().time()
        assert (took < 25) if now else (took > 50)

    clock_loop.run(play())


@pytest.mark.parametrize("sequential", [False, True], ids=["parallel", "sequential"])
@pytest.mark.parametrize("now", [False, True], ids=["steer", "send now"])
def test_B07_a_started_call_always_finishes(now: bool, sequential: bool) -> None:
    """At every moment of the run: what has begun keeps its real result, what never began says so,
    nothing is half."""

    async def play(moment: float) -> None:
        begun: list[str] = []
        ended: list[str] = []
        gates = slow("work", 0.3, sequential=sequential)
        execute = gates.execute

        async def noted(call_id: str, *rest: Any) -> Any:
            begun.append(call_id)
            result = await execute(call_id, *rest)
            ended.append(call_id)
            return result

        gates.execute = noted
        script = Script([calls_of("work", "c1", "c2", "c3"), reply("ok")])
        agent = make_agent(script, gates)

        typed: list[Any] = []

        def type_it() -> None:
            typed.append(agent.steer("look here"))
            if now:
                agent.send_now()

        at(moment, type_it)
        await agent.start("go")
        assert set(begun) == set(ended), "a call that had begun was cut off"
        told = results(agent.state.messages)
        assert {i for i, m in told.items() if not m.is_error} == set(begun)
        if not now:
            assert begun == ["c1", "c2", "c3"]
        waiting = [item.text for item in agent.queue.items()]
        assert (user_texts(agent.state.messages) + waiting).count("look here") == len(typed)

    for moment in moments(1.2):
        clock_loop.run(play(moment))


# --- B03: taken, then stopped --------------------------------------------------------------------


def test_B03_a_message_is_the_queues_until_it_is_in_the_history() -> None:
    """Three sequential tools, two messages typed in the first; stopped at every event there is:
    each is in the history or in the queue, never in both, never in none, in order, in front."""
    states: set[tuple[str, ...]] = set()

    async def play(number: int) -> bool:
        agent = make_agent(
            Script([calls_of("work", "c1", "c2", "c3"), calls_of("work", "c4"), reply("ok")]),
            slow("work", 1, sequential=True),
        )
        count = 0

        def on_event(event: AgentEvent) -> None:
            nonlocal count
            if isinstance(event, ToolExecutionStartEvent) and event.tool_call_id == "c1":
                agent.steer("use v2")
                agent.steer("and test it")
            count += 1
            if count == number:
                agent.abort()

        agent.subscribe(on_event)
        await agent.start("go")
        in_history = user_texts(agent.state.messages)[1:]
        in_queue = [item.text for item in agent.queue.items()]
        if count >= number:
            typed = ["use v2", "and test it"]
            assert in_history + in_queue in ([], typed), (number, in_history, in_queue)
            assert {i.state for i in agent.queue.items()} <= {"queued"}
            states.add((*in_history, "|", *in_queue))
        return count < number

    number = 1
    while not clock_loop.run(play(number)):
        number += 1
    assert states == {
        ("|",),
        ("|", "use v2", "and test it"),
        ("use v2", "|", "and test it"),
        ("use v2", "and test it", "|"),
    }


def test_B03_what_comes_back_is_the_next_to_go_out() -> None:
    """Stopped in the gap before the next request: the message taken for it goes out first."""

    async def play() -> None:
        script = Script([calls_of("work", "c1"), reply("ok")], first_s=0.1)
        agent = make_agent(script, slow("work", 1))
        turns = 0

        def on_event(event: AgentEvent) -> None:
            nonlocal turns
            if isinstance(event, ToolExecutionStartEvent):
                agent.steer("first")
                agent.steer("second")
            turns += event.type == "turn_start"
            if turns == 2 and event.type == "turn_start":
                assert [i.state for i in agent.queue.items()] == ["taken", "queued"]
                agent.abort()

        agent.subscribe(on_event)
        await agent.start("go")
        assert [i.text for i in agent.queue.items()] == ["first", "second"]
        await agent.run_queued()
        assert user_texts(agent.state.messages) == ["go", "first", "second"]

    clock_loop.run(play())


# --- B08, B09, B10: where it lands ---------------------------------------------------------------


@pytest.mark.parametrize("place", ["before", "agent_start", "message_start", "message_end", "wait"])
def test_B08_steering_never_stands_before_the_prompt(place: str) -> None:
    """A session with earlier tools; a prompt with an image; steered before the first byte."""
    earlier = [
        UserMessage(content=[TextContent(text="earlier")]),
        reply("", "t1"),
        ToolResultMessage(tool_call_id="t1", tool_name="work", content=[TextContent(text="r")]),
    ]

    async def play() -> None:
        script = Script([reply("a cat"), reply("small")])
        agent = make_agent(script, instant(), messages=earlier)
        prompt = UserMessage(
            content=[TextContent(text="what is it?"), ImageContent(data="", media_type="image/png")]
        )

        def on_event(event: AgentEvent) -> None:
            if event.type == place and not agent.queue.history() and not agent.queue.items():
                agent.steer("be short")

        agent.subscribe(on_event)
        if place == "before":
            agent.steer("be short")
        if place == "wait":
            at(0.05, lambda: agent.steer("be short"))
        await agent.start(prompt)
        texts = user_texts(agent.state.messages)
        assert texts == ["earlier", "what is it?", "be short"]
        for context in script.contexts:
            body = assert_valid(context, [instant()])
            order = [t for m in body["messages"] if m["role"] == "user" for t in said(m)]
            assert order.index("what is it?") < (
                order.index("be short") if "be short" in order else 99
            )
        assert user_texts(script.contexts[-1])[-1] == "be short"

    clock_loop.run(play())


def test_B09_steering_of_the_last_answer_becomes_the_next_turn() -> None:
    """Typed at every moment of an answer without tools: it is the next turn, by itself."""

    async def play(moment: float) -> None:
        script = Script([reply("one two three four"), reply("un deux trois quatre")])
        conversation = make_conversation(script)
        await conversation.submit("count")
        await asyncio.sleep(moment)
        await conversation.submit("in French")
        await conversation.wait_idle()
        assert user_texts(conversation.messages) == ["count", "in French"], moment
        assert user_texts(script.contexts[-1]) == ["count", "in French"]
        # Typed before the request was made, it goes out with it.
        assert len(script.contexts) == (1 if moment == 0 else 2)

    for moment in moments(0.3, 0.005):
        clock_loop.run(play(moment))


@pytest.mark.parametrize("order", [("later", "now"), ("now", "later")])
def test_B10_steering_is_not_held_up_by_a_follow_up(order: tuple[str, str]) -> None:
    """ "now" goes into the running turn, "later" waits for its end, in whatever order typed."""

    async def play(moment: float) -> None:
        script = Script(
            [calls_of("work", "c1"), calls_of("work", "c2"), reply("a"), reply("b")]
        )  # fmt: skip
        agent = make_agent(script, slow("work", 1))

        def type_them() -> None:
            for text in order:
                (agent.steer if text == "now" else agent.follow_up)(text)

        at(moment, type_them)
        await agent.start("go")
        assert user_texts(agent.state.messages) == ["go", "now", "later"]
        first_with = {
            text: next(n for n, c in enumerate(script.contexts) if text in user_texts(c))
            for text in order
        }
        assert first_with["later"] == 3, "the follow-up waits until there is nothing else to do"
        assert first_with["now"] == (1 if moment < 1 else 2)

    for moment in (0.0, 0.05, 0.5, 1.3, 2.0):
        clock_loop.run(play(moment))


# --- B12: exactly once ---------------------------------------------------------------------------


def _submit_at_every_moment(script: Callable[[], Script], *tools: Any, end_s: float) -> None:
    """For each millisecond: what is submitted then is delivered once, and answered."""

    async def play(moment: float) -> None:
        made = script()
        conversation = make_conversation(made, *tools)
        await conversation.submit("go")
        await asyncio.sleep(moment)
        await conversation.submit("and this")
        await conversation.wait_idle()
        assert user_texts(conversation.messages) == ["go", "and this"], moment
        assert user_texts(made.contexts[-1]) == ["go", "and this"], moment
        assert conversation.queue() == [] and conversation.status == "ready"

    for moment in moments(end_s, 0.001):
        clock_loop.run(play(moment))


def test_B12_a_message_at_the_turns_end_is_sent_once() -> None:
    _submit_at_every_moment(lambda: Script([reply("done")]), end_s=0.16)


def test_B12_a_message_around_a_tools_end_is_sent_once() -> None:
    _submit_at_every_moment(
        lambda: Script([reply("", "c1"), reply("done")], first_s=0.02, step_s=0.003),
        slow("work", 0.03),
        end_s=0.13,
    )


@pytest.mark.parametrize("event", ["turn_end", "agent_end", "message_end", "message_start"])
def test_B12_a_message_sent_from_within_an_event_is_sent_once(event: str) -> None:
    """The last events of a run, while their subscribers are awaited."""

    async def play() -> None:
        made = Script([reply("done")])
        conversation = make_conversation(made)
        sent: list[Awaitable[Any]] = []

        async def on_event(happened: Any) -> None:
            last = conversation.messages[-1:] and conversation.messages[-1].role == "assistant"
            if happened.type == event and not sent and (last or event == "message_start"):
                sent.append(asyncio.ensure_future(conversation.submit("and this")))
                await asyncio.sleep(0.01)

        conversation.subscribe(on_event)
        await conversation.submit("go")
        await conversation.wait_idle()
        await asyncio.sleep(1)
        await conversation.wait_idle()
        assert len(sent) == 1
        assert user_texts(conversation.messages) == ["go", "and this"]
        assert user_texts(made.contexts[-1]) == ["go", "and this"]

    clock_loop.run(play())


# --- B25, B26, B27 -------------------------------------------------------------------------------


async def test_B25_each_message_says_where_it_is_and_where_it_went(
    tmp_path: Path, drive: Drive
) -> None:
    """Waiting with its delivery point; delivered at which turn, in events and on the screen; taken
    back by the user."""
    gate = Gate()
    async with talking(
        {"tool_calls": [{"id": "toolu_A", "name": "work"}]},
        {"text": "I pause."},
        {"text": "Then that."},
        cwd=tmp_path,
        tools=[gate.tool],
    ) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)

        async def give(asker: Any) -> Any:
            return talk.conversation

        async with drive(starter=give) as driven:
            await talk.conversation.submit("pause after this step")
            await talk.conversation.follow_up("then go on")
            await talk.conversation.submit("not meant")
            first, unmeant, later = talk.conversation.queue()
            assert first.delivery == "after 1 running tool"
            assert later.delivery == "when the turn ends"
            await driven.shows("after 1 running tool")
            await driven.shows("when the turn ends")
            talk.conversation.queue_remove(unmeant.id)
            gate.may_end("toolu_A")
            await talk.idle()
            delivered = {e.text: e.landed for e in talk.all("queue_delivered")}
            assert delivered == {
                "pause after this step": "turn 2, after 1 tool result",
                "then go on": "turn 3, after the answer",
            }
            await driven.shows("turn 2, after 1 tool result")
            await driven.shows("turn 3, after the answer")
        states = {i.text: i.state for i in talk.conversation.agent.queue.history()}
        assert states["not meant"] == "withdrawn"
        assert "not meant" not in str(talk.bodies)


@pytest.mark.parametrize("setting", ["/effort max", "/model claude-opus-5-5"])
async def test_B26_a_change_of_mode_does_not_stop_the_run(setting: str, tmp_path: Path) -> None:
    """Adjusted: there are no permission modes yet; the settings that can change mid-turn are the
    model and the effort. The running tool goes on, the next request has the new setting."""
    gate = Gate()
    async with talking(
        {"tool_calls": [{"id": "toolu_A", "name": "work"}]},
        {"text": "done"},
        cwd=tmp_path,
        tools=[gate.tool],
        model="claude-sonnet-5-5",
        top={"models": ["claude-sonnet-5-5", "claude-opus-5-5"]},
    ) as talk:
        await talk.conversation.submit("go")
        await talk.until(lambda: gate.begun)
        submitted = await talk.conversation.submit(setting)
        assert submitted.command is not None and not submitted.command.error
        assert talk.conversation.status == "tools" and not gate.cancelled
        gate.may_end("toolu_A")
        await talk.idle()
        talk.assert_accepted()
        assert gate.ended == ["toolu_A"] and talk.last.text == "done"
        before, after = talk.bodies
        if setting.startswith("/effort"):
            assert before["output_config"] != after["output_config"] == {"effort": "max"}
        else:
            assert (before["model"], after["model"]) == ("claude-sonnet-5-5", "claude-opus-5-5")


def test_B27_a_stop_hits_the_run_that_runs() -> None:
    """A message typed and Esc, at every pair of moments: the run ends, the message is in the queue
    or in the history, and the next run is not hit by the old stop."""

    async def play(typed: float, stopped: float) -> None:
        script = Script(
            [calls_of("work", "c1"), calls_of("work", "c2"), reply("never seen " * 9)]
        )  # fmt: skip
        conversation = make_conversation(script, slow("work", 0.2))
        await conversation.submit("go")
        steered: list[Any] = []
        at(typed, lambda: steered.append(asyncio.ensure_future(conversation.submit("steer"))))
        at(stopped, conversation.abort)
        await asyncio.sleep(max(typed, stopped) + 0.001)
        await conversation.wait_idle()
        await asyncio.gather(*steered)
        await conversation.wait_idle()
        texts = user_texts(conversation.messages) + [e.text for e in conversation.queue()]
        assert sorted(texts) == ["go", "steer"], (typed, stopped)
        count = len(script.contexts)
        script.answers[:] = [reply("here")]
        conversation.queue_pause()
        await conversation.submit("next")
        await conversation.wait_idle()
        assert conversation.messages[-1].text == "here", (typed, stopped)  # type: ignore[union-attr]
        assert len(script.contexts) == count + 1

    for typed in moments(0.6, 0.06):
        for stopped in moments(0.6, 0.06):
            clock_loop.run(play(typed, stopped))
