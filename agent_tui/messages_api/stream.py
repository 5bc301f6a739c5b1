"""Raw events of one model response: an async generator of dicts that adds nothing.

The SDK's client does the sending (credentials, headers, proxies, errors); the body is read
here, since one validated object per delta costs more than the rest of the program (facts:
why not the SDK's own accumulator). `ping` and `error` are yielded as the events they are.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from agent_tui.messages_api.errors import InvalidResponseError, error_from_body
from agent_tui.messages_api.event_frames import CONTENT_TYPE, FrameReader
from agent_tui.messages_api.sse import RawEvent, SSEReader, read_events
from agent_tui.messages_api.wire_request import PATH, beta_header, encode_body

__all__ = ["RawEvent", "beta_header", "encode_body", "raw_events", "read_events"]

_log = logging.getLogger(__name__)

AFTER_STOP_S = 0.25
"""How long the end of the body is awaited after message_stop, to keep the connection usable."""
MAX_ERROR_BYTES = 64 * 1024
HEADERS = {"Accept": "text/event-stream", "Content-Type": "application/json"}


async def raw_events(
    client: Any, body: bytes, betas: Sequence[str] = (), *, path: str = PATH
) -> AsyncGenerator[RawEvent, None]:
    """Send `body` to `path` (wire_request) and yield each event of the response as it comes.

    betas: names for the anthropic-beta header. client: from make_client; its read timeout is
    the idle deadline, before the headers and between any two chunks (a ping counts, fault
    A20). The generator ends at the end of the body, with or without message_stop. Closing it,
    or cancelling its task, closes the connection at once.

    Raises what the SDK and httpx2 raise (see errors.map_exception) and InvalidResponseError.
    """
    import anthropic
    import httpx2

    response = await client.post(
        path,
        cast_to=httpx2.Response,
        content=body,
        options={
            "headers": HEADERS | beta_header(betas, client.default_headers),
            "timeout": client.timeout,
        },
        stream=True,
        stream_cls=anthropic.AsyncStream[object],
    )
    try:
        kind = await _check_type(response)
        # What the server says it sends decides: gateways answer for Bedrock with plain events.
        reader = FrameReader() if kind == CONTENT_TYPE else SSEReader()
        chunks = response.aiter_bytes()
        stopped = False
        async for chunk in chunks:
            for event in reader.feed(chunk):
                yield event
                if event.get("type") == "message_stop":
                    stopped = True
            if stopped:
                await _drain(chunks)
                return
            if reader.error is not None:
                raise reader.error
        for event in reader.close():
            yield event
    finally:
        await response.aclose()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the rest of a finished response, so that the next request finds the connection open."""
    try:
        async with asyncio.timeout(AFTER_STOP_S):
            async for _ in chunks:
                pass
    except Exception as error:
        _log.debug("after message_stop: %s", type(error).__name__)


async def _check_type(response: Any) -> str:
    """The content type. Raises InvalidResponseError for a success that is a page or one JSON
    object."""
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("text/html", "application/json"):
        return kind
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_ERROR_BYTES:
            break
    if kind == "application/json" and b'"error"' in body:
        raise error_from_body(body[:MAX_ERROR_BYTES], status=None)
    what = "a web page" if kind == "text/html" else "one JSON object"
    # It would answer so again: the address is wrong, not the moment.
    raise InvalidResponseError(
        f"The server answered with {what} instead of a stream of events.",
        kind="endpoint",
        advice="Check that base_url is a Messages API.",
    )
