"""ModelWatch: tells the user what is worth knowing of the model in use, once each; and the
toolset whether it runs programs."""

from collections.abc import Callable

from agent_tui.agent.loop import ThinkingLevel
from agent_tui.conversation.events import ConversationEvent, NoticeEvent
from agent_tui.conversation.limits import Limits
from agent_tui.conversation.meters import Meters
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.conversation.programs import why_no_programs
from agent_tui.conversation.toolset import Toolset
from agent_tui.messages_api.models import retirement_warning
from agent_tui.messages_api.request import MIN_BUDGET, may_think


class ModelWatch:
    """Made with a conversation; look() when another model or thinking level is chosen. level:
    the one in use; max_tokens: the setting."""

    def __init__(
        self,
        models: ModelChoice,
        meters: Meters,
        limits: Limits,
        toolset: Toolset,
        emit: Callable[[ConversationEvent], None],
        *,
        level: Callable[[], ThinkingLevel] = lambda: "off",
        max_tokens: int = 32_000,
    ) -> None:
        self._models = models
        self._meters = meters
        self._limits = limits
        self._toolset = toolset
        self._emit = emit
        self._level = level
        self._max_tokens = max_tokens
        self._said: set[str] = set()
        models.on_learned = self._learned

    def look(self) -> None:
        """Warn of a model that is retired or will be soon, of one whose cost is unknown where a
        limit is set to it, and of one that cannot think for want of tokens (A43)."""
        info = self._models.info()
        self._toolset.programs_refused(why_no_programs(info))
        if (warning := retirement_warning(info)) is not None:
            self._say(warning)
        if self._limits.max_cost is not None and info.prices is None:
            self._say(
                f"The limit of ${self._limits.max_cost:g} (max_cost) cannot be watched: the price "
                f"of {info.id} is unknown. max_turns and max_seconds hold for any model."
            )

        room = min(self._max_tokens, info.max_output or self._max_tokens)
        if not may_think(self._level(), info, room):
            self._say(
                f"{info.id} will not think: max_tokens is {room:,}, and its thinking needs "
                f"{2 * MIN_BUDGET:,} or more (a budget of at least {MIN_BUDGET:,}, below "
                "max_tokens). Raise max_tokens, or choose /effort off."
            )

    def _say(self, warning: str) -> None:
        if warning not in self._said:
            self._said.add(warning)
            self._emit(NoticeEvent("warning", warning))

    def _learned(self) -> None:
        """The endpoint has said what its models can do: windows may be known only now."""
        self.look()
        if self._meters.windows_known():
            self._emit(self._meters.totals.event())
