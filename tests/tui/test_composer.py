"""Keys of the composer → what is asked of the conversation, and what stays in the draft."""

import pytest

from agent_tui.conversation.results import CommandResult
from agent_tui.tui.completion import needs_argument
from tests.tui.conftest import Drive


async def test_enter_sends_when_idle_and_steers_while_running(drive: Drive):
    async with drive() as d:
        await d.type("hello there")
        await d.press("enter")
        assert d.conv.calls == [("submit", "hello there")]
        assert d.draft == ""
        d.conv.set_status("tools")
        await d.type("also this")
        await d.press("enter")
        assert d.conv.entries[0].kind == "steer"


async def test_tab_queues_a_follow_up_while_running_and_does_nothing_when_idle(drive: Drive):
    async with drive() as d:
        await d.type("later")
        await d.press("tab")
        assert d.conv.calls == [] and d.draft == "later"
        d.conv.set_status("streaming")
        await d.press("tab")
        assert d.conv.calls == [("follow_up", "later")] and d.draft == ""
        await d.type("x")
        await d.press("alt+enter")
        assert d.conv.called("follow_up")[-1] == ("x",)


async def test_keys_typed_faster_than_they_are_handled_keep_their_order(drive: Drive):
    async with drive() as d:
        await d.burst("write a long answer", "enter", "next", "ctrl+j", "line")
        assert d.conv.called("submit") == [("write a long answer",)]
        assert d.draft == "next\nline"
        await d.burst("e", "backspace", "backspace", "xy", "left", "z", "tab")
        assert d.conv.called("follow_up") == [("next\nlinxzy",)]
        await d.burst("abc", "ctrl+c", "d")
        assert d.draft == "abcd", "while the agent runs Ctrl+C stops and keeps the draft"
        assert d.conv.called("abort") == [(True,)]
        d.conv.set_status("ready")
        await d.burst("e", "ctrl+c", "f")
        assert d.draft == "f"


async def test_ctrl_j_makes_a_line_and_enter_sends_them_all(drive: Drive):
    async with drive() as d:
        await d.type("a")
        await d.press("ctrl+j")
        await d.type("b")
        await d.press("shift+enter")
        await d.type("c")
        await d.press("enter")
        assert d.conv.calls == [("submit", "a\nb\nc")]


async def test_the_composer_grows_to_eight_lines_and_no_further(drive: Drive):
    async with drive() as d:
        for _ in range(4):
            await d.press("ctrl+j")
        assert d.app.composer.size.height == 5
        for _ in range(10):
            await d.press("ctrl+j")
        assert d.app.composer.size.height == 8


async def test_a_paste_of_ten_thousand_lines_is_held_whole_and_not_sent(drive: Drive):
    async with drive() as d:
        text = "\r".join(f"line {i}" for i in range(10_000))
        await d.type("see ")
        await d.paste(text)
        await d.shows("[pasted 10,000 lines]")
        assert d.conv.calls == []
        await d.press("enter")
        assert d.conv.calls == [("submit", "see " + text.replace("\r", "\n"))]


async def test_a_line_of_400000_characters_stays_out_of_the_text_area(drive: Drive):
    """Fault D11: Textual's text area wraps it anew at each key, which takes seconds."""
    async with drive() as d:
        await d.paste("x" * 400_000)
        await d.type("y")
        assert len(d.app.composer.text) < 100
        assert d.draft == "x" * 400_000 + "y"


async def test_backspace_takes_a_placeholder_whole(drive: Drive):
    async with drive() as d:
        await d.type("a")
        await d.paste("\n" * 100)
        await d.press("backspace")
        assert d.draft == "a"


async def test_a_pasted_escape_is_shown_and_not_obeyed(drive: Drive):
    async with drive() as d:
        await d.paste("x\x1b]2;PWNED\x07y")
        assert "\x1b" not in d.app.composer.text
        await d.shows("␛]2;PWNED")


async def test_up_and_down_walk_the_history_at_the_edges_only(drive: Drive):
    async with drive() as d:
        for text in ("one", "two"):
            await d.type(text)
            await d.press("enter")
        await d.type("draft")
        await d.press("up")
        assert d.draft == "two"
        await d.press("up")
        assert d.draft == "one"
        await d.press("down", "down")
        assert d.draft == "draft"
        await d.press("ctrl+j")
        await d.type("second")
        await d.press("up")
        assert d.draft == "draft\nsecond", "inside a text Up moves the cursor"


async def test_a_draft_that_waits_behind_the_history_is_not_lost(drive: Drive):
    async with drive() as d:
        for text in ("one", "two"):
            await d.type(text)
            await d.press("enter")
        await d.type("my draft")
        await d.press("up", "enter")
        assert d.conv.called("submit")[-1] == ("two",) and d.draft == "my draft"
        await d.press("up", "backspace", "down")
        assert d.draft == "tw", "what is changed is the draft now"
        d.conv.set_status("ready")
        await d.press("ctrl+c", "up", "up")
        assert d.draft == "my draft", "and that before it is in the history"
        await d.press("down", "down")
        await d.type("mine")
        await d.press("up", "ctrl+s")
        assert d.draft == "mine"


