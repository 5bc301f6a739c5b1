"""Faults B23 and B24: a question takes no key meant for the draft, and shows all that will run."""

import pytest

from tests.tui.conftest import Drive, Driven

GRACE = 0.7


async def asked(d: Driven, **arguments: object) -> str:
    request = d.conv.ask(arguments or {"command": "git push --force"}, rule="shell: git push")
    await d.shows("wants to run")
    return request


def answers(d: Driven) -> list[tuple[str, ...]]:
    return d.conv.called("answer")


async def test_it_shows_what_will_run_and_the_answers(drive: Drive):
    async with drive() as d:
        await asked(d, command="git push --force origin main")
        assert "shell wants to run" in d.screen
        assert "git push --force origin main" in d.screen
        assert "a always for shell:" in d.screen


async def test_y_answers_after_the_grace_time_on_an_empty_draft(drive: Drive):
    async with drive() as d:
        request = await asked(d)
        d.clock.pass_(GRACE + 0.1)
        await d.press("y")
        assert answers(d) == [(request, "allow", "")]
        await d.until(lambda: "wants to run" not in d.screen)
        assert d.draft == ""


async def test_keys_on_their_way_when_it_opens_go_to_the_draft(drive: Drive):
    async with drive() as d:
        await d.type("es")
        d.clock.pass_(5)
        await asked(d)
        await d.type("y")
        assert answers(d) == [] and d.draft == "esy"
        await d.press("enter")
        assert answers(d) == [] and d.conv.called("submit") == [("esy",)]


async def test_typing_quickly_is_never_an_answer(drive: Drive):
    """ "yes please" typed as the dialog opens between two letters, with Enter at the end."""
    async with drive() as d:
        await asked(d)
        for character in "yes please":
            d.clock.pass_(0.1)
            await d.type(character)
        d.clock.pass_(5)
        await d.press("enter")
        assert answers(d) == []
        assert d.conv.called("submit") == [("yes please",)]


async def test_a_draft_and_its_cursor_survive_the_question(drive: Drive):
    async with drive() as d:
        await d.type("three words here")
        await d.press("left", "left")
        place = d.app.composer.cursor_location
        request = await asked(d)
        d.clock.pass_(5)
        await d.press("n")
        d.conv.resolve(request, "allow")
        await d.until(lambda: "wants to run" not in d.screen)
        assert answers(d) == [] and d.draft == "three words henre"
        assert d.app.composer.cursor_location == (place[0], place[1] + 1)


async def test_always_and_reason_need_the_focus(drive: Drive):
    """A message may well begin with "a": it must not grant for ever."""
    async with drive() as d:
        await asked(d)
        d.clock.pass_(5)
        await d.press("a")
        assert answers(d) == [] and d.draft == "a"


async def test_with_the_focus_keys_act_at_once_also_with_a_draft(drive: Drive):
    async with drive() as d:
        await d.type("draft")
        request = await asked(d)
        await d.press("f4", "a")
        assert answers(d) == [(request, "allow_always", "")]
        await d.until(lambda: d.app.composer.has_focus)
        assert d.draft == "draft"


async def test_other_characters_go_back_to_the_composer(drive: Drive):
    async with drive() as d:
        await asked(d)
        await d.press("f4", "h")
        assert d.draft == "h" and d.app.composer.has_focus and answers(d) == []


async def test_no_with_a_reason(drive: Drive):
    async with drive() as d:
        await d.type("my draft")
        request = await asked(d)
        await d.press("f4", "r")
        await d.shows("why not?")
        await d.type("not on main")
        await d.press("enter")
        assert answers(d) == [(request, "deny", "not on main")]
        assert d.draft == "my draft"


async def test_escape_leaves_the_reason_and_the_question_stays(drive: Drive):
    async with drive() as d:
        await asked(d)
        await d.press("f4", "r")
        await d.type("hm")
        await d.press("escape")
        assert answers(d) == [] and d.draft == ""
        assert "wants to run" in d.screen


async def test_answered_elsewhere_it_closes_also_under_a_half_written_reason(drive: Drive):
    async with drive() as d:
        await d.type("draft")
        request = await asked(d)
        await d.press("f4", "r")
        await d.type("because")
        d.conv.resolve(request, "withdrawn")
        await d.until(lambda: "wants to run" not in d.screen)
        assert d.draft == "draft" and d.app.composer.errand is None


async def test_several_questions_queue_and_one_key_answers_one(drive: Drive):
    async with drive() as d:
        first = await asked(d, command="first thing")
        second = d.conv.ask({"command": "second thing"})
        await d.shows("1 of 2")
        await d.press("f4", "y")
        await d.shows("second thing")
        await d.press("y")
        assert answers(d) == [(first, "allow", "")], "the next one has its own grace time"
        d.clock.pass_(GRACE + 0.1)
        await d.press("y")
        assert answers(d) == [(first, "allow", ""), (second, "allow", "")]


async def test_a_long_command_is_not_approved_unseen(drive: Drive):
    async with drive() as d:
        request = await asked(d, command="\n".join(f"echo {i}" for i in range(40)) + "\nrm -rf x")
        d.clock.pass_(5)
        await d.press("y")
        assert answers(d) == []
        await d.shows("longer than what is shown")
        await d.press("f4", "end")
        await d.shows("rm -rf x")
        await d.press("y")
        assert answers(d) == [(request, "allow", "")]


async def test_every_argument_is_shown(drive: Drive):
    async with drive() as d:
        await asked(d, path="shop/cart.py", content="a\nb", mode={"x": 1})
        await d.press("f4")
        for text in ("path: shop/cart.py", "content:", "mode:", '"x": 1'):
            assert text in d.screen


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ("ls \x1b[2K\x1b[1A; rm x", "␛[2K␛[1A; rm x"),
        ("ls \u202eevil", "‹U+202E›evil"),
        ("ls\r rm", "ls␍ rm"),
        ("echo [/x] [bold]", "echo [/x] [bold]"),
    ],
)
async def test_hidden_characters_are_visible(drive: Drive, hidden: str, seen: str):
    async with drive() as d:
        await asked(d, command=hidden)
        assert seen in d.screen


async def test_escape_in_the_question_gives_the_keys_back_and_stops_nothing(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await asked(d)
        await d.press("f4", "escape")
        assert d.app.composer.has_focus and d.conv.called("abort") == []


async def test_an_answer_that_comes_too_late_says_so(drive: Drive):
    async with drive() as d:
        request = await asked(d)
        d.conv.open_requests.clear()
        await d.press("f4", "y")
        await d.shows("no longer waits")
        d.conv.resolve(request, "withdrawn")
        await d.until(lambda: "wants to run" not in d.screen)
