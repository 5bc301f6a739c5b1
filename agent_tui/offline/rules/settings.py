"""Rules about a request's own settings: limits, sampling, thinking, strings, caching."""

import json
import re
from collections.abc import Iterator
from typing import Any

from agent_tui.offline.rules.model_facts import model_facts
from agent_tui.offline.rules.registry import Request, rule

_NO_SAMPLING_SINCE = "2026-10-21"


@rule("model_named", "model is not empty.")
def model_named(request: Request) -> Iterator[str]:
    if not request.body["model"]:
        yield "model: String should have at least 1 character"


@rule("max_tokens", "max_tokens is at least 1.")
def max_tokens(request: Request) -> Iterator[str]:
    if request.body.get("max_tokens", 1) < 1:
        yield "max_tokens: Input should be greater than or equal to 1"


@rule("max_tokens_limit", "max_tokens is at most what the model can give.")
def max_tokens_limit(request: Request) -> Iterator[str]:
    model, asked = request.body["model"], request.body.get("max_tokens", 1)
    limit = model_facts(model).max_tokens
    if limit is not None and asked > limit:
        yield (
            f"max_tokens: {asked} > {limit}, which is the maximum allowed number of output "
            f"tokens for {model}"
        )


@rule("sampling", "temperature, top_p and top_k are not sent (since version 2026-10-21).")
def sampling(request: Request) -> Iterator[str]:
    if request.version >= _NO_SAMPLING_SINCE:
        for key in ("temperature", "top_p", "top_k"):
            if request.body.get(key) is not None:
                yield f"{key}: not supported under anthropic-version {request.version}"


@rule("stop_sequences", "Stop sequences are texts with something other than whitespace.")
def stop_sequences(request: Request) -> Iterator[str]:
    for index, text in enumerate(request.body.get("stop_sequences") or []):
        if not isinstance(text, str):
            yield f"stop_sequences.{index}: Input should be a valid string"
        elif not text.strip():
            yield "stop_sequences: each stop sequence must contain non-whitespace"


@rule("container", "container is an id, or an object with an id.")
def container(request: Request) -> Iterator[str]:
    value = request.body.get("container")
    if isinstance(value, dict):
        if not isinstance(value.get("id", ""), str | None):
            yield "container.id: Input should be a valid string"
        yield from (
            f"container.{key}: Extra inputs are not permitted"
            for key in value
            if key not in ("id", "skills")
        )
    elif value == "":
        yield "container: String should have at least 1 character"


# --- thinking ---------------------------------------------------------------------

_THINKING_KEYS = {
    "adaptive": {"display", "block_binding"},
    "enabled": {"display", "block_binding", "budget_tokens"},
    "disabled": set[str](),
    "between_tools": set[str](),
}


@rule("thinking_config", "thinking has a known type and only that type's fields.")
def thinking_config(request: Request) -> Iterator[str]:
    thinking = request.body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type")
    if not isinstance(kind, str) or kind not in _THINKING_KEYS:
        tags = ", ".join(f"'{name}'" for name in _THINKING_KEYS)
        yield (
            f"thinking: Input tag {kind!r} found using 'type' does not match any of the expected "
            f"tags: {tags}"
        )
        return
    for key in thinking:
        if key != "type" and key not in _THINKING_KEYS[kind]:
            yield f"thinking.{kind}.{key}: Extra inputs are not permitted"
    if thinking.get("display") not in (None, "summarized", "omitted", "updates"):
        yield f"thinking.{kind}.display: Input should be 'summarized', 'omitted' or 'updates'"


@rule("thinking_budget", "budget_tokens is at least 1024 and below max_tokens.")
def thinking_budget(request: Request) -> Iterator[str]:
    thinking = request.body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or isinstance(budget, bool):
        yield "thinking.enabled.budget_tokens: Input should be a valid integer"
    elif budget < 1024:
        yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    elif not request.counting and budget >= request.body["max_tokens"]:
        yield "`max_tokens` must be greater than `thinking.budget_tokens`"


@rule("thinking_model", "The model accepts that type of thinking.")
def thinking_model(request: Request) -> Iterator[str]:
    kind = (request.body.get("thinking") or {}).get("type")
    model = request.body["model"]
    if isinstance(kind, str) and kind in _THINKING_KEYS and kind not in model_facts(model).thinking:
        accepted = ", ".join(f"'{name}'" for name in sorted(model_facts(model).thinking))
        yield f"thinking.type: '{kind}' is not supported by {model}; it accepts {accepted}"


