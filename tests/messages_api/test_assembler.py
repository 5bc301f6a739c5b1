"""The assembler: every block, delta, stop reason and quirk of the facts page."""

import json
from typing import Any

import pytest
import stream_making as making
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_making import PING, block_start, block_stop, delta, end, start, text, tool_use, whole

from agent_tui.agent.events import (
    ContainerEvent,
    DoneEvent,
    ErrorEvent,
    OpaqueEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    UsageEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.errors import StreamCutError
from agent_tui.messages_api.sse import SSEReader
from agent_tui.messages_api.wire_blocks import sent_block

Json = dict[str, Any]


def run(*parts: Json | list[Json]) -> tuple[list[StreamEvent], AssistantMessage]:
    assembler = Assembler()
    made: list[StreamEvent] = []
    for part in parts:
        for event in part if isinstance(part, list) else [part]:
            made += assembler.feed(json.loads(json.dumps(event)))
    made += assembler.finish()
    assert isinstance(made[-1], DoneEvent | ErrorEvent)
    return made, made[-1].message


def kinds(events: list[StreamEvent]) -> list[str]:
    return [e.type for e in events]


# --- blocks ---------------------------------------------------------------------------


def test_text_in_deltas() -> None:
    events, message = run(start(), PING, text(0, "Hel", "lo"), end("end_turn"))
    assert kinds(events) == [
        "start", "usage", "text_start", "text_delta", "text_delta", "text_end", "usage", "done"
    ]  # fmt: skip
    assert events[0] == StartEvent("msg_01", "claude-sonnet-5-5")
    assert message.content == [TextContent(text="Hello")]
    assert (message.stop_reason, message.api_id) == ("end_turn", "msg_01")


def test_a_text_is_joined_once_and_not_kept_twice() -> None:
    events, message = run(start(), text(0, "見積", "もり"), end("end_turn"))
    ended = next(event for event in events if event.type == "text_end")
    assert isinstance(message.content[0], TextContent)
    assert ended.block.text is message.content[0].text


def test_text_that_the_start_block_brings_is_a_delta_too() -> None:
    events, message = run(start(), whole(0, {"type": "text", "text": "Hi"}), end("end_turn"))
    assert TextDeltaEvent(0, "Hi") in events
    assert message.text == "Hi"


def test_citations_append_and_stay_in_the_template() -> None:
    _, message = run(
        start(),
        block_start(0, {"citations": [], "type": "text", "text": ""}),
        delta(0, "citations", citation={"n": 1}),
        delta(0, "text", text="x"),
        delta(0, "citations", citation={"n": 2}),
        block_stop(0),
        end("end_turn"),
    )
    sent = sent_block(message.content[0])
    assert sent == {"citations": [{"n": 1}, {"n": 2}], "type": "text", "text": "x"}
    assert list(sent) == ["citations", "type", "text"]


def test_a_signature_replaces() -> None:
    _, message = run(
        start(),
        block_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking", thinking="Hm", estimated_tokens=3),
        delta(0, "signature", signature="one"),
        delta(0, "signature", signature="two"),
        block_stop(0),
        end("end_turn"),
    )
    assert message.content == [ThinkingContent(thinking="Hm", signature="two")]


@pytest.mark.parametrize(
    ("sent", "told"), [(500, 500), (0, None), (None, None), ("7", None), (-3, None)]
)
def test_thinking_that_is_not_shown_tells_its_estimate(sent: Any, told: int | None) -> None:
    """display omitted: the deltas carry no text, only an estimate of tokens to add up."""
    events, message = run(
        start(),
        block_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking", thinking="", estimated_tokens=sent),
        delta(0, "signature", signature="one"),
        block_stop(0),
        end("end_turn"),
    )
    estimates = [e for e in events if isinstance(e, ThinkingDeltaEvent)]
    assert [(e.delta, e.estimated_tokens) for e in estimates] == ([("", told)] if told else [])
    assert message.content == [ThinkingContent(thinking="", signature="one")]


def test_redacted_thinking_is_no_call_and_keeps_its_data() -> None:
    block = {"type": "redacted_thinking", "data": "EmABC=="}
    _, message = run(start(), whole(0, block), tool_use(1, "{}"), end("tool_use"))
    assert message.content[0] == ThinkingContent(redacted="EmABC==")
    assert sent_block(message.content[0]) == block
    assert len(message.tool_calls) == 1


@pytest.mark.parametrize("parts", [[], [""], ["{}"], ["", ""], [" "]])
def test_a_call_without_arguments(parts: list[str]) -> None:
    _, message = run(start(), tool_use(0, *parts), end("tool_use"))
    [call] = message.tool_calls
    assert (call.arguments, call.complete, call.invalid_arguments) == ({}, True, None)


def test_arguments_stay_empty_until_the_end_and_their_partial_is_readable() -> None:
    events, message = run(start(), tool_use(0, '{"path": "a', '.txt", "n": 1}'), end("tool_use"))
    [begun] = [e for e in events if isinstance(e, ToolCallStartEvent)]
    assert (begun.block.arguments, begun.block.complete) == ({}, False)
    deltas = [e for e in events if isinstance(e, ToolCallDeltaEvent)]
    assert [d.partial for d in deltas] == [[("path", "a")], [("path", ".txt"), ("n", "1")]]
    [ended] = [e for e in events if isinstance(e, ToolCallEndEvent)]
    assert ended.block.arguments == {"path": "a.txt", "n": 1} and ended.block.complete
    assert message.content == [ended.block]


@pytest.mark.parametrize(
    "said",
    ['{"a": }', "[1]", '"x"', "7", "null", '{"a": NaN}', '{"a": 1e999}', "{" * 3000,
     '{"a":' * 150 + "1" + "}" * 150, '{"n": ' + "9" * 5000 + "}"],
)  # fmt: skip
def test_what_is_no_json_object_is_told(said: str) -> None:
    _, message = run(start(), tool_use(0, said), end("tool_use"))
    [call] = message.tool_calls
    assert call.arguments == {} and call.complete
    assert call.invalid_arguments == said
    assert sent_block(call)["input"] == {"INVALID_JSON": said}


def test_a_programmatic_call_is_whole_at_its_start() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"},
             "caller": making.PROGRAM}  # fmt: skip
    events, message = run(start(), whole(0, block), end("tool_use"))
    [begun] = [e for e in events if isinstance(e, ToolCallStartEvent)]
    assert begun.block.arguments == {"path": "a"} and begun.block.programmatic
    assert sent_block(message.content[0]) == block


