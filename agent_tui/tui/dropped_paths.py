"""What a terminal pastes when a file is dropped on it: its path, quoted in one way or another.

A dropped image, and any file given as a `file://` address, becomes an `@path`, so that it goes
out with the message. Other paths stay the text they are.
"""

import os
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agent_tui.conversation.mentions.syntax import written
from agent_tui.image_head import image_type

LONGEST = 8000
MOST = 20
_HEAD = 16
_BEGINS = re.compile(r"""(?:file://|['"]?(?:/|~/))""")


def as_mentions(pasted: str) -> str | None:
    """The mentions that stand for these paths, a space behind each; None for any other text.
    Looks at each file's first bytes: nothing is done for a text that does not begin as a path."""
    text = pasted.strip()
    if len(text) > LONGEST or "\0" in text or not _BEGINS.match(text):
        return None
    for words in _readings(text):
        paths = [_path(word) for word in words]
        if 0 < len(paths) <= MOST and all(path is not None for path in paths):
            return "".join(f"@{written(_short(path))} " for path in paths if path is not None)
    return None


def _short(path: str) -> str:
    """From the working folder where the file is in it."""
    try:
        here = os.getcwd()  # noqa: PTH109 - of any path
    except OSError:
        return path
    inside = path.removeprefix(f"{here.rstrip('/')}/")
    return inside or path


def _readings(text: str) -> list[list[str]]:
    """One path a line as it stands, or words as a shell would read them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    try:
        return [lines, shlex.split(text)]
    except ValueError:
        return [lines]


def _path(word: str) -> str | None:
    """The path of a file that is meant to be sent; None where it is not."""
    given_as_address = word.startswith("file://")
    if given_as_address:
        parts = urlsplit(word)
        if parts.netloc not in ("", "localhost"):
            return None
        path = unquote(parts.path)
    else:
        path = os.path.expanduser(word)  # noqa: PTH111
    if not path.startswith("/") or "\0" in path:
        return None
    try:
        file = Path(path)
        if not file.is_file():
            return path if given_as_address and file.is_dir() else None
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError:
        return None
    return path if given_as_address or image_type(head) is not None else None
