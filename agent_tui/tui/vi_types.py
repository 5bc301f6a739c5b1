"""What vi's parts hand each other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agent_tui.tui.vi_text import Span

Mode = Literal["insert", "normal", "visual", "visual line"]
Action = Literal["", "up", "down", "history_search"]

MOST_REPEATED = 200_000
"""Characters that a count may make of a text."""
MOST_COUNT = 10_000

NAMED = {
    "left": "h", "right": "l", "home": "0", "end": "$", "backspace": "h", "up": "k", "down": "j",
    "delete": "x",
}  # fmt: skip
"""Keys without a character that mean one in normal mode."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a key does. taken False: it is none of vi's, and means what it always does.

    text: replaces [start, end) of the text, None: nothing does. cursor: its place afterwards.
    selected: what is selected afterwards. action: what the composer does, `count` times.
    """

    cursor: int = 0
    text: str | None = None
    start: int = 0
    end: int = 0
    selected: Span | None = None
    action: Action = ""
    count: int = 1
    taken: bool = True


@dataclass(frozen=True, slots=True)
class Register:
    """What was deleted or yanked last. linewise: without its last newline."""

    text: str = ""
    linewise: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """[start, end) becomes `text`; cursor: in the text afterwards."""

    start: int
    end: int
    text: str
    cursor: int

    def of(self, text: str) -> str:
        return text[: self.start] + self.text + text[self.end :]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a motion leads. exact: its last character belongs to it (inclusive)."""

    at: int
    exact: bool = False
    linewise: bool = False


Change = Callable[[str, int, int | None], Edit | None]
"""A change that can be made again: text, cursor, another count than the first time."""

HELP = """\
vi's keys are on (setting `vi_keys`); the mode stands above the composer, Enter sends in each.

- `Esc` to normal mode; there a second one closes a list, or stops
- `i` `a` `I` `A` `o` `O` to type
- `h` `j` `k` `l` `w` `b` `e` `W` `B` `E` `0` `^` `$` `gg` `G` `{` `}` `%` `f` `F` `t` `T` `;` `,` \
move; `j` and `k` go on through the history, `/` searches it
- `d` `c` `y` with these, doubled, or with `iw` `aw` `i"` `a(` `ip` and the like; all take counts
- `x` `X` `r` `s` `S` `D` `C` `Y` `J` `~` `p` `P`
- `u` undoes, `Ctrl+R` redoes, `.` does the last change again
- `v` `V` select
"""
