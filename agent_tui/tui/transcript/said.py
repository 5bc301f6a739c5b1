"""Said: messages that are no answer of the model: prompts, commands, summaries, unknown kinds."""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from agent_tui.agent.messages import (
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    TextContent,
    UserMessage,
)
from agent_tui.conversation.events import QueueDeliveredEvent, UserCommandEvent
from agent_tui.text import clean, count
from agent_tui.tui.transcript.blocks import Along, BashBlock, Block, Delivery, PromptBlock
from agent_tui.tui.transcript.images import ShownImage
from agent_tui.tui.transcript.notices import NoticeBlock, SeparatorBlock
from agent_tui.tui.transcript.page import Page
from agent_tui.tui.transcript.program_tree import file_label

_RESOURCE = re.compile(r"\[resource (?P<uri>[^\]\n]*)\]\n?")
"""How a text begins that came with a message as `@server:uri` (mcp_servers/results.py)."""


def _shown(message: UserMessage | CustomMessage) -> str:
    """What was typed; of each resource that came with it a line that names it (messages of
    earlier versions, which do not say what came along)."""
    said = message.said if isinstance(message, UserMessage) else message.content
    texts = [block.text for block in said if isinstance(block, TextContent)]
    shown = texts[:1]
    for text in texts[1:]:
        resource = _RESOURCE.match(text)
        if resource is None:
            shown.append(text)
        else:
            size = count(len(text) - resource.end())
            shown.append(f"[with {resource['uri']}, {size} characters]")
    return "\n".join(shown)


class Said:
    """Makes their blocks; a prompt and the word of its delivery come in either order."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._deliveries: dict[str, tuple[Delivery, str]] = {}
        self._prompts: dict[str, PromptBlock] = {}
        self._commands: dict[str, BashBlock] = {}

    def clear(self) -> None:
        self._prompts.clear()
        self._commands.clear()

    def know(self, deliveries: Mapping[str, tuple[Delivery, str]]) -> None:
        """How queue items were delivered: id → (kind, where it landed)."""
        self._deliveries.update(deliveries)

    def stored(self, message: Any) -> None:
        # How it was delivered may not be known of a stored message: then nothing is claimed.
        if (item := getattr(message, "queue_item_id", None)) is not None:
            self._deliveries.setdefault(item, ("prompt", ""))
        self.message(message)

    def message(self, message: Any) -> None:
        match message:
            case UserMessage():
                self._add(self._prompt(message), message)
            case BashExecutionMessage() if message.id in self._commands:
                del self._commands[message.id]  # it stands there since it was begun
            case BashExecutionMessage():
                block = BashBlock(message.command, message.exclude)
                block.output = message.output
                block.exit_code = message.exit_code
                block.cancelled = message.cancelled
                self._add(block, message)
            case CompactionSummaryMessage():
                self._add(SeparatorBlock("earlier turns were compacted", message.summary), message)
            case BranchSummaryMessage():
                self._add(SeparatorBlock("another branch was left", message.summary), message)
            case CustomMessage():
                self._add(self._prompt(message, clean(message.kind)), message)
            case _:
                role = clean(getattr(message, "role", type(message).__name__))
                text = f"a message of a kind unknown here: {role}"
                self._page.add(NoticeBlock("info", text))

    def _add(self, block: Block, message: Any) -> None:
        self._page.add(block, message.id)

    def _prompt(self, message: UserMessage | CustomMessage, note: str = "") -> PromptBlock:
        text, images = _shown(message), list[ShownImage]()
        for block in message.said if isinstance(message, UserMessage) else message.content:
            if block.type == "image":
                images.append(ShownImage.of(block))
        for upload in getattr(message, "uploads", ()):
            shown = f"[{file_label(upload.name or upload.file_id, upload.size)}, to the container]"
            text = f"{text}\n{shown}" if text else shown
        block = PromptBlock(text, note=note, images=images)
        block.came_along = _along(message) if isinstance(message, UserMessage) else []
        item = message.queue_item_id
        if item is not None:
            block.item_id = item
            block.delivery, landed = self._deliveries.pop(item, ("steer", note))
            block.note = clean(landed)
            self._prompts[item] = block
        return block

    def user_command(self, event: UserCommandEvent) -> None:
        """A command of the user's: shown from its start, its output as it comes."""
        block = self._commands.get(event.id)
        if block is None:
            if event.state != "running" or event.text:
                return  # begun in a session that has been left
            block = self._commands[event.id] = BashBlock(event.command, event.exclude)
            block.started = self._page.clock()
            self._page.add(block, event.id)
            self._page.watch(block)
        if event.state == "running":
            block.add_output(event.text)
        else:
            block.end(event.text, event.exit_code, stopped=event.state == "stopped")
            self._page.unwatch(block)
        self._page.touch(block)

    def delivered(self, event: QueueDeliveredEvent) -> None:
        kind: Delivery = "follow_up" if event.kind == "follow_up" else "steer"
        block = self._prompts.pop(event.item_id, None)
        if block is None:
            self._deliveries[event.item_id] = (kind, event.landed)
            return
        block.delivery, block.note = kind, clean(event.landed)
        self._page.touch(block)


def _along(message: UserMessage) -> list[Along]:
    """What came along with it, its images to be looked at."""
    rest = iter(message.content[len(message.said) :])
    found: list[Along] = []
    for attachment in message.attachments:
        name = clean(attachment.name)
        images = tuple(
            ShownImage.of(block, name)
            for block in islice(rest, attachment.blocks)
            if isinstance(block, ImageContent)
        )
        found.append(Along(f"{name}  {clean(attachment.about)}".rstrip(), images))
    return found
