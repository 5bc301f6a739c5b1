"""Usage of a conversation: tokens and cost so far, and how full the context is."""

from dataclasses import dataclass

from agent_tui.agent.messages import AssistantMessage, Usage
from agent_tui.conversation.events import UsageChangedEvent
from agent_tui.messages_api.models import ModelInfo, Prices


@dataclass(slots=True)
class UsageTotals:
    """Sums over responses. cost None: a price was unknown once, so the sum is (shown '?')."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = 0.0
    context_tokens: int | None = None
    context_window: int | None = None

    def add(self, message: AssistantMessage, model: ModelInfo) -> None:
        """Counts one response; a response without usage changes nothing."""
        usage = message.usage
        if usage is None:
            return
        tokens = [
            usage.input or 0,
            usage.output or 0,
            usage.cache_read or 0,
            usage.cache_write or 0,
        ]
        self.input += tokens[0]
        self.output += tokens[1]
        self.cache_read += tokens[2]
        self.cache_write += tokens[3]
        self.context_tokens = sum(tokens) or None
        self.context_window = model.context_window
        cost = _cost(usage, model.prices)
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def event(self) -> UsageChangedEvent:
        return UsageChangedEvent(
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            self.cost,
            self.context_tokens,
            self.context_window,
        )


def _cost(usage: Usage, prices: Prices | None) -> float | None:
    """Dollars of one response; None where a price or a count that matters is unknown."""
    if prices is None or usage.input is None or usage.output is None:
        return None
    read, write = usage.cache_read or 0, usage.cache_write or 0
    if (read and prices.cache_read is None) or (write and prices.cache_write is None):
        return None
    return prices.cost(input=usage.input, output=usage.output, cache_read=read, cache_write=write)
