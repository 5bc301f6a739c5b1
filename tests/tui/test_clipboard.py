"""Copying: which way a text went, and that what is said of it is true."""

import base64
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.events import MessageEndEvent, MessageStartEvent
from agent_tui.agent.messages import AssistantMessage, TextContent, UserMessage
from agent_tui.conversation.commands.copying import FORM
from agent_tui.conversation.commands.copying import copy as copy_command
from agent_tui.conversation.results import CommandResult
from agent_tui.tui.clipboard import OSC52_SAFE, Copied, Helper, copy, helpers
from tests.tui.conftest import Drive

DISPLAYS = ("WAYLAND_DISPLAY", "DISPLAY", "TMUX", "TERMUX_VERSION", "SSH_CONNECTION")


@pytest.fixture(autouse=True)
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in DISPLAYS:
        monkeypatch.delenv(name, raising=False)


def script(folder: Path, name: str, body: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


# --- which helper -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "platform", "names"),
    [
        ({}, "linux", []),
        ({}, "darwin", ["pbcopy"]),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, "linux", ["wl-copy", "xclip", "xsel"]),
        ({"DISPLAY": ":0", "TMUX": "x"}, "linux", ["xclip", "xsel", "tmux"]),
        ({"TMUX": "x"}, "linux", ["tmux"]),
        ({"TERMUX_VERSION": "1"}, "linux", ["termux-clipboard-set"]),
    ],
)
def test_helpers_are_those_of_the_place(
    environment: dict[str, str], platform: str, names: list[str]
) -> None:
    found = helpers(environment, platform, lambda name: f"/bin/{name}")
    assert [helper.name for helper in found] == names
    assert helpers(environment, platform, lambda name: None) == []


# --- what becomes of it -------------------------------------------------------------------


async def test_a_helper_gets_the_whole_text_and_is_named(tmp_path: Path) -> None:
    text = "ä 日本\n" * 50_000
    helper = Helper((script(tmp_path, "wl-copy", f'cat > "{tmp_path}/got"'),))
    sent: list[str] = []
    copied = await copy(text, to_terminal=sent.append, candidates=[helper])
    assert (tmp_path / "got").read_text() == text
    assert sent == [], "so much would be cut by the terminal"
    assert "250,000 characters" in copied.sentence() and "wl-copy" in copied.sentence()
    assert not copied.doubtful
    await copy("short", to_terminal=sent.append, candidates=[helper])
    assert sent == ["short"], "over SSH the helper fills the wrong clipboard"


async def test_the_next_helper_is_tried_and_the_first_ones_failure_told(tmp_path: Path) -> None:
    bad = Helper((script(tmp_path, "wl-copy", "exit 3"),))
    gone = Helper((str(tmp_path / "none"),))
    good = Helper((script(tmp_path, "tmux", "cat > /dev/null"),), "tmux's buffer")
    copied = await copy("x", to_terminal=lambda text: None, candidates=[bad, gone, good])
    assert copied.helper is good
    words = copied.sentence("the block")
    assert "Copied the block (1 character) into tmux's buffer." in words
    assert "exit 3" in words and "No such file" in words


async def test_a_helper_that_hangs_does_not_hang_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_tui.tui.clipboard.HELPER_S", 0.05)
    hangs = Helper((script(tmp_path, "xclip", "exec sleep 60"),))
    sent: list[str] = []
    copied = await copy("x", to_terminal=sent.append, candidates=[hangs])
    assert copied.helper is None and sent == ["x"] and "no answer" in copied.failed[0]


async def test_a_helper_that_stays_behind_is_not_waited_for(tmp_path: Path) -> None:
    stays = Helper((script(tmp_path, "wl-copy", "cat > /dev/null; sleep 5 &"),))
    copied = await copy("x", to_terminal=lambda text: None, candidates=[stays])
    assert copied.helper is stays


async def test_the_terminal_alone_is_no_promise_and_its_bound_is_said() -> None:
    sent: list[str] = []
    copied = await copy("word", to_terminal=sent.append, candidates=[])
    assert copied.doubtful and "does not say whether it took it" in copied.sentence("the block")
    big = "x" * (OSC52_SAFE + 1)
    copied = await copy(big, to_terminal=sent.append, candidates=[])
    assert "at most 74,994 bytes and this is 74,995" in copied.sentence()
    assert len(base64.b64encode(b"x" * OSC52_SAFE)) <= 100_000
    copied = await copy("x" * OSC52_SAFE, to_terminal=sent.append, candidates=[])
    assert "at most" not in copied.sentence()


async def test_half_a_character_is_no_failure() -> None:
    sent: list[str] = []
    await copy("a\ud800b", to_terminal=sent.append, candidates=[])
    assert sent == ["a\ufffdb"]


