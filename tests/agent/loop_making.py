"""Small parts for tests of the loop: scripted models, tools, and what events must always obey."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    AgentEvent,
    DoneEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agent_tui.agent.loop import AgentLoopConfig, LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
)
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult


def call(call_id: str, name: str = "echo", **more: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, **more)


def answer(*blocks: Any, stop: str | None = None) -> AssistantMessage:
    content = [TextContent(text=b) if isinstance(b, str) else b for b in blocks]
    has_calls = any(isinstance(b, ToolCall) for b in content)
    return AssistantMessage(
        content=content, stop_reason=stop or ("tool_use" if has_calls else "end_turn")
    )


async def events_of(message: AssistantMessage) -> AsyncIterator[StreamEvent]:
    """The stream of a message, a turn of the event loop between all events."""
    yield StartEvent()
    for index, block in enumerate(message.content):
        for event in _block_events(index, block):
            await asyncio.sleep(0)
            yield event
    yield DoneEvent(message)


def _block_events(index: int, block: Any) -> list[StreamEvent]:
    match block:
        case TextContent():
            deltas: list[StreamEvent] = [TextDeltaEvent(index, c) for c in block.text]
            return [TextStartEvent(index), *deltas, TextEndEvent(index, block)]
        case ThinkingContent():
            deltas = [ThinkingDeltaEvent(index, c) for c in block.thinking]
            return [ThinkingStartEvent(index), *deltas, ThinkingEndEvent(index, block)]
        case ToolCall():
            begun = block.model_copy(update={"arguments": {}, "complete": False})
            return [
                ToolCallStartEvent(index, begun),
                ToolCallDeltaEvent(index, "{}"),
                ToolCallEndEvent(index, block),
            ]
        case _:
            return []


class Model:
    """A stream function that gives these answers in turn; contexts: what it was handed."""

    def __init__(self, *answers: AssistantMessage) -> None:
        self.answers = list(answers)
        self.contexts: list[LLMContext] = []
        self.options: list[StreamOptions] = []

    def __call__(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        self.contexts.append(context)
        self.options.append(options)
        number = len(self.contexts) - 1
        return events_of(self.answers[number] if number < len(self.answers) else answer("over"))


def tool(
    name: str = "echo",
    work: Callable[[ToolContext], Awaitable[Any]] | None = None,
    **more: Any,
) -> AgentTool:
    """A tool that gives back what `work` gives (text or ToolResult); "r" without work."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        result = await work(ctx) if work is not None else "r"
        return ToolResult.text(result) if isinstance(result, str) else result

    return AgentTool(name, name, {"type": "object"}, execute, **more)


async def deaf(seconds: float) -> str:
    """Runs on when cancelled."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 1e-9:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return "deaf"


def agent_with(model: Model, *tools: AgentTool, **config: Any) -> Agent:
    return Agent(AgentLoopConfig("m1", model, tools=list(tools), **config))


def results(agent: Agent) -> dict[str, tuple[str, bool]]:
    """By call id: text and is_error of the results in the transcript."""
    return {
        m.tool_call_id: (m.text, m.is_error)
        for m in agent.state.messages
        if isinstance(m, ToolResultMessage)
    }


def assert_well_formed(events: list[AgentEvent]) -> None:
    """What every run's events obey, however it ended (DESIGN: the loop's rules)."""
    kinds = [e.type for e in events]
    assert kinds[0] == "agent_start" and kinds[-1] == "agent_end"
    assert kinds.count("agent_start") == kinds.count("agent_end") == 1
    assert kinds.count("turn_start") == kinds.count("turn_end")
    in_turn = False
    open_message: str | None = None
    running: dict[str, int] = {}
    finished: list[str] = []
    for event in events:
        match event.type:
            case "turn_start":
                assert not in_turn
                in_turn = True
            case "turn_end":
                assert in_turn and not running and open_message is None
                in_turn = False
                whole = event.message.stop_reason not in ("error", "aborted")
                called = [c.id for c in event.message.tool_calls] if whole else []
                assert [r.tool_call_id for r in event.tool_results] == called
            case "message_start":
                assert in_turn and open_message is None
                open_message = event.message.id
            case "message_update":
                assert event.message_id == open_message
            case "message_end":
                assert event.message.id == open_message
                open_message = None
            case "tool_execution_start":
                assert event.tool_call_id not in running and event.tool_call_id not in finished
                running[event.tool_call_id] = 1
            case "tool_execution_update":
                assert event.tool_call_id in running
            case "tool_execution_end":
                del running[event.tool_call_id]
                finished.append(event.tool_call_id)
    new = [e.message.id for e in events if e.type == "message_end"]
    assert [m.id for m in events[-1].messages] == new
    assert len(set(new)) == len(new)
