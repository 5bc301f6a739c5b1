"""One exchange: sends an answer at its pace and sees at once when the client leaves."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import aclosing
from dataclasses import replace
from itertools import chain
from typing import Any

from agent_tui.offline.answers import Answer, Delivery
from agent_tui.offline.journal import Journal, JournalEntry
from agent_tui.offline.rules import ApiProblem
from agent_tui.offline.rules.problem import STATUS_OF_TYPE
from agent_tui.offline.wire import (
    WireEvent,
    closing_events,
    content_events,
    dumps,
    json_bytes,
    message_json,
    opening_events,
    stream_events,
)

AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]

_BATCH_BYTES = 16_384
_SHORTEST_SLEEP = 0.002


class Pace:
    """When the next event is due. Deadlines, not sleeps, so that the speed holds on average."""

    def __init__(self, *, speed: float, chunk_delay: float | None) -> None:
        self._speed = speed
        self._chunk_delay = chunk_delay
        self._due = asyncio.get_running_loop().time()

    def wait_before(self, event: WireEvent) -> float:
        """Seconds to wait before this event; 0 when it may go now."""
        if not event.size or not (self._chunk_delay or (self._chunk_delay is None and self._speed)):
            return 0.0
        now = asyncio.get_running_loop().time()
        cost = self._chunk_delay if self._chunk_delay is not None else event.size / self._speed
        # A stream that was held up (a slow client) goes on at its speed; it does not catch up.
        self._due = max(self._due, now - 0.25) + cost
        wait = self._due - now
        return wait if wait > _SHORTEST_SLEEP else 0.0


class Exchange:
    """An ASGI response. The journal's entry is closed whatever happens to it."""

    def __init__(
        self,
        answer: Answer,
        *,
        journal: Journal,
        entry: JournalEntry,
        request_id: str,
        message_id: str,
        model: str,
        stream: bool,
        speed: float,
    ) -> None:
        self._answer = answer
        self._journal = journal
        self._entry = entry
        self._request_id = request_id
        self._message_id = message_id
        self._model = model
        self._stream = stream
        self._speed = speed
        self._at = "before_headers"

    async def __call__(self, scope: AsgiMessage, receive: Receive, send: Send) -> None:
        work = asyncio.ensure_future(self._run(send))
        watch = asyncio.ensure_future(self._client_left(receive))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self._entry.closed_by_client = not self._journal.stopping
                self._entry.at = self._at
        finally:
            for task in (work, watch):
                task.cancel()
            results = await asyncio.gather(work, watch, return_exceptions=True)
            if self._answer.container is not None:
                self._entry.container = self._answer.container()
            self._journal.end(self._entry)
        if isinstance(results[0], Exception):
            raise results[0]

    @staticmethod
    async def _client_left(receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _run(self, send: Send) -> None:
        delivery = self._answer.delivery
        if delivery.headers_delay:
            await asyncio.sleep(delivery.headers_delay)
        if delivery.hang == "before_headers":
            await asyncio.Event().wait()
        if self._answer.problem is not None:
            await self._send_problem(send, self._answer.problem)
        elif self._stream:
            await self._send_stream(send)
        else:
            await self._send_whole(send)

    async def _start(self, send: Send, status: int, content_type: str, **more: str) -> None:
        headers = {
            "content-type": content_type,
            "request-id": self._request_id,
            "cache-control": "no-cache",
        } | more
        self._entry.status = status
        self._at = "start"
        raw = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})

    async def _send_json(
        self, send: Send, status: int, value: Any, headers: dict[str, str]
    ) -> None:
        await self._start(send, status, "application/json", **headers)
        await send({"type": "http.response.body", "body": json_bytes(value)})

    async def _send_problem(self, send: Send, problem: ApiProblem) -> None:
        self._entry.error = {"type": problem.type, "message": problem.message}
        self._entry.rule = problem.rule or None
        value = problem.as_json(self._request_id)
        await self._send_json(send, problem.status, value, problem.headers)

    async def _send_whole(self, send: Send) -> None:
        """Without `stream`: a fault after the content is an HTTP error, a cut is half a body."""
        delivery = self._answer.delivery
        if delivery.raw_sse is not None:
            message = "a raw_sse turn can only answer a request with stream: true"
            await self._send_problem(send, ApiProblem(message, "api_error", 500))
            return
        reply = self._answer.reply
        if self._answer.stages is not None:
            content = list(reply.content)
            async for stage in self._answer.stages:
                if stage.problem is not None:
                    await self._send_problem(send, stage.problem)
                    return
                reply, delivery = stage.reply, stage.delivery
                content += reply.content
            reply = replace(reply, content=content)
        message = message_json(reply, message_id=self._message_id, model=self._model)
        if self._speed:
            # The words take their time here too; the client sees them all at once.
            await asyncio.sleep(len(dumps(reply.content)) / self._speed)
        if delivery.sse_error is not None:
            type_ = str(delivery.sse_error.get("type"))
            message = str(delivery.sse_error.get("message"))
            problem = ApiProblem(message, type_, STATUS_OF_TYPE.get(type_, 500))
            await self._send_problem(send, problem)
        elif delivery.cut_after is None:
            await self._send_json(send, 200, message, {})
        else:
            body = json_bytes(message)
            await self._start(send, 200, "application/json")
            half = {"type": "http.response.body", "body": body[: len(body) // 2]}
            await send(half | {"more_body": not delivery.cut_cleanly})
            if delivery.hang:
                await asyncio.Event().wait()

    async def _segments(
        self,
    ) -> AsyncGenerator[tuple[Delivery, Iterable[WireEvent | bytes]], None]:
        """The events to send, and how; between two segments a program may have to run."""
        answer = self._answer
        reply, delivery = answer.reply, answer.delivery
        if delivery.raw_sse is not None:
            text = delivery.raw_sse.replace("\r\n", "\n").strip("\n")
            yield delivery, (f"{event}\n\n".encode() for event in text.split("\n\n") if event)
            return
        named: dict[str, Any] = {"message_id": self._message_id, "model": self._model}
        if reply.in_message_start:
            yield delivery, stream_events(reply, **named)
            return
        opening = opening_events(reply, **named)
        yield delivery, chain(opening, content_events(reply, chunk_size=delivery.chunk_size))
        if answer.stages is not None:
            first = len(reply.content)
            async for stage in answer.stages:
                if stage.problem is not None:
                    error = {"type": stage.problem.type, "message": stage.problem.message}
                    self._entry.error = error
                    delivery = Delivery(sse_error=error)
                    break
                reply, delivery = stage.reply, stage.delivery
                size = delivery.chunk_size
                yield delivery, content_events(reply, first=first, chunk_size=size)
                first += len(reply.content)
        if delivery.sse_error is not None:
            error = {"type": "error", "error": delivery.sse_error, "request_id": self._request_id}
            yield delivery, [WireEvent("error", error, "end")]
            return
        yield delivery, closing_events(reply)

    async def _send_stream(self, send: Send) -> None:
        delivery = self._answer.delivery
        await self._start(send, 200, "text/event-stream; charset=utf-8")
        body = _EventBody(send, self._entry)
        # The headers go out now, not with the first event.
        await body.flush()
        if delivery.first_event_delay:
            await asyncio.sleep(delivery.first_event_delay)
        pace = Pace(speed=self._speed, chunk_delay=delivery.chunk_delay)
        stop_after, count = delivery.cut_after, 0
        async with aclosing(self._segments()) as segments:
            async for now, events in segments:
                if now is not delivery:
                    delivery = now
                    pace = Pace(speed=self._speed, chunk_delay=delivery.chunk_delay)
                    if delivery.cut_after is not None:
                        # Counted as in a message of its own, which two events open.
                        stop_after = count + max(0, delivery.cut_after - 2)
                for event in events:
                    if stop_after is not None and count >= stop_after:
                        break
                    await self._send_event(event, pace, body)
                    count += 1
                # A program may run now: the client sees its code meanwhile.
                await body.flush()
                if stop_after is not None and count >= stop_after:
                    break
        if delivery.hang == "mid_stream":
            await asyncio.Event().wait()
        if stop_after is None or delivery.cut_cleanly:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        # Otherwise returning with the body open makes the server close the connection.

    async def _send_event(self, event: WireEvent | bytes, pace: Pace, body: "_EventBody") -> None:
        if isinstance(event, bytes):
            sized, encoded = WireEvent("raw", {}, "block", len(event)), event
        else:
            sized, encoded = event, event.encode()
        wait = pace.wait_before(sized)
        if wait:
            await body.flush()
            await asyncio.sleep(wait)
        self._at = sized.part
        await body.add(encoded)


class _EventBody:
    """Joins events that may go at once into one write, bounded."""

    def __init__(self, send: Send, entry: JournalEntry) -> None:
        self._send = send
        self._entry = entry
        self._buffer = bytearray()
        self._events = 0

    async def add(self, event: bytes) -> None:
        self._buffer += event
        self._events += 1
        if len(self._buffer) >= _BATCH_BYTES:
            await self.flush()
            # A burst does not suspend by itself; the client's leaving must still be seen.
            await asyncio.sleep(0)

    async def flush(self) -> None:
        chunk, self._buffer = bytes(self._buffer), bytearray()
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        self._entry.events_sent += self._events
        self._events = 0
