"""Deferral: which tools of servers go out with defer_loading, to be found by tool search.

A tool that the configuration calls deferred always does. The others do when all of them
together would take more than a share of the model's context; those whose exposure is configured
stay loaded, since somebody has thought about them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from agent_tui.agent.tools import AgentTool

DEFER = "defer_loading"
CHARS_PER_TOKEN = 4
"""A rough measure will do, and hundreds of schemas must not cost a frame."""
DEFAULT_WINDOW = 200_000
"""Where the window is not known."""


class Deferral:
    """share: of the context window (0.1 is a tenth). can_search: the endpoint has tool search;
    where it has not, nothing is deferred. What a tool costs is measured once."""

    def __init__(self, share: float, *, can_search: bool) -> None:
        self._share = share
        self._can_search = can_search
        self._costs: dict[str, tuple[object, str, int]] = {}
        self.tokens = 0
        """Estimated tokens of all tools of servers."""
        self.active = False
        """Tools are deferred because they are too many."""

    def apply(
        self,
        tools: Mapping[str, tuple[AgentTool, ...]],
        exposure: Callable[[str], str | None],
        window: int | None,
    ) -> dict[str, tuple[AgentTool, ...]]:
        """The tools by server, with defer_loading where it is due."""
        if not self._can_search:
            return {name: tuple(map(_loaded, some)) for name, some in tools.items()}
        self.tokens = sum(self._cost(tool) for some in tools.values() for tool in some)
        self.active = self.tokens > self._share * (window or DEFAULT_WINDOW)
        if not self.active:
            return dict(tools)
        return {
            name: tuple(t if exposure(t.name) is not None else _deferred(t) for t in some)
            for name, some in tools.items()
        }

    def _cost(self, tool: AgentTool) -> int:
        known = self._costs.get(tool.name)
        if known is None or known[0] is not tool.parameters or known[1] != tool.description:
            size = len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters))
            known = (tool.parameters, tool.description, size // CHARS_PER_TOKEN)
            self._costs[tool.name] = known
        return known[2]


def _deferred(tool: AgentTool) -> AgentTool:
    return tool if tool.wire.get(DEFER) else replace(tool, wire=tool.wire | {DEFER: True})


def _loaded(tool: AgentTool) -> AgentTool:
    """Where nothing can be searched, nothing may be deferred: the model would never see it."""
    if DEFER not in tool.wire:
        return tool
    return replace(tool, wire={k: v for k, v in tool.wire.items() if k != DEFER})
