"""Messages and session files for these tests."""

import json
from pathlib import Path
from typing import Any

from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Container,
    CustomMessage,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UnknownMessage,
    Usage,
    UserMessage,
    text_content,
)
from agent_tui.sessions.records import Header
from agent_tui.sessions.store import Session
from agent_tui.sessions.writer import SessionWriter


def user(text: str, **fields: Any) -> UserMessage:
    return UserMessage(content=[TextContent(text=text)], **fields)


def assistant(text: str, *calls: str) -> AssistantMessage:
    """calls: ids of its tool calls."""
    return AssistantMessage(
        content=[
            TextContent(text=text),
            *(ToolCall(id=call, name="read", arguments={"path": call}) for call in calls),
        ],
        stop_reason="tool_use" if calls else "end_turn",
    )


def result(call_id: str, text: str, **fields: Any) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name="read", content=text_content(text), **fields
    )


def every_kind() -> list[AgentMessage]:
    """Each kind of message with each kind of block, all fields in use."""
    wire = {"type": "text", "citations": [{"z": 1, "a": None}], "text": "", "b": 2.5}
    return [
        UserMessage(
            content=[TextContent(text="look"), ImageContent(data="aGk=", media_type="image/png")],
            queue_item_id="q1",
        ),
        AssistantMessage(
            content=[
                ThinkingContent(thinking="hm", signature="c2ln", wire={"type": "thinking"}),
                ThinkingContent(redacted="b3BhcXVl"),
                TextContent(text='zwei\nZeilen \u2028 "q" \\ \x00 \x1b[31m 🎉 ก็', wire=wire),
                ToolCall(
                    id="toolu_1",
                    name="read",
                    arguments={"z": [1, {"a": None}], "a": 1e-7, "n": 2**60, "": True},
                    caller={"type": "code_execution_20260120", "tool_id": "srvtoolu_1"},
                ),
                ToolCall(id="toolu_2", name="x", complete=False, invalid_arguments="{broken"),
                OpaqueContent(raw={"type": "server_tool_use", "id": "s", "input": {"b": 1}}),
            ],
            model="claude-sonnet-5-5",
            api_id="msg_1",
            stop_reason="brand_new_reason",
            stop_sequence="END",
            stop_details={"type": "refusal", "category": None},
            usage=Usage(input=1, output=2, cache_read=3, raw={"iterations": [{"x": 1}]}),
            container=Container(id="container_1", expires_at="2026-11-30T00:00:00Z"),
            wire={"context_management": {"applied_edits": []}},
        ),
        AssistantMessage(stop_reason="error", error_message="overloaded", error_type="api_error"),
        result("toolu_1", "found", is_error=True, details={"diff": ["-a", "+b"], "n": None}),
        BranchSummaryMessage(summary="tried a way"),
        CompactionSummaryMessage(summary="so far"),
        BashExecutionMessage(
            command="ls",
            output="a\nb",
            exit_code=0,
            truncated=True,
            full_output_path="/x",
            exclude=True,
        ),
        CustomMessage(kind="note", content=text_content("hi"), details=[1, "2"]),
        UnknownMessage.model_validate(
            {"role": "hologram", "id": "u-1", "frames": [{"b": 1, "a": [None, 2.0]}], "x": "y"}
        ),
    ]


def quick_session(path: Path, **options: Any) -> Session:
    """A new session in the file `path`, without fsync (for tests of many small files)."""
    writer = SessionWriter(path, sync=lambda _: None)
    header = Header(id="0123456789abcdef", cwd="/work", created=1.0)
    return Session(header, path=path, writer=writer, new=True, **options)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]
