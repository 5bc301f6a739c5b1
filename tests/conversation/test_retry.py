"""Retries before the first event (DESIGN: 3 tries; retry-after over 60 s: at once)."""

from collections.abc import AsyncIterator

import pytest

from agent_tui.agent.events import DoneEvent, StartEvent, StreamEvent
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import AssistantMessage
from agent_tui.conversation.retry import RetryPolicy, with_retries
from agent_tui.messages_api.errors import ApiError


class Scripted:
    """Fails with the given errors in order, then answers. after_start: fail once it began."""

    def __init__(self, *errors: ApiError, after_start: bool = False) -> None:
        self.errors = list(errors)
        self.after_start = after_start
        self.calls = 0

    async def __call__(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        self.calls += 1
        error = self.errors.pop(0) if self.errors else None
        if error and not self.after_start:
            raise error
        yield StartEvent()
        if error:
            raise error
        yield DoneEvent(AssistantMessage())


async def run(
    script: Scripted, waits: list[float], seen: list[tuple[int, float, str]] | None = None
) -> list[str]:
    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    log = seen if seen is not None else []
    stream = with_retries(script, RetryPolicy(), lambda n, w, why: log.append((n, w, why)), sleep)
    return [e.type async for e in stream("m", LLMContext("", [], []), StreamOptions())]


def overloaded(retry_after_s: float | None = None) -> ApiError:
    return ApiError("Overloaded", kind="overloaded", status=529, retry_after_s=retry_after_s)


async def test_a_passing_fault_is_tried_again_and_told():
    waits: list[float] = []
    seen: list[tuple[int, float, str]] = []
    script = Scripted(overloaded(), overloaded())
    assert await run(script, waits, seen) == ["start", "done"]
    assert script.calls == 3
    assert [n for n, _, _ in seen] == [1, 2]
    assert [w for _, w, _ in seen] == waits
    assert waits[0] < waits[1]
    assert "Overloaded" in seen[0][2]


async def test_three_tries_in_all():
    script = Scripted(*[overloaded()] * 5)
    with pytest.raises(ApiError):
        await run(script, [])
    assert script.calls == 3


async def test_the_service_says_how_long_to_wait():
    waits: list[float] = []
    await run(Scripted(overloaded(7)), waits)
    assert waits == [7]


async def test_a_long_retry_after_ends_it_at_once():
    waits: list[float] = []
    script = Scripted(overloaded(61))
    with pytest.raises(ApiError):
        await run(script, waits)
    assert (script.calls, waits) == (1, [])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_a_lasting_fault_is_never_repeated(status: int):
    script = Scripted(ApiError("no", kind="invalid_request", status=status))
    with pytest.raises(ApiError):
        await run(script, [])
    assert script.calls == 1


async def test_what_has_begun_is_not_repeated_here():
    script = Scripted(overloaded(), after_start=True)
    with pytest.raises(ApiError):
        await run(script, [])
    assert script.calls == 1
