"""The queue above the composer: what it shows and what its keys ask for."""

import pytest

from agent_tui.conversation.events import QueueChangedEvent, QueueEntry
from tests.tui.conftest import Drive, Driven


async def two_items(d: Driven) -> tuple[str, str]:
    d.conv.set_status("tools")
    steer = d.conv.queue_item("steer", "don't touch db.py", "after 2 running tools")
    later = d.conv.queue_item("follow_up", "then write a changelog")
    await d.shows("then write a changelog")
    return steer, later


async def test_each_message_has_its_kind_and_its_delivery_point(drive: Drive):
    async with drive(size=(120, 30)) as d:
        await two_items(d)
        lines = d.screen.splitlines()
        steer = next(line for line in lines if "db.py" in line)
        later = next(line for line in lines if "changelog" in line)
        assert "↳ steer" in steer and "after 2 running tools" in steer
        assert "⧗ follow-up" in later and "when the turn ends" in later


async def test_paused_items_are_marked_and_enter_on_an_empty_line_resumes(drive: Drive):
    async with drive() as d:
        await two_items(d)
        await d.press("escape")
        assert d.conv.called("abort") == [(True,)]
        d.conv.queue_changed()
        d.conv.set_status("ready")
        await d.shows("⏸")
        await d.press("enter")
        assert d.conv.called("submit") == [("",)] and d.conv.called("resume")


async def test_what_waits_and_what_goes_out_are_told_apart_also_where_narrow(drive: Drive):
    async with drive(size=(40, 24)) as d:
        d.conv.entries = [
            QueueEntry("a", "steer", "typed before the stop", "paused", "paused: Enter resumes"),
            QueueEntry("b", "follow_up", "this one too", "paused", "paused: Enter resumes"),
            QueueEntry("c", "steer", "typed later", "queued", "after this answer"),
        ]
        d.conv.emit(QueueChangedEvent(list(d.conv.entries), True))
        await d.shows("typed later")
        one, two, three = (line for line in d.screen.splitlines() if line[1:2] in "⏸↳" and line)
        assert one.startswith(" ⏸ steer typed") and "paused" in one
        assert two.startswith(" ⏸ follow-up ") and "paused" in two
        assert three.startswith(" ↳ typed later") and "after this answer" in three


async def test_a_pause_that_no_line_shows_is_said(drive: Drive):
    async with drive() as d:
        for at in range(9):
            d.conv.queue_item("follow_up", f"message {at}")
        d.conv.queue_pause()
        await d.shows("+4 more, some paused")


async def test_more_than_six_lines_are_counted(drive: Drive):
    async with drive() as d:
        for at in range(9):
            d.conv.queue_item("follow_up", f"message {at}")
        await d.shows("+4 more")
        assert d.app.queue_view.size.height == 6


async def test_alt_up_edits_the_last_one_in_place(drive: Drive):
    """Fault B16: no second copy."""
    async with drive() as d:
        await d.type("my draft")
        _, later = await two_items(d)
        await d.press("alt+up")
        assert d.draft == "then write a changelog" and d.conv.locked == {later}
        await d.type(" entry")
        await d.press("enter")
        assert d.conv.called("edit") == [(later, "then write a changelog entry")]
        assert len(d.conv.entries) == 2 and d.conv.called("submit") == []
        assert d.draft == "my draft", "the draft comes back"


async def test_escape_leaves_the_message_as_it_was(drive: Drive):
    async with drive() as d:
        _, later = await two_items(d)
        await d.press("alt+up")
        await d.type("!!!")
        await d.press("escape")
        assert d.conv.called("unlock") == [(later,)] and d.conv.called("edit") == []
        assert d.conv.called("abort") == [], "the first Esc only leaves the edit"
        assert d.draft == ""


async def test_an_edit_that_comes_too_late_loses_nothing(drive: Drive):
    async with drive() as d:
        await two_items(d)
        await d.press("alt+up")
        d.conv.entries.clear()
        await d.type(" new")
        await d.press("enter")
        await d.shows("already gone out")
        await d.press("up")
        assert d.draft == "then write a changelog new"


async def test_emptying_a_message_withdraws_it(drive: Drive):
    async with drive() as d:
        _, later = await two_items(d)
        await d.press("alt+up")
        d.app.composer.load("")
        await d.press("enter")
        assert d.conv.called("remove") == [(later,)]


async def test_the_keys_of_the_queue(drive: Drive):
    async with drive() as d:
        steer, later = await two_items(d)
        await d.press("f3")
        assert d.app.queue_view.has_focus
        await d.press("p", "m", "shift+up", "s", "space")
        assert d.conv.called("promote") == [(later,)]
        assert d.conv.called("demote") == [(later,)]
        assert d.conv.called("move") == [(later, 0)]
        assert d.conv.called("send_now") and d.conv.called("pause")
        await d.press("up", "d")
        assert d.conv.called("remove") == [(steer,)]
        assert d.app.composer.past.entries == ["don't touch db.py"], "Up brings it back"
        await d.press("enter")
        assert d.conv.called("lock") == [(later,)] and d.app.composer.has_focus


