"""ModelWatch: tells the user what is worth knowing of the model in use, once each; and the
toolset whether it runs programs."""

from collections.abc import Callable

from agent_tui.conversation.events import ConversationEvent, NoticeEvent
from agent_tui.conversation.limits import Limits
from agent_tui.conversation.meters import Meters
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.conversation.programs import why_no_programs
from agent_tui.conversation.toolset import Toolset
from agent_tui.messages_api.models import retirement_warning


class ModelWatch:
    """Made with a conversation; look() when another model is chosen."""

    def __init__(
        self,
        models: ModelChoice,
        meters: Meters,
        limits: Limits,
        toolset: Toolset,
        emit: Callable[[ConversationEvent], None],
    ) -> None:
        self._models = models
        self._meters = meters
        self._limits = limits
        self._toolset = toolset
        self._emit = emit
        self._said: set[str] = set()
        models.on_learned = self._learned

    def look(self) -> None:
        """Warn of a model that is retired or will be soon, and of one whose cost is unknown
        where a limit is set to it."""
        info = self._models.info()
        self._toolset.programs_refused(why_no_programs(info))
        if (warning := retirement_warning(info)) is not None:
            self._say(warning)
        if self._limits.max_cost is not None and info.prices is None:
            self._say(
                f"The limit of ${self._limits.max_cost:g} (max_cost) cannot be watched: the price "
                f"of {info.id} is unknown. max_turns and max_seconds hold for any model."
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
