"""A real kill -9 of a real writer: what it said was recorded is there, once, in order."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from agent_tui.sessions import Session

PRELUDE = """
import asyncio, pathlib, sys
from agent_tui.agent.events import MessageEndEvent, ToolExecutionEndEvent
from agent_tui.agent.message_queue import MessageQueue
from agent_tui.agent.messages import *
from agent_tui.sessions import Session, SessionRecorder
session = Session.create("/work", pathlib.Path(sys.argv[1]))
recorder = SessionRecorder(session)
say = lambda *words: print(*words, flush=True)
say(session.path)
"""


@contextmanager
def writer(home: Path, body: str) -> Iterator[tuple[Path, IO[str]]]:
    """A process that writes; killed (SIGKILL) when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(body), str(home)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        path = Path(process.stdout.readline().strip())
        yield path, process.stdout
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


@pytest.mark.parametrize("after", [1, 37])
def test_messages_that_ended_are_there_once_and_in_order(tmp_path: Path, after: int) -> None:
    body = """
        async def main():
            n = 0
            while True:
                n += 1
                await recorder.on_event(MessageEndEvent(UserMessage(content=f"m{n} " + "x" * 5000)))
                say(n)
        asyncio.run(main())
    """
    with writer(tmp_path, body) as (path, out):
        said = [int(out.readline()) for _ in range(after)]
    session = Session.open(path)
    numbers = [int(re.match(r"m(\d+)", m.text)[1]) for m in session.messages()]  # type: ignore
    assert numbers[: len(said)] == said
    assert numbers == list(range(1, len(numbers) + 1))
    assert all("cut short" in notice for notice in session.notices)
    session.append_message(session.messages()[0].model_copy(update={"id": "after"}))
    assert session.close(), "its lock went with it"


def test_a_tool_that_ended_keeps_its_real_result(tmp_path: Path) -> None:
    body = """
        async def main():
            calls = [ToolCall(id=i, name="x") for i in ("slow", "fast")]
            await recorder.on_event(MessageEndEvent(UserMessage(content="go")))
            await recorder.on_event(MessageEndEvent(
                AssistantMessage(content=calls, stop_reason="tool_use")))
            done = ToolResultMessage(tool_call_id="fast", content=text_content("real"))
            await recorder.on_event(ToolExecutionEndEvent("fast", "x", done, False, 1))
            say("ended")
            await asyncio.sleep(60)
        asyncio.run(main())
    """
    with writer(tmp_path, body) as (path, out):
        assert out.readline() == "ended\n"
    session = Session.open(path, read_only=True)
    assert [m.role for m in session.messages()] == ["user", "assistant", "toolResult"]
    last = session.messages()[-1]
    assert (last.tool_call_id, last.text) == ("fast", "real")  # type: ignore[union-attr]


def test_each_accepted_item_is_either_waiting_or_delivered(tmp_path: Path) -> None:
    body = """
        async def main():
            queue = MessageQueue()
            recorder.attach_queue(queue)
            n = 0
            while True:
                for _ in range(3):
                    n += 1
                    queue.add("steer" if n % 2 else "follow_up", UserMessage(content=f"i{n}"))
                assert await recorder.written()
                say(n)
                for kind in ("steer", "follow_up"):
                    for item in queue.take(kind):
                        item.message.queue_item_id = item.id
                        await recorder.on_event(MessageEndEvent(item.message))
                        queue.commit(item.id)
        asyncio.run(main())
    """
    with writer(tmp_path, body) as (path, out):
        for _ in range(25):
            accepted = int(out.readline())
    session = Session.open(path, read_only=True)
    delivered = [m.text for m in session.messages()]  # type: ignore[union-attr]
    waiting = [i.message.text for i in session.queue_items()]  # type: ignore[union-attr]
    both = sorted(delivered + waiting, key=lambda text: int(text[1:]))
    assert both == [f"i{n}" for n in range(1, len(both) + 1)], "each once"
    assert len(both) >= accepted
    for parity in (0, 1):
        of_kind = [int(text[1:]) for text in delivered if int(text[1:]) % 2 == parity]
        assert of_kind == sorted(of_kind)