@rule("effort", "output_config.effort is a known level.")
def effort(request: Request) -> Iterator[str]:
    level = (request.body.get("output_config") or {}).get("effort")
    if level not in (None, "low", "medium", "high", "xhigh", "max"):
        yield ("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")


# --- strings ----------------------------------------------------------------------

_SURROGATE = re.compile("[\ud800-\udfff]")


@rule("no_surrogates", "No text holds a lone surrogate.")
def no_surrogates(request: Request) -> Iterator[str]:
    if not _SURROGATE.search(_as_text(request)):
        return
    for path, text in _strings(request.body):
        if found := _SURROGATE.search(text):
            yield (
                "The request body is not valid JSON: lone surrogate "
                f"\\u{ord(found[0]):04x} in string ({path})"
            )


@rule("no_nul", "No text holds a NUL character.")
def no_nul(request: Request) -> Iterator[str]:
    if "\\u0000" not in _as_text(request):
        return
    for path, text in _strings(request.body):
        if "\0" in text:
            yield f"{path}: the text holds a NUL character (\\u0000)"


def _as_text(request: Request) -> str:
    """The whole request as JSON: one fast search tells whether a slow one is needed."""
    return json.dumps(request.body, ensure_ascii=False)


def _strings(body: Any) -> Iterator[tuple[str, str]]:
    """Every string of a JSON value, keys too, with its path; not recursive."""
    stack: list[tuple[str, Any]] = [("", body)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            for key, item in value.items():
                yield f"{path}.{key!a}".lstrip("."), key
                stack.append((f"{path}.{key}".lstrip("."), item))
        elif isinstance(value, list):
            stack += [(f"{path}.{i}".lstrip("."), item) for i, item in enumerate(value)]


# --- caching ----------------------------------------------------------------------


def _marks(request: Request) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """(path, holder, mark) of every cache_control in the service's order."""
    holders: list[tuple[str, dict[str, Any]]] = [
        (f"tools.{index}", tool) for index, tool in enumerate(request.tools)
    ]
    system = request.body.get("system")
    if isinstance(system, list):
        holders += [(f"system.{index}", block) for index, block in enumerate(system)]
    holders += request.nested_blocks()
    holders.append(("", request.body))
    for path, holder in holders:
        if holder.get("cache_control") is not None:
            yield path, holder, holder["cache_control"]


@rule("cache_control_shape", "A cache_control is {type: ephemeral, ttl?: 5m or 1h}.")
def cache_control_shape(request: Request) -> Iterator[str]:
    for path, _, mark in _marks(request):
        where = f"{path}.cache_control".lstrip(".")
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            yield f"{where}.type: Input should be 'ephemeral'"
        elif mark.get("ttl") not in (None, "5m", "1h"):
            yield f"{where}.ephemeral.ttl: Input should be '5m' or '1h'"


@rule("cache_control_count", "At most four blocks carry cache_control.")
def cache_control_count(request: Request) -> Iterator[str]:
    count = sum(1 for _ in _marks(request))
    if count > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {count}."


@rule("cache_control_empty", "No empty block carries cache_control.")
def cache_control_empty(request: Request) -> Iterator[str]:
    for path, holder, _ in _marks(request):
        if holder.get("type") == "text" and not holder["text"].strip():
            yield f"{path}.text: cache_control cannot be set for empty text blocks"


@rule("cache_control_order", "A mark of one hour does not come after one of five minutes.")
def cache_control_order(request: Request) -> Iterator[str]:
    short = False
    for path, _, mark in _marks(request):
        if not isinstance(mark, dict):
            continue
        if mark.get("ttl") == "1h":
            if short:
                yield (
                    f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come "
                    "after a ttl='5m' cache_control block"
                )
        else:
            short = True


@rule("system_text", "system text is not empty.")
def system_text(request: Request) -> Iterator[str]:
    system = request.body.get("system")
    for index, block in enumerate(system if isinstance(system, list) else []):
        if not block["text"].strip():
            yield f"system.{index}: text content blocks must be non-empty"
