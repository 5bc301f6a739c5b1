"""The connection to a Messages API: where, with which credential; the SDK client for it."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from agent_tui.messages_api.addresses import (
    SERVICE_URL,
    base_url_warning,
    endpoint_host,
    is_loopback,
    normalize_base_url,
    proxy_of,
)
from agent_tui.messages_api.ambient import custom_headers
from agent_tui.messages_api.errors import ApiError, CredentialError, clean, map_exception
from agent_tui.messages_api.providers import PROVIDERS, Cloud, Provider, check_provider

__all__ = [
    "NO_KEY",
    "SERVICE_URL",
    "ApiEndpoint",
    "Cloud",
    "Provider",
    "base_url_warning",
    "check_credential",
    "check_endpoint",
    "endpoint_host",
    "is_loopback",
    "make_client",
    "normalize_base_url",
    "with_environment",
]

CONNECT_TIMEOUT_S = 10.0
WRITE_TIMEOUT_S = 60.0
NO_KEY = "no-key"
"""Sent to servers that want none: the SDK refuses to send a request without a credential."""

_NO_KEY_HERE = "There is no API key. Set ANTHROPIC_API_KEY, or choose a local server or the demo."
_HIDDEN_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "ANTHROPIC_IDENTITY_TOKEN")
_ENTRA_SCOPE = "https://ai.azure.com/.default"


@dataclass(slots=True, repr=False)
class ApiEndpoint:
    """Where to send requests. base_url None: the provider's own. repr hides the secrets.

    api_key goes as the SDK sends it; auth_token as a bearer token. label: for people
    ("api.anthropic.com", "Ollama on 127.0.0.1:11434", "demo"). idle_timeout_s: longest silence
    before the headers and between events (pings count). headers: extra ones.

    provider, cloud: which of the SDK's clients, and where on a cloud (providers.py).
    own_credentials: without a key, the SDK's own chain gives one (a profile, workload
    identity). hidden: more that must never be shown.
    """

    base_url: str | None = None
    api_key: str | None = None
    auth_token: str | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    label: str = ""
    idle_timeout_s: float = 120.0
    provider: Provider = "anthropic"
    cloud: Cloud = field(default_factory=Cloud)
    own_credentials: bool = False
    hidden: list[str] = field(default_factory=list[str])

    def __repr__(self) -> str:
        return f"ApiEndpoint({self.label or self.base_url or self.provider!r})"

    @property
    def url(self) -> str:
        """The base URL requests go to, normalised; "" where a cloud's client makes it up.

        Raises ValueError as normalize_base_url.
        """
        if self.base_url is None:
            return SERVICE_URL if self.provider == "anthropic" else ""
        # The SDK appends to these bases itself, and Vertex's ends in /v1.
        return normalize_base_url(self.base_url, keep_path=self.provider in ("bedrock", "vertex"))

    @property
    def secrets(self) -> list[str]:
        """What must never be shown or logged: the key, the token, values of extra headers."""
        found = [self.api_key, self.auth_token, *self.headers.values(), *self.hidden]
        return [s for s in found if s and len(s) >= 8]

    @property
    def signs_itself(self) -> bool:
        """Whether one of the extra headers is the credential."""
        return any(name.lower() in ("authorization", "x-api-key") for name in self.headers)

    @property
    def lists_models(self) -> bool:
        """Whether it has /v1/models; else the built-in table is all there is."""
        return PROVIDERS[self.provider].lists_models

    @property
    def counts_tokens(self) -> bool:
        """Whether it has count_tokens; else an estimate is all there is."""
        return PROVIDERS[self.provider].counts_tokens

    @property
    def has_files(self) -> bool:
        """Whether it has the Files API."""
        return PROVIDERS[self.provider].has_files


def with_environment(endpoint: ApiEndpoint, environ: Mapping[str, str]) -> ApiEndpoint:
    """A copy in which what is None is filled from the variables that the SDK reads for it.

    Raises ApiError for ANTHROPIC_CUSTOM_HEADERS that cannot be sent.
    """
    facts = PROVIDERS[endpoint.provider]
    headers = {**custom_headers(environ), **endpoint.headers}
    hidden = [environ[name] for name in _HIDDEN_VARIABLES if environ.get(name)]
    endpoint = replace(endpoint, headers=headers, hidden=[*endpoint.hidden, *hidden])
    if endpoint.provider == "anthropic":
        return endpoint
    cloud = endpoint.cloud
    base_url = endpoint.base_url or environ.get(facts.base_url) or None
    filled: dict[str, str] = {}
    for part, variables in facts.variables.items():
        if part == "resource" and endpoint.base_url is not None:
            continue  # an address given wins over the variable
        found = next((environ[v] for v in variables if environ.get(v)), None)
        if getattr(cloud, part) is None and found is not None:
            filled[part] = found
    key = endpoint.api_key
    # A profile that was chosen wins over a key that lies about; Bedrock alone refuses both.
    if (
        key is None
        and endpoint.auth_token is None
        and (cloud.profile is None or endpoint.provider == "bedrock")
    ):
        key = next((environ[v] for v in facts.keys if v in environ), None)
    return replace(endpoint, base_url=base_url, cloud=replace(cloud, **filled), api_key=key)


def check_endpoint(endpoint: ApiEndpoint) -> None:
    """Raises CredentialError or ApiError for what could only fail on the way, ValueError for a
    malformed base_url. Nothing is imported or sent; the environment's values are filled in."""
    check_credential(endpoint)
    _ = endpoint.url
    check_provider(
        endpoint.provider,
        endpoint.cloud,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        auth_token=endpoint.auth_token,
        signs_itself=endpoint.signs_itself,
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
    """The SDK's client for this endpoint, its own retries off. Imports the SDK: call it in a
    thread.

    Redirects are not followed, so no credential ever reaches a host that was not named.
    Proxies and certificates come from the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE);
    loopback is always direct.

    Raises errors.CredentialError for a missing, empty or malformed key (F01), naming what to
    do; ApiError for what the provider cannot do without, or a proxy that cannot be used;
    ValueError for a base_url that normalize_base_url refuses.
    """
    endpoint = with_environment(endpoint, os.environ)
    check_endpoint(endpoint)

    import httpx2

    common: dict[str, Any] = {
        "base_url": endpoint.url or None,
        "max_retries": 0,
        "timeout": httpx2.Timeout(
            endpoint.idle_timeout_s, connect=CONNECT_TIMEOUT_S, write=WRITE_TIMEOUT_S
        ),
        "default_headers": endpoint.headers or None,
        "http_client": _http_client(endpoint.url),
    }
    if endpoint.provider == "anthropic":
        return _anthropic_client(endpoint, common)
    return _cloud_client(endpoint, common)


def _anthropic_client(endpoint: ApiEndpoint, common: dict[str, Any]) -> Any:
    import anthropic

    api_key, auth_token = endpoint.api_key, endpoint.auth_token
    if api_key is not None:
        auth_token = None
    elif auth_token is None and endpoint.own_credentials:
        if endpoint.base_url is None:
            common["base_url"] = None  # a profile may name one
    elif auth_token is None and endpoint.base_url is not None and not endpoint.signs_itself:
        api_key = NO_KEY
    client = anthropic.AsyncAnthropic(api_key=api_key, auth_token=auth_token, **common)
    if endpoint.own_credentials and client.credentials is None:
        raise CredentialError("The profile or workload identity of the environment is gone.")
    if not (client.api_key or client.auth_token or client.credentials or endpoint.signs_itself):
        raise CredentialError(_NO_KEY_HERE)
    return client


def _cloud_client(endpoint: ApiEndpoint, common: dict[str, Any]) -> Any:
    import anthropic

    cloud, token = endpoint.cloud, endpoint.auth_token
    where = {f.name: getattr(cloud, f.name) for f in fields(cloud)}
    given: dict[str, Any]
    match endpoint.provider:
        case "vertex":
            given = {"region": where["region"], "project_id": where["project"]}
            given["access_token"] = token
        case "google-cloud":
            given = {"location": where["region"], "project": where["project"]}
            given["workspace_id"] = where["workspace"]
            given["token_provider"] = None if token is None else lambda: token
        case "foundry":
            given = {"resource": where["resource"], "api_key": endpoint.api_key}
            if token is not None:
                given["azure_ad_token_provider"] = lambda: token
            elif endpoint.api_key is None:
                given["azure_ad_token_provider"] = _entra_tokens()
        case _:
            given = {"aws_region": where["region"], "aws_profile": where["profile"]}
            given["api_key"] = endpoint.api_key
            if endpoint.provider == "aws":
                given["workspace_id"] = where["workspace"]
    try:
        make = getattr(anthropic, PROVIDERS[endpoint.provider].client)
        return make(**{k: v for k, v in given.items() if v is not None}, **common)
    except Exception as error:
        raise map_exception(error, secrets=endpoint.secrets, provider=endpoint.provider) from error


def _entra_tokens() -> Any:
    """A provider of Microsoft Entra tokens by Azure's own chain (az login, managed identity)."""
    import asyncio
    from importlib import import_module

    identity = import_module("azure.identity")
    get: Any = identity.get_bearer_token_provider(identity.DefaultAzureCredential(), _ENTRA_SCOPE)

    async def token() -> str:
        return await asyncio.to_thread(get)

    return token


def _http_client(url: str) -> Any:
    import anthropic
    import httpx2

    try:
        if is_loopback(endpoint_host(url)):
            # Whatever proxy the environment names, right or wrong, has no part in this.
            return anthropic.DefaultAsyncHttpxClient(
                follow_redirects=False, trust_env=False, verify=httpx2.create_ssl_context()
            )
        return anthropic.DefaultAsyncHttpxClient(follow_redirects=False)
    except ImportError as error:
        raise ApiError(
            "Your environment names a SOCKS proxy, which needs one more package: "
            f"run {sys.executable} -m pip install 'agent-tui[socks]', or name an HTTP proxy.",
            kind="setup",
        ) from error
    except OSError as error:  # ssl.SSLError is one
        names = " and ".join(n for n in ("SSL_CERT_FILE", "SSL_CERT_DIR") if n in os.environ)
        raise ApiError(
            f"The certificates that {names or 'this system'} names cannot be read: "
            f"{clean(str(error))}.",
            kind="setup",
            advice="Correct or unset it.",
        ) from error
    except ValueError as error:
        variable = (proxy_of(url or SERVICE_URL) or ("HTTPS_PROXY", ""))[0]
        raise ApiError(
            f"The proxy in {variable} cannot be used: write it like http://host:port.",
            kind="setup",
        ) from error
