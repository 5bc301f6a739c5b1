"""The page of an image: what is drawn, what is said where nothing can be drawn, what is left."""

import asyncio
import base64
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.geometry import Region

from agent_tui.tui import image_file as files
from agent_tui.tui import terminal_images as drawing
from agent_tui.tui.image_file import ImageFileError, image_file, open_outside
from agent_tui.tui.screens.image_page import Easel, ImagePage
from agent_tui.tui.themes import DEFAULTS
from agent_tui.tui.transcript.images import ShownImage
from tests.tui.pictures import png

CHART, MAP = png(120, 80), png(60, 60, seed=2)
JPEG = b"\xff\xd8\xff\xe0" + bytes(30)


def shown(data: bytes, name: str = "", kind: str = "image/png") -> ShownImage:
    return ShownImage.of_bytes(kind, data, name)


class Board:
    """What was sent to the terminal."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def __call__(self, text: str) -> None:
        self.sent.append(text)

    @property
    def images(self) -> list[bytes]:
        """Those that kitty was given."""
        found: list[str] = []
        for head, text in re.findall(r"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b", "".join(self.sent)):
            if "a=t" in head:
                found.append(text)
            elif re.fullmatch("m=[01]", head):
                found[-1] += text
        return [base64.b64decode(text, validate=True) for text in found]

    @property
    def on_screen(self) -> int:
        """Images placed and not deleted."""
        text = "".join(self.sent)
        return len(re.findall(r"a=p,i=", text)) - len(re.findall(r"a=d,d=I", text))


class PageApp(App[None]):
    CSS_PATH = str(Path(files.__file__).with_name("agent_tui.tcss"))

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    async def copy(self, text: str) -> str:
        self.copied.append(text)
        return "Copied its path."


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """says("kitty"): what the terminal can; "" it has to be asked."""
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path))

    def set_(can: str) -> None:
        monkeypatch.setattr(drawing, "can_draw", lambda: can)

    return set_


def text_of(app: App[None]) -> str:
    return "\n".join(
        str(app.screen.query_one(f"#image-{part}").render()) for part in ("title", "about", "keys")
    )


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - a bound is set
            await asyncio.sleep(0.005)


async def test_the_very_bytes_are_drawn_and_go_with_the_page(says: Any) -> None:
    says("kitty")
    board, app = Board(), PageApp()
    async with app.run_test(size=(80, 24)) as pilot:
        images = [shown(CHART, "chart.png"), shown(MAP, "map.png")]
        await app.push_screen(ImagePage(images, 0, easel=Easel(board), copy=app.copy))
        await until(lambda: board.on_screen == 1)
        assert board.images == [CHART]
        assert "chart.png  PNG" in text_of(app) and "1 of 2" in text_of(app)
        await pilot.press("right")
        await until(lambda: len(board.images) == 2 and board.on_screen == 1)
        assert board.images[1] == MAP
        await pilot.resize_terminal(60, 20)
        await until(lambda: len(board.images) == 3 and board.on_screen == 1)
        await pilot.press("escape")
        await until(lambda: board.on_screen == 0)
        assert not isinstance(app.screen, ImagePage)


async def test_what_changes_behind_it_does_not_paint_over_it(says: Any) -> None:
    says("iterm")
    board, app = Board(), PageApp()
    async with app.run_test(size=(80, 24)):
        page = ImagePage([shown(CHART)], 0, easel=Easel(board), copy=app.copy)
        await app.push_screen(page)
        await until(lambda: len(board.sent) == 1)
        page.refresh(Region(0, 0, 80, 24))  # as Textual asks for what is behind
        await asyncio.sleep(0.2)
        assert len(board.sent) == 1


def check_saved(path: str, data: bytes, home: Path) -> None:
    saved = Path(path)
    assert saved.read_bytes() == data
    assert saved.is_relative_to(home)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def saved_images(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("can", "data", "why"),
    [
        ("tmux does not hand images on", CHART, "tmux does not hand images on"),
        ("kitty", JPEG, "this terminal draws PNG only"),
        ("kitty", b"\x89PNG\r\n\x1a\n", "its size cannot be read"),
    ],
)
async def test_what_cannot_be_drawn_is_told_with_a_file(
    says: Any, can: str, data: bytes, why: str, tmp_path: Path
) -> None:
    says(can)
    board, app = Board(), PageApp()
    async with app.run_test(size=(120, 24)) as pilot:
        page = ImagePage([shown(data)], 0, easel=Easel(board), copy=app.copy)
        await app.push_screen(page)
        await until(lambda: "Saved as" in text_of(app))
        assert f"Not drawn: {why}." in text_of(app)
        assert board.sent == []
        await pilot.press("c")
        await until(lambda: app.copied)
        check_saved(app.copied[0], data, tmp_path)


@pytest.mark.parametrize("data", ["!!!", base64.b64encode(b"<svg onload=x>").decode(), ""])
async def test_what_is_no_image_is_neither_drawn_nor_saved(
    says: Any, data: str, tmp_path: Path
) -> None:
    says("kitty")
    board, app = Board(), PageApp()
    async with app.run_test(size=(80, 24)):
        image = ShownImage("image/png", data, "evil\x1b]0;t\x07.png")
        await app.push_screen(ImagePage([image], 0, easel=Easel(board), copy=app.copy))
        await until(lambda: "It " in text_of(app))
        assert board.sent == []
        assert "\x1b" not in text_of(app)
        assert saved_images(tmp_path) == []


# --- outside --------------------------------------------------------------------------------


def test_the_viewer_gets_the_path_as_one_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = tmp_path / "xdg-open"
    viewer.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" > "{tmp_path}/got"\n')
    viewer.chmod(0o755)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", str(tmp_path))
    open_outside(path := tmp_path / "a b;c.png")
    assert (tmp_path / "got").read_text().splitlines() == ["1", str(path)]
    viewer.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ImageFileError, match="ended with code 3"):
        open_outside(path)


def test_without_a_desktop_the_path_is_named_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.shutil, "which", lambda name: None)
    with pytest.raises(ImageFileError, match="copy its path"):
        files.opener({}, "linux")
    with pytest.raises(ImageFileError, match="copy its path"):
        files.opener({"DISPLAY": ":0"}, "linux")
    assert files.opener({}, "darwin") == ["open"]


def test_what_an_image_is_called_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_HOME", str(tmp_path))
    found = image_file(base64.b64encode(JPEG).decode())
    assert (found.media_type, found.path.suffix) == ("image/jpeg", ".jpg")
    assert image_file(JPEG).path == found.path
