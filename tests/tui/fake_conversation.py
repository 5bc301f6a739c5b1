"""A Conversation that does what a test says: it notes every call and sends events by hand."""

import asyncio
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from agent_tui.agent.message_queue import QueueError
from agent_tui.agent.messages import AgentMessage
from agent_tui.conversation.events import (
    PermissionRequestEvent,
    PermissionResolvedEvent,
    QueueChangedEvent,
    QueueEntry,
    ServerQuestionEvent,
    ServerQuestionResolvedEvent,
    Status,
    StatusChangedEvent,
)
from agent_tui.conversation.results import CommandInfo, CommandResult, Submitted
from agent_tui.conversation.session_link import Restored
from agent_tui.drafts import Draft
from agent_tui.mcp_servers.types import McpError, ServerSnapshot

COMMANDS = [
    CommandInfo("clear", "/clear", "begin a new conversation"),
    CommandInfo("help", "/help [COMMAND]", "the commands, or one of them"),
    CommandInfo("login", "/login", "enter a key; it is kept in a private file"),
    CommandInfo("model", "/model [NAME]", "show or choose the model"),
    CommandInfo("quit", "/quit", "end agent-tui"),
]


class FakeServers:
    """What the MCP panel asks: snapshots by name."""

    def __init__(self) -> None:
        self.known: dict[str, ServerSnapshot] = {}

    def servers(self) -> list[str]:
        return sorted(self.known)

    def snapshot(self, name: str) -> ServerSnapshot:
        if name not in self.known:
            raise McpError(f"There is no MCP server {name}.")
        return self.known[name]


