"""The wire format: pieces that lose nothing, limits as the service cuts, ids, token counts."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.offline.wire import (
    Reply,
    apply_limits,
    estimate_tokens,
    input_tokens,
    make_id,
    pieces,
    stream_events,
)


@settings(deadline=None)
@given(st.text(), st.none() | st.integers(1, 9))
def test_pieces_add_up_to_the_text(text: str, size: int | None) -> None:
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert all(cut)
    if size is None:
        assert all(len(piece.strip()) <= 8 for piece in cut)
    else:
        assert all(len(piece) == size for piece in cut[:-1])


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.booleans())))
def test_arguments_survive_their_pieces(arguments: dict[str, Any]) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "x", "input": arguments}
    events = list(stream_events(Reply([call]), message_id="m", model="m"))
    sent = "".join(
        e.data["delta"]["partial_json"] for e in events if e.name == "content_block_delta"
    )
    assert (json.loads(sent) if sent else {}) == arguments


def test_usage_starts_small_and_ends_whole() -> None:
    reply = Reply([], usage={"input_tokens": 5, "output_tokens": 70, "service_tier": "standard"})
    events = list(stream_events(reply, message_id="m", model="m"))
    assert events[0].data["message"]["usage"] == {
        "input_tokens": 5, "output_tokens": 1, "service_tier": "standard",
    }  # fmt: skip
    assert events[-2].data["usage"] == {"input_tokens": 5, "output_tokens": 70}


class TestLimits:
    @staticmethod
    def limited(content: list[dict[str, Any]], **body: Any) -> Reply:
        reply = Reply(content, "tool_use")
        apply_limits(reply, {"max_tokens": 1000} | body)
        return reply

    def test_what_fits_is_not_cut(self) -> None:
        reply = self.limited([{"type": "text", "text": "x" * 4000}])
        assert (len(reply.content[0]["text"]), reply.stop_reason) == (4000, "tool_use")

    def test_text_is_cut_at_max_tokens(self) -> None:
        reply = self.limited(
            [{"type": "text", "text": "x" * 41}, {"type": "text", "text": "y"}], max_tokens=10
        )
        assert reply.content == [{"type": "text", "text": "x" * 40}]
        assert reply.stop_reason == "max_tokens"

    def test_a_call_that_is_cut_keeps_part_of_its_json(self) -> None:
        call = {"type": "tool_use", "id": "t", "name": "rm", "input": {"cmd": "rm -rf build"}}
        reply = self.limited([{"type": "text", "text": "x" * 8}, call], max_tokens=5)
        assert reply.partial_json == {1: '{"cmd":"rm -'}
        assert reply.content[1]["input"] == {}
        events = list(stream_events(reply, message_id="m", model="m"))
        sent = [e.data["delta"].get("partial_json", "") for e in events if "delta" in e.data]
        assert "".join(sent) == '{"cmd":"rm -'
        assert events[-2].data["delta"]["stop_reason"] == "max_tokens"

    def test_thinking_that_does_not_fit_is_left_out(self) -> None:
        block = {"type": "thinking", "thinking": "x" * 50, "signature": "s"}
        reply = self.limited([block, {"type": "text", "text": "y"}], max_tokens=10)
        assert (reply.content, reply.stop_reason) == ([], "max_tokens")

    def test_the_first_stop_sequence_ends_the_text(self) -> None:
        call = {"type": "tool_use", "id": "t", "name": "x", "input": {}}
        reply = self.limited(
            [{"type": "text", "text": "one two three"}, call], stop_sequences=["three", "two"]
        )
        assert reply.content == [{"type": "text", "text": "one "}]
        assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", "two")

    def test_a_stop_sequence_at_the_start_leaves_no_empty_text(self) -> None:
        reply = self.limited([{"type": "text", "text": "END"}], stop_sequences=["END"])
        assert (reply.content, reply.stop_sequence) == ([], "END")


def test_ids_follow_from_their_seed() -> None:
    assert make_id("toolu_", "a", 1) == make_id("toolu_", "a", 1)
    made = {make_id("toolu_", "a", n) for n in range(500)}
    assert len(made) == 500
    assert all(len(i) == len("toolu_01") + 22 and i.removeprefix("toolu_").isalnum() for i in made)


@pytest.mark.parametrize(
    ("value", "tokens"), [("", 1), ("abcd " * 400, 420), ({"k": "abcd " * 400}, 421)]
)
def test_a_short_word_is_about_a_token(value: Any, tokens: int) -> None:
    assert estimate_tokens(value) == tokens


def test_an_image_counts_by_the_piece() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}
    image = {"type": "image", "source": source}
    count = input_tokens({"messages": [{"role": "user", "content": [image]}]})
    assert 1500 < count < 1600
