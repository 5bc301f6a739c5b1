"""McpPlan: what a conversation is told about MCP servers when it is made."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_tui.agent.loop import StreamFunction


@dataclass(frozen=True, slots=True)
class McpPlan:
    """user_toml, project_toml: the config.toml files that count (None: there is none, or the
    folder is not trusted). output_dir: where long results are saved.

    wait_s: so long the first request of a face without a screen waits for servers that still
    connect; None: it goes at once. defer_share: of the context window; where the tools of servers
    need more, they are found by search. can_defer: the endpoint has that search. interactive:
    somebody can answer questions. side_stream: makes the stream function of requests that are no
    part of the conversation. connects: to all servers at once, else to those asked for.
    """

    user_toml: Path | None = None
    project_toml: Path | None = None
    output_dir: str | None = None
    wait_s: float | None = None
    defer_share: float = 0.1
    can_defer: bool = False
    interactive: bool = True
    connects: bool = True
    side_stream: Callable[[], StreamFunction] | None = None
