"""Ctrl+S puts a draft away and brings it back; it is lost on no way."""

import pytest

from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.session_link import Restored
from agent_tui.drafts import Draft
from agent_tui.tui import draft_keeper
from agent_tui.tui.paste_collapse import MARK
from tests.tui.conftest import Drive
from tests.tui.fake_conversation import FakeConversation

BIG = "\n".join(f"pasted line {n}" for n in range(30))
MARKED = f"[pasted{MARK}30 lines]"


async def test_it_is_put_away_and_comes_back_with_its_paste(drive: Drive):
    async with drive() as d:
        await d.type("look at ")
        await d.paste(BIG)
        await d.press("ctrl+s")
        assert d.draft == ""
        await d.shows("1 draft stashed (Ctrl+S brings it back)")
        await d.type("something else first")
        await d.press("enter")
        assert d.conv.calls == [("submit", "something else first")]
        await d.shows("1 draft stashed")
        await d.press("ctrl+s")
        assert d.draft == f"look at {BIG}" and d.app.composer.text == f"look at {MARKED}"
        await d.until(lambda: "stashed" not in d.screen)
        await d.press("enter")
        assert d.conv.calls[-1] == ("submit", f"look at {BIG}")


async def test_several_come_back_newest_first(drive: Drive):
    async with drive() as d:
        for text in ("one", "two", "three"):
            await d.type(text)
            await d.press("ctrl+s")
        await d.shows("3 drafts stashed (Ctrl+S brings one back)")
        for text in ("three", "two", "one"):
            await d.press("ctrl+s")
            assert d.draft == text
            await d.press("ctrl+c")
        await d.press("ctrl+s")
        await d.shows("No draft is put away.")


async def test_two_drafts_with_pastes_of_one_size_keep_their_own(drive: Drive):
    async with drive() as d:
        await d.paste("a\n" * 30)
        await d.press("ctrl+s")
        await d.paste("b\n" * 30)
        await d.press("ctrl+s", "ctrl+s")
        assert d.draft == "b\n" * 30
        await d.press("ctrl+a")
        await d.press("ctrl+c", "ctrl+s")
        assert d.draft == "a\n" * 30


async def test_a_command_that_comes_back_is_not_completed_away(drive: Drive):
    async with drive() as d:
        await d.type("/model opus")
        await d.press("ctrl+s", "ctrl+s", "up")
        assert d.draft == "/model opus"


async def test_while_the_composer_is_lent_nothing_is_put_away(drive: Drive):
    async with drive() as d:
        d.conv.queue_item("follow_up", "queued one")
        await d.press("alt+up")
        await d.until(lambda: d.draft == "queued one")
        await d.press("ctrl+s")
        await d.shows("First end what you edit here")
        assert d.draft == "queued one" and d.app.composer.stash == []


async def test_another_key_by_setting_and_the_mark_names_it(drive: Drive):
    from types import SimpleNamespace

    async with drive(settings=SimpleNamespace(theme="dark", keys={"stash": "f12"})) as d:
        await d.type("mine")
        await d.press("ctrl+s")
        assert d.draft == "mine"
        await d.press("f12")
        await d.shows("1 draft stashed (F12 brings it back)")


async def test_few_columns_show_few_words(drive: Drive):
    async with drive(size=(40, 20)) as d:
        await d.type("mine")
        await d.press("ctrl+s")
        await d.shows("1 stashed (Ctrl+S)")


async def test_it_is_recorded_with_the_draft(drive: Drive, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(draft_keeper, "REST_S", 0.05)
    async with drive() as d:
        await d.paste(BIG)
        await d.press("ctrl+s")
        await d.type("now")
        away = Draft(MARKED, {MARKED: BIG})
        await d.until(lambda: d.conv.drafts and d.conv.drafts[-1] == Draft("now", {}, (away,)))
        await d.press("enter")
        await d.until(lambda: d.conv.drafts[-1] == Draft("", {}, (away,)))


async def test_an_earlier_start_gives_it_back(drive: Drive):
    conv = FakeConversation()
    away = Draft(MARKED, {MARKED: BIG})
    conv.brings_back = Restored(draft=Draft("typed", {}, (Draft("older"), away)))
    async with drive(conv=conv) as d:
        assert d.draft == "typed"
        await d.shows("2 drafts stashed")
        await d.press("ctrl+c", "ctrl+s")
        assert d.draft == BIG


async def test_clear_and_resume_leave_it_with_the_screen(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(draft_keeper, "REST_S", 30)
    async with drive() as d:
        await d.type("mine")
        await d.press("ctrl+s")
        d.conv.command_results["clear"] = CommandResult(action="clear")
        await d.type("/clear")
        await d.press("enter")
        await d.until(lambda: d.conv.drafts and d.conv.drafts[-1].stash == (Draft("mine"),))
        await d.shows("1 draft stashed")
        d.conv.command_results["resume"] = CommandResult(action="reload")
        d.conv.brings_back = Restored(draft=Draft("", {}, (Draft("of that session"),)))
        await d.type("/resume 1a2b")
        await d.press("enter")
        await d.shows("2 drafts stashed")
        both = (Draft("of that session"), Draft("mine"))
        await d.until(lambda: d.conv.drafts[-1].stash == both, "recorded at once")
        await d.press("ctrl+s")
        assert d.draft == "mine"
