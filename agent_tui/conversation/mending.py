"""What a service refuses for good is mended once, and stays mended (faults A12, A25, A30).

A refusal that sticks to the history (a signature that is not taken, an image, a container
that is gone) would answer every later request too. The stored messages are never changed: a
mend says what requests leave out or add, and is kept when the service has taken a request
that was made so. No other refusal is ever answered by sending the same again.
"""

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from agent_tui.agent.events import StreamEvent
from agent_tui.agent.llm_messages import repair
from agent_tui.agent.loop import LLMContext, StreamFunction, StreamOptions
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    Container,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.conversation.programs import may_go_on
from agent_tui.conversation.retry import closing
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.request import build_request, without_thinking

log = logging.getLogger(__name__)

EXPIRY_SLACK_S = 600.0
"""A container is taken for gone only so long after its expiry: clocks differ."""

MAX_IMAGE_MENDS = 3
"""For one request: the image that the refusal names, then all old ones, then all."""

CONTAINER_NOTE = (
    "[The code execution container of this conversation is gone, with its files and variables. "
    "Make anew what is still needed.]"
)
IMAGE_NOTE = "[an image, left out: the service refused it. Ask for a smaller copy if it is needed.]"

_WHERE = re.compile(r"messages\.(\d+)\.content\.(\d+)(?:\.(?:tool_result\.)?content\.(\d+))?")
_ABOUT_IMAGES = re.compile(r"\bimages?\b|media.?type", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mend:
    """One change of what is sent; sessions.records.MendRecord says what the fields hold."""

    what: Literal["thinking", "image", "upload", "note"]
    ids: tuple[str, ...]
    text: str = ""


@dataclass(slots=True)
class _Try:
    """One request: its context and options, and what was mended for it."""

    context: LLMContext
    options: StreamOptions
    mends: list[Mend] = field(default_factory=list[Mend])
    done: set[str] = field(default_factory=set[str])
    images: int = 0
    drops: bool = False


class Mending:
    """The mends of one conversation, and the stream function that finds them.

    notify: a sentence for the user. keep: a mend the service has taken, to be recorded.
    container: the live one, None if there is none; container_lost: it is used no more.
    """

    def __init__(
        self,
        *,
        notify: Callable[[str], None],
        keep: Callable[[Mend], None],
        container: Callable[[], Container | None],
        container_lost: Callable[[], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._notify = notify
        self._keep_record = keep
        self._container = container
        self._container_lost = container_lost
        self._clock = clock
        self._thinking: set[str] = set()
        self._images: set[str] = set()
        self._uploads: set[str] = set()
        self._notes: dict[str, str] = {}

    def load(self, mends: Sequence[Any]) -> None:
        """Begin anew with these (of a session)."""
        self._thinking.clear()
        self._images.clear()
        self._uploads.clear()
        self._notes.clear()
        for mend in mends:
            self._take(Mend(mend.what, tuple(mend.ids), mend.text))

    def _take(self, mend: Mend) -> None:
        match mend.what:
            case "thinking":
                self._thinking.update(mend.ids)
            case "image":
                self._images.update(mend.ids)
            case "upload":
                self._uploads.update(mend.ids)
            case "note" if mend.ids:
                self._notes[mend.ids[0]] = mend.text
            case _:
                log.warning("a mend of a kind not known here was left out: %s", mend.what)

    # --- what is sent ------------------------------------------------------------------

    def apply(self, messages: Sequence[Message]) -> list[Message]:
        """The messages as they are sent; those that need no change are the same."""
        sent: list[Message] = []
        for message in messages:
            if isinstance(message, AssistantMessage):
                sent += without_thinking([message]) if message.id in self._thinking else [message]
            else:
                if self._images:
                    message = _without_images(message, self._images)
                sent.append(_without_uploads(message, self._uploads))
            while (text := self._notes.get(sent[-1].id)) is not None:
                sent.append(_note(sent[-1], text))
        return sent

    def wrap(self, stream_function: StreamFunction) -> StreamFunction:
        """The same stream function with the mends applied, and new ones found: each kind of
        refusal is answered once per request. The last error is raised as it came."""

        async def stream(
            model: str, context: LLMContext, options: StreamOptions
        ) -> AsyncIterator[StreamEvent]:
            attempt = await self._first(context, options)
            while True:
                began = False
                try:
                    async with closing(
                        stream_function(model, attempt.context, attempt.options)
                    ) as events:
                        async for event in events:
                            if not began:
                                began = True
                                self._taken(attempt)
                            yield event
                    return
                except ApiError as error:
                    if began or not await self._mend(error, model, attempt):
                        raise

        return stream

    async def _first(self, context: LLMContext, options: StreamOptions) -> _Try:
        if self._images:  # each image is hashed
            messages = await asyncio.to_thread(self.apply, context.messages)
        else:
            messages = self.apply(context.messages)
        attempt = _Try(replace(context, messages=messages), options)
        container = self._container()
        if options.container_id and container is not None and self._expired(container):
            self._without_container(attempt, "has expired")
        elif (asked := _waiting(messages)) is not None:
            if not options.container_id:
                # Its container is not known any more, and without one no result may be sent (A23).
                self._cut_program(attempt)
            elif not may_go_on(asked, context.tools):
                self._cut_program(attempt)
                self._notify(
                    "The program that waited cannot go on, since not all of its tools are on "
                    "offer to programs any more; the model is told."
                )
        return attempt

    def _cut_program(self, attempt: _Try) -> None:
        messages = repair(attempt.context.messages, program_lost=True, cut_unstarted=True)
        attempt.context = replace(attempt.context, messages=messages)

    def _expired(self, container: Container) -> bool:
        if container.expires_at is None:
            return False
        try:
            expiry = datetime.fromisoformat(container.expires_at)
        except ValueError:
            return False
        if expiry.tzinfo is None:
            expiry = expiry.replace(tzinfo=UTC)
        return expiry.timestamp() + EXPIRY_SLACK_S < self._clock()

    def _taken(self, attempt: _Try) -> None:
        """The service took the request: from here on all are made so."""
        for mend in attempt.mends:
            self._take(mend)
            self._keep_record(mend)
        attempt.mends.clear()
        if attempt.drops:
            attempt.drops = False
            self._container_lost()

    # --- what was refused --------------------------------------------------------------

    async def _mend(self, error: ApiError, model: str, attempt: _Try) -> bool:
        """Change the attempt so that it may be taken; False when there is nothing to change."""
        match error.kind:
            case "thinking_signature":
                return self._without_thinking(attempt)
            case "container":
                return self._without_container(attempt, "is gone")
            case "server" if error.status == 500:
                # Seen for a container that was reclaimed: no type, no word of it.
                return self._without_container(attempt, "may be gone", certain=False)
            case "not_found" | "invalid_request" if self._without_upload(error, attempt):
                return True
            case "too_large" | "invalid_request":
                return await self._without_image(error, model, attempt)
            case _:
                return False

    def _without_thinking(self, attempt: _Try) -> bool:
        messages = attempt.context.messages
        ids = tuple(
            m.id
            for m in messages
            if isinstance(m, AssistantMessage)
            and any(isinstance(b, ThinkingContent) for b in m.content)
        )
        if not ids or "thinking" in attempt.done:
            return False
        attempt.done.add("thinking")
        attempt.mends.append(Mend("thinking", ids))
        attempt.context = replace(attempt.context, messages=without_thinking(messages))
        self._notify(
            "The service no longer takes the model's earlier thinking: it is left out from here "
            "on, and the request is sent once more."
        )
        return True

    def _without_container(self, attempt: _Try, what: str, *, certain: bool = True) -> bool:
        """certain: it is gone, whatever becomes of the request that is sent without it."""
        if not attempt.options.container_id:
            return False
        attempt.options = replace(attempt.options, container_id=None)
        messages = repair(attempt.context.messages, program_lost=True, cut_unstarted=True)
        if messages:
            mend = Mend("note", (messages[-1].id,), CONTAINER_NOTE)
            if certain:
                self._take(mend)
                self._keep_record(mend)
            else:
                attempt.mends.append(mend)
            messages = [*messages, _note(messages[-1], CONTAINER_NOTE)]
        attempt.context = replace(attempt.context, messages=messages)
        if certain:
            self._container_lost()
        else:
            attempt.drops = True
        self._notify(
            f"The code execution container {what}, with its files; the request is sent without "
            "it, and the model is told."
        )
        return True

    def _without_upload(self, error: ApiError, attempt: _Try) -> bool:
        """A file for the container that the service has no more: it is left out."""
        messages = attempt.context.messages
        gone = {
            upload.file_id: upload.name or upload.file_id
            for message in messages
            if isinstance(message, UserMessage)
            for upload in message.uploads
            if upload.file_id in error.message
        }
        if not gone:
            return False
        attempt.mends.append(Mend("upload", tuple(gone)))
        attempt.context = replace(
            attempt.context, messages=[_without_uploads(m, gone.keys()) for m in messages]
        )
        self._notify(
            f"The service has the uploaded {', '.join(gone.values())} no more: left out from here "
            "on, and the request is sent once more. /container upload sends it again."
        )
        return True

    def new_container(self, messages: Sequence[AgentMessage]) -> None:
        """The user has given the container up: the model is told behind these messages."""
        for message in reversed(messages):
            if isinstance(message, AssistantMessage | UserMessage | ToolResultMessage):
                mend = Mend("note", (message.id,), CONTAINER_NOTE)
                self._take(mend)
                self._keep_record(mend)
                return

    async def _without_image(self, error: ApiError, model: str, attempt: _Try) -> bool:
        messages = attempt.context.messages
        if not any(_images(messages)) or attempt.images >= MAX_IMAGE_MENDS:
            return False
        attempt.images += 1
        where = _WHERE.search(error.message) if error.kind == "invalid_request" else None
        digests: set[str] = set()
        if where is not None:
            digests = await asyncio.to_thread(_named, where, model, attempt)
        if not digests:
            if error.kind != "too_large" and not _ABOUT_IMAGES.search(error.message):
                return False
            digests = await asyncio.to_thread(_old_or_all, messages)
        attempt.mends.append(Mend("image", tuple(sorted(digests))))
        kept = [
            m if isinstance(m, AssistantMessage) else _without_images(m, digests) for m in messages
        ]
        attempt.context = replace(attempt.context, messages=kept)
        how_many = "an image" if len(digests) == 1 else f"{len(digests)} images"
        self._notify(
            f"The service refused {how_many} of this conversation ({error.message.rstrip('.')}): "
            "left out from here on, and the request is sent once more. To have it seen, attach a "
            "smaller copy (at most 5 MB and 8,000 pixels a side) as PNG, JPEG, GIF or WebP."
        )
        return True


def _waiting(messages: Sequence[Message]) -> AssistantMessage | None:
    """The answer with a program's calls, if the end of this history holds their results."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message if any(call.programmatic for call in message.tool_calls) else None
        if isinstance(message, UserMessage):
            return None
    return None


def _note(after: Message, text: str) -> UserMessage:
    return UserMessage(id=f"{after.id}-mend", timestamp=after.timestamp, content=text_content(text))


# --- images ---------------------------------------------------------------------------


def image_digest(data: str) -> str:
    """By which an image is known in a mend: of its base64 text."""
    return hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()[:16]


def _images(messages: Sequence[Message]) -> list[ImageContent]:
    return [
        block
        for message in messages
        if not isinstance(message, AssistantMessage)
        for block in message.content
        if isinstance(block, ImageContent)
    ]


def _without_images(message: Message, digests: set[str]) -> Message:
    if not any(
        isinstance(b, ImageContent) and image_digest(b.data) in digests for b in message.content
    ):
        return message
    content = [
        TextContent(text=IMAGE_NOTE)
        if isinstance(block, ImageContent) and image_digest(block.data) in digests
        else block
        for block in message.content
    ]
    return message.model_copy(update={"content": content})


def _without_uploads(message: Message, gone: Collection[str]) -> Message:
    if not gone or not isinstance(message, UserMessage):
        return message
    if not any(upload.file_id in gone for upload in message.uploads):
        return message
    kept = [upload for upload in message.uploads if upload.file_id not in gone]
    names = ", ".join(u.name or u.file_id for u in message.uploads if u.file_id in gone)
    note = TextContent(text=f"[left out, as the service has it no more: {names}]")
    return message.model_copy(update={"uploads": kept, "content": [*message.content, note]})


def _named(where: re.Match[str], model: str, attempt: _Try) -> set[str]:
    """Digests of the images that stand where the refusal points to (empty: none do)."""
    at, block_at, part_at = (None if g is None else int(g) for g in where.groups())
    wire: list[Any] = build_request(model, attempt.context, attempt.options)["messages"]
    try:
        block = wire[at]["content"][block_at]  # type: ignore[index]
        parts: Any = block["content"] if block["type"] == "tool_result" else [block]
        if part_at is not None and block["type"] == "tool_result":
            parts = [parts[part_at]]
    except (IndexError, KeyError, TypeError):
        return set()
    return {image_digest(p["source"]["data"]) for p in parts if p.get("type") == "image"}


def _old_or_all(messages: Sequence[Message]) -> set[str]:
    """The images before the last answer of the model; all of them where there are none."""
    last = max((i for i, m in enumerate(messages) if isinstance(m, AssistantMessage)), default=0)
    old = _images(messages[:last]) or _images(messages)
    return {image_digest(image.data) for image in old}
