"""Requests of a conversation that grows: built on from the one before, equal to one built anew;
and what the service's prompt cache makes of them."""

import copy
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    ContainerUpload,
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
from agent_tui.messages_api import images
from agent_tui.messages_api.request import RequestBuilder, build_request
from agent_tui.offline.prompt_cache import PromptCache
from agent_tui.offline.wire import estimate_tokens, read_by_model

MODEL = "claude-sonnet-5-5"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
PROGRAM = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}


async def nothing(*_: Any) -> Any: ...


def tools(count: int) -> list[AgentTool]:
    return [
        AgentTool(
            f"server__tool_{n}",
            "Looks something up. " * 12,
            {"type": "object", "properties": {"path": {"type": "string"}}},
            nothing,
        )
        for n in range(count)
    ]


CODE = AgentTool("code_execution", "", {}, nothing, wire={"type": "code_execution_20260120"})


def context(history: list[Message], offered: list[AgentTool] | None = None) -> LLMContext:
    return LLMContext("You help. " * 40, list(history), offered or [])


def image(n: int) -> ImageContent:
    return ImageContent(data=PNG[:-4] + f"{n:03}=", media_type="image/png")


_ids = itertools.count()


def turn(draw: Any) -> list[Message]:
    """One answer, and what may follow it before the next."""
    n = next(_ids)
    thought = ThinkingContent(thinking=f"hm {n}", signature=f"s{n}")
    call = ToolCall(id=f"t{n}", name="read", arguments={"path": f"f{n}"})
    kind = draw(st.sampled_from(["text", "call", "calls", "paused", "aborted", "empty", "program"]))
    said = TextContent(text=f"answer {n} ")
    result = ToolResultMessage(tool_call_id=f"t{n}", content=[TextContent(text=f"result {n}")])
    if draw(st.booleans()):
        result.content.append(image(n))
    more: list[Message] = [UserMessage(content=[TextContent(text=f"user {n}")])]
    if draw(st.integers(0, 3)) == 0:
        more[0].content.append(image(n))
    match kind:
        case "text":
            return [AssistantMessage(content=[thought, said]), *more]
        case "call":
            return [AssistantMessage(content=[thought, said, call], stop_reason="tool_use"), result]
        case "calls":
            other = call.model_copy(update={"id": f"u{n}"})
            second = result.model_copy(update={"tool_call_id": f"u{n}"})
            blocks = [thought, call, other]
            return [AssistantMessage(content=blocks, stop_reason="tool_use"), result, second, *more]
        case "paused":
            raw = {"type": "server_tool_use", "id": f"srv{n}", "name": "web_search", "input": {}}
            return [AssistantMessage(content=[OpaqueContent(raw=raw)], stop_reason="pause_turn")]
        case "aborted":
            return [AssistantMessage(content=[said], stop_reason="aborted"), *more]
        case "program":
            made = call.model_copy(update={"caller": PROGRAM})
            return [AssistantMessage(content=[said, made], stop_reason="tool_use"), result]
        case _:
            return [AssistantMessage(content=[TextContent(text=" ")]), *more]


@st.composite
def conversations(draw: st.DrawFn) -> list[list[Message]]:
    """A conversation in pieces; a request goes out after each."""
    first: list[Message] = [UserMessage(content="begin")]  # type: ignore[arg-type]
    return [first, *(turn(draw) for _ in range(draw(st.integers(1, 12))))]


@settings(deadline=None, max_examples=150)
@given(conversations(), st.integers(0, 5))
def test_built_on_is_as_built_anew(pieces: list[list[Message]], with_code_from: int) -> None:
    builder = RequestBuilder()
    history: list[Message] = []
    sent: list[tuple[Any, Any]] = []
    for n, piece in enumerate(pieces):
        history += piece
        offered = [*tools(1), CODE] if n >= with_code_from else tools(1)
        options = StreamOptions(thinking_level="high")
        built = builder.build(MODEL, context(history, offered), options)
        assert built == build_request(MODEL, context(history, offered), options)
        sent.append((built, copy.deepcopy(built)))
    for built, as_sent in sent:
        assert built == as_sent, "a request was changed after it was handed out"


@settings(deadline=None, max_examples=60)
@given(conversations(), st.data())
def test_a_history_that_was_cut_or_changed_is_built_anew(
    pieces: list[list[Message]], data: st.DataObject
) -> None:
    builder = RequestBuilder()
    history = [message for piece in pieces for message in piece]
    options = StreamOptions()
    builder.build(MODEL, context(history), options)
    cut = history[: data.draw(st.integers(1, len(history)))]
    assert builder.build(MODEL, context(cut), options) == build_request(
        MODEL, context(cut), options
    )
    at = data.draw(st.integers(0, len(history) - 1))
    changed = [*history[:at], UserMessage(content="changed"), *history[at + 1 :]]  # type: ignore[arg-type]
    assert builder.build(MODEL, context(changed), options) == build_request(
        MODEL, context(changed), options
    )


