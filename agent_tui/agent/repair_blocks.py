"""The single blocks and messages of a repaired history; see repair.py for their order."""

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from agent_tui.agent.messages import (
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserBlock,
    UserMessage,
)
from agent_tui.text import sendable

Model = TypeVar("Model", bound=BaseModel)

NOTE_ARGUMENT_CHARS = 300
NOTE_RESULT_CHARS = 2000
"""So much of a call's arguments and of its result a note repeats, in characters."""

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_CHARS = 128
_PROGRAMS = ("code_execution", "bash_code_execution", "text_editor_code_execution")


def changed(model: Model, **fields: object) -> Model:
    """The model with these fields; itself when it has them already (by identity)."""
    if all(getattr(model, name) is value for name, value in fields.items()):
        return model
    return model.model_copy(update=fields)


def clean_json(value: Any) -> Any:
    """A JSON value with sendable in all its strings; itself when nothing had to change."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, dict):
        pairs = [
            (k, sendable(k) if isinstance(k, str) else k, v, clean_json(v))
            for k, v in cast("dict[Any, Any]", value).items()
        ]
        if all(k is k2 and v is v2 for k, k2, v, v2 in pairs):
            return cast(Any, value)
        return {k2: v2 for _, k2, _, v2 in pairs}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        cleaned = [clean_json(v) for v in items]
        return items if all(a is b for a, b in zip(items, cleaned, strict=True)) else cleaned
    return value


def legal_id(call_id: str, taken: set[str]) -> str:
    """The id with legal characters only (facts), made different from those taken."""
    legal = call_id if call_id and not _ILLEGAL.search(call_id) else ""
    legal = legal or _ILLEGAL.sub("_", call_id) or "call"
    number, unique = 2, legal
    while unique in taken:
        unique = f"{legal}_{number}"
        number += 1
    return unique


def legal_name(name: str) -> str:
    """A tool's name as the API takes it; a name the model made up may be anything."""
    if name and len(name) <= _NAME_CHARS and not _ILLEGAL.search(name):
        return name
    return _ILLEGAL.sub("_", name)[:_NAME_CHARS] or "unnamed"


def _sound_blocks(blocks: Sequence[UserBlock], *, images: bool) -> list[UserBlock]:
    """No blank text (facts); images only where the API takes them."""
    sound: list[UserBlock] = []
    for block in blocks:
        if isinstance(block, TextContent):
            if block.text.strip():
                sound.append(changed(block, text=sendable(block.text)))
        elif images:
            sound.append(block)
        else:
            sound.append(
                TextContent(text=f"(an image, {block.media_type}, that cannot stand here)")
            )
    return sound


def _same(a: Sequence[object], b: Sequence[object]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def sound_user_message(message: UserMessage) -> UserMessage | None:
    """The message without blank text; None when nothing is left to send."""
    content = _sound_blocks(message.content, images=True)
    if not content:
        return None
    if _same(content, message.content):
        return message
    return message.model_copy(update={"content": content})


def sound_result(message: ToolResultMessage, wire_id: str, programmatic: bool) -> ToolResultMessage:
    """The result as the API takes it. An error, and the answer to a program, is text only;
    an error is not empty (facts)."""
    images = not (message.is_error or programmatic)
    content = _sound_blocks(message.content, images=images)
    if message.is_error and not content:
        content = [TextContent(text="The call failed without a message.")]
    if _same(content, message.content):
        content = message.content
    return changed(message, tool_call_id=wire_id, content=content)


def result_as_text(message: ToolResultMessage) -> UserMessage:
    """A result whose call is not in the history any more: what it says is kept."""
    name = message.tool_name or "a tool"
    blocks: list[UserBlock] = [b for b in message.content if isinstance(b, ImageContent)]
    body = sendable(message.text) if message.text.strip() else "(no text)"
    text = TextContent(text=f"Result of an earlier call of {sendable(name)}:\n{body}")
    return UserMessage(id=message.id, timestamp=message.timestamp, content=[text, *blocks])


def call_note(
    server_calls: Sequence[str], calls: Sequence[tuple[ToolCall, ToolResultMessage | None]]
) -> str:
    """What the model is told about a program that was interrupted (DESIGN)."""
    others = [n for n in server_calls if n not in _PROGRAMS]
    lines: list[str] = []
    if calls or len(others) < len(server_calls):
        lines.append("The program you had started was interrupted before it finished.")
    lines += [f"Your call of {sendable(n)} was interrupted and gave no result." for n in others]
    for title, wanted in (
        ("Calls that had finished:", False),
        ("Calls that failed or were stopped:", True),
        ("Calls without a result:", None),
    ):
        listed = [
            (call, result)
            for call, result in calls
            if (None if result is None else result.is_error) is wanted
        ]
        if listed:
            lines.append(title)
            lines += [_call_line(call, result) for call, result in listed]
    return "\n".join(lines)


def _call_line(call: ToolCall, result: ToolResultMessage | None) -> str:
    arguments = json.dumps(clean_json(call.arguments), ensure_ascii=False, default=str)
    line = f"- {call.name}({_shortened(arguments, NOTE_ARGUMENT_CHARS)})"
    if result is not None:
        images = sum(isinstance(b, ImageContent) for b in result.content)
        text = result.text.strip() or ("" if images else "(nothing)")
        line += f": {_shortened(text, NOTE_RESULT_CHARS)}"
        line += f" ({images} images left out)" if images else ""
    return sendable(line)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text) - limit} more characters)"
