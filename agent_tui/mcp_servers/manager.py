"""McpManager: all servers of one conversation; the only object other rooms hold of this one.

manager = McpManager(cwd, on_event=..., cap_text=..., elicit=..., sample=...)
manager.load(settings_table, ...)      # reads the files; nothing runs yet
manager.start()                        # all connect at once, in the background
toolset.offer(name, manager.tools(name))   # on each ToolsChanged(name)
await manager.close()
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_tui.agent.messages import ImageContent, TextContent
from agent_tui.agent.tools import AgentTool
from agent_tui.mcp_servers.config import ServerConfig
from agent_tui.mcp_servers.types import (
    Approval,
    CapText,
    Elicit,
    Exposure,
    LogLevel,
    McpEvent,
    PromptInfo,
    PromptMessage,
    ResourceInfo,
    Sample,
    Scope,
    ServerSnapshot,
)


class McpManager:
    """See module docstring. Everything is called on the event loop's thread.

    on_event: called at once, in order, never awaited. elicit, sample: None means that servers
    are told that this client cannot do it. roots: the folders servers may be told of.
    """

    def __init__(
        self,
        cwd: str | Path,
        *,
        on_event: Callable[[McpEvent], None],
        cap_text: CapText,
        elicit: Elicit | None = None,
        sample: Sample | None = None,
        roots: Sequence[str | Path] | None = None,
        reserved_names: Sequence[str] = (),
    ) -> None: ...

    # --- servers ----------------------------------------------------------------------------

    def load(self, table: Mapping[str, Any] | None = None, *, source: str = "") -> list[str]:
        """Read mcp.json, .mcp.json and the [mcp] table of the settings (source: its file).
        Gives warnings, a line each. Nothing is started. Never raises for a bad file."""
        ...

    def start(self) -> None:
        """Connect to every enabled, approved server, all at once, in the background."""
        ...

    async def close(self) -> None:
        """End every server: concurrently, within some 3 s, with all that it started."""
        ...

    def add(self, config: ServerConfig, scope: Scope = "conversation") -> None:
        """Keep (project, user: in its file) and connect. Raises McpError: name taken, bad."""
        ...

    async def remove(self, name: str) -> str:
        """Disconnect and take it out of its file; what was done, in words. Raises McpError."""
        ...

    async def set_enabled(self, name: str, enabled: bool) -> None:
        """Remembered in its file or, for a project's server, in AGENT_TUI_HOME."""
        ...

    def reconnect(self, name: str) -> None:
        """Begin anew at once, with the configuration as it is on disk. Raises McpError."""
        ...

    def approve(self, name: str, approved: bool) -> None:
        """Answer for a project's server; remembered by its content. Raises McpError."""
        ...

    async def login(
        self,
        name: str,
        *,
        show_url: Callable[[str], Any],
        pasted: Callable[[], Any] | None = None,
    ) -> None:
        """OAuth: show_url(url) may open a browser; pasted() waits for a code or the address the
        browser ended at (either way of the two counts). Raises McpError."""
        ...

    async def logout(self, name: str) -> None:
        """Forget the tokens. Raises McpError."""
        ...

    def servers(self) -> list[str]: ...

    def snapshot(self, name: str) -> ServerSnapshot: ...

    def snapshots(self) -> list[ServerSnapshot]: ...

    def connecting(self) -> list[str]:
        """Names of those that have not answered yet."""
        ...

    async def wait_ready(self, timeout_s: float) -> list[str]:
        """Until none is connecting any more, or the time is over; the names still missing."""
        ...

    # --- tools ------------------------------------------------------------------------------

    def tools(self, server: str | None = None) -> list[AgentTool]:
        """Ready for Toolset.offer, sorted by name; wire["defer_loading"] on deferred ones."""
        ...

    def approval(self, alias: str) -> Approval:
        """What the configuration says of a tool; "ask" where it says nothing."""
        ...

    def exposure(self, alias: str) -> Exposure | None: ...

    def resolve(self, alias: str) -> tuple[str, str] | None:
        """(server, tool) of an alias, also of one that is not offered now if it can be known."""
        ...

    # --- resources, prompts -----------------------------------------------------------------

    def resources(self, server: str | None = None) -> list[ResourceInfo]: ...

    async def read_resource(self, server: str, uri: str) -> list[TextContent | ImageContent]:
        """Fit for a message. Raises McpError."""
        ...

    def prompts(self, server: str | None = None) -> list[PromptInfo]: ...

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str]
    ) -> list[PromptMessage]:
        """Raises McpError."""
        ...

    async def complete(
        self, server: str, *, argument: str, value: str, prompt: str | None = None,
        uri_template: str | None = None, known: Mapping[str, str] | None = None,
    ) -> list[str]:  # fmt: skip
        """Suggestions for an argument of a prompt or a template; [] if the server has none."""
        ...

    def instructions(self) -> dict[str, str]:
        """What connected servers say about themselves, by server: for the system prompt."""
        ...

    async def set_log_level(self, level: LogLevel, server: str | None = None) -> None: ...

    async def set_roots(self, roots: Sequence[str | Path]) -> None:
        """Other folders from now on; servers are told."""
        ...

    def log_path(self, server: str) -> str: ...

    def log_tail(self, server: str, lines: int = 50) -> list[str]: ...
