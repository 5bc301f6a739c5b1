"""convert_to_llm for every kind of message, normalize_prompt, and when steering is held."""

import pytest

from agent_tui.agent.llm_messages import awaits_results_only, convert_message, convert_to_llm
from agent_tui.agent.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    normalize_prompt,
    text_content,
)

PROGRAM = {"type": "code_execution_20260120", "tool_id": "srv"}


def bash(**fields: object) -> str:
    message = convert_message(BashExecutionMessage.model_validate({"command": "make", **fields}))
    assert isinstance(message, UserMessage)
    return message.text


@pytest.mark.parametrize(
    "message",
    [
        BranchSummaryMessage(summary="tried B", id="x", timestamp=1.0),
        CompactionSummaryMessage(summary="did A", id="x", timestamp=1.0),
        BashExecutionMessage(command="ls", output="f1", id="x", timestamp=1.0),
        CustomMessage(content=text_content("note"), id="x", timestamp=1.0, queue_item_id="q"),
    ],
)
def test_a_kind_that_becomes_a_user_message_keeps_its_id_and_time(message: object) -> None:
    converted = convert_message(message)  # type: ignore[arg-type]
    assert isinstance(converted, UserMessage)
    assert (converted.id, converted.timestamp) == ("x", 1.0)


def test_custom_messages_keep_pictures() -> None:
    picture = ImageContent(data="AAAA", media_type="image/png")
    (sent,) = convert_to_llm([CustomMessage(content=[TextContent(text="see"), picture])])
    assert sent.content == [TextContent(text="see"), picture]


def test_excluded_commands_and_unknown_kinds_are_left_out() -> None:
    hidden = BashExecutionMessage(command="cat secret", output="S", exclude=True)
    assert convert_to_llm([hidden, UnknownMessage(role="hologram", content="x")]) == []


def test_a_command_says_how_it_ended() -> None:
    assert "exit code" not in bash(output="ok", exit_code=0)
    assert "exit code 2" in bash(output="no rule", exit_code=2)
    assert "cancelled" in bash(output="part", cancelled=True)
    assert "(no output)" in bash(output="\n")
    cut = bash(output="y", truncated=True, full_output_path="/tmp/o.log")
    assert "cut" in cut and "/tmp/o.log" in cut
    assert "cut" in bash(output="y", truncated=True)


def test_normalize_prompt_takes_text_messages_and_lists_of_both() -> None:
    note = CustomMessage(content=text_content("note"))
    assert [m.text for m in normalize_prompt("go")] == ["go"]  # type: ignore[union-attr]
    assert normalize_prompt(note) == [note]
    first, second = normalize_prompt(["go", note])
    assert isinstance(first, UserMessage) and first.text == "go"
    assert second is note
    assert len(normalize_prompt(("a", "b"))) == 2
    with pytest.raises(ValueError, match="at least one"):
        normalize_prompt([])


def calling(stop: str, *, program: bool = True, complete: bool = True) -> AssistantMessage:
    caller = PROGRAM if program else {"type": "direct"}
    call = ToolCall(id="a", name="echo", caller=caller, complete=complete)
    return AssistantMessage(content=[call], stop_reason=stop)


RESULT = ToolResultMessage(tool_call_id="a")


@pytest.mark.parametrize(
    ("messages", "held"),
    [
        ([], False),
        ([UserMessage(content=text_content("go"))], False),
        ([AssistantMessage(stop_reason="end_turn")], False),
        ([AssistantMessage(stop_reason="pause_turn")], True),
        ([AssistantMessage(stop_reason="compaction")], True),
        ([AssistantMessage(stop_reason="aborted")], False),
        ([calling("tool_use", program=False), RESULT], False),
        ([calling("tool_use"), RESULT], True),
        ([calling("pause_turn"), RESULT, UnknownMessage(role="x")], True),
        ([calling("tool_use"), RESULT, UserMessage(content=text_content("no"))], False),
        ([calling("tool_use", complete=False), RESULT], False),
        ([calling("aborted"), RESULT], False),
        ([calling("tool_use"), RESULT, BashExecutionMessage(command="x", exclude=True)], True),
        ([calling("tool_use"), RESULT, BashExecutionMessage(command="x")], False),
    ],
)
def test_when_the_next_request_may_hold_no_user_text(messages: list[object], held: bool) -> None:
    assert awaits_results_only(messages) is held  # type: ignore[arg-type]
