"""The SDK, imported once for the whole room (it costs seconds); recordings that ran are told."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]


@pytest.fixture(scope="session")
def accumulate() -> Callable[[bytes], Awaitable[Json]]:
    """body → the final message as client.beta.messages.stream accumulates it; it may raise."""
    import anthropic
    import httpx2

    async def run(body: bytes) -> Json:
        def answer(_: httpx2.Request) -> httpx2.Response:
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, content=body)

        transport = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        client = anthropic.AsyncAnthropic(api_key="k", max_retries=0, http_client=transport)
        async with (
            client,
            client.beta.messages.stream(
                model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}]
            ) as stream,
        ):
            message = await stream.get_final_message()
        return message.to_dict(mode="json", exclude_unset=True, warnings=False)

    return run


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> None:
    """Counts the recording of this test as run."""
    path = request.getfixturevalue("recording")
    assert isinstance(path, Path)
    request.node.user_properties.append(("recording", str(path)))
