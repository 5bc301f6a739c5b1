"""The messages of a conversation: content blocks and the AgentMessage union.

Names are those of the loop diagram (AgentMessage, UserMessage "user", ...). All
models are pydantic so that they can be written to disk and read back equal; they
hold no SDK type. Unknown kinds read from disk become UnknownMessage and are kept.
"""

import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

StopReason = str
"""The API's values (end_turn, tool_use, pause_turn, ...) plus "error" and "aborted"."""


def new_id() -> str:
    """A short unique id for messages and queue items: 16 hex digits."""
    return uuid.uuid4().hex[:16]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


# --- content blocks ---------------------------------------------------------------


class TextContent(_Model):
    """Text of a user, an assistant or a tool.

    wire: template of the API's block where it differs from {"type","text"}: its keys
    in the API's order with every extra field; the value under "text" is ignored. It
    makes a reply go back value-equal (facts: a reply is replayed as it was sent).
    """

    type: Literal["text"] = "text"
    text: str = ""
    wire: dict[str, Any] | None = None


class ImageContent(_Model):
    """An image: base64 data and its media type (image/png, jpeg, gif or webp)."""

    type: Literal["image"] = "image"
    data: str
    media_type: str


class ThinkingContent(_Model):
    """Thinking with its signature; `redacted` holds the data of a redacted_thinking block.

    A block without a signature (and not redacted) is unfinished: shown, never sent.
    """

    type: Literal["thinking"] = "thinking"
    thinking: str = ""
    signature: str | None = None
    redacted: str | None = None
    wire: dict[str, Any] | None = None


class ToolCall(_Model):
    """A call the client must run (tool_use). `arguments` stay {} until the call is complete.

    complete: False while its arguments stream; a call cut there is never run and never sent.
    invalid_arguments: the text as sent when it was not a JSON object (the call gets an
    error result). cut_arguments: the text that had come when the user stopped the call while
    its arguments streamed; it ended there, complete, and never runs. caller: {"type": "direct"}
    or {"type": "code_execution_...", "tool_id"}.
    """

    type: Literal["toolCall"] = "toolCall"
    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    caller: dict[str, Any] | None = None
    complete: bool = True
    invalid_arguments: str | None = None
    cut_arguments: str | None = None
    wire: dict[str, Any] | None = None

    @property
    def programmatic(self) -> bool:
        """True when a program in a container made this call (it answers with results only)."""
        return bool(self.caller) and self.caller.get("type") != "direct"


class OpaqueContent(_Model):
    """Any other block of the API (server_tool_use, *_tool_result, compaction, ...), verbatim.

    complete: False for a block cut before its content_block_stop; such a block is never sent.
    """

    type: Literal["opaque"] = "opaque"
    raw: dict[str, Any]
    complete: bool = True


UserBlock = Annotated[TextContent | ImageContent, Field(discriminator="type")]
AssistantBlock = Annotated[
    TextContent | ThinkingContent | ToolCall | OpaqueContent, Field(discriminator="type")
]


