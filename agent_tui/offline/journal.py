"""The journal: what the offline server received and how each exchange ended."""

import json
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_SECRET_HEADERS = {"authorization", "x-api-key", "proxy-authorization", "cookie"}
_SECRET_KEYS = {"authorization_token", "api_key", "auth_token"}
_HIDDEN = "(hidden)"
_START_KEYS = {"event", "n", "time", "method", "path", "headers", "body"}


@dataclass(slots=True)
class JournalEntry:
    """One request. body None: not read, not JSON, or dropped to keep the journal's budget.

    status None: no answer was begun (yet). at: the part of the answer the client had got to
    when it closed the connection: before_headers, start, thinking, text, arguments, block, end.
    container: the container that the answer used, as it was at the answer's end.
    """

    n: int
    time: float
    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    status: int | None = None
    error: dict[str, Any] | None = None
    rule: str | None = None
    events_sent: int = 0
    closed_by_client: bool = False
    at: str | None = None
    duration_ms: float | None = None
    container: dict[str, Any] | None = None
    body_size: int = field(default=0, repr=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "time": self.time,
            "method": self.method,
            "path": self.path,
            "headers": self.headers,
            "body": self.body,
        } | self.outcome()

    def outcome(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "error": self.error,
            "rule": self.rule,
            "events_sent": self.events_sent,
            "closed_by_client": self.closed_by_client,
            "at": self.at,
            "duration_ms": self.duration_ms,
            "container": self.container,
        }


class Journal:
    """Entries in order of arrival, safe to read from any thread.

    budget: characters of request bodies kept in memory; beyond it the oldest bodies are dropped,
    their entries stay. log_path: a file (0600) that gets one JSON line when a request has been
    read and one when its exchange ends, each in a single write, so that a killed process loses
    none. Raises OSError when that file cannot be opened.
    """

    def __init__(self, log_path: str | None = None, *, budget: int = 256_000_000) -> None:
        self._entries: list[JournalEntry] = []
        self._lock = threading.Lock()
        self._budget = budget
        self._kept = 0
        self._oldest_kept = 0
        self._log: int | None = None
        self.stopping = False
        """The server is going: a connection that ends now was not closed by its client."""
        if log_path is not None:
            self._log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def begin(
        self, *, method: str, path: str, headers: Iterable[tuple[str, str]], body: Any, size: int
    ) -> JournalEntry:
        """Enters a request that has been read whole."""
        with self._lock:
            entry = JournalEntry(
                n=len(self._entries) + 1,
                time=time.time(),
                method=method,
                path=path,
                headers={k: _HIDDEN if k in _SECRET_HEADERS else v for k, v in headers},
                body=_without_secrets(body) if self._budget or self._log is not None else None,
                body_size=size,
            )
            start = {"event": "start"} | entry.as_json()
            self._entries.append(entry)
            self._kept += size
            while self._kept > self._budget and self._oldest_kept < len(self._entries):
                old = self._entries[self._oldest_kept]
                self._kept -= old.body_size
                old.body, old.body_size = None, 0
                self._oldest_kept += 1
        self._write({k: v for k, v in start.items() if k in _START_KEYS})
        return entry

    def end(self, entry: JournalEntry) -> None:
        """Closes an entry: its outcome is known."""
        entry.duration_ms = round((time.time() - entry.time) * 1000, 1)
        self._write({"event": "end", "n": entry.n, "time": time.time()} | entry.outcome())

    @property
    def count(self) -> int:
        """Requests entered so far."""
        return len(self._entries)

    def entries(self) -> list[dict[str, Any]]:
        with self._lock:
            return [entry.as_json() for entry in self._entries]

    def close(self) -> None:
        with self._lock:
            if self._log is not None:
                os.close(self._log)
                self._log = None

    def _write(self, record: dict[str, Any]) -> None:
        with self._lock:
            if self._log is not None:
                # ASCII: a lone surrogate in a body must not keep its line out of the log.
                os.write(self._log, json.dumps(record).encode() + b"\n")


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: _HIDDEN if k in _SECRET_KEYS and isinstance(v, str) else _without_secrets(v)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_without_secrets(v) for v in value]
    return value
