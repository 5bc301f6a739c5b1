"""The lines of a session file: one JSON object each (DESIGN: On disk).

A record begins with type, id and parent_id, in this order, so that a line cut later
still tells its place in the tree. Message records have the id of their message.
"""

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agent_tui.agent.message_queue import QueueKind
from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    Container,
    ContainerUpload,
    new_id,
)
from agent_tui.text import whole_surrogates

VERSION = 1
"""Of the file format: in the header, and assumed of a record that names none."""

MAX_LINE = 64 * 1024 * 1024
"""Bytes of the longest line written or read. The API takes requests of 32 MB."""

MAX_DETAILS = 256 * 1024
"""Bytes of JSON kept of a message's `details` (for faces only, never sent)."""

MAX_DEPTH = 100
"""Nesting of values that is kept; deeper ones are replaced by a note."""

Mask = Callable[[str], str]
"""Replaces every secret in a string by a mark; handed in, called for each string stored."""

QueueOp = Literal["add", "edit", "withdraw", "order", "pause", "resume"]


class RecordTooLongError(ValueError):
    """The line would pass MAX_LINE, so it could not be read back."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: Any  # each kind narrows it to its own literal
    id: str = Field(default_factory=new_id)
    parent_id: str | None = None
    time: float = Field(default_factory=lambda: round(time.time(), 3))


class Header(BaseModel):
    """The first line. cwd: the folder the session belongs to. created: seconds since 1970.
    face: what made it, where that is known: "print" is a run of -p."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["session"] = "session"
    version: int = VERSION
    id: str
    cwd: str = ""
    created: float = 0.0
    face: str | None = None


class MessageRecord(_Record):
    """A message of the transcript; it becomes the active leaf.

    outcome: id of the tool_outcome record that holds the message, instead of repeating it.
    delivered, landed: of a message from the queue: as what it went out, and where it landed, in
    words ("turn 3, after 2 tool results").
    """

    type: Literal["message"] = "message"
    outcome: str | None = None
    delivered: QueueKind | None = None
    landed: str | None = None
    message: AgentMessage | None = None


class AnswerRecord(_Record):
    """The model began to answer; the answer will have this message id. Not synced: it is there
    to say so when the program ends before the answer does."""

    type: Literal["answer"] = "answer"
    message_id: str


class ToolOutcomeRecord(_Record):
    """A tool ended; message is its ToolResultMessage. Written as it ends, in any order."""

    type: Literal["tool_outcome"] = "tool_outcome"
    duration_ms: int = 0
    message: AgentMessage


class QueueRecord(_Record):
    """A change of the queue. What each op uses: add (item_id, kind, message, local), edit (item_id,
    message), withdraw (item_id), order (steer, follow_up: all pending ids in order; a move,
    a promotion and a demotion are this), pause, resume. A delivery has no record of its own:
    it is the message record whose queue_item_id is the item's."""

    type: Literal["queue"] = "queue"
    op: str
    item_id: str | None = None
    kind: QueueKind | None = None
    local: bool | None = None
    message: AgentMessage | None = None
    steer: list[str] | None = None
    follow_up: list[str] | None = None


class CarriedRecord(_Record):
    """The queue items that are added next were queued in this other session (carried.py)."""

    type: Literal["carried"] = "carried"
    session_id: str


class ModelRecord(_Record):
    type: Literal["model"] = "model"
    model: str


class ThinkingRecord(_Record):
    type: Literal["thinking"] = "thinking"
    level: str


class ToolsRecord(_Record):
    """Who may call which tools, as chosen in the session: exposures by tool, by pattern or for
    "all", in order, each above the settings and above those before it."""

    type: Literal["tools"] = "tools"
    choices: dict[str, str]


class ContainerRecord(_Record):
    """The live container; None: there is none any more."""

    type: Literal["container"] = "container"
    container: Container | None


class UploadsRecord(_Record):
    """Files that go into the container with the next message of the user, all that wait; a
    message that holds one ends its waiting."""

    type: Literal["uploads"] = "uploads"
    uploads: list[ContainerUpload]


class RanRecord(_Record):
    """A command of the user's own that ended while the transcript had to wait for a run. It waits
    to be said until its message, or one that brings it along, is recorded."""

    type: Literal["ran"] = "ran"
    message: BashExecutionMessage


class FaceRecord(_Record):
    """Another face than the one that made the session went on in it."""

    type: Literal["face"] = "face"
    face: str


class PasteRecord(_Record):
    """A paste in a draft, written once: drafts name it by the record's id."""

    type: Literal["paste"] = "paste"
    text: str


class StashedDraft(BaseModel):
    """A draft that was put away; fields as in DraftRecord."""

    model_config = ConfigDict(extra="ignore")

    text: str
    pastes: dict[str, str] | None = None


