"""Limits of a run: turns, cost, seconds. Reached: a clear word, and exit code 3 (DESIGN)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]


@dataclass(slots=True)
class Limits:
    """None: no limit. max_turns counts model calls of a run, max_cost the dollars that it has
    cost, max_seconds the time since it began. spent: dollars so far, by which a run begins.
    """

    max_turns: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None
    clock: Clock = time.monotonic
    spent: Callable[[], float] = field(default=lambda: 0.0)
    reached: str | None = field(default=None, init=False)
    """Which limit ended the last run, in words."""
    _turns: int = field(default=0, init=False)
    _began: float = field(default=0.0, init=False)
    _spent_before: float = field(default=0.0, init=False)

    def begin(self) -> None:
        """A new run."""
        self._turns = 0
        self._began = self.clock()
        self._spent_before = self.spent()
        self.reached = None

    def seconds_left(self) -> float | None:
        if self.max_seconds is None:
            return None
        return max(0.0, self.max_seconds - (self.clock() - self._began))

    def time_is_up(self) -> None:
        self.reached = f"the limit of {self.max_seconds:g} seconds is reached (max_seconds)"

    def why_spent(self) -> str:
        """Why nothing that costs may be begun beside the run; "" if it may."""
        if self.max_cost is None or self.spent() - self._spent_before < self.max_cost:
            return ""
        return f"the limit of {_dollars(self.max_cost)} is reached (max_cost)"

    def after_turn(self, *, goes_on: bool) -> bool:
        """True when a limit is reached and the run would go on after this turn: a run that
        ends by itself was not stopped. What is unknown of the cost cannot reach max_cost."""
        self._turns += 1
        if not goes_on:
            return False
        if self.max_turns is not None and self._turns >= self.max_turns:
            self.reached = f"the limit of {_turns(self.max_turns)} is reached (max_turns)"
        elif self.max_cost is not None and self.spent() - self._spent_before >= self.max_cost:
            self.reached = f"the limit of {_dollars(self.max_cost)} is reached (max_cost)"
        return self.reached is not None


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"


def _dollars(amount: float) -> str:
    """As money is written, but never rounded."""
    return f"${amount:.2f}" if round(amount, 2) == amount else f"${amount:g}"
