"""The calls of one program in numbers: what each line of it has called, and how long that took.

Time here is the time in which calls ran: it goes by while one runs and stands still between
two. It is told by how long calls took and by the order in which they began and ended, so it
does not depend on when the screen came to look.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

CallState = Literal["open", "waiting", "running", "done", "failed", "stopped"]
"""open: it does not run yet. waiting: for the user."""

GROUPED = 8
"""With more calls than this, those that went well are shown as one line."""

_MOST_TELLING: tuple[CallState, ...] = ("waiting", "running", "open", "failed", "stopped")

_SCALES = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 240.0, 300.0, 600.0, 1800.0, 3600.0)
"""Seconds that a whole bar may stand for."""


class Tally:
    """How many calls are in which state, and how long they ran in all."""

    __slots__ = ("_begun", "counts", "seconds")

    def __init__(self) -> None:
        self.counts: Counter[CallState] = Counter()
        self.seconds = 0.0
        """The time in which at least one of them ran, of those that ended."""
        self._begun: dict[str, float] = {}

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def unanswered(self) -> int:
        """Calls that the program waits for."""
        return sum(self.counts[state] for state in ("open", "waiting", "running"))

    @property
    def state(self) -> CallState:
        """What to show of all of them: what needs the user first, then what goes on."""
        for state in _MOST_TELLING:
            if self.counts[state]:
                return state
        return "done"

    def moved(
        self, call_id: str, old: CallState | None, new: CallState, seconds: float | None
    ) -> None:
        """A call went from one state to another; seconds: how long it took, once it ended."""
        if old is not None:
            self.counts[old] -= 1
        self.counts[new] += 1
        if new == "running":
            self._begun.setdefault(call_id, self.seconds)
        elif new in ("done", "failed", "stopped"):
            begun = self._begun.pop(call_id, self.seconds)
            self.seconds = max(self.seconds, begun + (seconds or 0.0))

    def removed(self, call_id: str, state: CallState) -> None:
        self.counts[state] -= 1
        self._begun.pop(call_id, None)

    def begun(self, call_id: str) -> float:
        """When it began, in the time of this tally."""
        return self._begun.get(call_id, self.seconds)


@dataclass(slots=True, eq=False)
class ProgramCall:
    """One call as its program sees it. line: of the code that made it, None where that is not
    certain. begun: in the time of the program's calls; None before it runs."""

    id: str
    name: str
    line: int | None = None
    state: CallState = "open"
    begun: float | None = None
    seconds: float | None = None


@dataclass(slots=True)
class ProgramCalls:
    """The calls of a program, in order. lines: tallies of those whose line is known."""

    calls: dict[str, ProgramCall] = field(default_factory=dict[str, ProgramCall])
    all: Tally = field(default_factory=Tally)
    lines: dict[int, Tally] = field(default_factory=dict[int, Tally])
    done: Counter[str] = field(default_factory=Counter[str])
    """Those that went well, by name."""
    scale: float = _SCALES[0]
    """Seconds that a whole bar stands for."""
    timed: bool = True
    """Whether it was seen which calls ran at once: of a stored program it was not, and the time
    of all of them together is not known."""

    @property
    def grouped(self) -> bool:
        return len(self.calls) > GROUPED

    def add(self, call: ProgramCall) -> None:
        self.calls[call.id] = call
        for tally in self._tallies(call):
            tally.moved(call.id, None, call.state, None)

    def move(self, call: ProgramCall, state: CallState, seconds: float | None = None) -> bool:
        """The call is in another state now; False when it is in this one already."""
        if state == call.state:
            return False
        if state == "done":
            self.done[call.name] += 1
        if state == "running" and call.begun is None:
            call.begun = self.all.seconds
        if seconds and call.begun is None:
            self.timed = False
        old, call.state, call.seconds = call.state, state, seconds
        for tally in self._tallies(call):
            tally.moved(call.id, old, state, seconds)
        return True

    def place(self, call: ProgramCall, line: int) -> None:
        """Its line has become known."""
        call.line = line
        self.lines.setdefault(line, Tally()).moved(call.id, None, call.state, call.seconds)

    def remove(self, call: ProgramCall) -> None:
        """It was taken back with its message."""
        if self.calls.pop(call.id, None) is None:
            return
        for tally in self._tallies(call):
            tally.removed(call.id, call.state)
        if call.state == "done":
            self.done[call.name] -= 1

    def span(self, call: ProgramCall, running_for: float) -> tuple[float, float] | None:
        """From when to when it ran, in the time of the calls; None: it did not, or nobody
        knows. running_for: seconds since it began, while it runs."""
        if call.begun is None:
            return None
        if call.state == "running":
            return call.begun, call.begun + max(0.0, running_for)
        return None if call.seconds is None else (call.begun, call.begun + call.seconds)

    def rescale(self, until: float) -> bool:
        """A bar must reach so far; True when that changed what bars stand for."""
        if until <= self.scale:
            return False
        self.scale = next((s for s in _SCALES if s >= until), until * 2)
        return True

    def _tallies(self, call: ProgramCall) -> list[Tally]:
        if call.line is None:
            return [self.all]
        return [self.all, self.lines.setdefault(call.line, Tally())]


def bar_cells(span: tuple[float, float], scale: float, cells: int) -> tuple[int, int]:
    """First and last cell (exclusive) of a bar of `cells` that stands for `scale` seconds."""
    start = min(cells - 1, int(span[0] / scale * cells))
    end = min(cells, max(start + 1, round(span[1] / scale * cells)))
    return start, end
