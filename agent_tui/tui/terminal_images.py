"""Images on a terminal that can draw them: who can, what is sent, what takes it away again.

Two protocols: kitty's graphics (kitty, ghostty and others say so when they are asked; PNG as it
is) and iTerm2's inline images (iTerm2, WezTerm; any format). The bytes of an image reach the
terminal base64-encoded only, so nothing in them can act there.
"""

import base64
import math
import os
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

Protocol = Literal["kitty", "iterm"]

LARGEST = 8_000_000
"""Bytes; a larger image is told in words: over a slow line it would hold the screen for long."""

_CHUNK = 4096
"""Base64 characters in one sequence, the most that kitty's protocol allows."""

_DUMB = frozenset({"", "dumb", "unknown", "linux", "cons25", "vt52", "vt100", "vt102", "vt220"})
"""TERM of terminals that draw sequences which they do not know."""

KITTY_QUERY = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"
"""May an image be sent? And the question that every terminal answers, after it: who answers
only that one cannot draw."""

UNKNOWN_CELL = (10, 16)
"""Pixels of a cell where the terminal does not say; rather wide, so that an image ends above the
last row in any case."""


class Area(NamedTuple):
    """Cells of the screen, from 0."""

    x: int
    y: int
    width: int
    height: int


def can_draw(environ: Mapping[str, str] | None = None) -> Literal["iterm", "ask"] | str:
    """ "iterm", "ask" (only the terminal knows), else why not, as the rest of a sentence."""
    environ = os.environ if environ is None else environ
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    for variable, name in (("TMUX", "tmux"), ("STY", "screen"), ("ZELLIJ", "zellij")):
        if environ.get(variable):
            return f"{name} does not hand images on"
    if term.startswith(("screen", "tmux")):
        return "a multiplexer does not hand images on"
    if term in _DUMB or program == "Apple_Terminal":
        return "this terminal draws none"
    if program in ("iTerm.app", "WezTerm") or environ.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    return "ask"


def cell_size(fd: int) -> tuple[int, int] | None:
    """(width, height) of a cell in pixels; None where the terminal behind fd does not say."""
    try:
        import fcntl
        import struct
        import termios

        raw = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
    except (ImportError, OSError):
        return None
    rows, columns, width, height = struct.unpack("HHHH", raw)
    if not (rows and columns and width >= columns and height >= rows):
        return None
    return width // columns, height // rows


def fitted(pixels: tuple[int, int], area: Area, cell: tuple[int, int] | None) -> tuple[int, int]:
    """Columns and rows that an image takes in `area`: whole, its shape kept, never enlarged."""
    wide, high = cell or UNKNOWN_CELL
    scale = min(1.0, area.width * wide / pixels[0], area.height * high / pixels[1])
    columns, rows = pixels[0] * scale / wide, pixels[1] * scale / high
    return (
        max(1, min(area.width, math.ceil(columns - 0.01))),
        max(1, min(area.height, math.ceil(rows - 0.01))),
    )


def kitty_image(image_id: int, data: bytes) -> Iterator[str]:
    """A PNG to be kept by the terminal, in pieces; nothing is drawn yet. Between two pieces no
    other graphics may be sent (text may)."""
    text = base64.standard_b64encode(data).decode("ascii")
    for at in range(0, len(text), _CHUNK):
        more = int(at + _CHUNK < len(text))
        head = f"a=t,f=100,t=d,i={image_id},q=2,m={more}" if at == 0 else f"m={more}"
        yield f"\x1b_G{head};{text[at : at + _CHUNK]}\x1b\\"


KITTY_LAST = "\x1b_Gm=0;\x1b\\"
"""Ends an image that was sent in part only."""


def kitty_place(image_id: int, area: Area, size: tuple[int, int]) -> str:
    """Draw the image that is kept. Only the side that limits it is given, so that the terminal,
    which knows its cells, keeps the shape. size: as fitted() gives it."""
    by_width = size[0] / area.width >= size[1] / area.height
    side = f"c={size[0]}" if by_width else f"r={size[1]}"
    return _at(area, f"\x1b_Ga=p,i={image_id},{side},C=1,q=2\x1b\\")


def kitty_delete(image_id: int) -> str:
    """Off the screen, and out of the terminal's memory."""
    return f"\x1b_Ga=d,d=I,i={image_id},q=2\x1b\\"


def iterm_image(data: bytes, area: Area, size: tuple[int, int]) -> str:
    """Draw it; the text that is written over it takes it away."""
    text = base64.standard_b64encode(data).decode("ascii")
    head = (
        f"inline=1;size={len(data)};width={size[0]};height={size[1]};"
        "preserveAspectRatio=1;doNotMoveCursor=1"
    )
    return _at(area, f"\x1b]1337;File={head}:{text}\x07")


def _at(area: Area, sequence: str) -> str:
    return f"\x1b7\x1b[{area.y + 1};{area.x + 1}H{sequence}\x1b8"
