"""Starter: makes the Conversation once the screen is painted; heavy imports run in a thread."""

import asyncio
import importlib
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.conversation.session_wish import SessionWish
    from agent_tui.settings import Loaded
    from agent_tui.tui.asking import ScreenAsker


class CannotStartError(Exception):
    """The app has to end: str() is what to print once the screen is gone, code how it ends."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Starter:
    """Called with an asker it gives a Conversation; called again, a new one.

    load reads the settings, in a thread, unless they are given as `loaded`.
    demo: the first one is the demo. Later ones (after /login) choose by key again.
    reload reads the settings anew, for a folder that has just become trusted.
    """

    def __init__(
        self,
        cwd: str,
        *,
        load: "Callable[[], Loaded] | None" = None,
        loaded: "Loaded | None" = None,
        demo: bool = False,
        allow: Collection[str] = (),
        wish: "SessionWish | None" = None,
        reload: "Callable[[], Loaded] | None" = None,
    ) -> None:
        self._load, self._loaded = load, loaded
        self._cwd, self._demo = cwd, demo
        self._allow, self._wish, self._reload = list(allow), wish, reload

    def demo_next(self) -> None:
        """The next conversation is a new one in the demo."""
        self._demo = True

    async def __call__(self, asker: "ScreenAsker") -> "Conversation":
        """Raises CannotStartError from load; ValueError (one line) when a setting or a key is
        unusable."""
        if self._loaded is None:
            assert self._load is not None
            self._loaded = await asyncio.to_thread(self._load)
            asker.settings_loaded(self._loaded.settings)
        opening = await asyncio.to_thread(importlib.import_module, "agent_tui.conversation.opening")
        demo, self._demo = self._demo, False
        wish = self._wish
        if wish is not None:  # a later one (after /login) is new: the first opened what was wished
            self._wish = replace(wish, continue_newest=False, resume=False, resume_id="")
        return await opening.open_conversation(
            self._loaded,
            self._cwd,
            asker,
            demo=demo,
            allow=self._allow,
            wish=wish,
            reload=self._reload,
        )
