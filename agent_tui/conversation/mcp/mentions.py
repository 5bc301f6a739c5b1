"""`@server:uri` in what the user types: the resource goes out with the message."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tui.agent.messages import ImageContent, TextContent
from agent_tui.conversation.mentions.reading import MentionError, Read
from agent_tui.text import clean, count

if TYPE_CHECKING:
    from agent_tui.conversation.mcp.link import McpLink

MOST = 10
"""Resources of one message."""

_MENTION = re.compile(r"(?<!\S)@(?P<server>[^\s:@]+):(?P<uri>\S+)")
_TRAILING = ".,;:!?)]}>\"'"

Block = TextContent | ImageContent


@dataclass(frozen=True, slots=True)
class Resource:
    """One that a text names."""

    _mentions: "Mentions"
    server: str
    uri: str

    @property
    def written(self) -> str:
        """As it stands behind the @."""
        return f"{self.server}:{self.uri}"

    async def read(self) -> Read:
        """Raises MentionError."""
        blocks = await self._mentions.read(self.server, self.uri)
        texts = [block.text for block in blocks if isinstance(block, TextContent)]
        size = sum(len(text.partition("\n")[2]) for text in texts)
        return Read(self.uri, f"{count(size)} characters" if texts else "", blocks)


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

    async def named(self, text: str) -> list[Resource]:
        """The resources that a text names. Waits for the servers to be known."""
        return [Resource(self, server, uri) for server, uri in await self._named(text)]

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

    async def read(self, server: str, uri: str) -> list[Block]:
        """Raises MentionError."""
        from agent_tui.mcp_servers import McpError

        manager = await self._link.get_manager()
        try:
            blocks = await manager.read_resource(server, uri)
        except McpError as error:
            raise MentionError(f"@{clean(server)}:{clean(uri)}: {error}") from error
        return [*blocks] or [TextContent(text=f"[resource {uri}]\n(it is empty)")]
