"""Search and walking through the transcript, by keys through the app."""

from textual import events

from agent_tui.agent.events import (
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    TextDeltaEvent,
    TextStartEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tests.tui.conftest import Drive, Driven


def fill(d: Driven, turns: int = 30) -> None:
    """A conversation of some screens, with a tool call and thinking in the middle."""
    messages: list[object] = []
    for number in range(turns):
        messages.append(UserMessage(content=f"question {number}"))
        content: list[object] = [TextContent(text=f"Answer **{number}**.\n\n" + "filler\n\n" * 4)]
        if number == turns // 2:
            content = [
                ThinkingContent(thinking="a hidden needle of thought", signature="s"),
                ToolCall(id="c1", name="shell", arguments={"command": "ls"}),
            ]
        messages.append(AssistantMessage(content=content))  # type: ignore[arg-type]
        if number == turns // 2:
            text = "\n".join(f"file {n}" + (" needle" if n == 50 else "") for n in range(99))
            messages.append(
                ToolResultMessage(
                    tool_call_id="c1", tool_name="shell", content=[TextContent(text=text)]
                )
            )
    d.app.transcript.load(messages)  # type: ignore[arg-type]


async def found(d: Driven, words: str) -> None:
    await d.until(lambda: d.app.transcript.quiet and words in d.screen, words)


async def test_search_counts_walks_unfolds_and_goes_back(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.settle()
        before = d.app.transcript.lines_shown
        await d.press("ctrl+f")
        await d.type("NEEDLE")
        await found(d, "2 of 2")
        assert "file 50 needle" in d.screen, "the folded result is open there"
        await d.press("enter", "n")
        await found(d, "1 of 2")
        assert "a hidden needle of thought" in d.screen
        assert "file 50 needle" not in d.screen, "what was left is folded again"
        await d.press("N")
        await found(d, "2 of 2")
        await d.press("escape")
        await d.until(lambda: d.app.transcript.lines_shown == before, "all is as it was")
        assert d.app.composer.has_focus and d.app.transcript.following


async def test_each_letter_narrows_the_search(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.press("ctrl+f")
        await d.type("question 2")
        await found(d, "11 of 11")
        await d.type("7")
        await found(d, "1 of 1")
        assert "❯ question 27" in d.screen
        await d.press("backspace")
        await found(d, "11 of 11")
        await d.press("up")
        await found(d, "10 of 11")
        await d.press("down", "down")
        await found(d, "1 of 11")
        await d.type("x")
        await found(d, "no match")
        assert d.app.transcript.following, "with no match one is where one was"


async def test_enter_on_a_match_stays_there_and_typing_goes_to_the_composer(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.press("ctrl+f")
        await d.type("file 50")
        await found(d, "1 of 1")
        await d.press("enter", "enter")
        assert not d.app.transcript.searching and not d.app.search_line.display
        assert "file 50 needle" in d.screen
        await d.type("Hello")
        assert d.draft == "Hello"
        assert "file 50 needle" in d.screen


async def test_typing_elsewhere_ends_a_search_where_it_is(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.press("ctrl+f")
        await d.type("file 50")
        await found(d, "1 of 1")
        await d.press("enter")
        await d.type("Q")
        assert d.draft == "Q" and not d.app.search_line.display
        assert "file 50 needle" in d.screen


async def test_a_search_takes_no_key_of_a_draft_and_none_of_its_keys_goes_there(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.type("my draft")
        await d.press("ctrl+f")
        await d.burst("question", "enter")
        await d.press("escape")
        assert d.draft == "my draft" and d.conv.called("submit") == []


async def test_what_is_typed_right_behind_the_key_is_searched_for(drive: Drive):
    """All keys are there before the first is handled, as over a slow line."""
    async with drive() as d:
        fill(d)
        await d.type("draft")
        d._send(events.Key("ctrl+f", None))
        await d.burst("needle", "backspace", "e")
        await found(d, "2 of 2")
        assert d.draft == "draft" and d.app.search_line.sought == "needle"
        await d.press("escape", "f8")
        await d.burst("/", "file 50")
        await found(d, "1 of 1")
        assert d.draft == "draft"


async def test_slash_searches_from_the_transcript_and_is_text_in_the_composer(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.press("f8", "slash")
        assert d.app.search_line.has_focus
        await d.press("escape", "/")
        assert d.draft == "/" and not d.app.search_line.display


async def test_what_streams_is_counted_as_it_comes(drive: Drive):
    async with drive() as d:
        fill(d, 2)
        await d.press("ctrl+f")
        await d.type("needle")
        await found(d, "2 of 2")
        message = AssistantMessage(id="m")
        d.conv.emit(MessageStartEvent(message))
        d.conv.emit(MessageUpdateEvent("m", TextStartEvent(0)))
        for piece in ("a nee", "dle and\n\nanother need", "le"):
            d.conv.emit(MessageUpdateEvent("m", TextDeltaEvent(0, piece)))
            await d.settle()
        await found(d, "2 of 4")
        text = "a needle and\n\nanother needle"
        d.conv.emit(
            MessageEndEvent(message.model_copy(update={"content": [TextContent(text=text)]}))
        )
        await found(d, "2 of 4")
        await d.press("down")
        await found(d, "3 of 4")
        assert "a needle and" in d.screen


async def test_prompts_are_jumped_to_and_the_end_is_last(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.settle()
        top = lambda: d.app.transcript.lines_shown[0].strip()  # noqa: E731
        await d.press("ctrl+up", "ctrl+up", "ctrl+up", "ctrl+up", "ctrl+up", "ctrl+up")
        assert top() == "❯ question 24"
        await d.press("ctrl+up")
        assert top() == "❯ question 23" and not d.app.transcript.following
        await d.press("ctrl+down")
        assert top() == "❯ question 24"
        await d.press(*["ctrl+down"] * 6)
        assert d.app.transcript.following
        await d.press("ctrl+down")
        await d.shows("no later message")


async def test_prompts_from_within_an_answer(drive: Drive):
    async with drive() as d:
        fill(d)
        await d.settle()
        await d.press("pageup", "pageup", "pageup")
        first = d.app.transcript.lines_shown
        await d.press("f8", "left_square_bracket")
        top = d.app.transcript.lines_shown[0].strip()
        assert top.startswith("❯ question ")
        assert first[0].strip() == top or top not in [line.strip() for line in first]
        await d.press("right_square_bracket")
        number = int(top.split()[-1])
        assert d.app.transcript.lines_shown[0].strip() == f"❯ question {number + 1}"
        await d.press("escape")
        assert d.app.composer.has_focus


async def test_the_footer_and_the_help_name_the_keys(drive: Drive):
    async with drive() as d:
        await d.press("f8")
        await d.shows("/ search")
        await d.press("slash")
        await d.shows("Esc back")
        await d.press("escape", "f1")
        await d.shows("Search the transcript")
