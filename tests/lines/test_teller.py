"""Events in words: each line with its leading word, foreign text safe, nothing that ticks."""

from typing import Any

import pytest

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.conversation.events import (
    ContainerChangedEvent,
    NoticeEvent,
    QueueChangedEvent,
    QueueEntry,
    RetryEvent,
    UsageChangedEvent,
    UserCommandEvent,
)
from agent_tui.lines.teller import Teller, ending, what_runs


def update(event: Any) -> MessageUpdateEvent:
    return MessageUpdateEvent("m", event)


def test_an_answer_that_is_interrupted_says_whose_the_next_sentence_is() -> None:
    teller = Teller()
    assert teller.apply(update(TextStartEvent(0))) == []
    assert teller.apply(update(TextDeltaEvent(0, "One. Tw"))) == ["Answer: One."]
    assert teller.apply(update(TextDeltaEvent(0, "o. Three. "))) == ["Two."]
    assert teller.apply(NoticeEvent("warning", "careful [/]")) == ["Warning: careful [/]"]
    assert teller.apply(update(TextDeltaEvent(0, "Four. "))) == ["Answer continues: Three."]
    block = TextContent(text="One. Two. Three. Four. ")
    assert teller.apply(update(TextEndEvent(0, block))) == ["Four."]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("open", ["Thinking: Hm.", "Well.", "Thinking: done after 0.0 s."]),
        ("folded", ["Thinking: begun.", "Thinking: done after 0.0 s."]),
        ("hidden", []),
    ],
)
def test_thinking_by_its_setting(setting: str, told: list[str]) -> None:
    teller = Teller(lambda: setting, lambda: 5.0)
    said: list[str] = []
    for event in (
        ThinkingStartEvent(0), ThinkingDeltaEvent(0, "Hm. Well."),
        ThinkingEndEvent(0, ThinkingContent(thinking="Hm. Well.")),
    ):  # fmt: skip
        said += teller.apply(update(event))
    assert said == told


def test_a_tool_is_told_when_it_begins_and_when_it_ends() -> None:
    teller = Teller()
    start = ToolExecutionStartEvent("c", "shell", {"command": "ls\x1b[2J"})
    assert teller.apply(start) == ["Tool shell: ls␛[2J"]
    assert list(teller.calls.values()) == ["shell: ls␛[2J"]
    assert teller.apply(ToolExecutionUpdateEvent("c", "shell", "one\n")) == []
    text = "\x1b[31mone\x1b[0m\ntwo\x1b]2;title\x07\nthree\nfour\nfive\n"
    result = ToolResultMessage(tool_call_id="c", content=[TextContent(text=text)])
    told = teller.apply(ToolExecutionEndEvent("c", "shell", result, False, 1200))
    assert told[0] == "Tool shell: done after 1.2 s, 5 lines."
    assert told[1] == "  one" and told[-1] == "  2 more lines; /output tells all."
    assert not teller.calls
    assert not {c for line in told for c in line if c < " "}
    failed = ToolExecutionEndEvent("c", "shell", ToolResultMessage(tool_call_id="c"), True, 3)
    assert teller.apply(failed) == ["Tool shell: failed after 0.0 s, 0 lines."]


def test_the_queue_is_told_when_it_changes_not_when_a_delivery_point_moves() -> None:
    teller = Teller()

    def queue(*entries: tuple[str, str, str, str], paused: bool = False) -> list[str]:
        items = [QueueEntry(i, "steer", text, state, when) for i, text, state, when in entries]
        return teller.apply(QueueChangedEvent(items, paused))

    assert queue(("1", "a", "queued", "after 2 running tools")) == [
        "Queue: 1 message waits. 1, steering: a; after 2 running tools"
    ]
    assert queue(("1", "a", "queued", "after 1 running tool")) == []
    assert queue(("1", "a", "held", "held: a program is paused (2 calls)")) == [
        "Queue: a is held; held: a program is paused (2 calls)"
    ]
    assert queue(("1", "b", "held", "held")) == ["Queue: changed. 1, steering: b; held"]
    assert queue(("1", "b", "paused", "x"), paused=True) == [
        "Queue: paused. Enter on an empty line resumes it."
    ]
    assert queue() == []


def test_what_only_moves_is_not_told() -> None:
    teller = Teller()
    assert teller.apply(UsageChangedEvent(1, 2, 3, 4, 0.1)) == []
    paused = ContainerChangedEvent("container_12345678", "paused", pending=2)
    assert teller.apply(paused) == ["Container 12345678: paused, waits for 2 calls."]
    paused.expires_at = "2026-01-01T00:00:00Z"
    assert teller.apply(paused) == []


def test_a_command_of_the_users_own_is_told_once() -> None:
    teller = Teller()
    running = UserCommandEvent("u", "ls", True, "running")
    assert teller.apply(running) == ["Command: ls, kept out of the context"]
    assert teller.apply(UserCommandEvent("u", "ls", True, "running", "a\n")) == []
    ended = UserCommandEvent("u", "ls", True, "ended", "a\n", 2)
    assert teller.apply(ended) == ["Command: ended with code 2.", "  a"]


def test_a_failed_request_and_its_retry() -> None:
    teller = Teller()
    retry = RetryEvent(1, 4.0, "The server is overloaded.", "m")
    assert teller.apply(retry) == [
        "Again: The server is overloaded. Tried again in 4 s. What it had said does not count."
    ]
    failed = AssistantMessage(stop_reason="error", error_message="No route.\x1b[0m")
    assert teller.apply(MessageEndEvent(failed)) == ["Error: No route.␛[0m. /retry asks again."]
    assert teller.apply(AgentEndEvent([], "the request failed: No route.")) == []
    assert teller.apply(AgentEndEvent([], "the answer is complete")) == []
    assert teller.apply(AgentEndEvent([], "stopped by the user")) == ["End: stopped by the user."]


@pytest.mark.parametrize(
    ("reason", "begins"),
    [("end_turn", ""), ("tool_use", ""), ("max_tokens", "Cut:"), ("refusal", "Declined:"),
     ("model_context_window_exceeded", "Cut:"), ("aborted", "Stopped:"), ("new", "Ended:")],
)  # fmt: skip
def test_every_way_an_answer_ends(reason: Any, begins: str) -> None:
    told = ending(AssistantMessage(stop_reason=reason))
    assert [line.split()[0] for line in told] == ([begins] if begins else [])


def test_what_the_user_said_over_several_lines() -> None:
    message = UserMessage(content=[TextContent(text="one\ntwo\x07")])
    assert Teller().apply(MessageEndEvent(message)) == ["You: one", "two␇"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("write", {"path": "x.txt", "content": "hi\n"}, "path: x.txt; content: hi"),
        (
            "write",
            {"path": "x.txt", "content": "one\ntwo\nthree\n"},
            "path: x.txt; content: one (3 lines)",
        ),
        ("shell", {"command": "ls\npwd"}, "ls; pwd"),
        ("", {"a": {"b": [1, 2]}}, 'a: {"b": [1, 2]}'),
        ("read", {"path": "x.txt"}, "x.txt"),
    ],
)
def test_what_a_call_does_is_one_line(tool: str, arguments: dict[str, Any], told: str) -> None:
    assert what_runs(tool, arguments) == told
