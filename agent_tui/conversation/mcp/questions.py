"""Questions: what servers ask of the user, asked through events and answered by request_id.

Three answers reach a server: accept, decline (the user says no) and cancel (the user does not
answer). A question whose server takes it back, or whose call is stopped, is withdrawn.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from agent_tui.agent.messages import new_id
from agent_tui.conversation.events import (
    NoticeEvent,
    ServerQuestionEvent,
    ServerQuestionResolvedEvent,
)
from agent_tui.text import clean

if TYPE_CHECKING:
    from agent_tui.conversation.mcp.sampling import Sampler
    from agent_tui.mcp_servers.types import (
        ElicitAnswer,
        FormQuestion,
        SamplingAnswer,
        SamplingQuestion,
        UrlQuestion,
    )

Emit = Callable[[ServerQuestionEvent | ServerQuestionResolvedEvent | NoticeEvent], None]
Action = Literal["accept", "decline", "cancel"]
ACTIONS: tuple[Action, ...] = ("accept", "decline", "cancel")

_DONE_WORDS: dict[str, str] = {
    "accept": "you accepted", "decline": "you declined", "cancel": "you cancelled",
    "withdrawn": "it took the question back",
}  # fmt: skip


@dataclass(slots=True)
class _Open:
    event: ServerQuestionEvent
    answer: "asyncio.Future[tuple[Action, dict[str, Any]]]"
    elicitation_id: str = ""


class Questions:
    """sampler: runs the model for a server; None: servers may not ask for that."""

    def __init__(self, emit: Emit, sampler: "Sampler | None" = None) -> None:
        self._emit = emit
        self._sampler = sampler
        self._open: dict[str, _Open] = {}
        self._urls: dict[tuple[str, str], str] = {}
        self._closed = False

    @property
    def can_sample(self) -> bool:
        return self._sampler is not None

    @property
    def open_questions(self) -> list[ServerQuestionEvent]:
        """Those that wait for an answer, oldest first."""
        return [waiting.event for waiting in self._open.values()]

    def answer(self, request_id: str, action: str, content: dict[str, Any] | None = None) -> bool:
        """False if it is no longer open. Raises ValueError: no such action, or content that does
        not fit the form (in words for the user; the question stays open)."""
        if action not in ACTIONS:
            raise ValueError(f"{action!r} is no answer: accept, decline or cancel")
        waiting = self._open.get(request_id)
        if waiting is None or waiting.answer.done():
            return False
        given = dict(content or {})
        if action == "accept" and waiting.event.schema is not None:
            from agent_tui.mcp_servers import form_problem

            if problem := form_problem(waiting.event.schema, given):
                raise ValueError(problem)
        chosen: Action = action  # type: ignore[assignment]
        waiting.answer.set_result((chosen, given))
        return True

    async def ask(self, event: ServerQuestionEvent) -> tuple[Action, dict[str, Any]]:
        """Ask and wait: what was answered, and with what. Cancelling it withdraws the question."""
        if self._closed:
            return "cancel", {}
        waiting = _Open(event, asyncio.get_running_loop().create_future())
        self._open[event.request_id] = waiting
        self._emit(event)
        action: str = "withdrawn"
        try:
            action, content = await waiting.answer
            return action, content
        finally:
            self._open.pop(event.request_id, None)
            self._emit(ServerQuestionResolvedEvent(event.request_id, event.server, action))
            if event.kind != "login":
                words = _DONE_WORDS[action]
                about = _ABOUT[event.kind]
                self._emit(NoticeEvent("info", f"{clean(event.server)} {about}: {words}."))

    def close(self) -> None:
        """Nobody can answer any more."""
        self._closed = True
        for waiting in self._open.values():
            if not waiting.answer.done():
                waiting.answer.set_result(("cancel", {}))

    # --- for the manager ------------------------------------------------------------------------

    async def elicit(self, question: "FormQuestion | UrlQuestion") -> "ElicitAnswer":
        """types.Elicit."""
        from agent_tui.mcp_servers.types import ElicitAnswer, FormQuestion

        if isinstance(question, FormQuestion):
            event = ServerQuestionEvent(
                new_id(), question.server, "form", question.message, schema=question.schema
            )
            action, content = await self.ask(event)
            return ElicitAnswer(action, content if action == "accept" else None)
        event = ServerQuestionEvent(
            new_id(), question.server, "url", question.message, url=question.url
        )
        if question.elicitation_id:
            host = urlsplit(question.url).hostname or ""
            self._urls[question.server, question.elicitation_id] = host
        action, _ = await self.ask(event)
        return ElicitAnswer(action)

    async def log_in(self, server: str, url: str) -> str | None:
        """Show the address of a login and wait for a code, or for the address at which the
        browser ended; None: the user gave it up."""
        event = ServerQuestionEvent(
            new_id(), server, "login", "wants you to log in", schema=_CODE, url=url
        )
        action, content = await self.ask(event)
        return str(content.get("code") or "") if action == "accept" else None

    def url_done(self, server: str, elicitation_id: str) -> None:
        """What an address was opened for is done, says the server."""
        host = self._urls.pop((server, elicitation_id), None)
        if host is not None:
            self._emit(
                NoticeEvent("info", f"{clean(server)} says that it is done at {clean(host)}.")
            )

    async def sample(self, question: "SamplingQuestion") -> "SamplingAnswer":
        """types.Sample: asks before the model is run, and again before its answer is sent."""
        from agent_tui.mcp_servers.types import SamplingAnswer

        assert self._sampler is not None
        refused = SamplingAnswer(None)
        asked = ServerQuestionEvent(
            new_id(), question.server, "sampling", "wants an answer of the model",
            details=self._sampler.details(question),
        )  # fmt: skip
        action, _ = await self.ask(asked)
        if action != "accept":
            return refused
        answer = await self._sampler.run(question)
        shown = ServerQuestionEvent(
            new_id(), question.server, "sampling_result", "would get this answer",
            details={"text": answer.text, "model": answer.model,
                     "stop_reason": answer.stop_reason},
        )  # fmt: skip
        action, _ = await self.ask(shown)
        return answer if action == "accept" else refused


_CODE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "code": {
            "type": "string",
            "title": "code",
            "description": "a code, or the address at which the browser ended",
            "minLength": 1,
        }
    },
    "required": ["code"],
}

_ABOUT: dict[str, str] = {
    "form": "asked for details",
    "url": "asked you to open an address",
    "sampling": "asked for an answer of the model",
    "sampling_result": "was to get the model's answer",
}
