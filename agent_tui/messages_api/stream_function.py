"""make_stream_function: the product's StreamFunction over the Messages API."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from agent_tui.agent.events import ErrorEvent, StreamEvent
from agent_tui.agent.loop import LLMContext, StreamFunction, StreamOptions
from agent_tui.messages_api.assembler import Assembler
from agent_tui.messages_api.client import ApiEndpoint, check_credential, make_client
from agent_tui.messages_api.errors import StreamCutError, map_exception
from agent_tui.messages_api.models import ModelInfo, model_info
from agent_tui.messages_api.request import CacheSetting, RequestBuilder
from agent_tui.messages_api.server_tools import needed_betas
from agent_tui.messages_api.stream import raw_events
from agent_tui.messages_api.wire_request import WireRequest, wire_request

_log = logging.getLogger(__name__)


def make_stream_function(
    endpoint: ApiEndpoint,
    *,
    models: Callable[[str], ModelInfo | None] = model_info,
    eager_input_streaming: bool = False,
    cache: CacheSetting = "5m",
    betas: Sequence[str] = (),
    on_request: Callable[[dict[str, Any]], None] | None = None,
) -> StreamFunction:
    """A stream function bound to one endpoint; the client is made at the first call, in a thread.

    It yields StartEvent ... DoneEvent | ErrorEvent. Failures of the service are raised as
    errors.ApiError when nothing of the response had come, else they end the stream with an
    ErrorEvent that holds what came (error_type, error_message). It never retries
    (conversation/retry.py does). Close the iterator (aclose) or cancel the task that iterates
    to close the connection.

    models: what is known of a model, by id (None: only what the table says).
    eager_input_streaming: ask for tool arguments as they are generated (they may then be
    invalid JSON). cache: how long the service keeps the prompt (request.build_request).
    betas: names for the anthropic-beta header, beside those that a request's tools need.
    on_request: gets each request's body before it is sent, in a worker thread; it must not
    change it.
    """
    clients = _Clients(endpoint)
    builder = RequestBuilder()

    def encode(
        client: Any, model: str, context: LLMContext, options: StreamOptions, named: list[str]
    ) -> WireRequest:
        request = builder.build(
            model,
            context,
            options,
            models(model),
            eager_input_streaming=eager_input_streaming,
            cache=cache,
        )
        if on_request is not None:
            on_request(request)
        return wire_request(endpoint, client, request, named)

    async def stream(
        model: str, context: LLMContext, options: StreamOptions
    ) -> AsyncIterator[StreamEvent]:
        assembler = Assembler(secrets=endpoint.secrets)
        failure = None
        named = [*betas, *needed_betas(context.tools)]
        try:
            client, wire = await clients.prepare(
                lambda c: encode(c, model, context, options, named)
            )
            sent = raw_events(client, wire.body, named, path=wire.path)
            async with contextlib.aclosing(sent) as events:
                async for event in events:
                    for made in assembler.feed(event):
                        yield made
                    if assembler.error is not None:
                        break
        except Exception as exc:
            failure = map_exception(exc, secrets=endpoint.secrets, provider=endpoint.provider)
            _log.info("model call failed: %s", failure.kind)
            if not assembler.started:
                raise failure from exc
        failure = failure or assembler.error
        if not assembler.started:
            raise failure or StreamCutError(
                "The server closed the response before anything came.", url=endpoint.url
            )
        for made in assembler.finish(failure):
            if isinstance(made, ErrorEvent):
                _log.info("response broken: %s", made.message.error_type)
            yield made

    return stream


class _Clients:
    """The SDK client of one endpoint: made in a thread, one per event loop."""

    def __init__(self, endpoint: ApiEndpoint) -> None:
        self._endpoint = endpoint
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def prepare(self, encode: Callable[[Any], WireRequest]) -> tuple[Any, WireRequest]:
        """(client, request): both off the event loop, since both can cost tens of ms."""
        check_credential(self._endpoint)
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client = await asyncio.to_thread(make_client, self._endpoint)
            self._loop = loop
        return self._client, await asyncio.to_thread(encode, self._client)


async def warm_up(endpoint: ApiEndpoint) -> None:
    """Import the SDK and what a first request needs, in a thread; for faces, after first paint.

    Never raises: a missing or wrong key shows at the first request.
    """

    def load() -> None:
        try:
            make_client(endpoint)
        except Exception as exc:
            _log.info("warm-up: %s", type(exc).__name__)

    await asyncio.to_thread(load)
