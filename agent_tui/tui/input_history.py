"""What was sent before: Up and Down walk through it, Ctrl+R searches it.

kept_history.py keeps it on disk. Slash commands that could carry a secret are kept without
their arguments.
"""

from collections.abc import Callable

MAX_ENTRIES = 2000
_SECRET_COMMANDS = ("/login",)
_SECRET_SETTINGS = ("api_key", "auth_token", "headers", "connector")


def without_secret(text: str) -> str:
    """What may be kept of what was typed: all, but of a command that could carry a secret."""
    head, *rest = text.split(maxsplit=2) if text.lstrip().startswith("/") else ("",)
    if head in _SECRET_COMMANDS:
        return head
    if head == "/settings" and len(rest) == 2 and rest[0].replace("-", "_") in _SECRET_SETTINGS:
        return f"{head} {rest[0]}"
    return text


class InputHistory:
    """Newest last. While walking, the draft that was being written is the entry past the end."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._place: int | None = None
        self._draft = ""
        self.added: Callable[[str], None] = lambda text: None
        """Told what was sent now."""

    def put_before(self, texts: list[str]) -> None:
        """What was sent earlier than all that is here."""
        self._place = None
        self._entries[:0] = texts
        del self._entries[:-MAX_ENTRIES]

    @property
    def entries(self) -> list[str]:
        return list(self._entries)

    @property
    def left_draft(self) -> str | None:
        """The draft that waits past the end while a walk is on."""
        return None if self._place is None else self._draft

    def add(self, text: str, *, earlier: bool = False) -> None:
        """Remember `text`; an empty one or the same as the last is not kept. Ends a walk.
        earlier: it was sent in an earlier start, and is not told as sent now."""
        self._place = None
        text = without_secret(text)
        if not text.strip() or (self._entries and self._entries[-1] == text):
            return
        self._entries.append(text)
        del self._entries[:-MAX_ENTRIES]
        if not earlier:
            self.added(text)

    def previous(self, draft: str) -> str | None:
        """The entry before; None at the oldest. `draft` is kept when a walk begins."""
        if self._place is None:
            if not self._entries:
                return None
            self._draft, self._place = draft, len(self._entries)
        if self._place == 0:
            return None
        self._place -= 1
        return self._entries[self._place]

    def next(self) -> str | None:
        """The entry after, at the end the kept draft; None when no walk is on."""
        if self._place is None:
            return None
        self._place += 1
        if self._place >= len(self._entries):
            self._place = None
            return self._draft
        return self._entries[self._place]

    def leave(self) -> None:
        """Typing ends the walk: what is on the line now is the draft."""
        self._place = None

    def search(self, query: str, limit: int = 50) -> list[str]:
        """Distinct entries that hold every word of `query` (any case), newest first."""
        words = query.lower().split()
        found: dict[str, None] = {}
        for entry in reversed(self._entries):
            low = entry.lower()
            if all(word in low for word in words):
                found.setdefault(entry)
                if len(found) == limit:
                    break
        return list(found)
