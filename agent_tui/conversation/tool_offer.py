"""ToolOffer: the agent offers what the toolset says, from the next request on.

Never while a program is paused, or the API has paused a turn: what goes on must find the tools
it began with (facts, "Programmatic tool calling"), so a change waits until that is over.
"""

from collections.abc import Callable, Mapping, Sequence

from pydantic import SecretStr

from agent_tui import logs
from agent_tui.agent.agent import Agent
from agent_tui.agent.events import AgentEndEvent, AgentEvent
from agent_tui.agent.llm_messages import awaits_results_only
from agent_tui.agent.tools import AgentTool
from agent_tui.conversation.toolset import BUILTIN, CONNECTOR, SERVER, Toolset
from agent_tui.messages_api.server_tools import MEMORY_TYPE, connector_tool
from agent_tui.paths import memories_dir
from agent_tui.settings import Settings
from agent_tui.tools.memory import memory_tool

SHOWN_NAMES = 8


def make_toolset(settings: Settings, tools: Sequence[AgentTool]) -> Toolset:
    """The toolset that the settings ask for, with these tools of our own."""
    default = "direct" if settings.programmatic == "off" else settings.programmatic
    toolset = Toolset(default=default, chosen=settings.tools)
    toolset.offer(BUILTIN, tools)
    toolset.offer(SERVER, [memory_tool(memories_dir, MEMORY_TYPE)])
    servers = [
        connector_tool(name, server.url, _plain(server.authorization_token))
        for name, server in settings.connector.items()
    ]
    logs.add_secrets([token for s in servers if (token := s.server.get("authorization_token"))])
    toolset.offer(CONNECTOR, servers)
    return toolset


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


class ToolOffer:
    """Feed it every AgentEvent. running: a run is on, or waits to go on. warn: a sentence for
    the user, once for each tool that programs were to call and may not."""

    def __init__(
        self,
        toolset: Toolset,
        agent: Agent,
        running: Callable[[], bool],
        warn: Callable[[str], None],
    ) -> None:
        self._toolset = toolset
        self._agent = agent
        self._running = running
        self._warn = warn
        self._warned: dict[str, str] = {}
        self._stale = False
        self._instructions = ""
        self.instruct: Callable[[str], None] = lambda text: None
        """Takes what the tools' servers say of themselves, at the same moments as the tools."""
        toolset.subscribe(self._changed)
        for name, hint in toolset.unknown().items():
            warn(f"The setting tools names {name}, which is no tool: {hint}")
        self._apply()

    @property
    def waits(self) -> bool:
        """A change waits for a program, or a paused turn, to end."""
        return self._stale and self._held()

    def instructions(self, text: str) -> None:
        """What servers say of themselves from the next request on, and no sooner than their
        tools: a request that goes on with a program must begin as the one before."""
        if text != self._instructions:
            self._instructions = text
            self._changed()

    def enter(self, choices: Mapping[str, str]) -> None:
        """Another session, with its own choices: what the one before waited for is over."""
        self._toolset.restore(choices)
        self._apply()

    def apply_now(self) -> None:
        """Just before each request, when nothing waits for the tools of the one before (what the
        user says ends a paused program). Never later: the calls of an answer find the tools of
        its request."""
        if self._stale and not self._held():
            self._apply()

    def on_event(self, event: AgentEvent) -> None:
        """A run's end: what changed meanwhile is shown as offered, though no request follows."""
        if isinstance(event, AgentEndEvent):
            self.apply_now()

    def _held(self) -> bool:
        return awaits_results_only(self._agent.state.messages)

    def _changed(self) -> None:
        self._stale = True
        if not self._running() and not self._held():
            self._apply()

    def _apply(self) -> None:
        self._stale = False
        self._agent.set_tools(self._toolset.tools())
        self.instruct(self._instructions)
        held_back = self._toolset.held_back()
        news = {name: why for name, why in held_back.items() if self._warned.get(name) != why}
        self._warned = held_back
        for why in dict.fromkeys(news.values()):
            names = [name for name in news if news[name] == why]
            verb = "stays" if len(names) == 1 else "stay"
            self._warn(f"{_listed(names)} {verb} direct: {why}.")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_NAMES])
    return shown if len(names) <= SHOWN_NAMES else f"{shown} and {len(names) - SHOWN_NAMES} more"
