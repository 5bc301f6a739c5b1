"""One-line text for the screen: foreign strings made safe, cut and aligned by cells.

Everything here gives Content or plain str, never markup; `Content("...")` does not parse it.
"""

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from agent_tui.text import SafeText
from agent_tui.tui.glyphs import UNICODE

ELLIPSIS = UNICODE.ellipsis
LONGEST_LINE = 2000
"""Characters looked at for a one-line form; the rest could not be seen on any terminal."""


def one_line(text: object, limit: int = LONGEST_LINE, ellipsis: str = ELLIPSIS) -> str:
    """`text` as one safe line: white space runs become one space, cut after `limit` characters."""
    raw = str(text)
    cut = raw[: limit + 1]
    line = " ".join(SafeText(cut).split())
    return line[:limit] + ellipsis if len(line) > limit or len(raw) > len(cut) else line


def fit(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """`text` in at most `width` cells; what does not fit ends in an ellipsis."""
    if cell_len(text) <= width:
        return text
    room = width - len(ellipsis)
    return set_cell_size(text, room).rstrip() + ellipsis if room >= 0 else ""


def middle_cut(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """Cut to at most `width` columns in its middle: the end stays, and a third of it before."""
    if cell_len(text) <= width or width < 4:
        return text
    room = width - cell_len(ellipsis)
    tail = text[-(room - room // 3) :]
    while cell_len(tail) > room - room // 3:
        tail = tail[1:]
    return fit(text, room // 3 + cell_len(ellipsis), ellipsis) + tail


def fit_content(content: Content, width: int, ellipsis: str = ELLIPSIS) -> Content:
    """As fit(), the styles kept."""
    if content.cell_length <= width:
        return content
    cut = content.truncate(max(0, width - len(ellipsis))).rstrip()
    return Content.assemble(cut, ellipsis).truncate(max(0, width))


def left_right(
    left: Content, right: Content, width: int, gap: int = 2, ellipsis: str = ELLIPSIS
) -> Content:
    """`left` and `right` at the two ends of `width` cells; the left is cut first."""
    if right.cell_length + gap >= width:
        return fit_content(left, width, ellipsis)
    left = fit_content(left, width - right.cell_length - gap, ellipsis)
    return Content.assemble(left, " " * (width - left.cell_length - right.cell_length), right)


def elapsed(seconds: float) -> str:
    """Of something that still runs, in whole seconds: "6 s", "1:05", "2:03:04"."""
    total = max(0, int(seconds))
    hours, rest = divmod(total, 3600)
    minutes, secs = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02}:{secs:02}"
    return f"{minutes}:{secs:02}" if minutes else f"{secs} s"
