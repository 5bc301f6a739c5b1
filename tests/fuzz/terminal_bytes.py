r"""What this program may write to a terminal: the sequences of Textual's driver and our own, and
printable text. Everything else is foreign.

Textual 8.2: textual/drivers/linux_driver.py and _compositor.py; ours: tui/terminal_signals.py,
terminal_restore.py, clipboard.py.
"""

import re
from collections.abc import Collection

from tests.fuzz.nasty import acts

_ALLOWED = re.compile(
    r"""
      \x1b\[ [0-9;:]* m                                        # colours
    | \x1b\[ \d+;\d+ H  | \x1b\[H                              # where the next row goes
    | \x1b\[\? (?: 7|25|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048 ) [hl]
    | \x1b\[\? (?: 2026|2048 ) \$p                             # what can it?
    | \x1b\[> \d+ u | \x1b\[<u                                 # kitty's keys
    | \x1b\[2[23];2t                                           # the title is kept, comes back
    | \x1b\]2; (?P<title> [^\x00-\x1f\x7f-\x9f]{0,200} ) \x07
    | \x1b\]52;c; (?P<clipboard> [A-Za-z0-9+/=]* ) (?: \x07 | \x1b\\ )
    | \x1b\]8; (?: id=[\w-]* )? ; (?P<link> [!-:<-~]* ) \x1b\\
    | \x1b\]9;4; \d (?: ;\d+ )? \x07                           # progress
    | \x1b\]9; (?P<notification> agent-tui[^\x00-\x1f\x7f-\x9f]{0,300} ) \x07
    | \x1b\]22; [a-z-]{0,20} \x07                              # the pointer's shape
    | (?P<bell> \x07 )
    | \r\n | \n
    """,
    re.VERBOSE,
)


class Written:
    """The bytes of a pty, taken apart. foreign: what is none of ours, each with its
    surroundings; titles, clipboard (base64), links, notifications, bells: what was sent."""

    def __init__(self, raw: bytes, *, ours: Collection[str] = ()) -> None:
        """ours: more sequences that are right here (the answers of a terminal that echoes)."""
        text = raw.decode("utf-8", "surrogateescape")
        for sequence in ours:
            text = text.replace(sequence, "")
        self.titles: list[str] = []
        self.clipboard: list[str] = []
        self.links: list[str] = []
        self.notifications: list[str] = []
        self.bells = 0
        self.foreign: list[str] = []
        at = 0
        for match in _ALLOWED.finditer(text):
            self._plain(text, at, match.start())
            at = match.end()
            for name, kept in (
                ("title", self.titles),
                ("clipboard", self.clipboard),
                ("link", self.links),
                ("notification", self.notifications),
            ):
                if match[name] is not None:
                    kept.append(match[name])
            self.bells += match["bell"] is not None
        self._plain(text, at, len(text))

    def _plain(self, text: str, start: int, end: int) -> None:
        for index in range(start, end):
            if acts(text[index]):
                self.foreign.append(repr(text[max(0, index - 30) : index + 30]))
