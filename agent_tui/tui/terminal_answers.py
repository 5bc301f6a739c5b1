"""What the terminal answers when it is asked something, kept from Textual's parser.

Textual 8.2 knows neither kitty's answers nor that to `CSI c`: it would type them into the
composer. terminal_input.py lets all that is read pass through here. Nothing is looked at before
the first question; from then on answers are taken out for good, also those that come late.
"""

import asyncio
import re
from collections.abc import Callable

ANSWERED_WITHIN_S = 1.0
"""Seconds; a terminal on a slow line that needs longer counts as one that cannot."""

_ANSWER = re.compile(r"\x1b_G([^\x1b]{0,300})\x1b\\|\x1b\[\?[\d;]{0,60}c")
_BEGUN = re.compile(r"\x1b(?:_(?:G[^\x1b]{0,300}\x1b?)?|\[(?:\?[\d;]{0,60})?)?\Z")


class TerminalAnswers:
    """take() is called in the thread that reads, ask_kitty() on the event loop."""

    def __init__(self) -> None:
        self._asked = False
        self._tell: Callable[[str], object] | None = None
        self._held = ""

    async def ask_kitty(
        self, query: str, write: Callable[[str], None], within_s: float = ANSWERED_WITHIN_S
    ) -> bool:
        """Whether the terminal says that it draws images. query: what asks it."""
        loop = asyncio.get_running_loop()
        said: asyncio.Future[bool] = loop.create_future()

        def settle(answer: str) -> None:
            if not said.done():
                said.set_result(";OK" in answer)

        self._asked = True
        self._tell = lambda answer: loop.call_soon_threadsafe(settle, answer)
        write(query)
        try:
            async with asyncio.timeout(within_s):
                return await said
        except TimeoutError:
            return False
        finally:
            self._tell = None

    def take(self, data: str) -> str:
        """What was read, without the answers in it."""
        if not self._asked:
            return data
        data, self._held = self._held + data, ""
        if "\x1b" not in data:
            return data
        data = _ANSWER.sub(self._found, data)
        if self._tell is not None and (begun := _BEGUN.search(data)):
            self._held = begun[0]
            data = data[: begun.start()]
        return data

    def rest(self) -> str:
        """What looked like the beginning of an answer that did not go on: a key."""
        held, self._held = self._held, ""
        return "" if held.startswith("\x1b_") else held

    def _found(self, answer: "re.Match[str]") -> str:
        if self._tell is not None:
            self._tell(answer[1] or "")
        return ""


ANSWERS = TerminalAnswers()
"""Of this process's terminal: Textual's driver makes its parser by itself, so both meet here."""
