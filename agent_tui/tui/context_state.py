"""What the Context panel shows: the last that was told of usage, cache and context."""

from dataclasses import dataclass

from agent_tui.conversation.events import CacheEvent, ContextChangedEvent, UsageChangedEvent


@dataclass(slots=True)
class ContextState:
    """stale: something has changed since, so that the next request is not what is shown."""

    context: ContextChangedEvent | None = None
    cache: CacheEvent | None = None
    last_break: CacheEvent | None = None
    usage: UsageChangedEvent | None = None
    stale: bool = False

    def apply(self, event: CacheEvent | ContextChangedEvent | UsageChangedEvent) -> None:
        match event:
            case ContextChangedEvent():
                self.context, self.stale = event, False
            case CacheEvent():
                self.cache = event
                if event.broke:
                    self.last_break = event
            case UsageChangedEvent():
                self.usage = event

    @property
    def wants_count(self) -> bool:
        """Nothing was told yet, or it holds no longer: somebody has to count."""
        return self.context is None or self.stale
