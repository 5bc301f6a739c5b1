"""Runs the app on a FakeConversation in a real terminal, for test_ways_out.py.

Arguments: "hang" (the conversation does not close), "crash" (an error in the app's loop on
the word "crash"), "block" (the event loop itself hangs on the word "block").
"""

import asyncio
import os
import sys
import time
from types import SimpleNamespace
from typing import Any

from agent_tui.conversation.results import Submitted
from agent_tui.tui.run import run_app
from tests.tui.fake_conversation import FakeConversation


def block() -> None:
    os.write(2, b"the loop hangs")
    time.sleep(60)


class Conversation(FakeConversation):
    async def submit(self, text: str, *, images: Any = None) -> Submitted:
        if text == "crash":
            self.emit(SimpleNamespace(type="permission_delayed"))  # lacks what the app reads
        if text == "block":
            asyncio.get_running_loop().call_soon(block)
        return await super().submit(text)


async def starter(asker: Any) -> Conversation:
    conversation = Conversation()
    conversation.settles = "hang" not in sys.argv
    return conversation


sys.exit(run_app(settings=SimpleNamespace(theme="dark"), starter=starter))
