"""The transcript of a growing conversation, converted on from where it was: as if anew."""

from typing import Any

import pytest
from agent.histories import History, histories
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent import growing_history
from agent_tui.agent.growing_history import HistoryConverter
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.repair import Repair


@settings(deadline=None, max_examples=150)
@given(histories(max_size=24), st.data())
def test_any_history_grown_in_any_steps(history: History, data: st.DataObject) -> None:
    converter = HistoryConverter()
    at = 0
    while at < len(history.messages):
        at += data.draw(st.integers(1, 4))
        grown = history.messages[:at]
        assert converter(grown) == convert_to_llm(grown)
    assert converter(history.messages) == convert_to_llm(history.messages)


@settings(deadline=None, max_examples=40)
@given(histories(), histories(), st.data())
def test_another_history_is_converted_anew(
    history: History, other: History, data: st.DataObject
) -> None:
    converter = HistoryConverter()
    converter(history.messages)
    cut = history.messages[: data.draw(st.integers(0, len(history.messages)))]
    for messages in (cut, other.messages, [*cut, *other.messages], history.messages):
        assert converter(messages) == convert_to_llm(messages)


def long_run(turns: int) -> list[AgentMessage]:
    """A prompt and so many turns with a call each: one turn of the API."""
    messages: list[AgentMessage] = [UserMessage(content=text_content("go"))]
    for n in range(turns):
        messages += _turn(n)
    return messages


def _turn(n: int) -> list[AgentMessage]:
    call = ToolCall(id=f"t{n}", name="read", arguments={"n": n})
    thought = ThinkingContent(thinking="hm", signature="s")
    return [
        AssistantMessage(
            content=[thought, TextContent(text=f"a{n}"), call], stop_reason="tool_use"
        ),
        ToolResultMessage(tool_call_id=f"t{n}", content=text_content(f"r{n}")),
    ]


def test_what_was_done_for_one_request_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[AgentMessage] = []
    repaired: list[int] = []

    def counting(message: AgentMessage) -> Message | None:
        converted.append(message)
        return real_convert(message)

    def adding(self: Any, step: Any, *rest: Any) -> Any:
        repaired.append(step.at)
        return real_add(self, step, *rest)

    real_convert, real_add = growing_history.convert_message, Repair._add_step
    monkeypatch.setattr(growing_history, "convert_message", counting)
    monkeypatch.setattr(Repair, "_add_step", adding)
    converter = HistoryConverter()
    messages = long_run(100)
    converter(messages)
    converted.clear()
    repaired.clear()
    messages += _turn(100)
    out = converter(messages)
    assert converted == messages[-2:]
    assert repaired == [199, 201], "the answer whose results were not yet known, and the new one"
    assert out == convert_to_llm(messages)


def test_messages_made_for_the_model_stay_the_same_ones() -> None:
    """A request built on from the one before knows them by identity."""
    converter = HistoryConverter()
    messages = long_run(2)
    messages += [BashExecutionMessage(command="ls", output="x"), *_turn(7)]
    before = converter(messages)
    after = converter([*messages, *_turn(8)])
    assert all(a is b for a, b in zip(before, after, strict=False))
