"""Which session a conversation goes on in: a new one, the newest here, or one named by id."""

import time
from typing import Any

from agent_tui import paths
from agent_tui.conversation.endpoint import Endpoint, secret_mask
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.sessions import index
from agent_tui.sessions.errors import NoSessionYetError
from agent_tui.sessions.store import Session


def open_wished(wish: SessionWish, cwd: str, endpoint: Endpoint) -> Session:
    """Blocking; call it in a thread. Raises SessionError (one sentence for the user).

    --no-session with -c or -r reads the old session and writes nothing on.
    """
    home = paths.home()
    mask = secret_mask(endpoint)
    if wish.continue_newest:
        info = index.newest(cwd, home)
        if info is None:
            raise NoSessionYetError(cwd)
        return Session.open(info.path, read_only=not wish.keep, mask=mask)
    if wish.resume_id:
        info = index.find(wish.resume_id, cwd, home)
        return Session.open(info.path, read_only=not wish.keep, mask=mask)
    if not wish.keep:
        return Session.in_memory(cwd)
    return Session.create(cwd, home, mask=mask)


def list_here(cwd: str) -> list[dict[str, Any]]:
    """The sessions of this folder for a picker, newest first. Blocking."""
    return [
        {
            "id": info.id,
            "first_prompt": info.first_prompt or "(no prompt)",
            "messages": info.messages,
            "age": age(time.time() - info.modified),
            "damage": info.damage,
        }
        for info in index.list_sessions(cwd, paths.home())
    ]


def age(seconds: float) -> str:
    """How long ago, in the one unit that fits: "3 min ago"."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
