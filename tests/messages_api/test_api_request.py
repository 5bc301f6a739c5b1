"""Requests: values, order, caching, thinking; and every history against the rules of the API."""

import base64
import itertools
import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AgentMessage,
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
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.models import EFFORTS, ModelInfo, model_info
from agent_tui.messages_api.request import build_request, without_thinking
from agent_tui.messages_api.stream import encode_body
from agent_tui.messages_api.wire_history import ABORTED, FAILED
from agent_tui.offline.rules import validate_request

Json = dict[str, Any]
MODEL = "claude-sonnet-5-5"
PROGRAM = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}


async def nothing(call_id: str, arguments: Json, ctx: ToolContext) -> ToolResult:
    return ToolResult.text("")


def tool(name: str = "read", **wire: Any) -> AgentTool:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return AgentTool(name, f"{name} it", schema, nothing, wire=wire)


def build(*messages: Message, **options: Any) -> Json:
    tools = options.pop("tools", [])
    system = options.pop("system", "")
    kept = {k: options.pop(k) for k in list(options) if k in StreamOptions.__slots__}
    model = options.pop("model", MODEL)
    context = LLMContext(system, list(messages), tools)
    return build_request(model, context, StreamOptions(**kept), **options)


def wire(*messages: Message, **options: Any) -> list[Json]:
    return build(*messages, cache="off", **options)["messages"]


def user(text: str) -> UserMessage:
    return UserMessage(content=text)


def reply(*content: Any, stop_reason: str = "end_turn") -> AssistantMessage:
    blocks = [TextContent(text=c) if isinstance(c, str) else c for c in content]
    return AssistantMessage(content=blocks, stop_reason=stop_reason)


def result(call_id: str, *content: Any, is_error: bool = False) -> ToolResultMessage:
    blocks = [TextContent(text=c) if isinstance(c, str) else c for c in content]
    return ToolResultMessage(tool_call_id=call_id, content=blocks, is_error=is_error)


def png(width: int = 1, height: int = 1, size: int = 100) -> str:
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height)
    return base64.b64encode(head.ljust(size, b"\x00")).decode()


def image(data: str | None = None, media_type: str = "image/png") -> ImageContent:
    return ImageContent(data=png() if data is None else data, media_type=media_type)


# --- shape ------------------------------------------------------------------------------


def test_the_smallest_request() -> None:
    assert build(user("hi"), cache="off") == {
        "model": MODEL,
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "thinking": {"type": "between_tools"},
    }


def test_all_of_a_request() -> None:
    request = build(
        user("hi"), system="Be brief.", tools=[tool(), tool("grep")], container_id="container_1",
        thinking_level="high", max_tokens=999_999,
    )  # fmt: skip
    assert list(request) == [
        "model", "max_tokens", "system", "tools", "messages", "thinking", "output_config",
        "container",
    ]  # fmt: skip
    assert request["max_tokens"] == 128_000
    assert request["system"][0]["text"] == "Be brief."
    assert [t["name"] for t in request["tools"]] == ["read", "grep"]
    assert request["container"] == "container_1"
    assert validate_request({**request, "stream": True}) == []


def test_nothing_to_send_is_said() -> None:
    with pytest.raises(ApiError, match="Write a message"):
        build()


def test_a_tool_and_one_of_the_apis_own() -> None:
    own = AgentTool("code_execution", "", {}, nothing, wire={"type": "code_execution_20260120"})
    request = build(
        user("x"), tools=[own, tool(allowed_callers=["code_execution_20260120"])], cache="off"
    )
    assert request["tools"][0] == {"type": "code_execution_20260120", "name": "code_execution"}
    assert request["tools"][1]["allowed_callers"] == ["code_execution_20260120"]
    assert list(request["tools"][1])[:3] == ["name", "description", "input_schema"]


def test_live_arguments_are_asked_for_only_by_setting() -> None:
    own = AgentTool("code_execution", "", {}, nothing, wire={"type": "code_execution_20260120"})
    assert "eager_input_streaming" not in build(user("x"), tools=[tool()])["tools"][0]
    eager = build(user("x"), tools=[tool(), own], eager_input_streaming=True)["tools"]
    assert eager[0]["eager_input_streaming"] is True
    assert "eager_input_streaming" not in eager[1]


