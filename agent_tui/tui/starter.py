"""Starter: makes the Conversation once the screen is painted; heavy imports run in a thread."""

import asyncio
import importlib
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tui.settings import Loaded
from agent_tui.tui.asking import ScreenAsker

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.conversation.session_wish import SessionWish


class Starter:
    """Called with an asker it gives a Conversation; called again, a new one.

    demo: the first one is the demo. Later ones (after /login) choose by key again.
    reload reads the settings anew, for a folder that has just become trusted.
    """

    def __init__(
        self,
        loaded: Loaded,
        cwd: str,
        *,
        demo: bool = False,
        allow: Collection[str] = (),
        wish: "SessionWish | None" = None,
        reload: Callable[[], Loaded] | None = None,
    ) -> None:
        self._loaded, self._cwd, self._demo = loaded, cwd, demo
        self._allow, self._wish, self._reload = list(allow), wish, reload

    async def __call__(self, asker: ScreenAsker) -> "Conversation":
        """Raises ValueError (one line) when a setting or a key is unusable."""
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
