"""The screen's own settings: each holds at once, and the page where they are changed."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tui import choices
from agent_tui.conversation.events import SettingChangedEvent
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.settings_change import SettingRow
from agent_tui.settings import Loaded, Settings
from agent_tui.tui.face_settings import OF_FACE
from agent_tui.tui.screens.settings import SettingsScreen
from tests.tui.conftest import Drive, Driven


async def change(d: Driven, name: str, value: Any) -> None:
    """As the conversation does when /settings has changed one."""
    loaded = d.conv.held_settings.loaded or Loaded(Settings())
    loaded.settings = loaded.settings.model_copy(update={name: value})
    d.conv.held_settings.loaded = loaded
    d.conv.emit(SettingChangedEvent(name, str(value)))
    await d.settle()


CASES: list[tuple[str, Any, Any, Any]] = [
    ("theme", "light", "nord", lambda d: d.app.theme),
    ("show_panel", False, True, lambda d: d.app.panel.display),
    ("show_thinking", "hidden", "open", lambda d: d.app.transcript.thinking_mode),
    ("reduced_motion", True, False, lambda d: d.app.animation_level == "none"),
    ("reduced_motion", True, False, lambda d: d.app.transcript.calm),
]


@pytest.mark.parametrize(("name", "first", "second", "now"), CASES)
async def test_a_change_holds_at_once(
    drive: Drive, name: str, first: Any, second: Any, now: Any
) -> None:
    async with drive() as d:
        assert name in d.conv.held_settings.of_face
        for value in (first, second, first):
            await change(d, name, value)
            await d.until(lambda value=value: now(d) == value, f"{name} is {value}")


@pytest.mark.parametrize("calm", [True, False])
async def test_reduced_motion_from_the_start(drive: Drive, calm: bool) -> None:
    settings = SimpleNamespace(theme="dark", reduced_motion=calm)
    async with drive(settings=settings) as d:
        assert (d.app.animation_level == "none") is calm is d.app.transcript.calm


@pytest.mark.parametrize(
    ("name", "value", "events", "written"),
    [
        ("terminal_title", False, 2, "\x1b]2;"),
        ("notify", "off", 2, "\x07"),
        ("progress", "on", 1, "\x1b]9;4;3\x07"),
    ],
)
async def test_what_is_told_to_the_terminal_follows_its_setting(
    drive: Drive, monkeypatch: Any, name: str, value: Any, events: int, written: str
) -> None:
    """Two values of each: the sequence is there with one and not with the other."""
    for env in ("TMUX", "STY", "TERM_PROGRAM", "WT_SESSION"):
        monkeypatch.delenv(env, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    quiet = {"terminal_title": False, "notify": "off", "progress": "off"}
    loud = {"terminal_title": True, "notify": "bell", "progress": "on"}
    seen: list[bool] = []
    for one in (loud[name], quiet[name]):
        settings = SimpleNamespace(theme="dark", **(quiet | {name: one}))
        async with drive(settings=settings) as d:
            told: list[str] = []
            d.app.signals._write = told.append
            d.app.app_focus = False
            d.conv.set_status("streaming")
            d.conv.set_status("ready")
            await d.settle()
            seen.append(written in "".join(told))
    assert seen == [True, False]


async def test_a_theme_that_is_chosen_is_remembered(drive: Drive) -> None:
    async with drive() as d:
        assert choices.read() == {}
        for theme in ("light", "nord"):
            d.app.theme = theme
            await d.until(lambda theme=theme: choices.read() == {"theme": theme}, theme)
        await change(d, "theme", "dark")
        await d.settle()
        assert choices.read() == {"theme": "nord"}, "what is written to the file is no choice"


async def test_a_model_that_is_chosen_is_remembered_but_not_in_the_demo(drive: Drive) -> None:
    from tests.tui.fake_conversation import FakeConversation

    async with drive(conv=FakeConversation(demo=True)) as d:
        d.conv.remember("model", "scripted")
        await d.settle()
        assert choices.read() == {}
    async with drive(conv=FakeConversation(demo=False)) as d:
        d.conv.remember("model", "m-1")
        await d.until(lambda: choices.read() == {"model": "m-1"})
        d.app.settings.remember_choices = False
        d.conv.remember("model", "m-2")
        await d.settle()
    assert choices.read() == {"model": "m-1"}


async def test_keys_lists_the_names_to_change_them_by(drive: Drive) -> None:
    settings = SimpleNamespace(theme="dark", keys={"editor": "ctrl+e"})
    async with drive(settings=settings, size=(180, 170)) as d:
        await d.type("/keys")
        await d.press("enter")
        await d.shows("editor (changed)")
        for words in ("follow_up", "Ctrl+E", "[keys]"):
            assert words in d.screen


# --- the page ----------------------------------------------------------------------------------


def row(name: str, value: str, *choices: str, **more: Any) -> SettingRow:
    source, secret = more.get("source", "default"), more.get("secret", False)
    return SettingRow(name, value, source, f"The {name}", "What.", choices, name in OF_FACE, secret)


class Held:
    def __init__(self) -> None:
        self.of_face: Any = ()
        self.values = {"theme": "auto", "max_turns": "not set", "api_key": "set, not shown"}
        self.loaded = Loaded(Settings())

    def rows(self) -> list[SettingRow]:
        return [
            row("theme", self.values["theme"], "dark", "light"),
            row("max_turns", self.values["max_turns"], source="/h/config.toml:3"),
            row("api_key", self.values["api_key"], secret=True),
        ]


async def open_page(d: Driven) -> Held:
    held = Held()
    d.conv.held_settings = held
    d.conv.command_results["settings"] = CommandResult(text="", action="settings")
    await d.type("/settings")
    await d.press("enter")
    await d.shows("type to search")
    return held


async def test_the_page_shows_value_and_source_and_changes_a_choice(drive: Drive) -> None:
    async with drive() as d:
        held = await open_page(d)
        for words in ("max_turns", "not set", "/h/config.toml:3", "The theme. What."):
            assert words in d.screen
        await d.press("enter")
        await d.shows("take it out of your file")
        held.values["theme"] = "dark"
        d.conv.command_results["settings"] = CommandResult(text="`theme` is `dark`. Written.")
        await d.press("enter")
        await d.shows("theme is dark. Written.")
        assert d.conv.called("command")[-1] == ("/settings theme dark",)
        assert "dark" in next(line for line in d.screen.splitlines() if "theme  " in line)
        await d.press("escape")
        await d.until(lambda: not isinstance(d.app.screen, SettingsScreen))


async def test_typing_filters_and_a_free_value_goes_to_the_composer(drive: Drive) -> None:
    async with drive() as d:
        await open_page(d)
        await d.type("turns")
        await d.until(lambda: "api_key" not in d.screen)
        await d.press("enter")
        await d.until(lambda: d.draft == "/settings max_turns ")


async def test_enter_right_behind_the_letters_takes_the_first_that_fits(drive: Drive) -> None:
    async with drive() as d:
        held = await open_page(d)
        await d.burst("turns", "enter")
        await d.until(lambda: d.draft == "/settings max_turns ")
        await d.press("ctrl+c")
        await open_page(d)
        await d.burst("the", "enter")
        await d.shows("take it out of your file")
        held.values["theme"] = "light"
        d.conv.command_results["settings"] = CommandResult(text="`theme` is `light`. Written.")
        await d.burst("li", "enter")
        await d.shows("theme is light. Written.")
        assert d.conv.called("command")[-1] == ("/settings theme light",)


async def test_the_choice_that_holds_is_the_one_highlighted(drive: Drive) -> None:
    async with drive() as d:
        held = await open_page(d)
        held.values["theme"] = "light"
        await d.burst("the", "enter")
        await d.shows("take it out of your file")
        d.conv.command_results["settings"] = CommandResult(text="`theme` is `light`. Written.")
        await d.press("enter")
        await d.until(lambda: d.conv.called("command")[-1] == ("/settings theme light",))


async def test_enter_right_behind_the_letters_runs_a_command_of_the_palette(drive: Drive) -> None:
    async with drive() as d:
        assert d.app.panel.display
        await d.burst("ctrl+p")
        await d.shows("Search for a command")
        await d.burst("side", "enter")
        await d.until(lambda: not d.app.panel.display)


async def test_a_secret_is_not_changed_here_and_esc_goes_back_one_step(drive: Drive) -> None:
    async with drive() as d:
        await open_page(d)
        await d.press("down")
        await d.press("down")
        await d.press("enter")
        await d.shows("It is secret and is not changed here")
        await d.press("up", "up", "enter")
        await d.shows("take it out of your file")
        await d.press("escape")
        await d.shows("max_turns")
        await d.type("no such thing")
        await d.shows("Nothing holds that text.")


async def test_the_palette_and_40_columns(drive: Drive) -> None:
    async with drive(size=(40, 24)) as d:
        await open_page(d)
        assert "theme" in d.screen and "Esc leave" in d.screen
