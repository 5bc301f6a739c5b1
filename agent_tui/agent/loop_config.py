"""AgentLoopConfig and what its hooks are handed and may answer (the mission's diagram).

Import these names from agent.loop; they live here because tool_calls.py needs them too.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_tui.agent.events import AgentEvent, StreamEvent
from agent_tui.agent.growing_history import HistoryConverter
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    ImageContent,
    Message,
    TextContent,
    ToolCall,
    ToolResultMessage,
)
from agent_tui.agent.tools import AgentTool, ExecutionMode, ToolResult, ValidateArguments

ThinkingLevel = Literal["off", "low", "medium", "high", "xhigh", "max"]


@dataclass(slots=True)
class AgentContext:
    """What the loop works on: system prompt, transcript part the model sees, tools."""

    system_prompt: str
    messages: list[AgentMessage]
    tools: list[AgentTool]


@dataclass(slots=True)
class LLMContext:
    """What a stream function is handed: only user, assistant and toolResult messages, repaired."""

    system_prompt: str
    messages: list[Message]
    tools: list[AgentTool]


@dataclass(slots=True)
class StreamOptions:
    """Options of one model call. container_id: the live container, held by the conversation."""

    max_tokens: int = 8192
    thinking_level: ThinkingLevel = "off"
    container_id: str | None = None


class StreamFunction(Protocol):
    """One model call. Returns an async iterator of StreamEvents ending in done or error.

    It may raise (at the call or while iterated): the loop makes that an error message.
    Cancelling the iterating task must close the connection.
    """

    def __call__(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]: ...


@dataclass(slots=True)
class BeforeToolCallResult:
    """Answer of before_tool_call: block=True refuses the call with `reason` as error result."""

    block: bool = False
    reason: str | None = None
    terminate: bool = False


@dataclass(slots=True)
class BeforeToolCallContext:
    message: AssistantMessage
    tool_call: ToolCall
    tool: AgentTool
    arguments: dict[str, Any]
    """Validated arguments."""


@dataclass(slots=True)
class AfterToolCallContext:
    message: AssistantMessage
    tool_call: ToolCall
    tool: AgentTool
    arguments: dict[str, Any]
    result: ToolResult


@dataclass(slots=True)
class AfterToolCallResult:
    """Overrides; None leaves the executed value as it is (`details` uses a sentinel: UNSET)."""

    content: list[TextContent | ImageContent] | None = None
    details: Any = ...
    is_error: bool | None = None
    terminate: bool | None = None


@dataclass(slots=True)
class PrepareNextTurnContext:
    message: AssistantMessage
    tool_results: list[ToolResultMessage]
    context: AgentContext
    new_messages: list[AgentMessage]


@dataclass(slots=True)
class NextTurnSnapshot:
    """What prepare_next_turn may replace; None leaves it."""

    context: AgentContext | None = None
    model: str | None = None
    thinking_level: ThinkingLevel | None = None


@dataclass(slots=True)
class AgentLoopConfig:
    """All the loop is handed. Hooks may be None. Sources: diagram, DESIGN Vocabulary.

    model, thinking_level and max_tokens are read before each request, so a change reaches
    the next one. A hook that raises: convert and transform_context make an error message,
    the tool hooks an error result, the others are logged and count as None or False.
    """

    model: str
    stream_function: StreamFunction
    max_tokens: int = 8192
    thinking_level: ThinkingLevel = "off"
    tools: list[AgentTool] = field(default_factory=list[AgentTool])
    convert_to_llm: Callable[[list[AgentMessage]], list[Message]] | None = None
    """None: llm_messages.convert_to_llm."""
    converter: HistoryConverter = field(default_factory=HistoryConverter)
    """Does what convert_to_llm does, for a transcript that grows."""
    transform_context: Callable[[list[AgentMessage]], Awaitable[list[AgentMessage]]] | None = None
    get_steering_messages: Callable[[], Awaitable[list[AgentMessage]]] | None = None
    get_follow_up_messages: Callable[[], Awaitable[list[AgentMessage]]] | None = None
    tool_execution: ExecutionMode = "parallel"
    validate_arguments: ValidateArguments | None = None
    before_tool_call: (
        Callable[[BeforeToolCallContext], Awaitable[BeforeToolCallResult | None]] | None
    ) = None
    after_tool_call: (
        Callable[[AfterToolCallContext], Awaitable[AfterToolCallResult | None]] | None
    ) = None
    prepare_next_turn: (
        Callable[[PrepareNextTurnContext], Awaitable[NextTurnSnapshot | None]] | None
    ) = None
    should_stop_after_turn: Callable[[PrepareNextTurnContext], Awaitable[bool]] | None = None
    max_pauses: int = 10
    """So often in a row the API may pause a turn (pause_turn, compaction) before the run ends
    and says so; continue_ goes on."""


Emit = Callable[[AgentEvent], Awaitable[None] | None]
"""Takes each event, in order. What it returns is awaited; None costs no await."""
