"""ServerConfig: how one MCP server is reached and what of it may be used, as written.

The shapes are those that other clients write (facts, "Configuration users already have"): type
stdio | http | sse, command, args, env, cwd, url, headers; beside them our own fields, and the
names that Codex and others have for the same things.
"""

import difflib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from agent_tui.mcp_servers.types import Approval, Exposure, McpError
from agent_tui.text import clean, cut

Transport = Literal["stdio", "http", "sse"]

_TYPES: dict[str, Transport] = {
    "stdio": "stdio", "local": "stdio", "http": "http", "streamable-http": "http",
    "streamablehttp": "http", "streamable_http": "http", "remote": "http", "sse": "sse",
}  # fmt: skip
_TIMEOUTS = {
    "connect_timeout_s": ("connect_timeout_s", "startup_timeout_sec"),
    "list_timeout_s": ("list_timeout_s",),
    "call_timeout_s": ("call_timeout_s", "tool_timeout_sec"),
}
_ALIASES: dict[str, tuple[str, ...]] = {
    "headers": ("headers", "http_headers"),
    "enabled_tools": ("enabled_tools", "includeTools"),
    "disabled_tools": ("disabled_tools", "excludeTools"),
}
_OTHERS = ("type", "command", "args", "env", "cwd", "url", "enabled", "disabled", "approval",
           "exposure", "oauth")  # fmt: skip
_OAUTH = {"clientId": "client_id", "clientSecret": "client_secret", "callbackPort": "callback_port",
          "clientMetadataUrl": "client_metadata_url", "authMethod": "auth_method"}  # fmt: skip
KNOWN_FIELDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (*_OTHERS, *(n for names in _TIMEOUTS.values() for n in names),
         *(n for names in _ALIASES.values() for n in names))
    )
)  # fmt: skip
MAX_NAME = 64
ALL_TOOLS = "*"


