"""Which Messages API this conversation talks to, and with which credential.

Order (DESIGN, facts/offline): --demo; a flag or setting; the environment; a stored key;
then, asked first, a server found on loopback; else the demo. A key that fails is never
replaced by the demo: the error is shown instead.
"""

import asyncio
import json
import os
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_tui import paths
from agent_tui.messages_api.client import ApiEndpoint, check_credential, normalize_base_url
from agent_tui.messages_api.errors import CredentialError
from agent_tui.settings import Settings
from agent_tui.text import mask_secrets

LOOPBACK_SERVERS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
"""Ports where people run a Messages API of their own (facts/offline)."""

DEMO_MODEL = "demo"
SERVICE_HOST = "api.anthropic.com"
NO_ENDPOINT = (
    "No key and no server: set ANTHROPIC_API_KEY, or give --base-url URL, or use --demo "
    "(scripted replies, no model)."
)


class EndpointError(ValueError):
    """The endpoint named by settings, environment or the stored key cannot work; one line."""


@dataclass(slots=True)
class Endpoint:
    """An ApiEndpoint with what a person wants to know about it.

    source: where the credential came from ("ANTHROPIC_API_KEY", "stored key", ...).
    models: ids the server named when it was found, if any. close ends an own server.
    """

    api: ApiEndpoint
    demo: bool = False
    source: str = ""
    models: list[str] = field(default_factory=list[str])
    close: Callable[[], None] | None = None

    @property
    def label(self) -> str:
        return self.api.label

    @property
    def is_service(self) -> bool:
        """True for the service itself, False for any other address."""
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

    Raises EndpointError (an empty or malformed key, a malformed address), naming the place.
    """
    env = os.environ if environ is None else environ
    base_url = settings.base_url or env.get("ANTHROPIC_BASE_URL") or None
    key, token, source = _credential(settings, env)
    if key is None and token is None and base_url is None:
        return None
    try:
        base_url = normalize_base_url(base_url) if base_url else None
    except ValueError as error:
        raise EndpointError(str(error)) from None
    api = ApiEndpoint(
        base_url=base_url,
        api_key=key,
        auth_token=token,
        headers=dict(settings.headers),
        label=urllib.parse.urlsplit(base_url).netloc if base_url else SERVICE_HOST,
        idle_timeout_s=settings.idle_timeout_s,
    )
    try:
        check_credential(api)
    except CredentialError as error:
        raise EndpointError(f"{source}: {error.message}") from None
    return Endpoint(api, source=source)


def _credential(settings: Settings, env: Mapping[str, str]) -> tuple[str | None, str | None, str]:
    """(api key, bearer token, where it came from); the first place that names one wins."""
    if settings.api_key is not None:
        return settings.api_key.get_secret_value(), None, "setting api_key"
    if settings.auth_token is not None:
        return None, settings.auth_token.get_secret_value(), "setting auth_token"
    if "ANTHROPIC_API_KEY" in env:
        return env["ANTHROPIC_API_KEY"], None, "environment variable ANTHROPIC_API_KEY"
    if "ANTHROPIC_AUTH_TOKEN" in env:
        return None, env["ANTHROPIC_AUTH_TOKEN"], "environment variable ANTHROPIC_AUTH_TOKEN"
    stored = stored_key()
    return stored, None, "stored key" if stored is not None else ""


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
