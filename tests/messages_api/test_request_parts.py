"""Parts of a request that no other test shows: blocks as they were sent, values fit for JSON."""

import json
import math
from typing import Any

import pytest

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    Message,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.messages_api.request import build_request
from agent_tui.messages_api.stream import encode_body
from agent_tui.messages_api.wire_text import clean_tree
from agent_tui.offline.rules import validate_request

Json = dict[str, Any]
PROGRAM = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}


def build(*messages: Message, tools: tuple[AgentTool, ...] = ()) -> Json:
    context = LLMContext("", list(messages), list(tools))
    return build_request("claude-sonnet-5-5", context, StreamOptions(), cache="off")


def user(*texts: str) -> UserMessage:
    return UserMessage(content=[TextContent(text=text) for text in texts])


def sent_back(*blocks: Any, stop: str = "end_turn") -> list[Json]:
    """The blocks of an answer as they go back."""
    answer = AssistantMessage(content=list(blocks), stop_reason=stop)
    return build(user("hi"), answer, user("on"))["messages"][1]["content"]


# --- an answer goes back as it came -----------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "wire"),
    [
        (
            TextContent(
                text="found", wire={"citations": [{"b": 1, "a": 2}], "type": "text", "text": ""}
            ),
            {"citations": [{"b": 1, "a": 2}], "type": "text", "text": "found"},
        ),
        (
            ThinkingContent(
                thinking="hm",
                signature="s",
                wire={"signature": "", "type": "thinking", "thinking": ""},
            ),
            {"signature": "s", "type": "thinking", "thinking": "hm"},
        ),
        (
            ThinkingContent(
                redacted="x", wire={"data": "", "type": "redacted_thinking", "new": [1]}
            ),
            {"data": "x", "type": "redacted_thinking", "new": [1]},
        ),
        (
            ToolCall(
                id="t",
                name="read",
                arguments={"z": 1, "a": 2},
                caller={"type": "direct"},
                wire={
                    "caller": {},
                    "type": "tool_use",
                    "toolset_name": None,
                    "name": "",
                    "id": "",
                    "input": {},
                },
            ),
            {
                "caller": {"type": "direct"},
                "type": "tool_use",
                "toolset_name": None,
                "name": "read",
                "id": "t",
                "input": {"z": 1, "a": 2},
            },
        ),
        (
            OpaqueContent(raw={"new": {"b": [None, 1.5]}, "type": "hologram"}),
            {"new": {"b": [None, 1.5]}, "type": "hologram"},
        ),
    ],
)
def test_every_field_goes_back_in_its_order(block: Any, wire: Json) -> None:
    (sent,) = sent_back(block)
    assert json.dumps(sent) == json.dumps(wire)


def test_a_call_without_a_template_goes_back_with_its_caller() -> None:
    (sent,) = sent_back(ToolCall(id="t", name="read", caller=PROGRAM))
    assert sent == {
        "type": "tool_use", "id": "t", "name": "read", "input": {}, "caller": PROGRAM,
    }  # fmt: skip


def test_input_that_was_no_object_goes_back_in_the_apis_wrapper() -> None:
    (sent,) = sent_back(ToolCall(id="t", name="read", invalid_arguments='{"path": "a\0'))
    assert sent["input"] == {"INVALID_JSON": '{"path": "a\\x00'}


def test_two_answers_in_a_row_are_the_same_in_every_request() -> None:
    """What is worked out once for a message must not grow with the requests it is in."""
    history = [
        user("hi"),
        AssistantMessage(content=[TextContent(text="one")], stop_reason="pause_turn"),
        AssistantMessage(content=[TextContent(text="two ")]),
    ]
    first = json.dumps(build(*history))
    assert json.dumps(build(*history)) == first
    later = build(*history, user("on"))["messages"]
    assert [b["text"] for b in later[1]["content"]] == ["one", "two "]
    assert [b["text"] for b in json.loads(first)["messages"][-1]["content"]] == ["one", "two"]


# --- what is left out or made fit -----------------------------------------------------------------


def test_a_text_of_white_space_is_left_out_of_what_the_user_said() -> None:
    request = build(user("hi", " \n", "there"))
    assert [b["text"] for b in request["messages"][0]["content"]] == ["hi", "there"]
    assert validate_request(request | {"stream": True}) == []


def test_numbers_that_json_does_not_know_are_sent_as_null() -> None:
    """encode_body would refuse them, for this and every later turn."""
    arguments = {"a": math.nan, "b": [math.inf, -math.inf], "c": 1.5}
    request = build(
        user("hi"),
        AssistantMessage(
            content=[ToolCall(id="t", name="read", arguments=arguments)], stop_reason="tool_use"
        ),
        ToolResultMessage(tool_call_id="t", content=[TextContent(text="r")]),
    )
    body = json.loads(encode_body(request), parse_constant=pytest.fail)
    assert body["messages"][1]["content"][0]["input"] == {"a": None, "b": [None, None], "c": 1.5}


async def nothing(call_id: str, arguments: Json, ctx: ToolContext) -> ToolResult:
    return ToolResult.text("")


def test_what_a_server_says_of_its_tools_is_made_fit() -> None:
    schema = {"type": "object", "properties": {"p": {"description": "a\0b", "default": math.nan}}}
    tool = AgentTool("read", "half \ud83d and \x1b[31m", schema, nothing)
    (sent,) = build(user("hi"), tools=(tool,))["tools"]
    assert sent["description"] == "half \ufffd and \\x1b[31m"
    assert sent["input_schema"]["properties"]["p"] == {"description": "a\\x00b", "default": None}


def test_clean_data_is_not_copied() -> None:
    """A long history is walked at every request."""
    value = {"a": [1, {"b": "text"}], "c": None}
    assert clean_tree(value) is value
    assert clean_tree(value["a"]) is value["a"]
    changed = clean_tree({"a": value, "b": "\0"})
    assert changed == {"a": value, "b": "\\x00"} and changed["a"] is value
