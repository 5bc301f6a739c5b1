"""Approvals: who is asked before a call runs, and what the answers are.

The hook runs in call order before any call of a batch (agent/tool_calls). Rules beyond
"reading inside the folder is free" come with a later issue (DESIGN, built-in tools).
Calls that a program made are asked for alike; but the program waits, and not for ever.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from agent_tui.agent.loop import BeforeToolCallContext, BeforeToolCallResult
from agent_tui.agent.messages import ToolCall, new_id
from agent_tui.conversation.events import (
    NoticeEvent,
    PermissionDelayedEvent,
    PermissionRequestEvent,
    PermissionResolvedEvent,
)
from agent_tui.tools.permissions import approval_rule, needs_approval
from agent_tui.tools.preview import preview

Emit = Callable[
    [PermissionRequestEvent | PermissionDelayedEvent | PermissionResolvedEvent | NoticeEvent], None
]

PROGRAM_PATIENCE_S = 240.0
"""So long a program waits for the results of its calls (facts, "Programmatic tool calling":
about 4 minutes, then its code sees a TimeoutError)."""

WARN_AFTER_S = 150.0
"""So long after the program was paused an open question says that time runs short."""


class ServerTools(Protocol):
    """What is known of the tools of MCP servers (conversation/mcp/link.py)."""

    def owner(self, alias: str) -> tuple[str, str] | None: ...
    def approval(self, alias: str) -> str: ...


@dataclass(slots=True)
class _Open:
    event: PermissionRequestEvent
    answer: "asyncio.Future[tuple[str, str]]"
    key: tuple[str, str]


class Approvals:
    """Asks through `emit` and waits for answer(); or refuses when nobody can be asked.

    allow: tool names given by --allow or settings; "server__*" allows a whole server.
    interactive=False (print mode): a call that would ask gets an error result instead.
    program_number: which program of the conversation has this id, counted from 1. servers: whose
    configuration may allow or deny a tool of theirs; what a server says of its own tools (that
    they only read) counts for nothing. Times are those of the running event loop.
    """

    def __init__(
        self,
        cwd: str,
        emit: Emit,
        *,
        allow: Collection[str] = (),
        readable: Collection[str] = (),
        interactive: bool = True,
        program_number: Callable[[str], int | None] = lambda tool_id: None,
    ) -> None:
        self._cwd = cwd
        self._program_number = program_number
        self._paused: tuple[str, float] = ("", 0.0)
        """The answer whose calls were looked at last, and since when its program waits."""
        self._readable = list(readable)
        self._emit = emit
        self._allow = set(allow)
        self._always: set[tuple[str, str]] = set()
        self._open: dict[str, _Open] = {}
        self.interactive = interactive
        self.servers: ServerTools | None = None

    @property
    def open_requests(self) -> list[PermissionRequestEvent]:
        """Requests that wait for an answer, oldest first."""
        return [o.event for o in self._open.values()]

    def allowed(self, name: str) -> bool:
        """True when --allow names this tool, or its server with `server__*`: the server's own
        name, or what its tools' names begin with. Whose tool it is, is not read from its name
        where it is known."""
        owner = self.servers.owner(name) if self.servers is not None else None
        meant = {f"{owner[0]}__*"} if owner is not None else set[str]()
        if "__" in name:
            meant.add(name.split("__", 1)[0] + "__*")
        if name in self._allow or not meant.isdisjoint(self._allow):
            return self._configured(name) != "deny"
        return self._configured(name) == "allow"

    def _configured(self, name: str) -> str:
        """What the configuration of its server says of a tool; "ask" for any other."""
        return self.servers.approval(name) if self.servers is not None else "ask"

    def forget(self, prefix: str) -> None:
        """The tools whose names begin so are gone: what comes under these names asks anew."""
        self._always = {key for key in self._always if not key[0].startswith(prefix)}

    async def before_tool_call(self, ctx: BeforeToolCallContext) -> BeforeToolCallResult | None:
        """The loop's hook: None lets the call run."""
        if self._paused[0] != ctx.message.id:
            self._paused = (ctx.message.id, asyncio.get_running_loop().time())
        name = ctx.tool.name
        if self.allowed(name):
            return None
        if not await asyncio.to_thread(
            needs_approval, name, ctx.arguments, self._cwd, readable=self._readable
        ):
            return None
        if self._configured(name) == "deny":
            return BeforeToolCallResult(
                block=True, reason=f"The configuration of its server does not allow {name}."
            )
        rule = approval_rule(name, ctx.arguments, self._cwd)
        if (name, rule) in self._always:
            return None
        if not self.interactive:
            return BeforeToolCallResult(
                block=True,
                reason=f"{name} needs the user's approval and nobody can be asked here. "
                f"The user can start with --allow {name}.",
            )
        return await self._ask(ctx, name, rule)

    async def _ask(
        self, ctx: BeforeToolCallContext, name: str, rule: str
    ) -> BeforeToolCallResult | None:
        seen = await asyncio.to_thread(preview, name, ctx.arguments, self._cwd)
        owner = self.servers.owner(name) if self.servers is not None else None
        server, own_name = owner or ("", "")
        event = PermissionRequestEvent(
            new_id(), ctx.tool_call.id, name, ctx.arguments, ctx.tool_call.caller, rule,
            self._program(ctx.tool_call), seen.diff, seen.note, server, own_name,
        )  # fmt: skip
        waiting = _Open(event, asyncio.get_running_loop().create_future(), (name, rule))
        self._open[event.request_id] = waiting
        self._emit(event)
        alarms = self._alarms(event) if ctx.tool_call.programmatic else []
        decision, reason = "withdrawn", ""
        try:
            decision, reason = await waiting.answer
        finally:
            for alarm in alarms:
                alarm.cancel()
            self._open.pop(event.request_id, None)
            self._emit(PermissionResolvedEvent(event.request_id, event.tool_call_id, decision))
        if decision != "deny":
            return None
        said = f" The user said: {reason}" if reason else ""
        return BeforeToolCallResult(block=True, reason=f"The user refused this call.{said}")

    def _program(self, call: ToolCall) -> int | None:
        if not call.programmatic:
            return None
        return self._program_number(str((call.caller or {}).get("tool_id")))

    def _alarms(self, event: PermissionRequestEvent) -> list[asyncio.TimerHandle]:
        """For the time when the program's patience runs short, and for when it has run out.
        Counted from the program's pause: the answers given before this one took of it too."""
        loop = asyncio.get_running_loop()
        began = self._paused[1]
        return [
            loop.call_at(began + PROGRAM_PATIENCE_S, self._too_late, event),
            loop.call_at(max(loop.time(), began + WARN_AFTER_S), self._delayed, event, began),
        ]

    def _delayed(self, event: PermissionRequestEvent, began: float) -> None:
        waited = asyncio.get_running_loop().time() - began
        if waited >= PROGRAM_PATIENCE_S:
            return
        self._emit(
            PermissionDelayedEvent(
                event.request_id, event.tool_call_id, round(waited, 1), PROGRAM_PATIENCE_S
            )
        )
        self._emit(
            NoticeEvent(
                "warning",
                f"{_asker(event)} has waited {_minutes(waited)} for your answer about "
                f"{event.tool_name}; after about {_minutes(PROGRAM_PATIENCE_S)} it gives up.",
            )
        )

    def _too_late(self, event: PermissionRequestEvent) -> None:
        self._emit(
            NoticeEvent(
                "warning",
                f"{_asker(event)} has waited longer than {_minutes(PROGRAM_PATIENCE_S)} for your "
                f"answer about {event.tool_name}: it has probably given up on that call.",
            )
        )

    def answer(self, request_id: str, decision: str, reason: str = "") -> bool:
        """False if the request is no longer open. Raises ValueError for an unknown decision."""
        if decision not in ("allow", "allow_always", "deny"):
            raise ValueError(f"{decision!r} is no decision: allow, allow_always or deny")
        waiting = self._open.get(request_id)
        if waiting is None or waiting.answer.done():
            return False
        waiting.answer.set_result((decision, reason))
        if decision == "allow_always":
            self._always.add(waiting.key)
            # The same question asked twice in one batch is answered once.
            for other in list(self._open.values()):
                if other.key == waiting.key and not other.answer.done():
                    other.answer.set_result(("allow", ""))
        return True


def _asker(event: PermissionRequestEvent) -> str:
    return "A program" if event.program is None else f"Program {event.program}"


def _minutes(seconds: float) -> str:
    """`2:30`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
