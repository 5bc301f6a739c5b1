"""Questions of MCP servers on the screen: answered by keys, and no key is taken from the draft."""

import asyncio
from typing import Any

import pytest

from agent_tui.conversation.mcp import browser
from agent_tui.tui.screens.inline import HOLD_S
from tests.tui.conftest import Drive, Driven

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "as in the passport"},
        "age": {"type": "integer"},
        "fed": {"type": "boolean"},
    },
}


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were opened in a browser; there is one here."""
    found: list[str] = []
    monkeypatch.setattr(browser, "open_in_browser", lambda url: found.append(url) or True)
    return found


def answers(d: Driven) -> list[tuple[Any, ...]]:
    return d.conv.called("answer_question")


async def form(d: Driven, schema: dict[str, Any] = SCHEMA, message: str = "Who are you?") -> str:
    request_id = d.conv.question("form", message=message, schema=schema)
    await d.shows("zoo asks for details")
    return request_id


async def test_a_form_takes_no_key_before_f4(drive: Drive):
    async with drive() as d:
        await form(d)
        assert "Who are you?" in d.screen and "wants: Your name, age, fed" in d.screen
        d.clock.pass_(5)
        await d.press("down", "down", "down", "enter", "tab", "space", "backspace")
        assert d.app.dialogs.current is not None and d.app.dialogs.current.at == 0  # type: ignore[attr-defined]
        assert d.draft == "" and d.conv.called("submit") == [("",)]
        d.conv.calls.clear()
        for key in ("y", "n", "c", "1", "enter"):
            await d.press(key)
            d.clock.pass_(5)
        await asyncio.sleep(HOLD_S + 0.1)
        assert answers(d) == []
        assert d.conv.called("submit") == [("ync1",)]


async def test_a_form_is_filled_and_sent(drive: Drive):
    async with drive() as d:
        request_id = await form(d)
        await d.press("f4")
        await d.shows("as in the passport")
        await d.type("Ann Ly")
        await d.press("left")
        await d.press("backspace")
        await d.press("down")
        await d.type("7")
        await d.press("tab")
        await d.press("space")
        assert "< yes >" in d.screen
        await d.press("enter", "enter")
        await d.until(lambda: answers(d) != [])
        content = {"name": "Ann y", "age": 7, "fed": True}
        assert answers(d) == [(request_id, "accept", content)]
        await d.until(lambda: "asks for details" not in d.screen)
        assert d.app.composer.has_focus and d.draft == ""


@pytest.mark.parametrize("steps, action", [(1, "decline"), (2, "cancel")])
async def test_a_form_is_declined_or_cancelled(drive: Drive, steps: int, action: str):
    async with drive() as d:
        request_id = await form(d)
        await d.press("f4")
        await d.press(*["down"] * (len(SCHEMA["properties"]) + steps))
        await d.press("enter")
        await d.until(lambda: answers(d) == [(request_id, action, None)])


async def test_what_is_wrong_is_said_at_its_field_and_nothing_is_lost(drive: Drive):
    async with drive() as d:
        await form(d)
        await d.press("f4")
        await d.press(*["up"] * 3)
        await d.press("enter")
        await d.shows("must be given")
        assert answers(d) == []
        await d.type("Ann")
        d.conv.refuse_with = "name: 'Ann' is too short"
        await d.press(*["down"] * 3)
        await d.press("enter")
        await d.shows("'Ann' is too short")
        d.conv.refuse_with = "the form is closed"
        await d.press(*["down"] * 3)
        await d.press("enter")
        await d.shows("the form is closed")
        await d.press("escape")
        await d.type("a word between")
        assert d.draft == "a word between"
        d.conv.refuse_with = ""
        await d.press("f4", *["down"] * 3)
        assert d.draft == "a word between"
        await d.shows("Ann")


async def test_a_paste_goes_into_the_field_that_is_chosen(drive: Drive):
    async with drive() as d:
        await form(d)
        await d.press("f4")
        await d.paste("Ann\nLee")
        await d.shows("Ann Lee")
        assert d.draft == ""


async def test_an_address_shows_its_host_and_opens_only_when_it_is_accepted(
    drive: Drive, opened: list[str]
):
    url = "https://bank.example/pay?to=1"
    async with drive() as d:
        request_id = d.conv.question("url", message="Pay here, please.", url=url)
        await d.shows("zoo wants you to open an address")
        assert "at bank.example" in d.screen and url in d.screen
        assert opened == []
        d.clock.pass_(5)
        await d.press("n")
        await d.until(lambda: answers(d) == [(request_id, "decline", None)])
        assert opened == []
        request_id = d.conv.question("url", message="Pay here, please.", url=url)
        await d.shows("open an address")
        await d.press("f4")
        await d.press("y")
        await d.until(lambda: opened == [url])
        assert answers(d)[-1] == (request_id, "accept", None)
        d.conv.question("url", message="Again.", url="https://аррle.example/")
        await d.shows("xn--")
        await d.press("f4", "c")
        await d.until(lambda: answers(d)[-1][1] == "cancel")
        assert opened == [url]


async def test_sampling_is_seen_before_the_model_runs_and_before_it_is_sent(drive: Drive):
    async with drive() as d:
        messages = [{"role": "user", "content": [{"type": "text", "text": "Say [b]this[/b]"}]}]
        details = {
            "model": "claude-sonnet-5-5", "max_tokens": 50, "system_prompt": "Be brief.",
            "messages": messages, "left_out": ["3 tools"],
        }  # fmt: skip
        first = d.conv.question("sampling", details=details)
        await d.shows("zoo wants an answer of the model")
        for shown in ("at most 50 tokens", "3 tools: not given", "Be brief.", "Say [b]this[/b]"):
            assert shown in d.screen, shown
        d.clock.pass_(5)
        await d.press("y")
        await d.until(lambda: answers(d) == [(first, "accept", None)])
        result = {"text": "Something.", "model": "claude-sonnet-5-5", "stop_reason": "end_turn"}
        second = d.conv.question("sampling_result", details=result)
        await d.shows("zoo would get this answer")
        assert "Something." in d.screen
        d.clock.pass_(5)
        await d.press("n")
        await d.until(lambda: answers(d)[-1] == (second, "decline", None))


async def test_a_long_request_must_be_seen_before_it_is_accepted(drive: Drive):
    async with drive() as d:
        text = "\n".join(f"line {n}" for n in range(100))
        messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
        d.conv.question("sampling", details={"max_tokens": 1, "messages": messages})
        await d.shows("wants an answer")
        d.clock.pass_(5)
        await d.press("y")
        await d.shows("F4 to read and answer")
        assert answers(d) == []


async def test_a_login_opens_the_browser_and_takes_a_pasted_code(drive: Drive, opened: list[str]):
    url = "https://login.example/authorize?x=1"
    schema = {
        "type": "object", "required": ["code"],
        "properties": {"code": {"type": "string", "minLength": 1}},
    }  # fmt: skip
    async with drive() as d:
        request_id = d.conv.question("login", url=url, schema=schema)
        await d.shows("zoo wants you to log in")
        await d.until(lambda: opened == [url])
        assert url in d.screen
        await d.press("f4")
        await d.paste("c0de")
        await d.press("enter", "enter")
        await d.until(lambda: answers(d) == [(request_id, "accept", {"code": "c0de"})])


async def test_a_question_that_is_taken_back_leaves_the_screen(drive: Drive):
    async with drive() as d:
        request_id = await form(d)
        await d.press("f4")
        d.conv.open_requests.add("other")
        d.conv.answer_question(request_id, "cancel")
        await d.until(lambda: "asks for details" not in d.screen)
        assert d.app.composer.has_focus


async def test_approvals_name_the_server_and_the_tools_own_name(drive: Drive):
    async with drive() as d:
        d.conv.ask({"text": "a\u200bb"}, tool="zoo__read_file_3f9a0c1d", server="zoo",
                   server_tool="read.file\x1b[2J")  # fmt: skip
        await d.shows("of zoo wants to run")
        line = next(line for line in d.screen.split("\n") if "wants to run" in line)
        assert "read.file" in line and "\x1b" not in line
        assert "a‹U+200B›b" in d.screen


# --- the browser -------------------------------------------------------------------------------


def test_no_browser_is_started_that_would_use_the_terminal() -> None:
    url = "https://x.example/?a=1&b=2"
    assert browser.commands(url, {}, "linux") == []
    assert browser.commands(url, {"BROWSER": "lynx:w3m -x"}, "linux") == []
    assert browser.commands(url, {"BROWSER": "/usr/bin/links"}, "linux") == []
    assert browser.commands(url, {"DISPLAY": ":0"}, "linux")[0] == ["xdg-open", url]
    assert browser.commands(url, {}, "darwin") == [["open", url]]
    wanted = {"BROWSER": "lynx:firefox --new %s:chromium", "WAYLAND_DISPLAY": "w"}
    assert browser.commands(url, wanted, "linux")[:2] == [
        ["firefox", "--new", url], ["chromium", url],
    ]  # fmt: skip
