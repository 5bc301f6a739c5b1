"""Rules about shape: fields, kinds, blocks. What follows may rely on them."""

import re
from collections.abc import Iterator
from typing import Any

from agent_tui.offline.rules.registry import Request, rule

REQUIRED = "Field required"
EXTRA = "Extra inputs are not permitted"

_BOOL, _INT, _LIST, _DICT, _STR = "boolean", "integer", "list", "dictionary", "string"
_FIELDS: dict[str, tuple[str, ...]] = {
    "model": (_STR,), "messages": (_LIST,), "max_tokens": (_INT,), "system": (_STR, _LIST),
    "tools": (_LIST,), "tool_choice": (_DICT,), "stream": (_BOOL,), "stop_sequences": (_LIST,),
    "thinking": (_DICT,), "output_config": (_DICT,), "output_format": (_DICT,),
    "metadata": (_DICT,), "container": (_STR, _DICT), "cache_control": (_DICT,),
    "context_management": (_DICT,), "compaction": (_DICT,), "mcp_servers": (_LIST,),
    "service_tier": (_STR,), "inference_geo": (_STR,), "speed": (_STR,), "thread": (_DICT,),
    "fallbacks": (_LIST, _STR), "fallback_credit_token": (_STR, _DICT),
    "diagnostics": (_DICT,), "billing_policy": (_DICT,), "user_profile_id": (_STR,),
    "temperature": (_INT, "number"), "top_p": (_INT, "number"), "top_k": (_INT,),
}  # fmt: skip
_NULLABLE = set(_FIELDS) - {"model", "messages", "max_tokens", "tools", "stop_sequences", "stream"}


def kind_of(value: Any) -> str:
    """The service's word for a JSON value's kind."""
    if isinstance(value, bool):
        return _BOOL
    kinds: dict[type, str] = {str: _STR, int: _INT, float: "number", list: _LIST, dict: _DICT}
    return kinds.get(type(value), "null")


@rule("body_object", "The body is a JSON object.", "shape")
def body_object(request: Request) -> Iterator[str]:
    if not isinstance(request.body, dict):
        yield "Input should be a valid dictionary or object to extract fields from"


@rule("known_fields", "The body has no field that the API does not know.", "shape")
def known_fields(request: Request) -> Iterator[str]:
    if isinstance(request.body, dict):
        yield from (f"{key}: {EXTRA}" for key in request.body if key not in _FIELDS)


@rule("required_fields", "model, max_tokens and messages are required.", "shape")
def required_fields(request: Request) -> Iterator[str]:
    if isinstance(request.body, dict):
        wanted = ("model", "messages") if request.counting else ("model", "max_tokens", "messages")
        yield from (f"{key}: {REQUIRED}" for key in wanted if key not in request.body)


@rule("field_kinds", "Each field of the body is of its kind.", "shape")
def field_kinds(request: Request) -> Iterator[str]:
    if not isinstance(request.body, dict):
        return
    for key, kinds in _FIELDS.items():
        if key not in request.body:
            continue
        kind = kind_of(request.body[key])
        if kind not in kinds and not (kind == "null" and key in _NULLABLE):
            yield f"{key}: Input should be a valid {' or '.join(kinds)}"


@rule("message_shape", "A message is {role, content} with a known role.", "shape")
def message_shape(request: Request) -> Iterator[str]:
    for index, message in enumerate(_list(request, "messages")):
        path = f"messages.{index}"
        if not isinstance(message, dict):
            yield f"{path}: Input should be a valid dictionary"
            continue
        yield from (f"{path}.{key}: {EXTRA}" for key in message if key not in ("role", "content"))
        if message.get("role") not in ("user", "assistant", "system"):
            yield f"{path}.role: Input should be 'user', 'assistant' or 'system'"
        if "content" not in message:
            yield f"{path}.content: {REQUIRED}"
        elif kind_of(message["content"]) not in (_STR, _LIST):
            yield f"{path}.content: Input should be a valid list"


# Fields of a block that is known: name → (kinds, required). Blocks of other types are the
# service's own and are taken as they come.
_CACHE = {"cache_control": ((_DICT, "null"), False)}
_TEXT = {"text": ((_STR,), True), "citations": ((_LIST, "null"), False), **_CACHE}
_CALLED = {"id": ((_STR,), True), "name": ((_STR,), True), "input": ((_DICT,), True), **_CACHE}
_BLOCKS: dict[str, dict[str, tuple[tuple[str, ...], bool]]] = {
    "text": _TEXT,
    "image": {"source": ((_DICT,), True), **_CACHE},
    "thinking": {"thinking": ((_STR,), True), "signature": ((_STR,), True)},
    "redacted_thinking": {"data": ((_STR,), True)},
    "tool_use": {
        **_CALLED,
        "caller": ((_DICT,), False),
        "toolset_name": ((_STR, "null"), False),
    },
    "tool_result": {
        "tool_use_id": ((_STR,), True),
        "content": ((_STR, _LIST), False),
        "is_error": ((_BOOL,), False),
        "toolset_name": ((_STR, "null"), False),
        **_CACHE,
    },
}
_OPEN_BLOCKS: dict[str, dict[str, tuple[tuple[str, ...], bool]]] = {
    "server_tool_use": _CALLED | {"caller": ((_DICT, "null"), False)},
    "mcp_tool_use": _CALLED,
    "document": {"source": ((_DICT,), True)},
    "container_upload": {"file_id": ((_STR,), True)},
}
_USER_ONLY = {"image", "tool_result", "search_result"}
_USER_TYPES = _USER_ONLY | {
    "text", "document", "container_upload", "tool_addition", "tool_removal"
}  # fmt: skip
_RESULT_TYPES = {"text", "image", "search_result", "document", "tool_reference", "browser_state"}


