"""A record is one line that reads back equal, whatever is in it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_making import every_kind, result, user

from agent_tui.agent.messages import AgentMessage, AssistantMessage, TextContent, ToolCall
from agent_tui.sessions.reader import Line, read_line
from agent_tui.sessions.records import (
    MAX_DETAILS,
    MAX_LINE,
    DraftRecord,
    Header,
    MessageRecord,
    QueueRecord,
    RecordTooLongError,
    ToolOutcomeRecord,
    encode,
)


def read_back(line: bytes) -> Any:
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1, "a record is exactly one line"
    [parsed] = read_line(Line(1, line[:-1]))
    return parsed


@pytest.mark.parametrize("message", every_kind(), ids=lambda m: m.role)
def test_every_kind_of_message_reads_back_equal(message: AgentMessage) -> None:
    record = MessageRecord(id=message.id, message=message)
    back = read_back(encode(record))
    assert back == record
    assert type(back.message) is type(message)


def test_key_order_of_what_the_api_sent_is_kept() -> None:
    message = every_kind()[1]
    back = read_back(encode(MessageRecord(message=message))).message
    assert json.dumps(back.model_dump()) == json.dumps(message.model_dump())


def test_a_line_begins_with_its_place_in_the_tree() -> None:
    line = encode(MessageRecord(id="a", parent_id="b", message=user("x")))
    assert line.startswith(b'{"type":"message","id":"a","parent_id":"b",')


def test_the_header_has_the_public_form() -> None:
    line = encode(Header(id="ab", cwd="/a b", created=5.0))
    assert json.loads(line) == {
        "type": "session", "version": 1, "id": "ab", "cwd": "/a b", "created": 5.0,
    }  # fmt: skip


def test_lone_surrogates_are_replaced_and_pairs_are_joined() -> None:
    message = user("ok")
    message.content = [TextContent(text="a\udcb2b \ud83d\ude00")]
    back = read_back(encode(MessageRecord(message=message)))
    assert back.message.text == "a\ufffdb 😀"


def test_surrogates_in_details_and_keys_do_not_cost_the_message() -> None:
    message = result("t", "x", details={"\udcb2": ["\ud83d"]})
    back = read_back(encode(ToolOutcomeRecord(message=message)))
    assert back.message.details == {"\ufffd": ["\ufffd"]}


def test_escaped_surrogates_of_other_writers_are_replaced() -> None:
    line = encode(MessageRecord(message=user("MARK"))).replace(b"MARK", rb"a\ud83d")
    assert read_back(line).message.text == "a\ufffd"


def test_details_that_are_not_json_are_kept_as_text() -> None:
    @dataclasses.dataclass
    class Diff:
        path: Path
        lines: tuple[str, ...]

    details = {"d": Diff(Path("/a"), ("x",)), "raw": b"\xff", 4: {7}}
    back = read_back(encode(ToolOutcomeRecord(message=result("t", "x", details=details))))
    assert back.message.details == {
        "d": {"path": "/a", "lines": ["x"]}, "raw": "\ufffd", "4": [7],
    }  # fmt: skip


def test_details_that_hold_themselves_cost_only_their_depth() -> None:
    circle: dict[str, Any] = {"a": 1}
    circle["self"] = circle
    back = read_back(encode(ToolOutcomeRecord(message=result("t", "kept", details=circle))))
    assert back.message.text == "kept"
    assert back.message.details["a"] == 1


def test_arguments_nested_very_deeply_do_not_cost_the_message() -> None:
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(5000):
        inner["k"] = {}
        inner = inner["k"]
    call = ToolCall(id="t", name="x", arguments=deep)
    back = read_back(encode(MessageRecord(message=AssistantMessage(content=[call]))))
    assert back.message.tool_calls[0].arguments["k"]["k"]["k"]


def test_huge_details_are_left_out_and_the_result_is_kept() -> None:
    """C07: what is stored is what the model saw."""
    message = result("t", "y" * 1000, details={"raw": "y" * 12_000_000})
    line = encode(ToolOutcomeRecord(message=message))
    assert len(line) < MAX_DETAILS
    back = read_back(line).message
    assert back.content == message.content
    assert "12,0" in back.details["left_out"]


def test_a_line_that_could_not_be_read_back_is_refused() -> None:
    with pytest.raises(RecordTooLongError):
        encode(DraftRecord(text="x" * MAX_LINE))


def test_the_mask_reaches_every_string_and_no_identity() -> None:
    def mask(text: str) -> str:
        return text.replace("SECRET", "***")

    message = AssistantMessage(
        id="SECRET-id",
        content=[
            TextContent(text="a SECRET", wire={"SECRET": ["SECRET"]}),
            ToolCall(id="call-SECRET", name="x", arguments={"SECRET": {"id": "SECRET"}}),
        ],
        error_message="SECRET",
    )
    line = encode(MessageRecord(id="SECRET-id", message=message), mask)
    back = read_back(line).message
    assert back.content[0] == TextContent(text="a ***", wire={"***": ["***"]})
    assert back.content[1].arguments == {"***": {"id": "***"}}
    assert back.error_message == "***"
    assert (back.id, back.content[1].id) == ("SECRET-id", "call-SECRET")
    draft = encode(DraftRecord(text="SECRET"), mask)
    queued = encode(QueueRecord(op="add", item_id="i", message=user("SECRET")), mask)
    assert b"SECRET" not in draft + queued


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(text=st.text(), arguments=st.dictionaries(st.text(), json_values, max_size=3))
def test_any_text_and_any_arguments_read_back_equal(text: str, arguments: dict[str, Any]) -> None:
    message = AssistantMessage(
        content=[TextContent(text=text), ToolCall(id="t", name="x", arguments=arguments)]
    )
    assert read_back(encode(MessageRecord(message=message))).message == message
