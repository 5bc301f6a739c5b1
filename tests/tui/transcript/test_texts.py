"""Cited answers: one text with marks, its sources below, streamed as stored."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    OpaqueEvent,
    StreamEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agent_tui.agent.messages import AssistantMessage, OpaqueContent, TextContent, ToolCall
from agent_tui.conversation.events import RetryEvent

from .harness import Page, TranscriptApp, copied, prompt, settled, stored_answer


def web(url: str = "https://a.org/x", title: str | None = "A", quote: str = "") -> dict[str, Any]:
    return {"type": "web_search_result_location", "url": url, "title": title, "cited_text": quote}


def text(value: str, *citations: Any) -> TextContent:
    wire = {"citations": list(citations), "type": "text", "text": None} if citations else None
    return TextContent(text=value, wire=wire)


def streamed(index: int, content: TextContent, step: int = 3) -> list[StreamEvent]:
    value = content.text
    pieces = [value[at : at + step] for at in range(0, len(value), step)]
    deltas = [TextDeltaEvent(index, piece) for piece in pieces]
    return [TextStartEvent(index), *deltas, TextEndEvent(index, content)]


ANSWER = [
    text("They say "),
    text("a loop", web(quote="a loop it is")),
    text(" and "),
    text("a row", web("https://b.org/y", "B"), web(quote="a row")),
    text("."),
]


def test_a_cited_answer_is_one_text_with_its_sources_below() -> None:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    for index, content in enumerate(ANSWER):
        rows = page.stream(*streamed(index, content))
    assert rows == ["They say a loop[1] and a row[2][1]."]
    final = page.message.model_copy(update={"content": ANSWER})
    rows = page.apply(MessageEndEvent(final))
    assert rows == ["They say a loop[1] and a row[2][1].", "", "[1] A  a.org/x", "[2] B  b.org/y"]
    assert Page().load(final) == rows
    assert page.open() == [*rows[:3], "    “a loop it is”", "    “a row”", rows[3]]
    assert len(page.layout.blocks) == 2


def test_sources_stand_before_what_comes_next_and_go_on_counting() -> None:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    page.stream(*streamed(0, text("First.", web())))
    call = ToolCall(id="c", name="read", arguments={"path": "p"})
    page.stream(ToolCallStartEvent(1, call), ToolCallEndEvent(1, call))
    page.stream(*streamed(2, text("Then", web("https://b.org/", "B"), web())))
    content = [text("First.", web()), call, text("Then", web("https://b.org/", "B"), web())]
    rows = page.apply(MessageEndEvent(page.message.model_copy(update={"content": content})))
    assert rows == [
        "First.[1]", "", "[1] A  a.org/x", "", "● read  p", "",
        "Then[2][1]", "", "[1] A  a.org/x", "[2] B  b.org",
    ]  # fmt: skip


def test_texts_that_are_whole_stand_apart() -> None:
    content = [text("One."), text("Two."), text(" Three."), text("Four.\n"), text("Five.")]
    rows = Page().load(AssistantMessage(content=content))
    assert rows == ["One.", "", "Two. Three.", "", "Four. Five."]


def test_a_mark_before_a_bracket_is_no_link() -> None:
    content = [text("It is so", web()), text("(they say) or [so].")]
    rows = Page(width=60).load(AssistantMessage(content=content))
    assert rows[0] == "It is so[1] (they say) or [so]."


def test_a_mark_and_its_source_are_hyperlinks() -> None:
    page = Page()
    evil = "https://a.org/\x1b]8;;https://evil.org/\x1b\\"
    page.load(AssistantMessage(content=[text("So", web()), text(", or so", web(evil, "B\x1b[2J"))]))
    linked = {
        (segment.text, segment.style.link)
        for line in page.lines()
        for segment in line.segments
        if segment.style and segment.style.link
    }
    assert linked == {("[1]", "https://a.org/x"), ("A", "https://a.org/x"),
                      ("a.org/x", "https://a.org/x")}  # fmt: skip
    assert page.rows()[0] == "So[1], or so[2]"
    assert page.rows()[3].startswith("[2] B␛[2J")


def test_the_models_own_brackets_are_no_marks() -> None:
    page = Page()
    page.load(AssistantMessage(content=[text("See [7] and a[0]"), text(".", web())]))
    assert not any(s.style and s.style.link for s in page.lines()[0].segments)


def test_a_broken_sample_leaves_with_its_sources() -> None:
    page = Page()
    page.apply(MessageStartEvent(prompt("question")), MessageStartEvent(page.message))
    page.stream(*streamed(0, text("So", web())))
    opened = OpaqueContent(raw={"type": "hologram"}, complete=False)
    assert "[1] A  a.org/x" in page.stream(OpaqueEvent(1, "start", opened))
    rows = page.apply(RetryEvent(1, 1.0, "overloaded", strikes=page.message.id))
    assert rows == ["❯ question", "", "! overloaded; trying again in 1 s (try 2)"]


def test_copying_gives_marks_and_sources() -> None:
    page = Page()
    page.load(AssistantMessage(content=ANSWER))
    assert copied(page.lines()) == (
        "They say a loop[1] and a row[2][1].\n\n[1] A  a.org/x\n[2] B  b.org/y"
    )


async def test_a_hyperlink_is_written_to_the_terminal() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 10)) as pilot:
        app.transcript.load([AssistantMessage(content=ANSWER)])
        await settled(pilot)
        strips = app.screen._compositor.render_strips()
        written = "".join(strip.render(app.console) for strip in strips)
        assert re.search(r"\x1b\]8;id=[\w-]+;https://b\.org/y\x1b\\", written)


CONTENTS = st.lists(
    st.builds(
        text,
        st.sampled_from(["a", " b", "c ", "\n\n- d", "e.", "f\n", "**g", "h**", "`", "(i)", " "]),
        *[st.sampled_from([None, web(), web("https://b.org/", "B")])] * 2,
    ).map(lambda c: text(c.text, *[x for x in (c.wire or {}).get("citations", []) if x])),
    max_size=7,
)


@settings(max_examples=100)
@given(CONTENTS, st.integers(1, 4))
def test_any_answer_streams_as_it_is_stored(contents: list[TextContent], step: int) -> None:
    page = Page()
    page.apply(MessageStartEvent(page.message))
    for index, content in enumerate(contents):
        page.stream(*streamed(index, content, step))
    final = page.message.model_copy(update={"content": contents})
    assert page.apply(MessageEndEvent(final)) == Page().load(final)


async def test_a_text_that_slept_still_has_its_marks(monkeypatch: Any) -> None:
    """Texts of long ago keep their source only and are split again when they are seen."""
    monkeypatch.setattr("agent_tui.tui.transcript.layout.PARTS_KEPT", 20)
    app = TranscriptApp()
    async with app.run_test(size=(60, 10)) as pilot:
        transcript = app.transcript
        transcript.load([AssistantMessage(content=ANSWER)])
        transcript.load([stored_answer("word\n\n" * 40) for _ in range(30)])
        await settled(pilot)
        for _ in range(200):
            transcript.scroll_to(y=max(0, transcript.scroll_y - 30))
        await settled(pilot)
        transcript.scroll_home()
        await settled(pilot)
        [row] = [r for r in transcript._view.frame if "They say" in r.line.shown]
        links = [s.style.link for s in row.line.segments if s.style and s.style.link]
        assert links == ["https://a.org/x", "https://b.org/y", "https://a.org/x"]


def test_the_text_of_an_answer_is_kept_once() -> None:
    """The message holds it anyway: ten megabytes of conversation are not twenty."""
    value = "A long answer, with a 見積もり in it. " * 50
    page, content = Page(), text(value)
    page.stream(*streamed(0, content))
    page.apply(MessageEndEvent(page.message.model_copy(update={"content": [content]})))
    assert page.layout.blocks[-1].texts()[0] is content.text
    loaded = Page()
    loaded.load(AssistantMessage(content=[content]))
    loaded.layout.ready(0)
    assert loaded.layout.blocks[0].texts()[0] is content.text


def test_a_text_that_is_shown_otherwise_is_kept_as_shown() -> None:
    page, content = Page(), text("a \x1b[31mred\x1b[0m lie")
    page.stream(*streamed(0, content))
    page.apply(MessageEndEvent(page.message.model_copy(update={"content": [content]})))
    assert "\x1b" not in "".join(page.layout.blocks[-1].texts())
