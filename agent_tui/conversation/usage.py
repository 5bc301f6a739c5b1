"""Usage of a conversation: tokens and cost so far, and how full the context is."""

from dataclasses import dataclass

from agent_tui.agent.messages import AssistantMessage
from agent_tui.conversation.events import UsageChangedEvent
from agent_tui.messages_api.models import ModelInfo


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

    def add(self, message: AssistantMessage, model: ModelInfo | None) -> None:
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
        self.context_window = model.context_window if model else None
        cost = model.cost(usage) if model else None
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
