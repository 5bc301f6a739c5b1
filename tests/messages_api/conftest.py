"""The SDK, imported once for the whole room (it costs seconds), and the count of recordings."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from recording_counts import OVERRULES, RECORDINGS_RUN

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
def counted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Counts the recording of this test as run."""
    path = request.getfixturevalue("recording")
    assert isinstance(path, Path)
    RECORDINGS_RUN.add(str(path))
    yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not RECORDINGS_RUN:
        return
    terminalreporter.section("recordings")
    folders: dict[str, int] = {}
    for path in RECORDINGS_RUN:
        folder = Path(path).parent.name
        folders[folder] = folders.get(folder, 0) + 1
    counts = ", ".join(f"{n} of {folder}/" for folder, n in sorted(folders.items()))
    terminalreporter.write_line(
        f"recordings: {len(RECORDINGS_RUN)} ran ({counts}), overrules: {len(OVERRULES)}"
    )
    for name, field, why in sorted(OVERRULES):
        terminalreporter.write_line(f"  overruled {name}: {field}: {why}")
