"""The placeholder of a paste is one unit in the text, and can be opened."""

import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from agent_tui.tui.paste_collapse import MARK
from tests.tui.conftest import Drive, Driven

BIG = "\n".join(f"line {n}" for n in range(432))
NAME = f"[pasted{MARK}432 lines]"


async def pasted(d: Driven, before: str = "a", after: str = "b", text: str = BIG) -> None:
    await d.type(before)
    await d.paste(text)
    await d.type(after)


async def test_it_is_passed_over_as_one(drive: Drive):
    async with drive() as d:
        await pasted(d)
        composer = d.app.composer
        assert composer.text == f"a{NAME}b"
        end = 1 + len(NAME)
        for key, column in (
            ("left", end), ("left", 1), ("left", 0), ("right", 1), ("right", end),
            ("ctrl+left", 1), ("ctrl+right", end), ("shift+left", 1), ("home", 0),
        ):  # fmt: skip
            await d.press(key)
            assert composer.cursor_location == (0, column), key
        await d.shows("a[pasted 432 lines]b")


async def test_up_and_down_never_stop_within_it(drive: Drive):
    async with drive() as d:
        await d.type("x" * 8)
        await d.press("ctrl+j")
        await pasted(d)
        await d.press("home", "up", "right", "right", "right", "right", "down")
        assert d.app.composer.cursor_location in ((1, 1), (1, 1 + len(NAME)))


async def test_it_is_deleted_whole_and_undo_brings_it_back(drive: Drive):
    async with drive() as d:
        for keys, left in (
            (("left", "backspace"), "ab"),
            (("home", "right", "delete"), "ab"),
            (("left", "ctrl+w"), "ab"),
            (("home", "right", "alt+delete"), "ab"),
            (("left", "shift+left", "x"), "axb"),
            (("ctrl+u",), ""),
        ):
            await pasted(d)
            for key in keys:
                await (d.type(key) if len(key) == 1 else d.press(key))
            assert d.app.composer.text == left, keys
            for _ in range(2):
                if NAME not in d.app.composer.text:
                    await d.press("ctrl+underscore")
            assert d.draft == f"a{BIG}b", keys
            await d.press("end", "ctrl+c")
            assert d.draft == ""


async def test_cut_and_copied_it_is_what_it_stands_for(drive: Drive):
    async with drive() as d:
        await pasted(d, "see ", " please")
        await d.press("ctrl+a", "shift+end", "ctrl+x")
        assert d.draft == "" and d.app.clipboard == f"see {BIG} please"
        await d.press("ctrl+v")
        assert d.app.composer.text == f"see {NAME} please" and d.draft == f"see {BIG} please"
        await d.press("ctrl+v")
        assert d.draft == f"see {BIG} please" * 2
        await d.press("enter", "ctrl+v")
        assert d.draft == f"see {BIG} please", "also when the draft that held it is gone"
        assert d.app.composer.selected_text == ""
        await d.press("ctrl+a", "shift+end")
        assert d.app.composer.selected_text == f"see {BIG} please"


async def test_a_text_typed_like_one_is_letters(drive: Drive):
    async with drive() as d:
        await d.paste(BIG)
        await d.type(" [pasted 432 lines]")
        assert d.draft == f"{BIG} [pasted 432 lines]"
        await d.press("backspace")
        assert d.draft == f"{BIG} [pasted 432 lines"


async def test_it_opens_in_place_as_one_step_of_undo(drive: Drive):
    async with drive() as d:
        await pasted(d)
        await d.press("left", "alt+o")
        assert d.app.composer.text == f"a{BIG}b"
        await d.type("!")
        assert d.draft == f"a{BIG}!b"
        await d.press("ctrl+underscore", "ctrl+underscore")
        assert d.app.composer.text == f"a{NAME}b" and d.draft == f"a{BIG}b"


async def test_without_one_at_the_cursor_it_says_so(drive: Drive):
    async with drive() as d:
        await d.type("plain")
        await d.press("f9")
        await d.shows("Put the cursor beside a folded paste")
        await d.press("ctrl+c")
        await d.paste("x" * 3000)
        await d.type(" and ")
        await d.paste("y" * 3000)
        await d.press("left", "home", "right", "right")
        await d.type(" - ")
        await d.press("end", "ctrl+j")
        await d.press("f9")
        assert d.draft.count("pasted") == 0


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that adds a word at the end, and says "look at" for "see"."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[1])\n"
        "p.write_text(p.read_text().replace('see', 'look at') + 'more')\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")


async def test_what_would_not_fit_opens_in_the_editor(
    drive: Drive, editor: None, monkeypatch: pytest.MonkeyPatch
):
    async with drive() as d:
        monkeypatch.setattr(d.app, "suspend", nullcontext)
        for big in ("x" * 400_000, "line\n" * 10_000, "a\x1b[31mb\n" * 20):
            await pasted(d, text=big)
            before = d.app.composer.text
            await d.press("alt+o")
            await d.until(lambda: "more" in d.draft)
            assert d.draft == f"a{big}moreb"
            assert len(d.app.composer.text) < 100
            await d.press("ctrl+underscore")
            assert d.app.composer.text == before and d.draft == f"a{big}b"
            await d.press("ctrl+c")


async def test_what_the_editor_saved_of_the_draft_can_be_undone(
    drive: Drive, editor: None, monkeypatch: pytest.MonkeyPatch
):
    async with drive() as d:
        monkeypatch.setattr(d.app, "suspend", nullcontext)
        await pasted(d, "see ", " and @pic.png ")
        await d.press("ctrl+g")
        await d.until(lambda: d.draft.startswith("look at"))
        text = d.app.composer.text
        assert text == f"look at {NAME} and @pic.png more", "folded again, the mention kept"
        await d.press("ctrl+underscore")
        assert d.draft == f"see {BIG} and @pic.png "


async def test_many_lines_are_undone_and_redone_at_once(drive: Drive):
    async with drive() as d:
        await d.type("a")
        for _ in range(20):
            await d.press("ctrl+j")
        await d.press("ctrl+a", "ctrl+home")
        composer = d.app.composer
        composer.move_cursor((0, 0))
        composer.move_cursor(composer.document.end, select=True)
        await d.press("ctrl+x")
        assert d.draft == ""
        await d.press("ctrl+underscore")
        assert d.draft == "a" + "\n" * 20
        await d.press("ctrl+y")
        assert d.draft == ""
