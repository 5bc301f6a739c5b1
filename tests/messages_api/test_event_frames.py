"""Frames of an AWS event stream → raw events, as the SDK's decoder reads them but verbatim."""

import base64
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cloud_stand_in import event_frame, exception_frame, frame
from hypothesis import given
from hypothesis import strategies as st
from stream_making import recordings

from agent_tui.messages_api.event_frames import FrameReader
from agent_tui.messages_api.sse import read_events

Json = dict[str, Any]
RECORDINGS = sorted(n for n in recordings() if "foreign" not in n)


def read(body: bytes, *cuts: int) -> tuple[list[Json], FrameReader]:
    reader = FrameReader()
    edges = [0, *sorted(c % (len(body) + 1) for c in cuts), len(body)]
    events: list[Json] = []
    for start, end in itertools.pairwise(edges):
        events += reader.feed(body[start:end])
    return [*events, *reader.close()], reader


@pytest.mark.parametrize("name", RECORDINGS)
async def test_frames_give_what_plain_events_give(name: str) -> None:
    """And what the SDK's own decoder gives, event for event."""
    from anthropic.lib.bedrock._stream_decoder import AWSEventStreamDecoder

    wanted = read_events(recordings()[name])
    body = b"".join(event_frame(event) for event in wanted)
    events, reader = read(body)
    assert events == wanted and reader.error is None
    assert [list(e) for e in events] == [list(e) for e in wanted], "key order is kept"

    async def whole() -> AsyncIterator[bytes]:
        yield body

    theirs = [json.loads(sse.data) async for sse in AWSEventStreamDecoder().aiter_bytes(whole())]
    assert theirs == wanted


@given(st.lists(st.integers(min_value=0, max_value=10**6), max_size=8))
def test_where_chunks_end_does_not_matter(cuts: list[int]) -> None:
    wanted = read_events(recordings()["tools-parallel"])
    events, reader = read(b"".join(event_frame(event) for event in wanted), *cuts)
    assert events == wanted and reader.error is None


@pytest.mark.parametrize(
    ("made", "type_", "message"),
    [
        (exception_frame("throttlingException", "Slow down"), "throttlingException", "Slow down"),
        (frame(b'{"originalMessage":"It broke"}', message_type="exception",
               exception_type="modelStreamErrorException"), "modelStreamErrorException",
         "It broke"),
        (frame(b"", message_type="error", error_code="500", error_message="Oh"), "500", "Oh"),
        (frame(b"", message_type="exception"), "api_error", ""),
        (frame(b'"text"', message_type="exception", exception_type="x"), "x", ""),
    ],
)  # fmt: skip
def test_frames_that_tell_of_a_fault_are_error_events(
    made: bytes, type_: str, message: str
) -> None:
    events, reader = read(event_frame({"type": "ping"}) + made)
    assert events == [
        {"type": "ping"}, {"type": "error", "error": {"type": type_, "message": message}},
    ]  # fmt: skip
    assert reader.error is None


def chunk(payload: bytes) -> bytes:
    return frame(payload, message_type="event", event_type="chunk")


@pytest.mark.parametrize(
    "made",
    [
        chunk(b'{"p": "abc"}'),
        chunk(b"[]"),
        chunk(b""),
        chunk(json.dumps({"bytes": base64.b64encode(b"[1]").decode()}).encode()),
        frame(b"{}", message_type="event", event_type="initial-response"),
    ],
)
def test_frames_without_an_event_are_passed_over(made: bytes) -> None:
    ping = event_frame({"type": "ping"})
    events, reader = read(made + ping)
    assert events == [{"type": "ping"}] and reader.error is None


@pytest.mark.parametrize(
    "made",
    [
        event_frame({"type": "ping"})[:-4] + b"\0\0\0\0",
        b"\0" + event_frame({"type": "ping"}),
        chunk(b"{oops"),
        chunk(b'{"bytes": "%%%"}'),
        chunk(b'{"bytes": 7}'),
        chunk(json.dumps({"bytes": base64.b64encode(b"{oops").decode()}).encode()),
        b"event: ping\ndata: {}\n\n" * 3,
    ],
    ids=["sum", "shifted", "payload", "base64", "number", "event", "plain"],
)
def test_a_damaged_frame_ends_the_reading_after_what_was_good(made: bytes) -> None:
    ping = event_frame({"type": "ping"})
    events, reader = read(ping + made + ping)
    assert events == [{"type": "ping"}]
    assert reader.error is not None and reader.error.retryable
    assert reader.feed(ping) == [], "nothing is read after it"
