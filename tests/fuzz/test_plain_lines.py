"""The plain lines of --plain: every entry that tells something by an event, told in words."""

import inspect
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from hypothesis import example, given

from agent_tui.conversation.events import (
    PermissionRequestEvent,
    QuestionKind,
    ServerQuestionEvent,
)
from agent_tui.lines.questions import Approval, Consent, FormQuestion
from agent_tui.lines.teller import Teller
from tests.fuzz.entries import ENTRIES
from tests.fuzz.nasty import ALL, acting, profile, texts
from tests.tui.conftest import Driven
from tests.tui.fake_conversation import FakeConversation

TOLD = [name for name, entry in ENTRIES.items() if not inspect.iscoroutinefunction(entry)]


def events_of(name: str, text: str) -> list[Any]:
    """What the conversation tells, where a text comes by this entry."""
    conversation = FakeConversation()
    events: list[Any] = []
    conversation.subscribe(events.append)
    ENTRIES[name](cast(Driven, MagicMock(conv=conversation)), text)
    return events


def told(name: str, text: str) -> list[str]:
    teller = Teller(lambda: "open")
    lines: list[str] = []
    for event in events_of(name, text):
        lines += teller.apply(event)
    return lines


@pytest.mark.parametrize("name", TOLD)
def test_C08_no_line_holds_what_a_terminal_obeys(name: str) -> None:
    @profile(15)
    @given(texts())
    @example(ALL)
    @example("")
    def check(text: str) -> None:
        for line in told(name, text):
            assert set(acting(line)) <= {"U+0009"}, line

    check()


@profile(40)
@given(texts())
@example(ALL)
def test_C08_no_question_holds_what_a_terminal_obeys(text: str) -> None:
    """Of an approval and of a server, as they are told."""
    answers = MagicMock()
    more = {"diff": text, "note": text, "server": text, "server_tool": text}
    given_ = {text: text, "command": text}
    approval = PermissionRequestEvent("r", "c", text, given_, None, text, None, **more)
    said = [{"role": text, "content": [{"type": "text", "text": text}, {"media_type": text}]}]
    details = {"model": text, "max_tokens": 5, "system_prompt": text, "messages": said,
               "left_out": [text], "text": text, "stop_reason": text}  # fmt: skip
    fields = {text: {"type": "string", "title": text, "enum": [text], "description": text}}
    schema = {"type": "object", "properties": fields}
    lines = Approval(approval, answers).told()
    kinds: tuple[QuestionKind, ...] = ("url", "sampling", "sampling_result")
    for kind in kinds:
        event = ServerQuestionEvent("r", text, kind, text, None, text, details)
        lines += Consent(event, answers, lambda url: None).told()
    for kind in ("form", "login"):
        event = ServerQuestionEvent("r", text, kind, text, schema, text)
        lines += FormQuestion(event, answers).told()
    for line in lines:
        assert set(acting(line)) <= {"U+0009"}, line


def test_something_is_told() -> None:
    """The tests above see lines."""
    silent = [name for name in TOLD if not told(name, "some words")]
    assert len(silent) <= 4, silent
