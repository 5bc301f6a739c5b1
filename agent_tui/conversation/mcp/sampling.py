"""Sampler: an answer of the model for a server, from the conversation's own endpoint.

A request of its own: without tools, without the conversation, capped in length, and counted in
what the conversation has cost.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent_tui.agent.loop import LLMContext, StreamFunction, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    Message,
    TextContent,
    UserMessage,
)

if TYPE_CHECKING:
    from agent_tui.mcp_servers.types import SamplingAnswer, SamplingQuestion


class SamplingError(RuntimeError):
    """The model gave no answer; str() says why."""


class Sampler:
    """make_stream: a stream function for requests beside the conversation. model: its name now.
    count: takes each answer, for usage and cost. spent: why no more may be asked, "" if it may.
    """

    def __init__(
        self,
        make_stream: Callable[[], StreamFunction],
        model: Callable[[], str],
        count: Callable[[AssistantMessage], None],
        spent: Callable[[], str] = lambda: "",
    ) -> None:
        self._make_stream, self._model, self._count, self._spent = make_stream, model, count, spent
        self._stream: StreamFunction | None = None

    def details(self, question: "SamplingQuestion") -> dict[str, Any]:
        """What the user sees before the model is run. Plain JSON values."""
        return {
            "model": self._model(),
            "max_tokens": question.max_tokens,
            "system_prompt": question.system_prompt,
            "messages": [
                {
                    "role": message.role,
                    "content": [
                        {"type": "text", "text": block.text}
                        if isinstance(block, TextContent)
                        else {"type": "image", "media_type": block.media_type}
                        for block in message.content
                    ],
                }
                for message in question.messages
            ],
            "hints": list(question.hints),
            "left_out": list(question.left_out),
        }

    async def run(self, question: "SamplingQuestion") -> "SamplingAnswer":
        """Raises SamplingError."""
        from agent_tui.mcp_servers.types import SamplingAnswer

        if why := self._spent():
            raise SamplingError(why)
        if self._stream is None:
            self._stream = self._make_stream()
        model = self._model()
        context = LLMContext(question.system_prompt, _messages(question), [])
        options = StreamOptions(question.max_tokens, "off")
        answer: AssistantMessage | None = None
        async for event in self._stream(model, context, options):
            if event.type == "done" or event.type == "error":
                answer = event.message
        if answer is None:
            raise SamplingError("the model's answer broke off")
        self._count(answer)
        if answer.stop_reason in ("error", "aborted"):
            raise SamplingError(answer.error_message or "the model's answer broke off")
        text, cut_at = _until_stop(answer.text, question.stop_sequences)
        reason = "stop_sequence" if cut_at else str(answer.stop_reason)
        return SamplingAnswer(text, answer.model or model, reason)


def _messages(question: "SamplingQuestion") -> list[Message]:
    messages: list[Message] = []
    for message in question.messages:
        if message.role == "user":
            messages.append(UserMessage(content=list(message.content)))
        else:
            said = [block for block in message.content if isinstance(block, TextContent)]
            messages.append(AssistantMessage(content=list(said), stop_reason="end_turn"))
    return messages


def _until_stop(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """Up to the first of the sequences: not every model takes them with a request."""
    found = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return (text[: min(found)], True) if found else (text, False)
