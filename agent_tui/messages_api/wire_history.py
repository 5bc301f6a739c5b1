"""The `messages` of a request, from the history; a history that goes on is gone on with.

One user message holds all that stands between two replies: results first, then the texts (A03).
What was made for one request is kept as it is for the next, so that a request of a long
conversation costs what is new in it; nothing that was handed out is ever changed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from agent_tui.agent.memo import Memo
from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.messages_api.tool_references import has_search
from agent_tui.messages_api.wire_blocks import (
    Block,
    ImageBudget,
    assistant_blocks,
    result_block,
    text_block,
    upload_blocks,
    user_blocks,
)

ABORTED: Final = "[The answer before this was interrupted by the user before it was complete.]"
FAILED: Final = "[The answer before this was cut off by an error before it was complete.]"

WireMessage = dict[str, Any]


class WireHistory:
    """The messages of one history as they go out. programs: code execution is offered, so that
    uploads go to its container."""

    def __init__(self, *, programs: bool) -> None:
        self._programs = programs
        self._seen: list[Message] = []
        self._images: list[ImageContent] = []
        self._budget = ImageBudget([])
        self._wire: list[WireMessage] = []
        self.searches: set[int] = set()
        """Which of messages() hold results of searches for tools (tool_references.py)."""
        self._results: list[Block] = []
        self._texts: list[Block] = []
        self._note: str | None = None
        self._program_calls: set[str] = set()

    def follow(self, history: Sequence[Message], *, programs: bool) -> "WireHistory":
        """This one with what `history` has more, or a new one where it does not go on from
        what was seen."""
        seen = len(self._seen)
        if programs == self._programs and list(history[:seen]) == self._seen:
            fresh = list(history[seen:])
            if self._take_images(fresh):
                self._add(fresh)
                return self
        made = WireHistory(programs=programs)
        made._take_images(history)
        made._add(history)
        return made

    def _take_images(self, fresh: Sequence[Message]) -> bool:
        """Find room for new images; False when an old one has to make it."""
        more = list(_images(fresh))
        if not more:
            return True
        budget = ImageBudget([*self._images, *more])
        if any(budget.block(image) != self._budget.block(image) for image in self._images):
            return False
        self._images += more
        self._budget = budget
        return True

    def _add(self, messages: Sequence[Message]) -> None:
        for message in messages:
            match message:
                case AssistantMessage():
                    self._reply(message)
                case ToolResultMessage():
                    self._result(message)
                case UserMessage():
                    self._texts += upload_blocks(message.uploads, taken=self._programs)
                    self._texts += user_blocks(message.content, self._budget)
        self._seen += messages

    def messages(self) -> list[WireMessage]:
        """As they go out; the last user message may grow yet, so it is made anew each time."""
        wire = list(self._wire)
        if blocks := self._group():
            wire.append({"role": "user", "content": blocks})
        elif wire and wire[-1]["role"] == "assistant":
            wire[-1] = _stripped(wire[-1])
        return wire

    def _reply(self, message: AssistantMessage) -> None:
        blocks, program_calls = _reply_parts(message)
        if not blocks:
            return
        if group := self._group():
            self._wire.append({"role": "user", "content": group})
            self._note = None
        self._results, self._texts = [], []
        self._program_calls.update(program_calls)
        if self._wire and self._wire[-1]["role"] == "assistant":
            blocks = self._wire.pop()["content"] + blocks
        self._wire.append({"role": "assistant", "content": blocks})
        if has_search(blocks):
            self.searches.add(len(self._wire) - 1)
        if message.stop_reason in ("aborted", "error"):
            self._note = ABORTED if message.stop_reason == "aborted" else FAILED

    def _result(self, message: ToolResultMessage) -> None:
        programmatic = message.tool_call_id in self._program_calls
        if (made := _result_of_text(message)) is not None:
            self._results.append(made)
            return
        self._results.append(
            result_block(
                message.tool_call_id,
                message.content,
                is_error=message.is_error,
                text_only=message.is_error or programmatic,
                images_left=self._budget,
            )
        )

    def _group(self) -> list[Block]:
        """What stands between two replies: all results first, then the texts (A03)."""
        blocks = self._results + self._texts
        if blocks and self._note is not None:
            blocks.insert(len(self._results), text_block(self._note))
        return blocks


def _make_reply_parts(message: AssistantMessage) -> tuple[list[Block], list[str]]:
    """The blocks of a reply, and the ids of those of its calls that a program made."""
    return assistant_blocks(message), [c.id for c in message.tool_calls if c.programmatic]


_reply_parts = Memo(_make_reply_parts)


def _make_result_of_text(message: ToolResultMessage) -> Block | None:
    """The block of a result without images, which is the same in every request."""
    if any(isinstance(block, ImageContent) for block in message.content):
        return None
    return result_block(
        message.tool_call_id, message.content, is_error=message.is_error, text_only=True,
        images_left=ImageBudget([]),
    )  # fmt: skip


_result_of_text = Memo(_make_result_of_text)


def _images(history: Sequence[Message]) -> Iterator[ImageContent]:
    for message in history:
        if not isinstance(message, AssistantMessage):
            yield from (b for b in message.content if isinstance(b, ImageContent))


def _stripped(message: WireMessage) -> WireMessage:
    """The last text of a list that ends with a reply may not end in white space."""
    *before, last = message["content"]
    if last.get("type") == "text":
        last = {**last, "text": last["text"].rstrip()}
    return {**message, "content": [*before, last]}
