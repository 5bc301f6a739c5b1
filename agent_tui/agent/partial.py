"""PartialMessage: folds the StreamEvents of one response into an AssistantMessage.

One delta costs one append, however long the message is; snapshot() joins what came so far.
"""

from typing import cast

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


class _Slot:
    """A block as it comes: its final form once closed, else its kind and its pieces."""

    __slots__ = ("block", "closed", "kind", "pieces")

    def __init__(self, kind: str, block: _Block | None = None) -> None:
        self.kind = kind
        self.block = block
        self.closed = False
        self.pieces: list[str] = []

    def snapshot(self) -> _Block | None:
        if self.closed:
            return self.block
        match self.kind:
            case "text":
                return TextContent(text="".join(self.pieces))
            case "thinking":
                return ThinkingContent(thinking="".join(self.pieces))
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
            case ToolCallDeltaEvent() | DoneEvent() | ErrorEvent():
                pass  # a call's arguments come whole, with toolcall_end

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
        blocks = [slot.snapshot() for _, slot in sorted(self._slots.items())]
        message = self._message([b for b in blocks if b is not None], stop_reason)
        message.error_message = error_message
        message.error_type = error_type
        return message

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
