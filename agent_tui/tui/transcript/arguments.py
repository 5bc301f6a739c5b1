"""Arguments of a call while they stream: bounded tails of what has come, by path.

They come as (path, text) additions, so nothing is parsed here and nothing grows with what
came before.
"""

from collections import deque

from agent_tui.text import SafeText, clean
from agent_tui.tui.transcript import tool_text
from agent_tui.tui.transcript.lines import Runs

_TAIL = 16_384
"""Characters kept of one string."""


class Tail:
    """The end of a growing text, of bounded size. lines: how many line ends went by."""

    __slots__ = ("_pieces", "_size", "lines")

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._size = 0
        self.lines = 0

    def add(self, text: str) -> None:
        if not text:
            return
        self.lines += text.count("\n")
        if len(text) > _TAIL:
            text = text[-_TAIL:]
        self._pieces.append(text)
        self._size += len(text)
        while len(self._pieces) > 1 and self._size - len(self._pieces[0]) >= _TAIL:
            self._size -= len(self._pieces.popleft())

    def last(self, lines: int) -> str:
        """At most the last `lines` lines."""
        text = "".join(self._pieces)
        self._pieces = deque([text])
        return "\n".join(text.rsplit("\n", lines)[-lines:])

    def __bool__(self) -> bool:
        return bool(self._pieces)


class Arguments:
    """The arguments of a call as they become readable: (path, text) additions."""

    def __init__(self) -> None:
        self.tails: dict[str, Tail] = {}
        self.characters = 0

    def add(self, path: str, text: str) -> None:
        tail = self.tails.get(path)
        if tail is None:
            tail = self.tails[path] = Tail()
        tail.add(text)
        self.characters += len(text)

    def text(self, path: str) -> str:
        tail = self.tails.get(path)
        return tail.last(_TAIL) if tail else ""

    def window(self, name: str, lines: int) -> list[Runs]:
        """The last lines of what has come, in the form of the tool."""
        main = tool_text.main_argument(name)
        shown: list[Runs] = []
        for path, tail in reversed(self.tails.items()):
            if path == main and name != "shell":
                continue
            room = lines - len(shown)
            if room <= 0:
                break
            shown[:0] = self._lines(name, path, tail, room)
        return shown[-lines:]

    def _lines(self, name: str, path: str, tail: Tail, room: int) -> list[Runs]:
        text = SafeText(tail.last(room))
        leaf = path.rpartition(".")[2]
        if name == "edit" and leaf in ("old", "new"):
            sign, style = ("-", "diff-del") if leaf == "old" else ("+", "diff-add")
            # A text that is whole by now ends its last line, and begins none.
            whole = tail is not next(reversed(self.tails.values()))
            lines = text.removesuffix("\n") if whole else text
            return [[(f"{sign}{line}", style)] for line in lines.split("\n")]
        if (name, path) == ("write", "content"):
            return [[(f"+{line}", "diff-add")] for line in text.split("\n")]
        if (name, path) == ("shell", "command"):
            return [[(line, "code")] for line in text.split("\n")]
        return tool_text.table_rows(clean(path), text, tool_text.key_cells(self.tails))
