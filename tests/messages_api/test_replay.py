"""What the API sent goes back as it was sent: field for field, in its order, nulls and unknown
fields too, after a visit to the disk, in a request that passes the rules.

What is expected is folded from the raw events here, by nothing of the product. Recordings that
are answers to one another (name-1, name-2, ...) make one conversation.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import answer_making
import pytest
from test_recordings import found, replay

from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.messages_api.request import build_request
from agent_tui.messages_api.sse import read_events
from agent_tui.messages_api.stream import encode_body
from agent_tui.offline.rules import validate_request

Json = dict[str, Any]

OURS = [["program-pauses", "program-goes-on", "program-ends"]]
"""Recordings of this repository that follow one another."""

NOT_AS_SENT = {
    "cut-after-start": "nothing came",
    "cut-before-stop": "cut", "cut-in-a-call": "cut", "cut-in-thinking": "cut",
    "error-first": "nothing came", "error-midstream": "cut",
    "stop-without-reason": "cut", "hand-eof-no-stop": "cut", "hand-error-midstream": "cut",
    "tool-cut-by-limit": "half a call", "sdk-incomplete_partial_json_response": "half a call",
    "stop-refusal-empty": "nothing to send",
    "spliced-start": "two answers in one", "vercel-spliced-message-start": "two answers in one",
    "start-twice": "two answers in one",
    "duplicate-ids": "ids must be unique",
    "tool-invalid-json": "the input must be an object",
    "tool-not-an-object": "the input must be an object",
    "surrogates-split": "no lone surrogates",
    "vercel-tool-search-deferred-bm25-1": "the answer with the result is not recorded",
    "vercel-tool-search-deferred-bm25-3": "the answer before it is not recorded",
    "vercel-tool-search-deferred-regex-2": "the answer with the call is not recorded",
    "foreign-no-stops": "blocks without a start", "foreign-names": "ids of another form",
}  # fmt: skip
"""What cannot or must not go back as it came, and why: other tests say what does."""


def conversations() -> list[list[Path]]:
    """The recordings in the order in which they answered one another."""
    named: dict[str, list[tuple[int, Path]]] = {}
    chained = {name: chain[0] for chain in OURS for name in chain}
    place = {name: n for chain in OURS for n, name in enumerate(chain)}
    for path in found():
        name = path.stem
        if name in NOT_AS_SENT:
            continue
        numbered = re.fullmatch(r"(.+)-(\d+)", name)
        if name in chained:
            named.setdefault(chained[name], []).append((place[name], path))
        elif numbered:
            named.setdefault(numbered[1], []).append((int(numbered[2]), path))
        else:
            named.setdefault(name, []).append((1, path))
    return [[path for _, path in sorted(group)] for group in named.values()]


def as_sent(events: list[Json]) -> list[Json]:
    """The content of an answer as its raw events say, by the API's rules alone."""
    blocks: dict[int, Json] = {}
    inputs: dict[int, str] = {}
    for event in json.loads(json.dumps(events)):
        match event["type"]:
            case "message_start":
                blocks = dict(enumerate(event["message"]["content"]))
            case "content_block_start":
                blocks[event["index"]] = event["content_block"]
            case "content_block_delta":
                _apply(blocks[event["index"]], event["delta"], inputs, event["index"])
            case "content_block_stop" if inputs.get(event["index"], "").strip():
                blocks[event["index"]]["input"] = json.loads(inputs[event["index"]])
    return [block for _, block in sorted(blocks.items())]


