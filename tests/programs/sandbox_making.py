"""A sandbox for a test, and programs in few words."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent_tui.programs import CallResult, Finished, HostFunction, Paused, SandboxLimits, Step
from agent_tui.programs.monty import MontySandbox, MontySession

READ = HostFunction(
    "read",
    {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}},
)
TOOLS = {"read": READ}


@pytest.fixture
async def sandbox() -> AsyncIterator[MontySandbox]:
    box = MontySandbox(SandboxLimits(seconds=5))
    yield box
    box.close()


@pytest.fixture
async def session(sandbox: MontySandbox) -> MontySession:
    return await sandbox.open()


def paused(step: Step) -> Paused:
    assert isinstance(step, Paused), step
    return step


def finished(step: Step) -> Finished:
    assert isinstance(step, Finished), step
    return step


async def run(session: MontySession, code: str, tools: Any = None) -> Finished:
    """A program that makes no call, to its end."""
    return finished(await session.start(code, TOOLS if tools is None else tools))


async def answer(session: MontySession, step: Step, *texts: str) -> Step:
    """Answers the calls of a pause in order."""
    calls = paused(step).calls
    results = {c.id: CallResult(t) for c, t in zip(calls, texts, strict=True)}
    return await session.resume(results)
