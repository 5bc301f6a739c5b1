"""Faults B23 and B24: a question takes no key meant for the draft, and shows all that will run."""

import asyncio

import pytest

from agent_tui.conversation.events import PermissionDelayedEvent, PermissionRequestEvent
from agent_tui.tui.screens.approval import ApprovalDialog
from agent_tui.tui.screens.inline import HOLD_S
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
        assert "F4 r no, with a reason" in d.screen
        assert "F4 a always for shell:" in d.screen


@pytest.mark.parametrize(
    ("tool", "server", "arguments", "shown"),
    [
        ("shell", "", {"command": "ls"}, "ls"),
        ("read", "", {"path": "a.py"}, "a.py"),
        ("shell", "", {"timeout": "5"}, "timeout: 5"),
        ("mcp__db__drop", "db", {"table": "users"}, "table: users"),
        ("shell", "far", {"command": "ls"}, "command: ls"),
        ("query_db", "", {"sql": "a\nb"}, "sql:\n  a\n  b"),
        ("mcp__db__drop", "db", {"table": "a", "force": True}, "table: a\nforce: true"),
    ],
)
def test_an_argument_is_shown_with_its_name_but_a_command_or_a_path_of_our_own(
    tool: str, server: str, arguments: dict[str, object], shown: str
):
    request = PermissionRequestEvent("r", "c", tool, arguments, server=server, server_tool=tool)
    assert ApprovalDialog(request).full_text == shown


async def test_y_answers_after_the_grace_time_on_an_empty_draft(drive: Drive):
    async with drive() as d:
        request = await asked(d)
        d.clock.pass_(GRACE + 0.1)
        await d.press("y")
        assert answers(d) == []
        await d.until(lambda: answers(d) == [(request, "allow", "")])
        await d.until(lambda: "wants to run" not in d.screen)
        assert d.draft == ""


async def test_a_text_that_begins_with_an_answer_is_text(drive: Drive):
    texts = ["yes, but not on main", "no, wait", "yy", "n n"]
    async with drive() as d:
        d.conv.set_status("tools")
        await asked(d)
        for text in texts:
            d.clock.pass_(5)
            await d.burst(text, "enter")
        for text in texts:
            d.clock.pass_(5)
            for character in text:
                await d.type(character)
            await d.press("enter")
        assert d.conv.called("submit") == [(text,) for text in [*texts, *texts]]
        await asyncio.sleep(HOLD_S + 0.1)  # that nothing comes can only be waited for
        assert answers(d) == []


@pytest.mark.parametrize(
    ("text", "decision"),
    [("y", "allow"), ("Yes", "allow"), ("y.", "allow"), ("NO", "deny"), ("n", "deny")],
)
@pytest.mark.parametrize("send", ["enter", "tab"])
async def test_a_bare_yes_or_no_that_is_sent_is_the_answer(
    drive: Drive, text: str, decision: str, send: str
):
    async with drive() as d:
        d.conv.set_status("tools")
        request = await asked(d)
        d.clock.pass_(5)
        await d.burst(text, send)
        await d.until(lambda: answers(d) == [(request, decision, "")])
        assert d.conv.called("submit") == d.conv.called("follow_up") == [] and d.draft == ""


