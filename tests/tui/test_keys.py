"""Fault B15: keys are distinct, shown, and can be changed."""

from types import SimpleNamespace

import pytest

from agent_tui.tui.keys import KEYS, KeyTable, key_name
from agent_tui.tui.screens.help import HelpScreen
from tests.tui.conftest import Drive


@pytest.mark.parametrize(
    ("key", "name"),
    [("enter", "Enter"), ("ctrl+j", "Ctrl+J"), ("alt+up", "Alt+Up"), ("f2", "F2"), ("d", "d"),
     ("escape", "Esc"), ("shift+enter", "Shift+Enter"), ("K", "K")],
)  # fmt: skip
def test_keys_are_named_as_people_write_them(key: str, name: str):
    assert key_name(key) == name


@pytest.mark.parametrize(
    "places", [("composer", "screen"), ("queue",), ("tools",), ("search",), ("transcript",)]
)
def test_no_key_means_two_things_in_one_place(places: tuple[str, ...]):
    used = [key for k in KEYS if k.where in places for key in KeyTable().keys_of(k)]
    assert sorted(used) == sorted(set(used))


def test_steer_follow_up_and_stop_are_three_keys_and_shown_while_running():
    hints = {word: key for key, word in KeyTable().hints("running")}
    assert {"steer", "follow-up", "stop"} <= hints.keys()
    assert len({hints["steer"], hints["follow-up"], hints["stop"]}) == 3


def test_hints_and_help_follow_a_change_and_unknown_names_are_told():
    table = KeyTable({"follow_up": "ctrl+f", "no_such": "x"})
    assert ("Ctrl+F", "follow-up") in table.hints("running")
    assert ("Ctrl+F", "While it runs: queue a follow-up. Else: complete") in table.help_rows(
        "composer"
    )
    assert table.unknown == ["no_such"]
    assert "tab" not in table.actions() or table.actions()["tab"] != "follow_up"


async def test_a_changed_key_acts_and_the_old_one_no_longer_does(drive: Drive):
    keys = {"follow_up": "ctrl+f", "panel": "f9"}
    async with drive(settings=SimpleNamespace(theme="dark", keys=keys)) as d:
        d.conv.set_status("tools")
        await d.type("later")
        await d.press("tab")
        assert d.conv.called("follow_up") == []
        d.app.composer.focus()
        await d.press("ctrl+f")
        assert d.conv.called("follow_up") == [("later",)]
        await d.press("f2")
        assert d.app.panel.display
        await d.press("f9")
        assert not d.app.panel.display


async def test_an_unknown_key_name_in_the_settings_is_said(drive: Drive):
    async with drive(settings=SimpleNamespace(theme="dark", keys={"sned": "f9"})) as d:
        await d.shows("sned")


async def test_f1_shows_every_key_and_command(drive: Drive):
    async with drive(size=(120, 140)) as d:
        await d.press("f1")
        await d.shows("Commands")
        for key in KEYS:
            if key.where != "dialog":
                assert key.help in d.screen, key.id
        assert "/model [NAME]" in d.screen
        await d.press("escape")
        await d.type("typing goes on")
        assert d.draft == "typing goes on"


async def test_the_palette_opens_and_acts(drive: Drive):
    async with drive() as d:
        await d.press("ctrl+p")
        await d.shows("Show or hide it")
        await d.type("side")
        await d.press("enter")
        await d.until(lambda: not d.app.panel.display)


async def test_ctrl_c_copies_what_is_selected_and_keeps_the_draft(drive: Drive, monkeypatch):
    copied: list[str] = []
    async with drive() as d:
        monkeypatch.setattr(d.app, "copy_to_clipboard", copied.append)
        await d.type("my draft")
        await d.press("shift+left", "shift+left", "ctrl+c")
        assert copied == ["ft"] and d.draft == "my draft"
        await d.press("end", "ctrl+c")
        assert copied == ["ft"] and d.draft == ""


async def test_an_open_list_tells_its_own_keys(drive: Drive):
    async with drive(size=(120, 30)) as d:
        await d.type("/mo")
        await d.shows("Tab complete")
        last = d.screen.splitlines()[-1]
        assert "Esc close" in last and "Enter send" not in last
        await d.press("escape")
        await d.shows("Enter send")
        assert "Tab complete" not in d.screen


async def test_an_open_list_leaves_no_end_of_the_rule_under_it(drive: Drive):
    async with drive(size=(100, 30)) as d:
        rule = next(n for n, row in enumerate(d.screen.splitlines()) if row.endswith("┤"))
        await d.type("/mo")
        await d.until(lambda: "┤" not in d.screen.splitlines()[rule])
        await d.press("escape")
        await d.until(lambda: d.screen.splitlines()[rule].endswith("┤"), "the joint is back")


@pytest.mark.parametrize("width", [30, 80])
def test_the_help_page_tells_the_marks_of_a_message(width: int):
    rows = HelpScreen(KeyTable(), ()).text(width).plain.splitlines()
    rows = rows[rows.index("What a message may hold") + 1 :]
    marks = [row.split()[0] for row in rows[: rows.index("")] if not row.startswith("    ")]
    assert marks == ["@", "!command", "!!command", "/command"]
