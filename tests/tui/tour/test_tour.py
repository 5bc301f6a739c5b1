"""The tour on the screen: a step waits for its own thing, and no key of the composer is taken."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.agent.events import AgentEndEvent
from agent_tui.agent.messages import AssistantMessage
from agent_tui.tui.tour import tour
from agent_tui.tui.tour.steps import STEPS
from tests.tui.conftest import Drive
from tests.tui.fake_conversation import FakeConversation


def conversation(*, demo: bool = True) -> FakeConversation:
    conv: Any = FakeConversation(demo=demo)
    conv.endpoint = SimpleNamespace(demo=demo)
    conv.session = SimpleNamespace(id="first")
    conv.toolset = SimpleNamespace(rows=list)
    conv.keeps, conv.busy = True, False
    return conv


def answered() -> AgentEndEvent:
    return AgentEndEvent([AssistantMessage()])


async def test_a_step_waits_for_its_own_thing_and_the_keys_stay_the_composers(drive: Drive):
    conv = conversation()
    async with drive(conv=conv) as d:
        await d.type("/tour")
        await d.press("enter")
        await d.shows(f"Tour 1/{len(STEPS)}  A message")
        await d.type("hello")
        assert d.draft == "hello"
        # Other things happen: it is still the first step.
        conv.set_status("streaming")
        conv.queue_item("follow_up", "later")
        d.app.tour.look()
        await d.settle()
        assert "A message" in d.screen
        conv.emit(answered())
        await d.shows("Tour 2/")
        # The say follows what is the case: something streams, so the steering can be typed.
        assert "shorter please" in d.screen
        conv.set_status("ready")
        await d.shows("write a long answer")


async def test_esc_stops_first_and_leaves_only_when_it_is_said_twice(drive: Drive):
    conv = conversation()
    async with drive(conv=conv) as d:
        await d.app.tour.begin(conv)  # type: ignore[arg-type]
        conv.set_status("streaming")
        await d.press("escape")
        assert conv.called("abort")
        conv.set_status("ready")
        await d.press("escape")
        await d.shows("Esc again leaves the tour.")
        assert d.app.tour.on
        conv.emit(answered())  # what happens in between makes it the first one again
        await d.press("escape")
        assert d.app.tour.on
        await d.press("escape")
        assert not d.app.tour.on
        assert "Tour 2/" not in d.screen
        assert conv._subscribers == [d.app.router.receive]


async def test_it_is_skipped_through_to_its_end(drive: Drive):
    conv = conversation()
    async with drive(conv=conv) as d:
        await d.press("alt+n")
        await d.shows("There is no tour: /tour begins it.")
        await d.app.tour.begin(conv)  # type: ignore[arg-type]
        for step in STEPS:
            await d.shows(step.title)
            await d.press("alt+n")
        await d.shows("That was the tour.")
        await d.press("escape")
        assert not d.app.tour.on


async def test_without_sessions_nothing_is_told_of_them(drive: Drive):
    conv: Any = conversation()
    conv.keeps = False
    async with drive(conv=conv) as d:
        await d.app.tour.begin(conv)
        for _ in range(len(STEPS) - 2):
            await d.press("alt+n")
        await d.shows("That was the tour.")


async def test_a_thing_that_was_done_before_its_step_is_passed_over_only_where_once_is_enough(
    drive: Drive,
):
    conv = conversation()
    async with drive(conv=conv) as d:
        await d.app.tour.begin(conv)  # type: ignore[arg-type]
        d.app.tour.saw("attached")
        d.app.tour.saw("called")
        titles: list[str] = []
        for _ in range(len(STEPS)):
            titles += [s.title for s in STEPS if f"  {s.title}   " in d.screen]
            await d.press("alt+n")
        assert "A server" not in titles and "Its tool" in titles


async def test_a_search_counts_however_quickly_it_is_done(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tour, "LOOK_S", 3600.0)  # nobody looks while it is open
    conv = conversation()
    async with drive(conv=conv) as d:
        d.app.notice("info", "some files are here")
        await d.app.tour.begin(conv)  # type: ignore[arg-type]
        for _ in range([step.title for step in STEPS].index("Search")):
            await d.press("alt+n")
        await d.shows("Search")
        await d.press("ctrl+f")
        await d.type("nothing of the kind")
        await d.press("escape")
        assert "  Search  " in d.screen, "there was no match"
        await d.press("ctrl+f")
        await d.type("files")
        await d.shows("2 of 2")
        await d.press("escape")
        await d.shows("  Settings  ")


async def test_elsewhere_it_only_says_where_it_runs(drive: Drive):
    conv = conversation(demo=False)
    async with drive(conv=conv) as d:
        await d.type("/tour")
        await d.press("enter")
        await d.shows("no model is asked")
        assert not d.app.tour.on
        await d.type("/tour demo")
        await d.press("enter")
        await d.shows("agent-tui --demo, then /tour")  # this starter knows no demo


async def test_it_fits_40_columns(drive: Drive):
    conv = conversation()
    async with drive(conv=conv, size=(40, 20)) as d:
        await d.app.tour.begin(conv)  # type: ignore[arg-type]
        for step in STEPS:
            await d.shows(step.title)
            rows = d.screen.split("\n")
            assert any(row.lstrip().startswith(">") or "❯" in row for row in rows)
            await d.press("alt+n")
