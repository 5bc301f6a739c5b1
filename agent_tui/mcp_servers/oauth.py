"""OAuth for HTTP servers: stored tokens that refresh themselves, and the login of a person.

The SDK's OAuthClientProvider does the protocol (discovery, registration, PKCE, exchange); here
is what it leaves open: a 0600 file per server, the expiry and the endpoints that must outlive a
restart (else an expired token looks like a broken server), a connection that never opens a
browser by itself, and a login that takes its code from the browser or from a paste.
"""

import asyncio
import contextlib
import hashlib
import html
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, urlsplit

from agent_tui import paths
from agent_tui.mcp_servers.types import McpError
from agent_tui.text import clean, cut

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider

log = logging.getLogger(__name__)

LOGIN_S = 600.0
_EARLY_S = 30.0
"""A token is refreshed so long before its end: clocks differ."""
_REQUEST_S = 30.0

Remember = Callable[[list[str]], None]
"""Takes secret values that must not be shown or logged from now on."""


class LoginNeededError(McpError):
    """Only a person can go on: `/mcp login NAME`."""


def auth_reason(error: BaseException) -> str | None:
    """Why an error means that a login is wanted, in words; None if it means something else."""
    import httpx2
    from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError

    for found in _all_of(error):
        if isinstance(found, LoginNeededError):
            return str(found)
        if isinstance(found, OAuthFlowError | OAuthTokenError | OAuthRegistrationError):
            return clean(cut(str(found), 300))
        if isinstance(found, httpx2.HTTPStatusError) and found.response.status_code == 401:
            return "it refused the login (HTTP 401)"
    return None


def _all_of(error: BaseException) -> list[BaseException]:
    found = [error]
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            found += _all_of(inner)
    return found


# --- what is kept ---------------------------------------------------------------------------


def _folder() -> Path:
    return paths.private_folder(paths.home() / "mcp-auth")


