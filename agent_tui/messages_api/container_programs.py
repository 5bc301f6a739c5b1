"""The programs of a container: how each went, and the calls it made."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

ProgramState = Literal["written", "running", "done", "failed", "stopped"]
"""written: the model is still at its code. stopped: its result never came."""

CallState = Literal["pending", "ok", "failed", "lost"]
"""lost: its result never reached the program."""


@dataclass(slots=True, eq=False)
class ProgramCall:
    """One call of a program. tokens: of its result, an estimate; 0 until it is there."""

    id: str
    name: str
    program: "Program"
    state: CallState = "pending"
    tokens: int = 0


@dataclass(slots=True, eq=False)
class Program:
    """One program. number: in the conversation, from 1; 0 for a command line. started_at,
    ended_at: seconds since 1970, from when its code was whole until its result came; None when
    not known. about: the times are those of stored messages, so `seconds` holds the writing of
    the code as well.

    exit_code: None while it runs, and where the service gave none. calls: made so far; failed:
    those whose result was an error. results: those that reached it; kept_out: their tokens.
    """

    id: str
    number: int
    state: ProgramState = "written"
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    error_code: str | None = None
    calls: int = 0
    failed: int = 0
    pending: int = 0
    results: int = 0
    kept_out: int = 0
    about: bool = False

    @property
    def seconds(self) -> float | None:
        """How long it took, waiting for its calls included; None until it ended."""
        if self.started_at is None or self.ended_at is None:
            return None
        seconds = max(0.0, self.ended_at - self.started_at)
        return None if self.about and not seconds else seconds

    @property
    def round_trips_saved(self) -> int:
        return max(0, self.results - 1)

    def begin(self, now: float) -> None:
        """Its code is whole, or it calls: it runs, also if it was given up too early."""
        if self.started_at is None:
            self.started_at = now
        self.state, self.ended_at = "running", None

    def end(self, state: ProgramState, now: float) -> None:
        self.state, self.ended_at = state, now

    def called(self, call_id: str, name: str) -> ProgramCall:
        self.calls += 1
        self.pending += 1
        return ProgramCall(call_id, name, self)

    def ended(self, call: ProgramCall) -> None:
        """The call has its result."""
        self.pending -= 1
        self.failed += call.state == "failed"

    def delivered(self, call: ProgramCall) -> None:
        """The result went to the program."""
        self.results += 1
        self.kept_out += call.tokens

    def undelivered(self, call: ProgramCall) -> None:
        """The result, if it has one, will not go to the program."""
        if call.state == "pending":
            self.pending -= 1
        call.state = "lost"

    def forget(self, call: ProgramCall) -> None:
        """It was never made: its message is taken back."""
        self.calls -= 1
        self.pending -= 1
        call.state = "lost"


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over programs."""

    programs: int = 0
    calls: int = 0
    failed: int = 0
    kept_out: int = 0
    round_trips_saved: int = 0

    @classmethod
    def of(cls, programs: Iterable[Program]) -> "Totals":
        ran = list(programs)
        return cls(
            len(ran),
            sum(p.calls for p in ran),
            sum(p.failed for p in ran),
            sum(p.kept_out for p in ran),
            sum(p.round_trips_saved for p in ran),
        )

    def plus(self, other: "Totals") -> "Totals":
        return Totals(
            self.programs + other.programs,
            self.calls + other.calls,
            self.failed + other.failed,
            self.kept_out + other.kept_out,
            self.round_trips_saved + other.round_trips_saved,
        )
