"""Secrets of a server's configuration, and texts without them.

Secret is: every value that a variable brought (but for such as HOME, unless it looks like a
key), headers (but for a few plain ones), values of env whose name or shape says so, passwords
and key-like parameters of URLs, and what follows an option such as --api-key.
"""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence

from agent_tui.text import mask_secrets

MASK = "***"
_SHORTEST = 4
_SHORTEST_IN_RESULTS = 8
"""A result is work, not a message about us: "1234" in it is more likely a number than a PIN."""

_PLAIN_VARIABLES = frozenset({
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "PWD", "OLDPWD", "LANG", "TERM", "TMPDIR", "TMP",
    "TEMP", "HOSTNAME", "USERNAME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "EDITOR", "TZ",
    "DISPLAY", "workspaceFolder", "userHome",
})  # fmt: skip
_PLAIN_HEADERS = frozenset({
    "accept", "accept-encoding", "accept-language", "cache-control", "connection",
    "content-type", "user-agent", "host", "origin", "referer", "mcp-protocol-version",
})  # fmt: skip
_SECRET_NAME = re.compile(
    r"(?i)key|token|secret|passw|passphrase|passcode|pwd|auth|credential|cookie|session|private"
    r"|signature|pass(?:$|[_-])|(?:^|[_-])(?:pat|pin|sig|code)(?:$|[_-])"
)
_LIKE_A_KEY = re.compile(r"(?=[^/\\\s]*\d)(?=[^/\\\s]*[A-Za-z])[^/\\\s]{16,}")
_SCHEME = re.compile(r"(?i)\A(?:bearer|basic|token|apikey|digest)\s+(?P<rest>\S.*)\Z", re.DOTALL)


def is_secret_name(name: str) -> bool:
    """Whether what has this name is likely a secret: API_TOKEN, x-api-key, password."""
    return _SECRET_NAME.search(name) is not None


def looks_like_key(value: str) -> bool:
    """Whether a value has the shape of a key: long, letters and digits, no path."""
    return _LIKE_A_KEY.fullmatch(value) is not None


def is_plain_variable(name: str) -> bool:
    """Whether a variable's value may be shown: HOME, PATH and such."""
    return name in _PLAIN_VARIABLES or name.startswith(("XDG_", "LC_"))


class Secrets:
    """The secret values of one server, in every spelling they come back in."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._exact: list[str] = []
        self._long: list[str] = []
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """More of them (tokens of a login come later)."""
        for value in values:
            scheme = _SCHEME.match(value)
            for part in {value, value.strip(), scheme["rest"].strip() if scheme else ""}:
                if len(part) >= _SHORTEST:
                    self._values.add(part)
        spelled = {spelling for value in self._values for spelling in _spellings(value)}
        self._exact = sorted(spelled, key=len, reverse=True)
        self._long = [s for s in self._exact if len(s) >= _SHORTEST_IN_RESULTS]

    def values(self) -> set[str]:
        """The secrets themselves, for another Secrets."""
        return set(self._values)

    def mask(self, text: str) -> str:
        """For logs, errors and lists: without the values, and without what looks like a key."""
        return mask_secrets(text, self._exact)

    def mask_result(self, text: str) -> str:
        """For what a tool returned: only the values themselves, the rest untouched."""
        for secret in self._long:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)})"


def _spellings(value: str) -> set[str]:
    """As it is, as JSON has it, in a URL, and in base64."""
    quoted = json.dumps(value)[1:-1]
    raw = json.dumps(value, ensure_ascii=False)[1:-1]
    encoded = base64.b64encode(value.encode("utf-8", "replace")).decode()
    return {
        value, quoted, raw, urllib.parse.quote(value, safe=""),
        urllib.parse.quote_plus(value), encoded if len(value) >= _SHORTEST_IN_RESULTS else value,
    }  # fmt: skip


def secret_values(
    *, args: Sequence[str], env: Mapping[str, str], url: str, headers: Mapping[str, str]
) -> list[str]:
    """The secrets among expanded values, by their names and shapes (see module docstring)."""
    found = [v for k, v in env.items() if is_secret_name(k) or looks_like_key(v)]
    found += [v for k, v in headers.items() if k.lower() not in _PLAIN_HEADERS]
    for before, value in zip(["", *args], args, strict=False):
        option, equals, rest = value.partition("=")
        if equals and _is_secret_option(option):
            found.append(rest)
        elif value.startswith("-"):
            continue
        elif _is_secret_option(before) or (_is_short_option(before) and looks_like_key(value)):
            found.append(value)
    found += _secrets_of_url(url)
    return found


def _is_secret_option(word: str) -> bool:
    """--api-key, --pat, -token: an option whose name says that a secret follows."""
    return word.startswith("-") and "=" not in word and is_secret_name(word.lstrip("-"))


def _is_short_option(word: str) -> bool:
    """-k, -p: a letter that names nothing, so what follows decides."""
    return len(word) == 2 and word[0] == "-" and word[1].isalpha()


def _secrets_of_url(url: str) -> list[str]:
    try:
        parts = urllib.parse.urlsplit(url)
        password = parts.password
    except ValueError:
        return []
    query = urllib.parse.parse_qsl(parts.query)
    found = [value for name, value in query if is_secret_name(name) or looks_like_key(value)]
    # Hosted servers give each user an address of their own, with the key in its path.
    found += [part for part in parts.path.split("/") if looks_like_key(part)]
    return found + ([urllib.parse.unquote(password), password] if password else [])


def shown_env(values: Mapping[str, str]) -> str:
    """`A=*** B=***`: names only, for lists."""
    return " ".join(f"{name}={MASK}" for name in values)