def test_a03_results_lead_and_the_texts_follow() -> None:
    calls = [ToolCall(id="A", name="read"), ToolCall(id="B", name="read")]
    sent = wire(
        user("go"), reply(*calls, stop_reason="tool_use"), user("stop after this"),
        result("A", "a"), result("B", "b"), user("and this"),
    )  # fmt: skip
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]
    assert [b["type"] for b in sent[2]["content"]] == ["tool_result"] * 2 + ["text"] * 2
    assert [b["text"] for b in sent[2]["content"][2:]] == ["stop after this", "and this"]


def test_a26_the_results_of_a_program_stand_alone() -> None:
    call = ToolCall(id="A", name="read", caller=PROGRAM)
    server = OpaqueContent(raw={"type": "server_tool_use", "id": "srvtoolu_1", "name": "x",
                                "input": {}})  # fmt: skip
    sent = wire(
        user("go"), reply("half", stop_reason="aborted"), user("on"),
        reply(server, call, stop_reason="tool_use"), result("A", "a", image()),
    )  # fmt: skip
    [block] = sent[-1]["content"]
    assert block["type"] == "tool_result"
    assert [c["type"] for c in block["content"]] == ["text", "text"]


def test_an_error_result_is_text_only_and_no_result_is_empty() -> None:
    calls = [ToolCall(id=i, name="read") for i in "ABC"]
    sent = wire(
        user("go"), reply(*calls, stop_reason="tool_use"), result("A", image(), is_error=True),
        result("B"), result("C", " ", image()),
    )  # fmt: skip
    a, b, c = sent[2]["content"]
    assert a["is_error"] is True and [p["type"] for p in a["content"]] == ["text"]
    assert b["content"] == [{"type": "text", "text": "(no output)"}] and "is_error" not in b
    assert [p["type"] for p in c["content"]] == ["image"]


def test_a_reply_that_a_stop_cut_leaves_only_what_is_whole() -> None:
    cut = [
        ThinkingContent(thinking="Hm"),
        TextContent(text="  "),
        ToolCall(id="A", name="read", complete=False),
        OpaqueContent(raw={"type": "server_tool_use"}, complete=False),
        TextContent(text="kept"),
    ]
    sent = wire(user("go"), reply(*cut, stop_reason="aborted"), user("on"))
    assert sent[1]["content"] == [{"type": "text", "text": "kept"}]


@pytest.mark.parametrize(("stop_reason", "note"), [("aborted", ABORTED), ("error", FAILED)])
def test_the_next_user_message_says_that_the_answer_was_interrupted(
    stop_reason: str, note: str
) -> None:
    sent = wire(user("go"), reply("half", stop_reason=stop_reason), user("on"), reply("b"),
                user("c"))  # fmt: skip
    assert [b["text"] for b in sent[2]["content"]] == [note, "on"]
    assert sent[1]["content"] == [{"type": "text", "text": "half"}]
    assert [b["text"] for b in sent[4]["content"]] == ["c"]


def test_the_mark_comes_after_results_and_a_dropped_reply_has_none() -> None:
    call = ToolCall(id="A", name="read")
    sent = wire(
        user("go"), reply("half", call, stop_reason="aborted"), result("A", "x"), user("on")
    )
    assert [b.get("text") for b in sent[2]["content"]] == [None, ABORTED, "on"]
    sent = wire(user("go"), reply(" ", stop_reason="aborted"), user("on"))
    assert [b["text"] for m in sent for b in m["content"]] == ["go", "on"]


def test_a_paused_turn_goes_back_unchanged_without_trailing_white_space() -> None:
    server = OpaqueContent(raw={"type": "server_tool_use", "id": "s", "name": "web_search",
                                "input": {"q": 1}})  # fmt: skip
    sent = wire(
        user("go"), reply("one", server, stop_reason="pause_turn"),
        reply("two \n", stop_reason="pause_turn"),
    )  # fmt: skip
    assert [m["role"] for m in sent] == ["user", "assistant"]
    assert sent[1]["content"] == [
        {"type": "text", "text": "one"}, server.raw, {"type": "text", "text": "two"}
    ]  # fmt: skip


