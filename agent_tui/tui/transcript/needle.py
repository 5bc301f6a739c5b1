"""Needle: the text that is searched for, and how it is compared.

Letters match in either case. Marks of emphasis and code of markdown are looked through, unless
the needle has such marks itself. A needle is one line, so texts may be cut at line ends.
"""

from collections.abc import Iterable, Iterator

CHUNK = 131_072
"""About so many characters are compared in one step."""

_MARKS = ("**", "`", "~~")


def fold(text: str) -> str:
    """The text in lower case, as long as before: places in it stay what they are."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c if len(low := c.lower()) != 1 else low for c in text)


class Needle:
    """query: as typed; its first line counts."""

    __slots__ = ("_through_marks", "query", "text")

    def __init__(self, query: str) -> None:
        self.query = query.partition("\n")[0]
        self.text = fold(self.query)
        self._through_marks = not any(mark[0] in self.text for mark in _MARKS)

    def __bool__(self) -> bool:
        return bool(self.text)

    def read(self, text: str, *, markdown: bool) -> str:
        """The text as it is compared."""
        if markdown and self._through_marks:
            for mark in _MARKS:
                if mark in text:
                    text = text.replace(mark, "")
        return fold(text)

    def found_in(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each match in a text that was read."""
        at = text.find(self.text)
        while at >= 0:
            yield at, at + len(self.text)
            at = text.find(self.text, at + len(self.text))


def pieces(texts: Iterable[str]) -> Iterator[str]:
    """The texts in pieces of about CHUNK characters that end with a line."""
    for text in texts:
        start = 0
        while len(text) - start > CHUNK:
            end = text.find("\n", start + CHUNK) + 1
            if not end:
                break
            yield text[start:end]
            start = end
        yield text[start:] if start else text
