"""A running offline server, the SDK pointed at it, and raw HTTP beside it."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent_tui.offline.scenarios import Scenario
from agent_tui.offline.server import OfflineServer

Serve = Callable[..., OfflineServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """serve(turn, ..., speed=, log_path=): a server that plays these turns; without, the demo."""
    running: list[OfflineServer] = []

    def start(*turns: dict[str, Any], top: dict[str, Any] | None = None, **more: Any):
        scenario = Scenario(turns=list(turns), **(top or {})) if turns or top else None
        server = OfflineServer(scenario=scenario, **more)
        server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def sdk() -> Callable[[OfflineServer], Any]:
    """sdk(server): the real SDK's client, without retries of its own."""
    import anthropic

    def client(server: OfflineServer) -> Any:
        return anthropic.AsyncAnthropic(
            base_url=server.url, api_key="sk-test-secret", max_retries=0
        )

    return client


def ask(text: Any = "hello", **more: Any) -> dict[str, Any]:
    """The arguments of a request that says one thing."""
    messages = [{"role": "user", "content": text}]
    return {"model": "demo", "max_tokens": 8_000, "messages": messages} | more


def wait_for(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """The first true value of the condition; fails after a bound."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"still not so after {seconds} s"
        time.sleep(0.005)
    return value
