"""Events: StreamEvent (one model response) and AgentEvent (the loop). Tag: `type`.

They are slotted dataclasses: made once per delta, so they cost little. `to_json` gives
the public JSON form (DESIGN: Vocabulary); the JSON never repeats the partial message.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    Container,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
)

# --- StreamEvent: what a stream function yields -------------------------------------


@dataclass(slots=True)
class StartEvent:
    """The response began. message_id: the API's id if it sent one; model: who answers."""

    type: ClassVar[Literal["start"]] = "start"
    message_id: str | None = None
    model: str = ""


@dataclass(slots=True)
class TextStartEvent:
    type: ClassVar[Literal["text_start"]] = "text_start"
    index: int


@dataclass(slots=True)
class TextDeltaEvent:
    type: ClassVar[Literal["text_delta"]] = "text_delta"
    index: int
    delta: str


@dataclass(slots=True)
class TextEndEvent:
    """The block is closed; `block` is final (citations are in block.wire)."""

    type: ClassVar[Literal["text_end"]] = "text_end"
    index: int
    block: TextContent


@dataclass(slots=True)
class ThinkingStartEvent:
    type: ClassVar[Literal["thinking_start"]] = "thinking_start"
    index: int


@dataclass(slots=True)
class ThinkingDeltaEvent:
    """delta: thinking text, "" where the model's thinking is not shown. estimated_tokens: how
    many more tokens it has thought by the API's rough estimate, 0 where it does not say."""

    type: ClassVar[Literal["thinking_delta"]] = "thinking_delta"
    index: int
    delta: str
    estimated_tokens: int = 0


@dataclass(slots=True)
class ThinkingEndEvent:
    type: ClassVar[Literal["thinking_end"]] = "thinking_end"
    index: int
    block: ThinkingContent


@dataclass(slots=True)
class ToolCallStartEvent:
    """`block` has id, name, caller; arguments {} (filled at once for a programmatic call)."""

    type: ClassVar[Literal["toolcall_start"]] = "toolcall_start"
    index: int
    block: ToolCall


@dataclass(slots=True)
class ToolCallDeltaEvent:
    """delta: the JSON text as sent. partial: what became readable with this delta.

    partial is a list of (path, text) additions, path like "content" or "edits.0.old":
    string values grow piece by piece, other scalars come once, whole. It comes from an
    incremental reader, so its cost follows the delta, never what came before.
    """

    type: ClassVar[Literal["toolcall_delta"]] = "toolcall_delta"
    index: int
    delta: str
    partial: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(slots=True)
class ToolCallEndEvent:
    type: ClassVar[Literal["toolcall_end"]] = "toolcall_end"
    index: int
    block: ToolCall


@dataclass(slots=True)
class OpaqueEvent:
    """A block of another kind. phase "start" (block as begun), "delta", "end" (block final).

    delta/partial as in ToolCallDeltaEvent (the input of server_tool_use streams so).
    """

    type: ClassVar[Literal["opaque"]] = "opaque"
    index: int
    phase: Literal["start", "delta", "end"]
    block: OpaqueContent | None = None
    delta: str = ""
    partial: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


@dataclass(slots=True)
class ContainerEvent:
    type: ClassVar[Literal["container"]] = "container"
    container: Container


@dataclass(slots=True)
class UsageEvent:
    """The counts so far; replaces what came before."""

    type: ClassVar[Literal["usage"]] = "usage"
    usage: Usage


@dataclass(slots=True)
class DoneEvent:
    """The response is complete: the final message, with the API's stop_reason."""

    type: ClassVar[Literal["done"]] = "done"
    message: AssistantMessage


@dataclass(slots=True)
class ErrorEvent:
    """The response failed: what came so far, stop_reason "error", error_message/error_type set."""

    type: ClassVar[Literal["error"]] = "error"
    message: AssistantMessage


StreamEvent = (
    StartEvent | TextStartEvent | TextDeltaEvent | TextEndEvent
    | ThinkingStartEvent | ThinkingDeltaEvent | ThinkingEndEvent
    | ToolCallStartEvent | ToolCallDeltaEvent | ToolCallEndEvent
    | OpaqueEvent | ContainerEvent | UsageEvent | DoneEvent | ErrorEvent
)  # fmt: skip

# --- AgentEvent: what the loop emits ------------------------------------------------


@dataclass(slots=True)
class AgentStartEvent:
    type: ClassVar[Literal["agent_start"]] = "agent_start"


@dataclass(slots=True)
class TurnStartEvent:
    type: ClassVar[Literal["turn_start"]] = "turn_start"


@dataclass(slots=True)
class MessageStartEvent:
    """A message enters the transcript; an assistant message is still empty here."""

    type: ClassVar[Literal["message_start"]] = "message_start"
    message: AgentMessage


@dataclass(slots=True)
class MessageUpdateEvent:
    """One StreamEvent of the streaming message (all but start, done and error)."""

    type: ClassVar[Literal["message_update"]] = "message_update"
    message_id: str
    event: StreamEvent


@dataclass(slots=True)
class MessageEndEvent:
    """The message is final; now it is part of the transcript."""

    type: ClassVar[Literal["message_end"]] = "message_end"
    message: AgentMessage


@dataclass(slots=True)
class ToolExecutionStartEvent:
    type: ClassVar[Literal["tool_execution_start"]] = "tool_execution_start"
    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    caller: dict[str, Any] | None = None


@dataclass(slots=True)
class ToolExecutionUpdateEvent:
    """partial: what the tool handed to ctx.update (text, or any JSON value)."""

    type: ClassVar[Literal["tool_execution_update"]] = "tool_execution_update"
    tool_call_id: str
    tool_name: str
    partial: Any
    caller: dict[str, Any] | None = None


@dataclass(slots=True)
class ToolExecutionEndEvent:
    """result: the finished ToolResultMessage (it enters the transcript later, in call order)."""

    type: ClassVar[Literal["tool_execution_end"]] = "tool_execution_end"
    tool_call_id: str
    tool_name: str
    result: ToolResultMessage
    is_error: bool
    duration_ms: int
    caller: dict[str, Any] | None = None


@dataclass(slots=True)
class TurnEndEvent:
    type: ClassVar[Literal["turn_end"]] = "turn_end"
    message: AssistantMessage
    tool_results: list[ToolResultMessage]


@dataclass(slots=True)
class AgentEndEvent:
    """The run is over; `messages` are those it added. reason: why it stopped, in words."""

    type: ClassVar[Literal["agent_end"]] = "agent_end"
    messages: list[AgentMessage]
    reason: str = ""


AgentEvent = (
    AgentStartEvent | TurnStartEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent
    | ToolExecutionStartEvent | ToolExecutionUpdateEvent | ToolExecutionEndEvent
    | TurnEndEvent | AgentEndEvent
)  # fmt: skip


def to_json(event: Any) -> dict[str, Any]:
    """The public JSON form of any event: {"type": ..., its fields...}; models dumped."""
    out: dict[str, Any] = {"type": event.type}
    for name in event.__dataclass_fields__:
        out[name] = _plain(getattr(event, name))
    return out


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "__dataclass_fields__"):
        return (
            to_json(value)
            if hasattr(value, "type")
            else {n: _plain(getattr(value, n)) for n in value.__dataclass_fields__}
        )
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore
    return value
