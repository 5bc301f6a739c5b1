"""What a mend must not do: answer a refusal that is about something else, or an answer that has
begun; lose a container or a picture for a fault that passes."""

from collections.abc import AsyncIterator

import pytest

from agent_tui.agent.events import DoneEvent, StartEvent, StreamEvent
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    Container,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    UserMessage,
)
from agent_tui.conversation.mending import Mend, Mending
from agent_tui.messages_api.errors import ApiError

HISTORY: list[Message] = [
    UserMessage(
        content=[ImageContent(data="AAAA", media_type="image/png"), TextContent(text="hi")]
    ),
    AssistantMessage(
        content=[ThinkingContent(thinking="hm", signature="s"), TextContent(text="yes")]
    ),
    UserMessage(content=[TextContent(text="and?")]),
]


class Mended:
    """A Mending around a service that gives these errors in turn, then an answer."""

    def __init__(self, *errors: ApiError, after_start: bool = False) -> None:
        self.errors = list(errors)
        self.after_start = after_start
        self.requests: list[tuple[list[Message], str | None]] = []
        self.kept: list[Mend] = []
        self.lost: list[bool] = []
        self.told: list[str] = []
        self.mending = Mending(
            notify=self.told.append,
            keep=self.kept.append,
            container=lambda: Container(id="container_1"),
            container_lost=lambda: self.lost.append(True),
        )

    async def _service(
        self, model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        assert len(self.requests) < 10, "the same refusal is answered again and again"
        self.requests.append((context.messages, options.container_id))
        error = self.errors.pop(0) if self.errors else None
        if error is not None and not self.after_start:
            raise error
        yield StartEvent()
        if error is not None:
            raise error
        yield DoneEvent(AssistantMessage())

    async def send(self) -> list[str]:
        stream = self.mending.wrap(self._service)
        context = LLMContext("", HISTORY, [])
        options = StreamOptions(container_id="container_1")
        return [event.type async for event in stream("m", context, options)]

    async def fails(self) -> ApiError:
        with pytest.raises(ApiError) as raised:
            await self.send()
        assert (self.kept, self.lost) == ([], []), "what was not taken is not kept"
        return raised.value


def signature() -> ApiError:
    return ApiError("Invalid `signature`", kind="thinking_signature", status=400)


async def test_a_refusal_of_thinking_is_answered_once() -> None:
    mended = Mended(signature())
    assert await mended.send() == ["start", "done"]
    assert [mend.what for mend in mended.kept] == ["thinking"]
    stays = Mended(*[signature()] * 9)
    assert "signature" in str(await stays.fails())
    assert len(stays.requests) == 2


@pytest.mark.parametrize(
    "error",
    [
        ApiError("Overloaded", kind="overloaded", status=529),
        ApiError("Try later", kind="server", status=503),
        ApiError("Bad gateway", kind="server", status=502),
        ApiError("Slow down", kind="rate_limit", status=429),
        ApiError("max_tokens: too many", kind="invalid_request", status=400),
        ApiError("tools.0.name: too long", kind="invalid_request", status=400),
        ApiError("messages.1.content.0: no", kind="invalid_request", status=400),
    ],
    ids=lambda error: error.message,
)
async def test_a_fault_that_is_about_something_else_changes_nothing(error: ApiError) -> None:
    mended = Mended(error)
    assert await mended.fails() is error
    assert mended.requests == [(HISTORY, "container_1")]
    assert mended.told == []


async def test_what_the_service_says_of_an_image_is_answered_without_it() -> None:
    """The neighbour of the above."""
    mended = Mended(ApiError("Could not process image", kind="invalid_request", status=400))
    assert await mended.send() == ["start", "done"]
    assert [mend.what for mend in mended.kept] == ["image"]


@pytest.mark.parametrize("kind", ["thinking_signature", "container"])
async def test_an_answer_that_has_begun_is_not_asked_for_again(kind: str) -> None:
    mended = Mended(ApiError("no", kind=kind, status=400), after_start=True)  # type: ignore[arg-type]
    await mended.fails()
    assert len(mended.requests) == 1