def test_old_messages_are_taken_from_the_request_before() -> None:
    builder = RequestBuilder()
    history: list[Message] = []
    for n in range(20):
        history += [UserMessage(content=f"q{n}"), AssistantMessage(content=[TextContent(text="a")])]  # type: ignore[arg-type]
    asked = UserMessage(content="now")  # type: ignore[arg-type]
    first = builder.build(MODEL, context([*history, asked]), StreamOptions())["messages"]
    more = [asked, AssistantMessage(content=[TextContent(text="b")]), UserMessage(content="next")]  # type: ignore[arg-type]
    second = builder.build(MODEL, context([*history, *more]), StreamOptions())["messages"]
    # The last two user messages of each carry marks, so they are others.
    assert all(a is b for a, b in zip(first[:38], second[:38], strict=True))


def test_an_old_image_makes_room_for_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_IMAGES", 2)
    builder = RequestBuilder()
    history: list[Message] = [UserMessage(content=[image(1), image(2)])]
    builder.build(MODEL, context(history), StreamOptions())
    history += [AssistantMessage(content=[TextContent(text="I see")])]
    history += [UserMessage(content=[image(3)])]
    built = builder.build(MODEL, context(history), StreamOptions())
    kinds = [block["type"] for message in built["messages"] for block in message["content"]]
    assert kinds == ["text", "image", "text", "image"]
    assert built == build_request(MODEL, context(history), StreamOptions())


def test_uploads_go_to_the_container_once_code_runs() -> None:
    builder = RequestBuilder()
    upload = ContainerUpload(file_id="file_1", name="sales.csv")
    history: list[Message] = [UserMessage(content=[TextContent(text="x")], uploads=[upload])]

    def kinds(offered: list[AgentTool]) -> list[str]:
        request = builder.build(MODEL, context(history, offered), StreamOptions())
        return [block["type"] for block in request["messages"][0]["content"]]

    assert kinds([]) == ["text", "text"]
    assert sorted(kinds([CODE])) == ["container_upload", "text"]
    assert kinds([]) == ["text", "text"]


# --- what the service's cache makes of it ----------------------------------------------------


def served(requests: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """(read, written) of each, by the rules of the service's cache (A29)."""
    cache = PromptCache(estimate_tokens, read_by_model, clock=lambda: 0.0)
    shares = [cache.share(request) for request in requests]
    return [(share.read, share.written + share.written_1h) for share in shares]


def marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks, value.values()))
    return sum(map(marks, value)) if isinstance(value, list) else 0


@settings(deadline=None, max_examples=60)
@given(conversations())
def test_each_request_reads_all_that_the_one_before_left(pieces: list[list[Message]]) -> None:
    builder = RequestBuilder()
    history: list[Message] = []
    requests: list[dict[str, Any]] = []
    offered = tools(30)
    for piece in pieces:
        history += piece
        requests.append(builder.build(MODEL, context(history, offered), StreamOptions()))
    assert all(1 <= marks(request) <= 4 for request in requests)
    shares = served(requests)
    assert shares[0][0] == 0 and shares[0][1] > 1024
    for (read, written), (next_read, _) in itertools.pairwise(shares):
        assert next_read == read + written


@pytest.mark.parametrize("calls", [1, 10, 25, 60])
def test_more_blocks_than_the_cache_looks_back_over(calls: int) -> None:
    """A turn of 25 parallel calls puts 50 blocks between two marks; 20 are looked at."""
    history: list[Message] = [UserMessage(content="begin " * 50)]  # type: ignore[arg-type]
    builder = RequestBuilder()
    requests = [builder.build(MODEL, context(history, tools(30)), StreamOptions())]
    for round_ in range(3):
        made = [ToolCall(id=f"t{round_}_{n}", name="read", arguments={}) for n in range(calls)]
        history.append(AssistantMessage(content=[*made], stop_reason="tool_use"))
        history += [
            ToolResultMessage(tool_call_id=call.id, content=[TextContent(text="found " * 20)])
            for call in made
        ]
        requests.append(builder.build(MODEL, context(history, tools(30)), StreamOptions()))
    shares = served(requests)
    for (read, written), (next_read, next_written) in itertools.pairwise(shares):
        assert next_read == read + written
        assert next_written > 0
    assert all(marks(request) == 4 for request in requests[1:])


def test_the_marks_ask_for_an_hour_by_setting_only() -> None:
    def ttls(cache: Any) -> set[str | None]:
        request = build_request(
            MODEL,
            context([UserMessage(content="x")], tools(2)),
            StreamOptions(),
            cache=cache,  # type: ignore[arg-type]
        )
        blocks = [*request["tools"], *request["system"], *request["messages"][0]["content"]]
        return {b["cache_control"].get("ttl") for b in blocks if "cache_control" in b}

    assert ttls("5m") == {None}
    assert ttls("1h") == {"1h"}
    assert ttls("off") == set()
