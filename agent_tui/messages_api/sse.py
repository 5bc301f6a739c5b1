"""Bytes of a response body → raw events as dicts: an incremental reader of server-sent events.

It tolerates what other servers send: CRLF and CR line ends, several data lines, comments,
missing event names, a "[DONE]" line, UTF-8 split across chunks. It is not tolerant of data
that is no JSON: that is a broken response.
"""

import json
import logging
from typing import Any, cast

from pydantic_core import from_json

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

    __slots__ = ("_begun", "_skip_lf", "_tail", "_tail_size", "error")

    def __init__(self) -> None:
        self.error: InvalidResponseError | None = None
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._skip_lf = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[RawEvent]:
        """The events that end in this chunk, in order; none after an error."""
        if not chunk or self.error is not None:
            return []
        if self._skip_lf:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        tail = self._tail
        if b"\n\n" not in chunk and not (
            tail and chunk.startswith(b"\n") and tail[-1].endswith(b"\n")
        ):
            self._keep(chunk)
            return []
        if tail:
            tail.append(chunk)
            chunk = b"".join(tail)
            tail.clear()
            self._tail_size = 0
        if not self._begun:
            self._begun = True
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        records = chunk.split(b"\n\n")
        self._keep(records.pop())
        events: list[RawEvent] = []
        for record in records:
            event = self._event(record)
            if event is not None:
                events.append(event)
            elif self.error is not None:
                break
        return events

    def close(self) -> list[RawEvent]:
        """At the end of the body: an event whose last blank line is missing, if it is whole."""
        if self.error is not None:
            return []
        record = b"".join(self._tail)
        self._tail.clear()
        name, payload = _fields(record)
        event = self._parse(name, payload) if payload else None
        self.error = None  # a torn last event is a cut stream, not a wrong one
        return [event] if event is not None else []

    def _keep(self, tail: bytes) -> None:
        if not tail:
            return
        self._tail.append(tail)
        self._tail_size += len(tail)
        if self._tail_size > MAX_EVENT_BYTES:
            self.error = InvalidResponseError(
                "The server sends one endless event.", retryable=False
            )

    def _event(self, record: bytes) -> RawEvent | None:
        """The event of the lines between two blank ones; None for none, and on an error."""
        head, found, payload = record.partition(b"\ndata: ")
        if found and b"\n" not in payload and head.startswith(b"event: ") and b"\n" not in head:
            return self._parse(head[7:], payload)
        return self._parse(*_fields(record))

    def _parse(self, name: bytes, payload: bytes) -> RawEvent | None:
        try:
            value: Any = from_json(payload, cache_strings="keys")  # texts do not come twice
        except ValueError:
            # no data, and what this parser refuses and json takes: lone surrogates, deep nesting
            said = payload.strip()
            if not said:
                return {"type": name.strip().decode("utf-8", "replace")} if name else None
            if said == b"[DONE]":
                return None
            try:
                value = json.loads(payload.decode("utf-8", "replace"))
            except (ValueError, RecursionError) as error:
                _log.warning("event that is not JSON (%s bytes): %s", len(payload), error)
                self.error = InvalidResponseError(
                    "The server sent an event that is not valid JSON."
                )
                return None
        if not isinstance(value, dict):
            _log.warning("event that is no object: ignored")
            return None
        event = cast(RawEvent, value)
        if "type" not in event and name:
            event["type"] = name.strip().decode("utf-8", "replace")
        return event


def _fields(record: bytes) -> tuple[bytes, bytes]:
    """(event name, data) of an event in any form the standard allows; b"" where missing."""
    name, data = b"", list[bytes]()
    for line in record.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.strip()
    return name, b"\n".join(data)


def read_events(body: bytes) -> list[RawEvent]:
    """The raw events of a recorded response body (an .sse file).

    Raises InvalidResponseError for an event that is no JSON, unless it is a torn last one.
    """
    reader = SSEReader()
    events = [*reader.feed(body), *reader.close()]
    if reader.error is not None:
        raise reader.error
    return events