@dataclass(slots=True)
class TokenStore:
    """What one server's login left, by its URL (so no other server gets it by taking a name).

    The SDK's TokenStorage. remember: hears of every secret that is read or written.
    """

    url: str
    remember: Remember
    _context: Any = None
    _stamp: str = ""
    ignore_tokens: bool = False
    """A login begins: what is stored does not count."""
    wanted_scope: str = ""
    """The rights that the server asked for when it was last refused for want of them."""
    _kept: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def path(self) -> Path:
        digest = hashlib.sha256(self.url.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return _folder() / f"{digest}.json"

    def load(self) -> dict[str, Any]:
        """{} when there is nothing (usable)."""
        try:
            text = self.path.read_bytes()
            kept: Any = json.loads(text)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            log.warning("the stored login of an MCP server cannot be read: %s", error)
            return {}
        self._stamp = hashlib.sha256(text).hexdigest()
        self._kept = cast(dict[str, Any], kept) if isinstance(kept, dict) else {}
        self._tell(self._kept)
        return self._kept

    def changed(self) -> bool:
        """Whether another process has logged in or refreshed since load()."""
        try:
            return hashlib.sha256(self.path.read_bytes()).hexdigest() != self._stamp
        except OSError:
            return False

    def forget(self) -> bool:
        """Whether there was something to forget. Raises McpError."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise McpError(f"The stored login cannot be removed: {error}.") from error
        return True

    def has_tokens(self) -> bool:
        """Whether a login has been stored."""
        return bool(self.load().get("tokens"))

    def _save(self, **values: Any) -> None:
        self._kept |= {"url": self.url} | values
        data = json.dumps(self._kept, indent=1).encode()
        self._tell(self._kept)
        try:
            paths.write_private_atomic(self.path, data)
        except OSError as error:
            # The login works for this run; the next one asks again.
            log.warning("a login cannot be stored: %s", error)
        self._stamp = hashlib.sha256(data).hexdigest()

    def _tell(self, kept: Mapping[str, Any]) -> None:
        secret: list[str] = []
        for table in (kept.get("tokens"), kept.get("client")):
            if isinstance(table, dict):
                names = ("access_token", "refresh_token", "client_secret")
                secret += [str(table[name]) for name in names if table.get(name)]
        self.remember(secret)

    def attach(self, provider: "OAuthClientProvider") -> None:
        """Give a provider what it must know of the time before this process."""
        from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

        self._context = provider.context
        kept = self._kept
        expires = kept.get("expires_at")
        if isinstance(expires, int | float) and not self.ignore_tokens:
            self._context.token_expiry_time = expires - _EARLY_S
        with contextlib.suppress(ValueError):
            if kept.get("metadata"):
                self._context.oauth_metadata = OAuthMetadata.model_validate(kept["metadata"])
            if kept.get("resource"):
                resource = ProtectedResourceMetadata.model_validate(kept["resource"])
                self._context.protected_resource_metadata = resource
        if isinstance(kept.get("issuer"), str):
            self._context.auth_server_url = kept["issuer"]

    # --- the SDK's TokenStorage -----------------------------------------------------------

    async def get_tokens(self) -> Any:
        from mcp.shared.auth import OAuthToken

        if self.ignore_tokens or not self._kept.get("tokens"):
            return None
        with contextlib.suppress(ValueError):
            return OAuthToken.model_validate(self._kept["tokens"])
        return None

    async def set_tokens(self, tokens: Any) -> None:
        context = self._context
        values: dict[str, Any] = {
            "tokens": tokens.model_dump(mode="json", exclude_none=True),
            "expires_at": None if tokens.expires_in is None else time.time() + tokens.expires_in,
        }
        if tokens.expires_in is not None and context is not None:
            context.token_expiry_time = time.time() + tokens.expires_in - _EARLY_S
        if context is not None:
            for name, model in (
                ("metadata", context.oauth_metadata),
                ("resource", context.protected_resource_metadata),
            ):
                if model is not None:
                    values[name] = model.model_dump(mode="json", exclude_none=True)
            values["issuer"] = context.auth_server_url
        self._save(**values)

    async def get_client_info(self) -> Any:
        from mcp.shared.auth import OAuthClientInformationFull

        with contextlib.suppress(ValueError):
            if self._kept.get("client"):
                return OAuthClientInformationFull.model_validate(self._kept["client"])
        return None

    async def set_client_info(self, client_info: Any) -> None:
        self._save(client=client_info.model_dump(mode="json", exclude_none=True))


# --- connecting with what is stored -----------------------------------------------------------


def stored_auth(store: TokenStore, options: Mapping[str, str]) -> "OAuthClientProvider | None":
    """An httpx2.Auth of the stored login, refreshed when its time is over; None if nobody has
    logged in. It never opens a browser: then LoginNeededError comes out of the request.

    options with grant "client_credentials" need no person at all.
    """
    kept = store.has_tokens()
    if options.get("grant") == "client_credentials":
        return _machine(store, options)
    if not kept:
        return None

    async def nobody(url: str) -> None:
        asked = "".join(parse_qs(urlsplit(url).query).get("scope", [])).split()
        granted = str((store._kept.get("tokens") or {}).get("scope") or "").split()
        more = [name for name in asked if name not in granted]
        if granted and more:
            store.wanted_scope = " ".join(asked)
            raise LoginNeededError(f"it wants more rights than the login gave: {' '.join(more)}")
        raise LoginNeededError("the login is no longer valid")

    async def never() -> Any:
        raise LoginNeededError("the login is no longer valid")

    return _provider(store, options, _kept_redirect(store), nobody, never)


def _machine(store: TokenStore, options: Mapping[str, str]) -> "OAuthClientProvider":
    """A program's own login: with its secret, or with a key that signs. Raises McpError."""
    from mcp.client.auth.extensions.client_credentials import (
        ClientCredentialsOAuthProvider,
        PrivateKeyJWTOAuthProvider,
        SignedJWTParameters,
    )

    client_id = options.get("client_id", "")
    if not client_id or not (options.get("client_secret") or options.get("private_key")):
        raise McpError("oauth needs client_id, and client_secret or private_key")
    common = {"scope": options.get("scope"), "issuer": options.get("issuer")}
    if options.get("private_key"):
        signed = SignedJWTParameters(
            issuer=client_id,
            subject=client_id,
            signing_key=options["private_key"],
            signing_algorithm=options.get("signing_algorithm") or "RS256",
        )
        provider: OAuthClientProvider = PrivateKeyJWTOAuthProvider(
            store.url, store, client_id, signed.create_assertion_provider(), **common
        )
    else:
        post = options.get("auth_method") == "client_secret_post"
        provider = ClientCredentialsOAuthProvider(
            store.url, store, client_id, options["client_secret"],
            "client_secret_post" if post else "client_secret_basic", **common,
        )  # fmt: skip
    store.attach(provider)
    return provider


def _kept_redirect(store: TokenStore) -> str:
    uris = (store.load().get("client") or {}).get("redirect_uris") or []
    return str(uris[0]) if uris else "http://127.0.0.1/callback"


def _provider(
    store: TokenStore,
    options: Mapping[str, str],
    redirect_uri: str,
    redirect: Callable[[str], Awaitable[None]],
    callback: Callable[[], Awaitable[Any]],
) -> "OAuthClientProvider":
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.utils import union_scopes
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    class Provider(OAuthClientProvider):
        """Asks also for the rights a call was refused for want of: the request of a login is
        another one, and its refusal names only what it needs itself."""

        async def _perform_authorization(self) -> Any:
            if store.wanted_scope and store.ignore_tokens:
                scope = union_scopes(self.context.client_metadata.scope, store.wanted_scope)
                self.context.client_metadata.scope = scope
            return await super()._perform_authorization()

    metadata = OAuthClientMetadata(
        client_name="agent-tui",
        redirect_uris=[AnyUrl(redirect_uri)],
        scope=options.get("scope") or None,
    )
    provider = Provider(
        store.url,
        metadata,
        store,
        redirect_handler=redirect,
        callback_handler=callback,
        client_metadata_url=options.get("client_metadata_url") or None,
    )
    store.attach(provider)
    return provider


# --- the login of a person ----------------------------------------------------------------------


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
        if _kept_redirect(store) != receiver.redirect_uri:
            # A registration is good for the address it was made with.
            store._kept.pop("client", None)
        if options.get("client_id"):
            store._kept["client"] = _own_client(options, receiver.redirect_uri)
        person = _Person(receiver, show_url, pasted)
        provider = _provider(store, options, receiver.redirect_uri, person.send, person.code)
        plain = {k: v for k, v in headers.items() if k.lower() != "authorization"}
        # What is asked does not matter: whoever wants a login refuses before reading it.
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"accept": "application/json, text/event-stream"}
        async with (
            asyncio.timeout(LOGIN_S),
            httpx2.AsyncClient(headers=plain, auth=provider, timeout=_REQUEST_S) as client,
            client.stream("POST", url, json=body, headers=accept) as response,
        ):
            status = response.status_code
    except TimeoutError:
        raise McpError("The login took too long; begin it anew with /mcp login.") from None
    except httpx2.HTTPError as error:
        from agent_tui.mcp_servers.http import reason_of

        raise McpError(f"The login failed: {reason_of(error)}.") from error
    except Exception as error:
        reason = str(error) if isinstance(error, McpError) else auth_reason(error)
        if reason is None:
            raise
        raise McpError(f"The login failed: {reason.rstrip('.')}.") from error
    finally:
        await receiver.close()
    if not store._kept.get("tokens") or not person.was_asked:
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
        return urlsplit(_kept_redirect(store)).port or 0
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
