"""Rules about single messages and blocks: texts, ids, images, thinking."""

import base64
import contextlib
import re
from collections.abc import Iterator
from typing import Any

from agent_tui.offline.rules.images import image_size, image_type
from agent_tui.offline.rules.model_facts import model_facts
from agent_tui.offline.rules.registry import Request, rule

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_CALL_TYPES = ("tool_use", "server_tool_use", "mcp_tool_use")
_STRICT_BLOCKS_SINCE = "2026-10-21"
_MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MAX_IMAGE_BYTES = 5 * 1024 * 1024
MAX_IMAGE_SIDE, MAX_MANY_SIDE, MANY_IMAGES, MAX_IMAGES = 8000, 2000, 20, 100


@rule("messages_present", "There is at least one message.")
def messages_present(request: Request) -> Iterator[str]:
    if not request.messages:
        yield "messages: at least one message is required"


@rule("first_message", "The first message is the user's.")
def first_message(request: Request) -> Iterator[str]:
    if request.messages and request.messages[0].role != "user":
        yield 'messages: first message must use the "user" role'


@rule("system_role", "Messages of role system are for models that know them.")
def system_role(request: Request) -> Iterator[str]:
    model = request.body["model"]
    for message in request.messages:
        if message.role == "system" and not model_facts(model).system_messages:
            yield f"{message.path}.role: 'system' messages are not supported by {model}"


@rule("empty_message", "No message is empty.")
def empty_message(request: Request) -> Iterator[str]:
    last = request.messages[-1] if request.messages else None
    for message in request.messages:
        # A text as content is one block; when it is blank, the message is what is empty.
        blank = len(message.blocks) == 1 and message.blocks[0][0] == f"{message.path}.content"
        if (not message.blocks or (blank and not message.blocks[0][1]["text"].strip())) and not (
            message is last and message.role == "assistant"
        ):
            yield (
                f"{message.path}: all messages must have non-empty content except for the "
                "optional final assistant message"
            )


@rule("empty_text", "No text block is empty or only whitespace.")
def empty_text(request: Request) -> Iterator[str]:
    for path, block in request.nested_blocks():
        if block["type"] == "text" and not path.endswith(".content") and not block["text"].strip():
            kind = "be non-empty" if not block["text"] else "contain non-whitespace text"
            yield f"{path}: text content blocks must {kind}"


@rule("trailing_whitespace", "A prefill does not end in whitespace.")
def trailing_whitespace(request: Request) -> Iterator[str]:
    if not request.messages or request.messages[-1].role != "assistant" or request.goes_on:
        return
    blocks = request.messages[-1].blocks
    if blocks and blocks[-1][1]["type"] == "text":
        text = blocks[-1][1]["text"]
        if text != text.rstrip():
            yield "messages: final assistant content cannot end with trailing whitespace"


@rule("assistant_document", "The assistant's messages hold no document (since 2026-10-21).")
def assistant_document(request: Request) -> Iterator[str]:
    for message in request.messages:
        if message.role == "assistant" and request.version >= _STRICT_BLOCKS_SINCE:
            for path, block in message.blocks:
                if block["type"] == "document":
                    yield f"{path}: `document` blocks are not allowed in `assistant` messages"


@rule("user_citations", "The user's texts carry no citations (since 2026-10-21).")
def user_citations(request: Request) -> Iterator[str]:
    for message in request.messages:
        if message.role == "user" and request.version >= _STRICT_BLOCKS_SINCE:
            for path, block in message.blocks:
                if block["type"] == "text" and block.get("citations"):
                    yield f"{path}.text.citations: must be empty in `user` messages"


# --- calls and results, each for itself -------------------------------------------


@rule("call_id", "The ids of calls and results are letters, digits, _ or -.")
def call_id(request: Request) -> Iterator[str]:
    for path, block in request.blocks():
        key = "id" if block["type"] in _CALL_TYPES else "tool_use_id"
        if isinstance(block.get(key), str) and not _ID.fullmatch(block[key]):
            yield f"{path}.{block['type']}.{key}: String should match pattern '^[a-zA-Z0-9_-]+$'"


@rule("call_name", "A call in the history has a name that a tool could have.")
def call_name(request: Request) -> Iterator[str]:
    for path, block in request.blocks():
        if block["type"] == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]{1,200}", block["name"]):
            yield f"{path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"


