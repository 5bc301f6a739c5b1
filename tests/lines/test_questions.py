"""Questions in lines: only a line that is an answer, and was begun after the question, answers."""

from typing import Any

import pytest

from agent_tui.conversation.events import PermissionRequestEvent, ServerQuestionEvent
from agent_tui.lines.questions import Approval, Consent, FormQuestion, Questions

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer"},
        "sure": {"type": "boolean", "default": True},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "sizes": {"type": "array", "items": {"enum": ["S", "M", "L"]}},
    },
    "required": ["name", "colour"],
}


class Asked:
    """Questions, a clock, and what was answered."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.answers: list[tuple[Any, ...]] = []
        self.now = 10.0
        self.refuse = ""
        self.questions = Questions(self.said.extend, lambda: self.now)

    def answer(self, request_id: str, decision: Any, reason: str = "") -> bool:
        self.answers.append((request_id, decision, reason))
        return True

    def answer_question(
        self, request_id: str, action: str, content: dict[str, Any] | None = None
    ) -> bool:
        if self.refuse and action == "accept":
            problem, self.refuse = self.refuse, ""
            raise ValueError(problem)
        self.answers.append((request_id, action, content))
        return True

    def type(self, line: str, *, begun_at: float | None = None) -> bool:
        self.now += 1
        return self.questions.take(line, self.now if begun_at is None else begun_at)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def approval(asked: Asked, id: str = "r", **more: Any) -> Approval:
    arguments = more.pop("arguments", {"command": "git push"})
    return Approval(PermissionRequestEvent(id, "c", "shell", arguments, **more), asked)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("y", ("r", "allow", "")),
        (" Y ", ("r", "allow", "")),
        ("a", ("r", "allow_always", "")),
        ("n", ("r", "deny", "")),
        ("n not on a Friday", ("r", "deny", "not on a Friday")),
        ("no", ("r", "deny", "")),
        ("no wait, first read README.md", ("r", "deny", "wait, first read README.md")),
        ("No, look first", ("r", "deny", "look first")),
    ],
)
def test_an_approval_is_answered_by_its_letters(
    asked: Asked, line: str, answer: tuple[str, ...]
) -> None:
    asked.questions.ask(approval(asked))
    assert asked.type(line)
    assert asked.answers == [answer]
    assert not asked.type(line), "a second one is a message"


@pytest.mark.parametrize("line", ["yes please do", "maybe", "not now", "and then?", "ya", "",
                                  "y\nn", "a b"])  # fmt: skip
def test_any_other_line_is_a_message(asked: Asked, line: str) -> None:
    asked.questions.ask(approval(asked))
    assert not asked.type(line)
    assert asked.answers == []


def test_who_said_something_else_hears_what_still_waits(asked: Asked) -> None:
    assert asked.questions.still_waits() == []
    asked.questions.ask(approval(asked))
    assert asked.questions.still_waits() == ["The question still waits: type y or n."]
    asked.type("y")
    assert asked.questions.still_waits() == []


def test_a_line_that_was_begun_before_the_question_answers_nothing(asked: Asked) -> None:
    asked.questions.ask(approval(asked))
    told = len(asked.said)
    assert asked.type("y", begun_at=9.0)
    assert asked.answers == []
    assert "Waiting for your approval: shell wants to run:" in asked.said[told:], "told again"
    assert not asked.type("a thought", begun_at=9.0), "a message is none of its business"
    assert asked.type("y")
    assert asked.answers == [("r", "allow", "")]


def test_one_question_at_a_time_and_one_that_is_taken_back_is_gone(asked: Asked) -> None:
    asked.questions.ask(approval(asked, "one", arguments={"command": "first"}))
    asked.questions.ask(approval(asked, "two", arguments={"command": "second"}))
    asked.questions.ask(approval(asked, "three", arguments={"command": "third"}))
    assert "  first" in asked.said and "  second" not in asked.said
    asked.questions.take_back("two")
    assert "  third" not in asked.said
    assert asked.type("n")
    assert "  third" in asked.said
    # The y for the first, typed as the next came up, is not for that one.
    assert asked.type("y", begun_at=asked.now - 5)
    assert asked.answers == [("one", "deny", "")]


def test_what_will_run_is_told_whole_with_hidden_characters_shown(asked: Asked) -> None:
    command = "echo \x1b[2K\u202eharmless\n" + "\n".join(f"line {n}" for n in range(50))
    asked.questions.ask(approval(asked, arguments={"command": command}))
    told = "\n".join(asked.said)
    assert "␛[2K‹U+202E›harmless" in told and "line 49" in told
    assert "\x1b" not in told


def test_an_edit_is_told_as_its_diff(asked: Asked) -> None:
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n"
    asked.questions.ask(approval(asked, arguments={"path": "a.py"}, diff=diff))
    assert asked.said[1:5] == ["  a.py", "  @@ -1 +1 @@", "  -old", "  +new"]


def test_a_form_is_filled_field_by_field(asked: Asked) -> None:
    event = ServerQuestionEvent("q", "docs", "form", "Please", schema=SCHEMA)
    asked.questions.ask(FormQuestion(event, asked))
    assert not asked.type("Ann"), "before /answer it is a message"
    assert asked.type("/answer")
    assert asked.type("")  # required
    assert any("it must be given" in line for line in asked.said)
    assert asked.type("Ann")
    assert asked.type("old")
    assert any("must be a whole number" in line for line in asked.said)
    assert asked.type("42")
    assert asked.type("")  # the default
    assert not asked.type("/usage"), "commands stay commands"
    assert asked.type("3")
    assert any("3 is none of 1 to 2" in line for line in asked.said)
    assert asked.type("blue")
    assert asked.type("1, 3")
    assert asked.answers == [
        ("q", "accept", {"name": "Ann", "age": 42, "sure": True, "colour": "blue",
                         "sizes": ["S", "L"]})
    ]  # fmt: skip


def test_a_form_that_is_not_taken_goes_back_to_its_field(asked: Asked) -> None:
    schema = {"type": "object", "properties": {"mail": {"type": "string"}}, "required": ["mail"]}
    asked.questions.ask(
        FormQuestion(ServerQuestionEvent("q", "docs", "form", "", schema=schema), asked)
    )
    asked.refuse = "mail: must be an address"
    for line in ("/answer", "nobody"):
        assert asked.type(line)
    assert any("must be an address" in line for line in asked.said)
    assert asked.type("a@b.c")
    assert asked.answers == [("q", "accept", {"mail": "a@b.c"})]


@pytest.mark.parametrize("line", ["/decline", "/cancel"])
def test_a_form_is_declined_or_cancelled(asked: Asked, line: str) -> None:
    event = ServerQuestionEvent("q", "docs", "form", "", schema=SCHEMA)
    asked.questions.ask(FormQuestion(event, asked))
    assert asked.type(line)
    assert asked.answers == [("q", line[1:], None)]


@pytest.mark.parametrize(
    ("line", "action", "opens"),
    [("y", "accept", True), ("n", "decline", False), ("/cancel", "cancel", False)],
)
def test_an_address_is_opened_only_by_yes(
    asked: Asked, line: str, action: str, opens: bool
) -> None:
    opened: list[str] = []
    event = ServerQuestionEvent("q", "docs", "url", "Pay here", url="https://pay.example/1")
    asked.questions.ask(Consent(event, asked, opened.append))
    assert any("https://pay.example/1" in line for line in asked.said)
    assert asked.type(line)
    assert asked.answers == [("q", action, None)]
    assert opened == (["https://pay.example/1"] if opens else [])
