"""How an answer ended: each stop reason in a sentence that says what to do."""

from typing import Any

import pytest

from agent_tui.agent.events import MessageEndEvent, MessageStartEvent, TextDeltaEvent
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ToolCall,
    Usage,
)

from .harness import Page


def ended(reason: str, **more: Any) -> str:
    """What is said below the text of an answer that ends so; streamed and stored alike."""
    page = Page(width=200)
    message = page.message.model_copy(
        update={"content": [TextContent(text="The three")], "stop_reason": reason, **more}
    )
    page.apply(MessageStartEvent(page.message))
    page.stream(TextDeltaEvent(0, "The three"))
    streamed = page.apply(MessageEndEvent(message))
    assert Page(width=200).load(message) == streamed
    assert streamed[0] == "The three"
    return "\n".join(streamed[2:])


@pytest.mark.parametrize("reason", ["end_turn", "tool_use"])
def test_the_usual_ends_say_nothing(reason: str) -> None:
    assert ended(reason) == ""


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("aborted", "⊘ interrupted"),
        ("max_tokens", "! the answer was cut: it reached its limit; say \"go on\" to resume, or "
                       "raise the setting max_tokens"),
        ("model_context_window_exceeded", "! the answer was cut: the context window is full; "
                                          "/clear begins a new conversation"),
        ("pause_turn", "· paused by the API; goes on"),
        ("compaction", "· the API compacted the conversation; goes on"),
        ("stop_sequence", "· the answer ended at a stop sequence"),
        ("refusal", "! the model declined to answer; ask in another way, or choose a /model"),
        ("brand\x1bnew", "! the answer ended for a reason this version does not know: brand␛new; "
                         "say \"go on\" to resume"),
        ("", "! the answer ended without a reason; say \"go on\" to resume"),
    ],
)  # fmt: skip
def test_unusual_endings_say_what_to_do(reason: str, line: str) -> None:
    assert ended(reason) == line


def test_the_limit_is_named_where_it_is_known() -> None:
    assert "it reached its limit of 32,000 tokens; " in ended(
        "max_tokens", usage=Usage(output=32000)
    )


def test_the_stop_sequence_is_named() -> None:
    assert ended("stop_sequence", stop_sequence="\x1bEND") == (
        "· the answer ended at a stop sequence: ␛END"
    )


def test_a_refusal_says_all_that_the_api_says() -> None:
    details = {
        "type": "refusal",
        "category": "cyber",
        "explanation": "It asks for malware.",
        "recommended_model": "claude-opus-5-5",
    }
    assert ended("refusal", stop_details=details) == (
        "! the model declined to answer (cyber): It asks for malware; "
        "/model claude-opus-5-5 may answer"
    )


@pytest.mark.parametrize("details", [{}, {"category": None, "explanation": ["x"], "type": 7}])
def test_details_of_any_shape(details: dict[str, Any]) -> None:
    assert ended("refusal", stop_details=details).startswith("! the model declined to answer")


def test_an_error_says_what_happened() -> None:
    assert ended("error", error_message="overloaded", error_type="overloaded_error") == (
        "✗ overloaded; /retry asks again"
    )
    assert ended("error", error_message="The key is wrong.", error_type="authentication_error") == (
        "✗ The key is wrong."
    )
    assert ended("error") == "✗ the answer broke off"


def test_a_program_that_waits_needs_no_word_of_a_pause() -> None:
    call = ToolCall(id="c1", name="read", arguments={}, caller={"type": "code_execution_20260120"})
    message = AssistantMessage(content=[call], stop_reason="pause_turn")
    assert not any("paused by the API" in row for row in Page().load(message))


def test_a_compaction_is_said_once() -> None:
    block = OpaqueContent(raw={"type": "compaction", "content": "So far: nothing."})
    rows = Page().load(AssistantMessage(content=[block], stop_reason="compaction"))
    assert len(rows) == 1 and "the API compacted what came before" in rows[0]
