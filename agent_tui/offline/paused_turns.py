"""PausedTurns: the answers that this server paused, so that each may be sent back as it was.

A request itself cannot tell: a paused answer of text alone looks like a prefill (facts:
pause_turn, compaction: send the conversation back unchanged, and the turn goes on).
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

KEPT = 10_000
"""Paused answers that are known; the oldest are forgotten first."""

PAUSES = frozenset({"pause_turn", "compaction"})


class PausedTurns:
    """Remembers a digest of each, not the answer. Used on the server's own loop only."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, None] = OrderedDict()

    def gave(self, content: Sequence[dict[str, Any]], stop_reason: str | None) -> None:
        """An answer goes out."""
        if stop_reason in PAUSES and content:
            self._kept[_digest(content)] = None
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def has(self, content: Sequence[dict[str, Any]]) -> bool:
        """Whether this is the content of an answer that was paused; or ends in it, where a
        client has joined the parts of a turn."""
        return any(_digest(content[start:]) in self._kept for start in range(len(content)))


def _digest(content: Sequence[dict[str, Any]]) -> str:
    """The same for a block with what clients add to it (a cache mark) or leave out (nulls,
    white space at the end: a prefill may hold none)."""
    said = [
        {k: v for k, v in block.items() if v is not None and k != "cache_control"}
        for block in content
        # Clients drop blank texts: no request may hold one.
        if block.get("type") != "text" or str(block.get("text")).strip()
    ]
    if said and said[-1].get("type") == "text":
        said[-1]["text"] = str(said[-1]["text"]).rstrip()
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