def test_a09_blocks_keep_their_order_and_neighbours_are_not_merged() -> None:
    blocks = [
        ThinkingContent(thinking="1", signature="s1"), TextContent(text="a"), TextContent(text="b"),
        ToolCall(id="A", name="read"), ThinkingContent(thinking="", signature="s2"),
        ThinkingContent(redacted="r"), ToolCall(id="B", name="read"),
    ]  # fmt: skip
    sent = wire(user("go"), reply(*blocks, stop_reason="tool_use"), result("A", "a"),
                result("B", "b"))  # fmt: skip
    assert [b["type"] for b in sent[1]["content"]] == [
        "thinking", "text", "text", "tool_use", "thinking", "redacted_thinking", "tool_use"
    ]  # fmt: skip
    assert sent[1]["content"][4] == {"type": "thinking", "thinking": "", "signature": "s2"}


# --- characters -------------------------------------------------------------------------


def test_a34_a35_no_surrogate_nul_or_control_goes_out() -> None:
    bad = "a\ud83d\x00\x1b[31mb\ttab\r\n"
    call = ToolCall(id="A", name="read", arguments={bad: [bad, float("nan")]})
    request = build(
        user(bad), reply(bad, call, stop_reason="tool_use"), result("A", bad), system=bad,
        tools=[AgentTool("read", bad, {"type": "object", "title": bad}, nothing)],
    )  # fmt: skip
    body = encode_body(request).decode()
    assert "\\u0000" not in body
    sent = json.loads(body)
    assert sent["messages"][0]["content"][0]["text"] == "a\ufffd\\x00\\x1b[31mb\ttab\r\n"
    assert sent["messages"][1]["content"][1]["input"] == {
        bad.replace("\ud83d", "\ufffd").replace("\x00", "\\x00"): [
            bad.replace("\ud83d", "\ufffd").replace("\x00", "\\x00"), None
        ]
    }  # fmt: skip


def test_the_body_is_bytes_even_for_what_no_one_cleaned() -> None:
    assert json.loads(encode_body({"model": "m\ud83d"}))["model"] == "m?"


# --- images -----------------------------------------------------------------------------


def image_blocks(*images: ImageContent) -> list[Json]:
    return wire(UserMessage(content=[TextContent(text="x"), *images]))[0]["content"][1:]


def test_a31_the_media_type_is_that_of_the_bytes() -> None:
    gif = base64.b64encode(b"GIF89a" + struct.pack("<HH", 3, 4) + b"\0" * 9).decode()
    [first, second] = image_blocks(image(media_type="image/jpeg"), image(gif))
    assert first["source"] == {"type": "base64", "media_type": "image/png", "data": png()}
    assert second["source"]["media_type"] == "image/gif"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (base64.b64encode(b"BM not a known image").decode(), "not a PNG"),
        ("not base64 at all!", "base64"),
        ("", "not a PNG"),
        (png(size=5_000_000), "5 MB"),
        (png(9000, 200), "9000x200"),
    ],
)
def test_a30_a31_an_image_that_cannot_go_is_a_note(data: str, why: str) -> None:
    [block] = image_blocks(image(data))
    assert block["type"] == "text" and why in block["text"]


def test_a30_many_images_have_a_stricter_limit() -> None:
    wide = image(png(2400, 10))
    assert [b["type"] for b in image_blocks(*[image()] * 19, wide)] == ["image"] * 20
    blocks = image_blocks(*[image()] * 20, wide)
    assert [b["type"] for b in blocks] == ["image"] * 20 + ["text"]
    assert "2400x10" in blocks[-1]["text"]


def test_a30_the_newest_images_go_when_there_are_too_many() -> None:
    many = [image(png(width=n + 1)) for n in range(103)]
    blocks = image_blocks(*many)
    assert [b["type"] for b in blocks] == ["text"] * 3 + ["image"] * 100
    big = [image(png(width=n + 1, size=3_000_000)) for n in range(8)]
    kinds = [b["type"] for b in image_blocks(*big)]
    assert kinds == ["text"] * 3 + ["image"] * 5


# --- cache ------------------------------------------------------------------------------


def marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marks(v) for v in value.values())
    return sum(marks(v) for v in value) if isinstance(value, list) else 0


