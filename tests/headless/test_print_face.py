"""What -p writes: the answer, its sources, and why a run did not end well."""

import io
import json
from typing import Any

import pytest

from agent_tui.agent.messages import AssistantMessage, TextContent
from agent_tui.headless.print_mode import PrintFace


class Talk:
    """Of a conversation: what PrintFace asks it."""

    messages: list[Any] = []

    def state(self) -> dict[str, Any]:
        return {"usage": None, "session_id": "s"}


def cited(text: str, *citations: dict[str, Any]) -> TextContent:
    return TextContent(text=text, wire={"type": "text", "text": None, "citations": list(citations)})


ANSWER = AssistantMessage(
    content=[
        TextContent(text="They say "),
        cited("so", {"url": "https://a.org/", "title": "A\x1b[2J", "cited_text": "so"}),
        TextContent(text="."),
    ]
)


def written(output: Any, message: AssistantMessage) -> str:
    out, err = io.StringIO(), io.StringIO()
    PrintFace(output, out, err).result(Talk(), message)  # type: ignore[arg-type]
    assert err.getvalue() == ""
    return out.getvalue()


def test_text_has_marks_and_the_sources_below() -> None:
    assert written("text", ANSWER) == "They say so[1].\n\n[1] A␛[2J - https://a.org/\n"


def test_json_has_the_text_as_the_model_wrote_it() -> None:
    assert json.loads(written("json", ANSWER))["result"] == "They say so."


@pytest.mark.parametrize(
    ("text", "out"), [("One.", "One.\n"), ("One.\n", "One.\n"), ("a\nb\n\n", "a\nb\n\n"), ("", "")]
)
def test_an_answer_without_sources_is_its_text(text: str, out: str) -> None:
    assert written("text", AssistantMessage(content=[TextContent(text=text)])) == out
