"""Submissions: what somebody says, on its way to the run: its start, its steering, or the queue."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_tui.agent.agent import Agent
from agent_tui.agent.messages import AgentMessage, CustomMessage, ImageContent, UserMessage
from agent_tui.conversation.container_files import ContainerFiles
from agent_tui.conversation.driver import RunDriver
from agent_tui.conversation.mentions.attachments import Attachments
from agent_tui.conversation.results import Submitted
from agent_tui.conversation.session_link import SessionLink

Kind = Literal["steer", "follow_up"]

RECORDED_WITHIN_S = 10
"""Seconds that recorded() waits for a message to come into the transcript."""


@dataclass(slots=True)
class Submissions:
    """Of one conversation; Conversation hands on to it."""

    agent: Agent
    driver: RunDriver
    link: SessionLink
    files: ContainerFiles
    attachments: Attachments
    _records: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    """By message id: set when that message stands in the transcript."""

    async def message_of(
        self, text: str, images: Sequence[ImageContent] = (), rest: str = ""
    ) -> UserMessage:
        """See Conversation.message_of."""
        return await self.attachments.message_of(text, images, rest)

    def give(self, message: UserMessage | CustomMessage, kind: Kind) -> Submitted:
        """Start a run with it, or have the run under way take it."""
        if isinstance(message, UserMessage):
            message = self.files.attach_to(message)
        if not self.driver.running:
            self.driver.start([message])
            return Submitted("started")
        if self.driver.stopping:
            self.driver.after_stop(message)
            return Submitted("started")
        add = self.agent.steer if kind == "steer" else self.agent.follow_up
        return Submitted(kind, item_id=add(message).id)

    async def recorded(self, message: AgentMessage | None) -> bool:
        """See Conversation.recorded."""
        messages = self.agent.state.messages
        if message is not None and all(m.id != message.id for m in messages):
            waiting = self._records.setdefault(message.id, asyncio.Event())
            try:
                async with asyncio.timeout(RECORDED_WITHIN_S):
                    await waiting.wait()
            except TimeoutError:
                return False
            finally:
                self._records.pop(message.id, None)
        return await self.link.written()

    def came(self, message: UserMessage | CustomMessage) -> None:
        """It stands in the transcript now."""
        if message.id in self._records:
            self._records[message.id].set()
