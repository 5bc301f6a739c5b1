"""SessionSettings: with which model, thinking level and tools a session goes on.

What was last chosen in it, else what the settings say; the command line stands above both.
The same for -c, -r and /resume.
"""

from dataclasses import dataclass

from agent_tui.conversation.endpoint import DEMO_MODEL, Endpoint
from agent_tui.conversation.toolset import ALL
from agent_tui.sessions.store import Session
from agent_tui.settings import Loaded, Settings


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """loaded: the settings of all layers, and where each came from."""

    loaded: Loaded
    endpoint: Endpoint

    def of(self, session: Session) -> Settings:
        """The settings with the model and thinking level for this session."""
        changes: dict[str, object] = {}
        # No other endpoint has the model of the demo.
        scripted = session.model == DEMO_MODEL and not self.endpoint.demo
        if session.model is not None and not scripted and not self._by_flag("model"):
            changes["model"] = session.model
        if session.thinking is not None and not self._by_flag("thinking"):
            changes["thinking"] = session.thinking
        return self.loaded.settings.model_copy(update=changes)

    def tools(self, session: Session) -> dict[str, str]:
        """What was chosen of the tools in this session, for Toolset.restore()."""
        choices = session.tools
        if self._by_flag("programmatic"):
            choices.pop(ALL, None)
        if self._by_flag("tools"):
            for name, exposure in self.loaded.settings.tools.items():
                choices.pop(name, None)
                choices[name] = exposure
        return choices

    def _by_flag(self, name: str) -> bool:
        return self.loaded.sources.get(name) == "flag"
