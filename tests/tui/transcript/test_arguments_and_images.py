"""What a call is asked and what it shows, in the form of the tool: diffs, tables, images."""

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.agent.events import ToolCallDeltaEvent, ToolCallStartEvent
from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.arguments import Arguments
from agent_tui.tui.transcript.images import image_words

from .harness import Page

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x02" + b"x" * 40_000


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# --- diffs --------------------------------------------------------------------------------


def edits(old: str, new: str) -> list[str]:
    return [text for text, _ in tool_text.edit_lines({"edits": [{"old": old, "new": new}]})]


def test_an_edit_is_a_diff_with_what_stays_as_context() -> None:
    assert edits("a\nb\nc\nd", "a\nx\ny\nd") == [" a", "-b", "-c", "+x", "+y", " d"]
    assert edits("a\nb", "a\nb\nc") == [" a", " b", "+c"]
    assert edits("x\na\na", "x\na") == [" x", " a", "-a"]


@given(st.text("ab\n", max_size=20), st.text("ab\n", max_size=20))
def test_the_diff_of_an_edit_holds_both_texts(old: str, new: str) -> None:
    lines = edits(old, new)
    assert [line[1:] for line in lines if line[0] != "+"] == old.split("\n")
    assert [line[1:] for line in lines if line[0] != "-"] == new.split("\n")


def test_a_growing_diff_costs_what_comes_not_what_came() -> None:
    """The text that one frame looks at is bounded, however long the arguments are."""
    arguments = Arguments()
    for number in range(20_000):
        arguments.add("edits.0.new", f"line {number} of many\n")
    assert arguments.characters > 350_000
    tail = arguments.tails["edits.0.new"]
    assert len(tail.last(10**9)) < 40_000
    shown = arguments.window("edit", 12)
    assert len(shown) == 12 and shown[-2] == [("+line 19999 of many", "diff-add")]


# --- tables -------------------------------------------------------------------------------


def test_a_plain_object_is_a_table_while_it_streams_and_when_it_is_whole() -> None:
    page = Page()
    call = ToolCall(id="c", name="db__query", arguments={}, complete=False)
    page.stream(ToolCallStartEvent(0, call))
    parts = [("sql", "SELECT 1\nFROM t"), ("maximum", "5")]
    rows = page.stream(ToolCallDeltaEvent(0, "", parts))
    table = ["    sql      SELECT 1", "             FROM t", "    maximum  5"]
    assert rows[1:] == table
    given_arguments: dict[str, Any] = {"sql": "SELECT 1\nFROM t", "maximum": 5}
    page = Page()
    whole = ToolCall(id="c", name="db__query", arguments=given_arguments)
    page.load(AssistantMessage(content=[whole]))
    assert page.open()[1:4] == table


def test_a_long_key_pushes_its_own_value_only() -> None:
    rows = tool_text.table({"k" * 30: 1, "b": {"c": [1]}})
    texts = ["".join(text for text, _ in row) for row in rows]
    assert texts[0] == "k" * 30 + "  1"
    assert texts[1] == "b" + " " * 21 + "{"


def test_keys_and_values_are_shown_safe() -> None:
    rows = tool_text.table({"a\x1b[2J": "x\x1b]0;t\x07"})
    assert all("\x1b" not in text and "\x07" not in text for row in rows for text, _ in row)


# --- images -------------------------------------------------------------------------------


def test_an_image_is_named_with_format_size_and_pixels() -> None:
    assert image_words("image/png", b64(PNG), "a.png") == "a.png  PNG  40 kB  640 x 480"


@pytest.mark.parametrize("data", ["", "A", "!!!!", b64(b"GIF89a"), b64(b"no image at all")])
def test_what_is_no_image_is_no_failure(data: str) -> None:
    assert image_words("image/gif", data).startswith("GIF")


def test_a_name_cannot_act_on_the_terminal() -> None:
    assert "\x1b" not in image_words("image/\x1b[2Jpng", b64(PNG), "a\x1b]0;t\x07.png")


def test_images_of_results_and_prompts_are_told() -> None:
    page = Page(width=90)
    image = ImageContent(data=b64(PNG), media_type="image/png")
    call = ToolCall(id="c", name="read", arguments={"path": "shots/a.png"})
    made = ToolResultMessage(tool_call_id="c", tool_name="read", content=[image])
    page.load(
        UserMessage(content=[TextContent(text="look"), image]),
        AssistantMessage(content=[call]),
        made,
    )
    assert page.rows()[1] == "  [image: PNG  40 kB  640 x 480]"
    assert page.open()[-1] == "    [image: a.png  PNG  40 kB  640 x 480]"