def test_duplicate_ids_are_made_unique() -> None:
    _, message = run(start(), tool_use(0, "{}"), tool_use(1, "{}"), tool_use(2), end("tool_use"))
    ids = [c.id for c in message.tool_calls]
    assert ids[0] == "toolu_01" and len(set(ids)) == 3


def test_a_call_without_id_gets_one() -> None:
    _, message = run(start(), tool_use(0, "{}", id=None), end("tool_use"))
    assert message.tool_calls[0].id


def test_the_input_of_a_server_tool_streams_and_goes_back() -> None:
    events, message = run(
        start(), making.server_call(0, "web_search", "srvtoolu_1", '{"query": "a', '"}'),
        end("pause_turn"),
    )  # fmt: skip
    opaque = [e for e in events if isinstance(e, OpaqueEvent)]
    assert [e.phase for e in opaque] == ["start", "delta", "delta", "end"]
    assert opaque[1].partial == [("query", "a")]
    [block] = message.content
    assert isinstance(block, OpaqueContent) and block.complete
    assert block.raw["input"] == {"query": "a"}
    assert message.stop_reason == "pause_turn"


def test_a_server_call_whose_input_is_no_object_is_shown_but_never_sent() -> None:
    _, message = run(start(), making.server_call(0, "web_search", "s", '{"q'), end("end_turn"))
    [block] = message.content
    assert isinstance(block, OpaqueContent)
    assert not block.complete and block.raw["input"] == '{"q'


