"""Names of servers' tools for the model: legal, unique, and the same for ever.

The API takes `^[a-zA-Z0-9_-]{1,128}$`; a server may have any text. An alias is
`server part + "__" + tool part` and depends on nothing but its own pair (server, tool), so
neither the order in which tools are listed, nor what other servers there are, nor a restart
changes it, and a name in an old session means what it meant. A part is the name itself where
that is legal and can be read back; else the name sanitised and cut, with `_` and eight hex
digits of its hash: `files__read_file_3f9a0c1d`. A part that is a name never ends so. Hence of
two tools that would meet, the one whose name needed no change keeps the plain alias; and
`server__*` means the tools of that one server.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

MAX_ALIAS = 128
SEPARATOR = "__"
_MAX_SERVER = 48
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_UNDERSCORES = re.compile(r"__+")
_HASHED = re.compile(r"_(?:[0-9a-f]{8}|[0-9a-f]{16}|[0-9a-f]{64})\Z")

Pair = tuple[str, str]


def alias(server: str, tool: str, reserved: Collection[str] = ()) -> str:
    """The alias of one tool. reserved: names it must not have (those of built-in tools)."""
    prefix = server_prefix(server)
    room = MAX_ALIAS - len(prefix)
    if _is_plain_tool(tool, room) and prefix + tool not in reserved:
        return prefix + tool
    return prefix + _hashed(tool, "tool", room)


def server_prefix(server: str) -> str:
    """What the aliases of all tools of a server begin with, `server__`; no other server's do."""
    return _server_part(server, 8) + SEPARATOR


def _server_part(server: str, digits: int) -> str:
    plain = (
        0 < len(server) <= _MAX_SERVER
        and _ILLEGAL.search(server) is None
        and _HASHED.search(server) is None
        # A reader takes the first "__" for the separator.
        and f"{server}{SEPARATOR}".index(SEPARATOR) == len(server)
    )
    return server if plain else _hashed(server, "server", _MAX_SERVER, digits)


def _is_plain_tool(tool: str, room: int) -> bool:
    return 0 < len(tool) <= room and _ILLEGAL.search(tool) is None and _HASHED.search(tool) is None


def _hashed(name: str, nameless: str, room: int, digits: int = 8) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    readable = _UNDERSCORES.sub("_", _ILLEGAL.sub("_", name)).strip("_") or nameless
    return f"{readable[: room - digits - 1].rstrip('_')}_{digest}"


class Names:
    """The aliases of all tools there are, both ways. Where names have one hash (someone must
    have searched for them) each of them gets the whole of it."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._by_server: dict[str, tuple[str, ...]] = {}
        self._to_alias: dict[Pair, str] = {}
        self._to_pair: dict[str, Pair] = {}

    def set_server(self, server: str, tools: Iterable[str]) -> None:
        """These are the tools of the server from now on; a name twice is one."""
        self._by_server[server] = tuple(dict.fromkeys(tools))
        self._make()

    def drop_server(self, server: str) -> None:
        """The server is gone; an alias of its tools belongs to nobody."""
        if self._by_server.pop(server, None) is not None:
            self._make()

    def alias(self, server: str, tool: str) -> str:
        """The alias of a tool, also of one that is not there (now)."""
        return self._to_alias.get((server, tool)) or alias(server, tool, self._reserved)

    def pair(self, alias: str) -> Pair | None:
        """(server, tool) of an alias; None if no tool that is there has it."""
        return self._to_pair.get(alias)

    def aliases(self) -> Mapping[str, Pair]:
        """All of them."""
        return self._to_pair

    def _pairs(self) -> Iterator[Pair]:
        for server, tools in self._by_server.items():
            for tool in tools:
                yield server, tool

    def _make(self) -> None:
        groups: dict[str, list[Pair]] = {}
        for pair in self._pairs():
            groups.setdefault(alias(*pair, self._reserved), []).append(pair)
        self._to_alias = {
            pair: name if len(pairs) == 1 else _whole(*pair)
            for name, pairs in groups.items()
            for pair in pairs
        }
        self._to_pair = {name: pair for pair, name in self._to_alias.items()}


def _whole(server: str, tool: str) -> str:
    prefix = _server_part(server, 16) + SEPARATOR
    return prefix + _hashed(tool, "tool", MAX_ALIAS - len(prefix), 64)
