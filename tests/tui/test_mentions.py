"""Resources of servers behind an @ in the composer."""

import pytest

from agent_tui.agent.events import MessageEndEvent, MessageStartEvent
from agent_tui.agent.messages import TextContent, UserMessage
from agent_tui.tui.completion import mention_choices
from agent_tui.tui.lines import middle_cut
from tests.tui.conftest import Drive, Driven
from tests.tui.fake_conversation import FakeConversation

RESOURCES = [("zoo:zoo://cage/1", "the ape"), ("zoo:zoo://cage/2", "the bear")]


async def with_resources(d: Driven) -> None:
    d.conv.resources = RESOURCES


async def test_tab_and_enter_complete_what_stands_at_the_cursor(drive: Drive):
    async with drive() as d:
        await with_resources(d)
        await d.type("look at @zo")
        await d.shows("the bear")
        await d.press("down")
        await d.press("tab")
        assert d.draft == "look at @zoo:zoo://cage/2"
        await d.type(" and ")
        await d.type("@")
        await d.press("enter")
        assert d.draft == "look at @zoo:zoo://cage/2 and @zoo:zoo://cage/1"
        assert d.conv.called("submit") == []
        await d.press("enter")
        await d.until(lambda: d.conv.called("submit") != [])
        assert d.conv.called("submit")[0][0].endswith("cage/2 and @zoo:zoo://cage/1")


async def test_only_what_stands_before_the_cursor_is_replaced(drive: Drive):
    async with drive() as d:
        await with_resources(d)
        await d.type("@ is it")
        await d.press("home")
        assert not d.app.composer.completion.is_open
        await d.press(*["right"])
        await d.type("zoo")
        await d.press("tab")
        assert d.draft == "@zoo:zoo://cage/1 is it"


async def test_an_at_sign_that_means_nothing_is_text(drive: Drive):
    async with drive() as d:
        await with_resources(d)
        await d.type("mail me@zoo")
        assert not d.app.composer.completion.is_open
        await d.type(" @nobody")
        await d.press("enter")
        await d.until(lambda: d.conv.called("submit") == [("mail me@zoo @nobody",)])


async def test_escape_closes_the_list_and_enter_sends(drive: Drive):
    async with drive() as d:
        await with_resources(d)
        await d.type("@zo")
        await d.press("escape")
        await d.press("enter")
        await d.until(lambda: d.conv.called("submit") == [("@zo",)])


@pytest.mark.parametrize(
    "before, typed",
    [("@", ""), ("a @zoo:x", "zoo:x"), ("(@", ""), ("a@b", None), ("@a b", None), ("", None),
     ("\t@é", "é")],
)  # fmt: skip
def test_where_a_mention_begins(before: str, typed: str | None) -> None:
    asked: list[str] = []

    def mentions(text: str) -> list[tuple[str, str]]:
        asked.append(text)
        return [("x", "")]

    choices = mention_choices(before, mentions)
    assert asked == ([] if typed is None else [typed])
    assert [c.replaces for c in choices] == ([] if typed is None else [len(typed) + 1])


async def test_a_resource_that_came_along_is_one_line_of_the_transcript(drive: Drive):
    async with drive() as d:
        texts = ["look at @zoo:zoo://cage/1", "[resource zoo://cage/1]\n" + "a line inside\n" * 50]
        message = UserMessage(content=[TextContent(text=text) for text in texts])
        d.conv.emit(MessageStartEvent(message))
        d.conv.emit(MessageEndEvent(message))
        await d.shows("[with zoo://cage/1, 700 characters]")
        assert "look at @zoo:zoo://cage/1" in d.screen and "a line inside" not in d.screen


async def test_the_history_of_an_earlier_session_holds_what_was_typed(drive: Drive):
    texts = ["look at @zoo:zoo://cage/1", "[resource zoo://cage/1]\ninside"]
    earlier = UserMessage(content=[TextContent(text=text) for text in texts])
    async with drive(conv=FakeConversation(messages=[earlier])) as d:
        await d.press("up")
        assert d.draft == texts[0]


async def test_the_best_is_chosen_until_the_user_moves(drive: Drive):
    async with drive() as d:
        d.conv.resources = [("app.py", ""), ("apple", ""), ("apply.py", "")]
        await d.type("@app")
        await d.shows("❯ @app.py")
        d.conv.resources = [("apple", ""), ("app.py", ""), ("apply.py", "")]
        d.app.composer.mentions_changed()
        await d.shows("❯ @apple")
        await d.press("down")
        await d.shows("❯ @app.py")
        d.conv.resources = [("apply.py", ""), ("apple", ""), ("app.py", "")]
        d.app.composer.mentions_changed()
        await d.shows("❯ @app.py")


async def test_a_chosen_file_closes_the_list_and_a_folder_goes_on(drive: Drive):
    async with drive() as d:
        d.conv.resources = [("src/", "folder"), ("src/a.py", "")]
        await d.type("see @")
        await d.press("tab")
        assert d.draft == "see @src/"
        await d.shows("@src/a.py")
        await d.press("down", "enter")
        assert d.draft == "see @src/a.py" and not d.app.composer.completion.is_open
        await d.press("enter")
        await d.until(lambda: d.conv.called("submit") == [("see @src/a.py",)])


async def test_rows_that_begin_alike_are_cut_so_that_their_ends_differ(drive: Drive):
    async with drive(size=(90, 24)) as d:
        long = f"zoo:zoo://{'cages/' * 12}"
        d.conv.resources = [(f"{long}bear", "the bear"), (f"{long}owl", "the owl")]
        await d.type("@zoo")
        await d.shows("the owl")
        assert "cages/bear  the bear" in d.screen and "cages/owl" in d.screen
        assert "@zoo:zoo" in d.screen


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("short", 10, "short"),
        ("0123456789", 10, "0123456789"),
        ("0123456789abc", 10, "012…789abc"),
        ("東京都東京都東京都", 10, "東…東京都"),
        ("anything", 3, "anything"),
    ],
)
def test_the_middle_is_cut_by_cells(text: str, width: int, cut: str) -> None:
    assert middle_cut(text, width) == cut
