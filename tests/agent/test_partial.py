"""PartialMessage: what came so far is the message, at every event."""

import pytest

from agent_tui.agent.events import (
    ContainerEvent,
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
    UsageEvent,
)
from agent_tui.agent.messages import (
    Container,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
)
from agent_tui.agent.partial import PartialMessage

RAW = {"type": "server_tool_use", "id": "srv", "name": "code_execution", "input": {}}


def folded(*events: StreamEvent) -> PartialMessage:
    partial = PartialMessage("m1")
    for event in events:
        partial.apply(event)
    return partial


def test_open_text_is_what_came() -> None:
    partial = folded(
        StartEvent("msg_1", "model-x"),
        TextStartEvent(0), TextDeltaEvent(0, "one "), TextDeltaEvent(0, "two "),
    )  # fmt: skip
    message = partial.snapshot("aborted", "stopped by the user", "abort")
    assert message.content == [TextContent(text="one two ")]
    assert (message.id, message.api_id, message.model) == (partial.id, "msg_1", "model-x")
    assert (message.stop_reason, message.error_message) == ("aborted", "stopped by the user")
    assert message.error_type == "abort"


def test_a_closed_block_is_the_final_one_with_its_wire_form() -> None:
    final = TextContent(text="one two", wire={"type": "text", "text": "", "citations": [1]})
    signed = ThinkingContent(thinking="hm", signature="S")
    partial = folded(
        ThinkingStartEvent(0), ThinkingDeltaEvent(0, "hm"), ThinkingEndEvent(0, signed),
        TextStartEvent(1), TextDeltaEvent(1, "one two"), TextEndEvent(1, final),
    )  # fmt: skip
    assert partial.snapshot().content == [signed, final]


def test_open_thinking_is_unsigned() -> None:
    message = folded(ThinkingStartEvent(0), ThinkingDeltaEvent(0, "one ")).snapshot()
    assert message.content == [ThinkingContent(thinking="one ", signature=None)]


def test_a_call_is_incomplete_until_its_end() -> None:
    begun = ToolCall(id="a", name="shell", complete=False)
    partial = folded(ToolCallStartEvent(0, begun), ToolCallDeltaEvent(0, '{"cmd": "rm'))
    (block,) = partial.snapshot().content
    assert isinstance(block, ToolCall)
    assert (block.arguments, block.complete) == ({}, False)
    assert partial.has_call("a") and not partial.has_call("b")
    whole = ToolCall(id="a", name="shell", arguments={"cmd": "rm"})
    partial.apply(ToolCallEndEvent(0, whole))
    assert partial.snapshot().content == [whole]


def test_a_program_call_that_came_whole_is_open_until_its_end() -> None:
    begun = ToolCall(id="a", name="q", arguments={"sql": "x"}, caller={"type": "code_execution"})
    (block,) = folded(ToolCallStartEvent(0, begun)).snapshot().content
    assert isinstance(block, ToolCall) and not block.complete
    assert begun.complete, "the event's own block is left alone"


def test_opaque_blocks_open_and_closed() -> None:
    begun = OpaqueContent(raw=RAW)
    final = OpaqueContent(raw={**RAW, "input": {"code": "print(6)"}})
    partial = folded(OpaqueEvent(0, "start", begun), OpaqueEvent(0, "delta", delta='{"code"'))
    assert partial.snapshot().content == [OpaqueContent(raw=RAW, complete=False)]
    partial.apply(OpaqueEvent(0, "end", final))
    assert partial.snapshot().content == [final]


def test_usage_and_container_are_the_last_ones() -> None:
    message = folded(
        UsageEvent(Usage(input=25, output=1)),
        ContainerEvent(Container(id="c1")),
        UsageEvent(Usage(input=900, output=40)),
    ).snapshot()
    assert message.usage == Usage(input=900, output=40)
    assert message.container == Container(id="c1")


def test_blocks_are_in_the_order_of_their_index() -> None:
    message = folded(
        TextStartEvent(2), TextDeltaEvent(2, "b"), TextStartEvent(1), TextDeltaEvent(1, "a")
    ).snapshot()
    assert message.text == "ab"


@pytest.mark.parametrize("event", [TextDeltaEvent(0, "x"), ThinkingDeltaEvent(0, "x")])
def test_a_delta_without_start_is_not_lost(event: StreamEvent) -> None:
    (block,) = folded(event).snapshot().content
    assert "x" in (getattr(block, "text", "") + getattr(block, "thinking", ""))


def test_an_end_without_start_is_not_lost() -> None:
    assert folded(TextEndEvent(0, TextContent(text="x"))).snapshot().text == "x"


def test_a_response_that_starts_anew_replaces_what_came() -> None:
    message = folded(
        StartEvent("msg_1"), TextStartEvent(0), TextDeltaEvent(0, "broken"), StartEvent("msg_2"),
        TextStartEvent(0), TextDeltaEvent(0, "whole"),
    ).snapshot()  # fmt: skip
    assert (message.text, message.api_id) == ("whole", "msg_2")


def test_snapshots_do_not_change_what_follows() -> None:
    partial = folded(TextStartEvent(0), TextDeltaEvent(0, "a"))
    early = partial.snapshot()
    partial.apply(TextDeltaEvent(0, "b"))
    assert (early.text, partial.snapshot().text) == ("a", "ab")
    assert early.timestamp == partial.snapshot().timestamp
    assert partial.start_message().content == []
