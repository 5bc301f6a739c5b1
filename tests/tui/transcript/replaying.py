"""Recorded answers as the transcript gets them: their events, and what is stored of them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_tui.agent.events import MessageEndEvent, MessageStartEvent, MessageUpdateEvent
from agent_tui.agent.messages import AssistantMessage
from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.sse import read_events

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"
_NOT_UPDATES = ("start", "done", "error")


def recordings() -> list[Path]:
    """Those of this repository, and of each folder of AGENT_TUI_RECORDINGS."""
    folders = [RECORDINGS]
    folders += [Path(p) for p in os.environ.get("AGENT_TUI_RECORDINGS", "").split(os.pathsep) if p]
    return [path for folder in folders for path in sorted(folder.glob("*.sse"))]


def played(path: Path) -> Iterator[Any]:
    """The agent events of this answer, from its message_start to its message_end."""
    assembler = Assembler()
    stream = [e for raw in read_events(path.read_bytes()) for e in assembler.feed(raw)]
    stream += assembler.finish()
    final: AssistantMessage = stream[-1].message
    yield MessageStartEvent(final.model_copy(update={"content": []}))
    for event in stream:
        if event.type not in _NOT_UPDATES:
            yield MessageUpdateEvent(final.id, event)
    yield MessageEndEvent(final)


def stored(path: Path) -> AssistantMessage:
    """The message as it is read back from a session."""
    *_, end = played(path)
    return AssistantMessage.model_validate_json(end.message.model_dump_json())
