"""RunDriver: what is tried again, what starts by itself, and what waits for the user."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    AgentEvent,
    DoneEvent,
    MessageUpdateEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
)
from agent_tui.agent.loop import AgentLoopConfig, LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    TextContent,
    UserMessage,
    text_content,
)
from agent_tui.conversation.driver import RunDriver
from agent_tui.conversation.events import NoticeEvent, RetryEvent
from agent_tui.conversation.limits import Limits
from agent_tui.conversation.retry import RetryPolicy
from agent_tui.messages_api.errors import ApiError

Turn = str | ApiError | tuple[str, ApiError]
"""An answer; a failure before the first event; an answer that broke off behind its text."""


def overloaded() -> ApiError:
    return ApiError("Overloaded", kind="overloaded", status=529)


def refused() -> ApiError:
    return ApiError("bad request", kind="invalid_request", status=400)


def user(text: str) -> UserMessage:
    return UserMessage(content=text_content(text))


class Driven:
    """An agent with scripted turns and the driver around it. on_wait: called when a wait begins,
    which then never ends by itself."""

    def __init__(self, *turns: Turn, limits: Limits | None = None, **policy: Any) -> None:
        self.turns = list(turns)
        self.sent: list[list[str]] = []
        self.events: list[NoticeEvent | RetryEvent] = []
        self.waits: list[float] = []
        self.idle: list[bool] = []
        self.on_wait: Callable[[], None] | None = None
        self.on_text: Callable[[], None] | None = None
        self.agent = Agent(AgentLoopConfig("m", self._stream))
        self.agent.subscribe(self._heard)
        self.driver = RunDriver(
            self.agent, self.events.append, RetryPolicy(**policy), limits or Limits(),
            lambda: self.idle.append(self.driver.running), self._command, self._sleep,
        )  # fmt: skip
        self.commands: list[tuple[str, int]] = []
        self.on_command: Callable[[], None] | None = None

    async def _command(self, line: str) -> None:
        """Notes the line, and how many requests there had been."""
        self.commands.append((line, len(self.sent)))
        if self.on_command is not None:
            self.on_command()

    def wait_in_queue(self, line: str) -> None:
        self.agent.queue.add("follow_up", user(line), local=True)

    def _heard(self, event: AgentEvent) -> None:
        """on_text: called once, when the first text of a run was heard."""
        if (
            self.on_text
            and isinstance(event, MessageUpdateEvent)
            and event.event.type == "text_delta"
        ):
            on_text, self.on_text = self.on_text, None
            on_text()

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        if self.on_wait is not None:
            self.on_wait()
            await asyncio.Event().wait()

    async def _stream(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        self.sent.append([m.text for m in context.messages])
        turn = self.turns.pop(0) if self.turns else "over"
        if isinstance(turn, ApiError):
            raise turn
        text = turn if isinstance(turn, str) else turn[0]
        yield StartEvent()
        yield TextStartEvent(0)
        yield TextDeltaEvent(0, text)
        await asyncio.sleep(0)
        if isinstance(turn, tuple):
            raise turn[1]
        block = TextContent(text=text)
        yield TextEndEvent(0, block)
        yield DoneEvent(AssistantMessage(content=[block]))

    async def run(self, prompt: str = "go") -> None:
        self.driver.start([user(prompt)])
        async with asyncio.timeout(5):
            await self.driver.wait()

    @property
    def said(self) -> list[str]:
        return [_text(m) for m in self.agent.state.messages]

    @property
    def retries(self) -> list[RetryEvent]:
        return [e for e in self.events if isinstance(e, RetryEvent)]


def _text(message: AgentMessage) -> str:
    return getattr(message, "text", "")


# --- trying again ---------------------------------------------------------------------------


async def test_a_sample_that_broke_midway_is_struck_and_asked_for_again() -> None:
    driven = Driven(("half an ans", overloaded()), "the whole answer")
    await driven.run()
    assert driven.said == ["go", "the whole answer"]
    assert driven.sent == [["go"], ["go"]], "the broken sample is not sent"
    (retry,) = driven.retries
    assert retry.attempt == 1 and retry.wait_s == driven.waits[0] > 0
    assert retry.strikes and "Overloaded" in retry.reason
    assert driven.idle == [False]


async def test_three_tries_in_all_and_the_last_broken_sample_stays() -> None:
    driven = Driven(*[("half", overloaded())] * 5)
    await driven.run()
    assert len(driven.sent) == 3
    assert [r.attempt for r in driven.retries] == [1, 2]
    assert driven.waits[0] < driven.waits[1]
    assert driven.said == ["go", "half"]


async def test_a_fault_that_lasts_is_not_tried_again() -> None:
    driven = Driven(("half", refused()))
    await driven.run()
    assert (len(driven.sent), driven.retries) == (1, [])
    assert driven.said == ["go", "half"]


async def test_what_failed_before_it_began_is_not_tried_again_here() -> None:
    """with_retries has tried that already; twice three tries would be nine."""
    driven = Driven(overloaded())
    await driven.run()
    assert (len(driven.sent), driven.retries) == (1, [])


async def test_a_stop_ends_the_wait_for_the_next_try() -> None:
    driven = Driven(("half", overloaded()), "never asked for")
    driven.on_wait = driven.driver.abort
    await driven.run()
    assert len(driven.sent) == 1
    assert not driven.driver.running and driven.idle == [False]
    assert driven.said == ["go"], "it was struck when the retry was told"


# --- what starts by itself ---------------------------------------------------------------------


async def test_what_was_queued_in_the_last_instant_starts_the_next_run() -> None:
    driven = Driven("one", "two")
    first: list[bool] = []

    def once(event: object) -> None:
        if getattr(event, "type", "") == "agent_end" and not first:
            first.append(True)
            driven.agent.steer("more")

    driven.agent.subscribe(once)
    await driven.run()
    assert driven.said[:4] == ["go", "one", "more", "two"]
    assert driven.idle == [False]


async def test_a_message_sent_while_a_stopped_run_settles_begins_the_next_run() -> None:
    """And that one is no stopped one: it may be tried again."""
    driven = Driven("never whole", ("half", overloaded()), "the next answer")

    def stop() -> None:
        driven.driver.abort()
        assert driven.driver.stopping
        driven.driver.after_stop(user("instead"))

    driven.on_text = stop
    await driven.run()
    assert driven.said == ["go", "never whole", "instead", "the next answer"]
    assert not driven.driver.stopping


async def test_after_a_stop_nothing_queued_starts_or_is_paused() -> None:
    """An abort pauses no queue by itself (DESIGN); Esc in the app asks for that."""
    driven = Driven("never whole", "never asked for")
    driven.agent.follow_up("later")
    driven.on_text = driven.driver.abort
    await driven.run()
    assert len(driven.sent) == 1
    assert [i.text for i in driven.agent.queue.items()] == ["later"]
    assert not driven.agent.queue.paused


# --- what waits -------------------------------------------------------------------------------


async def test_after_a_stop_at_the_end_of_an_answer_nothing_queued_starts() -> None:
    driven = Driven("whole", "never asked for")
    driven.agent.follow_up("later")
    driven.agent.subscribe(lambda e: driven.driver.abort() if e.type == "turn_end" else None)
    await driven.run()
    assert driven.said == ["go", "whole"]
    assert [i.text for i in driven.agent.queue.items()] == ["later"]


async def test_after_a_failure_what_is_queued_waits_visibly() -> None:
    driven = Driven(refused(), "never asked for")
    driven.agent.follow_up("later")
    await driven.run()
    assert len(driven.sent) == 1
    assert driven.agent.queue.paused
    (item,) = driven.agent.queue.items()
    assert item.state == "paused"
    (notice,) = [e for e in driven.events if isinstance(e, NoticeEvent)]
    assert "paused" in notice.text and "Enter" in notice.text


async def test_what_is_typed_in_the_run_behind_a_stop_goes_out_and_the_rest_stays_paused() -> None:
    driven = Driven("never whole", "a new answer", "shorter then")

    def stop() -> None:
        driven.agent.steer("old")
        driven.agent.queue.pause_waiting()
        driven.driver.abort()

    driven.on_text = stop
    await driven.run()
    driven.on_text = lambda: driven.agent.steer("new") and None
    driven.driver.start([user("again")])
    await driven.driver.wait()
    assert [said for said in driven.said if said in ("old", "new")] == ["new"]
    assert [(i.text, i.state) for i in driven.agent.queue.items()] == [("old", "paused")]


async def test_a_failure_pauses_what_came_behind_a_stop_too() -> None:
    driven = Driven(refused())
    driven.agent.follow_up("old")
    driven.agent.queue.pause_waiting()
    driven.agent.follow_up("new")
    await driven.run()
    assert [i.state for i in driven.agent.queue.items()] == ["paused", "paused"]
    assert [e for e in driven.events if isinstance(e, NoticeEvent)]


async def test_a_locked_item_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    driven = Driven("one", "never asked for")
    item = driven.agent.follow_up("being edited")
    driven.agent.queue.lock(item.id)
    started: list[str] = []

    async def run_queued() -> bool:
        started.append("run")
        driven.agent.queue.withdraw(item.id)  # else it would be started for ever
        return False

    monkeypatch.setattr(driven.agent, "run_queued", run_queued)
    await driven.run()
    assert started == []
    assert len(driven.sent) == 1


async def test_the_time_of_a_run_can_be_limited() -> None:
    driven = Driven("never whole", "never asked for", limits=Limits(max_seconds=0.0))
    gate = asyncio.Event()
    stream = driven.agent.config.stream_function

    async def slow(
        model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        await gate.wait()
        async for event in stream(model, context, options):
            yield event

    driven.agent.config.stream_function = slow
    driven.agent.follow_up("later")
    await driven.run()
    assert driven.sent == []
    assert driven.driver._limits.reached  # pyright: ignore[reportPrivateUsage]


async def test_a_run_that_ends_by_an_error_of_ours_is_told_and_leaves_it_idle(
    caplog: pytest.LogCaptureFixture,
) -> None:
    driven = Driven("one")
    driven.driver._begin(_broken)  # pyright: ignore[reportPrivateUsage]
    async with asyncio.timeout(5):
        await driven.driver.wait()
    (notice,) = driven.events
    assert isinstance(notice, NoticeEvent) and notice.level == "error"
    assert "see the log" in notice.text and "out of order" in caplog.text
    assert not driven.driver.running and driven.idle == [False]


async def _broken() -> None:
    raise RuntimeError("out of order")


# --- commands that wait for the end of the run ------------------------------------------------


async def test_a_command_waits_for_its_turn_and_what_is_behind_it_waits_for_it() -> None:
    it = Driven("a", "b", "c")

    def say_more() -> None:
        it.agent.follow_up("before")
        it.wait_in_queue("/clear")
        it.agent.follow_up("behind")

    it.on_text = say_more
    await it.run()
    assert it.commands == [("/clear", 2)], "after the answer to what stood before it"
    assert it.said == ["go", "a", "before", "b", "behind", "c"]
    assert it.agent.queue.items() == [] and it.idle == [False]


async def test_what_a_command_brings_goes_out_also_in_an_empty_conversation() -> None:
    it = Driven("a", "b")
    it.on_text = lambda: it.wait_in_queue("/clear")

    def switch() -> None:
        it.agent.replace_messages([])
        it.agent.follow_up("in the new one")

    it.on_command = switch
    await it.run()
    assert it.said == ["in the new one", "b"]


async def test_a_stop_leaves_a_command_that_waits_in_the_queue() -> None:
    it = Driven(("a", refused()))

    def stop() -> None:
        it.wait_in_queue("/clear")
        it.driver.abort()

    it.on_text = stop
    await it.run()
    assert it.commands == []
    it.driver.start_queued()
    async with asyncio.timeout(5):
        await it.driver.wait()
    assert it.commands == [("/clear", 1)] and it.agent.queue.items() == []


async def test_a_paused_command_waits_until_the_queue_is_resumed() -> None:
    it = Driven("a")

    def pause() -> None:
        it.wait_in_queue("/clear")
        it.agent.queue.pause()

    it.on_text = pause
    await it.run()
    assert it.commands == [] and [i.state for i in it.agent.queue.items()] == ["paused"]


async def test_a_failed_run_pauses_a_command_that_waits() -> None:
    """What it was meant to follow did not come about."""
    it = Driven(refused())
    it.wait_in_queue("/clear")
    await it.run()
    assert it.commands == [] and it.agent.queue.paused


async def test_typed_while_a_stop_settles_a_command_runs_when_it_has() -> None:
    it = Driven("a", "b")

    def stop() -> None:
        it.driver.abort()
        it.driver.after_stop("/clear")
        it.driver.after_stop(user("one"))
        it.driver.after_stop(user("two"))

    it.on_text = stop
    await it.run()
    assert it.commands == [("/clear", 1)]
    assert it.said[-3:] == ["one", "two", "b"]


async def test_a_command_behind_a_failed_answer_is_not_an_answer_to_try_again() -> None:
    """The last message of the transcript is broken; a command that ran after it mends nothing."""
    it = Driven("a")
    it.agent.replace_messages([broken := AssistantMessage(stop_reason="error", api_id="msg_1",
        error_type="overloaded_error")])  # fmt: skip
    it.wait_in_queue("/clear")
    it.driver.start_queued()
    async with asyncio.timeout(5):
        await it.driver.wait()
    assert it.commands == [("/clear", 0)] and it.agent.state.messages == [broken]