# --- the command --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "data"),
    [
        ("", {"what": "last", "number": 1}),
        ("last", {"what": "last", "number": 1}),
        ("code", {"what": "code", "number": 1}),
        ("3", {"what": "last", "number": 3}),
        ("CODE 2", {"what": "code", "number": 2}),
    ],
)
async def test_copy_says_what(typed: str, data: dict[str, Any]) -> None:
    given = await copy_command(None, typed)  # type: ignore[arg-type]
    assert given.action == "copy" and given.data == data and not given.error


@pytest.mark.parametrize("typed", ["all", "0", "-1", "last x", "1 2", "code last", "99999999"])
async def test_a_wrong_form_is_told_the_right_one(typed: str) -> None:
    given = await copy_command(None, typed)  # type: ignore[arg-type]
    assert given.error is not None and FORM in given.error and given.action is None


# --- through the app ----------------------------------------------------------------------

FIRST = "Use `this`:\n\n```python\nfor x in y:\n    print(x)\n```\n\nand\n\n```sh\nls -l\n```"
LAST = "A **long** line that the screen has to wrap, " * 8 + "\n\n| a | b |\n|---|---|\n| 1 | 2 |"


def messages() -> list[Any]:
    return [
        UserMessage(content="how?"),
        AssistantMessage(content=[TextContent(text=FIRST)]),
        UserMessage(content="and?"),
        AssistantMessage(content=[TextContent(text=LAST), TextContent(text="Done.")]),
    ]


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A wl-copy that keeps what it takes; gives a function that reads it."""
    assert shutil.which("cat")
    script(tmp_path, "wl-copy", f'cat > "{tmp_path}/new" && mv "{tmp_path}/new" "{tmp_path}/got"')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("WAYLAND_DISPLAY", "w")
    got = tmp_path / "got"

    def read() -> str:
        return got.read_text() if got.exists() else ""

    return read


async def test_keys_copy_the_source_and_say_so(drive: Drive, taken: Any):
    async with drive(size=(160, 30)) as d:
        d.app.transcript.load(messages())
        await d.press("alt+c")
        await d.until(lambda: taken() == f"{LAST}\n\nDone.", "the markdown as it was sent")
        await d.shows("Copied the last answer (")
        await d.press("alt+k")
        await d.until(lambda: taken() == "ls -l", "the last code block")
        await d.shows("Copied the last code block (5 characters) with wl-copy")
        await d.press("ctrl+up", "f8", "c")
        await d.until(lambda: taken() == "and?", "the block under the cursor")


async def test_the_command_copies_what_it_names(drive: Drive, taken: Any):
    async with drive(size=(160, 30)) as d:
        d.app.transcript.load(messages())
        for what, number, text in (
            ("last", 2, FIRST), ("code", 2, "for x in y:\n    print(x)"),
            ("last", 1, f"{LAST}\n\nDone."),
        ):  # fmt: skip
            asked = {"what": what, "number": number}
            d.conv.command_results["copy"] = CommandResult(action="copy", data=asked)
            await d.type("/copy")
            await d.press("enter")
            await d.until(lambda text=text: taken() == text, text)
        d.conv.command_results["copy"] = CommandResult(
            action="copy", data={"what": "code", "number": 3}
        )
        await d.type("/copy")
        await d.press("enter")
        await d.shows("There is no such code block to copy")


async def test_without_a_helper_the_screen_promises_nothing(drive: Drive):
    async with drive(size=(160, 30)) as d:
        d.app.transcript.load(messages())
        await d.press("alt+k")
        await d.shows("does not say whether it took it")
        message = AssistantMessage(id="big", content=[TextContent(text="word " * 20_000)])
        d.conv.emit(MessageStartEvent(message.model_copy(update={"content": []})))
        d.conv.emit(MessageEndEvent(message))
        await d.until(lambda: d.app.transcript.quiet)
        await d.press("alt+c")
        await d.shows("look before you rely on it")


async def test_nothing_to_copy_is_said(drive: Drive):
    async with drive() as d:
        await d.press("alt+c")
        await d.shows("There is no answer to copy")


@pytest.mark.parametrize("helper", [None, Helper(("wl-copy",))])
@pytest.mark.parametrize("room", [20, 34, 48, 68, 88, 150])
def test_a_sentence_is_short_where_there_is_little_room(helper: Helper | None, room: int) -> None:
    copied = Copied(1234, 1234, helper, helper is None)
    said = copied.short("the last answer", room)
    assert len(said) <= room
    assert ("unconfirmed" in said or "whether" in said) == (helper is None), "still honest"
    if room == 150:
        assert said == copied.sentence("the last answer")
