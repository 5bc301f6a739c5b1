"""How a text names a file or a resource: `@path`, `@"a path with spaces"`.

Inside quotes a backslash takes the next character as it is, and `\\n`, `\\t`, `\\x1b` and
`\\u202e` are what they are in most languages, so that every name a file can have can be written
without a character that a terminal would obey.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_BEFORE = r"(?<![^\s(\[{])"
_MENTION = re.compile(_BEFORE + r'@(?:"(?P<quoted>(?:[^"\\\n]|\\.)+)"|(?P<plain>[^\s"@][^\s"]*))')
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U00[01][0-9a-f]{5}|.)", re.DOTALL)
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_TRAILING = ".,;:!?)]}>'"
_PLAIN = re.compile(r"[^\s\"'\\@(\[{<][^\s\"'\\]*\Z")


@dataclass(frozen=True, slots=True)
class Mention:
    """written: as it stands behind the @. path: what it names."""

    written: str
    path: str


def mentions(text: str) -> Iterator[list[Mention]]:
    """What each @ of the text may name, the likeliest first: the sign that ends a sentence may
    belong to a name or not. E-mail addresses name nothing."""
    for found in _MENTION.finditer(text):
        if (quoted := found["quoted"]) is not None:
            yield [Mention(f'"{quoted}"', unescaped(quoted))]
            continue
        plain = found["plain"]
        shorter = plain.rstrip(_TRAILING)
        yield [Mention(one, one) for one in dict.fromkeys((plain, shorter)) if one]


def written(path: str) -> str:
    """How to name this path behind an @."""
    is_plain = _PLAIN.match(path) and path.isprintable() and path.rstrip(_TRAILING) == path
    return path if is_plain else f'"{"".join(map(_escaped, path))}"'


def unescaped(quoted: str) -> str:
    """What stands between the quotes, as the name it is."""
    return _ESCAPE.sub(lambda found: _meant(found[1]), quoted)


def _escaped(character: str) -> str:
    if character.isprintable():
        return _ESCAPED.get(character, character)
    number = ord(character)
    code = f"x{number:02x}" if number < 0x100 else f"u{number:04x}"
    return _ESCAPED.get(character) or "\\" + (code if number < 0x10000 else f"U{number:08x}")


def _meant(escape: str) -> str:
    if len(escape) > 1:
        number = int(escape[1:], 16)
        return chr(number) if number <= sys.maxunicode else escape
    return _UNESCAPED.get(escape, escape)


def named_so_far(typed: str) -> str:
    """The path meant by what is typed behind an @ so far, its quote open or closed."""
    if not typed.startswith('"'):
        return typed
    inside = typed[1:]
    if inside.endswith('"') and not inside.endswith('\\"'):
        inside = inside[:-1]
    return unescaped(inside)
