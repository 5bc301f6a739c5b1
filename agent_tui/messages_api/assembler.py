"""Assembler: raw events of one response → StreamEvents and the final message.

O(1) per delta: parts are appended to lists, JSON is parsed once at a block's end. Whatever
a server sends, feed() does not raise: odd events are tolerated and logged, so that nothing
that came is lost (facts: stream inventory; faults A06-A18, A36-A39).
"""

import logging
from typing import Any, cast

from agent_tui.agent.events import (
    ContainerEvent,
    DoneEvent,
    ErrorEvent,
    StartEvent,
    StreamEvent,
    UsageEvent,
)
from agent_tui.agent.messages import AssistantMessage, Container, Usage
from agent_tui.messages_api.blocks import (
    Block,
    CallBlock,
    Json,
    implied_block,
    make_block,
)
from agent_tui.messages_api.errors import ApiError, StreamCutError, error_from_body
from agent_tui.messages_api.wire_text import clean_tree

_log = logging.getLogger(__name__)

_KNOWN_FIELDS = frozenset(
    {"id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "stop_details",
     "usage", "container"}
)  # fmt: skip


class Assembler:
    """feed(raw event) → StreamEvents; finish() → the closing ones, DoneEvent or ErrorEvent last.

    `index` of a StreamEvent is the block's position in the final message's content. A second
    message_start in the stream (a gateway that asked again upstream) opens a new segment: the
    blocks of the first stay visible, its calls count as cut and never run.

    started: a message_start (or, from servers that leave it out, a block) came. stopped:
    message_stop came. error: an SSE error event came.
    """

    def __init__(self, *, secrets: list[str] | None = None) -> None:
        self.started = False
        self.stopped = False
        self.error: ApiError | None = None
        self._secrets = secrets or []
        self._blocks: list[Block] = []
        self._segment = 0
        self._by_wire_index: dict[Any, Block] = {}
        self._prefilled: list[Any] = []
        self._ids: set[str] = set()
        self._api_id: str | None = None
        self._model = ""
        self._stop_reason: str | None = None
        self._stop_sequence: str | None = None
        self._stop_details: Json | None = None
        self._container: Container | None = None
        self._usage: Json = {}
        self._fields: Json = {}

    def feed(self, event: Json) -> list[StreamEvent]:
        """The StreamEvents of one raw event; [] for those that say nothing (ping, unknown)."""
        kind = event.get("type")
        if kind == "content_block_delta":
            try:
                made = self._by_wire_index[event["index"]].delta(event["delta"])
            except (KeyError, TypeError, AttributeError, ValueError):
                return self._odd_delta(event)
            return [made] if made is not None else []
        try:
            match kind:
                case "content_block_start":
                    return self._block_start(event)
                case "content_block_stop":
                    return self._block_stop(event)
                case "message_start":
                    return self._message_start(event)
                case "message_delta":
                    return self._message_delta(event)
                case "message_stop":
                    self.stopped = True
                    return self._settle_prefilled()
                case "error":
                    self.error = error_from_body(event, status=None, secrets=self._secrets)
                    return []
                case "ping":
                    return []
                case _:
                    _log.info("event %.60r: ignored", kind)
                    return []
        except (TypeError, AttributeError, ValueError, RecursionError) as error:
            _log.warning("malformed %.60r event: %s", kind, error)
            return []

    def finish(self, error: ApiError | None = None) -> list[StreamEvent]:
        """Close the message: DoneEvent last, or ErrorEvent for a broken stream.

        error: what broke it (from map_exception); None at the end of the body. Complete means
        message_stop and a stop_reason (fault A17); an SSE error event makes it an error of that
        type, the lack of either a "stream_cut".
        """
        error = error or self.error
        complete = error is None and self.stopped and self._stop_reason is not None
        events = self._settle_prefilled()
        for block in list(self._by_wire_index.values()):
            # some servers omit content_block_stop: a call counts if its text is whole
            whole = complete and getattr(block, "parses", True)
            events += block.close(complete=whole)
        self._by_wire_index.clear()
        if complete:
            events.append(DoneEvent(self._message(self._stop_reason or "", None)))
            return events
        if error is None:
            error = StreamCutError("The response was cut off before its end.")
        events.append(ErrorEvent(self._message("error", error)))
        return events

    # --- events -------------------------------------------------------------------

    def _message_start(self, event: Json) -> list[StreamEvent]:
        message = _clean_dict(event.get("message"))
        api_id = message.get("id")
        api_id = api_id if isinstance(api_id, str) and api_id else None
        repeated = self.started and api_id is not None and api_id == self._api_id
        events: list[StreamEvent] = []
        if self.started and not repeated:
            _log.warning("a second message_start in one stream: what came before is closed")
            events += self._splice()
        self._api_id = api_id or self._api_id
        model = message.get("model")
        if isinstance(model, str) and model:
            self._model = model
        events += self._begin()
        self._fields.update({k: v for k, v in message.items() if k not in _KNOWN_FIELDS})
        events += self._take_container(message.get("container"))
        self._take_stop(message)
        events += self._take_usage(message.get("usage"))
        content = message.get("content")
        if isinstance(content, list) and not repeated:
            for i, block in enumerate(cast(list[Any], content)):
                if isinstance(block, dict):
                    events += self._open(i, cast(Json, block))
                    self._prefilled.append(i)
        return events

    def _begin(self) -> list[StreamEvent]:
        if self.started:
            return []
        self.started = True
        return [StartEvent(self._api_id, self._model)]

    def _block_start(self, event: Json) -> list[StreamEvent]:
        events = self._settle_prefilled()
        value = event.get("content_block")
        if not isinstance(value, dict):
            _log.warning("content_block_start without a block: ignored")
            return events
        block = cast(Json, value)
        try:
            block = cast(Json, clean_tree(block))
        except ValueError:
            _log.warning("a %.60r block is nested too deeply: left out", block.get("type"))
            return events
        index = event.get("index")
        if not isinstance(index, int):
            index = len(self._blocks) - self._segment
        again = self._by_wire_index.pop(index, None)
        if again is not None:
            events += again.close(complete=False)
        return events + self._open(index, block)

    def _open(self, wire_index: int, raw: Json) -> list[StreamEvent]:
        if raw.get("type") == "fallback":
            # the block names the model that served the rest (facts: blocks; SDK's accumulator)
            target: Any = raw.get("to")
            name = cast(Json, target).get("model") if isinstance(target, dict) else None
            if isinstance(name, str) and name:
                self._model = name
        block = make_block(len(self._blocks), raw, self._ids)
        self._blocks.append(block)
        self._by_wire_index[wire_index] = block
        return self._begin() + block.start()

    def _block_stop(self, event: Json) -> list[StreamEvent]:
        index = event.get("index")
        if index is None and self._by_wire_index:
            index = next(reversed(self._by_wire_index))
        block = self._by_wire_index.pop(index, None)
        if block is None:
            _log.info("content_block_stop for no open block: ignored")
            return []
        if index in self._prefilled:
            self._prefilled.remove(index)
        return block.close(complete=True)

    def _message_delta(self, event: Json) -> list[StreamEvent]:
        events = self._settle_prefilled()
        delta = _clean_dict(event.get("delta"))
        self._take_stop(delta)
        events += self._take_container(delta.get("container"))
        events += self._take_usage(event.get("usage"))
        extra = _clean_dict({k: v for k, v in event.items() if k not in ("type", "delta", "usage")})
        extra |= {k: v for k, v in delta.items() if k not in _KNOWN_FIELDS}
        self._fields.update({k: v for k, v in extra.items() if v is not None})
        return events

    def _odd_delta(self, event: Json) -> list[StreamEvent]:
        """A delta without index, for a block that was never started, or of a wrong shape."""
        value = event.get("delta")
        index = event.get("index")
        if not isinstance(value, dict) or isinstance(index, dict | list):
            _log.warning("malformed content_block_delta: ignored")
            return []
        delta = cast(Json, value)
        if index in self._by_wire_index:
            _log.warning("malformed %.60r: ignored", delta.get("type"))
            return []
        if index is None and self._by_wire_index:
            return self.feed({**event, "index": next(reversed(self._by_wire_index))})
        raw = implied_block(delta)
        if raw is None:
            _log.warning("%.60r for no open block: ignored", delta.get("type"))
            return []
        if index is None:
            index = len(self._blocks) - self._segment
        return self._open(index, raw) + self.feed({**event, "index": index})

    # --- parts --------------------------------------------------------------------

    def _splice(self) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for block in self._by_wire_index.values():
            events += block.close(complete=False)
        self._by_wire_index.clear()
        self._prefilled.clear()
        for block in self._blocks[self._segment :]:
            if isinstance(block, CallBlock):
                block.complete = False
        self._segment = len(self._blocks)
        self._stop_reason = self._stop_sequence = self._stop_details = None
        self.stopped = False
        return events

    def _settle_prefilled(self) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for index in self._prefilled:
            block = self._by_wire_index.pop(index, None)
            if block is not None:
                events += block.close(complete=True)
        self._prefilled.clear()
        return events

    def _take_stop(self, fields: Json) -> None:
        reason, sequence = fields.get("stop_reason"), fields.get("stop_sequence")
        details = fields.get("stop_details")
        if isinstance(reason, str) and reason:
            self._stop_reason = reason
        if isinstance(sequence, str):
            self._stop_sequence = sequence
        if isinstance(details, dict):
            self._stop_details = cast(Json, details)

    def _take_container(self, value: Any) -> list[StreamEvent]:
        if not isinstance(value, dict):
            return []
        fields = cast(Json, value)
        container_id, expires = fields.get("id"), fields.get("expires_at")
        if not isinstance(container_id, str) or not container_id:
            return []
        self._container = Container(
            id=container_id, expires_at=expires if isinstance(expires, str) else None
        )
        if not fields.keys() <= {"id", "expires_at"}:
            self._fields["container"] = fields
        return [ContainerEvent(self._container)]

    def _take_usage(self, value: Any) -> list[StreamEvent]:
        """Counts are cumulative: a later value replaces, a missing one keeps the earlier (A38)."""
        fields = _clean_dict(value)
        if not fields:
            return []
        self._usage.update(
            {k: v for k, v in fields.items() if v is not None or k not in self._usage}
        )
        return [UsageEvent(self._usage_now())]

    def _usage_now(self) -> Usage:
        return Usage(
            input=_count(self._usage.get("input_tokens")),
            output=_count(self._usage.get("output_tokens")),
            cache_read=_count(self._usage.get("cache_read_input_tokens")),
            cache_write=_count(self._usage.get("cache_creation_input_tokens")),
            raw=self._usage,
        )

    def _message(self, stop_reason: str, error: ApiError | None) -> AssistantMessage:
        content = [b.content() for b in self._blocks]
        fields = {k: v for k, v in self._fields.items() if v is not None}
        return AssistantMessage(
            content=content,
            model=self._model,
            api_id=self._api_id,
            stop_reason=stop_reason,
            stop_sequence=self._stop_sequence,
            stop_details=self._stop_details,
            error_message=error.user_sentence() if error else None,
            error_type=error.type_name if error else None,
            usage=self._usage_now() if self._usage else None,
            container=self._container,
            wire=fields or None,
        )


def _clean_dict(value: Any) -> Json:
    """The object, cleaned; {} for anything else, and for one that is nested too deeply."""
    if not isinstance(value, dict):
        return {}
    try:
        return cast(Json, clean_tree(value))
    except ValueError:
        _log.warning("a field that is nested too deeply: left out")
        return {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
