"""Which Messages API this conversation talks to, and with which credential.

Order (DESIGN, facts/offline): --demo; a flag or setting; the environment, with the profile or
workload identity it names; a stored key; a profile that lies on disk; then, asked first, a
server found on loopback; else the demo. A key that fails is never replaced by the demo: the
error is shown instead. Another provider than Anthropic has credentials of its own.
"""

import asyncio
import json
import os
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_tui import paths
from agent_tui.messages_api.ambient import active_profile, chosen_credentials
from agent_tui.messages_api.client import (
    ApiEndpoint,
    Cloud,
    base_url_warning,
    check_credential,
    check_endpoint,
    normalize_base_url,
    with_environment,
)
from agent_tui.messages_api.errors import ApiError, CredentialError
from agent_tui.messages_api.providers import PROVIDERS
from agent_tui.settings import Settings
from agent_tui.text import mask_secrets

LOOPBACK_SERVERS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
"""Ports where people run a Messages API of their own (facts/offline)."""

DEMO_MODEL = "demo"
SERVICE_HOST = "api.anthropic.com"
LOOKED_AT = (
    "Looked at: api_key and auth_token in the settings, ANTHROPIC_API_KEY, "
    "ANTHROPIC_AUTH_TOKEN, ANTHROPIC_PROFILE, workload identity, the key kept by /login."
)
NO_ENDPOINT = (
    "No key and no server: set ANTHROPIC_API_KEY, or give --base-url URL, or use --demo "
    f"(scripted replies, no model). {LOOKED_AT}"
)


class EndpointError(ValueError):
    """The endpoint named by settings, environment or the stored key cannot work; one line."""


@dataclass(slots=True)
class Endpoint:
    """An ApiEndpoint with what a person wants to know about it.

    source: where the credential came from ("ANTHROPIC_API_KEY", "stored key", ...).
    models: ids the server named when it was found, if any. close ends an own server.
    notes: what a person should be told of the choice, a sentence each.
    """

    api: ApiEndpoint
    demo: bool = False
    source: str = ""
    models: list[str] = field(default_factory=list[str])
    close: Callable[[], None] | None = None
    notes: list[str] = field(default_factory=list[str])

    @property
    def label(self) -> str:
        return self.api.label

    @property
    def is_service(self) -> bool:
        """True where Anthropic's own model ids hold: at the service itself, and on the clouds
        that hand all of it on. False for any other address."""
        if self.api.provider != "anthropic":
            return PROVIDERS[self.api.provider].same_models
        host = urllib.parse.urlsplit(self.api.base_url).hostname if self.api.base_url else None
        return host in (None, SERVICE_HOST)

    @property
    def secrets(self) -> list[str]:
        """Values that must never be logged or shown."""
        return self.api.secrets


def secret_mask(endpoint: Endpoint) -> Callable[[str], str]:
    """Takes the endpoint's secrets out of a string before it is written (DESIGN, On disk)."""
    secrets = endpoint.secrets
    return lambda text: mask_secrets(text, secrets) if secrets else text


def configured_endpoint(
    settings: Settings, environ: Mapping[str, str] | None = None
) -> Endpoint | None:
    """The endpoint that settings, environment or the stored key name; None if none does.

    Raises EndpointError (an empty or malformed key, a malformed address, what a provider cannot
    do without), naming the place.
    """
    env = os.environ if environ is None else environ
    try:
        own = settings.provider == "anthropic"
        found = _anthropic(settings, env) if own else _cloud(settings, env)
        if found is not None:
            check_endpoint(found.api)
    except EndpointError:
        raise
    except (ApiError, ValueError) as error:
        raise EndpointError(str(error)) from None
    return found


