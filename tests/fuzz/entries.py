"""Every way by which a foreign text comes to the screen: one function each, by name."""

import base64
import itertools
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.conversation.events import (
    CacheEvent,
    CommandRanEvent,
    ContainerChangedEvent,
    ContextChangedEvent,
    McpServerChangedEvent,
    NoticeEvent,
    ProgramRun,
    QueueDeliveredEvent,
    QueueEntry,
    RetryEvent,
    SettingChangedEvent,
    UsageChangedEvent,
    UserCommandEvent,
)
from agent_tui.conversation.results import CommandInfo, CommandResult
from agent_tui.mcp_servers.types import ServerSnapshot, ToolInfo
from agent_tui.tui.folder import short_path
from tests.fuzz.nasty import cut
from tests.tui.conftest import Driven

Entry = Callable[[Driven, str], Awaitable[None] | None]

ENTRIES: dict[str, Entry] = {}


def entry(fn: Entry) -> Entry:
    ENTRIES[fn.__name__.replace("_", " ")] = fn
    return fn


def answer(d: Driven, *events: Any, content: list[Any], **more: Any) -> None:
    """An answer that streams."""
    message = AssistantMessage()
    d.conv.emit(MessageStartEvent(message))
    for event in events:
        d.conv.emit(MessageUpdateEvent(message.id, event))
    update: dict[str, Any] = {"content": content, "stop_reason": "end_turn", **more}
    d.conv.emit(MessageEndEvent(message.model_copy(update=update)))


_ids = itertools.count(1)


