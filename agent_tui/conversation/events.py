"""ConversationEvents: what surrounds the AgentEvents (DESIGN: Vocabulary). Tag `type`.

A subscriber of a Conversation gets both. JSON by agent.events.to_json.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Status = Literal["ready", "waiting", "streaming", "tools", "stopping"]


@dataclass(slots=True)
class QueueEntry:
    """One pending queue item as faces see it. delivery: when it will go out, in words."""

    id: str
    kind: Literal["steer", "follow_up"]
    text: str
    state: str
    delivery: str


@dataclass(slots=True)
class QueueChangedEvent:
    type: ClassVar[Literal["queue_changed"]] = "queue_changed"
    items: list[QueueEntry]
    paused: bool


@dataclass(slots=True)
class QueueDeliveredEvent:
    """Where an item landed: "turn 3, after 2 tool results"."""

    type: ClassVar[Literal["queue_delivered"]] = "queue_delivered"
    item_id: str
    kind: str
    text: str
    landed: str


@dataclass(slots=True)
class ProgramRun:
    """One program of a container. number: in the conversation, 0 for a command line.
    started_at: seconds since 1970.

    state: written (the model is still at its code) | running | done | failed | stopped.
    seconds: how long it took, waiting for its calls included; None until it ended, or where
    that is not known; about: measured between stored messages. exit_code: None until it ended.
    """

    id: str
    number: int
    state: str
    started_at: float | None = None
    seconds: float | None = None
    about: bool = False
    exit_code: int | None = None
    error_code: str | None = None
    calls: int = 0
    failed: int = 0


@dataclass(slots=True)
class ContainerChangedEvent:
    """expires_at: ISO 8601 as sent. pending: calls a paused program waits for,
    as the service counts: also those whose results have not gone out yet.

    id "": the user has given the container up. programs, calls, failed: of this container.
    runs: its newest programs. kept_out_tokens_estimate, round_trips_saved: of the conversation;
    messages_api.container.ContainerState defines both. answer_due_at,
    created_at: seconds since 1970. held_until: a program was given up while it was paused, and
    the service holds it until about then (paused, with nothing pending). files: the API's file
    blocks, with name, size and media_type where known; attached: uploads that go out with the
    next message.
    """

    type: ClassVar[Literal["container_changed"]] = "container_changed"
    id: str
    state: Literal["created", "busy", "paused", "idle", "expired"]
    expires_at: str | None = None
    pending: int = 0
    location: Literal["hosted", "local"] = "hosted"
    reused: int = 0
    programs: int = 0
    last_output: str = ""
    files: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    created_at: float | None = None
    answer_due_at: float | None = None
    calls: int = 0
    failed: int = 0
    runs: list[ProgramRun] = field(default_factory=list[ProgramRun])
    kept_out_tokens_estimate: int = 0
    round_trips_saved: int = 0
    attached: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    held_until: float | None = None


@dataclass(slots=True)
class McpServerChangedEvent:
    """state: connecting | connected | failed | needs_auth | awaiting_approval | disabled, or
    removed: there is no such server any more."""

    type: ClassVar[Literal["mcp_server_changed"]] = "mcp_server_changed"
    server: str
    state: str
    tools: int = 0
    error: str | None = None


@dataclass(slots=True)
class PermissionRequestEvent:
    """A call waits for the user: Conversation.answer(request_id, decision, reason).

    rule: what "always" would allow, in words ("shell" or 'shell: git push'). program: which
    program of the conversation made the call, counted from 1; None for the model itself. diff:
    what a write or an edit would change; note: what else the user should know of it. server,
    server_tool: of an MCP server's tool, the server and the tool's own name there.
    """

    type: ClassVar[Literal["permission_request"]] = "permission_request"
    request_id: str
    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    caller: dict[str, Any] | None = None
    rule: str = ""
    program: int | None = None
    diff: str = ""
    note: str = ""
    server: str = ""
    server_tool: str = ""


@dataclass(slots=True)
class PermissionDelayedEvent:
    """A program's call still waits for the user, and the program waits for the call: waited_s
    seconds so far, and after about limit_s it gives up."""

    type: ClassVar[Literal["permission_delayed"]] = "permission_delayed"
    request_id: str
    tool_call_id: str
    waited_s: float
    limit_s: float


@dataclass(slots=True)
class PermissionResolvedEvent:
    """decision: allow | allow_always | deny | withdrawn (the run was stopped meanwhile)."""

    type: ClassVar[Literal["permission_resolved"]] = "permission_resolved"
    request_id: str
    tool_call_id: str
    decision: str


QuestionKind = Literal["form", "url", "sampling", "sampling_result", "login"]


@dataclass(slots=True)
class ServerQuestionEvent:
    """An MCP server asks: Conversation.answer_question(request_id, action, content).

    form: wants the fields of schema (a flat JSON Schema of an object; content of accept). url:
    wants this address opened; whoever accepts opens it. sampling: wants an answer of the model;
    details: model, max_tokens, system_prompt, messages, hints, left_out. sampling_result: this
    answer (details: text, model, stop_reason) would be sent. login: the user logs in at url;
    accept with {"code": ...} for a code, or the address at which the browser ended.
    """

    type: ClassVar[Literal["server_question"]] = "server_question"
    request_id: str
    server: str
    kind: QuestionKind
    message: str
    schema: dict[str, Any] | None = None
    url: str = ""
    details: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class ServerQuestionResolvedEvent:
    """action: accept | decline | cancel | withdrawn (the server took it back, or its call was
    stopped)."""

    type: ClassVar[Literal["server_question_resolved"]] = "server_question_resolved"
    request_id: str
    server: str
    action: str


@dataclass(slots=True)
class RetryEvent:
    """A failed request is tried again after wait_s seconds; attempt counts from 1, and
    is 0 where nothing failed: the user asks for another answer.

    strikes: id of the broken, partly shown message that leaves the transcript for it.
    """

    type: ClassVar[Literal["retry"]] = "retry"
    attempt: int
    wait_s: float
    reason: str
    strikes: str | None = None


@dataclass(slots=True)
class UsageChangedEvent:
    """Session totals. cost: US dollars, None = a price or count is unknown; cost_at_least: what is
    known of it. context_*: last request's tokens and the model's window (None unknown).
    thinking: output tokens spent on it, None where never told. server_tools: requests by tool.
    rate: output tokens a second of the last answer."""

    type: ClassVar[Literal["usage"]] = "usage"
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: float | None
    context_tokens: int | None = None
    context_window: int | None = None
    cost_at_least: float = 0.0
    thinking: int | None = None
    server_tools: dict[str, int] = field(default_factory=dict[str, int])
    rate: float | None = None


CacheCause = Literal["", "model", "tools", "system", "parameters", "history", "expired", "unknown"]


@dataclass(slots=True)
class CacheEvent:
    """What the prompt cache did for one answer. read, written, uncached: tokens of its request.

    expected: tokens that the requests before had left in the cache. broke: fewer than those were
    read; lost: how many fewer, cause and detail (a sentence): what had changed.
    """

    type: ClassVar[Literal["cache"]] = "cache"
    number: int
    read: int
    written: int
    uncached: int
    expected: int = 0
    broke: bool = False
    lost: int = 0
    cause: CacheCause = ""
    detail: str = ""


@dataclass(slots=True)
class ContextChangedEvent:
    """What a request holds, by source: tokens, estimated and scaled to the total. exact: the
    total was counted by the service, else it is an estimate as well. window None: unknown."""

    type: ClassVar[Literal["context"]] = "context"
    sources: dict[str, int]
    total: int
    exact: bool
    window: int | None = None


@dataclass(slots=True)
class StatusChangedEvent:
    """Made at once when the phase changes (also by abort: "stopping"), not awaited in the loop."""

    type: ClassVar[Literal["status"]] = "status"
    status: Status


@dataclass(slots=True)
class SettingChangedEvent:
    """model or thinking changed; takes effect at the next request."""

    type: ClassVar[Literal["setting_changed"]] = "setting_changed"
    name: str
    value: str


@dataclass(slots=True)
class CommandRanEvent:
    """A command that had waited for the end of the run was carried out now; the rest is as in
    CommandResult."""

    type: ClassVar[Literal["command_ran"]] = "command_ran"
    line: str
    text: str = ""
    error: str | None = None
    action: str | None = None
    data: dict[str, Any] | None = None


@dataclass(slots=True)
class UserCommandEvent:
    """A command that the user runs with `!` (exclude: `!!`, kept out of the context). id: of the
    message that it becomes. text: while it runs what its output has more, as a terminal shows
    it (see tools.shell.run_command); once it has ended all of it."""

    type: ClassVar[Literal["user_command"]] = "user_command"
    id: str
    command: str
    exclude: bool
    state: Literal["running", "ended", "stopped"]
    text: str = ""
    exit_code: int | None = None


@dataclass(slots=True)
class NoticeEvent:
    """A line for the user, from the program itself. level error: say what to do."""

    type: ClassVar[Literal["notice"]] = "notice"
    level: Literal["info", "warning", "error"]
    text: str


ConversationEvent = (
    QueueChangedEvent | QueueDeliveredEvent | ContainerChangedEvent | McpServerChangedEvent
    | PermissionRequestEvent | PermissionDelayedEvent | PermissionResolvedEvent | RetryEvent
    | ServerQuestionEvent | ServerQuestionResolvedEvent
    | UsageChangedEvent | CacheEvent | ContextChangedEvent
    | StatusChangedEvent | SettingChangedEvent | CommandRanEvent | NoticeEvent
    | UserCommandEvent
)  # fmt: skip
