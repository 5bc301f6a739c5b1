"""A connection that failed, as an ApiError: which host, which proxy, what to do (fault F09)."""

import socket
import ssl
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from agent_tui.messages_api.addresses import proxy_of
from agent_tui.messages_api.errors import ApiError, ErrorKind, clean, map_exception, without_query


def request_url(exc: BaseException) -> str | None:
    """Where the request went that this exception is about; None if it does not know."""
    try:
        request: Any = getattr(exc, "request", None)
    except RuntimeError:  # httpx2 raises this when an error was made without a request
        return None
    return without_query(str(request.url)) if request is not None else None


def causes(exc: BaseException | None) -> Iterable[BaseException]:
    """The exception and what it was raised from, outermost first; at most ten."""
    seen = 0
    while exc is not None and seen < 10:
        yield exc
        exc = exc.__cause__ or exc.__context__
        seen += 1


def timeout(exc: BaseException, url: str | None) -> ApiError:
    """Silence: before there was a connection, or on it."""
    import httpx2

    cause = exc if isinstance(exc, httpx2.TimeoutException) else exc.__cause__
    if isinstance(cause, httpx2.ConnectTimeout):
        if (via := _proxy(url)) is not None:
            what = f"The proxy {via[1]} (from {via[0]}) did not answer in time."
            return ApiError(what, kind="connection", url=url, advice=_check(via[0]))
        host = urlsplit(url or "").netloc or "the server"
        return ApiError(f"{host} did not answer the connection in time.", kind="connection",
                        url=url)  # fmt: skip
    return ApiError("The server has been silent for too long.", kind="timeout", url=url)


def connection_error(exc: BaseException, url: str | None, secrets: list[str]) -> ApiError:
    """No connection, or one that broke before an answer."""
    import httpx2

    if isinstance(exc, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
        return map_exception(exc, secrets=secrets)
    if isinstance(exc, httpx2.ProxyError):
        return proxy_refusal(url, clean(str(exc), secrets))
    where = urlsplit(url or "").netloc or "the server"
    via = _proxy(url)
    target = where if via is None else f"the proxy {via[1]} (from {via[0]})"
    chain = list(causes(exc))
    kind: ErrorKind = "connection"
    advice = None if via is None else _check(via[0])
    if any(isinstance(c, ssl.SSLCertVerificationError) for c in chain):
        what, kind = f"The certificate of {where} cannot be verified", "setup"
        what += f", reached through {target}" if via is not None else ""
        advice = "If your network uses its own certificates, point SSL_CERT_FILE to them."
    elif any(isinstance(c, socket.gaierror) for c in chain):
        what = f"The host of {target} cannot be found"
    elif any(isinstance(c, ConnectionRefusedError) for c in chain) or "refused" in str(exc):
        what = f"Nothing answers at {target}"
        advice = advice or "Start the server, or correct base_url."
    elif isinstance(exc, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError):
        what = f"{where} closed the connection without an answer"
        what += f" (through {target})" if via is not None else ""
    else:
        detail = clean(str(exc), secrets)
        what = f"The connection to {where} failed{f': {detail}' if detail else ''}".rstrip(".")
        what += f" (through {target})" if via is not None else ""
    return ApiError(what + ".", kind=kind, url=url, advice=advice)


def proxy_refusal(url: str | None, said: str) -> ApiError:
    """The proxy would not pass the request on. said: its status line, or what is wrong."""
    where = urlsplit(url or "").netloc or "the server"
    via = _proxy(url)
    variable, proxy = via if via is not None else ("HTTPS_PROXY", "of this network")
    if "407" in said:
        return ApiError(
            f"The proxy {proxy} (from {variable}) asks for a user name and password.",
            kind="setup",
            url=url,
            advice=f"Put them into {variable}: http://NAME:PASSWORD@HOST:PORT.",
        )
    detail = f": {said.rstrip('.')}" if said else ""
    return ApiError(
        f"The proxy {proxy} (from {variable}) refused the connection to {where}{detail}.",
        kind="connection",
        url=url,
        advice=_check(variable),
    )


def _proxy(url: str | None) -> tuple[str, str] | None:
    """(variable, proxy without its password) on the way to `url`."""
    found = proxy_of(url or "")
    return (found[0], clean(without_query(found[1]))) if found is not None else None


def _check(variable: str) -> str:
    return f"Check {variable} and NO_PROXY."