async def test_a_yes_on_its_way_when_the_question_comes_answers_nothing(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await d.type("yes")
        await asked(d)
        await d.press("enter")
        await d.shows("A question has just come")
        assert answers(d) == [] and d.conv.called("submit") == [] and d.draft == "yes"
        d.clock.pass_(1)
        await d.press("enter")
        await d.until(lambda: len(answers(d)) == 1)


async def test_a_yes_without_a_question_is_a_message(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await d.type("yes")
        await d.press("enter")
        assert d.conv.called("submit") == [("yes",)]


async def test_a_long_command_is_not_approved_by_a_yes_either(drive: Drive):
    async with drive() as d:
        await asked(d, command="\n".join(f"echo {i}" for i in range(40)))
        d.clock.pass_(5)
        await d.burst("yes", "enter")
        await d.shows("It is longer than what is shown")
        assert answers(d) == [] and d.conv.called("submit") == []


def test_an_answer_is_held_longer_than_a_slow_hand_needs_for_the_next_letter():
    assert HOLD_S >= 0.6


async def test_the_held_answer_is_seen_and_can_be_taken_back(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await asked(d)
        d.clock.pass_(5)
        await d.press("y")
        assert "with another key it is text" in d.screen
        await d.press("escape")
        await d.shows("nothing was answered")
        assert "y once" in d.screen
        assert d.draft == "" and d.conv.called("abort") == [], "Esc was for the answer"
        await asyncio.sleep(HOLD_S + 0.1)
        assert answers(d) == []


async def test_a_paste_behind_a_held_answer_makes_it_text(drive: Drive):
    async with drive() as d:
        await asked(d)
        d.clock.pass_(5)
        await d.press("y")
        await d.paste("es please")
        assert d.draft == "yes please"
        await asyncio.sleep(HOLD_S + 0.1)
        assert answers(d) == []


async def test_a_question_that_goes_while_an_answer_is_held_leaves_the_text(drive: Drive):
    async with drive() as d:
        request = await asked(d)
        d.clock.pass_(5)
        await d.press("y")
        d.conv.resolve(request, "withdrawn")
        await d.until(lambda: "wants to run" not in d.screen)
        await d.until(lambda: d.draft == "y")
        assert answers(d) == []


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
        await d.shows("longer than what is shown")
        assert answers(d) == []
        await d.press("f4", "end")
        await d.shows("rm -rf x")
        await d.press("y")
        assert answers(d) == [(request, "allow", "")]


@pytest.mark.parametrize("size", [(80, 24), (30, 9)])
@pytest.mark.parametrize("unit", ["word ", "\u6f22", "line\n"])
async def test_a_very_long_command_is_scrolled_to_its_end(
    drive: Drive, size: tuple[int, int], unit: str
):
    async with drive(size=size) as d:
        await asked(d, command="first " + unit * (50_000 // len(unit)) + " THE-END")
        await d.press("f4", "end")
        await d.shows("THE-END")
        await d.press("home")
        await d.shows("first")


async def test_what_the_box_cannot_hold_is_read_before_it_is_allowed(drive: Drive, monkeypatch):
    read: list[str] = []

    async def visit(app: object, text: str) -> str:
        read.append(text)
        return text

    monkeypatch.setattr("agent_tui.tui.external_editor.visit_editor", visit)
    command = "echo " + "x" * 70_000 + " THE-END"
    async with drive() as d:
        request = await asked(d, command=command)
        await d.press("f4", "end")
        await d.shows("to read all")
        await d.press("y")
        await d.shows("longer than the box can hold")
        assert answers(d) == []
        await d.press("o")
        await d.until(lambda: read == [command])
        await d.press("y")
        assert answers(d) == [(request, "allow", "")]


async def test_an_edit_is_asked_with_its_diff(drive: Drive):
    diff = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return \x1b[2K2\n"
    async with drive() as d:
        d.conv.ask(
            {"path": "a.py", "edits": [{"old": "1", "new": "2"}]}, tool="edit", diff=diff,
            note="It is a link to /etc/passwd.",
        )  # fmt: skip
        await d.shows("wants to run")
        for text in (
            "a.py",
            "@@ -1,2 +1,2 @@",
            "-    return 1",
            "+    return \u241b[2K2",
            "link to",
        ):
            assert text in d.screen
        assert '"old"' not in d.screen and "+++" not in d.screen
        looks = {
            segment.text.strip(): str(segment.style)
            for strip in d.app.screen._compositor.render_strips()
            for segment in strip
        }
        assert looks["-    return 1"] != looks["+    return \u241b[2K2"] != looks["def f():"]


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


# --- asked by a program -------------------------------------------------------------------


async def test_it_says_which_program_asks_and_when_that_gives_up(drive: Drive):
    async with drive() as d:
        caller = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}
        arguments = {"command": "make test"}
        d.conv.open_requests.add("r1")
        d.conv.emit(PermissionRequestEvent("r1", "c1", "shell", arguments, caller, "", 2))
        await d.shows("asked by program 2")
        assert "gives up" not in d.screen
        d.conv.emit(PermissionDelayedEvent("r1", "c1", 150.0, 240.0))
        await d.shows("the program gives up in about 1:30")
        d.clock.pass_(30)
        await d.shows("the program gives up in about 1:00")
        d.clock.pass_(61)
        await d.shows("the program has probably given up")
        await d.press("y")
        await d.until(lambda: answers(d) == [("r1", "allow", "")], "it can still be answered")
