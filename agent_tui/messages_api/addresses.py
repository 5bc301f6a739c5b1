"""Addresses: a base URL as a person writes it, whose host it names, the proxy on the way."""

import ipaddress
import urllib.request
from urllib.parse import urlsplit

SERVICE_URL = "https://api.anthropic.com"
"""The service itself (ApiEndpoint.base_url None)."""


def normalize_base_url(url: str, *, keep_path: bool = False) -> str:
    """Strips a trailing "/", "/v1" and "/v1/messages"; lower-cases scheme and host.

    keep_path: only the "/" is stripped, for an API whose base ends in a version itself.
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
    for tail in () if keep_path else ("/messages", "/v1"):
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


def proxy_of(url: str) -> tuple[str, str] | None:
    """(environment variable, proxy URL) of the proxy that a request to `url` goes through.

    None: it goes directly (loopback always does, NO_PROXY). The URL may hold a password.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if not host or is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    for scheme in (parts.scheme, "all"):
        if proxy := proxies.get(scheme):
            return f"{scheme.upper()}_PROXY", proxy if "://" in proxy else f"http://{proxy}"
    return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:99] + "…")
