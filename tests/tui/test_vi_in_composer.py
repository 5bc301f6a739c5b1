"""Setting vi_keys: the composer's keys are vi's, and all else goes on as ever."""

from types import SimpleNamespace
from typing import Any

import pytest
from textual import events

from agent_tui.tui.paste_collapse import MARK
from tests.tui.conftest import Drive, Driven

BIG = "\n".join(f"line {n}" for n in range(432))
NAME = f"[pasted{MARK}432 lines]"


@pytest.fixture
def vi(drive: Drive) -> Any:
    return lambda **more: drive(settings=SimpleNamespace(theme="dark", vi_keys=True), **more)


async def keys(d: Driven, *keys: str) -> None:
    """Letters one by one; longer ones are names of keys."""
    for key in keys:
        await (d.press(key) if len(key) > 1 else d.type(key))


async def test_without_the_setting_esc_stops_and_letters_are_letters(drive: Drive):
    async with drive() as d:
        d.conv.set_status("tools")
        await d.type("hx")
        await d.press("escape")
        await d.type("x")
        assert d.conv.called("abort") == [(True,)] and d.draft == "hxx"
        assert "NORMAL" not in d.screen and "INSERT" not in d.screen


async def test_esc_leaves_typing_first_and_stops_second(vi: Any):
    async with vi() as d:
        await d.shows("INSERT")
        d.conv.set_status("tools")
        await d.type("one two")
        await d.press("escape")
        await d.shows("NORMAL")
        assert d.conv.called("abort") == []
        await keys(d, "b", "c", "w")
        await d.type("three")
        assert d.draft == "one three"
        await d.press("escape", "escape")
        assert d.conv.called("abort") == [(True,)] and d.draft == "one three"
        d.conv.set_status("ready")
        await d.press("enter")
        assert d.conv.called("submit") == [("one three",)], "Enter sends in normal mode too"
        await d.shows("INSERT")


async def test_a_list_is_closed_by_the_second_escape(vi: Any):
    async with vi() as d:
        await d.type("/mo")
        await d.shows("/model [NAME]")
        await d.press("escape", "escape")
        await d.until(lambda: "/model [NAME]" not in d.screen)
        assert d.conv.called("abort") == [] and d.draft == "/mo"


async def test_lines_history_and_search(vi: Any):
    async with vi() as d:
        for text in ("first", "second"):
            await d.type(text)
            await d.press("enter")
        await d.type("one")
        await d.press("ctrl+j")
        await d.type("two")
        await keys(d, "escape", "k")
        assert d.app.composer.cursor_location == (0, 2)
        await keys(d, "k")
        assert d.draft == "second"
        await keys(d, "k", "j", "j")
        assert d.draft == "one\ntwo"
        await keys(d, "k", "k", "x", "j", "j")
        assert d.draft == "secon", "what is changed is the draft now"
        await keys(d, "g", "g", "d", "G", "/")
        assert d.app.composer.vi.mode == "insert", "what is looked for is typed"
        await d.type("fir")
        await d.press("enter")
        assert d.draft == "first"


async def test_undo_redo_dot_and_the_screen_shows_what_is_begun(vi: Any):
    async with vi() as d:
        await d.type("a b c d")
        await keys(d, "escape", "0", "d", "w")
        assert d.draft == "b c d"
        await keys(d, ".")
        assert d.draft == "c d"
        await keys(d, "u", "u")
        assert d.draft == "a b c d"
        await keys(d, "ctrl+r")
        assert d.draft == "b c d"
        await keys(d, "2", "d")
        await d.shows("NORMAL 2d")
        await keys(d, "w")
        assert d.draft == "d"


async def test_a_folded_paste_is_one_character_and_the_register_keeps_it(vi: Any):
    async with vi() as d:
        await d.type("a")
        await d.paste(BIG)
        await d.type("b")
        await keys(d, "escape", "0", "l", "x")
        assert d.draft == "ab"
        await keys(d, "P")
        assert d.app.composer.text == f"a{NAME}b" and d.draft == f"a{BIG}b"
        await d.press("enter")
        await d.type("next: ")
        await keys(d, "escape", "p")
        assert d.draft == f"next: {BIG}", "also in a later draft"
        await keys(d, "u")
        assert d.draft == "next: "


async def test_what_is_selected_is_seen_copied_and_deleted(vi: Any):
    async with vi() as d:
        await d.type("one two three")
        await keys(d, "escape", "0", "w", "v", "e")
        await d.shows("VISUAL")
        assert d.app.composer.selected_text == "two"
        assert not d.app.composer.selection.is_empty
        await keys(d, "d")
        assert d.draft == "one  three" and d.app.composer.selection.is_empty


async def test_a_text_for_another_thing_begins_with_typing(vi: Any):
    async with vi() as d:
        d.conv.queue_item("follow_up", "queued one")
        await d.type("mine")
        await keys(d, "escape", "alt+up")
        await d.until(lambda: d.draft == "queued one")
        await d.shows("INSERT")
        await d.type("!")
        await keys(d, "escape", "escape")
        await d.until(lambda: d.draft == "mine")


async def test_it_is_switched_while_one_types(drive: Drive):
    async with drive() as d:
        await d.type("one")
        d.app.settings.vi_keys = True
        d.app.face.loaded()
        await d.press("escape")
        await d.type("x")
        assert d.draft == "on"
        d.app.settings.vi_keys = False
        d.app.face.loaded()
        await d.type("x")
        assert d.draft == "oxn"
        await d.until(lambda: "NORMAL" not in d.screen)


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_list_of_keys_tells_of_them(drive: Drive, wanted: bool):
    async with drive(settings=SimpleNamespace(theme="dark", vi_keys=wanted)) as d:
        told = await d.app.face._keys(d.conv, "")
        assert ("vi's keys are on" in told.text) is wanted
        assert "`stash`" in told.text and "`open_paste`" in told.text


async def test_where_the_cursor_stands_in_each_mode(vi: Any):
    async with vi() as d:
        await d.type("你好")
        assert d.app.composer.cursor_location == (0, 2)
        assert d.app.composer.has_class("-vi-insert")
        await d.press("escape")
        assert d.app.composer.cursor_location == (0, 1), "on the last character"
        assert not d.app.composer.has_class("-vi-insert")
        await keys(d, "right", "right", "end")
        assert d.app.composer.cursor_location == (0, 1)
        await d.paste(" and more")
        assert d.draft == "你 and more好"


async def test_a_letter_right_behind_esc_is_not_alt_and_that_letter(vi: Any):
    """A terminal sends the same bytes for both."""
    async with vi() as d:
        await d.type("one two")
        for key, letter in (("alt+b", "b"), ("alt+shift+d", "D")):
            d._send(events.Key(key, letter))
            await d.settle()
            await keys(d, *(["i"] if letter == "b" else []))
        assert d.draft == "one" and d.app.composer.vi.mode == "normal"
        d._send(events.Key("alt+s", "s"))
        await d.shows("1 draft stashed")
