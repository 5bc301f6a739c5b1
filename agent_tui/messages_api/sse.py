"""Bytes of a response body → raw events as dicts: an incremental reader of server-sent events.

It tolerates what other servers send: CRLF and CR line ends, several data lines, comments,
missing event names, a "[DONE]" line, UTF-8 split across chunks. It is not tolerant of data
that is no JSON: that is a broken response.
"""

import json
import logging
from typing import Any, cast

from agent_tui.messages_api.errors import InvalidResponseError

_log = logging.getLogger(__name__)

MAX_EVENT_BYTES = 256 * 1024 * 1024
"""A line longer than this is not a Messages API event."""

RawEvent = dict[str, Any]


class SSEReader:
    """feed(chunk) → the raw events completed by it; close() → what a missing last blank line held.

    Every event is the JSON object of its data, verbatim; "type" is filled from the event's
    name only where the JSON lacks it. The cost of a chunk follows its length.

    error: set when data was no JSON; the events before it were handed out, nothing after it
    is read. The caller raises it.
    """

    __slots__ = ("_begun", "_data", "_name", "_skip_lf", "_tail", "_tail_size", "error")

    def __init__(self) -> None:
        self.error: InvalidResponseError | None = None
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._data: list[bytes] = []
        self._name = b""
        self._skip_lf = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[RawEvent]:
        """The events that end in this chunk, in order; none after an error."""
        if self.error is not None:
            return []
        if not self._begun and chunk:
            self._begun = True
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        if self._tail:
            self._tail.append(chunk)
            chunk = b"".join(self._tail)
            self._tail.clear()
            self._tail_size = 0
        lines = chunk.split(b"\n")
        self._keep(lines.pop())
        events: list[RawEvent] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if data:
                    payload = data[0] if len(data) == 1 else b"\n".join(data)
                    data.clear()
                    event = self._event(payload)
                    if event is not None:
                        events.append(event)
                    elif self.error is not None:
                        return events
                elif self._name:
                    events.append({"type": self._name.decode("utf-8", "replace")})
                self._name = b""
            elif line.startswith(b"event:"):
                self._name = line[6:].strip()
            elif line == b"data":
                data.append(b"")
        return events

    def close(self) -> list[RawEvent]:
        """At the end of the body: an event whose last blank line is missing, if it is whole."""
        failed = self.error
        events = self.feed(b"\n\n")
        self.error = failed  # a torn last event is a cut stream, not a wrong one
        return events

    def _keep(self, tail: bytes) -> None:
        if not tail:
            return
        self._tail.append(tail)
        self._tail_size += len(tail)
        if self._tail_size > MAX_EVENT_BYTES:
            self.error = InvalidResponseError("The server sends one endless line.", retryable=False)

    def _event(self, payload: bytes) -> RawEvent | None:
        if not payload or payload == b"[DONE]":
            return None
        try:
            value: Any = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            _log.warning("event that is not JSON (%s bytes): %s", len(payload), error)
            self.error = InvalidResponseError("The server sent an event that is not valid JSON.")
            return None
        if not isinstance(value, dict):
            _log.warning("event that is no object: ignored")
            return None
        event = cast(RawEvent, value)
        if "type" not in event and self._name:
            event["type"] = self._name.decode("utf-8", "replace")
        return event


def read_events(body: bytes) -> list[RawEvent]:
    """The raw events of a recorded response body (an .sse file).

    Raises InvalidResponseError for an event that is no JSON, unless it is a torn last one.
    """
    reader = SSEReader()
    events = [*reader.feed(body), *reader.close()]
    if reader.error is not None:
        raise reader.error
    return events