def _apply(block: Json, delta: Json, inputs: dict[int, str], index: int) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "input_json_delta":
            inputs[index] = inputs.get(index, "") + delta["partial_json"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        case "compaction_delta":
            block.update({k: v for k, v in delta.items() if k != "type"})


def may_go_back(block: Json) -> bool:
    """Empty text is refused by the API (facts: rules of a valid request)."""
    return block["type"] != "text" or bool(block["text"].strip())


async def _by_the_api(call_id: str, arguments: Json, ctx: ToolContext) -> ToolResult:
    raise AssertionError("never run here")


CODE_EXECUTION = AgentTool(
    "code_execution", "", {}, _by_the_api, wire={"type": "code_execution_20260120"}
)


def from_disk(message: AgentMessage) -> AgentMessage:
    return type(message).model_validate(json.loads(message.model_dump_json()))


def history(messages: Iterable[AssistantMessage]) -> list[AgentMessage]:
    """A conversation of these answers: every call answered, the user speaks where he may."""
    out: list[AgentMessage] = [UserMessage(content="Go.")]
    for message in messages:
        if out[-1].role == "assistant" and out[-1].stop_reason not in ("pause_turn", "compaction"):
            out.append(UserMessage(content="Go on."))
        out.append(message)
        out += [
            ToolResultMessage(tool_call_id=call.id, tool_name=call.name,
                              content=[TextContent(text="4")])
            for call in message.tool_calls
        ]  # fmt: skip
    last = out[-1]
    if isinstance(last, AssistantMessage) and last.stop_reason not in ("pause_turn", "compaction"):
        out.append(UserMessage(content="Go on."))
    return [from_disk(message) for message in out]


def found_tools(messages: Iterable[AssistantMessage]) -> list[AgentTool]:
    """The tools that searches in these answers have found: what is gone is found no more."""
    raws = [b.raw for m in messages for b in m.content if isinstance(b, OpaqueContent)]
    contents = [raw["content"] for raw in raws if raw["type"] == "tool_search_tool_result"]
    names = {r["tool_name"] for c in contents for r in c.get("tool_references", ())}
    return [AgentTool(name, "", {"type": "object"}, _by_the_api) for name in sorted(names)]


def sent_back(messages: Iterable[AssistantMessage]) -> tuple[list[Json], Json]:
    """(all blocks of assistant messages in the next request, that request)."""
    messages = list(messages)
    tools = [CODE_EXECUTION, *found_tools(messages)]
    context = LLMContext("", convert_to_llm(history(messages)), tools)
    request = build_request("claude-opus-4-5", context, StreamOptions(), cache="off")
    body = json.loads(encode_body(request))
    answers = [m["content"] for m in body["messages"] if m["role"] == "assistant"]
    return [block for content in answers for block in content], body


@pytest.mark.parametrize("paths", conversations(), ids=lambda paths: paths[0].stem)
def test_answers_go_back_as_they_were_sent(paths: list[Path]) -> None:
    bodies = [path.read_bytes() for path in paths]
    messages = [replay(read_events(body))[1] for body in bodies]
    expected = [b for body in bodies for b in as_sent(read_events(body)) if may_go_back(b)]
    sent, body = sent_back(messages)
    # Compared as text: the order of keys counts, and 1 is not 1.0.
    for one, other in zip(sent, expected, strict=True):
        assert json.dumps(one) == json.dumps(other)
    if paths[0].stem != "answer-odd-fields":  # fields of tomorrow, unknown to today's rules
        assert validate_request(body) == []


@pytest.mark.parametrize("name", answer_making.ANSWERS)
def test_the_folded_events_are_the_whole_answer(name: str) -> None:
    """The reference of this file against the answers as they were written."""
    events = read_events((found()[0].parent / f"{name}.sse").read_bytes())
    assert as_sent(events) == answer_making.ANSWERS[name][0]


def test_every_kind_of_the_facts_is_recorded_here() -> None:
    kinds: set[str] = set()
    for path in found()[0].parent.glob("*.sse"):
        for event in read_events(path.read_bytes()):
            block = event.get("content_block", {})
            content = block.get("content")
            kinds.add(block.get("type", ""))
            kinds.add(event.get("delta", {}).get("type", ""))
            kinds.add(content.get("type", "") if isinstance(content, dict) else "")
    for kind in KINDS.split():
        assert kind in kinds, kind


KINDS = """
    text thinking redacted_thinking tool_use server_tool_use web_search_tool_result
    web_fetch_tool_result advisor_tool_result code_execution_tool_result
    bash_code_execution_tool_result text_editor_code_execution_tool_result
    tool_search_tool_result mcp_tool_use mcp_tool_result container_upload compaction fallback
    mcp_tool_listing

    text_delta input_json_delta thinking_delta signature_delta citations_delta compaction_delta

    web_search_tool_result_error web_fetch_result web_fetch_tool_result_error
    advisor_result advisor_redacted_result advisor_tool_result_error
    code_execution_result encrypted_code_execution_result code_execution_tool_result_error
    bash_code_execution_result bash_code_execution_tool_result_error
    text_editor_code_execution_view_result text_editor_code_execution_create_result
    text_editor_code_execution_str_replace_result text_editor_code_execution_tool_result_error
    tool_search_tool_search_result tool_search_tool_result_error
"""
