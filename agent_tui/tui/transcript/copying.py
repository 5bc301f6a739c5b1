"""Text selection: what is copied, and how the selected cells are marked.

A selection's y is the key of a Spot, its x an index of shown characters.
"""

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection

from agent_tui.tui.transcript.layout import Layout, Spot

_LAID_OUT = 400
"""Parts of a selection that are laid out; of a longer one the inner parts give their source."""


def selected_text(layout: Layout, selection: Selection) -> str:
    """The source text under a selection: what is only for the eye (indents, gutters, bars)
    is left out and soft-wrapped rows are joined again."""
    start, end = selection.start, selection.end
    first = Spot(0, 0, 0) if start is None else Spot.from_key(start.y)
    last = Spot(len(layout.blocks), 0, 0) if end is None else Spot.from_key(end.y)
    pieces: list[str] = []
    for count, (block, index) in enumerate(layout.parts_from(first.block, first.part)):
        here = (block.index, index)
        if here > (last.block, last.part):
            break
        inner = here not in ((first.block, first.part), (last.block, last.part))
        if inner and count > _LAID_OUT:
            # Laying out megabytes for a copy would stop the screen.
            pieces.append(f"{block.parts[index].source()}\n")
            continue
        for number, line in enumerate(layout.rows(block, index)):
            spot = (*here, number)
            if first <= spot <= last:
                begin = start.x if start is not None and spot == first else 0
                stop = end.x if end is not None and spot == last else None
                pieces.append(line.copied(begin, stop))
                pieces.append("\n" if line.join is None else line.join)
    return "".join(pieces).removesuffix("\n")


def marked(segments: list[Segment], start: int, end: int, style: Style) -> list[Segment]:
    """The segments with `style` on the characters [start, end), end -1: to the last."""
    out: list[Segment] = []
    at = 0
    for segment in segments:
        text, own = segment.text, segment.style
        stop = len(text) if end < 0 else max(0, min(len(text), end - at))
        begin = min(stop, max(0, start - at))
        for piece, chosen in ((text[:begin], 0), (text[begin:stop], 1), (text[stop:], 0)):
            if piece:
                out.append(Segment(piece, own + style if own and chosen else own))
        at += len(text)
    return out
