"""Links to web pages that models and servers name: what a terminal may be given to open, and
how an address is shown so that nobody is led astray."""

import re
from urllib.parse import quote, urlsplit

from agent_tui.text import clean

LONGEST = 2000
"""Characters of an address; terminals and what they start refuse much longer ones."""

_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f\\<>\"`{}|^\ud800-\udfff]")
_KEPT = "!#$%&'()*+,-./:;=?@[]_~"


def hyperlink(url: object) -> str:
    """The address as the terminal's hyperlink (OSC 8) may carry it: http or https, printable
    ASCII only. "" for what must not be one: another scheme, control characters, a user name
    before the host (`https://bank.com@evil.org`), no host."""
    text = url if isinstance(url, str) else ""
    if not text or len(text) > LONGEST or _UNFIT.search(text):
        return ""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = _ascii_host(host)
    if parts.scheme.lower() not in ("http", "https") or "@" in parts.netloc or not host:
        return ""
    place = f"{host}:{port}" if port else host
    rest = text[text.index("//") + 2 + len(parts.netloc) :]
    return f"{parts.scheme.lower()}://{place}{quote(rest, safe=_KEPT)}"


def _ascii_host(host: str) -> str:
    """The host in ASCII; other scripts as `xn--...`, so that a look-alike is seen."""
    if ":" in host:
        return f"[{host}]"
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return ""
    return name if re.fullmatch(r"[A-Za-z0-9._-]+", name) else ""


def shown_url(url: object) -> str:
    """An address for reading, one safe line: `example.org/page`; what is no link as it is."""
    link = hyperlink(url)
    if not link:
        return clean(url if isinstance(url, str) else "")
    text = link.removeprefix("https://")
    return text[:-1] if text.count("/") == 1 and text.endswith("/") else text
