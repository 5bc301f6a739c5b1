"""What the status line and the line above a retry show: plain data, there at the first paint."""

from dataclasses import dataclass


@dataclass(slots=True)
class StatusState:
    status: str = "starting"
    model: str = ""
    thinking: str = ""
    cost: float | None = 0.0
    cost_at_least: float = 0.0
    """Where cost is None: what is known of it."""
    context_tokens: int | None = None
    context_window: int | None = None
    rate: float | None = None
    """Tokens a second of what streams now, estimated."""
    last_rate: float | None = None
    """Of the answer before, as counted."""
    retrying: bool = False
    """A failed request waits for its next try: nothing streams, whatever the run is at."""
    silent_s: int = 0
    """Seconds since the server was last heard; 0 while that is not long."""
    silence_limit_s: float | None = None
    """After so much silence the request is tried again (setting idle_timeout_s)."""

    @property
    def context_percent(self) -> int | None:
        if not self.context_tokens or not self.context_window:
            return None
        return round(100 * self.context_tokens / self.context_window)


@dataclass(slots=True)
class RetryState:
    """A failed request waits; until: clock seconds of the next try. attempt 0: none waits."""

    attempt: int = 0
    until: float = 0.0
    reason: str = ""
