"""ServerNotices: what becomes of servers, in single lines: told once, and not one by one."""

import asyncio
from collections.abc import Callable

from agent_tui.conversation.events import NoticeEvent
from agent_tui.text import clean

SHOWN = 3
"""Lines of one server that are told at once; the rest is counted."""


class ServerNotices:
    """changed() with each state, note() with each line about a server."""

    def __init__(self, emit: Callable[[NoticeEvent], None]) -> None:
        self._emit = emit
        self._expected: set[str] = set()
        self._failing: set[str] = set()
        self._asked_login: set[str] = set()
        self._lines: dict[str, list[str]] = {}

    def expect(self, server: str) -> None:
        """The user waits for this one: its connection is worth a line, too."""
        self._expected.add(server)
        self._failing.discard(server)
        self._asked_login.discard(server)

    def forget(self, server: str) -> None:
        for names in (self._expected, self._failing, self._asked_login):
            names.discard(server)
        self._lines.pop(server, None)

    def changed(self, server: str, state: str, tools: int, error: str | None) -> None:
        """A failure is told once until the server has connected again: it is tried on and on."""
        name = clean(server)
        match state:
            case "connected":
                if server in self._expected or server in self._failing:
                    count = "1 tool" if tools == 1 else f"{tools:,} tools"
                    self._emit(NoticeEvent("info", f"{name} is connected: {count}."))
                self._settled(server)
            case "failed" if server not in self._failing:
                self._failing.add(server)
                self._expected.discard(server)
                self._emit(NoticeEvent("warning", _sentence(name, error or "it failed")))
            case "needs_auth" if server not in self._asked_login:
                self._asked_login.add(server)
                self._expected.discard(server)
                self._emit(NoticeEvent("warning", f"{name} wants you to log in: /mcp login {name}"))
            case "disabled":
                self._settled(server)
            case _:
                pass

    def _settled(self, server: str) -> None:
        for names in (self._expected, self._failing, self._asked_login):
            names.discard(server)

    def note(self, server: str, text: str) -> None:
        """A line about a server; lines that come together are told together."""
        if not self._lines:
            asyncio.get_running_loop().call_soon(self._tell)
        self._lines.setdefault(server, []).append(text)

    def _tell(self) -> None:
        lines, self._lines = self._lines, {}
        for server, texts in lines.items():
            name = clean(server)
            for text in texts[:SHOWN]:
                self._emit(NoticeEvent("warning", _sentence(name, text)))
            if (more := len(texts) - SHOWN) > 0:
                verb = "1 more note" if more == 1 else f"{more} more notes"
                self._emit(NoticeEvent("warning", f"{name}: {verb}; /mcp tools {name} has all."))


def _sentence(name: str, text: str) -> str:
    """The line with the server's name before it, unless it says it itself."""
    says_it = text.startswith(f"{name}:") or f"server {name} " in text.split(":")[0]
    return text if says_it else f"{name}: {text}"