def test_a_compaction_replaces() -> None:
    _, message = run(
        start(),
        block_start(0, {"type": "compaction", "content": None}),
        delta(0, "compaction", content="a", encrypted_content="x"),
        delta(0, "compaction", content="b", encrypted_content="y"),
        block_stop(0),
        end("compaction"),
    )
    assert sent_block(message.content[0]) == {
        "type": "compaction", "content": "b", "encrypted_content": "y"
    }  # fmt: skip


def test_unknown_events_blocks_and_deltas_are_tolerated_and_kept() -> None:
    hologram = {"type": "hologram", "beams": [1, {"deep": None}], "text": ""}
    events, message = run(
        start(), {"type": "weather_report"}, {"no": "type"},
        block_start(0, hologram), delta(0, "sparkle", shine=1), delta(0, "text", text="seen"),
        block_stop(0), end("brand_new_reason"),
    )  # fmt: skip
    assert kinds(events)[-1] == "done"
    assert message.stop_reason == "brand_new_reason"
    assert sent_block(message.content[0]) == {**hologram, "text": "seen"}


def test_a_fallback_names_the_model_that_answered() -> None:
    block = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
    _, message = run(start(), whole(0, block), text(1, "x"), end("end_turn"))
    assert message.model == "b"


# --- the message ------------------------------------------------------------------------


def test_a_continuation_may_be_all_in_message_start() -> None:
    call = {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"path": "b"},
            "caller": making.PROGRAM}  # fmt: skip
    events, message = run(
        start([call], stop_reason="tool_use", container=making.CONTAINER), {"type": "message_stop"}
    )
    assert kinds(events) == [
        "start", "container", "usage", "toolcall_start", "toolcall_end", "done"
    ]  # fmt: skip
    assert message.stop_reason == "tool_use"
    assert message.container and message.container.id == "container_01"
    assert sent_block(message.content[0]) == call


def test_deltas_count_their_index_with_prefilled_blocks() -> None:
    events, message = run(
        start([{"type": "text", "text": "I had"}]), text(1, " more"), end("end_turn")
    )
    assert [b.text for b in message.content if isinstance(b, TextContent)] == ["I had", " more"]
    assert kinds(events).count("text_end") == 2


def test_a_prefilled_block_may_go_on() -> None:
    _, message = run(
        start([{"type": "text", "text": "I had"}]), delta(0, "text", text=" more"), block_stop(0),
        end("end_turn"),
    )  # fmt: skip
    assert message.content == [TextContent(text="I had more")]


def test_the_container_may_come_at_the_end() -> None:
    events, message = run(start(), text(0, "x"), end("end_turn", container=making.CONTAINER))
    [named] = [e for e in events if isinstance(e, ContainerEvent)]
    assert named.container == message.container
    assert message.container and message.container.expires_at == "2026-11-30T16:00:00Z"


def test_the_last_container_seen_is_kept() -> None:
    other = {"id": "container_02", "expires_at": None}
    _, message = run(start(container=making.CONTAINER), end("end_turn", container=other))
    assert message.container and message.container.id == "container_02"
    _, message = run(start(container=making.CONTAINER), end("end_turn", container=None))
    assert message.container and message.container.id == "container_01"


def test_usage_replaces_and_missing_counts_keep_the_earlier() -> None:
    counts = {"input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 7}
    events, message = run(
        start(usage=counts),
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 15}},
        end("end_turn", {"input_tokens": 900, "output_tokens": 40, "cache_read_input_tokens": None}
        ),
    )  # fmt: skip
    assert message.usage
    assert (message.usage.input, message.usage.output) == (900, 40)
    assert (message.usage.cache_read, message.usage.cache_write) == (7, None)
    assert [e.usage.output for e in events if isinstance(e, UsageEvent)] == [1, 15, 40]


def test_a_refusal_keeps_its_details() -> None:
    details = {"type": "refusal", "category": "cyber"}
    _, message = run(start(), end("refusal", stop_details=details))
    assert (message.stop_reason, message.stop_details) == ("refusal", details)
    assert message.content == []


