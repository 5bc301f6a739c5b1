"""Looks and words that were found wrong by hand in real terminals."""

import re

import pytest
from textual import events

from agent_tui.agent.events import (
    AgentEndEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    OpaqueEvent,
    TextDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.conversation.events import (
    PermissionRequestEvent,
    PermissionResolvedEvent,
    RetryEvent,
    UsageChangedEvent,
)
from agent_tui.tui.glyphs import ASCII, UNICODE
from agent_tui.tui.lines import fit, left_right
from agent_tui.tui.opener import Choosable
from tests.tui.conftest import Drive, Driven
from tests.tui.fake_conversation import FakeConversation
from tests.tui.test_panels import end, panel

LONG = "Overloaded (529, overloaded_error). The service asks to wait 5 s. " * 4


def status(d: Driven) -> str:
    return d.screen.splitlines()[-1]


@pytest.mark.parametrize("width", [40, 60, 100, 200])
async def test_a_long_reason_leaves_the_countdown_in_sight(drive: Drive, width: int):
    async with drive(size=(width, 24)) as d:
        d.conv.set_status("waiting")
        d.conv.emit(RetryEvent(2, 5.0, LONG))
        await d.until(lambda: d.app.query_one("#retry").region.height == 1)
        line = d.screen.splitlines()[d.app.query_one("#retry").region.y]
        assert "again in 5 s (try 3)" in line
        assert "Esc stop" in line or width == 40


async def test_the_transcript_says_of_a_retry_what_the_retry_line_says(drive: Drive):
    async with drive(size=(160, 24)) as d:
        d.conv.emit(RetryEvent(1, 4.6, "Overloaded. Request id: req_1."))
        await d.shows("! Overloaded. Request id: req_1; trying again in 5 s (try 2)")


async def test_a_focused_question_names_the_keys_that_work_now(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        d.conv.ask({"command": "ls"})
        await d.shows("F4 answer")
        await d.press("f4")
        await d.shows("F4 back")
        assert "steer" not in status(d) and "follow-up" not in status(d)
        assert "F4 r" not in d.screen
        await d.press("escape")
        await d.shows("F4 r no")


async def test_what_was_stopped_before_it_ran_took_no_time(drive: Drive):
    async with drive() as d:
        call = ToolCall(id="a", name="shell", arguments={"command": "ls"}, complete=True)
        d.conv.emit(MessageUpdateEvent("m", ToolCallStartEvent(0, call)))
        d.conv.emit(MessageUpdateEvent("m", ToolCallEndEvent(0, call)))
        d.conv.emit(end("a", is_error=True, text="Not run: the user stopped the run."))
        await d.until(lambda: any("⊘" in row for row in panel(d)))
        assert [row.split() for row in panel(d) if "⊘" in row] == [
            ["⊘", "shell", "ls", "not", "run"]
        ]


async def test_the_timeline_shows_the_call_that_runs_of_many_that_wait(drive: Drive):
    async with drive(size=(120, 24)) as d:
        for at in range(60):
            call = ToolCall(id=f"c{at}", name="shell", arguments={"command": f"cmd{at}"})
            d.conv.emit(MessageUpdateEvent("m", ToolCallStartEvent(at, call)))
            d.conv.emit(MessageUpdateEvent("m", ToolCallEndEvent(at, call)))
        for at in range(3):
            d.conv.emit(ToolExecutionStartEvent(f"c{at}", "shell", {"command": f"cmd{at}"}))
        await d.until(lambda: any(re.search(r"● shell +cmd2\b", row) for row in panel(d)))
        for at in range(2):
            d.conv.emit(end(f"c{at}"))
        for at in range(3, 40):
            d.conv.emit(ToolExecutionStartEvent(f"c{at}", "shell", {"command": f"cmd{at}"}))
            d.conv.emit(end(f"c{at}"))
        d.conv.emit(ToolExecutionStartEvent("c40", "shell", {"command": "cmd40"}))
        await d.until(lambda: any(re.search(r"● shell +cmd40\b", row) for row in panel(d)))


async def test_the_keys_of_a_long_choice_stay_in_sight(drive: Drive):
    async with drive(size=(60, 20)) as d:
        options = [Choosable(str(at), f"session {at}") for at in range(30)]
        d.app.run_worker(d.app.asker.choose("Go on in which?", "", options))
        await d.shows("Up Down Enter choose")
        d.clock.pass_(5)
        for _ in range(20):
            await d.press("down")
            d.clock.pass_(1)
        await d.shows("21  session 20")
        assert "Up Down Enter choose" in d.screen


async def test_a_narrow_status_names_the_demo_once(drive: Drive):
    conv = FakeConversation(demo=True)
    conv.model = "demo"
    async with drive(size=(60, 20), conv=conv) as d:
        await d.until(lambda: "demo" in status(d))
        assert status(d).count("demo") == 1


@pytest.mark.parametrize("size", [(120, 30), (60, 20), (40, 12)])
async def test_everything_of_ours_is_ascii_without_colour(
    drive: Drive, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
):
    monkeypatch.setenv("NO_COLOR", "1")
    async with drive(size=size) as d:
        d.conv.set_status("tools")
        words = "word " * 100
        d.conv.emit(ToolExecutionStartEvent("a", "a_tool_of_a_long_name" * 3, {"x": words}))
        d.conv.emit(UsageChangedEvent(1, 2, 3, 4, 0.042, 36_000, 200_000))
        d.conv.emit(RetryEvent(2, 5.0, LONG))
        d.conv.queue_item("steer", words, "after 2 running tools and much more " * 4)
        d.conv.ask({"command": words}, rule=words)
        await d.shows("wants to run")
        await d.type("/")
        await d.settle()
        assert d.screen.isascii(), {c for c in d.screen if ord(c) > 127}


async def test_the_welcome_is_ascii_too(drive: Drive, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with drive(conv=FakeConversation(demo=True)) as d:
        await d.shows("list the files . run ls")
        assert d.screen.isascii()


def test_what_is_cut_ends_in_the_twin_and_fits():
    from textual.content import Content

    for glyphs in (UNICODE, ASCII):
        for width in range(12):
            cut = fit("a long line of text", width, glyphs.ellipsis)
            assert len(cut) <= width
            assert width < 3 or cut.endswith(glyphs.ellipsis)
            line = left_right(
                Content("a long line of text"), Content("right"), width, ellipsis=glyphs.ellipsis
            )
            assert line.cell_length <= width


async def test_the_thin_rules_join_the_panels_edge(drive: Drive):
    async with drive(size=(120, 30)) as d:
        d.conv.queue_item("steer", "wait")
        await d.shows("wait")
        edge = d.app.query_one("#panel-edge").region.x

        def joints() -> dict[str, str]:
            lines = d.screen.splitlines()
            return {
                name: lines[d.app.query_one(f"#{name}").region.y][edge : edge + 1]
                for name in ("header-rule", "queue-rule", "composer-rule", "status-rule")
            }

        expected = {
            "header-rule": "┼", "queue-rule": "┤", "composer-rule": "┤", "status-rule": "┴"
        }  # fmt: skip
        await d.until(lambda: joints() == expected, "joined")
        for _ in range(3):
            await d.press("ctrl+j")  # the rules move
        await d.until(lambda: joints() == expected, "joined after a move")
        assert d.screen.splitlines()[5][edge] == "│"
        await d.press("f2")
        await d.until(lambda: set(d.screen.splitlines()[-2]) == {"─"}, "no joint without panel")


async def test_sending_shows_where_it_goes_and_a_steer_leaves_the_reader(drive: Drive):
    async with drive(size=(80, 20)) as d:
        d.app.transcript.add_markdown("\n\n".join(f"line {at}" for at in range(60)))
        await d.shows("line 59")
        await d.press("ctrl+home")
        await d.shows("line 0")
        d.conv.set_status("streaming")
        await d.type("a steer")
        await d.press("enter")
        assert "line 0" in d.screen and not d.app.transcript.following
        d.conv.set_status("ready")
        await d.type("a prompt")
        await d.press("enter")
        await d.shows("line 59")
        assert d.app.transcript.following
        await d.press("ctrl+home")
        d.conv.set_status("streaming")
        await d.type("/model")
        await d.press("enter")
        await d.shows("line 59")


async def test_a_search_that_finds_nothing_says_so(drive: Drive):
    async with drive() as d:
        await d.type("first message")
        await d.press("enter")
        await d.type("zzz")
        await d.press("ctrl+r")
        await d.shows("Nothing you sent holds that text")
        await d.press("escape")
        assert d.draft == "zzz"


async def test_a_call_that_may_run_does_not_count_while_another_asks(drive: Drive):
    """DESIGN: no parallel call executes before all are prepared."""
    async with drive(size=(120, 30)) as d:
        emit = d.conv.emit
        d.conv.set_status("tools")
        for at in range(3):
            emit(ToolExecutionStartEvent(f"c{at}", "shell", {"command": f"cmd{at}"}))
            emit(PermissionRequestEvent(f"r{at}", f"c{at}", "shell", {"command": f"cmd{at}"}))
            if at < 2:
                emit(PermissionResolvedEvent(f"r{at}", f"c{at}", "allow"))
        emit(ToolExecutionStartEvent("free", "read", {"path": "free"}))
        d.clock.pass_(50)
        d.app.view.tick()
        await d.until(lambda: any("asks you" in row for row in panel(d)))

        def words() -> list[list[str]]:
            return [row.split()[1:] for row in panel(d)[2:6]]

        assert words()[:3] == [
            ["shell", "cmd0", "ready"], ["shell", "cmd1", "ready"],
            ["shell", "cmd2", "asks", "you"],
        ]  # fmt: skip
        assert "50" not in d.screen
        emit(PermissionResolvedEvent("r2", "c2", "allow"))
        d.clock.pass_(2)
        d.app.view.tick()
        await d.until(lambda: words()[0] == ["shell", "cmd0", "2", "s"], "it counts from here")
        assert words()[1:3] == [["shell", "cmd1", "2", "s"], ["shell", "cmd2", "2", "s"]]
        assert "ready" not in d.screen


async def test_a_question_answered_before_it_is_drawn_breaks_nothing(drive: Drive):
    async with drive() as d:
        for _ in range(5):
            request = d.conv.ask({"command": "ls"})
            d.conv.resolve(request, "allow")
        await d.until(lambda: d.app.dialogs.current is None)
        d.conv.ask({"command": "the last"})
        await d.shows("the last")
        assert d.app.is_running


@pytest.mark.parametrize("width", [120, 60, 30])
async def test_the_help_page_keeps_its_columns(drive: Drive, width: int):
    async with drive(size=(width, 60)) as d:
        await d.press("f1")
        await d.shows("While you type")
        await d.until(lambda: "Empty:" in d.screen, "drawn")
        lines = d.screen.splitlines()
        start = next(at for at, line in enumerate(lines) if "While you type" in line)
        edge = lines[start].index("While")
        # Below a heading everything is indented: no row starts at the edge again.
        for line in lines[start + 1 : start + 8]:
            assert line[edge : edge + 2].strip() == "", line


async def test_while_a_retry_waits_nothing_streams(drive: Drive):
    async with drive(size=(120, 24)) as d:
        d.conv.set_status("streaming")
        for _ in range(20):
            d.conv.emit(MessageUpdateEvent("m", TextDeltaEvent(0, "word " * 10)))
            d.clock.pass_(0.2)
        d.app.view.tick()
        await d.shows("tok/s")
        d.conv.emit(RetryEvent(1, 5.0, "the connection broke", strikes="m"))
        d.app.view.tick()
        await d.until(lambda: status(d).startswith(" waiting"), "the word")
        assert "tok/s" not in status(d)
        d.conv.emit(MessageUpdateEvent("m2", TextDeltaEvent(0, "again")))
        d.app.view.tick()
        await d.until(lambda: status(d).startswith(" streaming"), "it streams again")


async def test_a_server_tool_without_a_result_ends_with_the_run(drive: Drive):
    async with drive(size=(120, 24)) as d:
        use = OpaqueContent(
            raw={
                "type": "server_tool_use",
                "id": "s1",
                "name": "web_search",
                "input": {"query": "x"},
            }
        )
        d.conv.emit(MessageStartEvent(AssistantMessage(id="m")))
        d.conv.emit(MessageUpdateEvent("m", OpaqueEvent(0, "start", use)))
        d.conv.emit(MessageUpdateEvent("m", OpaqueEvent(0, "end", use)))
        message = AssistantMessage(id="m", content=[use], stop_reason="end_turn")
        d.conv.emit(MessageEndEvent(message))
        await d.shows("● web search")
        d.conv.emit(AgentEndEvent([message]))
        await d.shows("⊘ web search")
        assert "● web search" not in d.screen


@pytest.mark.parametrize("size", [(100, 24), (20, 6), (12, 3)])
async def test_paging_in_the_palette_ends_nothing(drive: Drive, size: tuple[int, int]):
    async with drive(size=size) as d:
        for key in ("ctrl+p", "pagedown", "pageup"):
            d._send(events.Key(key, None))
        await d.settle()
        await d.press("escape")
        for _ in range(2):
            await d.press("ctrl+p")
            for key in ("pagedown", "pageup", "home", "end", "up", "down"):
                await d.press(key)
            await d.press("escape")
        d.app.action_change_theme()
        await d.settle()
        for key in ("pagedown", "pageup", "z", "pagedown", "escape", "escape"):
            await d.press(key)
        await d.until(lambda: d.app.composer.has_focus)
        await d.type("still here")
        assert "still here" in d.draft


async def test_enter_sends_what_an_earlier_session_left_queued(drive: Drive):
    async with drive() as d:
        d.conv.queue_item("follow_up", "from yesterday", "after the next prompt")
        await d.shows("Enter resume")
        await d.press("enter")
        assert ("resume",) in d.conv.calls
        d.conv.set_status("streaming")
        d.conv.calls.clear()
        await d.press("enter")
        assert ("resume",) not in d.conv.calls


async def test_a_stored_message_whose_delivery_is_not_known_claims_none(drive: Drive):
    async with drive() as d:
        d.app.transcript.load([UserMessage(content=[TextContent(text="hurry")], queue_item_id="q")])
        await d.shows("❯ hurry")


async def test_an_error_of_a_tool_breaks_between_words(drive: Drive):
    async with drive(size=(60, 20)) as d:
        d.conv.emit(ToolExecutionStartEvent("a", "read", {"path": "x"}))
        words = " ".join(f"wordnumber{at}" for at in range(20))
        result = ToolResultMessage(
            tool_call_id="a", content=[TextContent(text=words)], is_error=True
        )
        d.conv.emit(ToolExecutionEndEvent("a", "read", result, True, 12))
        await d.press("ctrl+o")
        await d.shows("wordnumber19")
        for line in d.screen.splitlines()[3:12]:
            assert all(word in words.split() for word in line.split() if word.startswith("word"))