class DraftRecord(_Record):
    """The text in the composer; the last one counts. pastes: of each placeholder that stands in
    it for a paste, the id of the paste's record. stash: the drafts put away, newest last."""

    type: Literal["draft"] = "draft"
    text: str
    pastes: dict[str, str] | None = None
    stash: list[StashedDraft] | None = None


class LeafRecord(_Record):
    """The active leaf is now the record `target` (None: before the first message)."""

    type: Literal["leaf"] = "leaf"
    target: str | None


class BesideRecord(_Record):
    """An answer of the model that is no part of the conversation, but was paid for: what an MCP
    server asked for. Only its usage is kept, the text is the server's."""

    type: Literal["beside"] = "beside"
    message: AssistantMessage


class MendRecord(_Record):
    """What requests leave out or add since a service refused the history as it is; the
    messages stay as they were. what: "thinking" (of the messages `ids`), "image" (ids: the
    first 16 hex digits of the SHA-256 of its base64 text), "upload" (ids of files), "note"
    (`text`, said by the user behind the message ids[0])."""

    type: Literal["mend"] = "mend"
    what: str
    ids: list[str]
    text: str = ""


Record = (
    MessageRecord
    | AnswerRecord
    | ToolOutcomeRecord
    | QueueRecord
    | CarriedRecord
    | ModelRecord
    | ThinkingRecord
    | ToolsRecord
    | ContainerRecord
    | UploadsRecord
    | RanRecord
    | FaceRecord
    | PasteRecord
    | DraftRecord
    | LeafRecord
    | MendRecord
    | BesideRecord
)

ADAPTERS: dict[str, TypeAdapter[Any]] = {
    model.model_fields["type"].default: TypeAdapter(model)
    for model in (
        MessageRecord, AnswerRecord, ToolOutcomeRecord, QueueRecord, ModelRecord, ThinkingRecord,
        ContainerRecord, FaceRecord, PasteRecord, DraftRecord, LeafRecord, MendRecord,
        ToolsRecord, UploadsRecord, BesideRecord, CarriedRecord,
        RanRecord,
    )
}  # fmt: skip
"""How to validate a record, by its type."""

# Never secrets, and a mask that took them for one would break the tree or a signature.
_NOT_MASKED = {
    "id", "role", "type", "parent_id", "item_id", "tool_call_id", "queue_item_id", "api_id",
    "outcome", "target", "signature", "redacted", "data", "media_type", "ids", "pastes",
    "choices", "message_id", "session_id",
}  # fmt: skip

# Left out of a line when None; a reader gets the same by default.
_OPTIONAL = {
    "outcome", "message", "item_id", "kind", "steer", "follow_up", "delivered", "landed", "pastes",
    "face", "local", "stash",
}  # fmt: skip


def encode(record: Record | Header, mask: Mask | None = None) -> bytes:
    """One line, newline included. Always succeeds for a record made of our models, whatever
    a tool put into details or a model into arguments: lone surrogates become U+FFFD, what
    JSON cannot hold its str(). Raises RecordTooLongError, and what `mask` raises."""
    fields = _plain(record, mask, 0)
    line = _dump({k: v for k, v in fields.items() if v is not None or k not in _OPTIONAL})
    if len(line) >= MAX_LINE:
        raise RecordTooLongError(f"a record of {len(line):,} bytes is too long to be stored")
    return line + b"\n"


def _dump(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole_surrogates(text).encode()


def _plain(value: Any, mask: Mask | None, depth: int) -> Any:
    """The value in JSON's types. Models are walked here, not by pydantic: it refuses
    surrogates, unknown types and cycles, and a refused line would be a lost message."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return mask(value) if mask else value
    if depth > MAX_DEPTH:
        return "[nested too deeply to be stored]"
    if isinstance(value, BaseModel):
        return _plain_model(value, mask, depth)
    if isinstance(value, dict):
        return {_plain(str(k), mask, depth): _plain(v, mask, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, mask, depth + 1) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return _plain(value.decode("utf-8", "replace"), mask, depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shallow = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return _plain(shallow, mask, depth)
    return _plain(str(value), mask, depth)


def _plain_model(model: BaseModel, mask: Mask | None, depth: int) -> dict[str, Any]:
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    out = {
        name: _plain(value, None if name in _NOT_MASKED else mask, depth + 1)
        for name, value in fields.items()
    }
    for name, value in (model.__pydantic_extra__ or {}).items():
        out[name] = _plain(value, mask, depth + 1)
    if fields.get("details") is not None:
        size = len(_dump(out["details"]))
        if size > MAX_DETAILS:
            out["details"] = {"left_out": f"details of {size:,} bytes"}
    return out


_T = TypeVar("_T")


def without_surrogates(value: _T) -> _T:
    """A copy of a JSON value in which halves of surrogate pairs are U+FFFD."""
    return _clean(value)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return whole_surrogates(value)
    if isinstance(value, dict):
        return {whole_surrogates(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
