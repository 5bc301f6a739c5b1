"""Streaming one assistant response: a pump reads the stream, the loop emits.

The two are apart so that an abort can cancel the reading at any await, while a subscriber
that handles an event is never cut off (DESIGN: abort; subscribers are awaited).
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from agent_tui.agent.control import GRACE_S, SLICE_S, RunControl, leave_behind
from agent_tui.agent.events import (
    AgentEvent,
    DoneEvent,
    ErrorEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    StartEvent,
    StreamEvent,
    ToolCallEndEvent,
)
from agent_tui.agent.llm_messages import repair, waits_for_server
from agent_tui.agent.loop_config import (
    AgentContext,
    AgentLoopConfig,
    Emit,
    LLMContext,
    StreamOptions,
    ThinkingLevel,
)
from agent_tui.agent.messages import AgentMessage, AssistantMessage, ToolCall, new_id
from agent_tui.agent.partial import PartialMessage
from agent_tui.agent.tools import AgentTool

log = logging.getLogger(__name__)

BUFFER_EVENTS = 256
"""The pump waits while so many events are not yet emitted."""

LONG_HISTORY = 500
"""A history of more messages is converted in a thread: it takes longer than a frame."""

ABORTED = "stopped by the user"


class Pump:
    """Reads a stream, in a task of its own, into a bounded buffer.

    Opening the stream (transform, convert, request) is part of the task, so an abort ends
    that as well. `failure`: what opening or reading raised, known once `finished`.
    """

    def __init__(self, open_stream: Callable[[], Awaitable[AsyncIterator[StreamEvent]]]) -> None:
        self.buffer: deque[StreamEvent] = deque()
        self.finished = False
        self.failure: BaseException | None = None
        self._open_stream = open_stream
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._closed = False
        self._task = self._loop.create_task(self._read())
        self._task.add_done_callback(self._ended)

    async def _read(self) -> None:
        stream = await self._open_stream()
        try:
            clock, deadline = self._loop.time, self._loop.time() + SLICE_S
            buffer = self.buffer
            async for event in stream:
                if self._closed:
                    return  # it went on in spite of its cancelling
                buffer.append(event)
                if self._news is not None:
                    self.wake()
                if isinstance(event, (DoneEvent, ErrorEvent)):
                    return
                if len(buffer) >= BUFFER_EVENTS:
                    self._room = self._loop.create_future()
                    await self._room
                    deadline = clock() + SLICE_S
                elif clock() >= deadline:
                    await asyncio.sleep(0)
                    deadline = clock() + SLICE_S
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self.finished = True
        if not task.cancelled():
            self.failure = task.exception()
        self.wake()

    def wake(self) -> None:
        """Let next_events() return now."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def next_events(self) -> None:
        """Wait until the buffer holds something, the stream has ended, or wake()."""
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        if self.buffer or self.finished:
            return
        self._news = self._loop.create_future()
        try:
            await self._news
        finally:
            self._news = None

    def cancel(self) -> None:
        """End the reading at its next await and wake the reader; nothing is awaited here."""
        self._task.cancel()
        self.wake()

    async def close(self) -> None:
        """Cancelled or not, the task gets GRACE_S to end; then it is left behind."""
        self._closed = True
        self.buffer.clear()
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        if not self._task.done():
            await asyncio.wait((self._task,), timeout=GRACE_S)
        if not self._task.done():
            self._task.cancel()
            leave_behind(self._task, "the model's stream")


async def stream_assistant_response(
    context: AgentContext,
    config: AgentLoopConfig,
    model: str,
    thinking_level: ThinkingLevel,
    emit: Emit,
    control: RunControl,
    used_ids: set[str],
) -> tuple[AssistantMessage, set[str]]:
    """The diagram's "5. Stream assistant response": one model call, from transform_context to
    message_end. Never raises for what the model, the stream or a hook did: that gives a
    message with stop_reason "error", or "aborted" after an abort.

    used_ids: ids of calls that the history holds already; those of this message are added. The
    second value: ids of calls that must not run, as they repeat another of this message.
    """
    partial = control.partial = PartialMessage(model)
    response = _Response(emit, control, partial, context)

    async def open_stream() -> AsyncIterator[StreamEvent]:
        llm_context = await build_llm_context(context, config)
        # Only now: transform_context may have waited for tools.
        control.offered = llm_context.tools
        options = StreamOptions(max_tokens=config.max_tokens, thinking_level=thinking_level)
        return config.stream_function(model, llm_context, options)

    control.set_phase("waiting")
    try:
        message = None if control.aborted else await response.receive(open_stream)
        if message is None:
            message = partial.snapshot("aborted", ABORTED)
        message, repeated, renamed = _sound(message, partial, used_ids)
        # At once: a call that is stopped from here on must not run either.
        control.answer_ended((call.id for call in message.tool_calls), renamed)
    finally:
        control.partial = None
    await response.announce()
    context.messages.append(message)
    await send(emit, MessageEndEvent(message))
    return message, repeated


async def build_llm_context(context: AgentContext, config: AgentLoopConfig) -> LLMContext:
    """transform_context, convert_to_llm and the repair: what the stream function is handed."""
    messages: list[AgentMessage] = context.messages
    if config.transform_context is not None:
        messages = await config.transform_context(list(messages))
    if config.convert_to_llm is not None:
        # Repaired too: an invalid request would be refused for good (facts page).
        llm_messages = repair(config.convert_to_llm(list(messages)))
    elif len(messages) > LONG_HISTORY:
        llm_messages = await asyncio.to_thread(config.converter, list(messages))
    else:
        llm_messages = config.converter(messages)
    return LLMContext(context.system_prompt, llm_messages, offered_tools(context, config))