class ConfigError(McpError):
    """A server's configuration cannot be used; str() names server and field."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server. Values are as written: ${VAR} is not expanded here (see variables.py).

    Times in seconds; call_timeout_s is the longest silence of a call (progress starts it
    anew). enabled_tools: None is all; names are the server's own, `*` and `?` stand for others.
    approval and exposure: by such a name, "*" for all. extra: fields this version does not
    know; kept and written back. guessed: the transport is not said, only followed from url.
    """

    name: str
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    enabled: bool = True
    connect_timeout_s: float = 30.0
    list_timeout_s: float = 30.0
    call_timeout_s: float = 300.0
    enabled_tools: tuple[str, ...] | None = None
    disabled_tools: tuple[str, ...] = ()
    approval: dict[str, Approval] = field(default_factory=dict[str, Approval])
    exposure: dict[str, Exposure] = field(default_factory=dict[str, Exposure])
    oauth: dict[str, str] = field(default_factory=dict[str, str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    guessed: bool = False

    def to_raw(self) -> dict[str, Any]:
        """As an entry of mcp.json; what has its default is left out."""
        raw: dict[str, Any] = {"type": self.transport}
        if self.transport == "stdio":
            raw |= {"command": self.command, "args": list(self.args)}
            raw |= {"env": self.env} if self.env else {}
            raw |= {"cwd": self.cwd} if self.cwd else {}
        else:
            raw["url"] = self.url
            raw |= {"headers": self.headers} if self.headers else {}
            raw |= {"oauth": self.oauth} if self.oauth else {}
        defaults = ServerConfig("")
        for key in _TIMEOUTS:
            if getattr(self, key) != getattr(defaults, key):
                raw[key] = getattr(self, key)
        if not self.enabled:
            raw["disabled"] = True
        if self.enabled_tools is not None:
            raw["enabled_tools"] = list(self.enabled_tools)
        if self.disabled_tools:
            raw["disabled_tools"] = list(self.disabled_tools)
        for key in ("approval", "exposure"):
            if getattr(self, key):
                raw[key] = getattr(self, key)
        return raw | self.extra


def parse_server(name: str, raw: Any, warnings: list[str] | None = None) -> ServerConfig:
    """One entry of a file. Raises ConfigError, one sentence that names server and field.

    warnings: gets a line for each field that is not known, with the nearest right one.
    """
    if not name or len(name) > 256 or not name.isprintable():
        raise ConfigError(
            f"{clean(cut(name, 40)) or 'A server without a name'}: a server's name is one line of "
            "1 to 256 characters; rename it."
        )
    read = _Reader(name, raw)
    extra = {key: value for key, value in read.raw.items() if key not in KNOWN_FIELDS}
    if warnings is not None:
        warnings += [f"{clean(name)}: {_unknown(key)}" for key in extra]
    command, args = read.command()
    url = read.text("url")
    transport, guessed = read.transport(command, url)
    if scheme := _SCHEME.match(command):
        is_http = scheme[0].lower() in ("http://", "https://")
        raise read.wrong("command", f"is an address: {'write it as url' if is_http else _ADDRESS}")
    if transport == "stdio" and not command:
        raise read.wrong("command", "is missing: name the program that is the server")
    if transport != "stdio":
        _check_url(read, url)
    return ServerConfig(
        name=name,
        transport=transport,
        command=command,
        args=args,
        env=read.texts("env"),
        cwd=read.text("cwd") or None,
        url=url,
        headers=read.texts(*_ALIASES["headers"]),
        enabled=read.enabled(),
        **{key: read.seconds(*names) for key, names in _TIMEOUTS.items()},  # type: ignore[arg-type]
        enabled_tools=read.names(*_ALIASES["enabled_tools"]),
        disabled_tools=read.names(*_ALIASES["disabled_tools"]) or (),
        approval=read.choices("approval", get_args(Approval)),
        exposure=read.choices("exposure", get_args(Exposure)),
        oauth={_OAUTH.get(k, k): v for k, v in read.texts("oauth").items()},
        extra=extra,
        guessed=guessed,
    )


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ADDRESS = "must be an address that begins with http:// or https://"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, token


def unfit(text: str) -> str:
    """Why no program and no server can be given this text, in words; "" if it can."""
    if "\0" in text:
        return "holds a NUL character; remove it"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "holds half of a character (a lone surrogate); write it anew"
    return ""


def unfit_header(value: str) -> str:
    """Why no header can have this value, in words; "" if it can."""
    if "\n" in value or "\r" in value or not value.isprintable():
        return "holds a line end or another character that no header can have; write it in one line"
    return "" if value.isascii() else "holds a character that no header can have: use ASCII only"


def json_words(error: Exception) -> str:
    """What json.loads raised, as a clause with the text as "it"."""
    if isinstance(error, json.JSONDecodeError):
        words = next((w for m, w in _JSON_WORDS.items() if error.msg.startswith(m)), "")
        return f"is not JSON: {words or 'it cannot be read'}"
    if isinstance(error, RecursionError):
        return "is nested too deeply to be read"
    return "holds a number that is too long to be read"  # Python reads 4,300 digits


_JSON_WORDS = {
    "Expecting property name": "a name in double quotes is missing",
    "Expecting value": "a value is missing",
    "Expecting ',' delimiter": "a comma is missing, or a quote",
    "Expecting ':' delimiter": "a colon is missing",
    "Extra data": "there is more behind its end",
    "Unterminated string": "a text in quotes does not end",
    "Invalid control character": "a text in quotes holds a line end or a control character",
    "Invalid \\": "a backslash stands before what it cannot stand before",
    "Illegal trailing comma": "there is a comma too many",
}


def _unknown(key: str) -> str:
    close = difflib.get_close_matches(key, KNOWN_FIELDS, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"the field {clean(key)} is not known, so it has no effect.{hint}"


def _check_url(read: "_Reader", url: str) -> None:
    if not url:
        raise read.wrong("url", "is missing: give the server's address")
    # What variables bring is checked when they are put in.
    if "${" in url:
        return
    problem = url_problem(url)
    if problem:
        raise read.wrong("url", problem)


def url_problem(url: str) -> str:
    """Why an address cannot be a server's, in words; "" if it can."""
    try:
        parts = urlsplit(url)
        port_is_read = parts.port
    except ValueError:
        return "is no address; write one such as https://example.org/mcp"
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or port_is_read == 0:
        return _ADDRESS
    return ""


class _Reader:
    """Fields of one entry, checked; every error names them."""

    def __init__(self, name: str, raw: Any) -> None:
        self._name = name
        if not isinstance(raw, Mapping):
            raise ConfigError(f"{clean(name)}: must be a table of fields such as command or url.")
        self.raw = cast(Mapping[str, Any], raw)

    def wrong(self, key: str, what: str) -> ConfigError:
        return ConfigError(f"{clean(self._name)}: {key} {what}.")

    def _get(self, *keys: str) -> tuple[str, Any]:
        for key in keys:
            if self.raw.get(key) is not None:
                return key, self.raw[key]
        return keys[0], None

    def text(self, *keys: str) -> str:
        key, value = self._get(*keys)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(key, "must be text in quotes")
        self._check(key, value)
        return value.strip() if key in ("url", "command") else value

    def _check(self, where: str, text: str) -> None:
        if problem := unfit(text):
            raise self.wrong(where, problem)

    def command(self) -> tuple[str, tuple[str, ...]]:
        """Some files have the whole line as a list under command."""
        _, value = self._get("command")
        args = self._list("args")
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            words = cast(list[str], value)
            for number, word in enumerate(words):
                self._check(f"command[{number}]", word)
            return words[0], (*words[1:], *args)
        return self.text("command"), args

    def _list(self, key: str) -> tuple[str, ...]:
        _, value = self._get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(key, "must be a list of texts")
        words: list[str] = []
        for number, item in enumerate(cast(list[Any], value)):
            if isinstance(item, bool) or not isinstance(item, str | int | float):
                raise self.wrong(key, "must be a list of texts")
            words.append(str(item))
            self._check(f"{key}[{number}]", words[-1])
        return tuple(words)

    def texts(self, *keys: str) -> dict[str, str]:
        key, value = self._get(*keys)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.wrong(key, "must be a table of names and texts")
        found: dict[str, str] = {}
        for name, item in cast(Mapping[str, Any], value).items():
            if isinstance(item, bool):
                item = "true" if item else "false"
            if not isinstance(item, str | int | float):
                raise self.wrong(f"{key}.{clean(name)}", "must be text in quotes")
            if not name or unfit(name) or (key == "env" and "=" in name):
                raise self.wrong(key, f"has a name that cannot be: {clean(name)!r}")
            found[name] = str(item)
            self._check(f"{key}.{clean(name)}", found[name])
            if "headers" in keys:
                self._check_header(key, name, found[name])
        return found

    def _check_header(self, key: str, name: str, value: str) -> None:
        if _HEADER_NAME.fullmatch(name) is None:
            said = f"has a name that no header can have: {clean(cut(name, 60))!r}"
            raise self.wrong(key, f"{said}; use letters, digits and -")
        if problem := unfit_header(value):
            raise self.wrong(f"{key}.{name}", problem)

    def transport(self, command: str, url: str) -> tuple[Transport, bool]:
        key, value = self._get("type")
        if value is None:
            return ("http", True) if url and not command else ("stdio", False)
        kind = _TYPES.get(value.lower()) if isinstance(value, str) else None
        if kind is None:
            raise self.wrong(key, "must be stdio, http or sse")
        return kind, False

    def enabled(self) -> bool:
        for key, means in (("enabled", True), ("disabled", False)):
            value = self.raw.get(key)
            if value is not None and not isinstance(value, bool):
                raise self.wrong(key, "must be true or false")
            if value is not None:
                return value is means
        return True

    def seconds(self, *keys: str) -> float:
        key, value = self._get(*keys)
        if value is None:
            return getattr(ServerConfig(""), keys[0])
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value <= 86_400:
            raise self.wrong(key, "must be a number of seconds between 0 and 86400")
        return float(value)

    def names(self, *keys: str) -> tuple[str, ...] | None:
        key, value = self._get(*keys)
        return None if value is None else self._list(key)

    def choices(self, key: str, allowed: tuple[str, ...]) -> dict[str, Any]:
        """One word for all tools, or a table by tool."""
        _, value = self._get(key)
        if value is None:
            return {}
        table: Any = {ALL_TOOLS: value} if isinstance(value, str) else value
        if not isinstance(table, Mapping):
            raise self.wrong(key, "must be a word or a table of tools and words")
        for name, word in cast(Mapping[str, Any], table).items():
            if word not in allowed:
                where = key if name == ALL_TOOLS else f"{key}.{clean(name)}"
                raise self.wrong(where, f"must be one of {', '.join(allowed)}")
        return dict(cast(Mapping[str, Any], table))


def server_from_command(name: str, words: list[str], env: Mapping[str, str]) -> ServerConfig:
    """Of `/mcp add NAME -- COMMAND ARGS...`. Raises ConfigError."""
    check_new_name(name)
    if not words:
        raise ConfigError(f"{clean(name)}: give a command after --, or an address.")
    return parse_server(name, {"command": words[0], "args": words[1:], "env": dict(env)})


def server_from_url(
    name: str, url: str, headers: Mapping[str, str], *, sse: bool = False
) -> ServerConfig:
    """Of `/mcp add NAME URL [--header K:V] [--sse]`. Raises ConfigError."""
    check_new_name(name)
    raw = {"url": url, "headers": dict(headers)} | ({"type": "sse"} if sse else {})
    return parse_server(name, raw)


def server_from_json(name: str, text: str) -> ServerConfig:
    """Of `/mcp add-json NAME JSON`: an entry, or a whole file of one server. Raises ConfigError."""
    check_new_name(name)
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" (column {error.pos + 1})" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigError(f"{clean(name)}: the entry {json_words(error)}{where}.") from None
    for key in ("mcpServers", "servers"):
        if isinstance(raw, dict) and isinstance(raw.get(key), dict) and len(raw[key]) == 1:
            raw = next(iter(cast(dict[str, Any], raw[key]).values()))
    return parse_server(name, raw)


_PLAIN_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_))*(?<!_)")


def check_new_name(name: str) -> None:
    """A name the user chooses now is one that tools can carry as it is. Raises ConfigError."""
    if len(name) > MAX_NAME or not _PLAIN_NAME.fullmatch(name):
        raise ConfigError(
            f"{clean(cut(name, 40))!r} cannot be a server's name: use up to {MAX_NAME} letters, "
            "digits, - and single _, beginning with a letter or digit."
        )