class FakeConversation:
    """calls: (name, arguments...) in order. emit(event) sends an event as the real one does."""

    def __init__(self, *, demo: bool = False, messages: list[AgentMessage] | None = None) -> None:
        self.cwd = "/"
        self.calls: list[tuple[Any, ...]] = []
        self.entries: list[QueueEntry] = []
        self.locked: set[str] = set()
        self.paused = False
        self.closed = False
        self.status: Status = "ready"
        self.model = "claude-sonnet-5-5"
        self.thinking = "high"
        self.messages = messages or []
        self.demo = demo
        self.container: Any = None
        self.resources: list[tuple[str, str]] = []
        self.argument_choices: list[tuple[str, str]] = []
        self.mcp = FakeServers()
        self.user_commands = SimpleNamespace(stop=lambda: False)
        self.file_names = SimpleNamespace(changed=lambda: None)
        self.refuse_with = ""
        """Why no answer to a form is taken."""
        self.open_requests: set[str] = set()
        self.command_results: dict[str, CommandResult] = {}
        self.fail_with: Exception | None = None
        self.settles = True
        self.brings_back = Restored()
        self.drafts: list[Draft] = []
        self.stoppable: set[str] = set()
        self.keeps = False
        self.held_settings = SimpleNamespace(of_face=(), loaded=None, rows=list)
        self.remember: Callable[[str, str], None] = lambda name, value: None
        self.own_commands: dict[str, Any] = {}
        self._subscribers: list[Callable[[Any], Any]] = []
        self._ids = itertools.count(1)

    # --- for tests -----------------------------------------------------------------------

    def emit(self, event: Any) -> None:
        for fn in tuple(self._subscribers):
            assert fn(event) is None, "the screen's subscriber must be synchronous"

    def set_status(self, status: Status) -> None:
        self.status = status
        self.emit(StatusChangedEvent(status))

    def queue_item(self, kind: Any, text: str, delivery: str = "when the turn ends") -> str:
        item_id = f"q{next(self._ids)}"
        self.entries.append(QueueEntry(item_id, kind, text, "queued", delivery))
        self.queue_changed()
        return item_id

    def queue_changed(self) -> None:
        for entry in self.entries:
            if self.paused or entry.state == "paused":
                entry.state = "paused" if self.paused else "queued"
        self.emit(QueueChangedEvent(list(self.entries), self.paused))

    def ask(
        self, arguments: dict[str, Any], tool: str = "shell", rule: str = "", **more: Any
    ) -> str:
        request_id = f"r{next(self._ids)}"
        self.open_requests.add(request_id)
        self.emit(PermissionRequestEvent(request_id, "c1", tool, arguments, None, rule, **more))
        return request_id

    def resolve(self, request_id: str, decision: str) -> None:
        self.open_requests.discard(request_id)
        self.emit(PermissionResolvedEvent(request_id, "c1", decision))

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]

    def restored(self) -> Restored:
        return self.brings_back

    def record_draft(self, draft: Draft) -> None:
        self.drafts.append(draft)

    # --- the interface ----------------------------------------------------------------------

    def subscribe(self, fn: Callable[[Any], Any]) -> Callable[[], None]:
        self._subscribers.append(fn)
        return lambda: self._subscribers.remove(fn)

    async def submit(self, text: str, *, images: Any = None) -> Submitted:
        return await self._submit("submit", "steer", text)

    async def follow_up(self, text: str, *, images: Any = None) -> Submitted:
        return await self._submit("follow_up", "follow_up", text)

    async def _submit(self, name: str, kind: Any, text: str) -> Submitted:
        self.calls.append((name, text))
        if self.fail_with is not None:
            raise self.fail_with
        if text.lstrip().startswith("/"):
            return Submitted("command", command=await self.command(text))
        if not text.strip():
            if self.paused:
                self.queue_resume()
                return Submitted("resumed")
            return Submitted("nothing")
        if self.status == "ready":
            self.set_status("waiting")
            return Submitted("started")
        return Submitted(kind, item_id=self.queue_item(kind, text))

    def abort(self, *, pause_queue: bool = True) -> None:
        self.calls.append(("abort", pause_queue))
        if self.entries and pause_queue:
            self.paused = True
        self.set_status("stopping")

    def abort_tool(self, tool_call_id: str, reason: str = "") -> bool:
        self.calls.append(("abort_tool", tool_call_id, *([reason] if reason else [])))
        return tool_call_id in self.stoppable

    def answer(self, request_id: str, decision: str, reason: str = "") -> bool:
        self.calls.append(("answer", request_id, decision, reason))
        if request_id not in self.open_requests:
            return False
        self.resolve(request_id, decision)
        return True

    def question(self, kind: Any, server: str = "zoo", message: str = "", **more: Any) -> str:
        """A server asks."""
        request_id = f"r{next(self._ids)}"
        self.open_requests.add(request_id)
        self.emit(ServerQuestionEvent(request_id, server, kind, message, **more))
        return request_id

    def answer_question(
        self, request_id: str, action: str, content: dict[str, Any] | None = None
    ) -> bool:
        self.calls.append(("answer_question", request_id, action, content))
        if self.refuse_with and action == "accept":
            raise ValueError(self.refuse_with)
        if request_id not in self.open_requests:
            return False
        self.open_requests.discard(request_id)
        self.emit(ServerQuestionResolvedEvent(request_id, "zoo", action))
        return True

    def send_now(self) -> bool:
        self.calls.append(("send_now",))
        return self.status != "ready"

    def _entry(self, item_id: str) -> QueueEntry:
        for entry in self.entries:
            if entry.id == item_id:
                return entry
        raise QueueError("this message has already gone out")

    def queue_lock(self, item_id: str) -> str:
        self.calls.append(("lock", item_id))
        text = self._entry(item_id).text
        self.locked.add(item_id)
        return text

    def queue_unlock(self, item_id: str) -> None:
        self.calls.append(("unlock", item_id))
        self._entry(item_id)
        self.locked.discard(item_id)

    async def queue_edit(self, item_id: str, text: str) -> None:
        self.calls.append(("edit", item_id, text))
        self._entry(item_id).text = text
        self.locked.discard(item_id)
        self.queue_changed()

    def queue_move(self, item_id: str, index: int) -> None:
        self.calls.append(("move", item_id, index))

    def queue_remove(self, item_id: str) -> None:
        self.calls.append(("remove", item_id))
        self.entries.remove(self._entry(item_id))
        self.queue_changed()

    def queue_promote(self, item_id: str) -> None:
        self.calls.append(("promote", item_id))

    def queue_demote(self, item_id: str) -> None:
        self.calls.append(("demote", item_id))

    def queue_pause(self) -> None:
        self.calls.append(("pause",))
        self.paused = True
        self.queue_changed()

    def queue_resume(self) -> None:
        self.calls.append(("resume",))
        self.paused = False
        self.queue_changed()

    def queue(self) -> list[QueueEntry]:
        return list(self.entries)

    async def command(self, line: str) -> CommandResult:
        self.calls.append(("command", line))
        name = line.strip().split()[0].removeprefix("/")
        if (own := self.own_commands.get(name)) is not None:
            return await own(self, line.strip().partition(" ")[2])
        default = CommandResult(action="quit") if name == "quit" else CommandResult(text="done")
        return self.command_results.get(name, default)

    def add_command(self, name: str, usage: str, help: str, run: Any) -> None:
        self.own_commands[name] = run

    def commands(self) -> list[CommandInfo]:
        return COMMANDS

    def mentions(self, typed: str) -> list[tuple[str, str]]:
        return [item for item in self.resources if item[0].startswith(typed)]

    def completions(self, line: str) -> list[tuple[str, str]]:
        return [item for item in self.argument_choices if item[0].startswith(line)]

    def takes_any(self, line: str) -> bool:
        return line.startswith("/model ")

    def told(self) -> list[Any]:
        return []

    async def measure_context(self) -> None:
        self.calls.append(("measure_context", ()))

    def state(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "usage": {"cost": 0.0},
            "endpoint": {"label": "fake", "demo": self.demo},
        }

    async def wait_idle(self) -> None: ...

    async def close(self) -> None:
        self.closed = True
        if not self.settles:
            await asyncio.Event().wait()
