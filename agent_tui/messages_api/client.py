"""The connection to a Messages API: where, with which credential; the SDK client for it."""

from dataclasses import dataclass, field
from typing import Any


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


def normalize_base_url(url: str) -> str:
    """Strips a trailing "/" and "/v1"; raises ValueError for a query, a missing host or scheme."""
    raise NotImplementedError


def make_client(endpoint: ApiEndpoint) -> Any:
    """An AsyncAnthropic with the SDK's own retries off. Imports the SDK: call it in a thread.

    Raises errors.CredentialError for an empty or malformed key (F01), naming what to do.
    """
    raise NotImplementedError