def test_a28_at_most_four_marks_in_their_places() -> None:
    turns = [m for n in range(6) for m in (user(f"q{n}"), reply(f"a{n}"))]
    request = build(*turns, user("last"), system="s", tools=[tool(f"t{n}") for n in range(30)])
    assert marks(request) == 4
    assert "cache_control" in request["tools"][-1] and "cache_control" in request["system"][-1]
    marked = [i for i, m in enumerate(request["messages"]) if marks(m)]
    assert marked == [10, 12]
    assert marks(build(user("x"))) == 1
    assert marks(build(user("x"), cache="off", system="s", tools=[tool()])) == 0


def test_a28_marks_that_tools_bring_count() -> None:
    mine = {"cache_control": {"type": "ephemeral"}}
    turns = [user("a"), reply("b"), user("c")]
    request = build(*turns, system="s", tools=[tool("a", **mine), tool("b", **mine), tool("c")])
    assert marks(request) == 4
    assert [marks(t) for t in request["tools"]] == [0, 0, 1]


def test_a29_a_longer_history_has_the_same_beginning() -> None:
    """Block by block: a user message may grow, what was sent before stays as it was."""
    turns: list[Message] = []
    before: list[str] = []
    for n in range(4):
        call = ToolCall(id=f"c{n}", name="read", arguments={"path": str(n)})
        thought = ThinkingContent(thinking="t", signature="s")
        turns += [user(f"q{n}"), reply(thought, call, stop_reason="tool_use"), result(f"c{n}", "r")]
        request = build(*turns, cache="off", system="s", tools=[tool(), tool("b")])
        sent = [json.dumps({**request, "messages": []})]
        sent += [json.dumps([m["role"], b]) for m in request["messages"] for b in m["content"]]
        assert sent[: len(before)] == before and len(sent) > len(before)
        before = sent
        again = build(*turns, cache="off", system="s", tools=[tool(), tool("b")])
        assert encode_body(request) == encode_body(again)


def test_the_history_is_not_changed() -> None:
    shared = {"type": "hologram", "deep": {"er": [1]}}
    history: list[Message] = [
        user("a"), reply(OpaqueContent(raw=shared), "b ", stop_reason="pause_turn")
    ]  # fmt: skip
    before = [m.model_dump_json() for m in history]
    build(*history)
    assert [m.model_dump_json() for m in history] == before


# --- thinking ---------------------------------------------------------------------------


def thinking(model: str, level: Any, **options: Any) -> tuple[Any, Any]:
    request = build(user("x"), model=model, thinking_level=level, **options)
    return request.get("thinking"), (request.get("output_config") or {}).get("effort")


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "level", "wanted"),
    [
        ("claude-sonnet-5-5", "off", ({"type": "between_tools"}, None)),
        ("claude-sonnet-5-5", "max", (ADAPTIVE, "max")),
        ("claude-opus-5-5", "off", (None, "low")),
        ("claude-opus-5-5", "xhigh", (ADAPTIVE, "xhigh")),
        ("claude-haiku-5-5", "off", ({"type": "disabled"}, None)),
        ("claude-fable-5-2", "low", (ADAPTIVE, "low")),
        ("claude-sonnet-4-6", "xhigh", (ADAPTIVE, "high")),
        ("claude-sonnet-4-6", "off", ({"type": "disabled"}, None)),
        ("claude-sonnet-4-5-20250929", "off", (None, None)),
        ("claude-sonnet-4-5-20250929", "low",
         ({"type": "enabled", "budget_tokens": 2048}, None)),
        ("claude-sonnet-4-5-20250929", "max",
         ({"type": "enabled", "budget_tokens": 8192 - 1024}, None)),
        ("qwen3:8b", "off", (None, None)),
        ("qwen3:8b", "medium", ({"type": "enabled", "budget_tokens": 8192 - 1024}, None)),
    ],
)  # fmt: skip
def test_levels_as_each_model_takes_them(model: str, level: Any, wanted: Any) -> None:
    assert thinking(model, level) == wanted
    request = build(user("x"), model=model, thinking_level=level)
    assert validate_request({**request, "stream": True}) == []


MODES: tuple[Any, ...] = ("adaptive", "between_tools", "disabled", "enabled")
LEVELS: tuple[Any, ...] = ("off", "low", "medium", "high", "xhigh", "max")


