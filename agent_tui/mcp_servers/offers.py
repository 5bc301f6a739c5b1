"""What the servers of a conversation offer: tools by their aliases, resources, prompts."""

import fnmatch
from collections.abc import Mapping, Sequence
from typing import TypeVar

from agent_tui.agent.messages import ImageContent, TextContent
from agent_tui.agent.tools import AgentTool
from agent_tui.mcp_servers.agent_tools import make_tool
from agent_tui.mcp_servers.config import ALL_TOOLS
from agent_tui.mcp_servers.config_files import Entry
from agent_tui.mcp_servers.connection import ServerConnection
from agent_tui.mcp_servers.life import Catalog
from agent_tui.mcp_servers.listing import ListedTool
from agent_tui.mcp_servers.names import Names
from agent_tui.mcp_servers.results import Mapper
from agent_tui.mcp_servers.server_log import ServerLog
from agent_tui.mcp_servers.types import (
    Approval,
    Exposure,
    McpError,
    PromptInfo,
    PromptMessage,
    ResourceInfo,
    ToolInfo,
)
from agent_tui.text import clean

T = TypeVar("T")

MAX_COMPLETIONS = 100


class Server:
    """One server of a conversation. connection is None while it may not connect; hindrance says
    why, in a sentence."""

    def __init__(self, entry: Entry, server_log: ServerLog, mapper: Mapper) -> None:
        self.entry = entry
        self.hidden: Entry | None = None
        """A project's server of this name that is not approved: the user's own is used."""
        self.log = server_log
        self.mapper = mapper
        self.connection: ServerConnection | None = None
        self.hindrance = "it has not been started"
        self.catalog = Catalog()
        self.warnings: list[str] = []
        self.offered = False
        """Whether faces have been told of tools of it that they must be told to drop."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def offers(self) -> bool:
        """Whether what it listed is to be offered now."""
        return self.connection is not None and self.connection.offers_tools

    def is_enabled(self, tool: str) -> bool:
        """Whether the configuration lets a tool be used."""
        config = self.entry.config
        if config is None:
            return False
        if config.enabled_tools is not None and not _matches(tool, config.enabled_tools):
            return False
        return not _matches(tool, config.disabled_tools)

    def approval(self, tool: str) -> Approval:
        config = self.entry.config
        return (_choice(config.approval, tool) if config else None) or "ask"

    def exposure(self, tool: str) -> Exposure | None:
        config = self.entry.config
        return _choice(config.exposure, tool) if config else None


class Offers:
    """See module docstring. servers: all there are, by name; the manager's own table."""

    def __init__(self, servers: Mapping[str, Server], reserved: Sequence[str]) -> None:
        self._servers = servers
        self.names = Names(reserved)

    # --- tools ------------------------------------------------------------------------------

    def tools(self, server: str | None = None) -> list[AgentTool]:
        """See McpManager.tools."""
        names = sorted(self._servers) if server is None else [server]
        found = [tool for name in names for tool in self._tools_of(self._servers.get(name))]
        return sorted(found, key=lambda tool: tool.name)

    def _tools_of(self, server: Server | None) -> list[AgentTool]:
        if server is None or not server.offers:
            return []
        return [
            make_tool(
                tool,
                server=server.name,
                alias=self.names.alias(server.name, tool.name),
                exposure=server.exposure(tool.name),
                find=self._find,
                mapper=server.mapper,
            )
            for tool in server.catalog.tools
            if not tool.problem and server.is_enabled(tool.name)
        ]

    def _find(self, server: str, tool: str) -> tuple[ServerConnection, ListedTool] | str:
        """Where a tool is now, or a sentence that says why it is not there."""
        known = self._servers.get(server)
        if known is None:
            return f"The MCP server {server} has been removed from this conversation."
        if known.connection is None:
            return f"The MCP server {server} is not connected: {known.hindrance}"
        listed = next((t for t in known.catalog.tools if t.name == tool), None)
        if listed is None or listed.problem or not known.is_enabled(tool):
            return f"The MCP server {server} does not offer the tool {tool} any more."
        return known.connection, listed

    def infos(self, server: Server) -> list[ToolInfo]:
        """The tools of a server that can be offered, also those that are switched off."""
        return [
            ToolInfo(
                alias=self.names.alias(server.name, tool.name),
                name=tool.name,
                server=server.name,
                title=tool.title,
                description=tool.description,
                approval=server.approval(tool.name),
                exposure=server.exposure(tool.name),
                enabled=server.is_enabled(tool.name),
                notes=tool.notes,
                input_schema=tool.input_schema,
            )
            for tool in server.catalog.tools
            if not tool.problem
        ]

    def approval(self, alias: str) -> Approval:
        """See McpManager.approval."""
        pair = self.names.pair(alias)
        return self._servers[pair[0]].approval(pair[1]) if pair else "ask"

    def exposure(self, alias: str) -> Exposure | None:
        """See McpManager.exposure."""
        pair = self.names.pair(alias)
        return self._servers[pair[0]].exposure(pair[1]) if pair else None

    # --- resources, prompts -----------------------------------------------------------------

    def _offering(self, server: str | None) -> list[Server]:
        names = sorted(self._servers) if server is None else [server]
        return [known for name in names if (known := self._servers.get(name)) and known.offers]

    def resources(self, server: str | None = None) -> list[ResourceInfo]:
        """See McpManager.resources."""
        return [item for known in self._offering(server) for item in known.catalog.resources]

    def prompts(self, server: str | None = None) -> list[PromptInfo]:
        """See McpManager.prompts."""
        return [item for known in self._offering(server) for item in known.catalog.prompts]

    def instructions(self) -> dict[str, str]:
        """See McpManager.instructions."""
        return {
            known.name: known.log.secrets.mask_result(text)
            for known in self._offering(None)
            if (text := known.catalog.instructions.strip())
        }


