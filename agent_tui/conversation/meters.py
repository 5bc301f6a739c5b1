"""Meters: what a conversation counts as it goes: usage, the cache, the context."""

from collections.abc import Callable, Sequence

from agent_tui.agent.events import AgentEvent
from agent_tui.agent.messages import AgentMessage
from agent_tui.conversation.events import ConversationEvent
from agent_tui.conversation.usage import InfoOf, UsageMeter, UsageTotals


class Meters:
    """Give it every AgentEvent; it tells the counts as ConversationEvents."""

    def __init__(self, info_of: InfoOf, emit: Callable[[ConversationEvent], None]) -> None:
        self._emit = emit
        self._usage = UsageMeter(info_of)

    @property
    def totals(self) -> UsageTotals:
        return self._usage.totals

    def begin(self, messages: Sequence[AgentMessage]) -> None:
        """Anew, with what a session holds already."""
        self._usage.begin(messages)

    def on_event(self, event: AgentEvent) -> None:
        if self._usage.on_event(event) is not None:
            self._emit(self.totals.event())