class _Response:
    """One response on its way from the pump to the subscribers."""

    def __init__(
        self, emit: Emit, control: RunControl, partial: PartialMessage, context: AgentContext
    ) -> None:
        self._emit = emit
        self._control = control
        self._partial = partial
        self._context = context
        self._announced = False
        self._ended_early = False

    async def announce(self) -> None:
        """message_start, once."""
        if not self._announced:
            self._announced = True
            await send(self._emit, MessageStartEvent(self._partial.start_message()))

    async def receive(
        self, open_stream: Callable[[], Awaitable[AsyncIterator[StreamEvent]]]
    ) -> AssistantMessage | None:
        """The response's message, its updates emitted on the way; None after an abort."""
        pump = Pump(open_stream)
        stop = self._control.stop
        stop.add(pump.cancel)
        self._control.on_stopped_early = lambda call_id: self._end_at(call_id, pump)
        try:
            return await self._emit_updates(pump)
        except BaseException:
            pump.cancel()
            raise
        finally:
            stop.remove(pump.cancel)
            self._control.on_stopped_early = None
            await pump.close()

    def _end_at(self, call_id: str, pump: Pump) -> None:
        """The user stops a call that is still being written: the stream is closed there, where
        the answer may end there. Else it goes on, and the call is refused once it is whole."""
        index = self._partial.index_of_open(call_id)
        if index is None or any(_ends(event, index) for event in pump.buffer):
            return
        if waits_for_server([*self._context.messages, self._partial.ended_here()]):
            return
        self._ended_early = True
        pump.cancel()

    async def _emit_updates(self, pump: Pump) -> AssistantMessage | None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + SLICE_S
        emit, control, buffer = self._emit, self._control, pump.buffer
        apply, message_id = self._partial.apply, self._partial.id
        while True:
            while buffer:
                if control.aborted:
                    return None
                if self._ended_early:
                    return self._partial.ended_here()
                event = buffer.popleft()
                if isinstance(event, (DoneEvent, ErrorEvent)):
                    return event.message
                apply(event)
                if not self._announced:
                    control.set_phase("streaming")
                    await self.announce()
                    if control.aborted:
                        return None
                if isinstance(event, StartEvent):
                    continue
                waiting = emit(MessageUpdateEvent(message_id, event))
                if waiting is not None:
                    await waiting
                if clock() >= deadline:
                    # A burst of buffered events does not suspend by itself.
                    await asyncio.sleep(0)
                    deadline = clock() + SLICE_S
            if control.aborted:
                return None
            if self._ended_early:
                return self._partial.ended_here()
            if pump.finished:
                return _broken(self._partial, pump.failure)
            await pump.next_events()
            deadline = clock() + SLICE_S


def _ends(event: StreamEvent, index: int) -> bool:
    """The block at `index` has come whole, or the answer is over or begins anew."""
    if isinstance(event, ToolCallEndEvent):
        return event.index == index
    return isinstance(event, (DoneEvent, ErrorEvent, StartEvent))


def _broken(partial: PartialMessage, failure: BaseException | None) -> AssistantMessage:
    """The error message for a stream that raised, or ended without done (fault A17)."""
    if failure is None:
        return partial.snapshot(
            "error", "The stream ended before the answer was complete.", "stream_cut"
        )
    if not isinstance(failure, Exception):
        raise failure
    log.info("the model's stream failed", exc_info=failure)
    kind = getattr(failure, "type_name", None) or getattr(failure, "error_type", None)
    return partial.snapshot(
        "error", str(failure) or type(failure).__name__, kind or type(failure).__name__
    )


def _sound(
    message: AssistantMessage, partial: PartialMessage, used_ids: set[str]
) -> tuple[AssistantMessage, set[str], dict[str, str]]:
    """The message under the id it was announced with, the ids of its calls unique (fault A14);
    those of its calls that repeat the id of another one in the same message; and the new ids
    of those that repeat one of the history."""
    own: set[str] = set()
    repeated: set[str] = set()
    renamed: dict[str, str] = {}
    content = list(message.content)
    for index, block in enumerate(content):
        if not isinstance(block, ToolCall):
            continue
        call_id = block.id
        if call_id in own or call_id in used_ids:
            fresh = f"{call_id or 'call'}_{new_id()}"
            log.warning("the call id %r was used before; this call is stored as %r", call_id, fresh)
            content[index] = block.model_copy(update={"id": fresh})
            if call_id in own:
                repeated.add(fresh)
            else:
                renamed[call_id] = fresh
            used_ids.add(fresh)
        own.add(call_id)
    used_ids |= own
    return message.model_copy(update={"id": partial.id, "content": content}), repeated, renamed


def offered_tools(context: AgentContext, config: AgentLoopConfig) -> list[AgentTool]:
    """The tools of the next request: the context's, else the config's."""
    return list(context.tools or config.tools)


async def send(emit: Emit, event: AgentEvent) -> None:
    """Emit one event and await what the sink wants awaited."""
    waiting = emit(event)
    if waiting is not None:
        await waiting
