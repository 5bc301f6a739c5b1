"""What the tests of faults share: a conversation against the offline server, a scripted model
on a clock that jumps, tools that wait for a word, and the rules of a valid request."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_tui.agent.agent import Agent
from agent_tui.agent.events import (
    DoneEvent,
    OpaqueEvent,
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
    AgentMessage,
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.conversation.build import build_conversation
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.endpoint import Endpoint, configured_endpoint
from agent_tui.conversation.event_hub import AnyEvent
from agent_tui.conversation.events import NoticeEvent, RetryEvent
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.conversation.retry import RetryPolicy
from agent_tui.conversation.toolset import BUILTIN
from agent_tui.messages_api.client import ApiEndpoint
from agent_tui.messages_api.request import build_request
from agent_tui.offline import OfflineServer, Scenario, validate_request
from agent_tui.offline.containers import ContainerOptions
from agent_tui.sessions.store import Session
from agent_tui.settings import Settings, load_settings

BOUND_S = 20.0
"""Nothing waits so long unless it is broken."""

Body = dict[str, Any]
Turn = dict[str, Any]

# --- over real HTTP ------------------------------------------------------------------------


class Talk:
    """A conversation and the server it talks to."""

    def __init__(self, conversation: Conversation, server: OfflineServer) -> None:
        self.conversation = conversation
        self.server = server
        self.events: list[AnyEvent] = []
        self._news = asyncio.Event()
        conversation.subscribe(self._arrived)

    def _arrived(self, event: AnyEvent) -> None:
        self.events.append(event)
        self._news.set()

    async def say(self, text: str) -> None:
        """Send it and wait until the conversation is idle again."""
        await self.conversation.submit(text)
        await self.idle()

    async def idle(self) -> None:
        async with asyncio.timeout(BOUND_S):
            await self.conversation.wait_idle()

    async def until(self, condition: Callable[[], Any]) -> Any:
        """The first true value of the condition, looked at after each event."""
        async with asyncio.timeout(BOUND_S):
            while not (value := condition()):
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    # What only the server knows makes no event here.
                    await asyncio.wait_for(self._news.wait(), 0.02)
            return value

    async def until_event(self, type_: str, count: int = 1) -> Any:
        """Until so many events of this type have come; gives the last of them."""
        await self.until(lambda: len(self.all(type_)) >= count)
        return self.all(type_)[count - 1]

    async def until_stream(self, kind: str) -> None:
        """Until an update of this kind (text_delta, ...) has come."""
        await self.until(lambda: any(e.event.type == kind for e in self.all("message_update")))

    def all(self, type_: str) -> list[Any]:
        return [event for event in self.events if event.type == type_]

    @property
    def notices(self) -> str:
        return "\n".join(e.text for e in self.events if isinstance(e, NoticeEvent))

    @property
    def retries(self) -> list[RetryEvent]:
        return [e for e in self.events if isinstance(e, RetryEvent)]

    @property
    def last(self) -> AssistantMessage:
        return next(
            m for m in reversed(self.conversation.messages) if isinstance(m, AssistantMessage)
        )

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The server's journal of requests to the model."""
        return [e for e in self.server.journal if e["path"].startswith("/v1/messages")]

    @property
    def bodies(self) -> list[Body]:
        return [entry["body"] for entry in self.entries]

    def assert_accepted(self, *but: int) -> None:
        """Every request was valid and answered 200 (but: the numbers, from 0, that were not)."""
        for number, entry in enumerate(self.entries):
            if number not in but:
                assert entry["status"] in (200, None), (number, entry["error"], entry["rule"])


NO_WAIT = RetryPolicy(first_wait_s=0.01)
"""Retries that cost a test no time."""