@rule("call_ids_unique", "No two calls have one id.")
def call_ids_unique(request: Request) -> Iterator[str]:
    seen: set[str] = set()
    for path, block in request.blocks():
        if block["type"] in _CALL_TYPES:
            if block["id"] in seen:
                yield f"{path}: `{block['type']}` ids must be unique"
            seen.add(block["id"])


@rule("error_result_text", "A result that is an error holds only text.")
def error_result_text(request: Request) -> Iterator[str]:
    for path, block in request.blocks():
        content = block.get("content")
        if block["type"] != "tool_result" or not block.get("is_error"):
            continue
        if isinstance(content, list) and any(inner["type"] != "text" for inner in content):
            yield f'{path}: all content must be type "text" if "is_error" is true'


# --- thinking ---------------------------------------------------------------------


@rule("thinking_signature", "A thinking block comes back with the signature it was given.")
def thinking_signature(request: Request) -> Iterator[str]:
    for path, block in request.blocks():
        if block["type"] == "thinking" and not (
            block["signature"] and request.knows_signature(block["thinking"], block["signature"])
        ):
            yield f"{path}: Invalid `signature` in `thinking` block"


@rule("redacted_thinking", "A redacted_thinking block comes back with its data.")
def redacted_thinking(request: Request) -> Iterator[str]:
    for path, block in request.blocks():
        if block["type"] == "redacted_thinking" and not block["data"]:
            yield f"{path}: Invalid `data` in `redacted_thinking` block"


# --- images -----------------------------------------------------------------------


def _images(request: Request) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, block in request.nested_blocks():
        if block["type"] == "image":
            yield f"{path}.image.source", block["source"]


def _decoded(request: Request, source: dict[str, Any]) -> bytes | None:
    """The bytes of a base64 source; None for another kind, or when it is not base64."""
    if id(source) not in request.image_bytes:
        data = source.get("data")
        decoded = None
        if source.get("type") == "base64" and isinstance(data, str):
            with contextlib.suppress(ValueError):
                decoded = base64.b64decode(data, validate=True)
        request.image_bytes[id(source)] = decoded
    return request.image_bytes[id(source)]


@rule("image_source", "An image is base64 of a known media type, a URL, or a file.")
def image_source(request: Request) -> Iterator[str]:
    for path, source in _images(request):
        match source.get("type"):
            case "base64":
                if source.get("media_type") not in _MEDIA_TYPES:
                    names = ", ".join(f"'{name}'" for name in _MEDIA_TYPES)
                    yield f"{path}.base64.media_type: Input should be one of {names}"
                if not _decoded(request, source):
                    yield f"{path}.base64.data: Input should be valid base64 of an image"
            case "url":
                if not re.match(r"https?://", str(source.get("url"))):
                    yield f"{path}.url.url: Only HTTPS URLs are supported."
            case "file":
                if not isinstance(source.get("file_id"), str):
                    yield f"{path}.file.file_id: Field required"
            case other:
                yield f"{path}: Input tag {other!r} found using 'type' does not match any tag"


@rule("image_bytes", "An image is at most 5 MB.")
def image_bytes(request: Request) -> Iterator[str]:
    for path, source in _images(request):
        data = _decoded(request, source)
        if data and len(data) > MAX_IMAGE_BYTES:
            yield (
                f"{path}.base64: image exceeds 5 MB maximum: {len(data)} bytes > "
                f"{MAX_IMAGE_BYTES} bytes"
            )


@rule("image_media_type", "An image's bytes are of the media type it declares.")
def image_media_type(request: Request) -> Iterator[str]:
    for path, source in _images(request):
        data, declared = _decoded(request, source), source.get("media_type")
        if data and declared in _MEDIA_TYPES and image_type(data) != declared:
            yield f"{path}.base64.data: Image does not match the provided media type {declared}"


@rule("image_side", "No side of an image is over 8000 px, or 2000 px with more than 20 images.")
def image_side(request: Request) -> Iterator[str]:
    sources = list(_images(request))
    many = len(sources) > MANY_IMAGES
    limit = MAX_MANY_SIDE if many else MAX_IMAGE_SIDE
    for path, source in sources:
        size = image_size(_decoded(request, source) or b"")
        if size and max(size) > limit:
            which = "max allowed size for many-image requests" if many else "max allowed size"
            yield (
                f"{path}.base64.data: At least one of the image dimensions exceed {which}: "
                f"{limit} pixels"
            )


@rule("image_count", "There are at most 100 images.")
def image_count(request: Request) -> Iterator[str]:
    count = sum(1 for _ in _images(request))
    if count > MAX_IMAGES:
        yield f"messages: too many images: {count} > {MAX_IMAGES}"
