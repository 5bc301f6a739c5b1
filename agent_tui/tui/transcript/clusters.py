"""Characters that a terminal draws as one, and forms of them that any terminal draws alike.

Rich measures an emoji sequence (a family, a skin tone, a heart with its selector) as one
glyph of two cells. Many terminals and multiplexers add up its code points instead, and from
there on the row is shifted. So a sequence is shown by signs that take the measured cells
everywhere, unless the terminal is known to agree (glyphs.py).
"""

import re

from rich.cells import CellSpan, get_character_cell_size, split_graphemes

_NOTHING = "\u2060"
"""A word joiner: no cell on any terminal, and what stands beside it does not join."""

_JOINER = "\u200d"
_DROPPED = frozenset("\ufe0e\ufe0f" + "".join(map(chr, range(0x1F3FB, 0x1F400))))
"""Selectors and skin tones: they change a picture, and are measured in many ways."""

_KEYCAP = "\ufe0f\u20e3"
_PICTURE = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
_TRICKY = re.compile("[\u200d\ufe0e\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
_LOOSE_JOINER = re.compile(
    rf"\u200d(?:(?<![{_PICTURE}\ufe0f]\u200d)|(?![{_PICTURE}])|(?=[\U0001f3fb-\U0001f3ff]))"
)


def is_narrow(text: str) -> bool:
    """Every character takes one cell and may stand alone."""
    return text.isascii() or all(
        get_character_cell_size(char) == 1 and not _is_regional(char) for char in set(text)
    )


def _is_regional(char: str) -> bool:
    """A letter of a flag: two of them are one picture."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def clusters(text: str) -> list[CellSpan]:
    """[start, end) and cells of all that must not be cut apart, flags too."""
    spans = split_graphemes(text)[0]
    if not any(map(_is_regional, text)):
        return spans
    joined: list[CellSpan] = []
    half = False  # the last one is the first half of a flag
    for start, end, cells in spans:
        regional = _is_regional(text[start])
        if half and regional:
            before = joined.pop()
            joined.append((before[0], end, before[2] + cells))
        else:
            joined.append((start, end, cells))
        half = regional and not half
    return joined


def measurable(text: str) -> str:
    """`text` with joiners that do not stand between two pictures as word joiners: Rich leaves
    out what follows a joiner when it measures, and a terminal draws it. As many characters
    as before."""
    return _LOOSE_JOINER.sub(_NOTHING, text) if _JOINER in text else text


def steady(text: str) -> str:
    """`text` with each emoji sequence in a form of the cells that Rich measures for it: its
    first picture without a tone, the key of a keycap, the letters of a flag. As many
    characters as before."""
    if text.isascii() or _TRICKY.search(text) is None:
        return text
    pieces = ((text[start:end], cells) for start, end, cells in split_graphemes(text)[0])
    return "".join(
        _form(piece, cells) if _TRICKY.search(piece) else piece for piece, cells in pieces
    )


def _form(cluster: str, cells: int) -> str:
    if _TRICKY.search(cluster) is None:
        return cluster
    if _is_regional(cluster[0]):
        cluster = chr(ord(cluster[0]) - 0x1F1E6 + ord("A")) + cluster[1:]
    kept = cluster.partition(_JOINER)[0].replace(_KEYCAP, "")
    kept = "".join(char for char in kept if char not in _DROPPED)
    spaces = max(0, cells - sum(map(get_character_cell_size, kept)))
    return kept + " " * spaces + _NOTHING * (len(cluster) - len(kept) - spaces)
