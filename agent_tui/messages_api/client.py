"""The connection to a Messages API: where, with which credential; the SDK client for it."""

import ipaddress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from agent_tui.messages_api.errors import CredentialError

SERVICE_URL = "https://api.anthropic.com"
"""The service itself (ApiEndpoint.base_url None)."""

CONNECT_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 60.0
NO_KEY = "no-key"
"""Sent to servers that want none: the SDK refuses to send a request without a credential."""


@dataclass(slots=True, repr=False)
class ApiEndpoint:
    """Where to send requests. base_url None: the service itself. repr hides the secrets.

    api_key goes as the SDK sends it; auth_token as a bearer token. label: for people
    ("api.anthropic.com", "Ollama on 127.0.0.1:11434", "demo"). idle_timeout_s: longest silence
    before the headers and between events (pings count). headers: extra ones.
    """

    base_url: str | None = None
    api_key: str | None = None
    auth_token: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    label: str = ""
    idle_timeout_s: float = 120.0

    def __repr__(self) -> str:
        return f"ApiEndpoint({self.label or self.base_url!r})"

    @property
    def url(self) -> str:
        """The base URL requests go to, normalised. Raises ValueError as normalize_base_url."""
        return SERVICE_URL if self.base_url is None else normalize_base_url(self.base_url)

    @property
    def secrets(self) -> list[str]:
        """What must never be shown or logged: the key, the token, values of extra headers."""
        found = [self.api_key, self.auth_token, *self.headers.values()]
        return [s for s in found if s and len(s) >= 8]


def normalize_base_url(url: str) -> str:
    """Strips a trailing "/", "/v1" and "/v1/messages"; lower-cases scheme and host.

    Raises ValueError, with a sentence for the user, for a query, a fragment, a user name or
    password, a scheme other than http(s), a missing host or a bad port (fault F03).
    """
    text = url.strip()
    if any(c.isspace() or not c.isprintable() for c in text):
        raise ValueError("base_url holds a space or control character: remove it.")
    parts = urlsplit(text)
    if parts.scheme.lower() not in ("http", "https") or "://" not in text:
        raise ValueError(f'base_url {_shown(text)} must begin with "https://" or "http://".')
    if "@" in parts.netloc:
        raise ValueError(
            "base_url must not hold a user name or password: give the key in api_key instead."
        )
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise ValueError(
            f'base_url {_shown(text)} must not hold "?" or "#": give only scheme, host and path.'
        )
    if not parts.hostname:
        raise ValueError(f"base_url {_shown(text)} has no host: write it like https://host:port.")
    try:
        port = parts.port
    except ValueError:
        raise ValueError(f"base_url {_shown(text)} has a bad port: use 1 to 65535.") from None
    path = parts.path.rstrip("/")
    for tail in ("/messages", "/v1"):
        path = path.removesuffix(tail).rstrip("/")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme.lower()}://{host}{f':{port}' if port is not None else ''}{path}"


def endpoint_host(url: str | None) -> str:
    """The parsed host (never a substring of the path, fault F08); "" for a URL without one."""
    return (urlsplit(url if url is not None else SERVICE_URL).hostname or "").lower()


def is_loopback(host: str) -> bool:
    """True for this machine: localhost, *.localhost, 127.0.0.0/8, ::1."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def base_url_warning(url: str) -> str | None:
    """A sentence when the key would travel unencrypted to another machine, else None (F08)."""
    host = endpoint_host(url)
    if urlsplit(url).scheme.lower() == "https" or not host or is_loopback(host):
        return None
    return (
        f"base_url is not https and {host} is another machine: "
        "your key and everything you write travel there unencrypted. Use https if you can."
    )


def check_credential(endpoint: ApiEndpoint) -> None:
    """Raises CredentialError for a key or token that could only fail on the way (fault F01).

    None is accepted (a server that wants no key). The message never holds the value.
    """
    for name, value in (("API key", endpoint.api_key), ("auth token", endpoint.auth_token)):
        if value is not None:
            problem = _credential_problem(value)
            if problem:
                raise CredentialError(f"The {name} {problem}")


def _credential_problem(value: str) -> str | None:
    if not value:
        return "is empty. Set it, or remove the empty setting."
    if not value.strip():
        return "is only white space. Set it, or remove the empty setting."
    if value != value.strip():
        return "has a line break or space at its beginning or end. Remove that and try again."
    if not value.isascii():
        return "holds a character that is not ASCII. Copy it again from where it was made."
    if any(not ("!" <= c <= "~") for c in value):
        return "holds a space or control character. Copy it again from where it was made."
    if value[0] in "\"'" and value[-1] == value[0]:
        return "is wrapped in quotes. Remove the quotes and try again."
    return None


def make_client(endpoint: ApiEndpoint) -> Any:
    """An AsyncAnthropic with the SDK's own retries off. Imports the SDK: call it in a thread.

    Redirects are not followed, so no credential ever reaches a host that was not named.
    Proxies come from the environment (HTTPS_PROXY, NO_PROXY...); loopback is always direct.

    Raises errors.CredentialError for a missing, empty or malformed key (F01), naming what to
    do; ValueError for a base_url that normalize_base_url refuses.
    """
    check_credential(endpoint)
    url = endpoint.url

    import anthropic
    import httpx2

    host = endpoint_host(url)
    direct = {f"all://{f'[{host}]' if ':' in host else host}": None} if is_loopback(host) else {}
    api_key, auth_token = endpoint.api_key, endpoint.auth_token
    if api_key is not None:
        auth_token = None
    elif auth_token is None and endpoint.base_url is not None:
        api_key = NO_KEY
    client = anthropic.AsyncAnthropic(
        api_key=api_key,
        auth_token=auth_token,
        base_url=url,
        max_retries=0,
        timeout=httpx2.Timeout(
            endpoint.idle_timeout_s, connect=CONNECT_TIMEOUT_S, write=WRITE_TIMEOUT_S
        ),
        default_headers=endpoint.headers or None,
        http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False, mounts=direct),
    )
    if client.api_key is None and client.auth_token is None and client.credentials is None:
        raise CredentialError(
            "There is no API key. Set ANTHROPIC_API_KEY, or choose a local server or the demo."
        )
    return client


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:99] + "…")
