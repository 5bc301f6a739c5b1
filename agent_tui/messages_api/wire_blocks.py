"""Content blocks → the API's blocks. Pure; what cannot go out becomes a text note or nothing."""

from collections.abc import Iterable
from typing import Any, cast

from agent_tui.agent.messages import (
    AssistantMessage,
    ContainerUpload,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from agent_tui.messages_api import images
from agent_tui.messages_api.wire_text import clean_tree
from agent_tui.text import sendable, wire_text

Block = dict[str, Any]

NO_OUTPUT = "(no output)"
INVALID_INPUT_KEY = "INVALID_JSON"
"""The API's documented wrapper for input that was no JSON object."""


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def user_blocks(
    content: Iterable[TextContent | ImageContent], images_left: "ImageBudget"
) -> list[Block]:
    """What a user said; empty and white-space-only texts are left out (A06)."""
    blocks: list[Block] = []
    for block in content:
        if isinstance(block, ImageContent):
            blocks.append(images_left.block(block))
        elif block.text.strip():
            blocks.append(text_block(wire_text(block.text)))
    return blocks


def upload_blocks(uploads: Iterable[ContainerUpload], *, taken: bool) -> list[Block]:
    """Files for the container. taken: the request offers code execution; without it the API
    refuses them, and a note stands in their place."""
    if taken:
        return [{"type": "container_upload", "file_id": upload.file_id} for upload in uploads]
    return [
        text_block(wire_text(f"[a file, {upload.name or upload.file_id}, left out: there is no "
                             "code execution now]"))
        for upload in uploads
    ]  # fmt: skip


def result_block(
    call_id: str,
    content: Iterable[TextContent | ImageContent],
    *,
    is_error: bool,
    text_only: bool,
    images_left: "ImageBudget",
) -> Block:
    """A tool_result; never empty. text_only: errors and results of a program hold no image."""
    parts: list[Block] = []
    for block in content:
        if isinstance(block, TextContent):
            if block.text.strip():
                parts.append(text_block(wire_text(block.text)))
        elif text_only:
            parts.append(text_block("[an image, left out: this result may hold only text]"))
        else:
            parts.append(images_left.block(block))
    result: Block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": parts or [text_block(NO_OUTPUT)],
    }
    if is_error:
        result["is_error"] = True
    return result


class ImageBudget:
    """Decides which images of a request go out: the newest ones, within the API's limits (A30).

    Made with every image of the history, in order; `block` gives each its block or a note.
    """

    def __init__(self, all_images: list[ImageContent]) -> None:
        self._answers: dict[int, Block] = {}
        sent: list[tuple[ImageContent, tuple[int, int] | None]] = []
        total = 0
        for image in reversed(all_images):
            try:
                kind, pixels = images.checked(image)
            except images.ImageProblem as problem:
                self._leave_out(image, str(problem))
                continue
            if len(sent) >= images.MAX_IMAGES or total + len(image.data) > images.MAX_TOTAL:
                self._leave_out(image, "there are too many newer images for one request")
                continue
            sent.append((image, pixels))
            total += len(image.data)
            source = {"type": "base64", "media_type": kind, "data": image.data}
            self._answers[id(image)] = {"type": "image", "source": source}
        if len(sent) > images.MANY:
            for image, pixels in sent:
                if pixels and max(pixels) > images.MAX_SIDE_MANY:
                    self._leave_out(
                        image,
                        f"it has {pixels[0]}x{pixels[1]} pixels, more than "
                        f"{images.MAX_SIDE_MANY} beside more than {images.MANY} images",
                    )

    def block(self, image: ImageContent) -> Block:
        """The block for an image: itself, or a note that says why not."""
        return self._answers[id(image)]

    def _leave_out(self, image: ImageContent, why: str) -> None:
        self._answers[id(image)] = text_block(f"[an image, left out: {why}]")


def assistant_blocks(message: AssistantMessage) -> list[Block]:
    """The blocks of a reply as the API sent them: value-equal, key order kept.

    Left out: what a stop cut (half calls, unsigned thinking, unfinished blocks) and empty text.
    """
    return [sent_block(b) for b in message.content if _whole(b)]


def _whole(block: TextContent | ThinkingContent | ToolCall | OpaqueContent) -> bool:
    match block:
        case TextContent():
            return bool(block.text.strip())
        case ThinkingContent():
            return bool(block.signature) or block.redacted is not None
        case _:
            return block.complete


def sent_block(block: TextContent | ThinkingContent | ToolCall | OpaqueContent) -> Block:
    """One block of a reply in the API's form: every field it sent, in its order."""
    match block:
        case TextContent():
            return _fill(block.wire, {"type": "text", "text": sendable(block.text)})
        case ThinkingContent(redacted=None):
            values = {
                "type": "thinking",
                "thinking": sendable(block.thinking),
                "signature": sendable(block.signature or ""),
            }
            return _fill(block.wire, values)
        case ThinkingContent():
            data = sendable(block.redacted or "")
            return _fill(block.wire, {"type": "redacted_thinking", "data": data})
        case ToolCall():
            return _call_block(block)
        case OpaqueContent():
            return cast(Block, clean_tree(block.raw))


def _call_block(call: ToolCall) -> Block:
    arguments = cast(Block, clean_tree(call.arguments))
    if call.invalid_arguments is not None:
        arguments = {INVALID_INPUT_KEY: wire_text(call.invalid_arguments)}
    values: Block = {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": arguments,
    }
    if call.caller is not None:
        values["caller"] = clean_tree(call.caller)
    return _fill(call.wire, values)


def _fill(wire: dict[str, Any] | None, values: Block) -> Block:
    """The wire template with these values in its places; values it lacks come last."""
    if wire is None:
        return values
    filled = {k: values[k] if k in values else clean_tree(v) for k, v in wire.items()}
    return filled | {k: v for k, v in values.items() if k not in filled}
