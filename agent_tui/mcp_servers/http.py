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
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_tui.mcp_servers.readable import (
    IN_THREAD,
    UNREADABLE,
    mended_events,
    read_message,
    unreadable,
)
from agent_tui.mcp_servers.variables import Resolved
from agent_tui.text import clean, cut, sendable

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
NOT_MCP = -32054
"""What answers at the address is no MCP server, or sends one elsewhere: no use to try again."""
MAX_HOPS = 5
"""Redirects of one request that are followed."""
NOTHING_THERE = "there is nothing at this address (HTTP 404)"


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
    on_note: Callable[[str], None] = lambda text: None
    """An answer could not be read as it is: how, a clause with the server as "it"."""
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
        "DecodingError": "its answer is compressed in a way that cannot be read",
        "TooManyRedirects": "it redirects without end",
        "SSEError": "its stream of events cannot be read",
        "InvalidURL": "the address cannot be used",
    }
    name = type(error).__name__
    if name == "HTTPStatusError":
        return _status_words(error.response)  # type: ignore[attr-defined]
    if name == "DecodingError":
        return words[name]
    said = clean(cut(str(error), 200))
    if name == "ConnectError" and (known := _known_failure(said)):
        return known
    if said == "All connection attempts failed":
        said = ""  # as much as the class says
    return f"{words.get(name, name)}{f' ({said})' if said else ''}"


def _known_failure(said: str) -> str:
    """Why there was no connection, of what the libraries beneath say; "" for anything else."""
    if "CERTIFICATE_VERIFY_FAILED" in said:
        why = said.partition("certificate verify failed: ")[2].partition(" (_ssl")[0]
        return f"its certificate is not accepted{f' ({why})' if why else ''}"
    if "WRONG_VERSION_NUMBER" in said or "RECORD_LAYER_FAILURE" in said:
        return "it does not speak TLS at this address: is it http:// and not https://?"
    names = ("Name or service not known", "nodename nor servname", "No address associated",
             "name resolution", "getaddrinfo failed")  # fmt: skip
    return "its name is not known" if any(word in said for word in names) else ""


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
            try:
                return await _checked(request, response, news)
            except httpx2.HTTPError as error:
                # Its body broke off, or is none.
                await response.aclose()
                return _in_place_of_answer(request, error, news)

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
    if isinstance(error, httpx2.DecodingError):
        return _error_response(request, 502, UNREADABLE, reason)
    news.on_trouble(reason)
    never = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
    return _error_response(request, 503, UNREACHABLE if never else BROKEN, reason)


async def _checked(request: Any, response: Any, news: HttpNews) -> Any:
    """The answer so that the SDK can read it, or with an error that names its status."""
    status = response.status_code
    if response.next_request is not None and (why := _astray(request, response)):
        await response.aclose()
        return _error_response(request, 400, NOT_MCP, why)
    if status < 400:
        return await _readable(request, response, news)
    if request.method != "POST":
        if status == 401:
            news.on_auth("its stream of events was refused (HTTP 401)")
        return response
    return await _refusal(request, response, news)


def _astray(request: Any, response: Any) -> str:
    """Why a redirect is not to be followed, in words; "" if it is. Those within the server are
    followed by the SDK, each as a request of its own that carries what was said of the last."""
    from mcp.shared._httpx_utils import next_request_within_origin

    to = response.next_request.url.copy_with(userinfo=b"", query=None, fragment=None)
    hops: list[str] = request.extensions.setdefault("agent-tui hops", [])
    hops.append(str(request.url))
    response.next_request.extensions["agent-tui hops"] = hops
    if str(response.next_request.url) in hops or len(hops) > MAX_HOPS:
        way = " → ".join([urlsplit(hop).path or "/" for hop in hops[-MAX_HOPS:]] + [to.path])
        return f"it redirects in a circle: {clean(cut(way, 200))}"
    if next_request_within_origin(response) is None:
        return (
            f"it redirects to {clean(cut(str(to), 200))}: if that is the server, give its address"
        )
    return ""


