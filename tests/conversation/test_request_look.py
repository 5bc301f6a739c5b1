"""What a request holds, part by part."""

import base64
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation import request_look
from agent_tui.conversation.request_look import SOURCES, RequestReader, scaled
from agent_tui.messages_api.request import RequestBuilder

WORDS = "words and more words, over and over again. " * 20


async def _nothing(*_: Any) -> Any: ...


def tool(name: str = "read") -> AgentTool:
    return AgentTool(name, "Reads a file. " * 10, {"type": "object", "properties": {}}, _nothing)


def picture(width: int, height: int) -> ImageContent:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return ImageContent(data=base64.b64encode(head + b"\0" * 40).decode(), media_type="image/png")


def turn(n: int) -> list[Message]:
    call = ToolCall(id=f"t{n}", name="read", arguments={"path": WORDS})
    search = {"type": "server_tool_use", "id": f"s{n}", "name": "web_search", "input": {"q": WORDS}}
    return [
        UserMessage(content=[TextContent(text=WORDS), picture(750, 100)]),
        AssistantMessage(
            content=[
                ThinkingContent(thinking=WORDS, signature="s" * 4000),
                TextContent(text=WORDS),
                OpaqueContent(raw=search),
                call,
            ],
            stop_reason="tool_use",
        ),
        ToolResultMessage(tool_call_id=f"t{n}", content=[TextContent(text=WORDS)]),
        AssistantMessage(content=[TextContent(text="done")]),
    ]


def look(builder: RequestBuilder, history: list[Message], **changes: Any) -> Any:
    context = LLMContext(WORDS, list(history), changes.pop("tools", [tool()]))
    options = StreamOptions(thinking_level=changes.pop("level", "high"))
    return builder.build(changes.pop("model", "claude-sonnet-5-5"), context, options)


def test_every_source_has_its_tokens() -> None:
    history = [*turn(1), UserMessage(content="go on")]  # type: ignore[arg-type]
    found = RequestReader().read(look(RequestBuilder(), history))
    assert list(found.sources) == [source for source in SOURCES if source in found.sources]
    assert found.sources.keys() == set(SOURCES)
    text = request_look.estimate_tokens(WORDS)
    for source in ("system", "answers", "thinking", "calls", "results", "server"):
        assert text <= found.sources[source] <= text * 1.2 + 20, source
    assert found.sources["images"] == 100, "750 x 100 pixels, 750 to a token"
    assert found.model == "claude-sonnet-5-5"
    assert list(found.tools) == ["read"]
    assert found.parameters == {"thinking": "adaptive", "effort": "high"}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 3), max_size=8))
def test_a_reader_that_has_seen_much_reads_as_a_new_one(cuts: list[int]) -> None:
    reader, builder = RequestReader(), RequestBuilder()
    history: list[Message] = []
    for n, cut in enumerate(cuts):
        history += turn(n)
        if cut == 3:
            del history[-4:]
        if cut == 2:
            history = [UserMessage(content=f"anew {n}")]  # type: ignore[arg-type]
        request = look(builder, [*history, UserMessage(content="go on")])  # type: ignore[arg-type]
        assert reader.read(request) == RequestReader().read(request)


def test_what_was_seen_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Any] = []
    real = request_look._hash

    def counting(value: Any) -> bytes:
        hashed.append(value)
        return real(value)

    monkeypatch.setattr(request_look, "_hash", counting)
    reader, builder = RequestReader(), RequestBuilder()
    history: list[Message] = []
    costs: list[int] = []
    for n in range(60):
        history += turn(n)
        hashed.clear()
        reader.read(look(builder, [*history, UserMessage(content=f"go on {n}")]))  # type: ignore[arg-type]
        costs.append(len(hashed))
    assert max(costs[5:]) <= costs[5] + 2, "a request late in a conversation costs as one early"


def test_a_mark_that_moves_on_is_no_change() -> None:
    builder, reader = RequestBuilder(), RequestReader()
    first = reader.read(look(builder, [UserMessage(content="a")]))  # type: ignore[arg-type]
    more = [UserMessage(content="a"), AssistantMessage(content=[TextContent(text="b")])]  # type: ignore[arg-type]
    more += [UserMessage(content=str(n)) for n in range(1)]  # type: ignore[arg-type]
    second = reader.read(look(builder, more))
    assert second.messages[0].blocks == first.messages[0].blocks
    assert second.tools == first.tools and second.system == first.system


def test_two_of_the_same_words_have_their_own_source() -> None:
    history = [UserMessage(content="same"), AssistantMessage(content=[TextContent(text="same")])]  # type: ignore[arg-type]
    found = RequestReader().read(look(RequestBuilder(), [*history, UserMessage(content="x")]))  # type: ignore[arg-type]
    assert found.sources["answers"] > 0 and found.sources["prompts"] > 0


def test_what_a_program_asked_for_and_got_is_not_in_the_context() -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
    made = ToolCall(id="p1", name="read", arguments={"path": WORDS}, caller=caller)
    direct = ToolCall(id="d1", name="read", arguments={"path": "x"})
    history: list[Message] = [
        UserMessage(content="go"),  # type: ignore[arg-type]
        AssistantMessage(content=[made], stop_reason="tool_use"),
        ToolResultMessage(tool_call_id="p1", content=[TextContent(text=WORDS * 20)]),
        AssistantMessage(content=[direct], stop_reason="tool_use"),
        ToolResultMessage(tool_call_id="d1", content=[TextContent(text="short")]),
    ]
    reader, builder = RequestReader(), RequestBuilder()
    for end in (3, 5):
        found = reader.read(look(builder, history[:end]))
        assert found.sources.get("results", 0) + found.sources.get("calls", 0) < 40
    more = [AssistantMessage(content=[TextContent(text="a")]), UserMessage(content="b")] * 3  # type: ignore[arg-type]
    late = reader.read(look(builder, [*history, *more]))
    assert late == RequestReader().read(look(builder, [*history, *more]))
    assert late.sources["results"] < 40


@given(
    st.dictionaries(st.sampled_from(SOURCES), st.integers(1, 10_000), min_size=1),
    st.integers(0, 1_000_000),
)
def test_scaled_parts_sum_up_to_the_total(parts: dict[Any, int], total: int) -> None:
    made = scaled(parts, total)
    assert sum(made.values()) == total
    whole = sum(parts.values())
    assert all(abs(made.get(s, 0) - n * total / whole) < 1 for s, n in parts.items())