def test_other_fields_of_the_message_are_kept() -> None:
    tail = end("end_turn")
    tail[0]["context_management"] = {"applied_edits": []}
    _, message = run(start(service_tier="standard"), tail)
    assert message.wire == {
        "service_tier": "standard", "context_management": {"applied_edits": []}
    }  # fmt: skip


# --- broken streams ---------------------------------------------------------------------


def test_a_body_without_message_stop_is_cut() -> None:
    _, message = run(start(), tool_use(0, '{"cmd":"rm -rf /tmp/x')[:-1])
    assert (message.stop_reason, message.error_type) == ("error", "stream_cut")
    [call] = message.tool_calls
    assert (call.arguments, call.complete) == ({}, False)


@pytest.mark.parametrize("reason", [None, ""])
def test_a_message_stop_without_a_reason_is_cut(reason: str | None) -> None:
    _, message = run(start(), text(0, "x"), end(reason))
    assert (message.stop_reason, message.error_type) == ("error", "stream_cut")


def test_a_reason_without_message_stop_is_cut() -> None:
    _, message = run(start(), text(0, "x"), end("end_turn")[:1])
    assert (message.stop_reason, message.error_type) == ("error", "stream_cut")
    assert message.text == "x"


def test_an_error_event_is_an_error_of_its_type() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events, message = run(start(), text(0, "The three")[:-1], error)
    assert isinstance(events[-1], ErrorEvent)
    assert (message.stop_reason, message.error_type) == ("error", "overloaded_error")
    assert message.text == "The three"
    assert message.error_message and "Overloaded" in message.error_message


def test_unfinished_thinking_has_no_signature() -> None:
    _, message = run(
        start(),
        block_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking", thinking="Hm"),
        delta(0, "signature", signature="sig"),
    )
    assert message.content == [ThinkingContent(thinking="Hm", signature=None)]


def test_a_call_cut_by_the_limit_is_not_complete() -> None:
    _, message = run(
        start(), tool_use(0, '{"cmd":"rm -rf build","dry_run":tr')[:-1], end("max_tokens")
    )
    [call] = message.tool_calls
    assert (call.arguments, call.complete) == ({}, False)
    assert message.stop_reason == "max_tokens"


def test_finish_takes_the_fault_that_broke_the_stream() -> None:
    assembler = Assembler()
    for event in [start(), *text(0, "x"), *end("end_turn")]:
        assembler.feed(event)
    [last] = assembler.finish(StreamCutError("It broke."))
    assert isinstance(last, ErrorEvent)
    assert last.message.error_message and last.message.error_message.startswith("It broke.")


# --- quirks -----------------------------------------------------------------------------


def test_a_second_message_start_keeps_what_came_and_runs_no_call_of_it() -> None:
    events, message = run(
        start(), text(0, "Before."), tool_use(1, '{"a": 1}', id="done"),
        tool_use(2, '{"b": ', id="half")[:-1],
        start(id="msg_02"), text(0, "After."), tool_use(1, '{"c": 3}', id="last"), end("tool_use"),
    )  # fmt: skip
    assert message.api_id == "msg_02"
    assert [c.id for c in message.tool_calls if c.complete] == ["last"]
    assert message.text == "Before.After."
    assert kinds(events).count("start") == 1
    ends = [e.index for e in events if isinstance(e, ToolCallEndEvent)]
    assert ends == [1, 4]


def test_a_repeated_message_start_changes_nothing() -> None:
    _, once = run(start(), text(0, "x"), tool_use(1, "{}"), end("tool_use"))
    _, twice = run(start(), text(0, "x"), start(), tool_use(1, "{}"), end("tool_use"))
    assert twice.content == once.content
    filled = start([{"type": "text", "text": "p"}])
    _, message = run(filled, filled, text(1, "x"), end("end_turn"))
    assert message.text == "px"


def test_other_servers_leave_out_starts_stops_and_indexes() -> None:
    events, message = run(
        {"type": "message_start", "message": {}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "."}},
        block_start(1, {"type": "tool_use", "id": "call_1", "name": "read", "input": {}}),
        delta(1, "input_json", partial_json='{"path":"a"}'),
        end("tool_use"),
    )
    assert isinstance(events[-1], DoneEvent)
    assert message.text == "Hi."
    assert message.usage and message.usage.input is None
    [call] = message.tool_calls
    assert call.complete and call.arguments == {"path": "a"}


