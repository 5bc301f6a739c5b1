"""Offering: the part of McpManager that says and reads what servers offer."""

from collections.abc import Mapping, Sequence

from agent_tui.agent.messages import ImageContent, TextContent
from agent_tui.agent.tools import AgentTool
from agent_tui.mcp_servers import offers
from agent_tui.mcp_servers.offers import Offers, Server
from agent_tui.mcp_servers.types import (
    Approval,
    Exposure,
    McpError,
    PromptInfo,
    PromptMessage,
    ResourceInfo,
)
from agent_tui.text import clean


class Offering:
    """servers: all there are, by name; reserved_names: aliases no tool may get."""

    def __init__(self, servers: dict[str, Server], reserved_names: Sequence[str]) -> None:
        self._servers = servers
        self._offers = Offers(servers, reserved_names)

    def _get(self, name: str) -> Server:
        if name in self._servers:
            return self._servers[name]
        there = ", ".join(map(clean, sorted(self._servers))) or "none"
        raise McpError(f"There is no MCP server {clean(name)}. There are: {there}.")

    # --- tools ------------------------------------------------------------------------------

    def tools(self, server: str | None = None) -> list[AgentTool]:
        """Ready for Toolset.offer, sorted by name: the same bytes however servers list them.
        wire["defer_loading"] is set on those that are deferred. [] for an unknown server."""
        return self._offers.tools(server)

    def resolve(self, alias: str) -> tuple[str, str] | None:
        """(server, tool) of an alias; None if no tool that is there has it."""
        return self._offers.names.pair(alias)

    def approval(self, alias: str) -> Approval:
        """What the configuration says of a tool; "ask" where it says nothing."""
        return self._offers.approval(alias)

    def exposure(self, alias: str) -> Exposure | None:
        """What the configuration says of a tool; None where it says nothing."""
        return self._offers.exposure(alias)

    # --- resources, prompts -----------------------------------------------------------------

    def resources(self, server: str | None = None) -> list[ResourceInfo]:
        """Resources and templates as last listed, by server."""
        return self._offers.resources(server)

    def prompts(self, server: str | None = None) -> list[PromptInfo]:
        """Prompts as last listed, by server."""
        return self._offers.prompts(server)

    def instructions(self) -> dict[str, str]:
        """What connected servers say about themselves, by server: for the system prompt."""
        return self._offers.instructions()

    async def read_resource(self, server: str, uri: str) -> list[TextContent | ImageContent]:
        """Fit for a message, cut to size. Raises McpError."""
        return await offers.read_resource(self._get(server), uri)

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str]
    ) -> list[PromptMessage]:
        """The messages of a prompt. Raises McpError."""
        return await offers.get_prompt(self._get(server), name, arguments)

    async def complete(
        self,
        server: str,
        *,
        argument: str,
        value: str,
        prompt: str | None = None,
        uri_template: str | None = None,
        known: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Suggestions for an argument of a prompt or of a template (one of the two); known: the
        arguments given so far. [] if the server has none. Raises McpError."""
        return await offers.complete(
            self._get(server),
            argument=argument,
            value=value,
            prompt=prompt,
            uri_template=uri_template,
            known=known,
        )
