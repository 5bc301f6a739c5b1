"""`@server:uri` in what the user types: the resource goes out with the message."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_tui.agent.messages import ImageContent, TextContent, UserMessage
from agent_tui.text import clean

if TYPE_CHECKING:
    from agent_tui.conversation.mcp.link import McpLink

MOST = 10
"""Resources of one message."""

_MENTION = re.compile(r"(?<!\S)@(?P<server>[^\s:@]+):(?P<uri>\S+)")
_TRAILING = ".,;:!?)]}>\"'"

Block = TextContent | ImageContent


class MentionError(ValueError):
    """A resource that was named cannot be had; str() says why. Nothing was sent."""


class Mentions:
    """link gives the servers."""

    def __init__(self, link: "McpLink") -> None:
        self._link = link

    def complete(self, typed: str) -> list[tuple[str, str]]:
        """(what would stand behind the @, a word about it) for what is typed there: resources
        whose address or name holds it; those that begin so first."""
        manager = self._link.manager
        if manager is None:
            return []
        low = typed.lower()
        first: list[tuple[str, str]] = []
        later: list[tuple[str, str]] = []
        for resource in manager.resources():
            # Of a template the part that is the same for all it stands for.
            uri = resource.uri.partition("{")[0] if resource.template else resource.uri
            value = f"{resource.server}:{uri}"
            if not uri or any(c.isspace() for c in value):
                continue
            about = clean(resource.title or resource.name or resource.description)
            if resource.template:
                about = f"{clean(resource.uri)}  {about}"
            if value.lower().startswith(low):
                first.append((value, about))
            elif low in value.lower() or low in about.lower():
                later.append((value, about))
        return [*first, *later]

    async def expand(self, text: str, images: Sequence[ImageContent] = ()) -> UserMessage:
        """The message of a text: the resources that it names stand behind it. Raises
        MentionError."""
        blocks: list[Block] = [TextContent(text=text), *images]
        for server, uri in await self._named(text):
            blocks += await self._read(server, uri)
        return UserMessage(content=blocks)

    async def _named(self, text: str) -> list[tuple[str, str]]:
        found = list(_MENTION.finditer(text))
        manager = await self._link.opened() if found else None
        if manager is None:
            return []
        servers = set(manager.servers())
        named = [(m["server"], m["uri"]) for m in found if m["server"] in servers]
        pairs: list[tuple[str, str]] = []
        for server, uri in named:
            known = {resource.uri for resource in manager.resources(server)}
            pairs.append((server, uri if uri in known else uri.rstrip(_TRAILING)))
        unique = list(dict.fromkeys(pairs))
        if len(unique) > MOST:
            raise MentionError(f"A message can bring {MOST} resources; this one names more.")
        return unique

    async def _read(self, server: str, uri: str) -> list[Block]:
        from agent_tui.mcp_servers import McpError

        manager = await self._link.get_manager()
        try:
            blocks = await manager.read_resource(server, uri)
        except McpError as error:
            raise MentionError(f"@{clean(server)}:{clean(uri)}: {error}") from error
        return [*blocks] or [TextContent(text=f"[resource {uri}]\n(it is empty)")]
