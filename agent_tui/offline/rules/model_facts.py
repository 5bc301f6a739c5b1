"""What a request may ask of a model, by the model's id (the documentation's tables)."""

import re
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class ModelFacts:
    """thinking: the thinking.type values it accepts. prefill: the last message may be the
    assistant's. system_messages: role "system" may stand in the middle. max_tokens None: unknown.
    """

    thinking: frozenset[str]
    prefill: bool = False
    system_messages: bool = True
    max_tokens: int | None = None


_ALL = frozenset({"adaptive", "between_tools", "disabled", "enabled"})
_RULES: list[tuple[str, ModelFacts]] = [
    (r"demo$", ModelFacts(_ALL, max_tokens=64_000)),
    (r"claude-(?:fable|mythos)-5|claude-opus-5-5", ModelFacts(frozenset({"adaptive"}))),
    (r"claude-sonnet-5-5", ModelFacts(frozenset({"adaptive", "between_tools"}))),
    (r"claude-[a-z]+-5", ModelFacts(frozenset({"adaptive", "disabled"}))),
    (r"claude-opus-4-8", ModelFacts(_ALL - {"enabled", "between_tools"})),
    (
        r"claude-opus-4-7|claude-mythos-preview",
        ModelFacts(_ALL - {"enabled", "between_tools"}, system_messages=False),
    ),
    (r"claude-[a-z]+-4-6", ModelFacts(_ALL - {"between_tools"}, system_messages=False)),
    (
        r"claude-[a-z]+-4|claude-3-7",
        ModelFacts(frozenset({"disabled", "enabled"}), prefill=True, system_messages=False),
    ),
    (r"claude-3", ModelFacts(frozenset({"disabled"}), prefill=True, system_messages=False)),
]
_UNKNOWN = ModelFacts(_ALL, prefill=True)


def model_facts(model: str) -> ModelFacts:
    """The facts about a model id; an id that no table names is taken to accept everything."""
    return next((facts for pattern, facts in _RULES if re.match(pattern, model)), _UNKNOWN)