@contextlib.asynccontextmanager
async def talking(
    *turns: Turn,
    cwd: Path,
    tools: Sequence[AgentTool] | None = None,
    session: Session | None = None,
    allow: Sequence[str] = (),
    retry: RetryPolicy = NO_WAIT,
    top: dict[str, Any] | None = None,
    containers: ContainerOptions | None = None,
    **settings: Any,
) -> AsyncIterator[Talk]:
    """A conversation with a server that plays these turns. tools None: the built-in ones;
    all of these are allowed. top: no_rules, models. containers: how the server's behave.
    settings: by name."""
    scenario = Scenario(turns=list(turns), **(top or {}))
    server = OfflineServer(scenario=scenario, containers=containers)
    await asyncio.to_thread(server.start)
    try:
        flags = {"base_url": server.url, "api_key": "sk-test-key"} | settings
        loaded = load_settings(cwd=str(cwd), flags=flags, environ={})
        endpoint = configured_endpoint(loaded.settings, {})
        assert endpoint is not None
        conversation = await build_conversation(
            loaded,
            endpoint,
            str(cwd),
            session=session,
            allow=[*allow, *(t.name for t in tools or ())],
            retry_policy=retry,
        )
        if tools is not None:
            conversation.toolset.offer(BUILTIN, tools)
        talk = Talk(conversation, server)
        try:
            yield talk
        finally:
            await conversation.close()
    finally:
        await asyncio.to_thread(server.stop)


# --- what a request holds ----------------------------------------------------------------------


def blocks(body: Body, kind: str, role: str | None = None) -> list[dict[str, Any]]:
    """The blocks of this type in the body's messages, in order."""
    return [
        block
        for message in body["messages"]
        if role in (None, message["role"])
        for block in message["content"]
        if block["type"] == kind
    ]


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"]]


def said(message: dict[str, Any]) -> list[str]:
    """The texts of one message."""
    return [block["text"] for block in message["content"] if block["type"] == "text"]


def without_marks(value: Any) -> Any:
    """As it was, but for cache_control."""
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [without_marks(v) for v in value] if isinstance(value, list) else value


def assert_valid(messages: Sequence[Any], tools: Sequence[AgentTool] = ()) -> Body:
    """A request made of these messages (as a stream function gets them) breaks no rule."""
    context = LLMContext("Be brief.", list(messages), list(tools))
    body = build_request("claude-sonnet-5-5", context, StreamOptions(container_id="container_1"))
    problems = validate_request({**body, "stream": True})
    assert not problems, [p.message for p in problems]
    return body


# --- tools ------------------------------------------------------------------------------------


