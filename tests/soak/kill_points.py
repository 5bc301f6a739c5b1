"""Kills this process (SIGKILL) exactly between two steps of the program, from outside of it:
the functions that write and take are wrapped; the program has no hook for this.

Points, in the order of a message's and a tool's way:
  queued     a queue item was written, its sender has no answer yet
  accepted   the answer "ok" to a queue command went out
  taken      the queue handed an item to the loop, its message is not in the transcript yet
  prompted   a prompt was written, no request made
  injected   the message of a queue item was written, no request made
  answered   an answer with tool calls was written, no call has started
  ran        a tool has ended, its outcome is not written
  outcome    a tool's outcome was written, its result message not
  result     a result message was written, the next request not made
  torn       half of a line was written
"""

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

POINTS = (
    "queued", "accepted", "taken", "prompted", "injected", "answered", "ran", "outcome",
    "result", "torn",
)  # fmt: skip


class Killer:
    """Dies at the nth time that `point` is reached; `note` gets a line of JSON that says so."""

    def __init__(self, point: str, nth: int, note: str) -> None:
        self.point = point
        self._left = nth
        self._note = Path(note)
        self._lock = threading.Lock()

    def at(self, point: str, **details: Any) -> None:
        if self.due(point):
            self.die(**details)

    def due(self, point: str) -> bool:
        if point != self.point:
            return False
        with self._lock:
            self._left -= 1
            return self._left == 0

    def die(self, **details: Any) -> None:
        self._note.write_text(json.dumps({"point": self.point} | details), encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)


def install(point: str, nth: int, note: str) -> None:
    killer = Killer(point, nth, note)
    _wrap_session(killer)
    _wrap_queue(killer)
    _wrap_answers(killer)


def _wrap_session(killer: Killer) -> None:
    from agent_tui.sessions.writer import SessionWriter

    write_line = SessionWriter._write_line

    def wrapped(self: SessionWriter, fd: int, line: bytes) -> None:
        record = json.loads(line)
        if killer.due("torn"):
            os.write(fd, line[: len(line) // 2])
            killer.die()
        if record["type"] == "tool_outcome":
            killer.at("ran", tool_call_id=record["message"]["tool_call_id"])
        write_line(self, fd, line)
        match record:
            case {"type": "queue", "op": "add"}:
                killer.at("queued")
            case {"type": "tool_outcome"}:
                killer.at("outcome", tool_call_id=record["message"]["tool_call_id"])
            case {"type": "message", "outcome": str()}:
                killer.at("result")
            case {"type": "message", "message": {"role": "user"} as message}:
                killer.at("injected" if message.get("queue_item_id") else "prompted")
            case {"type": "message", "message": {"role": "assistant", "content": content}}:
                if any(block["type"] == "toolCall" for block in content):
                    killer.at("answered")
            case _:
                pass

    SessionWriter._write_line = wrapped


def _wrap_queue(killer: Killer) -> None:
    from agent_tui.agent.message_queue import MessageQueue, QueueItem

    take = MessageQueue.take

    def wrapped(self: MessageQueue, kind: Any) -> list[QueueItem]:
        items = take(self, kind)
        if items:
            killer.at("taken")
        return items

    MessageQueue.take = wrapped


def _wrap_answers(killer: Killer) -> None:
    from agent_tui.headless.lines import LineWriter

    write_all = LineWriter._write_all

    def wrapped(self: LineWriter, data: bytes) -> None:
        write_all(self, data)
        for line in data.splitlines():
            message = json.loads(line)
            if message["type"] == "response" and "item_id" in (message.get("data") or {}):
                killer.at("accepted")

    LineWriter._write_all = wrapped