@pytest.mark.parametrize("modes", [
    set(some) for size in range(5) for some in itertools.combinations(MODES, size)
], ids=lambda some: "+".join(sorted(some)) or "unknown")  # fmt: skip
def test_no_level_asks_for_what_a_model_does_not_take(modes: set[Any]) -> None:
    """Every set of thinking types, of efforts, every level and limit; A43 for the budget."""
    for efforts, level, max_tokens in itertools.product(
        ((), ("low",), ("low", "medium", "high"), ("medium", "max"), EFFORTS),
        LEVELS,
        (1, 1024, 2047, 2048, 8192, 64_000),
    ):
        info = ModelInfo("m", thinking=frozenset(modes), efforts=efforts)
        request = build(user("x"), info=info, thinking_level=level, max_tokens=max_tokens)
        sent = request.get("thinking") or {}
        effort = (request.get("output_config") or {}).get("effort")
        kind = sent.get("type")
        assert kind is None or kind in (modes or {"enabled"})
        assert effort is None or effort in efforts
        if kind == "enabled":
            assert 1024 <= sent["budget_tokens"] < max_tokens
        if level == "off":
            assert kind not in ("adaptive", "enabled"), "thinking that was not asked for"
            wordless = not modes & {"disabled", "between_tools"}
            assert effort == (efforts[0] if efforts and wordless else None)
        else:
            assert kind not in ("disabled", "between_tools"), "less thinking than was asked for"
            assert (effort is not None) == bool(efforts)
            assert kind is not None or not (modes & {"adaptive"}), "a mode that was not used"
        if kind == "adaptive":
            assert sent["display"] == "summarized", "else nothing of it is seen"


def test_a_higher_level_is_never_less() -> None:
    for model in ("claude-sonnet-5-5", "claude-sonnet-4-6", "claude-sonnet-4-5", "qwen"):
        amounts = [
            (config or {}).get("budget_tokens") or EFFORTS.index(effort or "low")
            for config, effort in (
                thinking(model, level, max_tokens=64_000) for level in LEVELS[1:]
            )
        ]
        assert amounts == sorted(amounts) and amounts[0] < amounts[-1]


def test_a43_a_budget_that_does_not_fit_is_left_out() -> None:
    assert thinking("claude-sonnet-4-5", "max", max_tokens=2000) == (None, None)


def test_a_budget_needs_thinking_at_the_start_of_a_turn_that_goes_on() -> None:
    """Switched on in the middle of tool calls, it would be refused."""
    call = ToolCall(id="A", name="read")
    ongoing = [user("x"), reply(call, stop_reason="tool_use"), result("A", "a")]
    request = build(*ongoing, model="claude-sonnet-4-5", thinking_level="high")
    assert "thinking" not in request
    thought = reply(ThinkingContent(thinking="t", signature="s"), call, stop_reason="tool_use")
    request = build(ongoing[0], thought, ongoing[2], model="claude-sonnet-4-5",
                    thinking_level="high")  # fmt: skip
    assert request["thinking"]["type"] == "enabled"


def test_a_model_without_a_mode_is_left_alone() -> None:
    info = ModelInfo("m", thinking=frozenset({"disabled"}))
    assert "thinking" not in build(user("x"), info=info, thinking_level="high")


def test_a12_thinking_can_be_left_out_for_one_retry() -> None:
    thought = ThinkingContent(thinking="t", signature="bad")
    history = [user("a"), reply(thought, "b"), user("c"), reply(thought), user("d")]
    request = build(*history, strip_thinking=True, cache="off")
    assert "bad" not in json.dumps(request)
    assert [m["role"] for m in request["messages"]] == ["user", "assistant", "user"]
    assert len(without_thinking(history)) == 5
    assert history[1].content[0] is thought


def test_max_tokens_is_capped_only_by_what_is_known() -> None:
    assert build(user("x"), model="claude-haiku-4-5", max_tokens=90_000)["max_tokens"] == 64_000
    assert build(user("x"), model="qwen", max_tokens=90_000)["max_tokens"] == 90_000


# --- every history ----------------------------------------------------------------------