def _anthropic(settings: Settings, env: Mapping[str, str]) -> Endpoint | None:
    given = ApiEndpoint(
        base_url=settings.base_url or env.get("ANTHROPIC_BASE_URL") or None,
        headers=dict(settings.headers),
        idle_timeout_s=settings.idle_timeout_s,
    )
    api = with_environment(given, env)
    if api.base_url is not None:
        api.base_url = normalize_base_url(api.base_url)
    found = _credential(settings, env, elsewhere=api.base_url is not None)
    if not found.source and api.signs_itself:
        found.source = "a header"
    if not found.source and api.base_url is None:
        return None
    api.api_key, api.auth_token, api.own_credentials = found.key, found.token, found.own
    api.label = urllib.parse.urlsplit(api.base_url).netloc if api.base_url else SERVICE_HOST
    try:
        check_credential(api)
    except CredentialError as error:
        looked = "" if found.key or found.token else f" {LOOKED_AT}"
        raise EndpointError(f"{found.source}: {error.message}{looked}") from None
    return Endpoint(api, source=found.source, notes=[*_unused(found.source, env), *_exposed(api)])


def _cloud(settings: Settings, env: Mapping[str, str]) -> Endpoint:
    facts = PROVIDERS[settings.provider]
    prefix = facts.settings
    chosen = {
        part: getattr(settings, f"{prefix}_{part}", None)
        for part in ("region", "profile", "project", "workspace", "resource")
    }
    given = ApiEndpoint(
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key else None,
        auth_token=settings.auth_token.get_secret_value() if settings.auth_token else None,
        headers=dict(settings.headers),
        idle_timeout_s=settings.idle_timeout_s,
        provider=settings.provider,
        cloud=Cloud(**chosen),
    )
    api = with_environment(given, env)
    if api.base_url is not None:
        api.base_url = api.url
    cloud = api.cloud
    where = (
        urllib.parse.urlsplit(api.base_url).netloc
        if api.base_url
        else (cloud.resource or ", ".join(p for p in (cloud.project, cloud.region) if p))
    )
    api.label = f"{facts.name}: {where}" if where else facts.name
    if given.api_key or given.auth_token:
        source = "setting api_key" if given.api_key else "setting auth_token"
    elif api.api_key is not None:
        source = next(_variable(name) for name in facts.keys if name in env)
    elif cloud.profile is not None:
        source = "setting aws_profile"
    else:
        source = f"the credentials of {facts.name}"
    return Endpoint(api, source=source, notes=_exposed(api))


def _exposed(api: ApiEndpoint) -> list[str]:
    warning = base_url_warning(api.base_url) if api.base_url else None
    return [warning] if warning else []


@dataclass(slots=True)
class _Credential:
    """source: where it came from, "" for none. own: the SDK finds it by itself."""

    source: str = ""
    key: str | None = None
    token: str | None = None
    own: bool = False


def _credential(settings: Settings, env: Mapping[str, str], *, elsewhere: bool) -> _Credential:
    """The first place that names one wins. elsewhere: it would go to another address than the
    service's, to which no profile is taken that merely lies on disk.

    Raises CredentialError for a profile or workload identity that cannot be used.
    """
    if settings.api_key is not None:
        return _Credential("setting api_key", key=settings.api_key.get_secret_value())
    if settings.auth_token is not None:
        return _Credential("setting auth_token", token=settings.auth_token.get_secret_value())
    if env.get("ANTHROPIC_API_KEY"):
        return _Credential(_variable("ANTHROPIC_API_KEY"), key=env["ANTHROPIC_API_KEY"])
    if env.get("ANTHROPIC_AUTH_TOKEN"):
        return _Credential(_variable("ANTHROPIC_AUTH_TOKEN"), token=env["ANTHROPIC_AUTH_TOKEN"])
    if chosen := chosen_credentials(env):
        return _Credential(chosen, own=True)
    # An empty variable hides nothing that was chosen, but is worth a word where nothing was.
    if "ANTHROPIC_API_KEY" in env:
        return _Credential(_variable("ANTHROPIC_API_KEY"), key="")
    if "ANTHROPIC_AUTH_TOKEN" in env:
        return _Credential(_variable("ANTHROPIC_AUTH_TOKEN"), token="")
    if (stored := stored_key()) is not None:
        return _Credential("stored key", key=stored)
    if not elsewhere and (profile := active_profile(env)):
        return _Credential(profile, own=True)
    return _Credential()


