"""`agent-tui rpc`: the whole agent over JSON lines (DESIGN, RPC). One command per line on
stdin, answers and events as lines on stdout. EOF means quit; with a run on, that is an error that
stderr tells. Nothing else is written to stdout.
"""

import asyncio
import json
import logging
import re
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from agent_tui.agent.events import to_json
from agent_tui.agent.message_queue import QueueError
from agent_tui.agent.messages import CustomMessage, text_content
from agent_tui.conversation.conversation import Conversation, is_command
from agent_tui.conversation.event_hub import AnyEvent
from agent_tui.headless.exit_codes import DONE, ERROR, SIGNALLED
from agent_tui.headless.lines import LineReader, LineWriter
from agent_tui.text import cut

log = logging.getLogger(__name__)

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one command; a longer line is answered with an error."""


CUT_OFF = (
    "agent-tui rpc: stdin ended while a run was on, so it was stopped; keep stdin open until the "
    'line {"type":"status","status":"ready"} has come.'
)

HEAD_START_S = 0.25

_SERVERS_COMMAND = re.compile(r'"text"\s*:\s*"\s*/(?:mcp\b|[A-Za-z][\w.-]*:)')
"""`/mcp ...` and prompts of servers, `/server:prompt ...`, in a line of JSON."""


class RpcError(Exception):
    """A command that cannot be carried out; str() goes into the answer."""


class RpcFace:
    """Carries out commands against a conversation."""

    def __init__(self, conversation: Conversation, writer: LineWriter) -> None:
        self._conversation = conversation
        self._writer = writer
        self.quit = asyncio.Event()
        c = conversation
        self._simple: dict[str, Callable[[dict[str, Any]], Any]] = {
            "abort": lambda m: c.abort(pause_queue=bool(m.get("pause_queue", False))),
            "abort_tool": lambda m: {
                "stopped": c.abort_tool(_text(m, "tool_call_id"), str(m.get("reason") or ""))
            },
            "queue": lambda m: self._queue_state(),
            "send_now": lambda m: {"sent": c.send_now()},
            "set_model": lambda m: c.set_model(_text(m, "model")),
            "set_thinking": lambda m: c.set_thinking(_text(m, "level")),
            "state": lambda m: c.state(),
            "messages": lambda m: [x.model_dump(mode="json") for x in c.messages],
            "answer": self._answer,
            "answer_question": self._answer_question,
            "quit": lambda m: self.quit.set(),
        }
        # Answered once it is on disk: what was accepted is not lost in a crash.
        self._recorded: dict[str, Callable[[dict[str, Any]], Any]] = {
            "queue_move": lambda m: c.queue_move(_text(m, "item_id"), _number(m, "index")),
            "queue_remove": lambda m: c.queue_remove(_text(m, "item_id")),
            "queue_promote": lambda m: c.queue_promote(_text(m, "item_id")),
            "queue_demote": lambda m: c.queue_demote(_text(m, "item_id")),
            "queue_pause": lambda m: c.queue_pause(),
            "queue_resume": lambda m: c.queue_resume(),
            "custom": self._custom,
        }
        self._slow: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "prompt": self._prompt,
            "steer": lambda m: self._queue("steer", m),
            "follow_up": lambda m: self._queue("follow_up", m),
            "queue_edit": self._queue_edit,
            "continue": self._continue,
            "command": self._command,
        }

    def on_event(self, event: AnyEvent) -> None:
        self._writer.write(to_json(event))

    async def handle(self, line: str) -> None:
        """One line in, one answer out; never raises for what came in."""
        ident: Any = None
        try:
            message = self._parse(line)
            ident = message.get("id")
            data = await self._run(message)
        except (RpcError, QueueError, ValueError, RuntimeError) as error:
            self._respond(ident, error=str(error))
        except Exception as error:
            log.exception("a command failed")
            self._respond(ident, error=f"unexpected error ({type(error).__name__}); see the log")
        else:
            self._respond(ident, data=data)

    def takes_its_time(self, line: str) -> bool:
        """A command that may wait for an MCP server: meanwhile others must get through, such as
        the answer to what that server asks."""
        return _SERVERS_COMMAND.search(line) is not None

    def refuse_line(self, error: str) -> None:
        """Answer a line that could not even be read."""
        self._respond(None, error=error)

    def _parse(self, line: str) -> dict[str, Any]:
        try:
            message = json.loads(line)
        except ValueError as error:
            raise RpcError(f"not a JSON object on one line: {error}") from None
        except RecursionError:
            raise RpcError("not a JSON object on one line: it is nested too deeply") from None
        if not isinstance(message, dict):
            raise RpcError("a command is a JSON object with id and type")
        return message

    async def _run(self, message: dict[str, Any]) -> Any:
        kind = message.get("type")
        if "id" not in message:
            raise RpcError("a command needs an id")
        if not isinstance(kind, str):
            raise self._unknown(kind)
        if kind in self._simple:
            return self._simple[kind](message)
        if kind in self._recorded:
            data = self._recorded[kind](message)
            await self._conversation.recorded()
            return data
        if kind in self._slow:
            return await self._slow[kind](message)
        raise self._unknown(kind)

    def _unknown(self, kind: Any) -> RpcError:
        known = ", ".join(sorted([*self._simple, *self._recorded, *self._slow]))
        return RpcError(f"unknown type {cut(repr(kind), 100)}; known are: {known}")

    def _respond(self, ident: Any, *, data: Any = None, error: str | None = None) -> None:
        answer: dict[str, Any] = {"type": "response", "id": ident, "ok": error is None}
        if error is not None:
            answer["error"] = error
        elif data is not None:
            answer["data"] = data
        self._writer.write(answer)

    # --- commands that need more than one call --------------------------------------------

    async def _prompt(self, message: dict[str, Any]) -> None:
        if self._conversation.driver.running:
            raise RpcError("a run is on: use steer or follow_up")
        prompt = await self._conversation.message_of(_said(message))
        if self._conversation.driver.running:  # one began while a resource was read
            raise RpcError("a run is on: use steer or follow_up")
        self._conversation.submit_message(prompt)
        await self._conversation.recorded(prompt)

    async def _queue(self, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        """Also while idle: then it goes out with the next prompt."""
        said = await self._conversation.message_of(_said(message))
        user = self._conversation.files.attach_to(said)
        agent = self._conversation.agent
        item = agent.steer(user) if kind == "steer" else agent.follow_up(user)
        await self._conversation.recorded()
        return {"item_id": item.id}

    async def _queue_edit(self, message: dict[str, Any]) -> None:
        await self._conversation.queue_edit(_text(message, "item_id"), _said(message))
        await self._conversation.recorded()

    def _custom(self, message: dict[str, Any]) -> dict[str, Any]:
        text = _said(message)
        custom = CustomMessage(kind=_text(message, "kind"), content=text_content(text))
        return {"item_id": self._conversation.agent.steer(custom).id}

    def _queue_state(self) -> dict[str, Any]:
        c = self._conversation
        return {"items": [asdict(e) for e in c.queue()], "paused": c.agent.queue.paused}

    def _answer(self, message: dict[str, Any]) -> None:
        decision: Any = _text(message, "decision")
        done = self._conversation.answer(
            _text(message, "request_id"), decision, str(message.get("reason") or "")
        )
        if not done:
            raise RpcError("that request is no longer open")

    def _answer_question(self, message: dict[str, Any]) -> None:
        """Of an MCP server: action accept, decline or cancel; content with accept of a form."""
        content: Any = message.get("content")
        if content is not None and not isinstance(content, dict):
            raise RpcError("content must be an object of the form's fields")
        done = self._conversation.answer_question(
            _text(message, "request_id"), _text(message, "action"), content
        )
        if not done:
            raise RpcError("that question is no longer open")

    async def _continue(self, _: dict[str, Any]) -> None:
        await self._conversation.continue_()

    async def _command(self, message: dict[str, Any]) -> dict[str, Any]:
        line = _text(message, "text")
        if not is_command(line):
            raise RpcError("a command line begins with / and a name")
        result = await self._conversation.command(line)
        if result.error:
            raise RpcError(result.error)
        if result.action == "quit":
            self.quit.set()
        if result.action == "queued":
            await self._conversation.recorded()
        return {"text": result.text, "action": result.action, "data": result.data}


def _text(message: dict[str, Any], key: str) -> str:
    value = message.get(key)
    if not isinstance(value, str):
        raise RpcError(f"{message.get('type')} needs {key!r}, a string")
    return value


def _said(message: dict[str, Any]) -> str:
    text = _text(message, "text")
    if not text.strip():
        raise RpcError("the text is empty")
    return text


def _number(message: dict[str, Any], key: str) -> int:
    value = message.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise RpcError(f"{message.get('type')} needs {key!r}, a whole number")
    return value


async def run_rpc(conversation: Conversation) -> int:
    """Serves until quit, EOF, a closed stdout, or SIGINT, SIGTERM, SIGHUP; the exit code."""
    writer = LineWriter(sys.stdout.fileno())
    face = RpcFace(conversation, writer)
    conversation.subscribe(face.on_event)
    caught: list[int] = []
    stopped = asyncio.Event()

    def stop(number: int) -> None:
        caught.append(number)
        stopped.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop, number)
    reader = LineReader(sys.stdin.fileno(), MAX_LINE)
    waits = [asyncio.create_task(e.wait()) for e in (face.quit, writer.closed, stopped)]
    commands = asyncio.create_task(_serve(reader, face))
    try:
        await asyncio.wait([commands, *waits], return_when=asyncio.FIRST_COMPLETED)
        ended = commands.done() and not any(e.is_set() for e in (face.quit, writer.closed, stopped))
        cut_off = ended and conversation.driver.running
    finally:
        for task in (commands, *waits):
            task.cancel()
        await conversation.close()
        await writer.flush()
    if cut_off:
        sys.stderr.write(f"{CUT_OFF}\n")
        return ERROR
    return SIGNALLED + caught[0] if caught else DONE


async def _serve(reader: LineReader, face: RpcFace) -> None:
    beside: set[asyncio.Task[None]] = set()
    async for raw in reader.lines():
        if raw is None:
            face.refuse_line(f"a command may be {MAX_LINE} bytes long at most")
        elif line := raw.decode("utf-8", errors="replace").strip():
            if face.takes_its_time(line):
                task = asyncio.create_task(face.handle(line))
                beside.add(task)
                task.add_done_callback(beside.discard)
                # What is done at once is done before the next line.
                await asyncio.wait({task}, timeout=HEAD_START_S)
            else:
                await face.handle(line)
        if face.quit.is_set():
            return