class Gate:
    """A tool `name` that says when it has begun and ends when it may. begun: ids of calls."""

    def __init__(
        self, name: str = "work", *, result: str = "done", sequential: bool = False, **wire: Any
    ) -> None:
        self.name = name
        self.result = result
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self.stubborn = False
        self.mode = "sequential" if sequential else "parallel"
        self.wire = wire
        self._go: dict[str, asyncio.Event] = {}

    def may_end(self, call_id: str) -> None:
        self._go.setdefault(call_id, asyncio.Event()).set()

    @property
    def tool(self) -> AgentTool:
        return AgentTool(
            self.name,
            "Works until it may end.",
            {"type": "object", "properties": {}},
            self._execute,
            execution_mode=self.mode,  # type: ignore[arg-type]
            wire=self.wire,
        )

    async def _execute(
        self, call_id: str, arguments: dict[str, Any], ctx: ToolContext
    ) -> ToolResult:
        self.begun.append(call_id)
        try:
            await self._go.setdefault(call_id, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(call_id)
            if not self.stubborn:
                raise
            await asyncio.Event().wait()
        self.ended.append(call_id)
        return ToolResult.text(self.result)


def instant(name: str = "work", result: str = "done", **wire: Any) -> AgentTool:
    """A tool that answers at once."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult.text(result)

    schema = {"type": "object", "properties": {}}
    return AgentTool(name, "Answers at once.", schema, execute, wire=wire)


def slow(name: str = "work", seconds: float = 10.0, *, sequential: bool = False) -> AgentTool:
    """A tool that takes so long by the loop's clock."""

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        await asyncio.sleep(seconds)
        return ToolResult.text(f"{call_id} done")

    return AgentTool(
        name,
        "Takes its time.",
        {"type": "object", "properties": {}},
        execute,
        execution_mode="sequential" if sequential else "parallel",
    )


# --- a scripted model --------------------------------------------------------------------------


def reply(
    text: str = "",
    *calls: str,
    thinking: str = "",
    stop: str = "",
    tool: str = "work",
    content: Sequence[Any] = (),
) -> AssistantMessage:
    """An answer: thinking (signed), text, a call of `tool` for each id, then `content`."""
    made: list[Any] = []
    if thinking:
        made.append(ThinkingContent(thinking=thinking, signature="s" * 40))
    if text:
        made.append(TextContent(text=text))
    made += [ToolCall(id=call, name=tool) for call in calls]
    made += content
    has_calls = any(isinstance(block, ToolCall) for block in made)
    stop = stop or ("tool_use" if has_calls else "end_turn")
    return AssistantMessage(content=made, stop_reason=stop, model="m", api_id="msg_1")


@dataclass
class Script:
    """A stream function: each answer streamed word by word, an event each `step_s` seconds.
    contexts: what it was handed, call by call. Past the list: "(unscripted)"."""

    answers: list[AssistantMessage]
    first_s: float = 0.1
    step_s: float = 0.01
    contexts: list[list[Any]] = field(default_factory=list[list[Any]])

    async def __call__(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        self.contexts.append(list(context.messages))
        answer = self.answers.pop(0) if self.answers else reply("(unscripted)")
        await asyncio.sleep(self.first_s)
        for event in events_of(answer):
            yield event
            await asyncio.sleep(self.step_s)


def events_of(message: AssistantMessage) -> list[StreamEvent]:
    """The events by which a stream tells this message."""
    events: list[StreamEvent] = [StartEvent(message.api_id, message.model)]
    for index, block in enumerate(message.content):
        match block:
            case TextContent():
                events.append(TextStartEvent(index))
                events += [TextDeltaEvent(index, w + " ") for w in block.text.split()]
                events.append(TextEndEvent(index, block))
            case ThinkingContent():
                events.append(ThinkingStartEvent(index))
                events += [ThinkingDeltaEvent(index, w + " ") for w in block.thinking.split()]
                events.append(ThinkingEndEvent(index, block))
            case ToolCall():
                begun = block.model_copy(update={"arguments": {}, "complete": False})
                events.append(ToolCallStartEvent(index, begun))
                events.append(ToolCallDeltaEvent(index, "{}"))
                events.append(ToolCallEndEvent(index, block))
            case OpaqueContent():
                begun = OpaqueContent(raw={**block.raw}, complete=False)
                events.append(OpaqueEvent(index, "start", begun))
                events.append(OpaqueEvent(index, "end", block))
    return [*events, DoneEvent(message)]


def make_agent(
    script: Script, *tools: AgentTool, messages: Sequence[AgentMessage] = (), **config: Any
) -> Agent:
    return Agent(
        AgentLoopConfig(model="m", stream_function=script, tools=list(tools), **config),
        messages=messages,
    )


def make_conversation(script: Script, *tools: AgentTool, **settings: Any) -> Conversation:
    """A whole conversation over a scripted model: no server, no disk, fit for a clock that
    jumps (it starts no thread). All its tools are allowed."""
    endpoint = Endpoint(ApiEndpoint(base_url="http://127.0.0.1:1", api_key="sk-test-key"))
    return Conversation(
        settings=Settings(**settings),
        endpoint=endpoint,
        stream_function=script,
        tools=tools,
        cwd="/",
        models=ModelChoice(endpoint, "claude-sonnet-5-5", explicit=True),
        session=Session.in_memory("/"),
        allow=[tool.name for tool in tools],
    )


def user_texts(messages: Sequence[Any]) -> list[str]:
    """What the user said in these messages, in order."""
    return [m.text for m in messages if m.role == "user"]


def moments(end_s: float, step_s: float = 0.05) -> Iterator[float]:
    """0, step, ... up to the end, in seconds."""
    at_s = 0.0
    while at_s < end_s:
        yield at_s
        at_s += step_s
