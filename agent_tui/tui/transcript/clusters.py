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

_REGIONAL = "\U0001f1e6-\U0001f1ff"
_TONES = "\U0001f3fb-\U0001f3ff"
_PICTURE = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_TRICKY = re.compile(rf"[\ufe0e\ufe0f{_REGIONAL}{_TONES}]|(?<=[{_PICTURE}])\u200d")
_SCRIPT_JOINER = re.compile(rf"(?<![{_PICTURE}\ufe0f])\u200d")
_SEQUENCE = re.compile(
    rf"""
      (?P<key> [0-9\#*] ) \ufe0f? \u20e3
    | (?P<flag> [{_REGIONAL}] )
    | (?P<first> (?![{_TONES}]) [{_PICTURE}] )
        [\ufe0e\ufe0f{_TONES}]* (?: \u200d [^\u200d] [\ufe0e\ufe0f{_TONES}]* )*
    | [\ufe0e\ufe0f{_TONES}]
    """,
    re.VERBOSE,
)


def is_narrow(text: str) -> bool:
    """Every character takes one cell."""
    return text.isascii() or all(get_character_cell_size(char) == 1 for char in set(text))


def clusters(text: str) -> list[CellSpan]:
    """[start, end) and cells of all that must not be cut apart, flags too."""
    spans = split_graphemes(text)[0]
    if not any("\U0001f1e6" <= char <= "\U0001f1ff" for char in text):
        return spans
    joined: list[CellSpan] = []
    half = False  # the last one is the first half of a flag
    for start, end, cells in spans:
        regional = "\U0001f1e6" <= text[start] <= "\U0001f1ff"
        if half and regional:
            before = joined.pop()
            joined.append((before[0], end, before[2] + cells))
        else:
            joined.append((start, end, cells))
        half = regional and not half
    return joined


def measurable(text: str) -> str:
    """`text` with joiners between letters as word joiners: Rich leaves out what follows a
    joiner when it measures, and a terminal draws it. As many characters as before."""
    return _SCRIPT_JOINER.sub(_NOTHING, text) if "\u200d" in text else text


def steady(text: str) -> str:
    """`text` with each emoji sequence in a form of the cells that Rich measures for it: its
    first picture without a tone, the key of a keycap, the letters of a flag. As many
    characters as before."""
    if text.isascii() or _TRICKY.search(text) is None:
        return text
    return _SEQUENCE.sub(_form, text)


def _form(match: re.Match[str]) -> str:
    found = match[0]
    if match["flag"]:
        return chr(ord(found) - 0x1F1E6 + ord("A"))
    head = match["key"] or match["first"] or ""
    room = sum(cells for _, _, cells in split_graphemes(found)[0])
    spaces = max(0, room - sum(map(get_character_cell_size, head)))
    return head + " " * spaces + _NOTHING * (len(found) - len(head) - spaces)
