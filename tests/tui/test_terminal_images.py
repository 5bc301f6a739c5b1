"""Who is sent images, and what is sent: base64 only, whole, in pieces that terminals take."""

import base64
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_tui.tui import terminal_images as drawing
from agent_tui.tui.terminal_images import Area, can_draw, fitted

PIECE = re.compile(r"\x1b_G([^;\x1b]*);([A-Za-z0-9+/=]*)\x1b\\")


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"TERM": "xterm-256color"}, "ask"),
        ({"TERM": "xterm-kitty"}, "ask"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "iterm"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "iterm"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/t,1,0"}, "tmux does not hand images on"),
        ({"TERM": "screen", "STY": "1.a"}, "screen does not hand images on"),
        ({"TERM": "tmux-256color", "LC_TERMINAL": "iTerm2"}, "a multiplexer does not hand"),
        ({"TERM": "linux"}, "this terminal draws none"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "this terminal draws none"),
        ({}, "this terminal draws none"),
    ],
)
def test_only_terminals_that_may_draw_are_asked(environ: dict[str, str], said: str) -> None:
    assert can_draw(environ).startswith(said)


@example(bytes(range(256)) * 40)
@given(st.binary(min_size=1, max_size=20_000))
def test_kitty_gets_the_very_bytes_in_pieces_of_4096(data: bytes) -> None:
    pieces = list(drawing.kitty_image(7, data))
    matches = [PIECE.fullmatch(piece) for piece in pieces]
    assert all(matches), "something else than base64 went out"
    heads, texts = zip(*((m[1], m[2]) for m in matches if m), strict=True)
    assert base64.b64decode("".join(texts), validate=True) == data
    assert all(len(text) <= 4096 for text in texts)
    assert heads[0].startswith("a=t,f=100,t=d,i=7,q=2,")
    assert [head.endswith("m=1") for head in heads] == [True] * (len(heads) - 1) + [False]


@given(st.binary(min_size=1, max_size=5_000))
def test_iterm_gets_the_very_bytes_and_nothing_that_acts(data: bytes) -> None:
    sent = drawing.iterm_image(data, Area(2, 3, 40, 10), (40, 10))
    found = re.fullmatch(
        r"\x1b7\x1b\[4;3H\x1b\]1337;File=([a-zA-Z0-9=;]*):([A-Za-z0-9+/=]*)\x07\x1b8", sent
    )
    assert found is not None
    assert base64.b64decode(found[2], validate=True) == data
    assert f"size={len(data)};" in found[1]
    assert "width=40;height=10;preserveAspectRatio=1;doNotMoveCursor=1" in found[1]


side = st.integers(1, 9000)


@given(st.tuples(side, side), st.integers(1, 300), st.integers(1, 100))
def test_an_image_is_drawn_whole_in_its_cells(
    pixels: tuple[int, int], width: int, height: int
) -> None:
    columns, rows = fitted(pixels, Area(0, 0, width, height), (9, 18))
    assert 1 <= columns <= width
    assert 1 <= rows <= height


def test_it_keeps_its_shape_and_is_never_enlarged() -> None:
    area = Area(0, 0, 100, 30)
    assert fitted((90, 36), area, (9, 18)) == (10, 2)  # as large as it is
    assert fitted((9000, 1800), area, (9, 18)) == (100, 10)
    assert fitted((1800, 9000), area, (9, 18)) == (12, 30)
    assert "c=100," in drawing.kitty_place(1, area, (100, 10))
    assert "r=30," in drawing.kitty_place(1, area, (12, 30))
