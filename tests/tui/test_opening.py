"""From the first paint to the conversation: typing at once, choices, failures, /login."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui.agent.messages import AssistantMessage, TextContent, UserMessage
from agent_tui.conversation.events import QueueEntry
from agent_tui.conversation.results import CommandResult
from tests.tui.conftest import Drive, Driven
from tests.tui.fake_conversation import FakeConversation

OPTIONS = [
    SimpleNamespace(key="0", label="Ollama on port 11434"),
    SimpleNamespace(key="key", label="enter a key"),
    SimpleNamespace(key="demo", label="the demo: scripted replies, no model"),
]


async def test_what_is_typed_before_there_is_a_conversation_is_sent_then_in_order(drive: Drive):
    conv, ready = FakeConversation(), asyncio.Event()

    async def starter(asker: Any) -> Any:
        await ready.wait()
        return conv

    async with drive(conv=conv, starter=starter, first_prompt="from the command line") as d:
        await d.shows("starting")
        await d.type("typed early")
        await d.press("enter")
        await d.shows("when the model is there")
        assert conv.calls == []
        ready.set()
        await d.until(lambda: len(conv.called("submit")) == 2)
        assert conv.called("submit") == [("from the command line",), ("typed early",)]


async def test_alt_up_takes_back_what_waits(drive: Drive):
    async def starter(asker: Any) -> Any:
        await asyncio.Event().wait()

    async with drive(starter=starter) as d:
        await d.type("too early")
        await d.press("enter")
        await d.shows("when the model is there")
        await d.press("alt+up")
        assert d.draft == "too early" and d.app.desk.held == []


async def test_a_start_that_fails_says_why_keeps_the_text_and_can_be_tried_again(drive: Drive):
    conv = FakeConversation()
    tries: list[int] = []

    async def starter(asker: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("The key in ANTHROPIC_API_KEY is empty: set it or unset it.")
        return conv

    async with drive(conv=conv, starter=starter, first_prompt="hello") as d:
        await d.shows("The key in ANTHROPIC_API_KEY is empty")
        assert d.draft == "hello"
        await d.press("enter")
        await d.until(lambda: conv.called("submit"))
        assert conv.called("submit") == [("hello",)] and len(tries) == 2


async def test_the_choice_takes_digits_after_the_grace_time(drive: Drive):
    chosen: list[str] = []
    conv = FakeConversation(demo=True)

    async def starter(asker: Any) -> Any:
        chosen.append(await asker.choose("No key found", "What shall answer?", OPTIONS))
        return conv

    async with drive(conv=conv, starter=starter) as d:
        await d.shows("Ollama on port 11434")
        await d.press("3")
        assert chosen == [] and d.draft == "3", "a key on its way belongs to the draft"
        await d.press("backspace")
        d.clock.pass_(1)
        await d.press("3")
        await d.until(lambda: chosen)
        assert chosen == ["demo"]
        await d.shows("demo: scripted replies, no model")
        assert "What shall answer?" not in d.screen


async def test_the_choice_takes_arrows_and_enter(drive: Drive):
    chosen: list[str] = []

    async def starter(asker: Any) -> Any:
        chosen.append(await asker.choose("No key found", "", OPTIONS))
        return FakeConversation()

    async with drive(starter=starter) as d:
        await d.shows("enter a key")
        d.clock.pass_(1)
        await d.burst("down", "down", "down", "down", "enter")
        await d.until(lambda: chosen)
        assert chosen == ["key"], "four down of three is the second"


async def test_a_secret_is_not_shown_and_in_no_history(drive: Drive):
    got: list[str | None] = []

    async def starter(asker: Any) -> Any:
        got.append(await asker.ask_secret("Enter a key", "It is kept in a private file."))
        return FakeConversation()

    async with drive(starter=starter) as d:
        await d.shows("Enter a key")
        await d.paste("sk-ant-secret-123")
        await d.settle()
        assert "sk-ant" not in d.screen
        await d.press("enter")
        await d.until(lambda: got)
        assert got == ["sk-ant-secret-123"]
        assert d.app.composer.past.entries == [] and "sk-ant" not in d.screen


async def test_a_secret_can_be_left(drive: Drive):
    got: list[str | None] = []

    async def starter(asker: Any) -> Any:
        got.append(await asker.ask_secret("Enter a key", ""))
        return FakeConversation()

    async with drive(starter=starter) as d:
        await d.shows("Enter a key")
        await d.type("abc")
        await d.press("escape")
        await d.until(lambda: got)
        assert got == [None]


async def test_login_stores_the_key_and_begins_a_new_conversation(drive: Drive, monkeypatch: Any):
    conversations = [FakeConversation(demo=True), FakeConversation()]
    made: list[FakeConversation] = []
    asked: list[str | None] = []

    async def starter(asker: Any) -> Any:
        made.append(conversations[len(made)])
        return made[-1]

    async def log_in(asker: Any) -> bool:
        asked.append(await asker.ask_secret("Enter a key", ""))
        return True

    opening = SimpleNamespace(log_in=log_in)
    monkeypatch.setattr("agent_tui.tui.opener.importlib.import_module", lambda name: opening)
    async with drive(starter=starter) as d:
        conversations[0].command_results["login"] = CommandResult(action="login")
        await d.shows("demo: scripted replies, no model")
        await d.type("/login")
        await d.press("enter")
        await d.shows("Enter a key")
        await d.type("sk-1")
        await d.press("enter")
        await d.until(lambda: len(made) == 2)
        assert asked == ["sk-1"] and conversations[0].closed
        await d.until(lambda: "demo: scripted" not in d.screen)
        await d.type("hi")
        await d.press("enter")
        assert conversations[1].called("submit") == [("hi",)]


@pytest.mark.parametrize(("keeps", "wanted"), [(True, [("/resume abc",)]), (False, [])])
async def test_after_login_the_same_session_goes_on(
    drive: Drive, monkeypatch: Any, keeps: bool, wanted: list[tuple[str]]
):
    """Unless nothing is kept of it: then there is nothing to go on with."""
    before = FakeConversation(messages=[UserMessage(content="said before")])
    before.session, before.keeps = SimpleNamespace(id="abc", path=None), keeps
    before.command_results["login"] = CommandResult(action="login")
    conversations = [before, FakeConversation()]
    made: list[FakeConversation] = []

    async def starter(asker: Any) -> Any:
        made.append(conversations[len(made)])
        return made[-1]

    async def log_in(asker: Any) -> bool:
        return True

    opening = SimpleNamespace(log_in=log_in)
    monkeypatch.setattr("agent_tui.tui.opener.importlib.import_module", lambda name: opening)
    async with drive(starter=starter) as d:
        await d.shows("said before")
        await d.type("/login")
        await d.press("enter")
        await d.until(lambda: before.closed and len(made) == 2)
        await d.until(lambda: d.app.desk.conversation is conversations[1])
        assert conversations[1].called("command") == wanted


async def test_a_resumed_conversation_is_shown_and_its_texts_are_in_the_history(drive: Drive):
    messages = [
        UserMessage(content="what did I ask"),
        AssistantMessage(content=[TextContent(text="this is the answer")]),
    ]
    async with drive(conv=FakeConversation(messages=messages)) as d:
        await d.shows("this is the answer")
        await d.press("up")
        assert d.draft == "what did I ask"


async def test_the_demo_is_named_all_the_time_also_when_narrow(drive: Drive):
    async with drive(conv=FakeConversation(demo=True), size=(60, 20)) as d:
        assert "demo: scripted replies, no model" in d.screen.splitlines()[0]
        await d.pilot.resize_terminal(40, 8)
        await d.settle()
        assert "demo" in d.screen.splitlines()[-1]


async def test_a_banner_is_shown_first(drive: Drive):
    async with drive(banner="Welcome, said the banner.") as d:
        await d.shows("Welcome, said the banner.")


async def test_another_session_is_picked_and_shown(drive: Drive):
    sessions = [
        {
            "id": f"s{at}",
            "first_prompt": f"prompt [/x] {at}",
            "prompts": f"{at} prompts",
            "age": "3 min ago",
        }
        for at in range(15)
    ]
    async with drive() as d:
        d.conv.command_results["resume"] = CommandResult(
            text="a list", action="resume_picker", data={"sessions": sessions}
        )
        d.app.transcript.add_markdown("what stood here before")
        await d.type("/resume")
        await d.press("enter")
        await d.shows("stay in this one")
        d.conv.messages = [UserMessage(content="of the other session")]
        d.conv.command_results["resume"] = CommandResult(action="reload", data={"session_id": "s9"})
        await d.press("f4", *["down"] * 10)
        await d.shows("prompt [/x] 9")
        await d.press("enter")
        await d.until(lambda: ("/resume s9",) in d.conv.called("command"))
        await d.shows("of the other session")
        assert "what stood here before" not in d.screen


async def pick(d: Driven, count: int = 2, prompt: str = "prompt") -> None:
    """/resume was sent, and its question stands."""
    sessions = [
        {
            "id": f"s{at}",
            "first_prompt": f"{prompt} {at}",
            "prompts": f"{at} prompts",
            "age": "1 h ago",
        }
        for at in range(count)
    ]
    d.conv.command_results["resume"] = CommandResult(
        text="a list", action="resume_picker", data={"sessions": sessions}
    )
    await d.type("/resume")
    await d.press("enter")
    await d.shows("stay in this one")


async def test_esc_closes_the_question_which_session_with_or_without_the_focus(drive: Drive):
    async with drive() as d:
        for keys in (["escape"], ["f4", "escape"]):
            await pick(d)
            await d.shows("Esc close")
            await d.press(*keys)
            await d.until(lambda: d.app.dialogs.current is None, "closed")
            assert d.app.composer.has_focus
        await pick(d)
        await d.type("a draft")
        await d.press("escape")
        await d.until(lambda: d.app.dialogs.current is None, "closed")
        assert d.draft == "a draft"
        assert all(call == ("/resume",) for call in d.conv.called("command"))


async def test_esc_stops_what_runs_before_it_closes_a_question(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await pick(d)
        await d.shows("Enter choose")
        assert "Esc stop" in d.screen.splitlines()[-1]
        await d.press("escape")
        assert d.conv.called("abort") and d.app.dialogs.current is not None
        await d.press("f4", "escape")
        await d.until(lambda: d.app.dialogs.current is None, "closed")


async def test_while_a_question_takes_enter_footer_and_queue_say_so(drive: Drive):
    conv = FakeConversation()
    conv.paused = True
    conv.entries = [QueueEntry("q", "steer", "left over", "paused", "paused: Enter resumes")]
    async with drive(conv=conv) as d:
        await d.shows("paused: Enter resumes")
        await pick(d)
        await d.shows("paused: answer first")
        await d.shows("Enter choose")
        footer = d.screen.splitlines()[-1]
        assert "Enter choose" in footer and "Esc close" in footer and "resume" not in footer
        await d.type("x")
        await d.shows("paused: Enter resumes")
        await d.shows("Enter send")
        await d.press("backspace")
        d.clock.pass_(1)
        await d.press("enter")
        await d.until(lambda: d.app.dialogs.current is None, "chosen")
        await d.shows("paused: Enter resumes")
        assert conv.called("submit") == [("/resume",)] and conv.paused


async def test_a_picker_that_was_asked_for_takes_the_first_enter(drive: Drive):
    async with drive() as d:
        await pick(d)
        await d.press("down", "enter")
        await d.until(lambda: ("/resume s0",) in d.conv.called("command"), "chosen at once")


async def test_a_question_in_a_small_terminal_says_how_much_is_below(drive: Drive):
    async with drive(size=(40, 12)) as d:
        await pick(d, 3)
        await d.shows("↓ 2 more")
        await d.press("f4", "down", "down", "down")
        await d.until(lambda: "more" not in d.screen, "all the way down")
        await d.shows("prompt 2")


async def test_the_option_selected_is_in_sight_where_labels_take_several_rows(drive: Drive):
    async with drive(size=(40, 12)) as d:
        await pick(d, 6, "please look at the tests of this repository")
        await d.press("f4")
        for at in range(2, 8):
            await d.press("down")
            await d.shows(f"❯ {at}  1 h ago")


async def test_a_queue_that_waits_from_before_is_shown_as_paused(drive: Drive):
    conv = FakeConversation()
    conv.entries = [QueueEntry("q", "steer", "left over", "paused", "paused: Enter resumes")]
    async with drive(conv=conv) as d:
        await d.shows("left over")
        assert "⏸" in d.screen and "Enter resume" in d.screen
