"""Scenarios: a given list of turns that the offline server plays (tests, benches, soak)."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Scenario:
    """turns: one per request, in order; past the list: text "(unscripted)". See from_json."""

    turns: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @classmethod
    def from_json(cls, text: str) -> "Scenario":
        raise NotImplementedError
