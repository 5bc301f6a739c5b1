"""What stands between a transport and the client session: one bad item costs that item only.

The SDK checks each answer as a whole, so one tool without a schema's type, one kind of content
it does not know, or a structured result that breaks its own schema would fail the list or lose
the text (facts: What breaks). So answers are trimmed to what the session must see, and what the
server really sent travels beside it under RAW in `_meta`; items that cannot be used are dropped
with a note. The tap also sees the end of the stream, which a session tells nobody, and measures
how long answers take.
"""

import contextlib
import json
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, cast

from agent_tui.mcp_servers.readable import UNREADABLE_WORDS
from agent_tui.text import clean, cut

log = logging.getLogger(__name__)

RAW = "agent-tui/raw"
"""Key of `_meta`: the item as the server sent it."""

Json = dict[str, Any]


def raw_of(item: Any) -> Json:
    """What the server sent, of a listed item or a result that came through the tap."""
    meta = item.meta if item.meta is not None else {}
    return cast(Json, dict(meta).get(RAW) or {})


class Tap:
    """Wraps the two streams of one connection.

    on_end(): the stream ended or cannot be written to; called once. note(text): something was
    left out, in words. latency_s: of the last answer to a request other than a call.
    slow_discover: the server let the first question of the new protocol wait for seconds.
    """

    def __init__(self, on_end: Callable[[], None], note: Callable[[str], None]) -> None:
        self._on_end = on_end
        self._note = note
        self._asked: dict[Any, tuple[str, float]] = {}
        self._ended = False
        self._last_error = ""
        self.latency_s: float | None = None
        self.slow_discover = False
        self.answered = False
        """Whether anything came from the server at all."""

    def wrap(self, read: Any, write: Any) -> "tuple[_Read, _Write]":
        """The streams for the session."""
        return _Read(read, self), _Write(write, self)

    @property
    def last_error(self) -> str:
        """What the transport said last of something that went wrong, "" if nothing."""
        return self._last_error

    def ended(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()

    # --- out ------------------------------------------------------------------------------

    def sent(self, message: Any) -> None:
        method, request_id = getattr(message, "method", None), getattr(message, "id", None)
        if method is None or request_id is None:
            return
        now = time.monotonic()
        if method == "initialize":
            asked = [at for name, at in self._asked.values() if name == "server/discover"]
            self.slow_discover = any(now - at > 2.0 for at in asked)
        self._asked[_key(request_id)] = (method, now)

    # --- in -------------------------------------------------------------------------------

    def came(self, item: Any) -> bool:
        """Trim a message in place. False: the session need not see it."""
        if isinstance(item, Exception):
            self._last_error = clean(cut(str(item) or type(item).__name__, 300))
            log.debug("an MCP transport reports %r", item)
            return False
        self.answered = True
        message = item.message
        result = getattr(message, "result", None)
        if result is None:
            if (error := getattr(message, "error", None)) is not None:
                self._asked.pop(_key(message.id), None)
                error.message = _better_words(error.message)
            return True
        method, asked_at = self._asked.pop(_key(message.id), ("", 0.0))
        if method and method not in ("tools/call", "prompts/get", "resources/read"):
            self.latency_s = time.monotonic() - asked_at
        try:
            self._trim(method, result)
        except Exception:
            # A shape nobody thought of: the session says what it makes of it.
            log.warning("an answer to %s could not be trimmed", method, exc_info=True)
        return True

    def _trim(self, method: str, result: Json) -> None:
        match method:
            case "tools/list":
                self._list(result, "tools", _tool)
            case "resources/list":
                self._list(result, "resources", _resource)
            case "resources/templates/list":
                self._list(result, "resourceTemplates", _template)
            case "prompts/list":
                self._list(result, "prompts", _prompt)
            case "tools/call":
                _call_result(result)
            case "prompts/get":
                _prompt_result(result)
            case "resources/read":
                _resource_result(result)
            case "completion/complete":
                _completion(result)
            case "initialize" | "server/discover":
                _introduction(result, method)
            case _:
                pass

    def _list(self, result: Json, key: str, trimmed: Callable[[Json], Json]) -> None:
        items = result.get(key)
        kept: list[Json] = []
        for item in cast(list[Any], items) if isinstance(items, list) else []:
            if isinstance(item, dict) and isinstance(item.get("name"), str) and item["name"]:
                known = cast(Json, item)
                if key.startswith("resource") and not isinstance(known.get(_URI[key]), str):
                    self._note(f"an entry of {key} without {_URI[key]} is left out")
                    continue
                kept.append(trimmed(known) | {"_meta": {RAW: known}})
            else:
                self._note(f"an entry of {key} without a name is left out")
        result[key] = kept
        cursor = result.get("nextCursor")
        if cursor is not None and not isinstance(cursor, str):
            result["nextCursor"] = str(cursor)
        _complete(result)
        result.setdefault("ttlMs", 0)
        if not isinstance(result["ttlMs"], int):
            result["ttlMs"] = 0
        if result.get("cacheScope") not in ("private", "public"):
            result["cacheScope"] = "private"


_URI = {"resources": "uri", "resourceTemplates": "uriTemplate"}


_BETTER_WORDS = {
    "Failed to parse JSON response: ": UNREADABLE_WORDS,  # behind it stands what a parser said
    "Failed to parse SSE message: ": UNREADABLE_WORDS,
    "SSE stream ended ": "its answer broke off",
    "SSE stream failed: ": "its answer broke off",
}


def _better_words(said: str) -> str:
    """In place of what the SDK says of an answer that it could not read."""
    return next((words for begun, words in _BETTER_WORDS.items() if said.startswith(begun)), said)


def _key(request_id: Any) -> Any:
    """Some servers answer "7" to 7."""
    return str(request_id)


def _complete(result: Json) -> None:
    if not isinstance(result.get("resultType"), str):
        result["resultType"] = "complete"
    meta = result.get("_meta")
    if meta is not None and not isinstance(meta, dict):
        del result["_meta"]


# --- what a session must see of listed items ----------------------------------------------


def _tool(tool: Json) -> Json:
    """Name and a plain schema: ours is made of the raw one, and no result is held against the
    server's output schema. Headers that arguments are mirrored into are the session's work."""
    schema: Any = tool.get("inputSchema")
    plain: Json = {"type": "object"}
    # Too deep to look into is too deep for a header.
    with contextlib.suppress(RecursionError):
        if isinstance(schema, dict) and "x-mcp-header" in json.dumps(schema):
            plain = cast(Json, schema) | plain
    return {"name": tool["name"], "inputSchema": plain}


def _resource(resource: Json) -> Json:
    return {"name": resource["name"], "uri": resource["uri"]}


def _template(template: Json) -> Json:
    return {"name": template["name"], "uriTemplate": template["uriTemplate"]}


def _prompt(prompt: Json) -> Json:
    return {"name": prompt["name"]}


# --- results ------------------------------------------------------------------------------


def _call_result(result: Json) -> None:
    if result.get("resultType") not in (None, "complete"):
        return
    content = result.get("content")
    blocks = cast(list[Any], content) if isinstance(content, list) else [content] if content else []
    if result.get("isError") is not None and not isinstance(result["isError"], bool):
        result["isError"] = bool(result["isError"])
    _complete(result)
    # Megabytes need not go through the session's checks on the event loop.
    meta = cast(Json, result.setdefault("_meta", {}))
    meta[RAW] = {
        "content": [block(item) for item in blocks],
        "structuredContent": result.pop("structuredContent", None),
    }
    result["content"] = []


def _prompt_result(result: Json) -> None:
    if result.get("resultType") not in (None, "complete"):
        return
    messages: list[Json] = []
    given = result.get("messages")
    for message in cast(list[Any], given) if isinstance(given, list) else []:
        if not isinstance(message, dict):
            continue
        role = "assistant" if message.get("role") == "assistant" else "user"
        content: Any = message.get("content")
        for item in cast(list[Any], content) if isinstance(content, list) else [content]:
            messages.append({"role": role, "content": block(item)})
    result["messages"] = messages
    if not isinstance(result.get("description"), str):
        result.pop("description", None)
    _complete(result)


def _resource_result(result: Json) -> None:
    if result.get("resultType") not in (None, "complete"):
        return
    contents = result.get("contents")
    kept = [_embedded(item) for item in cast(list[Any], contents or [])]
    result["contents"] = [item for item in kept if item is not None]
    _complete(result)
    result["ttlMs"] = 0
    result["cacheScope"] = "private"


def _completion(result: Json) -> None:
    completion: Any = result.get("completion")
    values = completion.get("values") if isinstance(completion, dict) else None
    words = [v for v in cast(list[Any], values or []) if isinstance(v, str)][:100]
    result["completion"] = {"values": words}
    _complete(result)


def _introduction(result: Json, method: str) -> None:
    if result.get("instructions") is not None and not isinstance(result["instructions"], str):
        del result["instructions"]
    if not isinstance(result.get("capabilities"), dict):
        result["capabilities"] = {}
    if method == "initialize":
        info = result.get("serverInfo")
        known = cast(Json, info) if isinstance(info, dict) else {}
        kept = {key: known[key] for key in ("title",) if isinstance(known.get(key), str)}
        named = {key: str(known.get(key) or "") for key in ("name", "version")}
        result["serverInfo"] = named | kept


# --- blocks ---------------------------------------------------------------------------------


def block(item: Any) -> Json:
    """A content block that any version knows: only the fields that are used; what is no known
    block becomes a text that shows it."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if isinstance(item, dict):
        known = _known_block(cast(Json, item))
        if known is not None:
            return known
    shown = cut(json.dumps(item, ensure_ascii=False, default=str), 4000)
    return {"type": "text", "text": f"[content of a kind that is not known] {shown}"}


def _known_block(item: Json) -> Json | None:
    kind = item.get("type")
    match kind:
        case "text" if isinstance(item.get("text"), str):
            return {"type": kind, "text": item["text"]}
        case "image" | "audio" if isinstance(item.get("data"), str):
            said = item.get("mimeType")
            mime = said if isinstance(said, str) else "application/octet-stream"
            return {"type": kind, "data": item["data"], "mimeType": mime}
        case "resource":
            resource = _embedded(item.get("resource"))
            return {"type": kind, "resource": resource} if resource else None
        case "resource_link" if isinstance(item.get("uri"), str):
            link: Json = {"type": kind, "uri": item["uri"], "name": item["uri"]}
            for key in ("name", "title", "description", "mimeType"):
                if isinstance(item.get(key), str):
                    link[key] = item[key]
            if type(item.get("size")) is int:
                link["size"] = item["size"]
            return link
        case _:
            return None


def _embedded(resource: Any) -> Json | None:
    """Contents of a resource; None if they are none."""
    if not isinstance(resource, dict):
        return None
    kept: Json = {"uri": str(resource.get("uri") or "")}
    if isinstance(resource.get("mimeType"), str):
        kept["mimeType"] = resource["mimeType"]
    for key in ("text", "blob"):
        if isinstance(resource.get(key), str):
            return kept | {key: resource[key]}
    return None


# --- the streams ------------------------------------------------------------------------------


class _Read:
    """The session's read stream."""

    def __init__(self, inner: Any, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        while True:
            try:
                item = await self._inner.receive()
            except Exception:
                self._tap.ended()
                raise
            if self._tap.came(item):
                return item

    def close(self) -> None:
        self._inner.close()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self.aclose()


class _Write:
    """The session's write stream."""

    def __init__(self, inner: Any, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap

    async def send(self, item: Any) -> None:
        self._tap.sent(item.message)
        try:
            await self._inner.send(item)
        except Exception:
            self._tap.ended()
            raise

    def close(self) -> None:
        self._inner.close()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self.aclose()