def called(name: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(id=f"toolu_{next(_ids)}", name=name, arguments=arguments)


# --- what the model says ------------------------------------------------------------------


@entry
def text_of_the_model(d: Driven, s: str) -> None:
    deltas = [TextDeltaEvent(0, piece) for piece in cut(s)]
    block = TextContent(text=s)
    answer(d, TextStartEvent(0), *deltas, TextEndEvent(0, block), content=[block])


@entry
def thinking(d: Driven, s: str) -> None:
    deltas = [ThinkingDeltaEvent(0, piece) for piece in cut(s)]
    block = ThinkingContent(thinking=s, signature=s)
    answer(d, ThinkingStartEvent(0), *deltas, ThinkingEndEvent(0, block), content=[block])


def call_events(call: ToolCall) -> list[Any]:
    begun = call.model_copy(update={"arguments": {}, "complete": False})
    raw = json.dumps(call.arguments)
    deltas: list[Any] = []
    for name, value in call.arguments.items():
        if isinstance(value, str):
            deltas += [ToolCallDeltaEvent(0, "", [(name, piece)]) for piece in cut(value)]
    return [
        ToolCallStartEvent(0, begun),
        *deltas,
        ToolCallDeltaEvent(0, raw),
        ToolCallEndEvent(0, call),
    ]


@entry
def names_and_arguments_of_calls(d: Driven, s: str) -> None:
    for name, arguments in (
        (s, {s: s, "list": [s, {s: None}]}),
        ("shell", {"command": s}),
        ("write", {"path": s, "content": s}),
        ("edit", {"path": s, "edits": [{"old": s, "new": s + "x"}]}),
        ("code_execution", {"code": s}),
        ("read", {"path": s}),
    ):
        call = called(name, arguments)
        answer(d, *call_events(call), content=[call], stop_reason="tool_use")


@entry
def output_of_tools(d: Driven, s: str) -> None:
    for name in ("shell", s, "srv__tool"):
        call = called(name, {"command": s})
        answer(d, *call_events(call), content=[call], stop_reason="tool_use")
        d.conv.emit(ToolExecutionStartEvent(call.id, name, call.arguments))
        for piece in cut(s):
            d.conv.emit(ToolExecutionUpdateEvent(call.id, name, piece))
        d.conv.emit(ToolExecutionUpdateEvent(call.id, name, {s: s}))
        result = ToolResultMessage(
            tool_call_id=call.id,
            tool_name=name,
            content=[TextContent(text=s)],
            details={"styled": s, "diff": s, "files": [s], "output_path": s, s: s},
        )
        d.conv.emit(ToolExecutionEndEvent(call.id, name, result, name == s, 5))


@entry
def images_that_are_none(d: Driven, s: str) -> None:
    """Of a wrong type, cut short, or no base64 at all."""
    data = base64.b64encode(s.encode("utf-8", "replace")).decode()
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    images = [
        ImageContent(data=data, media_type="image/png"),
        ImageContent(data=s, media_type=s),
        ImageContent(data=png, media_type="image/jpeg"),
    ]
    d.conv.emit(MessageStartEvent(UserMessage(content=list(images))))
    call = called("read", {"path": s})
    answer(d, *call_events(call), content=[call], stop_reason="tool_use")
    d.conv.emit(ToolExecutionStartEvent(call.id, "read", call.arguments))
    result = ToolResultMessage(tool_call_id=call.id, tool_name="read", content=list(images))
    d.conv.emit(ToolExecutionEndEvent(call.id, "read", result, False, 5))


def opaque_blocks(s: str) -> list[dict[str, Any]]:
    use = {"type": "server_tool_use", "id": "srvtoolu_1"}
    found = {"type": "web_search_result", "url": s, "title": s, "page_age": s}
    output = {"type": "code_execution_output", "file_id": s}
    ran = {"type": "code_execution_result", "stdout": s, "stderr": s, "return_code": 1}
    of = {"tool_use_id": "srvtoolu_1"}
    return [
        use | {"name": "web_search", "input": {"query": s}},
        {"type": "web_search_tool_result", "content": [found, s, None]} | of,
        use | {"name": "web_fetch", "input": {"url": s}},
        {"type": "web_fetch_tool_result", "content": {"type": "web_fetch_result", "url": s}} | of,
        use | {"name": "code_execution", "input": {"code": s}},
        {"type": "code_execution_tool_result", "content": ran | {"content": [output]}} | of,
        use | {"name": "bash_code_execution", "input": {"command": s}},
        {"type": "mcp_tool_use", "id": "m1", "name": s, "server_name": s, "input": {s: s}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [{"type": "text", "text": s}]},
        {"type": "container_upload", "file_id": s},
        {"type": s, s: {s: [s]}},
        {"type": "compaction", "content": s},
    ]


@entry
def other_blocks(d: Driven, s: str) -> None:
    blocks = [OpaqueContent(raw=raw) for raw in opaque_blocks(s)]
    events: list[Any] = []
    for index, block in enumerate(blocks):
        events += [OpaqueEvent(index, "start", block)]
        events += [OpaqueEvent(index, "delta", None, piece, [("code", piece)]) for piece in cut(s)]
        events += [OpaqueEvent(index, "end", block)]
    answer(d, *events, content=list(blocks))


@entry
def citations(d: Driven, s: str) -> None:
    cited = {"type": "web_search_result_location", "url": s, "title": s, "cited_text": s}
    block = TextContent(text=s or "x", wire={"citations": [cited, {"type": s}]})
    answer(d, TextStartEvent(0), TextEndEvent(0, block), content=[block])


@entry
def ends_and_errors(d: Driven, s: str) -> None:
    answer(d, content=[], stop_reason=s)
    details = {"category": s, "explanation": s, "type": s}
    answer(d, content=[], stop_reason="refusal", stop_details=details)
    answer(d, content=[], stop_reason="error", error_message=s, error_type=s, model=s)
    answer(d, content=[TextContent(text="x")], stop_reason="stop_sequence", stop_sequence=s)


@entry
def stored_history(d: Driven, s: str) -> None:
    call = called(s, {s: s})
    content: list[Any] = [ThinkingContent(thinking=s), TextContent(text=s), call]
    content += [OpaqueContent(raw=raw) for raw in opaque_blocks(s)]
    result = ToolResultMessage(
        tool_call_id=call.id, tool_name=s, content=[TextContent(text=s)], is_error=True
    )
    messages = [UserMessage(content=s), AssistantMessage(content=content, model=s), result]
    d.app.transcript.load(messages)


# --- what others say ------------------------------------------------------------------------


@entry
def prompts_and_the_queue(d: Driven, s: str) -> None:
    d.conv.emit(MessageStartEvent(UserMessage(content=s)))
    d.conv.entries = [QueueEntry("q1", "steer", s, "queued", s), QueueEntry("q2", "follow_up", s,
                      "held", s)]  # fmt: skip
    d.conv.queue_changed()
    d.conv.emit(QueueDeliveredEvent("q1", "steer", s, s))


@entry
def commands_of_the_user(d: Driven, s: str) -> None:
    """With `!`: the line as it was typed, and what it wrote."""
    for piece in cut(s):
        d.conv.emit(UserCommandEvent("u1", s, False, "running", piece))
    d.conv.emit(UserCommandEvent("u1", s, False, "ended", s, 1))
    d.conv.emit(UserCommandEvent("u2", s, True, "stopped", s))


@entry
async def the_container(d: Driven, s: str) -> None:
    runs = [ProgramRun(s, 1, "failed", error_code=s), ProgramRun("p2", 2, "running")]
    files = [{"name": s, "id": s, "filename": s, "media_type": s, "size": 3}, {s: s}]
    d.conv.emit(
        ContainerChangedEvent(
            s or "c", "busy", s, last_output=s, files=files, runs=runs, attached=files
        )
    )
    await d.press("f6")


@entry
async def mcp_servers(d: Driven, s: str) -> None:
    tools = [ToolInfo(s, s, s, title=s, description=s, notes=(s,), input_schema={s: s})]
    d.conv.mcp.known = {
        s: ServerSnapshot(
            s, "user", s, "stdio", s, "failed", error=s, protocol=s, server_title=s,
            instructions=s, tools=tools, left_out={s: s}, warnings=[s], log_path=s, log_tail=[s],
            hidden=s,
        ),
        "b": ServerSnapshot(
            "b", "project", s, "http", s, "awaiting_approval", approval_text=s, approval_source=s,
        ),
    }  # fmt: skip
    d.conv.emit(McpServerChangedEvent(s, "failed", 1, s))
    d.conv.emit(McpServerChangedEvent("b", "awaiting_approval", 0, s))
    await d.press("f7")


@entry
async def approvals(d: Driven, s: str) -> None:
    for tool, arguments in (
        ("shell", {"command": s}),
        (s, {s: s, "a": [s]}),
        ("write", {"path": s, "content": s}),
    ):
        request = d.conv.ask(
            arguments, tool=tool, rule=s, diff=f"--- {s}\n+++ {s}\n@@ -1 +1 @@\n-{s}\n+{s}\n",
            note=s, server=s, server_tool=s,
        )  # fmt: skip
        await d.settle()
        await d.press("f4")
        assert_safe_now(d)
        await d.press("f4")
        d.conv.resolve(request, "withdrawn")


@entry
async def questions_of_servers(d: Driven, s: str) -> None:
    fields = {
        s: {"type": "string", "title": s, "description": s},
        "e": {"type": "string", "enum": [s, "b"], "enumNames": [s, s]},
        "n": {"type": "number", "title": s},
        "b": {"type": "boolean", "description": s},
    }
    said = [{"role": "user", "content": [{"type": "text", "text": s}, {"media_type": s}]}]
    details = {"model": s, "max_tokens": 5, "system_prompt": s, "messages": said, "hints": [s],
               "left_out": [s], "text": s, "stop_reason": s}  # fmt: skip
    kinds: dict[str, dict[str, Any]] = {
        "form": {"schema": {"type": "object", "properties": fields, "required": ["e"]}},
        "url": {"url": s},
        "sampling": {"details": details},
        "sampling_result": {"details": details},
        "login": {"url": s},
    }
    for kind, more in kinds.items():
        request = d.conv.question(kind, s, s, **more)
        await d.settle()
        assert_safe_now(d)
        d.conv.answer_question(request, "cancel")


@entry
async def commands_and_their_answers(d: Driven, s: str) -> None:
    d.conv.command_results["model"] = CommandResult(text=s, error=None)
    await d.type("/model")
    await d.press("enter")
    d.conv.command_results["model"] = CommandResult(text="", error=s or "e")
    await d.type("/model")
    await d.press("enter")
    d.conv.emit(CommandRanEvent(s, s, s))


@entry
async def completions(d: Driven, s: str) -> None:
    infos = [CommandInfo("zz", f"/zz {s}", s)]
    d.conv.commands = lambda: infos  # type: ignore[method-assign]
    d.conv.resources = [(f"@zz{s}", s)]
    await d.type("/z")
    assert_safe_now(d)
    await d.press("escape")
    await d.press("ctrl+c")
    await d.type("@zz")
    assert_safe_now(d)
    await d.press("ctrl+c")


@entry
def models_meters_and_notices(d: Driven, s: str) -> None:
    d.conv.emit(SettingChangedEvent("model", s))
    d.conv.emit(SettingChangedEvent("thinking", s))
    d.conv.emit(NoticeEvent("error", s))
    d.conv.emit(NoticeEvent("info", s))
    d.conv.emit(RetryEvent(1, 5, s))
    d.conv.emit(ContextChangedEvent({s: 3, "text": 4}, 7, True, 100))
    d.conv.emit(CacheEvent(1, 2, 3, 4, 5, True, 6, s, s))
    d.conv.emit(UsageChangedEvent(1, 2, 3, 4, None, server_tools={s: 3}))
    d.app.flash(s)


@entry
def titles_and_notifications(d: Driven, s: str) -> None:
    """Of the terminal's window, by the name of the folder; and of our header."""
    d.app.signals.folder(s)
    d.conv.set_status("streaming")
    d.conv.ask({"command": s}, tool=s)
    d.conv.set_status("ready")
    d.app.status_line.folder = short_path(s, "")


@entry
async def drafts(d: Driven, s: str) -> None:
    await d.paste(s)
    assert_safe_now(d)
    await d.press("ctrl+c")


@entry
async def choices_and_titles_of_sessions(d: Driven, s: str) -> None:
    """A list to choose from: sessions by their first words, models, servers."""
    from agent_tui.tui.asking import ScreenAsker

    asker = ScreenAsker(d.app)
    options = [SimpleNamespace(key="a", label=s), SimpleNamespace(key="b", label="x")]
    for question in (asker.choose(s, s, options), asker.ask_secret(s, s)):
        task = d.app.run_worker(question, exit_on_error=True)
        await d.settle()
        assert_safe_now(d)
        task.cancel()
        await d.settle()
        while len(d.app.screen_stack) > 1:
            d.app.pop_screen()
        await d.settle()


@entry
async def a_whole_output_on_its_page(d: Driven, s: str) -> None:
    from agent_tui.tui.messages import ReadAll

    d.app.post_message(ReadAll(s))
    await d.settle()
    assert_safe_now(d)
    while len(d.app.screen_stack) > 1:
        d.app.pop_screen()


def assert_safe_now(d: Driven) -> None:
    from tests.fuzz.test_screen import assert_safe

    assert_safe(d)