async def test_ctrl_r_searches_and_escape_brings_the_draft_back(drive: Drive):
    async with drive() as d:
        for text in ("fix the cart", "run the tests"):
            await d.type(text)
            await d.press("enter")
        await d.press("ctrl+r")
        await d.type("cart")
        await d.shows("fix the cart")
        await d.press("enter")
        assert d.draft == "fix the cart"
        assert len(d.conv.calls) == 2, "choosing does not send"
        await d.press("ctrl+r")
        await d.press("escape")
        assert d.draft == "fix the cart"


async def test_the_list_of_commands_opens_filters_and_completes(drive: Drive):
    async with drive() as d:
        await d.type("/")
        await d.shows("begin a new conversation")
        await d.type("mo")
        await d.shows("/model [NAME]")
        assert "/clear" not in d.screen
        await d.press("tab")
        assert d.draft == "/model "
        await d.press("escape")
        assert "/model [NAME]" not in d.screen
        assert d.draft == "/model "
        assert d.conv.calls == []


async def test_escape_closes_the_list_before_it_stops_anything(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await d.type("/")
        await d.press("escape")
        assert d.conv.called("abort") == []
        await d.press("escape")
        assert d.conv.called("abort") == [(True,)]


async def test_a_slash_command_acts_at_once_while_running(drive: Drive):
    """Fault B13: never text for the model."""
    conv_result = CommandResult(error="There is no command /exlt. Did you mean /exit?")
    async with drive() as d:
        d.conv.set_status("streaming")
        d.conv.command_results["exlt"] = conv_result
        await d.type("/exlt")
        await d.press("enter")
        await d.shows("Did you mean /exit?")
        assert d.conv.called("command") == [("/exlt",)]
        assert d.conv.entries == []
        assert d.draft == "/exlt"
        d.app.composer.clear_into_history()
        await d.type("/model x")
        await d.press("tab")  # also as a follow-up it is a command
        assert d.conv.called("command")[-1] == ("/model x",) and d.conv.entries == []


async def test_enter_right_behind_a_word_completes_what_is_typed_now(drive: Drive):
    async with drive() as d:
        await d.type("/m")
        await d.burst("x", "enter")
        assert d.conv.called("command") == [("/mx",)], "not the /model of the list before"
        await d.burst("/mod", "tab", "opus", "enter")
        assert d.conv.called("command")[-1] == ("/model opus",)


async def test_enter_takes_the_choice_that_was_moved_to_or_begun_and_sends_a_whole_command(
    drive: Drive,
):
    async with drive() as d:
        d.conv.argument_choices = [
            ("/help low", ""), ("/help lower", ""), ("/help max", ""), ("/help more ", ""),
            ("/help in/", ""), ("/help city=", ""), ("/model opus-5", ""),
        ]  # fmt: skip

        async def typed(*keys: str) -> tuple[str, str]:
            """What was sent, and the draft that is left."""
            before = len(d.conv.called("command"))
            d.app.composer.take_draft()
            await d.burst(*keys, "enter")
            await d.settle()
            return ", ".join(line for (line,) in d.conv.called("command")[before:]), d.draft

        assert await typed("/help ", "down") == ("/help lower", "")
        assert await typed("/help ", "up", "up") == ("", "/help in/"), "more is chosen in it"
        assert await typed("/help ma") == ("/help max", "")
        assert await typed("/help l") == ("/help low", ""), "the best of two"
        assert await typed("/help low") == ("/help low", ""), "typed in full"
        assert await typed("/help mo") == ("", "/help more "), "more is to be typed"
        assert await typed("/help ci") == ("", "/help city=")
        assert await typed("/help ") == ("/help ", ""), "nothing was chosen"
        assert await typed("/help zzz") == ("/help zzz", "")
        assert await typed("/model opus") == ("/model opus", ""), "any name is as good"
        assert await typed("/model o", "up") == ("/model opus-5", ""), "but that was moved to"
        assert await typed("/cle") == ("/clear ", ""), "a name that needs nothing behind it"
        assert await typed("/elp") == ("", "/help "), "what only holds it is put in to look at"


@pytest.mark.parametrize(
    ("usage", "needed"),
    [
        ("/quit", False),
        ("/model [NAME]", False),
        ("/settings [NAME [VALUE | unset]]", False),
        ("/fork N", True),
        ("/ev:args-prompt city=... [state=...]", True),
    ],
)
def test_a_command_needs_an_argument_where_one_stands_outside_of_brackets(usage: str, needed: bool):
    assert needs_argument(usage) is needed


async def test_a_command_that_failed_is_there_to_be_put_right(drive: Drive):
    async with drive() as d:
        d.conv.command_results["clear"] = CommandResult(error="The form is: /clear")
        d.conv.command_results["login"] = CommandResult(error="The form is: /login.")
        for line in ("/clear x", "/clear  y z"):
            await d.type(line)
            await d.press("enter")
            await d.until(lambda line=line: d.draft == line)
            assert not d.app.composer.completion.is_open
            await d.burst("ctrl+c")
            await d.until(lambda: d.draft == "")
            await d.press("up")
            assert d.draft == line, "it is history too"
            await d.burst("ctrl+c")
        await d.type("/clear x")
        await d.press("enter")
        await d.until(lambda: d.draft == "/clear x")
        await d.press("end")
        await d.type("y")
        assert d.draft == "/clear xy", "it can be gone on with"
        await d.burst("ctrl+c")
        await d.type("/clear x")
        await d.press("enter")
        await d.until(lambda: d.draft == "/clear x")
        await d.type("new")
        assert d.draft == "new", "who types on types something new"
        await d.burst("ctrl+c")
        await d.burst("/clear x", "enter", "typed on")
        await d.settle()
        assert d.draft == "typed on", "what is typed by then stays"
        await d.burst("ctrl+c")
        await d.type("/login sk-secret")
        await d.press("enter")
        await d.until(lambda: d.draft == "/login")
        await d.burst("ctrl+c")
        await d.type("/help")
        await d.press("enter")
        await d.press("escape")
        assert d.draft == "", "one that was right is gone"


async def test_quit_ends_the_app_and_closes_the_conversation(drive: Drive):
    async with drive() as d:
        await d.type("/quit")
        await d.press("enter")
        await d.until(lambda: d.app.return_code is not None)
        assert d.app.return_code == 0 and d.conv.closed


async def test_what_could_not_be_sent_comes_back(drive: Drive):
    async with drive() as d:
        d.conv.fail_with = RuntimeError("the disk is full")
        await d.type("precious")
        await d.press("enter")
        await d.shows("the disk is full")
        assert d.draft == "precious"


async def test_ctrl_c_clears_the_draft_into_history_and_two_on_an_empty_one_quit(drive: Drive):
    """Fault B20."""
    async with drive() as d:
        await d.type("long draft")
        await d.press("ctrl+c")
        assert d.draft == "" and d.app.return_code is None
        await d.press("up")
        assert d.draft == "long draft"
        await d.press("ctrl+c")
        await d.press("ctrl+c")
        await d.shows("Ctrl+C again quits")
        d.clock.pass_(0.1)
        await d.press("x", "backspace")
        d.clock.pass_(0.1)
        await d.press("ctrl+c")
        assert d.app.return_code is None, "typing disarms"
        d.clock.pass_(0.4)  # as fast as a hand is
        await d.press("ctrl+c")
        await d.until(lambda: d.app.return_code == 0)


async def test_ctrl_d_quits_on_an_empty_draft_and_deletes_in_a_text(drive: Drive):
    async with drive() as d:
        await d.type("ab")
        await d.press("home", "ctrl+d")
        assert d.draft == "b" and d.app.return_code is None
        await d.press("ctrl+d", "ctrl+d")
        await d.until(lambda: d.app.return_code == 0)


async def test_wide_characters_move_the_caret_by_cells(drive: Drive):
    """Fault D15: the terminal's own cursor stands at the caret, where an input method opens."""
    async with drive() as d:
        composer = d.app.composer
        start = composer.cursor_screen_offset.x
        await d.type("你好abc")
        assert composer.cursor_screen_offset.x == start + 7
        await d.press("left", "left", "left", "backspace")
        assert d.draft == "你abc"
        assert composer.cursor_screen_offset.x == start + 2
        assert d.app.cursor_position == composer.cursor_screen_offset


@pytest.mark.parametrize("text", ["[/x]", "see /tmp/[/bad]", "[data: /m?s=b-]", "[bold]x[/bold]"])
async def test_brackets_in_a_draft_are_brackets(drive: Drive, text: str):
    async with drive() as d:
        await d.type(text)
        await d.shows(text)


async def test_what_is_typed_elsewhere_comes_to_the_composer(drive: Drive):
    async with drive() as d:
        d.app.transcript.focus()
        await d.settle()
        await d.press("h", "i")
        assert d.draft == "hi"


async def test_the_last_line_says_who_sees_a_command_and_which_key_opens_a_paste(drive: Drive):
    def last(text: str) -> bool:
        return text in d.screen.splitlines()[-1]

    async with drive() as d:
        await d.type("!ls")
        await d.until(lambda: last("Enter run: the model sees it"))
        await d.press("home")
        await d.type("!")
        await d.until(lambda: last("Enter run: only you see it"))
        await d.press("home")
        await d.type("x")
        await d.until(lambda: last("Enter send"))
        await d.press("ctrl+c")
        await d.paste("\n".join(["pasted"] * 12))
        await d.until(lambda: last("F9 open"))
        folded = d.app.composer.text
        await d.type(" and")
        await d.press("home", "f9")
        await d.shows("Opened. Ctrl+_ folds it again.")
        assert "pasted\npasted" in d.app.composer.text
        await d.press("ctrl+underscore")
        assert d.app.composer.text == f"{folded} and"