def _variable(name: str) -> str:
    return f"environment variable {name}"


def _unused(source: str, env: Mapping[str, str]) -> list[str]:
    """A sentence when the environment names more credentials than the one in use."""
    names = ["ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID"]
    if not source.startswith("setting "):  # that a setting wins is what it is for
        names = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", *names]
    unused = [name for name in names if env.get(name) and name not in source]
    if not source or not unused:
        return []
    return [f"The credential in use is {source}; {' and '.join(unused)} is set too and not used."]


# --- the stored key ------------------------------------------------------------------


def stored_key() -> str | None:
    """The key that /login stored (credentials, 0600); None if there is none or it is unreadable."""
    try:
        data = json.loads(paths.credentials_file().read_text("utf-8"))
    except (OSError, ValueError):
        return None
    key = data.get("api_key") if isinstance(data, dict) else None
    return key if isinstance(key, str) else None


def store_key(key: str) -> None:
    """Keeps the key in the credentials file (0600). Raises EndpointError, OSError."""
    try:
        check_credential(ApiEndpoint(api_key=key))
    except CredentialError as error:
        raise EndpointError(error.message) from None
    paths.write_private_atomic(
        paths.credentials_file(), json.dumps({"api_key": key}).encode("utf-8")
    )


def forget_key() -> bool:
    """Removes the stored key; False if there was none."""
    try:
        paths.credentials_file().unlink()
    except FileNotFoundError:
        return False
    return True


# --- servers on loopback, and the demo -------------------------------------------------


@dataclass(slots=True)
class FoundServer:
    """A Messages API (or at least a model list) that answers on loopback."""

    name: str
    port: int
    models: list[str]

    @property
    def endpoint(self) -> Endpoint:
        api = ApiEndpoint(
            base_url=f"http://127.0.0.1:{self.port}", label=f"{self.name} on 127.0.0.1:{self.port}"
        )
        return Endpoint(api, source="found on loopback", models=self.models)


async def find_loopback_servers(timeout_s: float = 0.4) -> list[FoundServer]:
    """Servers on the known ports that answer GET /v1/models within timeout_s, in port order."""
    found = await asyncio.gather(
        *(_ask_models(p, n, timeout_s) for p, n in LOOPBACK_SERVERS.items())
    )
    return [server for server in found if server is not None]


async def _ask_models(port: int, name: str, timeout_s: float) -> FoundServer | None:
    # A hand-written GET: an HTTP library would be loaded for one line before the first prompt.
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(
                    b"GET /v1/models HTTP/1.0\r\n"
                    b"Host: 127.0.0.1\r\nAccept: application/json\r\n\r\n"
                )
                await writer.drain()
                raw = await reader.read(1 << 20)
                while chunk := await reader.read(1 << 20):
                    raw += chunk
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None
    head, _, body = raw.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        return None
    try:
        data = json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])
    except ValueError:
        return None
    return FoundServer(name, port, model_ids(data))


def model_ids(data: Any) -> list[str]:
    """Ids of a /v1/models answer, whoever wrote it."""
    entries = data.get("data") or data.get("models") or [] if isinstance(data, dict) else []
    names = [e.get("id") or e.get("name") for e in entries if isinstance(e, dict)]
    return [n for n in names if isinstance(n, str)]


async def start_demo(settings: Settings) -> Endpoint:
    """Starts the offline server in this process and gives its endpoint, labelled a demo."""
    return await asyncio.to_thread(_start_demo, settings)


def _start_demo(settings: Settings) -> Endpoint:
    from agent_tui.offline.server import OfflineServer

    server = OfflineServer(speed=settings.demo_speed, open_journal=False)
    url = server.start()
    api = ApiEndpoint(base_url=url, api_key="demo", label="demo: scripted replies, no model")
    return Endpoint(api, demo=True, source="demo", models=[DEMO_MODEL], close=server.stop)
