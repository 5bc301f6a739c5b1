"""What a tool is to the loop: AgentTool, ToolResult, ToolContext.

The loop knows tools by these only; a validator of JSON Schema is handed in
(AgentLoopConfig.validate_arguments), so agent/ needs no schema library.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_tui.agent.messages import ImageContent, TextContent, text_content

ExecutionMode = Literal["parallel", "sequential"]


@dataclass(slots=True)
class ToolResult:
    """What a tool gives back. terminate: if every result of the batch says so, the batch
    counts as no calls. details: any JSON value for the faces, never sent to the model.
    """

    content: list[TextContent | ImageContent]
    is_error: bool = False
    details: Any = None
    terminate: bool = False

    @classmethod
    def text(cls, text: str, *, is_error: bool = False, details: Any = None) -> "ToolResult":
        return cls(text_content(text), is_error=is_error, details=details)


class ToolContext:
    """Handed to execute(): live updates out, cancellation in.

    `update(partial)` is delivered to subscribers while the tool runs; after the tool has
    returned it is dropped. `cancelled` is set when the call is stopped; the executing task
    is cancelled as well. call_id is the call's id.
    """

    def __init__(self, call_id: str, update: Callable[[Any], None]) -> None:
        self.call_id = call_id
        self._update: Callable[[Any], None] | None = update
        self.cancelled = asyncio.Event()

    def update(self, partial: Any) -> None:
        if self._update is not None:
            self._update(partial)

    def close(self) -> None:
        """The call is over: what is still sent by update() is dropped."""
        self._update = None


Execute = Callable[[str, dict[str, Any], ToolContext], Awaitable[ToolResult]]
PrepareArguments = Callable[[Any], Any]


@dataclass(slots=True)
class AgentTool:
    """A tool: name, description, parameters (JSON Schema of an object), execute.

    execution_mode "sequential" makes every batch that holds it run one by one.
    prepare_arguments: maps raw arguments before validation (a throw is an error result).
    wire: extra fields for its definition on the wire (allowed_callers, ...).
    """

    name: str
    description: str
    parameters: dict[str, Any]
    execute: Execute
    execution_mode: ExecutionMode = "parallel"
    prepare_arguments: PrepareArguments | None = None
    wire: dict[str, Any] = field(default_factory=dict[str, Any])


class ValidateArguments(Protocol):
    """Validate (and harmlessly coerce, "42" → 42) arguments against a JSON Schema.

    Returns the arguments to use; raises ValueError with a sentence the model can act on.
    """

    def __call__(self, schema: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]: ...
