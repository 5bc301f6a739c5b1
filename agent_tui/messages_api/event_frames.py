"""Bytes of a Bedrock response → raw events: the frames of an AWS event stream.

Each frame holds one event as base64 in JSON; botocore finds the frames and checks their sums.
A frame of the kinds "exception" and "error" becomes the error event a stream of the API ends
with, under the name AWS gives it.
"""

import base64
import json
import logging
from importlib import import_module
from typing import Any, cast

from pydantic_core import from_json

from agent_tui.messages_api.errors import InvalidResponseError
from agent_tui.messages_api.sse import RawEvent

_log = logging.getLogger(__name__)

CONTENT_TYPE = "application/vnd.amazon.eventstream"


class FrameReader:
    """feed(chunk) → the raw events completed by it, verbatim; as sse.SSEReader.

    error: set by a frame that is damaged or holds no event; the events before it were handed
    out, nothing after it is read. The caller raises it.
    Raises ModuleNotFoundError where botocore is not installed.
    """

    __slots__ = ("_buffer", "_damage", "error")

    def __init__(self) -> None:
        module: Any = import_module("botocore.eventstream")
        self._buffer: Any = module.EventStreamBuffer()
        self._damage: type[Exception] = module.ParserError
        self.error: InvalidResponseError | None = None

    def feed(self, chunk: bytes) -> list[RawEvent]:
        """The events that end in this chunk, in order; none after an error."""
        events: list[RawEvent] = []
        if self.error is not None:
            return events
        self._buffer.add_data(chunk)
        try:
            for frame in self._buffer:
                event = _event(frame.headers, frame.payload)
                if event is not None:
                    events.append(event)
        except (self._damage, ValueError, TypeError, RecursionError) as error:
            _log.warning("damaged frame: %s", error)
            self.error = InvalidResponseError("The server sent a damaged frame of events.")
        return events

    def close(self) -> list[RawEvent]:
        """At the end of the body: nothing, since a frame without its end has no checksum."""
        return []


def _event(headers: dict[str, Any], payload: bytes) -> RawEvent | None:
    kind = headers.get(":message-type", "event")
    if kind == "error":
        return _error(headers.get(":error-code"), headers.get(":error-message"))
    value: Any = from_json(payload) if payload else {}
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if kind == "exception":
        said = fields.get("message", fields.get("Message", fields.get("originalMessage")))
        return _error(headers.get(":exception-type"), said)
    if headers.get(":event-type", "chunk") != "chunk" or "bytes" not in fields:
        return None
    event = _parse(base64.b64decode(fields["bytes"], validate=True))
    if not isinstance(event, dict):
        _log.warning("event that is no object: ignored")
        return None
    return cast(RawEvent, event)


def _parse(payload: bytes) -> Any:
    try:
        return from_json(payload)
    except ValueError:  # what this parser refuses and json takes: lone surrogates, deep nesting
        return json.loads(payload.decode("utf-8", "replace"))


def _error(name: Any, message: Any) -> RawEvent:
    return {
        "type": "error",
        "error": {
            "type": name if isinstance(name, str) and name else "api_error",
            "message": message if isinstance(message, str) else "",
        },
    }
