"""The draft is recorded once the keys rest and on every way out, and comes back whole."""

import pytest

from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.session_link import Restored
from agent_tui.drafts import Draft
from agent_tui.tui import draft_keeper
from agent_tui.tui.paste_collapse import MARK
from tests.tui.conftest import Drive
from tests.tui.fake_conversation import FakeConversation

BIG = "\n".join(f"pasted line {n}" for n in range(30))


@pytest.fixture(autouse=True)
def short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_keeper, "REST_S", 0.05)


def conversation(draft: Draft) -> FakeConversation:
    conv = FakeConversation()
    conv.brings_back = Restored(draft=draft)
    return conv


async def test_it_is_recorded_at_rest_with_its_pastes(drive: Drive):
    async with drive() as d:
        await d.type("look at ")
        await d.paste(BIG)
        await d.type(" please")
        await d.until(lambda: d.conv.drafts and d.conv.drafts[-1].whole == f"look at {BIG} please")
        assert d.conv.drafts[-1].text == f"look at [pasted{MARK}30 lines] please"
        assert len(d.conv.drafts) <= 3, "at rest, not at each key"


async def test_without_a_rest_it_is_recorded_all_the_same(drive: Drive, monkeypatch):
    monkeypatch.setattr(draft_keeper, "REST_S", 30)
    async with drive() as d:
        await d.type("a")
        d.clock.pass_(draft_keeper.LONGEST_S + 1)
        await d.type("b")
        assert d.conv.drafts[-1].text == "ab"


async def test_what_was_sent_is_a_draft_no_more(drive: Drive):
    async with drive() as d:
        await d.type("hello")
        await d.until(lambda: d.conv.drafts and d.conv.drafts[-1].text == "hello")
        await d.press("enter")
        await d.until(lambda: not d.conv.drafts[-1])


async def test_while_a_stop_settles_the_draft_stays_as_it_was(drive: Drive):
    """What is sent then is on disk only when it has settled."""
    async with drive() as d:
        d.conv.set_status("tools")
        await d.type("hello")
        await d.until(lambda: d.conv.drafts and d.conv.drafts[-1].text == "hello")
        await d.press("escape", "enter")
        for _ in range(4):
            await d.settle()
        assert d.conv.drafts[-1].text == "hello"
        d.conv.set_status("ready")
        await d.until(lambda: not d.conv.drafts[-1])


async def test_it_is_recorded_on_the_way_out(drive: Drive, monkeypatch):
    monkeypatch.setattr(draft_keeper, "REST_S", 30)
    async with drive() as d:
        await d.type("half a th")
        d.app.leaving.begin(129)
        await d.until(lambda: d.conv.closed)
        assert d.conv.drafts == [Draft("half a th")]


async def test_the_own_draft_is_recorded_while_the_composer_is_lent(drive: Drive):
    async with drive() as d:
        d.conv.queue_item("follow_up", "queued one")
        await d.type("earlier")
        await d.press("enter")
        await d.type("mine")
        await d.press("alt+up")
        await d.until(lambda: d.draft == "queued one")
        assert d.app.composer.kept_draft() == Draft("mine")
        await d.press("escape", "up")
        assert d.draft == "earlier"
        assert d.app.composer.kept_draft() == Draft("mine"), "a walk through the history"
        await d.press("down", "ctrl+r")
        await d.type("zz")
        assert d.app.composer.kept_draft() == Draft("mine"), "a search"


async def test_it_comes_back_with_its_pastes_folded_and_is_not_sent(drive: Drive):
    conv = conversation(Draft("look at [pasted 30 lines]", {"[pasted 30 lines]": BIG}))
    async with drive(conv=conv) as d:
        assert d.app.composer.text == "look at [pasted 30 lines]"
        assert d.draft == f"look at {BIG}"
        assert conv.called("submit") == []
        await d.press("enter")
        assert conv.called("submit") == [(f"look at {BIG}",)]


async def test_what_is_typed_already_stays_and_the_old_draft_is_put_away(drive: Drive):
    conv = FakeConversation()
    async with drive(conv=conv) as d:
        await d.type("typed already")
        conv.brings_back = Restored(draft=Draft("the old draft"))
        d.app.opener.reload()
        assert d.draft == "typed already"
        await d.shows("1 draft stashed")
        await d.press("ctrl+c", "ctrl+s")
        assert d.draft == "the old draft"


async def test_a_session_opened_says_which_it_is_and_what_was_damaged(drive: Drive):
    conv = FakeConversation()
    async with drive(conv=conv) as d:
        await d.type("x")
        conv.command_results["resume"] = CommandResult(action="reload")
        conv.brings_back = Restored(
            greeting="Session 1a2b3c4d, last used 3 min ago.", notices=["Line 7 was cut short."]
        )
        await d.press("backspace")
        await d.type("/resume 1a2b")
        await d.press("enter")
        await d.shows("Session 1a2b3c4d, last used 3 min ago.")
        await d.shows("Line 7 was cut short.")
