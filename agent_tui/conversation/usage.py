"""Usage of a conversation: tokens and cost of each answer and of all; how full the context is."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent_tui.agent.events import AgentEvent, MessageEndEvent, MessageStartEvent
from agent_tui.agent.messages import AgentMessage, AssistantMessage
from agent_tui.conversation.events import UsageChangedEvent
from agent_tui.messages_api import usage_details
from agent_tui.messages_api.models import ModelInfo

InfoOf = Callable[[str], ModelInfo]


@dataclass(slots=True)
class AnswerUsage:
    """Counts of one answer of the model. thinking None: the server did not say.

    cost: dollars, None unknown; whole: False for an answer that was cut off, whose counts (and
    so the cost) are only what had been told by then. seconds: from its first event to its end,
    None where that was not seen (an earlier session).
    """

    number: int
    model: str
    input: int
    output: int
    cache_read: int
    cache_write: int
    thinking: int | None
    server_tools: dict[str, int]
    cost: float | None
    whole: bool = True
    seconds: float | None = None

    @property
    def priced(self) -> bool:
        """The cost is known, and is all of it."""
        return self.cost is not None and (self.whole or self.cost == 0)

    @property
    def rate(self) -> float | None:
        """Output tokens a second; None for an answer too short to tell."""
        if not self.whole or self.seconds is None or self.seconds < MIN_RATE_S:
            return None
        return self.output / self.seconds


MIN_RATE_S = 0.05


@dataclass(slots=True)
class UsageTotals:
    """Sums over the answers of a session, the ones before it was resumed included.

    cost_at_least: dollars of all answers whose price is known; cost: the same, but None when
    any is unknown (the sum is then shown "≥" or "?", never as if it were whole).
    """

    answers: list[AnswerUsage] = field(default_factory=list[AnswerUsage])
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int | None = None
    server_tools: Counter[str] = field(default_factory=Counter[str])
    cost_at_least: float = 0.0
    unpriced: int = 0
    """Answers whose cost is unknown, or known only in part."""
    context_tokens: int | None = None
    context_window: int | None = None

    @property
    def cost(self) -> float | None:
        return None if self.unpriced else self.cost_at_least

    @property
    def rate(self) -> float | None:
        """Tokens a second of the last answer."""
        return self.answers[-1].rate if self.answers else None

    def add(
        self, message: AssistantMessage, info_of: InfoOf, seconds: float | None = None
    ) -> AnswerUsage | None:
        """Counts one answer; one without usage, or that was none of the model's own (a program
        goes on), changes nothing and gives None."""
        usage = message.usage
        if usage is None or not usage_details.was_sampled(usage):
            return None
        answer = AnswerUsage(
            len(self.answers) + 1,
            message.model,
            usage.input or 0,
            usage.output or 0,
            usage.cache_read or 0,
            usage.cache_write or 0,
            usage_details.thinking_tokens(usage),
            usage_details.server_tools(usage),
            usage_details.cost(usage, message.model, lambda name: info_of(name).prices),
            whole=message.stop_reason not in ("aborted", "error"),
            seconds=seconds,
        )
        self.count(answer)
        self.context_tokens = usage_details.context_tokens(usage)
        self.context_window = info_of(message.model).context_window
        return answer

    def count(self, answer: AnswerUsage) -> None:
        self.answers.append(answer)
        self.input += answer.input
        self.output += answer.output
        self.cache_read += answer.cache_read
        self.cache_write += answer.cache_write
        if answer.thinking is not None:
            self.thinking = (self.thinking or 0) + answer.thinking
        self.server_tools.update(answer.server_tools)
        self.cost_at_least += answer.cost or 0.0
        self.unpriced += not answer.priced

    def event(self) -> UsageChangedEvent:
        return UsageChangedEvent(
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            self.cost,
            self.context_tokens,
            self.context_window,
            self.cost_at_least,
            self.thinking,
            dict(self.server_tools),
            self.rate,
        )


class UsageMeter:
    """Keeps the totals up to date: give it every AgentEvent."""

    def __init__(self, info_of: InfoOf, clock: Callable[[], float] = time.monotonic) -> None:
        self.totals = UsageTotals()
        self._info_of = info_of
        self._clock = clock
        self._began: tuple[str, float] | None = None

    def begin(
        self, messages: Sequence[AgentMessage], answers: Sequence[AssistantMessage] = ()
    ) -> None:
        """Anew, with what a session holds already. messages: the conversation as it is, which
        says how full the context is. answers: all that were paid for, in their order, those
        that are no part of it any more included."""
        now = UsageTotals()
        standing = [m for m in messages if isinstance(m, AssistantMessage)]
        for message in standing:
            now.add(message, self._info_of)
        self.totals = UsageTotals()
        for message in {m.id: m for m in (*answers, *standing)}.values():
            self.totals.add(message, self._info_of)
        self.totals.context_tokens = now.context_tokens
        self.totals.context_window = now.context_window

    def on_event(self, event: AgentEvent) -> AnswerUsage | None:
        """The answer just counted, if one ended."""
        match event:
            case MessageStartEvent(message=AssistantMessage() as message):
                self._began = (message.id, self._clock())
            case MessageEndEvent(message=AssistantMessage() as message):
                seconds = None
                if self._began is not None and self._began[0] == message.id:
                    seconds = self._clock() - self._began[1]
                return self.totals.add(message, self._info_of, seconds)
            case _:
                pass
        return None
