"""In every recording, each call is stopped by the user when its arguments begin, and when they
have almost come: whatever the answer holds beside it, the next request passes the rules."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from test_recordings import found
from test_replay import CODE_EXECUTION, found_tools

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    DoneEvent,
    StreamEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agent_tui.agent.loop import AgentLoopConfig, LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ToolResultMessage,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.request import build_request
from agent_tui.messages_api.sse import read_events
from agent_tui.messages_api.stream import encode_body
from agent_tui.offline.rules import validate_request


def _began_before(answer: AssistantMessage) -> bool:
    """A program calls that was started by an answer before this one."""
    started = {b.raw.get("id") for b in answer.content if isinstance(b, OpaqueContent)}
    callers = {(c.caller or {}).get("tool_id") for c in answer.tool_calls if c.programmatic}
    return not callers <= started


def _called_by_programs(answer: AssistantMessage) -> list[AgentTool]:
    callers = {c.name: (c.caller or {}).get("type") for c in answer.tool_calls if c.programmatic}
    return [
        AgentTool(name, "", {"type": "object"}, CODE_EXECUTION.execute,
                  wire={"allowed_callers": [caller]})
        for name, caller in callers.items()
    ]  # fmt: skip


OVER = DoneEvent(AssistantMessage(content=[TextContent(text="over")]))


def stream_events(body: bytes) -> list[StreamEvent]:
    assembler = Assembler()
    events = [made for raw in read_events(body) for made in assembler.feed(raw)]
    return events + assembler.finish()


def called(events: list[StreamEvent]) -> list[str]:
    return [e.block.id for e in events if isinstance(e, ToolCallStartEvent)]


CASES = [
    (path, call_id)
    for path in found()
    if path.stem not in ("answer-odd-fields", "spliced-start", "vercel-spliced-message-start")
    for call_id in called(stream_events(path.read_bytes()))
]


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
@pytest.mark.parametrize(("path", "call_id"), CASES, ids=[f"{p.stem}-{c}" for p, c in CASES])
def test_the_next_request_is_valid(path: Path, call_id: str, late: bool) -> None:
    asyncio.run(_play(stream_events(path.read_bytes()), call_id, late))


async def _play(events: list[StreamEvent], call_id: str, late: bool) -> None:
    index = next(
        e.index for e in events if isinstance(e, ToolCallStartEvent) and e.block.id == call_id
    )
    own = [
        n for n, e in enumerate(events)
        if isinstance(e, ToolCallStartEvent | ToolCallDeltaEvent) and e.index == index
    ]  # fmt: skip
    at = own[-1 if late else 0]
    contexts: list[LLMContext] = []
    closed: list[bool] = []
    ran: list[str] = []

    async def stream(_: str, context: LLMContext, __: StreamOptions) -> AsyncIterator[StreamEvent]:
        contexts.append(context)
        if len(contexts) > 1:
            yield OVER
            return
        try:
            for number, event in enumerate(events):
                yield event
                # Its reader takes it before it asks for the next one.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                if number == at:
                    assert agent.abort_tool(call_id, "not this one")
                    await asyncio.sleep(0)
        except (asyncio.CancelledError, GeneratorExit):
            closed.append(True)
            raise

    def note(event: Any) -> None:
        if event.type == "tool_execution_end" and not event.is_error:
            ran.append(event.tool_call_id)

    agent = Agent(AgentLoopConfig("m", stream, tools=[]))
    agent.subscribe(note)
    await agent.start("Go.")
    answer = next(m for m in agent.state.messages if isinstance(m, AssistantMessage))
    results = {
        m.tool_call_id: m.text for m in agent.state.messages if isinstance(m, ToolResultMessage)
    }
    assert call_id not in ran
    if answer.stop_reason in ("error", "aborted"):
        return  # the recording itself breaks off
    assert results[call_id].startswith("Not run:")
    whole = any(isinstance(e, ToolCallEndEvent) and e.index == index for e in events)
    call = next(c for c in answer.tool_calls if c.id == call_id)
    assert call.complete or not whole
    if call.cut_arguments is not None:
        assert closed and "not this one" in results[call_id]
        assert not any(c.programmatic for c in answer.tool_calls), "their program would be lost"
    tools = [CODE_EXECUTION, *found_tools([answer]), *_called_by_programs(answer)]
    messages = contexts[1].messages if len(contexts) > 1 else None
    if messages is None or _began_before(answer):
        return  # the answer had ended the run by itself, or its beginning is not here
    container = answer.container.id if answer.container else "container_of_before"
    options = StreamOptions(container_id=container)
    request = build_request(
        "claude-opus-4-5", LLMContext("", messages, tools), options, cache="off"
    )
    assert validate_request(json.loads(encode_body(request))) == []