async def read_resource(server: Server, uri: str) -> list[TextContent | ImageContent]:
    """See McpManager.read_resource."""
    result = await _connection(server).request(lambda client: client.read_resource(uri))
    return await server.mapper.resource(result.contents, f"{server.name}-resource")


async def get_prompt(
    server: Server, name: str, arguments: Mapping[str, str]
) -> list[PromptMessage]:
    """See McpManager.get_prompt."""
    given = dict(arguments)
    result = await _connection(server).request(lambda client: client.get_prompt(name, given))
    return [
        PromptMessage(
            message.role, await server.mapper.blocks(message.content, f"{server.name}-prompt")
        )
        for message in result.messages
    ]


async def complete(
    server: Server, *, argument: str, value: str, prompt: str | None, uri_template: str | None,
    known: Mapping[str, str] | None,
) -> list[str]:  # fmt: skip
    """See McpManager.complete."""
    from mcp_types import PromptReference, ResourceTemplateReference

    connection = _connection(server)
    client = (await connection.ready()).client
    if client.server_capabilities.completions is None:
        return []
    if prompt is not None:
        ref: PromptReference | ResourceTemplateReference = PromptReference(
            type="ref/prompt", name=prompt
        )
    else:
        ref = ResourceTemplateReference(type="ref/resource", uri=uri_template or "")
    asked = {"name": argument, "value": value}
    given = dict(known) if known else None
    result = await connection.request(
        lambda client: client.complete(ref, asked, context_arguments=given)
    )
    return list(result.completion.values)[:MAX_COMPLETIONS]


def _connection(server: Server) -> ServerConnection:
    if server.connection is None:
        raise McpError(f"The MCP server {clean(server.name)} is not connected: {server.hindrance}")
    return server.connection


def _matches(tool: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(tool, pattern) for pattern in patterns)


def _choice(table: Mapping[str, T], tool: str) -> T | None:
    """The choice for a tool: by its very name, else by the first pattern that fits, else all."""
    if tool in table:
        return table[tool]
    fitting = (v for p, v in table.items() if p != ALL_TOOLS and fnmatch.fnmatchcase(tool, p))
    return next(fitting, table.get(ALL_TOOLS))
