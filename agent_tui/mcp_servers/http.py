"""A server behind an address: streamable HTTP, or the older SSE.

The SDK's transports with a client of our own beneath: one request that cannot be sent fails that
request and not the whole connection, an error names its HTTP status, and a refused login or a
lost session is told apart from other errors (facts: What breaks).
"""

import asyncio
import contextlib
import ipaddress
import json
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_tui.mcp_servers.variables import Resolved
from agent_tui.text import clean, cut

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

MAX_EVENT = 64 * 1024 * 1024
_CONNECT_S = 15.0
_WRITE_S = 60.0
_MAX_ERROR_BODY = 64 * 1024
UNREACHABLE = -32050
"""Code of our own errors in place of an answer: the request never reached the server."""
BROKEN = -32051
"""As UNREACHABLE, but it may have reached it."""
AUTH_WANTED = -32053
"""The server wants a login, or another one."""
SESSION_LOST = -32052
"""The server refused the request because it does not know its session any more."""


@dataclass(slots=True)
class HttpNews:
    """What the owner of a connection must hear. Each function is called on the loop."""

    on_auth: Callable[[str], None]
    """The server wants a login (or another one): why, in words."""
    on_session_lost: Callable[[], None]
    on_trouble: Callable[[str], None]
    """A request could not be sent, or its answer broke off."""
    on_stream_trouble: Callable[[str], None]
    """The same of a stream of events."""
    headers: dict[str, str] = field(default_factory=dict[str, str])


def reason_of(error: BaseException) -> str:
    """A network error in words: the class says what the message leaves out."""
    words = {
        "ConnectError": "the connection was refused or the name is not known",
        "ConnectTimeout": "no connection within the time",
        "ReadTimeout": "no answer within the time",
        "WriteTimeout": "the request could not be sent within the time",
        "PoolTimeout": "too many requests wait",
        "RemoteProtocolError": "the server closed the connection without an answer",
        "ReadError": "the connection broke",
        "ProxyError": "the proxy refused",
    }
    name = type(error).__name__
    said = clean(cut(str(error), 200))
    return f"{words.get(name, name)}{f' ({said})' if said else ''}"


def make_client(
    resolved: Resolved, news: HttpNews, auth: "httpx2.Auth | None" = None
) -> "httpx2.AsyncClient":
    """See module docstring. A read has no limit of its own: calls and lists have theirs, and a
    stream of events may be silent for hours."""
    import httpx2

    class Client(httpx2.AsyncClient):
        async def send(self, request: Any, **options: Any) -> Any:
            try:
                response = await super().send(request, **options)
            except Exception as error:
                if request.method != "POST":
                    if isinstance(error, httpx2.TransportError):
                        news.on_stream_trouble(reason_of(error))
                    raise
                return _in_place_of_answer(request, error, news)
            return await _checked(request, response, news)

    return Client(
        headers=resolved.headers,
        auth=auth,
        timeout=httpx2.Timeout(_WRITE_S, connect=_CONNECT_S, read=None),
        # No proxy of the environment knows the way to this very computer.
        trust_env=not is_loopback(resolved.url),
    )


def is_loopback(url: str) -> bool:
    """Whether an address is this computer's own."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _in_place_of_answer(request: Any, error: Exception, news: HttpNews) -> Any:
    import httpx2

    from agent_tui.mcp_servers.oauth import auth_reason

    if (why := auth_reason(error)) is not None:
        news.on_auth(why)
        return _error_response(request, 401, AUTH_WANTED, why)
    if not isinstance(error, httpx2.TransportError | httpx2.InvalidURL):
        log.warning("a request to an MCP server failed", exc_info=True)
    reason = reason_of(error)
    news.on_trouble(reason)
    never = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
    return _error_response(request, 503, UNREACHABLE if never else BROKEN, reason)


async def _checked(request: Any, response: Any, news: HttpNews) -> Any:
    """The answer as it is, or with an error that names its status in the body."""
    status = response.status_code
    if status < 400 or request.method != "POST":
        if status == 401:
            news.on_auth("its stream of events was refused (HTTP 401)")
        return response
    body = await _start_of(response)
    challenge = response.headers.get("www-authenticate", "")
    if status == 401 or (status == 403 and "insufficient_scope" in challenge):
        wants = "more rights than the login gave" if status == 403 else "a login"
        text = f"it wants {wants} (HTTP {status})"
        news.on_auth(text)
        return _error_response(request, status, AUTH_WANTED, text)
    if status == 404 and "mcp-session-id" in request.headers:
        news.on_session_lost()
        text = "the server has forgotten the session"
        return _error_response(request, status, SESSION_LOST, text)
    if _is_json_rpc(body):
        return _answer(request, status, body)
    if status == 404:
        # To the session this says that the method is not known; the address may be wrong too.
        return _error_response(request, status, -32601, "HTTP 404 Not Found")
    said = clean(cut(body.decode("utf-8", "replace").strip(), 200))
    text = f"HTTP {status} {response.reason_phrase}".strip() + (f": {said}" if said else "")
    return _error_response(request, status, -32603, text)


async def _start_of(response: Any) -> bytes:
    """So much of an error's body as one wants to read; the response is closed."""
    body = b""
    with contextlib.suppress(Exception):
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MAX_ERROR_BODY:
                break
    await response.aclose()
    return body[:_MAX_ERROR_BODY]


def _is_json_rpc(body: bytes) -> bool:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("jsonrpc") == "2.0" and "error" in value


def _answer(request: Any, status: int, body: bytes) -> Any:
    import httpx2

    headers = {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=body, request=request)


def _error_response(request: Any, status: int, code: int, text: str) -> Any:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    return _answer(request, status, json.dumps(error).encode())


@contextlib.asynccontextmanager
async def http_transport(
    resolved: Resolved, news: HttpNews, *, sse: bool, auth: "httpx2.Auth | None" = None
) -> AsyncGenerator[tuple[Any, Any]]:
    """The pair of streams that a client session speaks over."""
    # It reads the certificates of the system: too long for the event loop.
    client = await asyncio.to_thread(make_client, resolved, news, auth)
    if sse:
        from mcp.client.sse import sse_client

        def factory(**_: Any) -> "httpx2.AsyncClient":
            return client

        async with sse_client(resolved.url, httpx_client_factory=factory) as streams:  # type: ignore[arg-type]
            yield streams
        return
    from mcp.client.streamable_http import streamable_http_client

    async with (
        client,
        streamable_http_client(
            resolved.url, http_client=client, max_sse_event_size=MAX_EVENT
        ) as streams,
    ):
        yield streams
