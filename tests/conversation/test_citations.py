"""Sources of an answer: numbered, listed once, and the text as a reader gets it."""

from typing import Any

import pytest

from agent_tui.agent.messages import AssistantMessage, OpaqueContent, TextContent, ThinkingContent
from agent_tui.conversation.citations import Quote, Sources, flows_on, joint, marks, with_sources


def cited(text: str, *citations: object) -> TextContent:
    return TextContent(text=text, wire={"citations": list(citations), "type": "text", "text": None})


def web(url: str, title: str | None, quote: str = "") -> dict[str, Any]:
    return {
        "type": "web_search_result_location",
        "cited_text": quote,
        "url": url,
        "title": title,
        "encrypted_index": "Eo8B",
    }


def test_a_source_has_one_number_however_often_it_is_cited() -> None:
    sources = Sources()
    first = sources.cite(cited("a", web("https://a.org/", "A", "one"), web("https://b.org/", "B")))
    second = sources.cite(cited("b", web("https://b.org/", "B"), web("https://a.org/", "A", "two")))
    assert (marks(first), marks(second)) == ("[1][2]", "[2][1]")
    listed = sources.listed()
    assert [(s.number, s.title, s.url) for s in listed] == [
        (1, "A", "https://a.org/"),
        (2, "B", "https://b.org/"),
    ]
    assert [q.text for q in listed[0].quotes] == ["one", "two"]
    assert sources.listed() == []


def test_a_later_list_holds_what_was_cited_since() -> None:
    sources = Sources()
    sources.cite(cited("a", web("https://a.org/", "A", "one")))
    sources.listed()
    sources.cite(cited("b", web("https://b.org/", "B"), web("https://a.org/", "A", "two")))
    listed = sources.listed()
    assert [(s.number, [q.text for q in s.quotes]) for s in listed] == [(1, ["two"]), (2, [])]


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ({"type": "page_location", "start_page_number": 3, "end_page_number": 4}, "page 3"),
        ({"type": "page_location", "start_page_number": 3, "end_page_number": 6}, "pages 3-5"),
        ({"type": "char_location", "start_char_index": 0, "end_char_index": 20},
         "characters 1-20"),
        ({"type": "content_block_location", "start_block_index": 1, "end_block_index": 2},
         "block 2"),
        ({"type": "page_location", "start_page_number": None}, ""),
        ({"type": "brand_new_location"}, ""),
    ],
)  # fmt: skip
def test_where_in_a_document(location: dict[str, Any], place: str) -> None:
    """API: pages count from 1, characters and blocks from 0; ends are exclusive."""
    citation = {"cited_text": "x", "document_index": 0, "document_title": "D", **location}
    sources = Sources()
    sources.cite(cited("t", citation))
    [source] = sources.listed()
    assert (source.title, source.quotes) == ("D", [Quote("x", place)])


def test_documents_of_one_title_are_told_apart() -> None:
    sources = Sources()
    one = {"type": "page_location", "document_title": "D", "document_index": 0}
    assert marks(sources.cite(cited("t", one, {**one, "document_index": 1}, one))) == "[1][2]"


def test_a_text_flows_on_behind_a_citation_or_an_open_line() -> None:
    assert flows_on("It is cited", "x", cited=True)
    assert flows_on("Here it is: ", "x", cited=False)
    assert flows_on("A list\n- ", "x", cited=False)
    assert flows_on("The first.", " The second.", cited=False)
    assert not flows_on("A sentence of its own.", "Another.", cited=False)
    assert joint("(so they say)") == " "
    assert joint(", they say") == ""


def test_the_answer_for_reading() -> None:
    message = AssistantMessage(
        content=[
            TextContent(text="Old first.\n"),
            OpaqueContent(raw={"type": "compaction", "content": "x"}),
            ThinkingContent(thinking="hm"),
            TextContent(text="They say: "),
            cited("a loop", web("https://a.org/", "A\x1b]2;x\x07")),
            TextContent(text="(at least). "),
            cited("More", web("https://b.org/", None), web("https://a.org/", "A")),
            TextContent(text=".\n"),
        ]
    )
    assert with_sources(message) == (
        "Old first.\n\nThey say: a loop[1] (at least). More[2][1].\n"
        "\n"
        "[1] A␛]2;x␇ - https://a.org/\n"
        "[2] https://b.org/"
    )


def test_an_answer_without_citations_is_its_text() -> None:
    message = AssistantMessage(content=[TextContent(text="One."), cited("Two.\n")])
    assert with_sources(message) == message.text == "One.Two.\n"
    thought = ThinkingContent(thinking="hm")
    message = AssistantMessage(content=[thought, TextContent(text="One."), thought])
    assert with_sources(message) == "One."
    assert with_sources(AssistantMessage(content=[thought])) == ""


@pytest.mark.parametrize(
    "citations",
    [None, "x", 7, [None], ["x"], [[]], [{}], [{"url": 3, "title": {}, "cited_text": []}]],
)
def test_any_shape_of_citations(citations: object) -> None:
    content = TextContent(text="t", wire={"type": "text", "text": None, "citations": citations})
    assert with_sources(AssistantMessage(content=[content])).startswith("t")
