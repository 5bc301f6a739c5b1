"""Which session a conversation goes on in: a new one, the newest here, or one named by id."""

import time
from typing import Any

from agent_tui import paths
from agent_tui.conversation.endpoint import Endpoint, secret_mask
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.sessions import index
from agent_tui.sessions.errors import NoSessionYetError
from agent_tui.sessions.index import SessionInfo
from agent_tui.sessions.store import Session

SHORT_ID = 8
"""Digits of an id that people are shown and may type."""


def open_wished(wish: SessionWish, cwd: str, endpoint: Endpoint) -> Session:
    """Blocking; call it in a thread. Raises SessionError (one sentence for the user).

    --no-session with -c or -r reads the old session and writes nothing on. -c of a face where
    somebody is there passes over the sessions of -p, unless there are no others
    (docs/decisions/0005-continue-is-for-people.md).
    """
    home = paths.home()
    mask = secret_mask(endpoint)
    if wish.continue_newest:
        info = index.newest(cwd, home, attended=wish.face != "print")
        if info is None:
            raise NoSessionYetError(cwd)
        last = index.newest(cwd, home)
        passed = last if last is not None and last.id != info.id else None
        return _go_on(info, wish, mask, passed)
    if wish.resume_id:
        return _go_on(index.find(wish.resume_id, cwd, home), wish, mask)
    if not wish.keep:
        return Session.in_memory(cwd)
    return Session.create(cwd, home, mask=mask, face=wish.face)


def _go_on(
    info: SessionInfo, wish: SessionWish, mask: Any, passed: SessionInfo | None = None
) -> Session:
    """passed: a newer session of -p that was passed over."""
    session = Session.open(info.path, read_only=not wish.keep, mask=mask)
    session.enter(wish.face)
    session.greeting = f"Session {info.id[:SHORT_ID]}, last used {_age_of(info)}."
    if passed is not None:
        session.greeting += (
            f" A newer one, of -p, was passed over: /resume {passed.id[:SHORT_ID]} opens it."
        )
    return session


def list_here(cwd: str) -> list[dict[str, Any]]:
    """The sessions of this folder for a picker, newest first; those in which nothing was ever
    said are left out. Blocking."""
    return [
        {
            "id": info.id,
            "first_prompt": _title(info),
            "prompts": _prompts(info),
            "age": _age_of(info),
            "damage": info.damage,
        }
        for info in index.list_sessions(cwd, paths.home())
        if info.begun
    ]


def _title(info: SessionInfo) -> str:
    if info.first_prompt:
        return info.first_prompt if info.attended else f"-p: {info.first_prompt}"
    return f"draft: {info.draft}" if info.draft else "(no prompt)"


def _prompts(info: SessionInfo) -> str:
    """ "1 prompt", "45 prompts", "900+ prompts"."""
    more = "" if info.prompts_whole else "+"
    return f"{info.prompts}{more} prompt{'' if info.prompts == 1 and not more else 's'}"


def _age_of(info: SessionInfo) -> str:
    return age(time.time() - info.modified)


def age(seconds: float) -> str:
    """How long ago, in the one unit that fits: "3 min ago"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
