"""Retries around a stream function: failures before the first event are tried again.

The SDK's own retries are off (DESIGN), so that each wait is seen and Esc ends it. A stream
that broke midway is not retried here: its partial message has been shown; see driver.py.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from agent_tui.agent.events import StreamEvent
from agent_tui.agent.loop import LLMContext, StreamFunction, StreamOptions
from agent_tui.messages_api.errors import ApiError

Sleep = Callable[[float], Awaitable[None]]
OnRetry = Callable[[int, float, str], None]
"""(attempt that failed, seconds to wait, why)."""


@dataclass(slots=True)
class RetryPolicy:
    """tries: requests in all. A retry-after beyond max_wait_s ends the tries at once (DESIGN).
    silent_tries: as tries, where the server only kept silent: each costs the idle timeout."""

    tries: int = 3
    silent_tries: int = 2
    first_wait_s: float = 1.0
    max_wait_s: float = 60.0

    def wait_s(
        self, attempt: int, retry_after_s: float | None, kind: str | None = None
    ) -> float | None:
        """Seconds before the next try after failed try `attempt` (1, 2, ...); None: give up.
        kind: an ApiError's kind or type."""
        tries = self.silent_tries if kind in ("timeout", "timeout_error") else self.tries
        if attempt >= min(tries, self.tries):
            return None
        if retry_after_s is not None:
            return retry_after_s if retry_after_s <= self.max_wait_s else None
        # Jitter: many clients that failed together should not come back together.
        return min(self.max_wait_s, self.first_wait_s * 2 ** (attempt - 1)) * random.uniform(
            1, 1.25
        )


@contextlib.asynccontextmanager
async def closing(
    stream: AsyncIterator[StreamEvent],
) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """The stream, closed at the end where it can be: its connection must not wait for the
    garbage collector."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def with_retries(
    stream_function: StreamFunction,
    policy: RetryPolicy,
    on_retry: OnRetry,
    sleep: Sleep = asyncio.sleep,
) -> StreamFunction:
    """The same stream function, tried again on retryable ApiErrors raised before any event.

    Cancelling during a wait ends it. The last error is raised as it came.
    """

    async def stream(
        model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        attempt = 0
        while True:
            attempt += 1
            began = False
            try:
                async with closing(stream_function(model, context, options)) as events:
                    async for event in events:
                        began = True
                        yield event
                return
            except ApiError as error:
                wait = None
                if error.retryable:
                    wait = policy.wait_s(attempt, error.retry_after_s, error.kind)
                if began or wait is None:
                    error.tries = attempt
                    raise
                on_retry(attempt, wait, error.what_happened())
            await sleep(wait)

    return stream