async def _readable(request: Any, response: Any, news: HttpNews) -> Any:
    """An answer without an error of HTTP. Raises httpx2.HTTPError: its body cannot be had."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code == 202 or response.next_request is not None:
        return response
    if kind == "text/event-stream":
        return _event_stream(request, response, news)
    request_id = _id_of(request) if request.method == "POST" else None
    if request_id is None and not (request.method == "GET" and "html" in kind):
        return response
    is_json = kind == "application/json"
    body = await response.aread() if is_json or (request_id and "html" not in kind) else b""
    # Some call it text, or nothing.
    if is_json or body.lstrip().startswith(b"{"):
        better = await _mended(body, news, request_id)
        if better is body and is_json:
            return response
        session = response.headers.get("mcp-session-id")
        return _answer(request, response.status_code, better, session)
    await response.aclose()
    what = "a web page" if "html" in kind else clean(cut(kind, 60)) or "something without a type"
    hint = "is the address right, or does it want a login?" if "html" in kind else "is it right?"
    text = f"what answers at this address is no MCP server: it sent {what}; {hint}"
    return _error_response(request, 400, NOT_MCP, text)


async def _mended(body: bytes, news: HttpNews, request_id: Any = None) -> bytes:
    """`body`, or what the SDK can read of it; an error for request_id where there is nothing."""
    if len(body) > IN_THREAD:
        better, troubles = await asyncio.to_thread(_better, body, request_id)
    else:
        better, troubles = _better(body, request_id)
    for trouble in troubles:
        news.on_note(trouble)
    return better


def _better(body: bytes, request_id: Any) -> tuple[bytes, list[str]]:
    from mcp_types import jsonrpc_message_adapter as adapter

    with contextlib.suppress(ValueError):
        adapter.validate_json(body, by_name=False)
        return body, []
    read = read_message(body)
    if read.messages:
        # Only the first has somebody who waits for it; nobody sends batches any more.
        first = read.messages[0].model_dump(by_alias=True, exclude_unset=True)
        text = sendable(json.dumps(first, ensure_ascii=False))
        return text.encode(), read.troubles
    if request_id is None:
        return body, []
    said = "an answer of it is not valid JSON, so its call has failed"
    return json.dumps(unreadable(request_id)).encode(), [said]


def _event_stream(request: Any, response: Any, news: HttpNews) -> Any:
    """The same stream, with messages that can all be read."""
    import httpx2

    class Stream(httpx2.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return mended_events(response.aiter_bytes(), mend)

        async def aclose(self) -> None:
            await response.aclose()

    async def mend(data: bytes) -> bytes:
        return await _mended(data, news)

    kept = {
        name: value
        for name, value in response.headers.items()
        if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
    }
    return httpx2.Response(response.status_code, headers=kept, stream=Stream(), request=request)


def _id_of(request: Any) -> Any:
    """Of the JSON-RPC request that a POST carries; None for a notification or an answer."""
    try:
        message = json.loads(request.content)
    except (ValueError, RecursionError, RuntimeError):
        return None
    return message.get("id") if isinstance(message, dict) and "method" in message else None


async def _refusal(request: Any, response: Any, news: HttpNews) -> Any:
    """An error of HTTP as an error of the protocol."""
    status = response.status_code
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
        return _error_response(request, status, -32601, NOTHING_THERE)
    said = "" if "html" in response.headers.get("content-type", "").lower() else (
        clean(cut(body.decode("utf-8", "replace").strip(), 200))
    )  # fmt: skip
    text = _status_words(response) + (f": {said}" if said else "")
    return _error_response(request, status, -32603, text)


def _status_words(response: Any) -> str:
    """`HTTP 502 Bad Gateway`, or what is known of it in better words."""
    if response.status_code == 404:
        return NOTHING_THERE
    if error := _own_error(response):
        return str(error["message"])
    return f"HTTP {response.status_code} {clean(response.reason_phrase)}".strip()


def _own_error(response: Any) -> dict[str, Any]:
    """The error of an answer of ours with NOT_MCP; {} of any other."""
    with contextlib.suppress(Exception):  # most have no body that could be read now
        error = response.json()["error"]
        return error if error["code"] == NOT_MCP else {}
    return {}


def is_not_mcp(error: BaseException) -> bool:
    """Whether what answers is no MCP server, so that another try is of no use."""
    response = getattr(error, "response", None)
    return getattr(error, "code", None) == NOT_MCP or bool(response and _own_error(response))


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


def _answer(request: Any, status: int, body: bytes, session: str | None = None) -> Any:
    import httpx2

    headers = {"content-type": "application/json"}
    if session is not None:
        headers["mcp-session-id"] = session
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