def test_a_stream_without_message_start_keeps_its_content() -> None:
    events, message = run(text(0, "Hi"), end("end_turn"))
    assert kinds(events)[:2] == ["start", "text_start"]
    assert (message.text, message.stop_reason) == ("Hi", "end_turn")


def test_fields_nested_too_deeply_cost_only_themselves() -> None:
    deep: Any = []
    for _ in range(150):
        deep = [deep]
    tail = end("end_turn", {"output_tokens": 3, "x": deep})
    tail[0]["context_management"] = deep
    _, message = run(
        start(), whole(0, {"type": "hologram", "d": deep}), text(1, "kept"), tail
    )  # fmt: skip
    assert (message.text, message.stop_reason) == ("kept", "end_turn")
    assert len(message.content) == 1
    _, message = run(start([{"type": "hologram", "d": deep}]), text(0, "kept"), end("end_turn"))
    assert message.text == "kept"


def test_a_block_whose_template_lacks_its_value_still_has_it() -> None:
    block = TextContent(text="x", wire={"citations": None})
    assert sent_block(block) == {"citations": None, "type": "text", "text": "x"}


def test_a_call_without_stop_and_without_whole_json_is_cut() -> None:
    _, message = run(start(), tool_use(0, '{"path":"a')[:-1], end("tool_use"))
    assert not message.tool_calls[0].complete


def test_a_surrogate_pair_split_over_deltas_is_one_character() -> None:
    pair = json.dumps({"a": "x"}).replace("x", "\ud83d"), '\ude00"}'
    events, message = run(
        start(), text(0, "a\ud83d", "\ude00", "\ud83d"),
        tool_use(1, '{"t": "\ud83d', pair[1]), end("tool_use"),
    )  # fmt: skip
    assert message.text == "a😀\ufffd"
    assert "".join(e.delta for e in events if isinstance(e, TextDeltaEvent)) == "a😀\ufffd"
    assert message.tool_calls[0].arguments == {"t": "😀"}


@settings(deadline=None)
@given(st.data())
def test_nothing_that_comes_makes_it_raise(data: st.DataObject) -> None:
    """Any fields of any event missing, null, or of another type."""
    events = [
        start([{"type": "text", "text": "p"}], container=making.CONTAINER), text(1, "a"),
        tool_use(2, '{"a"', ": 1}"), making.server_call(3, "x", "s", "{}"), end("tool_use"),
    ]  # fmt: skip
    flat = [e for part in events for e in (part if isinstance(part, list) else [part])]
    assembler = Assembler()
    for event in flat:
        event = json.loads(json.dumps(event))
        for _ in range(data.draw(st.integers(0, 2))):
            damage(event, data)
        assembler.feed(event)
    assert isinstance(assembler.finish()[-1], DoneEvent | ErrorEvent)


def damage(value: Any, data: st.DataObject) -> None:
    while isinstance(value, dict) and value:
        key = data.draw(st.sampled_from(sorted(value)))
        if isinstance(value[key], dict) and value[key] and data.draw(st.booleans()):
            value = value[key]
            continue
        odd = [None, 7, "x", [], {}, True, [{}], {"type": "text"}, -1.5, "\ud83d", {"": None}]
        value[key] = data.draw(st.sampled_from(odd))
        return


# --- there and back ---------------------------------------------------------------------

strings = st.text(max_size=30)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | strings
trees = st.recursive(
    scalars, lambda t: st.lists(t, max_size=3) | st.dictionaries(strings, t, max_size=3)
)
objects = st.dictionaries(strings, trees, max_size=4)
callers = st.sampled_from([{"type": "direct"}, making.PROGRAM, None])


def shuffled(fields: dict[str, Any]) -> st.SearchStrategy[Json]:
    """The fields in any order: the order is part of what must come back."""
    return st.permutations(sorted(fields)).flatmap(
        lambda order: st.fixed_dictionaries({k: fields[k] for k in order})
    )


