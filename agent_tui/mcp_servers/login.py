"""The login of a person at an HTTP server: the browser comes back to us, or a code is pasted."""

import asyncio
import contextlib
import html
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from agent_tui.mcp_servers.http import is_loopback, reason_of
from agent_tui.mcp_servers.oauth import (
    Remember,
    TokenStore,
    auth_reason,
    kept_redirect,
    make_provider,
)
from agent_tui.mcp_servers.types import McpError
from agent_tui.text import clean, cut

log = logging.getLogger(__name__)

LOGIN_S = 600.0
_REQUEST_S = 30.0


async def login(
    url: str,
    headers: Mapping[str, str],
    options: Mapping[str, str],
    remember: Remember,
    *,
    show_url: Callable[[str], Awaitable[None]],
    pasted: Callable[[], Awaitable[str | None]] | None = None,
    scope: str = "",
) -> None:
    """Log in and store what comes of it. See McpManager.login. scope: rights to ask for beside
    those that the server names. Raises McpError."""
    import httpx2

    store = TokenStore(url, remember)
    store.wanted_scope = scope
    store.load()
    store.ignore_tokens = True
    receiver = await _Receiver.open(_wanted_port(store, options))
    try:
        if kept_redirect(store) != receiver.redirect_uri:
            # A registration is good for the address it was made with.
            store.kept.pop("client", None)
        if options.get("client_id"):
            store.kept["client"] = _own_client(options, receiver.redirect_uri)
        person = _Person(receiver, show_url, pasted)
        provider = make_provider(store, options, receiver.redirect_uri, person.send, person.code)
        plain = {k: v for k, v in headers.items() if k.lower() != "authorization"}
        # What is asked does not matter: whoever wants a login refuses before reading it.
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"accept": "application/json, text/event-stream"}
        async with (
            asyncio.timeout(LOGIN_S),
            httpx2.AsyncClient(
                headers=plain, auth=provider, timeout=_REQUEST_S, trust_env=not is_loopback(url)
            ) as client,
            client.stream("POST", url, json=body, headers=accept) as response,
        ):
            status = response.status_code
    except TimeoutError:
        raise McpError("The login took too long; begin it anew with /mcp login.") from None
    except httpx2.HTTPError as error:
        raise McpError(f"The login failed: {reason_of(error)}.") from error
    except Exception as error:
        reason = str(error) if isinstance(error, McpError) else auth_reason(error)
        if reason is None:
            raise
        raise McpError(f"The login failed: {reason.rstrip('.')}.") from error
    finally:
        await receiver.close()
    if not store.kept.get("tokens") or not person.was_asked:
        raise McpError(f"The server did not ask for a login (HTTP {status}).")


def _own_client(options: Mapping[str, str], redirect_uri: str) -> dict[str, Any]:
    """A client that the user has registered with the service beforehand."""
    client = {"client_id": options["client_id"], "redirect_uris": [redirect_uri]}
    if options.get("client_secret"):
        client["client_secret"] = options["client_secret"]
        client["token_endpoint_auth_method"] = options.get("auth_method") or "client_secret_basic"
    else:
        client["token_endpoint_auth_method"] = "none"
    return client


def _wanted_port(store: TokenStore, options: Mapping[str, str]) -> int:
    """The port of last time: many services take only the address that was registered."""
    if options.get("callback_port", "").isdigit():
        return int(options["callback_port"])
    with contextlib.suppress(ValueError):
        return urlsplit(kept_redirect(store)).port or 0
    return 0


class _Person:
    """The two ways a code comes: the browser's call, or a paste."""

    def __init__(
        self,
        receiver: "_Receiver",
        show_url: Callable[[str], Awaitable[None]],
        pasted: Callable[[], Awaitable[str | None]] | None,
    ) -> None:
        self._receiver = receiver
        self._show_url = show_url
        self._pasted = pasted
        self._state = ""
        self.was_asked = False

    async def send(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise McpError("the server names an address for the login that is no web address")
        self._state = "".join(parse_qs(parts.query).get("state", []))
        self._receiver.state = self._state
        self.was_asked = True
        await self._show_url(url)

    async def code(self) -> Any:
        """Raises McpError when the user or the service said no."""
        from mcp.shared.auth import AuthorizationCodeResult

        came: asyncio.Task[dict[str, str]] = asyncio.ensure_future(self._receiver.answer())
        tasks: list[asyncio.Task[Any]] = [came]
        if self._pasted is not None:
            tasks.append(asyncio.ensure_future(self._pasted()))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            found = came.result() if came.done() else read_paste(tasks[1].result(), self._state)
        finally:
            for task in tasks:
                task.cancel()
        if "error" in found:
            said = found.get("error_description") or found["error"]
            raise McpError(f"the service refused: {clean(cut(said, 200))}")
        return AuthorizationCodeResult(
            code=found.get("code", ""), state=found.get("state"), iss=found.get("iss")
        )


def read_paste(text: str | None, state: str) -> dict[str, str]:
    """What a person pasted: the address the browser ended at, or the code alone (it counts for
    the login that runs). Raises McpError."""
    text = (text or "").strip().strip("\"'")
    if not text:
        raise McpError("the login was cancelled")
    if "code=" in text or "error=" in text:
        parts = urlsplit(text)
        query = parts.query or parts.fragment or text
        return {name: values[0] for name, values in parse_qs(query).items()}
    if any(character.isspace() for character in text) or "://" in text:
        raise McpError("what was pasted is neither a code nor an address with one")
    return {"code": text, "state": state}


class _Receiver:
    """Waits on loopback for the browser to come back, once."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None
        self.redirect_uri = ""
        self.state = ""
        """Of the login that runs: a call without it is not the browser coming back from it."""

    @classmethod
    async def open(cls, port: int) -> "_Receiver":
        """port 0, or one that is taken: any. Raises McpError."""
        receiver = cls()
        reason: OSError | None = None
        for wanted in dict.fromkeys((port, 0)):
            try:
                server = await asyncio.start_server(receiver._serve, "127.0.0.1", wanted)
            except OSError as error:
                reason = error
                continue
            receiver._server = server
            bound = server.sockets[0].getsockname()[1]
            receiver.redirect_uri = f"http://127.0.0.1:{bound}/callback"
            return receiver
        raise McpError(f"No port can be opened for the browser to come back to: {reason}.")

    async def answer(self) -> dict[str, str]:
        return await asyncio.shield(self._answer)

    async def close(self) -> None:
        if self._server:
            self._server.close()
        if not self._answer.done():
            self._answer.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                request = await reader.readline()
                while (await reader.readline()).strip():
                    pass
            words = request.decode("latin-1").split(" ")
            parts = urlsplit(words[1] if len(words) > 1 else "")
            found = {name: values[0] for name, values in parse_qs(parts.query).items()}
            expected = bool({"code", "error"} & set(found)) and found.get("state") == self.state
            if words[0] != "GET" or parts.path != "/callback" or not expected:
                status, text = "404 Not Found", "There is nothing here."
            else:
                status, text = "200 OK", "You can close this page and go back to the terminal."
                if not self._answer.done():
                    self._answer.set_result(found)
            page = f"<!doctype html><meta charset=utf-8><p>{html.escape(text)}".encode()
            head = (
                f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n"
                f"content-length: {len(page)}\r\nconnection: close\r\n\r\n"
            )
            writer.write(head.encode() + page)
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            log.debug("a call to the login's address broke off", exc_info=True)
        finally:
            writer.close()
