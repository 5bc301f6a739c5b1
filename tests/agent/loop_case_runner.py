"""Runs one case of a loop_cases file; the file's own "schema" says what its keys mean."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import clock_loop

from agent_tui.agent.agent import Agent, AgentBusyError
from agent_tui.agent.events import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
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
from agent_tui.agent.loop import (
    AfterToolCallContext,
    AfterToolCallResult,
    AgentContext,
    AgentLoopConfig,
    BeforeToolCallContext,
    BeforeToolCallResult,
    LLMContext,
    NextTurnSnapshot,
    PrepareNextTurnContext,
    StreamOptions,
)
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.conversation.validation import validate_arguments

Case = dict[str, Any]

_KNOWN_KEYS = {
    "case": "name why run prompt initial_messages config model_turns tools actions expect",
    "turn": "thinking text tool_calls delay chunk_delay stop_reason error throw no_start",
    "call": "id name args caller",
    "tool": "name result delay mode error is_error details terminate updates offset step "
    "late_update prepare required schema echo_args ignore_signal",
    "action": "at do text new_text tools id",
    "config": "before after log_hooks tool_execution steering_mode follow_up_mode "
    "stop_after_turn prepare_next_turn transform convert then_prompt then slow_listener "
    "report_queues",
    "before": "block reason terminate throw delay",
    "after": "content details is_error terminate throw",
    "prepare": "model thinking delay steer replace_messages",
    "expect": "event_order llm_contexts final_messages requests prompt_error raised queued_after",
}


def check_keys(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """A key that the runner does not know would be a rule that is not tested."""
    unknown = set(given) - set(_KNOWN_KEYS[kind].split())
    assert not unknown, f"unknown keys in a {kind}: {sorted(unknown)}"
    return given


def run_case(case: Case) -> None:
    """Run the case and assert all that it expects."""
    check_keys("case", case)
    run = _CaseRun(case)
    clock_loop.run(run.play())
    _compare(case, run)


# --- what happened against what was expected --------------------------------------------


def _compare(case: Case, run: "_CaseRun") -> None:
    expect = check_keys("expect", case["expect"])
    assert run.order == expect["event_order"], "the order of events"
    _same_messages(run.contexts, expect["llm_contexts"], "llm_contexts")
    final = [_described(m, final=True) for m in run.agent.state.messages]
    _same_messages([final], [expect["final_messages"]], "final_messages")
    if "requests" in expect:
        assert run.requests == expect["requests"]
    _same_text(run.prompt_error, expect.get("prompt_error"), "prompt_error")
    _same_text(run.raised, expect.get("raised"), "raised")
    if "queued_after" in expect:
        assert bool(run.agent.queue.items()) == expect["queued_after"], "queued_after"


def _same_messages(
    actual: list[list[dict[str, Any]]], expected: list[list[dict[str, Any]]], what: str
) -> None:
    plain = [[{**m} for m in messages] for messages in actual]
    for messages, wanted in zip(plain, expected, strict=False):
        for message, pattern in zip(messages, wanted, strict=False):
            if "details" not in pattern:
                message.pop("details", None)
            for key in ("content", "error"):
                want = pattern.get(key)
                if key in message and isinstance(want, dict) and _contains(message[key], want):
                    message[key] = want
    assert plain == expected, what


def _contains(text: str, pattern: dict[str, list[str]]) -> bool:
    return all(word in text for word in pattern["contains"])


def _same_text(actual: str | None, expected: Any, what: str) -> None:
    if isinstance(expected, dict):
        assert actual is not None, f"{what}: nothing was raised"
        assert _contains(actual, expected), f"{what}: {actual!r} should contain {expected}"
    else:
        assert actual == expected, what


def _described(message: AgentMessage, *, final: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": _content(message)}
    if isinstance(message, ToolResultMessage):
        out["id"] = message.tool_call_id
        if message.is_error:
            out["is_error"] = True
        if final and message.details is not None:
            out["details"] = message.details
    if final and isinstance(message, AssistantMessage):
        if message.stop_reason not in ("end_turn", "tool_use"):
            out["stop_reason"] = message.stop_reason
        if message.error_message is not None:
            out["error"] = message.error_message
    return out


def _content(message: AgentMessage) -> str:
    match message:
        case AssistantMessage():
            return "|".join(_block(block) for block in message.content)
        case UserMessage() | ToolResultMessage() | CustomMessage():
            return message.text
        case BranchSummaryMessage() | CompactionSummaryMessage():
            return message.summary
        case BashExecutionMessage():
            return message.command
        case _:
            return (message.model_extra or {})["content"]


def _block(block: Any) -> str:
    match block:
        case TextContent():
            return block.text
        case ThinkingContent():
            return f"<thinking:{block.thinking}>"
        case ToolCall():
            arguments = json.dumps(block.arguments, separators=(",", ":"))
            return f"<call {block.id} {block.name} {arguments}>"
        case _:
            raise AssertionError(f"a block that no case knows: {block}")


# --- the run ------------------------------------------------------------------------------


class _CaseRun:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.config = check_keys("config", case["config"])
        self.order: list[str] = []
        self.contexts: list[list[dict[str, Any]]] = []
        self.requests: list[dict[str, Any]] = []
        self.prompt_error: str | None = None
        self.raised: str | None = None
        self.seen: Counter[str] = Counter()
        self.turns_prepared = 0
        self.turns_ended = 0
        self.tools = {t["name"]: _tool(check_keys("tool", t)) for t in case["tools"]}
        self.actions: list[tuple[str, int, dict[str, Any]]] = []
        for action in case["actions"]:
            at, _, number = check_keys("action", action)["at"].partition("#")
            self.actions.append((at, int(number or 1), action))
        for turn in case["model_turns"]:
            check_keys("turn", turn)

    async def play(self) -> None:
        self.agent = Agent(
            self._loop_config(),
            messages=[m for spec in self.case.get("initial_messages", ()) for m in _initial(spec)],
        )
        self.agent.queue.steering_mode = self.config.get("steering_mode", "one-at-a-time")
        self.agent.queue.follow_up_mode = self.config.get("follow_up_mode", "one-at-a-time")
        self.agent.subscribe(self._on_event)
        self.agent.subscribe(self._slow_listener)
        timers = [
            asyncio.create_task(self._at_time(float(at.removeprefix("time:")), action))
            for at, _, action in self.actions
            if at.startswith("time:")
        ]
        await self._act("before_run")
        if self.case["run"] == "prompt":
            await self._returns(self.agent.start(self.case["prompt"]))
        else:
            await self._returns(self.agent.continue_())
        for prompt in self.config.get("then_prompt", ()):
            await self._returns(self.agent.start(prompt))
        if "then" in self.config:
            assert self.config["then"] == "drop_last_and_continue"
            self.agent.drop_last_message()
            await self._returns(self.agent.continue_())
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)
        await asyncio.sleep(60)  # what comes too late comes now

    async def _returns(self, call: Any) -> None:
        try:
            await call
        except ValueError as error:
            self.raised = str(error)
        else:
            self.order.append("idle")

    def _loop_config(self) -> AgentLoopConfig:
        given = self.config
        assert given.get("convert", "coding_agent") in ("coding_agent", "throw")
        return AgentLoopConfig(
            model="m1",
            stream_function=self._stream,
            tools=list(self.tools.values()),
            validate_arguments=validate_arguments,
            tool_execution=given.get("tool_execution", "parallel"),
            before_tool_call=self._before if "before" in given or "log_hooks" in given else None,
            after_tool_call=self._after if "after" in given else None,
            prepare_next_turn=self._prepare_next_turn if "prepare_next_turn" in given else None,
            should_stop_after_turn=self._should_stop if "stop_after_turn" in given else None,
            transform_context=_keep_last_plus_note if "transform" in given else None,
            convert_to_llm=_throw_convert if given.get("convert") == "throw" else None,
        )

    # --- the model -----------------------------------------------------------------------

    def _stream(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        turns = self.case["model_turns"]
        number = len(self.contexts)
        turn = turns[number] if number < len(turns) else {"text": "(unscripted)"}
        self.contexts.append([_described(m, final=False) for m in context.messages])
        self.requests.append({"model": model, "thinking": options.thinking_level})
        if "throw" in turn:
            raise RuntimeError(turn["throw"])
        return _scripted(turn)

    # --- hooks ---------------------------------------------------------------------------

    async def _before(self, context: BeforeToolCallContext) -> BeforeToolCallResult | None:
        call = context.tool_call
        rule = self._rule("before", call.name)
        if self.config.get("log_hooks"):
            self.order.append(f"hook:before_start:{call.id}")
        await asyncio.sleep(rule.get("delay", 0) / 1000)
        if self.config.get("log_hooks"):
            self.order.append(f"hook:before_end:{call.id}")
        if "throw" in rule:
            raise RuntimeError(rule["throw"])
        if not rule.get("block"):
            return None
        return BeforeToolCallResult(True, rule.get("reason"), rule.get("terminate", False))

    async def _after(self, context: AfterToolCallContext) -> AfterToolCallResult | None:
        rule = self._rule("after", context.tool_call.name)
        if "throw" in rule:
            raise RuntimeError(rule["throw"])
        content = rule.get("content")
        return AfterToolCallResult(
            content=None if content is None else text_content(content),
            details=rule.get("details", ...),
            is_error=rule.get("is_error"),
            terminate=rule.get("terminate"),
        )

    def _rule(self, hook: str, name: str) -> dict[str, Any]:
        rules = self.config.get(hook, {})
        return check_keys(hook, rules.get(name, rules.get("*", {})))

    async def _prepare_next_turn(self, context: PrepareNextTurnContext) -> NextTurnSnapshot | None:
        self.order.append("hook:prepare_next_turn")
        self.turns_prepared += 1
        assert context.message in context.new_messages
        if self.config["prepare_next_turn"] == {"log": True}:
            return None
        rule = self.config["prepare_next_turn"].get(str(self.turns_prepared))
        if rule is None:
            return None
        check_keys("prepare", rule)
        await asyncio.sleep(rule.get("delay", 0) / 1000)
        if "steer" in rule:
            self.agent.steer(rule["steer"])
        replaced = None
        if "replace_messages" in rule:
            messages: list[AgentMessage] = [
                UserMessage(content=text_content(text)) for text in rule["replace_messages"]
            ]
            replaced = AgentContext(context.context.system_prompt, messages, context.context.tools)
        return NextTurnSnapshot(replaced, rule.get("model"), rule.get("thinking"))

    async def _should_stop(self, context: PrepareNextTurnContext) -> bool:
        self.turns_ended += 1
        return self.turns_ended == self.config["stop_after_turn"]

    # --- events and actions ----------------------------------------------------------------

    async def _on_event(self, event: AgentEvent) -> None:
        token = _token(event)
        if token == "message_update":
            if not self.order or self.order[-1] != "message_update*":
                self.order.append("message_update*")
        else:
            self.order.append(token)
        for name in {token, token.removesuffix(":error"), *_more_names(event)}:
            await self._act(name)

    async def _slow_listener(self, event: AgentEvent) -> None:
        slow = self.config.get("slow_listener")
        if slow and slow["event"] in {_token(event), event.type}:
            await asyncio.sleep(slow["delay"] / 1000)
            self.order.append(f"listener_done:{slow['event']}")

    async def _act(self, name: str) -> None:
        self.seen[name] += 1
        for at, number, action in self.actions:
            if at == name and number == self.seen[name]:
                await self._do(action)

    async def _at_time(self, ms: float, action: dict[str, Any]) -> None:
        await asyncio.sleep(ms / 1000)
        await self._do(action)

    async def _do(self, action: dict[str, Any]) -> None:
        agent, queue = self.agent, self.agent.queue
        text = action.get("text", "")

        def item_id() -> str:
            return next(i.id for i in queue.items() if i.text == text)

        match action["do"]:
            case "steer":
                agent.steer(text)
            case "follow_up":
                agent.follow_up(text)
            case "abort":
                self.order.append("!abort")
                agent.abort()
            case "prompt":
                try:
                    await agent.start(text)
                except AgentBusyError as error:
                    self.prompt_error = str(error)
            case "set_tools":
                agent.set_tools(
                    [
                        self.tools[t] if isinstance(t, str) else _tool(check_keys("tool", t))
                        for t in action["tools"]
                    ]
                )
            case "withdraw":
                queue.withdraw(item_id())
            case "promote":
                queue.promote(item_id())
            case "demote":
                queue.demote(item_id())
            case "edit":
                queue.edit(item_id(), action["new_text"])
            case "pause_queue":
                queue.pause()
            case "resume_queue":
                queue.resume()
            case "send_now":
                agent.send_now()
            case "abort_tool":
                agent.abort_tool(action["id"])
            case other:
                raise AssertionError(f"unknown action {other!r}")


def _token(event: AgentEvent) -> str:
    match event.type:
        case "message_start" | "message_end":
            message = event.message
            suffix = f":{message.tool_call_id}" if isinstance(message, ToolResultMessage) else ""
            return f"{event.type}:{message.role}{suffix}"
        case "tool_execution_start":
            return f"{event.type}:{event.tool_call_id}"
        case "tool_execution_update":
            return f"{event.type}:{event.tool_call_id}:{event.partial}"
        case "tool_execution_end":
            return f"{event.type}:{event.tool_call_id}{':error' if event.is_error else ''}"
        case _:
            return event.type


def _more_names(event: AgentEvent) -> list[str]:
    return [f"message_update:{event.event.type}"] if event.type == "message_update" else []


# --- the scripted model -------------------------------------------------------------------


async def _scripted(turn: dict[str, Any]) -> AsyncIterator[StreamEvent]:
    await asyncio.sleep(turn.get("delay", 0) / 1000)
    message = _message_of(turn)
    if not turn.get("no_start"):
        yield StartEvent(message_id="msg_scripted", model="scripted")
        for index, block in enumerate(message.content):
            async for event in _block_events(index, block, turn.get("chunk_delay", 0) / 1000):
                yield event
    if "error" in turn:
        message = message.model_copy(
            update={
                "stop_reason": "error",
                "error_message": turn["error"],
                "error_type": turn["error"],
            }
        )
        yield ErrorEvent(message)
    else:
        yield DoneEvent(message)


async def _block_events(index: int, block: Any, delay: float) -> AsyncIterator[StreamEvent]:
    match block:
        case ThinkingContent():
            yield ThinkingStartEvent(index)
            for word in _words(block.thinking):
                await asyncio.sleep(delay)
                yield ThinkingDeltaEvent(index, word)
            yield ThinkingEndEvent(index, block)
        case TextContent():
            yield TextStartEvent(index)
            for word in _words(block.text):
                await asyncio.sleep(delay)
                yield TextDeltaEvent(index, word)
            yield TextEndEvent(index, block)
        case ToolCall():
            begun = block.model_copy(update={"arguments": {}, "complete": False})
            yield ToolCallStartEvent(index, begun)
            await asyncio.sleep(delay)
            yield ToolCallDeltaEvent(index, json.dumps(block.arguments))
            await asyncio.sleep(delay)
            yield ToolCallEndEvent(index, block)


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _message_of(turn: dict[str, Any]) -> AssistantMessage:
    content: list[Any] = []
    if "thinking" in turn:
        content.append(ThinkingContent(thinking=turn["thinking"], signature="signed"))
    if "text" in turn:
        content.append(TextContent(text=turn["text"]))
    content += [_call(call) for call in turn.get("tool_calls", ())]
    default = "tool_use" if turn.get("tool_calls") else "end_turn"
    return AssistantMessage(content=content, stop_reason=turn.get("stop_reason", default))


def _call(spec: dict[str, Any]) -> ToolCall:
    check_keys("call", spec)
    return ToolCall(
        id=spec["id"], name=spec["name"], arguments=spec["args"], caller=spec.get("caller")
    )


# --- tools and messages of a case -----------------------------------------------------------


def _tool(spec: dict[str, Any]) -> AgentTool:
    schema = spec.get("schema") or {
        "type": "object",
        "properties": {name: {"type": "string"} for name in spec.get("required", ())},
        "required": spec.get("required", []),
    }

    async def execute(call_id: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        await _updates(spec, ctx)
        await _wait(spec.get("delay", 0) / 1000, deaf=spec.get("ignore_signal", False))
        if "late_update" in spec:
            loop = asyncio.get_running_loop()
            loop.call_soon(ctx.update, spec["late_update"])
            loop.call_later(0.05, ctx.update, spec["late_update"])
        if "error" in spec:
            raise RuntimeError(spec["error"])
        echo = json.dumps(arguments, separators=(",", ":"))
        return ToolResult(
            text_content(echo if spec.get("echo_args") else spec.get("result", "")),
            is_error=spec.get("is_error", False),
            details=spec.get("details"),
            terminate=spec.get("terminate", False),
        )

    return AgentTool(
        name=spec["name"],
        description=spec["name"],
        parameters=schema,
        execute=execute,
        execution_mode=spec.get("mode", "parallel"),
        prepare_arguments=_prepare(spec["prepare"]) if "prepare" in spec else None,
    )


async def _updates(spec: dict[str, Any], ctx: ToolContext) -> None:
    await asyncio.sleep(spec.get("offset", 0) / 1000)
    for number, text in enumerate(spec.get("updates", ())):
        if number:
            await asyncio.sleep(spec.get("step", 0) / 1000)
        ctx.update(text)


async def _wait(seconds: float, *, deaf: bool) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 1e-9:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            if not deaf:
                raise


def _prepare(rule: dict[str, Any]) -> Any:
    def prepare_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
        if "throw" in rule:
            raise ValueError(rule["throw"])
        return {rule["rename"].get(key, key): value for key, value in arguments.items()}

    return prepare_arguments


def _initial(spec: dict[str, Any]) -> list[AgentMessage]:
    ((kind, value),) = spec.items()
    match kind:
        case "user":
            return [UserMessage(content=text_content(value))]
        case "assistant":
            return [AssistantMessage(content=[TextContent(text=value)])]
        case "assistant_tool_call":
            return [AssistantMessage(content=[_call(value)], stop_reason="tool_use")]
        case "assistant_tool_calls":
            calls = [_call(call) for call in value]
            return [AssistantMessage(content=calls, stop_reason="tool_use")]
        case "tool_result":
            return [
                ToolResultMessage(
                    tool_call_id=value["id"],
                    tool_name=value["name"],
                    content=text_content(value["text"]),
                )
            ]
        case "compactionSummary":
            return [CompactionSummaryMessage(summary=value)]
        case "branchSummary":
            return [BranchSummaryMessage(summary=value)]
        case "bash":
            return [BashExecutionMessage(**value)]
        case "custom":
            return [CustomMessage(content=text_content(value))]
        case "unknown":
            return [UnknownMessage(role="unknownKind", content=value)]
        case _:
            raise AssertionError(f"unknown kind of message {kind!r}")


async def _keep_last_plus_note(messages: list[AgentMessage]) -> list[AgentMessage]:
    return [UserMessage(content=text_content("NOTE")), *messages[-1:]]


def _throw_convert(messages: list[AgentMessage]) -> list[Message]:
    raise RuntimeError("convert failed")
