"""How long is waited, and that a failed stream is closed first (DESIGN: 3 tries; 60 s)."""

from collections.abc import AsyncIterator

import pytest

from agent_tui.agent.events import StartEvent, StreamEvent
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.conversation.retry import RetryPolicy, with_retries
from agent_tui.messages_api.errors import ApiError


def test_waits_grow_and_are_not_the_same_for_all():
    policy = RetryPolicy(tries=9)
    for attempt, shortest in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0)):
        waits = {policy.wait_s(attempt, None) for _ in range(50)}
        assert len(waits) > 1
        assert all(wait is not None and shortest <= wait <= shortest * 1.25 for wait in waits)


def test_no_wait_is_much_longer_than_the_longest():
    wait = RetryPolicy(tries=99).wait_s(50, None)
    assert wait is not None and 60 <= wait <= 75


@pytest.mark.parametrize(("said", "waited"), [(0, 0), (7.5, 7.5), (60, 60), (60.5, None)])
def test_the_service_decides_up_to_a_minute(said: float, waited: float | None):
    assert RetryPolicy().wait_s(1, said) == waited


@pytest.mark.parametrize("kind", ["timeout", "timeout_error"])
def test_silence_is_tried_again_once(kind: str):
    """Each such try has cost the whole idle timeout."""
    policy = RetryPolicy()
    assert policy.wait_s(1, None, kind) is not None
    assert policy.wait_s(2, None, kind) is None
    assert policy.wait_s(2, None, "overloaded") is not None
    assert RetryPolicy(tries=1).wait_s(1, None, kind) is None


async def test_a_failed_stream_is_closed_before_the_next_try():
    log: list[str] = []

    class Stream:
        def __init__(self, number: int) -> None:
            self._number = number

        def __aiter__(self) -> "Stream":
            return self

        async def __anext__(self) -> StreamEvent:
            log.append(f"read {self._number}")
            raise ApiError("Overloaded", kind="overloaded", status=529)

        async def aclose(self) -> None:
            log.append(f"close {self._number}")

    def opened(model: str, context: LLMContext, options: StreamOptions) -> AsyncIterator:
        return Stream(1 + sum(line.startswith("read") for line in log))

    async def sleep(_: float) -> None:
        log.append("wait")

    stream = with_retries(opened, RetryPolicy(tries=2), lambda *_: None, sleep)
    with pytest.raises(ApiError):
        async for event in stream("m", LLMContext("", [], []), StreamOptions()):
            assert isinstance(event, StartEvent)
    assert log == ["read 1", "close 1", "wait", "read 2", "close 2"]