def optional(fields: dict[str, Any], extra: dict[str, Any]) -> st.SearchStrategy[Json]:
    return st.sets(st.sampled_from(sorted(extra))).flatmap(
        lambda names: shuffled(fields | {n: extra[n] for n in names})
    )


block_strategy = st.one_of(
    optional(
        {"type": st.just("text"), "text": strings},
        {"citations": st.none() | st.lists(objects, max_size=3), "new_field": trees},
    ),
    optional(
        {"type": st.just("thinking"), "thinking": strings, "signature": st.text(min_size=1)},
        {"new_field": trees},
    ),
    shuffled({"type": st.just("redacted_thinking"), "data": strings}),
    optional(
        {"type": st.just("tool_use"), "id": st.uuids().map(str), "name": strings, "input": objects},
        {"caller": callers, "new_field": trees},
    ),
    optional(
        {
            "type": st.sampled_from(["server_tool_use", "mcp_tool_use"]),
            "id": st.uuids().map(str),
            "name": strings,
            "input": objects,
        },
        {"caller": callers, "server_name": strings},
    ),
    shuffled({"type": st.just("compaction"), "content": strings}),
    optional({"type": st.just("hologram"), "beams": trees}, {"tool_use_id": strings}),
)
messages = st.fixed_dictionaries(
    {
        "id": st.just("msg_1"), "type": st.just("message"), "role": st.just("assistant"),
        "model": st.just("m"), "content": st.lists(block_strategy, max_size=6),
        "stop_reason": st.sampled_from(["end_turn", "tool_use"]), "stop_sequence": st.none(),
        "usage": st.just({"input_tokens": 1, "output_tokens": 2}),
    }
)  # fmt: skip


@settings(deadline=None)
@given(messages, st.data())
def test_a_streamed_message_goes_back_value_equal_with_key_order(
    message: Json, data: st.DataObject
) -> None:
    events = making.events_of(
        message, lambda s: data.draw(st.lists(st.integers(0, max(len(s), 1)), max_size=3))
    )
    body = making.sse(events)
    at = data.draw(st.integers(0, len(body)))
    reader, assembler = SSEReader(), Assembler()
    for event in [*reader.feed(body[:at]), *reader.feed(body[at:])]:
        assembler.feed(event)
    last = assembler.finish()[-1]
    assert isinstance(last, DoneEvent)
    stored = AssistantMessage.model_validate_json(last.message.model_dump_json())
    sent = [sent_block(b) for b in stored.content]
    wanted = [without_nul(b) for b in message["content"]]
    assert [json.dumps(b) for b in sent] == [json.dumps(b) for b in wanted]


def without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "\\x00")
    if isinstance(value, dict):
        return {without_nul(k): without_nul(v) for k, v in value.items()}
    return [without_nul(v) for v in value] if isinstance(value, list) else value


def test_an_empty_input_of_a_call_stays_an_object() -> None:
    call = ToolCall(id="a", name="x")
    assert sent_block(call)["input"] == {}


def test_what_is_not_known_is_logged_by_name(caplog: pytest.LogCaptureFixture) -> None:
    """An unknown event and an unknown delta of any kind of block (facts: ignore, log)."""
    caplog.set_level("INFO")
    events, message = run(
        start(),
        {"type": "weather_report"},
        [block_start(0, {"type": "hologram"}), delta(0, "sparkle"), block_stop(0)],
        [block_start(1, {"type": "text", "text": ""}), delta(1, "glitter"), block_stop(1)],
        [
            block_start(2, {"type": "thinking", "thinking": "", "signature": ""}),
            delta(2, "glow"),
            delta(2, "signature", signature="s"),
            block_stop(2),
        ],
        tool_use(3, "{}")[:1],
        delta(3, "shine"),
        block_stop(3),
        end("tool_use"),
    )
    assert isinstance(events[-1], DoneEvent)
    assert len(message.content) == 4
    logged = " ".join(record.getMessage() for record in caplog.records)
    for name in ("weather_report", "sparkle", "glitter", "glow", "shine"):
        assert name in logged
