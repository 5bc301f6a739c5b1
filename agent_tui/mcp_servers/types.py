"""What the room gives to its neighbours: states, snapshots, questions and their answers.

Plain data, no SDK type in it. Strings that came from a server are as the server sent them
(secrets masked): faces show them through SafeText.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_tui.agent.messages import ImageContent, TextContent

ServerState = Literal[
    "connecting", "connected", "failed", "needs_auth", "awaiting_approval", "disabled"
]
Scope = Literal["conversation", "project", "user"]
Approval = Literal["ask", "allow", "deny"]
Exposure = Literal["direct", "programmatic", "both", "deferred", "off"]
LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class McpError(Exception):
    """Something about a server failed; str() is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """One tool of a server. alias: its name for the model; name: its own. exposure: what the
    configuration says, None if it says nothing. notes: what was changed to make it legal.
    input_schema: as the server sent it (what the model sees is AgentTool.parameters)."""

    alias: str
    name: str
    server: str
    title: str = ""
    description: str = ""
    approval: Approval = "ask"
    exposure: Exposure | None = None
    enabled: bool = True
    notes: tuple[str, ...] = ()
    input_schema: Any = None


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """A resource (uri) or, with template=True, a URI template such as `file:///{path}`."""

    server: str
    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str | None = None
    size: int | None = None
    template: bool = False


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class PromptInfo:
    server: str
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(slots=True)
class PromptMessage:
    """One message of a prompt, fit for a request: role "user" or "assistant"."""

    role: Literal["user", "assistant"]
    content: list[TextContent | ImageContent]


@dataclass(slots=True)
class ServerSnapshot:
    """All that a panel or `/mcp list` shows of one server, secrets masked.

    target: command line or URL. source: the file it is configured in, "" for a server of this
    conversation. error: why it is not connected, or what went wrong last. retry_in_s: until
    the next try of a failed one; None: it stays as it is until someone reconnects it.
    latency_ms: of the last answer. left_out: tools that cannot be offered, with the reason.
    approval_text: what the user is asked to approve: of a server that waits for it, or of a
    project's server in whose place the user's own of that name is used; approval_source: its
    file. hidden: why that project's server is not used, "" where there is none.
    """

    name: str
    scope: Scope
    source: str
    transport: Literal["stdio", "http", "sse"]
    target: str
    state: ServerState
    error: str | None = None
    retry_in_s: float | None = None
    connected_s: float | None = None
    latency_ms: float | None = None
    protocol: str = ""
    server_title: str = ""
    instructions: str = ""
    tools: list[ToolInfo] = field(default_factory=list[ToolInfo])
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    resources: int = 0
    prompts: int = 0
    running_calls: int = 0
    warnings: list[str] = field(default_factory=list[str])
    log_path: str = ""
    log_tail: list[str] = field(default_factory=list[str])
    approval_text: str = ""
    approval_source: str = ""
    hidden: str = ""


# --- events ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ServerChanged:
    """A server's state or error changed. tools: how many it offers now."""

    server: str
    state: ServerState
    tools: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolsChanged:
    """The tools of a server are others now: ask McpManager.tools(server)."""

    server: str


@dataclass(frozen=True, slots=True)
class CatalogChanged:
    """Resources or prompts of a server are others now."""

    server: str
    what: Literal["resources", "prompts"]


@dataclass(frozen=True, slots=True)
class ServerRemoved:
    server: str


@dataclass(frozen=True, slots=True)
class Notice:
    """One line the user should see once (a tool left out, a list cut short)."""

    server: str
    text: str


@dataclass(frozen=True, slots=True)
class UrlDone:
    """What a UrlQuestion asked for is done, says the server."""

    server: str
    elicitation_id: str


McpEvent = UrlDone | ServerChanged | ToolsChanged | CatalogChanged | ServerRemoved | Notice

# --- what a server asks -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """A server wants data from the user. schema: a flat JSON Schema of an object, checked."""

    server: str
    message: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class UrlQuestion:
    """A server wants the user to open an address (sign in, pay): never opened unasked."""

    server: str
    message: str
    url: str
    elicitation_id: str = ""


@dataclass(frozen=True, slots=True)
class ElicitAnswer:
    """action accept | decline | cancel; content only with accept of a form."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


Elicit = Callable[[FormQuestion | UrlQuestion], Awaitable[ElicitAnswer]]
"""Asks the user. Cancelled when the server takes the question back or its call is stopped."""


@dataclass(frozen=True, slots=True)
class SamplingQuestion:
    """A server wants an answer of the model. messages: (role, blocks). max_tokens is already
    capped; hints: names of models it would like; left_out: what it also wanted but cannot get
    (tools, context of other servers, audio), in words."""

    server: str
    messages: tuple[PromptMessage, ...]
    system_prompt: str = ""
    max_tokens: int = 1024
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SamplingAnswer:
    """text: what the model said; None: the user refused. stop_reason: the API's own word."""

    text: str | None
    model: str = ""
    stop_reason: str = "end_turn"


Sample = Callable[[SamplingQuestion], Awaitable[SamplingAnswer]]
"""Asks the user, then the model. Cancelled as Elicit is."""


class Capped(Protocol):
    """Text that fits the model; path: where the whole is, if it was too much."""

    @property
    def text(self) -> str: ...

    @property
    def path(self) -> str | None: ...


CapText = Callable[[str, str], Capped]
"""(text, name) → text that fits, the whole saved. Called in a thread; tools.cap_text does it."""
