"""Attachments: the message of a text, with what its text names: files, folders, resources.

Everything is read once, when the message is accepted, so the history that the model gets stays
what it was. What was read is remembered for a while: a message that was withdrawn and is sent
again brings its images along also where the file has gone meanwhile.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_tui.agent.messages import (
    Attachment,
    CustomMessage,
    ImageContent,
    TextContent,
    UserBlock,
    UserMessage,
    attached,
)
from agent_tui.conversation.mentions import syntax
from agent_tui.conversation.mentions.reading import MentionError, Read, read_file
from agent_tui.tools.workspace import Workspace

if TYPE_CHECKING:
    from agent_tui.conversation.mcp.mentions import Mentions

MOST = 20
"""Files and resources of one message."""

MOST_KEPT = 24_000_000
"""Characters (of text and of base64) that are remembered."""

Attached = tuple[Attachment, Sequence[UserBlock]]


class Attachments:
    """resources: those of MCP servers, which come first where a name could mean both."""

    def __init__(self, cwd: str, resources: "Mentions") -> None:
        self._workspace = Workspace(cwd)
        self._resources = resources
        self._kept: OrderedDict[str, Attached] = OrderedDict()
        self._kept_size = 0

    @property
    def mentioned(self) -> list[str]:
        """What was named before, as it stands behind an @; the latest first."""
        return list(reversed(self._kept))

    async def message_of(
        self, text: str, images: Sequence[ImageContent] = (), rest: str = ""
    ) -> UserMessage:
        """See Conversation.message_of."""
        came_along = await self._all_of(text, {})
        return _message([TextContent(text=text + rest), *images], came_along)

    async def edited(
        self, message: UserMessage | CustomMessage, text: str
    ) -> UserMessage | CustomMessage:
        """A queued message with another text: what it had already stays as it is while it is
        named; what is named for the first time is read now. Raises MentionError, and ValueError
        where nothing is left."""
        had = {attachment.mention: (attachment, blocks) for attachment, blocks in attached(message)}
        came_along = await self._all_of(text, had) if isinstance(message, UserMessage) else []
        came_along += [one for mention, one in had.items() if mention.startswith("!")]
        said = message.said if isinstance(message, UserMessage) else message.content
        images = [block for block in said if isinstance(block, ImageContent)]
        texts = [TextContent(text=text)] if text.strip() else []
        if not texts and not images:
            raise ValueError("A queued message cannot be empty; remove it instead.")
        made = _message([*texts, *images], came_along)
        changes: dict[str, Any] = {"content": made.content}
        if isinstance(message, UserMessage):
            changes["attachments"] = made.attachments
        return message.model_copy(update=changes)

    def keep(self, message: object) -> None:
        """A message that is not sent after all: what came along with it is remembered."""
        if isinstance(message, UserMessage):
            for attachment, blocks in attached(message):
                self._keep((attachment, blocks))

    async def _all_of(self, text: str, had: Mapping[str, Attached]) -> list[Attached]:
        if "@" not in text:
            return []
        found: dict[str, Attached] = {}
        resources = {one.written: one for one in await self._resources.named(text)}
        for candidates in syntax.mentions(text):
            for mention in candidates:
                if mention.written in found:
                    break
                if mention.written in had:
                    found[mention.written] = had[mention.written]
                    break
                resource = resources.get(mention.written)
                if resource is not None:
                    read = await resource.read()
                else:
                    read = await self._file(mention)
                if read is not None:
                    found[mention.written] = self._attached(mention.written, read)
                    break
            if len(found) > MOST:
                raise MentionError(f"A message can bring {MOST} files along; this one names more")
        return list(found.values())

    async def _file(self, mention: syntax.Mention) -> Read | None:
        read = await read_file(self._workspace, mention.path)
        if read is None and (kept := self._kept.get(mention.written)) is not None:
            attachment, blocks = kept
            return Read(attachment.name, attachment.about, list(blocks))
        return read

    def _attached(self, written: str, read: Read) -> Attached:
        attachment = Attachment(
            mention=written, name=read.name, about=read.about, blocks=len(read.blocks)
        )
        made = (attachment, list(read.blocks))
        self._keep(made)
        return made

    def _keep(self, one: Attached) -> None:
        written = one[0].mention
        if written.startswith("!"):
            return
        if (old := self._kept.pop(written, None)) is not None:
            self._kept_size -= _size(old)
        self._kept[written] = one
        self._kept_size += _size(one)
        while self._kept_size > MOST_KEPT and len(self._kept) > 1:
            self._kept_size -= _size(self._kept.popitem(last=False)[1])


def _message(said: Sequence[UserBlock], came_along: Sequence[Attached]) -> UserMessage:
    return UserMessage(
        content=[*said, *(block for _, blocks in came_along for block in blocks)],
        attachments=[attachment for attachment, _ in came_along],
    )


def _size(one: Attached) -> int:
    return sum(len(b.data if isinstance(b, ImageContent) else b.text) for b in one[1])
