"""PartialMessage: folds the StreamEvents of one response into an AssistantMessage.

One delta costs one append, however long the message is; snapshot() joins what came so far.
"""

import json
from typing import Any, cast

from agent_tui.agent.events import (
    ContainerEvent,
    DoneEvent,
    ErrorEvent,
    OpaqueEvent,
    StartEvent,
    StreamEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    UsageEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    Container,
    OpaqueContent,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    Usage,
    new_id,
)

_Block = TextContent | ThinkingContent | ToolCall | OpaqueContent


MOST_LEVELS = 100
"""Of a JSON value that goes back to the API (messages_api/wire_text.py)."""


class _Slot:
    """A block as it comes: its final form once closed, else its kind and its pieces."""

    __slots__ = ("block", "closed", "kind", "pieces")

    def __init__(self, kind: str, block: _Block | None = None) -> None:
        self.kind = kind
        self.block = block
        self.closed = False
        self.pieces: list[str] = []

    def snapshot(self, *, ends: bool = False) -> _Block | None:
        """The block as it stands. ends: the answer ends here, and a call with it."""
        if self.closed:
            return self.block
        match self.kind:
            case "text":
                return TextContent(text="".join(self.pieces))
            case "thinking":
                return ThinkingContent(thinking="".join(self.pieces))
            case "toolcall" if ends:
                return _ended_call(cast("ToolCall", self.block), "".join(self.pieces))
            case _:
                unfinished = cast("ToolCall | OpaqueContent | None", self.block)
                return unfinished and unfinished.model_copy(update={"complete": False})


class PartialMessage:
    """The message of one response while it streams.

    id is the id the finished message will have. apply() takes every StreamEvent except done
    and error, which carry the message themselves.
    """

    def __init__(self, model: str = "") -> None:
        self.id = new_id()
        self.model = model
        self.api_id: str | None = None
        self.usage: Usage | None = None
        self.container: Container | None = None
        self._slots: dict[int, _Slot] = {}
        self._timestamp = AssistantMessage().timestamp

    def apply(self, event: StreamEvent) -> None:
        match event:
            case TextDeltaEvent() | ThinkingDeltaEvent():
                slot = self._slots.get(event.index)
                if slot is None:
                    slot = self._slots[event.index] = _Slot(event.type.removesuffix("_delta"))
                slot.pieces.append(event.delta)
            case TextEndEvent() | ThinkingEndEvent() | ToolCallEndEvent():
                self._close(event.index, event.block)
            case ToolCallStartEvent():
                self._slots[event.index] = _Slot("toolcall", event.block)
            case OpaqueEvent():
                self._apply_opaque(event)
            case UsageEvent():
                self.usage = event.usage
            case ContainerEvent():
                self.container = event.container
            case StartEvent():
                # A second start means that the response begins anew.
                self._slots.clear()
                self.api_id = event.message_id
                self.model = event.model or self.model
            case TextStartEvent() | ThinkingStartEvent():
                self._slots[event.index] = _Slot(event.type.removesuffix("_start"))
            case ToolCallDeltaEvent():
                # They come whole with toolcall_end; the pieces are for a call that is stopped.
                if (slot := self._slots.get(event.index)) is not None and not slot.closed:
                    slot.pieces.append(event.delta)
            case DoneEvent() | ErrorEvent():
                pass

    def _close(self, index: int, block: _Block) -> None:
        slot = self._slots.get(index)
        if slot is None:
            slot = self._slots[index] = _Slot(block.type)
        slot.block, slot.closed = block, True
        slot.pieces.clear()

    def _apply_opaque(self, event: OpaqueEvent) -> None:
        if event.phase == "end" and event.block is not None:
            self._close(event.index, event.block)
        elif event.phase == "start" and event.block is not None:
            self._slots[event.index] = _Slot("opaque", event.block)

    def has_call(self, tool_call_id: str) -> bool:
        return any(
            isinstance(slot.block, ToolCall) and slot.block.id == tool_call_id
            for slot in self._slots.values()
        )

    def index_of_open(self, tool_call_id: str) -> int | None:
        """Where this call stands, while its arguments are not complete."""
        for index, slot in self._slots.items():
            if isinstance(slot.block, ToolCall) and slot.block.id == tool_call_id:
                return None if slot.closed else index
        return None

    def start_message(self) -> AssistantMessage:
        """The empty message that message_start carries."""
        return self._message([], "end_turn")

    def snapshot(
        self,
        stop_reason: StopReason = "end_turn",
        error_message: str | None = None,
        error_type: str | None = None,
    ) -> AssistantMessage:
        """The message as it stands, open blocks included (calls and opaque blocks with
        complete=False). Costs one pass over what came so far."""
        message = self._message(self._blocks(), stop_reason)
        message.error_message = error_message
        message.error_type = error_type
        return message

    def ended_here(self) -> AssistantMessage:
        """The message of an answer that ends with what came so far, because the user stopped
        a call while its arguments streamed: as if the model had ended with this call."""
        return self._message(self._blocks(ends=True), "tool_use")

    def _blocks(self, *, ends: bool = False) -> list[_Block]:
        blocks = [slot.snapshot(ends=ends) for _, slot in sorted(self._slots.items())]
        return [block for block in blocks if block is not None]

    def _message(self, content: list[_Block], stop_reason: StopReason) -> AssistantMessage:
        return AssistantMessage(
            id=self.id,
            timestamp=self._timestamp,
            content=content,
            model=self.model,
            api_id=self.api_id,
            stop_reason=stop_reason,
            usage=self.usage,
            container=self.container,
        )


def _ended_call(call: ToolCall, text: str) -> ToolCall:
    """A call that ends after this much of its arguments: an object as far as it goes back."""
    arguments = (_object(text) or {}) if text.strip() else call.arguments
    return call.model_copy(update={"arguments": arguments, "complete": True, "cut_arguments": text})


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that this text is, in full; None for anything else, and for one that may
    be nested deeper than goes back."""
    if text.count("{") + text.count("[") > MOST_LEVELS:
        return None
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
