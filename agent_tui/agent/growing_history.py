"""convert_to_llm for a transcript that grows: each request costs what is new in it."""

import threading
from collections.abc import Sequence

from agent_tui.agent.llm_messages import convert_message
from agent_tui.agent.messages import AgentMessage, Message
from agent_tui.agent.repair import Kept, Repair


class HistoryConverter:
    """Call it with the whole transcript, as convert_to_llm; the result is the same.

    What the messages before have become is kept, and gone on from where the transcript begins
    with them; any other transcript is converted anew. Safe in any thread. cut_unstarted: see
    repair().
    """

    def __init__(self, *, cut_unstarted: bool = False) -> None:
        self._cut_unstarted = cut_unstarted
        self._seen: list[AgentMessage] = []
        self._converted: list[Message] = []
        self._kept: Kept | None = None
        self._lock = threading.Lock()

    def __call__(self, messages: Sequence[AgentMessage]) -> list[Message]:
        with self._lock:
            seen = len(self._seen)
            kept, self._kept = self._kept, None
            if kept is None or list(messages[:seen]) != self._seen:
                self._seen, self._converted, kept = [], [], None
                seen = 0
            fresh = messages[seen:]
            self._seen += fresh
            self._converted += [m for m in map(convert_message, fresh) if m is not None]
            repair = Repair(before=kept, cut_unstarted=self._cut_unstarted)
            repaired = repair.run(self._converted)
            self._kept = repair.kept
            return repaired
