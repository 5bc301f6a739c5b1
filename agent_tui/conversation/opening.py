"""open_conversation: from settings to a Conversation, asking the user where a choice is theirs.

Runs after the first paint. What must be known before a face opens (a malformed key, a
malformed address) is checked by the front door with the same functions.
"""

import asyncio
import logging
import tomllib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from agent_tui import logs, paths, trust
from agent_tui.conversation import endpoint as endpoints
from agent_tui.conversation.build import build_conversation
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.session_choice import list_here, open_wished
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.sessions.errors import SessionError
from agent_tui.sessions.store import Session
from agent_tui.settings import Loaded

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Option:
    """One answer the user can choose."""

    key: str
    label: str


class Asker(Protocol):
    """What a face must be able to ask."""

    async def choose(
        self, title: str, text: str, options: Sequence[Option], *, wanted: bool = False
    ) -> str:
        """The key of the option chosen. wanted: the user has asked for this very choice."""
        ...

    async def ask_secret(self, title: str, text: str) -> str | None: ...
    def notice(self, level: Literal["info", "warning", "error"], text: str) -> None: ...


async def open_conversation(
    loaded: Loaded,
    cwd: str,
    asker: Asker,
    *,
    demo: bool = False,
    allow: Collection[str] = (),
    wish: SessionWish | None = None,
    reload: Callable[[], Loaded] | None = None,
) -> Conversation:
    """reload: gives the settings anew once the folder is trusted. Raises EndpointError,
    SettingsError (one line each)."""
    if reload is not None and await _ask_trust(cwd, asker):
        loaded = reload()
    for warning in loaded.warnings:
        asker.notice("warning", warning)
    endpoint = await choose_endpoint(loaded, asker, demo=demo)
    logs.add_secrets(endpoint.secrets)
    for note in endpoint.notes:
        asker.notice("warning", note)
    session = await choose_session(wish or SessionWish(), cwd, endpoint, asker)
    conversation = await build_conversation(loaded, endpoint, cwd, session=session, allow=allow)
    conversation.mcp.ask_with(asker.choose)
    return conversation


async def choose_session(wish: SessionWish, cwd: str, endpoint: Endpoint, asker: Asker) -> Session:
    """The session wished for; one that cannot be opened is named, and a new one is begun."""
    if wish.resume and not wish.resume_id:
        wish = replace(wish, resume_id=await _pick_session(cwd, asker))
    try:
        return await asyncio.to_thread(open_wished, wish, cwd, endpoint)
    except SessionError as error:
        asker.notice("error", f"{error} A new session is begun.")
        return await asyncio.to_thread(open_wished, SessionWish(keep=wish.keep), cwd, endpoint)


async def _pick_session(cwd: str, asker: Asker) -> str:
    """The id of the session picked; "" for a new one."""
    found = await asyncio.to_thread(list_here, cwd)
    if not found:
        asker.notice("info", "No session is kept for this folder yet; this is a new one.")
        return ""
    options = [
        Option(s["id"], f"{s['age']:>12}  {s['first_prompt']}  ({s['prompts']})")
        for s in found[:20]
    ]
    return await asker.choose(
        "Go on in which session?", "", [*options, Option("", "a new session")], wanted=True
    )


async def _ask_trust(cwd: str, asker: Asker) -> bool:
    """True when the folder has become trusted just now."""
    path = paths.project_config(cwd)
    if not path.is_file() or trust.decision(cwd) is not None:
        return False
    key = await asker.choose(
        "This folder brings its own settings",
        f"{path} {_what_it_sets(path)} Use it only if you trust who wrote it. "
        f"The answer is kept in {paths.trust_file()}.",
        # The safe answer stands first: it is what a hasty Enter chooses.
        [Option("ignore", "ignore its settings"), Option("trust", "trust this folder")],
    )
    trust.set_trusted(cwd, key == "trust")
    return key == "trust"


_TELL_VALUE = ("base_url", "provider", "foundry_resource")
"""Settings that say where everything is sent."""


def _what_it_sets(path: Path) -> str:
    """What a project's file would change, so that trust is given to something seen."""
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return "cannot be read as it is."
    sets = [f"{k} = {v!r}" if k in _TELL_VALUE else k for k, v in values.items()]
    return f"sets: {', '.join(sets)}." if sets else "sets nothing."


async def choose_endpoint(loaded: Loaded, asker: Asker, *, demo: bool) -> Endpoint:
    """Flag or key, else a server on loopback if the user wants it, else the demo (DESIGN)."""
    settings = loaded.settings
    if demo:
        return await endpoints.start_demo(settings)
    configured = endpoints.configured_endpoint(settings)
    if configured is not None:
        return configured
    found = await endpoints.find_loopback_servers()
    if not found:
        return await endpoints.start_demo(settings)
    options = [
        Option(str(i), f"{s.name} on port {s.port}: {_some(s.models)}") for i, s in enumerate(found)
    ]
    options += [
        Option("key", "enter a key"),
        Option("demo", "the demo: scripted replies, no model"),
    ]
    while True:
        key = await asker.choose(
            "No key found", "A model server answers on this machine. What shall answer?", options
        )
        if key == "demo":
            return await endpoints.start_demo(settings)
        if key != "key":
            return found[int(key)].endpoint
        if await log_in(asker):
            chosen = endpoints.configured_endpoint(settings)
            if chosen is not None:
                return chosen


async def log_in(asker: Asker) -> bool:
    """Asks for a key and stores it (0600). False: the user left it, or it was unusable."""
    kept = paths.with_tilde(paths.credentials_file())
    key = await asker.ask_secret("Enter a key", f"It is kept in {kept}, readable by you only.")
    if not key:
        return False
    try:
        endpoints.store_key(key.strip())
    except (endpoints.EndpointError, OSError) as error:
        asker.notice("error", str(error))
        return False
    return True


def _some(models: Sequence[str]) -> str:
    if not models:
        return "no model named"
    shown = ", ".join(models[:3])
    return shown if len(models) <= 3 else f"{shown} and {len(models) - 3} more"
