"""SSE bytes in chunks of any size, in every form that servers write."""

import json
from collections.abc import Callable

import pytest
import stream_making as making
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.messages_api.errors import InvalidResponseError
from agent_tui.messages_api.sse import SSEReader, read_events

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)
events = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["ping", "content_block_delta", "x"])},
        optional={"data": json_values, "é": json_values},
    ),
    max_size=8,
)


@settings(deadline=None)
@given(events, st.data())
def test_any_chunking_gives_the_events(raw: list[making.Json], data: st.DataObject) -> None:
    encode = data.draw(
        st.sampled_from([making.sse, making.foreign_sse, cr_only, crlf, spread, torn_end])
    )
    body = encode(raw)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    reader = SSEReader()
    read: list[making.Json] = []
    for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True):
        read += reader.feed(body[a:b])
    read += reader.close()
    assert reader.error is None
    assert read == raw


def cr_only(raw: list[making.Json]) -> bytes:
    return making.sse(raw).replace(b"\n", b"\r")


def crlf(raw: list[making.Json]) -> bytes:
    return making.sse(raw).replace(b"\n", b"\r\n")


def spread(raw: list[making.Json]) -> bytes:
    """Several data lines to an event, fields that say nothing, a byte order mark."""
    lines = ["\ufeff: comment", "retry: 10", "id: 7", ""]
    for event in raw:
        pretty = json.dumps(event, indent=1, ensure_ascii=False).split("\n")
        lines += [*(f"data: {line}" for line in pretty), "event: any", ":", ""]
    return "\n".join([*lines, ""]).encode()


def torn_end(raw: list[making.Json]) -> bytes:
    """The last blank line is missing."""
    return making.sse(raw).rstrip(b"\n")


@pytest.mark.parametrize("encode", [making.sse, making.foreign_sse, cr_only, crlf, spread])
def test_one_byte_at_a_time(encode: Callable[[list[making.Json]], bytes]) -> None:
    raw: list[making.Json] = [{"type": "a", "t": "Grüße 😀"}, {"type": "b"}]
    body = encode(raw)
    reader = SSEReader()
    read = [e for i in range(len(body)) for e in reader.feed(body[i : i + 1])]
    assert read == raw


def test_type_comes_from_the_event_name_only_where_the_json_lacks_it() -> None:
    body = b'event: ping\ndata: {"a": 1}\n\nevent: ping\ndata: {"type": "own"}\n\nevent: ping\n\n'
    assert read_events(body) == [{"a": 1, "type": "ping"}, {"type": "own"}, {"type": "ping"}]


def test_done_lines_and_values_that_are_no_events_are_passed_over() -> None:
    assert read_events(b'data: [DONE]\n\ndata: 7\n\ndata: {"type":"x"}\n\n') == [{"type": "x"}]


def test_lone_surrogates_and_deep_nesting_are_read() -> None:
    deep = "[" * 300 + "]" * 300
    body = f'data: {{"type": "x", "t": "\\ud83d", "d": {deep}}}\n\n'.encode()
    [event] = read_events(body)
    assert event["t"] == "\ud83d"


def test_invalid_utf8_is_replaced() -> None:
    assert read_events(b'data: {"type": "\xff"}\n\n') == [{"type": "\ufffd"}]


def test_data_that_is_no_json_ends_the_reading_after_what_came_before() -> None:
    reader = SSEReader()
    chunk = b'data: {"type":"a"}\n\ndata: {oops\n\ndata: {"type":"b"}\n\n'
    assert reader.feed(chunk) == [{"type": "a"}]
    assert isinstance(reader.error, InvalidResponseError)
    assert reader.feed(b'data: {"type":"c"}\n\n') == []
    with pytest.raises(InvalidResponseError):
        read_events(chunk)


def test_a_torn_last_event_is_no_error() -> None:
    assert read_events(b'data: {"type":"a"}\n\nevent: error\ndata: {"ty') == [{"type": "a"}]
    assert read_events(b'data: {"type":"a"}\n\nevent: error\nda') == [{"type": "a"}]


def test_an_endless_event_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tui.messages_api.sse.MAX_EVENT_BYTES", 100)
    reader = SSEReader()
    reader.feed(b"data: " + b"x" * 60)
    assert reader.error is None
    reader.feed(b"x" * 60)
    assert reader.error is not None and not reader.error.retryable