class Usage(_Model):
    """Token counts of one response. Cumulative on the wire: a later value replaces.

    None means the server did not say. raw: the API's usage object, all fields.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    raw: dict[str, Any] = Field(default_factory=dict[str, Any])


class Container(_Model):
    """The code-execution container of a response: id and expiry (ISO 8601), as sent."""

    id: str
    expires_at: str | None = None


# --- messages ---------------------------------------------------------------------


class _Message(_Model):
    id: str = Field(default_factory=new_id)
    timestamp: float = Field(default_factory=time.time)


class ContainerUpload(_Model):
    """A file at the service that a message puts into the code-execution container.

    name, size (bytes): for people; only the id is sent.
    """

    file_id: str
    name: str = ""
    size: int | None = None


class Attachment(_Model):
    """What came along with a message because its text names it (`@notes.txt`).

    mention: as it stands behind the @; "!" and an id for what was added unnamed (the output of a
    command that the user ran). name, about: for people. blocks: so many of the message's content.
    """

    mention: str
    name: str
    about: str = ""
    blocks: int = 1

    def is_named_in(self, text: str) -> bool:
        """It stays with a message of this text."""
        return self.mention.startswith("!") or f"@{self.mention}" in text


class UserMessage(_Message):
    """What the user said. queue_item_id: the queue item this delivery came from, if any.

    attachments: what came along; their blocks stand last in content, in this order.
    """

    role: Literal["user"] = "user"
    content: list[UserBlock] = Field(default_factory=list[UserBlock])
    attachments: list[Attachment] = Field(default_factory=list[Attachment])
    uploads: list[ContainerUpload] = Field(default_factory=list[ContainerUpload])
    queue_item_id: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return [{"type": "text", "text": value}] if isinstance(value, str) else value

    @property
    def said(self) -> list[UserBlock]:
        """The content without what came along."""
        came_along = sum(attachment.blocks for attachment in self.attachments)
        return self.content[: max(0, len(self.content) - came_along)]

    @property
    def text(self) -> str:
        """The text blocks joined by newlines, without those that came along."""
        return "\n".join(b.text for b in self.said if isinstance(b, TextContent))

    @property
    def typed(self) -> str:
        """The first text block: what the user typed, also in a message of an earlier version,
        which does not say what came along."""
        return next((b.text for b in self.content if isinstance(b, TextContent)), "")


class AssistantMessage(_Message):
    """A reply of the model, whole or interrupted (stop_reason "aborted" or "error").

    api_id: the API's message id. interrupted_calls etc. are not stored: they follow from
    stop_reason and each block's `complete`.
    """

    role: Literal["assistant"] = "assistant"
    content: list[AssistantBlock] = Field(default_factory=list[AssistantBlock])
    model: str = ""
    api_id: str | None = None
    stop_reason: StopReason = "end_turn"
    stop_sequence: str | None = None
    stop_details: dict[str, Any] | None = None
    error_message: str | None = None
    error_type: str | None = None
    usage: Usage | None = None
    container: Container | None = None
    wire: dict[str, Any] | None = None
    """Other fields of the API's message that are kept (e.g. context_management)."""

    @property
    def text(self) -> str:
        return "".join(b.text for b in self.content if isinstance(b, TextContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        return [b for b in self.content if isinstance(b, ToolCall)]


class ToolResultMessage(_Message):
    """The result of one call, as the model gets it. `details` is for faces only, never sent."""

    role: Literal["toolResult"] = "toolResult"
    tool_call_id: str
    tool_name: str = ""
    content: list[UserBlock] = Field(default_factory=list[UserBlock])
    is_error: bool = False
    details: Any = None

    @property
    def text(self) -> str:
        return "\n".join(b.text for b in self.content if isinstance(b, TextContent))


class BranchSummaryMessage(_Message):
    """Summary of a branch left behind; goes to the model as a user message."""

    role: Literal["branchSummary"] = "branchSummary"
    summary: str


class CompactionSummaryMessage(_Message):
    """Summary of compacted history; goes to the model as a user message."""

    role: Literal["compactionSummary"] = "compactionSummary"
    summary: str


class BashExecutionMessage(_Message):
    """A command the user ran with `!` (exclude=True: `!!`, kept out of the context)."""

    role: Literal["bash"] = "bash"
    command: str
    output: str = ""
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude: bool = False


class CustomMessage(_Message):
    """A message of another kind (RPC `custom`, hooks, MCP prompts); sent as a user message."""

    role: Literal["custom"] = "custom"
    kind: str = ""
    content: list[UserBlock] = Field(default_factory=list[UserBlock])
    details: Any = None
    queue_item_id: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return [{"type": "text", "text": value}] if isinstance(value, str) else value

    @property
    def text(self) -> str:
        return "\n".join(b.text for b in self.content if isinstance(b, TextContent))


class UnknownMessage(BaseModel):
    """A kind this version does not know: every field kept and written back; never sent."""

    model_config = ConfigDict(extra="allow")
    role: str
    id: str = Field(default_factory=new_id)


_KNOWN = {
    "user", "assistant", "toolResult", "branchSummary", "compactionSummary", "bash", "custom",
}  # fmt: skip


def _tag(value: Any) -> str:
    if isinstance(value, dict):
        role = cast("dict[str, Any]", value).get("role")
    else:
        role = getattr(value, "role", None)
    return role if isinstance(role, str) and role in _KNOWN else "unknown"


AgentMessage = Annotated[
    Annotated[UserMessage, Tag("user")]
    | Annotated[AssistantMessage, Tag("assistant")]
    | Annotated[ToolResultMessage, Tag("toolResult")]
    | Annotated[BranchSummaryMessage, Tag("branchSummary")]
    | Annotated[CompactionSummaryMessage, Tag("compactionSummary")]
    | Annotated[BashExecutionMessage, Tag("bash")]
    | Annotated[CustomMessage, Tag("custom")]
    | Annotated[UnknownMessage, Tag("unknown")],
    Discriminator(_tag),
]
"""Anything a transcript can hold; tag `role`."""

Message = UserMessage | AssistantMessage | ToolResultMessage
"""What a stream function is handed (the diagram's "Message (LLM interface)")."""


def attached(message: AgentMessage) -> Iterator[tuple[Attachment, list[UserBlock]]]:
    """What came along with a message, each with its blocks."""
    if not isinstance(message, UserMessage):
        return
    at = len(message.said)
    for attachment in message.attachments:
        yield attachment, message.content[at : at + attachment.blocks]
        at += attachment.blocks


def text_content(text: str) -> list[TextContent | ImageContent]:
    """One text block in a list, as message contents want it."""
    return [TextContent(text=text)]


def normalize_prompt(
    prompt: "str | AgentMessage | Sequence[str | AgentMessage]",
) -> "list[AgentMessage]":
    """The diagram's normalizePrompt: a string, a message or a list of either → AgentMessage list.

    Raises ValueError for an empty list.
    """
    items = list(prompt) if isinstance(prompt, (list, tuple)) else [prompt]
    if not items:
        raise ValueError("a prompt needs at least one message")
    return [UserMessage(content=i) if isinstance(i, str) else i for i in items]  # type: ignore[arg-type]
