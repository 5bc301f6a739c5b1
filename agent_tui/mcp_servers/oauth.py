"""OAuth for HTTP servers: what a login leaves, and connecting with it.

The SDK's OAuthClientProvider does the protocol (discovery, registration, PKCE, exchange); here
is what it leaves open: a 0600 file per server, the expiry and the endpoints that must outlive a
restart (else an expired token looks like a broken server), and a connection that never opens a
browser by itself. The login of a person is login.py.
"""

import contextlib
import hashlib
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

_EARLY_S = 30.0
"""A token is refreshed so long before its end: clocks differ."""

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
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the file holds (or will): tokens, client, expires_at, metadata, ..."""

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
        self.kept = cast(dict[str, Any], kept) if isinstance(kept, dict) else {}
        self._tell(self.kept)
        return self.kept

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
        # Of what another process has stored meanwhile, all stays that is not new here.
        client = self.kept.get("client")
        own = {"url": self.url} | ({"client": client} if client else {})
        self.kept = self.load() | own | values
        data = json.dumps(self.kept, indent=1).encode()
        self._tell(self.kept)
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
        kept = self.kept
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

        if self.ignore_tokens or not self.kept.get("tokens"):
            return None
        with contextlib.suppress(ValueError):
            return OAuthToken.model_validate(self.kept["tokens"])
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
            if self.kept.get("client"):
                return OAuthClientInformationFull.model_validate(self.kept["client"])
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
        granted = str((store.kept.get("tokens") or {}).get("scope") or "").split()
        more = [name for name in asked if name not in granted]
        if granted and more:
            store.wanted_scope = " ".join(asked)
            raise LoginNeededError(f"it wants more rights than the login gave: {' '.join(more)}")
        raise LoginNeededError("the login is no longer valid")

    async def never() -> Any:
        raise LoginNeededError("the login is no longer valid")

    return make_provider(store, options, kept_redirect(store), nobody, never)


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


def kept_redirect(store: TokenStore) -> str:
    """The address that the registered client has for the browser to come back to."""
    uris = (store.load().get("client") or {}).get("redirect_uris") or []
    return str(uris[0]) if uris else "http://127.0.0.1/callback"


def make_provider(
    store: TokenStore,
    options: Mapping[str, str],
    redirect_uri: str,
    redirect: Callable[[str], Awaitable[None]],
    callback: Callable[[], Awaitable[Any]],
) -> "OAuthClientProvider":
    """The SDK's provider over a store. redirect(url) sends the user, callback() gives the code."""
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