ids = st.sampled_from(["A", "B", "call 1", "", "c.2"])
plain = st.sampled_from(["hi", "", " ", "x\x00", "\ud83d", "tail \n"])
pictures = st.sampled_from([image(), image("nope"), image(png(9000, 1))])
user_content = st.lists(
    plain.map(lambda t: TextContent(text=t.replace("\ud83d", "\ufffd"))) | pictures, max_size=3
)
calls = st.builds(
    ToolCall, id=ids, name=st.sampled_from(["read", "a b", ""]),
    arguments=st.just({"path": "a"}), complete=st.booleans(),
    caller=st.sampled_from([None, {"type": "direct"}]),
    invalid_arguments=st.sampled_from([None, None, "[1"]),
)  # fmt: skip
PROGRAM_RAW = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution",
               "input": {"code": "x"}}  # fmt: skip
PROGRAM_RESULT = {
    "type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1",
    "content": {"type": "code_execution_result", "stdout": "", "stderr": "", "return_code": 0,
                "content": []},
}  # fmt: skip
program = st.just([OpaqueContent(raw=PROGRAM_RAW),
                   ToolCall(id="A", name="read", caller=PROGRAM)])  # fmt: skip
other = (
    plain.map(lambda t: TextContent(text=t.replace("\ud83d", "\ufffd")))
    | st.sampled_from([ThinkingContent(thinking="t", signature="s"), ThinkingContent(thinking="t"),
                       ThinkingContent(redacted="r"),
                       OpaqueContent(raw={"type": "compaction", "content": "So far."}),
                       OpaqueContent(raw=PROGRAM_RAW, complete=False)])
    | calls
)  # fmt: skip
results = st.sampled_from([[], [OpaqueContent(raw=PROGRAM_RESULT)]])
reply_content = st.tuples(results, st.lists(other, max_size=3), st.just([]) | program).map(
    lambda parts: [b for blocks in parts for b in blocks]
)
any_message: st.SearchStrategy[AgentMessage] = st.one_of(
    st.builds(UserMessage, content=user_content),
    st.builds(
        AssistantMessage,
        content=reply_content,
        stop_reason=st.sampled_from(
            ["end_turn", "tool_use", "aborted", "error", "pause_turn", "max_tokens", "compaction"]
        ),
    ),
    st.builds(ToolResultMessage, tool_call_id=ids, content=user_content, is_error=st.booleans()),
)


@settings(deadline=None, max_examples=300)
@given(st.lists(any_message, max_size=8), st.sampled_from([MODEL, "claude-sonnet-4-5", "qwen"]),
       st.sampled_from(["off", "high"]))  # fmt: skip
def test_every_history_makes_a_valid_request(
    history: list[AgentMessage], model: str, level: Any
) -> None:
    """Whatever an abort, a crash or an edit left: repaired and built, no rule is broken."""
    repaired = convert_to_llm([*with_own_server_ids(history), user("now")])
    context = LLMContext("s", repaired, [tool(), AgentTool(
        "code_execution", "", {}, nothing, wire={"type": "code_execution_20260120"})])  # fmt: skip
    options = StreamOptions(thinking_level=level, container_id="container_1")
    for strip in (False, True):
        request = build_request(model, context, options, model_info(model), strip_thinking=strip)
        body = json.loads(encode_body(request))
        assert [p.message for p in validate_request(body)] == []
        texts = json.dumps(body["messages"][-1])
        assert '"now"' in texts


def with_own_server_ids(history: list[AgentMessage]) -> list[AgentMessage]:
    """Each server_tool_use with an id of its own, as the API gives them; results and programs'
    calls belong to the last one."""
    numbered: list[AgentMessage] = []
    count = 0
    for message in history:
        if isinstance(message, AssistantMessage):
            content: list[Any] = []
            for block in message.content:
                own = f"srvtoolu_{count}"
                if isinstance(block, OpaqueContent) and block.raw["type"] == "server_tool_use":
                    count += 1
                    raw = {**block.raw, "id": f"srvtoolu_{count}"}
                    block = block.model_copy(update={"raw": raw})
                elif isinstance(block, OpaqueContent) and "tool_use_id" in block.raw:
                    raw = {**block.raw, "tool_use_id": own}
                    block = block.model_copy(update={"raw": raw})
                elif isinstance(block, ToolCall) and block.programmatic:
                    block = block.model_copy(update={"caller": {**PROGRAM, "tool_id": own}})
                content.append(block)
            message = message.model_copy(update={"content": content})
        numbered.append(message)
    return numbered