@rule(
    "block_shape",
    "A content block has the fields of its type, of their kinds, and no other.",
    "shape",
)
def block_shape(request: Request) -> Iterator[str]:
    for path, _, block in _raw_blocks(request):
        yield from check_block(path, block)
        if isinstance(block, dict) and block.get("type") == "tool_result":
            content = block.get("content")
            for index, inner in enumerate(content if isinstance(content, list) else []):
                yield from check_block(f"{path}.tool_result.content.{index}", inner)


def check_block(path: str, block: Any) -> Iterator[str]:
    if not isinstance(block, dict):
        yield f"{path}: Input should be a valid dictionary"
        return
    type_ = block.get("type")
    if not isinstance(type_, str) or not type_:
        yield f"{path}.type: {REQUIRED}"
        return
    fields = _BLOCKS.get(type_) or _OPEN_BLOCKS.get(type_) or {}
    for key, (kinds, required) in fields.items():
        if key not in block:
            if required:
                yield f"{path}.{type_}.{key}: {REQUIRED}"
        elif kind_of(block[key]) not in kinds:
            yield f"{path}.{type_}.{key}: Input should be a valid {kinds[0]}"
    if type_ in _BLOCKS:
        extra = (key for key in block if key != "type" and key not in fields)
        yield from (f"{path}.{type_}.{key}: {EXTRA}" for key in extra)
    if type_.endswith("_tool_result") and not isinstance(block.get("tool_use_id"), str):
        yield f"{path}.{type_}.tool_use_id: {REQUIRED}"
    caller = block.get("caller")
    if isinstance(caller, dict):
        yield from _check_caller(f"{path}.{type_}.caller", caller)


def _check_caller(path: str, caller: dict[str, Any]) -> Iterator[str]:
    type_ = caller.get("type")
    if type_ == "direct":
        return
    if not isinstance(type_, str) or not re.fullmatch(r"code_execution_\d{8}", type_):
        yield f"{path}: Input tag {type_!r} found using 'type' does not match any tag"
    elif not isinstance(caller.get("tool_id"), str):
        yield f"{path}.{type_}.tool_id: {REQUIRED}"


@rule("block_place", "A block stands in a message of the role that may hold it.", "shape")
def block_place(request: Request) -> Iterator[str]:
    for path, role, block in _raw_blocks(request):
        type_ = block.get("type") if isinstance(block, dict) else None
        if not isinstance(type_, str):
            continue
        if role == "system" and type_ != "text":
            yield f"{path}: `{type_}` blocks are not allowed in `system` messages"
        elif role == "user" and type_ not in _USER_TYPES:
            yield f"{path}: `{type_}` blocks are not allowed in `user` messages"
        elif role == "assistant" and type_ in _USER_ONLY:
            yield f"{path}: `{type_}` blocks can only be in `user` messages"
        if type_ == "tool_result" and isinstance(block.get("content"), list):
            for index, inner in enumerate(block["content"]):
                kind = inner.get("type") if isinstance(inner, dict) else None
                if isinstance(kind, str) and kind not in _RESULT_TYPES:
                    where = f"{path}.tool_result.content.{index}"
                    yield f"{where}: `{kind}` blocks are not allowed in tool results"


@rule("system_shape", "system is text, or a list of text blocks.", "shape")
def system_shape(request: Request) -> Iterator[str]:
    for index, block in enumerate(_list(request, "system")):
        if isinstance(block, dict) and block.get("type") != "text":
            yield f"system.{index}.type: Input should be 'text'"
        else:
            yield from check_block(f"system.{index}", block)


@rule(
    "tool_shape",
    "A tool is {name, input_schema, ...}, or a tool of the service by its type.",
    "shape",
)
def tool_shape(request: Request) -> Iterator[str]:
    for index, tool in enumerate(_list(request, "tools")):
        path = f"tools.{index}"
        if not isinstance(tool, dict):
            yield f"{path}: Input should be a valid dictionary"
            continue
        type_ = tool.get("type")
        if type_ not in (None, "custom"):
            if not isinstance(type_, str) or not re.fullmatch(
                r"[a-z0-9_]+_\d{8}|mcp_toolset", type_
            ):
                yield f"{path}: Input tag {type_!r} found using 'type' does not match any tag"
            elif type_ != "mcp_toolset" and not isinstance(tool.get("name"), str):
                yield f"{path}.{type_}.name: {REQUIRED}"
            continue
        path = f"{path}.custom"
        for key in ("name", "input_schema"):
            if key not in tool:
                yield f"{path}.{key}: {REQUIRED}"
        for key, kinds in _TOOL_FIELDS.items():
            if key in tool and kind_of(tool[key]) not in kinds:
                yield f"{path}.{key}: Input should be a valid {kinds[0]}"
        yield from (f"{path}.{key}: {EXTRA}" for key in tool if key not in _TOOL_FIELDS)


_TOOL_FIELDS: dict[str, tuple[str, ...]] = {
    "name": (_STR,), "input_schema": (_DICT,), "description": (_STR,), "type": (_STR, "null"),
    "allowed_callers": (_LIST,), "cache_control": (_DICT, "null"), "defer_loading": (_BOOL,),
    "eager_input_streaming": (_BOOL, "null"), "input_examples": (_LIST,), "strict": (_BOOL,),
}  # fmt: skip


def _list(request: Request, key: str) -> list[Any]:
    value = request.body.get(key) if isinstance(request.body, dict) else None
    return value if isinstance(value, list) else []


def _raw_blocks(request: Request) -> Iterator[tuple[str, Any, Any]]:
    """(path, role, block) of every listed block, whatever it is."""
    for index, message in enumerate(_list(request, "messages")):
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            for number, block in enumerate(content):
                yield f"messages.{index}.content.{number}", message.get("role"), block