async def test_escape_goes_back_to_the_composer_and_stops_nothing(drive: Drive):
    async with drive() as d:
        await two_items(d)
        await d.press("f3", "escape")
        assert d.app.composer.has_focus and d.conv.called("abort") == []


async def test_when_the_last_message_goes_the_focus_returns(drive: Drive):
    async with drive() as d:
        await two_items(d)
        await d.press("f3")
        d.conv.entries.clear()
        d.conv.queue_changed()
        await d.until(lambda: d.app.composer.has_focus)
        assert d.app.queue_view.display is False


async def test_an_escape_on_its_way_back_from_an_emptied_queue_stops_nothing(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        d.conv.queue_item("steer", "the only one")
        await d.press("f3", "d")
        await d.until(lambda: d.app.composer.has_focus)
        await d.press("escape")
        assert d.conv.called("abort") == []
        await d.press("escape")
        assert d.conv.called("abort") == [(True,)], "the next one is meant"


@pytest.mark.parametrize("between", ["a moment", "a key"])
async def test_later_escape_stops_again(drive: Drive, between: str):
    async with drive() as d:
        d.conv.set_status("tools")
        d.conv.queue_item("steer", "the only one")
        await d.press("f3", "d")
        await d.until(lambda: d.app.composer.has_focus)
        if between == "a key":
            await d.type("x")
        else:
            d.clock.pass_(1.1)
        await d.press("escape")
        assert d.conv.called("abort") == [(True,)]


async def test_foreign_text_in_the_queue_is_one_safe_line(drive: Drive):
    async with drive() as d:
        d.conv.entries = [
            QueueEntry("q", "steer", "a\nb [/x]\x1b[31m" + "z" * 100_000, "queued", "soon[/]")
        ]
        d.conv.queue_changed()
        await d.shows("a b [/x]␛[31m")
        assert d.app.queue_view.size.height == 1


async def test_the_message_queued_last_is_the_one_chosen(drive: Drive):
    async with drive() as d:
        steer, later = await two_items(d)
        first = d.conv.queue_item("follow_up", "and a release")
        await d.shows("and a release")
        await d.press("f3", "d")
        assert d.conv.called("remove") == [(first,)]
        d.conv.queue_item("steer", "not the tests either")
        await d.shows("not the tests")
        await d.press("m")
        assert d.conv.called("demote") == [(later,)], "what comes meanwhile moves no choice"
        assert steer != later


async def test_what_was_withdrawn_is_named(drive: Drive):
    async with drive(size=(120, 30)) as d:
        await two_items(d)
        await d.press("f3", "d")
        await d.shows('Withdrawn: "then write a changelog". Up')


async def test_fifty_messages_take_six_lines_and_each_can_be_reached(drive: Drive):
    async with drive(size=(100, 30)) as d:
        for at in range(50):
            d.conv.queue_item("follow_up", f"message {at} about @shot-{at}.png")
        await d.shows("+45 more")
        assert d.app.queue_view.size.height == 6
        await d.press("f3")
        await d.shows("message 49 about @shot-49.png")
        await d.press(*["up"] * 49)
        await d.shows("message 0 about @shot-0.png")
        assert d.app.queue_view.size.height == 6
        await d.press("d")
        assert d.app.composer.past.entries == ["message 0 about @shot-0.png"]


async def test_an_edit_that_names_what_cannot_be_sent_loses_nothing(drive: Drive):
    async with drive() as d:
        _, later = await two_items(d)

        async def refuse(item_id: str, text: str) -> None:
            raise ValueError("@x was not sent: a directory of devices")

        d.conv.queue_edit = refuse  # pyright: ignore[reportAttributeAccessIssue]
        await d.press("alt+up")
        await d.type(" @x")
        await d.press("enter")
        await d.shows("@x was not sent")
        assert d.conv.called("unlock") == [(later,)], "it waits as it was"
        assert d.app.composer.past.entries[-1] == "then write a changelog @x"


async def test_what_goes_out_next_is_said(drive: Drive):
    async with drive() as d:
        await two_items(d)
        await d.press("f3", "s")
        await d.shows("Goes out next")
        assert "before any further call: don't touch db.py" in d.screen


async def test_send_now_says_why_nothing_goes_out(drive: Drive, monkeypatch):
    async with drive() as d:
        steer, _ = await two_items(d)
        monkeypatch.setattr(d.conv, "send_now", lambda: False)
        await d.press("f3", "s")
        await d.shows("The queue is paused")
        d.conv.queue_remove(steer)
        await d.settle()
        await d.press("s")
        await d.shows("No steering waits")
