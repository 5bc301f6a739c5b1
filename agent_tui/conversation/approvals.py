"""Approvals: who is asked before a call runs, and what the answers are.

The hook runs in call order before any call of a batch (agent/tool_calls). Rules beyond
"reading inside the folder is free" come with a later issue (DESIGN, built-in tools).
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass

from agent_tui.agent.loop import BeforeToolCallContext, BeforeToolCallResult
from agent_tui.agent.messages import new_id
from agent_tui.conversation.events import PermissionRequestEvent, PermissionResolvedEvent
from agent_tui.tools.permissions import approval_rule, needs_approval

Emit = Callable[[PermissionRequestEvent | PermissionResolvedEvent], None]


@dataclass(slots=True)
class _Open:
    event: PermissionRequestEvent
    answer: "asyncio.Future[tuple[str, str]]"
    key: tuple[str, str]


class Approvals:
    """Asks through `emit` and waits for answer(); or refuses when nobody can be asked.

    allow: tool names given by --allow or settings; "server__*" allows a whole server.
    interactive=False (print mode): a call that would ask gets an error result instead.
    """

    def __init__(
        self,
        cwd: str,
        emit: Emit,
        *,
        allow: Collection[str] = (),
        readable: Collection[str] = (),
        interactive: bool = True,
    ) -> None:
        self._cwd = cwd
        self._readable = list(readable)
        self._emit = emit
        self._allow = set(allow)
        self._always: set[tuple[str, str]] = set()
        self._open: dict[str, _Open] = {}
        self.interactive = interactive

    @property
    def open_requests(self) -> list[PermissionRequestEvent]:
        """Requests that wait for an answer, oldest first."""
        return [o.event for o in self._open.values()]

    def allowed(self, name: str) -> bool:
        """True when --allow names this tool, or its server with `server__*`."""
        server = name.split("__", 1)[0] + "__*" if "__" in name else None
        return name in self._allow or (server is not None and server in self._allow)

    async def before_tool_call(self, ctx: BeforeToolCallContext) -> BeforeToolCallResult | None:
        """The loop's hook: None lets the call run."""
        name = ctx.tool.name
        if self.allowed(name):
            return None
        if not await asyncio.to_thread(
            needs_approval, name, ctx.arguments, self._cwd, readable=self._readable
        ):
            return None
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
        event = PermissionRequestEvent(
            new_id(), ctx.tool_call.id, name, ctx.arguments, ctx.tool_call.caller, rule
        )
        waiting = _Open(event, asyncio.get_running_loop().create_future(), (name, rule))
        self._open[event.request_id] = waiting
        self._emit(event)
        decision, reason = "withdrawn", ""
        try:
            decision, reason = await waiting.answer
        finally:
            self._open.pop(event.request_id, None)
            self._emit(PermissionResolvedEvent(event.request_id, event.tool_call_id, decision))
        if decision != "deny":
            return None
        said = f" The user said: {reason}" if reason else ""
        return BeforeToolCallResult(block=True, reason=f"The user refused this call.{said}")

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
