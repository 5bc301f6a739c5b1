"""A conversation on disk: an append-only JSONL tree, continued after any crash.
One record, one write; a bad line costs only itself.
"""

from agent_tui.drafts import Draft
from agent_tui.sessions.errors import (
    NoSessionYetError,
    SessionAmbiguousError,
    SessionClosedError,
    SessionDamagedError,
    SessionElsewhereError,
    SessionError,
    SessionLockedError,
    SessionNotFoundError,
    SessionTooNewError,
    SessionUnreadableError,
)
from agent_tui.sessions.index import SessionInfo, find, list_all, list_sessions, newest
from agent_tui.sessions.store import Session
from agent_tui.sessions.subscriber import SessionRecorder
from agent_tui.sessions.tree import Delivered, QueuedMessage

__all__ = [
    "Delivered",
    "Draft",
    "NoSessionYetError",
    "QueuedMessage",
    "Session",
    "SessionAmbiguousError",
    "SessionClosedError",
    "SessionDamagedError",
    "SessionElsewhereError",
    "SessionError",
    "SessionInfo",
    "SessionLockedError",
    "SessionNotFoundError",
    "SessionRecorder",
    "SessionTooNewError",
    "SessionUnreadableError",
    "find",
    "list_all",
    "list_sessions",
    "newest",
]
