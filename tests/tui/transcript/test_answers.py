"""What is copied of answers: their source, and the code in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent_tui.agent.messages import AssistantMessage, TextContent
from agent_tui.tui.transcript.answers import answers, codes, fenced_code
from agent_tui.tui.transcript.blocks import TextBlock

from .harness import Page, prompt, stored_answer


def test_answers_come_last_first_each_with_all_its_texts() -> None:
    page = Page()
    page.load(
        prompt("q"),
        stored_answer("# One\n\n*two*  \nthree\n"),
        prompt("q"),
        AssistantMessage(content=[TextContent(text="a"), TextContent(text="b")]),
        AssistantMessage(content=[]),
    )
    page.feed.add(TextBlock("what a command said"))
    found = list(answers(page.layout.blocks))
    assert found[1] == "# One\n\n*two*  \nthree"
    assert found[0].split() == ["a", "b"] and len(found) == 2


def test_codes_come_last_first_over_all_answers() -> None:
    page = Page()
    page.load(stored_answer("```\n1\n```\n\n~~~sh\n2\n~~~"), prompt("q"), stored_answer("no code"),
              stored_answer("```py\n3\n```"))  # fmt: skip
    assert list(codes(page.layout.blocks)) == ["3", "2", "1"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```\na\n\nb\n```", ["a\n\nb"]),
        ("````\n```\ninner\n```\n````", ["```\ninner\n```"]),
        ("- item\n\n  ```js\n  x\n    y\n  ```", ["x\n  y"]),
        ("1. ```\n   x\n   ```", ["x"]),
        ("```\nstill open", ["still open"]),
        ("``` not `a` fence", []),
        ("~~~\n```\n~~~", ["```"]),
        ("no fence", []),
    ],
)
def test_code_of_fences(text: str, code: list[str]) -> None:
    assert fenced_code(text) == code


LINES = st.sampled_from(["```", "````", "~~~", "```py", "text", "  indented", "", "x = 1", "~~~~"])


@given(st.lists(LINES, max_size=14))
def test_fences_at_the_margin_are_those_of_commonmark(lines: list[str]) -> None:
    text = "\n".join(lines)
    tokens = MarkdownIt("commonmark").parse(text)
    right = [token.content.removesuffix("\n") for token in tokens if token.type == "fence"]
    ours = fenced_code(text)
    if ours and text.endswith("\n"):
        ours[-1], right[-1] = ours[-1].rstrip("\n"), right[-1].rstrip("\n")
    assert ours == right
