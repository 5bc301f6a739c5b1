"""One-line text for the screen: foreign strings made safe, cut and aligned by cells.

Everything here gives Content or plain str, never markup; `Content("...")` does not parse it.
"""

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from agent_tui.text import SafeText

LONGEST_LINE = 2000
"""Characters looked at for a one-line form; the rest could not be seen on any terminal."""


def one_line(text: object, limit: int = LONGEST_LINE) -> str:
    """`text` as one safe line: white space runs become one space, cut after `limit` characters."""
    raw = str(text)
    cut = raw[: limit + 1]
    line = " ".join(SafeText(cut).split())
    return line[:limit] + "…" if len(line) > limit or len(raw) > len(cut) else line


def fit(text: str, width: int) -> str:
    """`text` in at most `width` cells; what does not fit ends in "…"."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…"


def left_right(left: Content, right: Content, width: int, gap: int = 2) -> Content:
    """`left` and `right` at the two ends of `width` cells; the left is cut first."""
    if right.cell_length + gap >= width:
        return left.truncate(width, ellipsis=True)
    room = width - right.cell_length - gap
    left = left.truncate(room, ellipsis=True)
    return Content.assemble(left, " " * (width - left.cell_length - right.cell_length), right)


def elapsed(seconds: float) -> str:
    """Of something that still runs, in whole seconds: "6 s", "1:05", "2:03:04"."""
    total = max(0, int(seconds))
    hours, rest = divmod(total, 3600)
    minutes, secs = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02}:{secs:02}"
    return f"{minutes}:{secs:02}" if minutes else f"{secs} s"


def count(number: int, one: str, many: str = "") -> str:
    """ "1 call", "3 calls", "48,200 tokens"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
