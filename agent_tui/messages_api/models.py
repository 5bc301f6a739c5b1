"""What is known of models: window, output limit, thinking modes, prices; and GET /v1/models.

The service's own answer (capabilities) wins; a small table covers the time before it came
(public model overview of 2026-11). An unknown price is None and shown "?", never 0.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast
from urllib.parse import quote

from agent_tui.messages_api.client import ApiEndpoint, make_client
from agent_tui.messages_api.errors import InvalidResponseError, map_exception
from agent_tui.text import whole_surrogates

ThinkingMode = Literal["adaptive", "enabled", "disabled", "between_tools"]
EFFORTS = ("low", "medium", "high", "xhigh", "max")

LIST_TIMEOUT_S = 15.0
MAX_PAGES = 20


@dataclass(slots=True, frozen=True)
class Prices:
    """US dollars per million tokens; None where unknown."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def cost(self, *, input: int, output: int, cache_read: int = 0, cache_write: int = 0) -> float:
        """Dollars of these token counts; unknown cache prices count as input."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return (
            input * self.input + output * self.output + cache_read * read + cache_write * write
        ) / 1e6


@dataclass(slots=True, frozen=True)
class ModelInfo:
    """One model. context_window, max_output: tokens, None unknown.

    thinking: the `thinking.type` values it accepts; empty: unknown. efforts: the accepted
    `output_config.effort` values; empty: none. known: False for a name never heard of.
    """

    id: str
    display_name: str = ""
    context_window: int | None = None
    max_output: int | None = None
    thinking: frozenset[ThinkingMode] = frozenset()
    efforts: tuple[str, ...] = ()
    prices: Prices | None = None
    lifecycle: str = ""
    retires_at: str | None = None
    known: bool = True
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)


def _modes(*modes: ThinkingMode) -> frozenset[ThinkingMode]:
    return frozenset(modes)


_M = 1_000_000
_ALWAYS = _modes("adaptive")
_TABLE: dict[str, ModelInfo] = {
    m.id: m
    for m in (
        ModelInfo("claude-fable-5-2", "Claude Fable 5.2", None, None, _ALWAYS, EFFORTS),
        ModelInfo(
            "claude-fable-5-1", "Claude Fable 5.1", _M, 128_000, _ALWAYS, EFFORTS, Prices(10, 50)
        ),
        ModelInfo(
            "claude-opus-5-5", "Claude Opus 5.5", _M, 128_000, _ALWAYS, EFFORTS, Prices(4, 20)
        ),
        ModelInfo(
            "claude-sonnet-5-5", "Claude Sonnet 5.5", _M, 128_000,
            _modes("adaptive", "between_tools"), EFFORTS, Prices(2, 10),
        ),
        ModelInfo(
            "claude-haiku-5-5", "Claude Haiku 5.5", _M, 128_000,
            _modes("adaptive", "disabled"), EFFORTS,
        ),
        ModelInfo(
            "claude-opus-5", "Claude Opus 5", _M, 128_000, _modes("adaptive", "disabled"), EFFORTS,
            Prices(5, 25, 0.5, 6.25),
        ),
        ModelInfo(
            "claude-sonnet-5", "Claude Sonnet 5", _M, 128_000, _modes("adaptive", "disabled"),
            EFFORTS, Prices(2, 10, 0.2, 2.5),
        ),
        ModelInfo(
            "claude-haiku-4-5", "Claude Haiku 4.5", 200_000, 64_000,
            _modes("enabled", "disabled"), (), Prices(1, 5, 0.1, 1.25),
        ),
        ModelInfo(
            "claude-sonnet-4-5", "Claude Sonnet 4.5", 200_000, 64_000,
            _modes("enabled", "disabled"), (), Prices(3, 15, 0.3, 3.75),
            "deprecated", "2026-11-30",
        ),
    )
}  # fmt: skip

_DATED = re.compile(r"-\d{8}\Z")
_VERSION = re.compile(r"(?:^|[./])claude-[a-z]+-(\d{1,2})(?:-(\d{1,2})(?!\d))?")


def model_info(model: str) -> ModelInfo:
    """What the table knows of a model id, dated or not; a careful guess for other names."""
    found = _TABLE.get(model) or _TABLE.get(_DATED.sub("", model))
    if found is not None:
        return replace(found, id=model)
    version = _VERSION.search(model)
    if version is None:
        return ModelInfo(model, known=False)
    number = (int(version.group(1)), int(version.group(2) or 0))
    if number >= (4, 7):
        return ModelInfo(model, thinking=_ALWAYS, efforts=EFFORTS, known=False)
    if number >= (4, 6):
        modes = _modes("adaptive", "disabled")
        return ModelInfo(model, thinking=modes, efforts=("low", "medium", "high"), known=False)
    return ModelInfo(model, thinking=_modes("enabled", "disabled"), known=False)


def info_from_api(data: Mapping[str, Any]) -> ModelInfo | None:
    """A ModelInfo from one entry of /v1/models; None for an entry without an id.

    Other servers send little more than {"id"}: what is missing comes from the table.
    """
    model = data.get("id") or data.get("name") or data.get("model")
    if not isinstance(model, str) or not model:
        return None
    model = whole_surrogates(model)
    base = model_info(model)
    thinking = _sub(_sub(data, "capabilities"), "thinking")
    effort = _sub(_sub(data, "capabilities"), "effort")
    types = _sub(thinking, "types")
    accepted = base.thinking
    if types:
        names: tuple[ThinkingMode, ...] = ("adaptive", "enabled", "disabled", "between_tools")
        accepted = frozenset(n for n in names if _supported(types.get(n)))
    efforts = base.efforts
    if effort:
        efforts = tuple(e for e in EFFORTS if _supported(effort.get(e)))
    window, output = _int(data.get("max_input_tokens")), _int(data.get("max_tokens"))
    name, lifecycle = data.get("display_name"), data.get("lifecycle")
    retires = data.get("retires_at")
    return replace(
        base,
        display_name=whole_surrogates(name) if isinstance(name, str) else base.display_name,
        context_window=window or _foreign_window(data) or base.context_window,
        max_output=output or base.max_output,
        thinking=accepted,
        efforts=efforts,
        lifecycle=lifecycle if isinstance(lifecycle, str) else base.lifecycle,
        retires_at=retires if isinstance(retires, str) else base.retires_at,
        known=base.known or bool(types) or window is not None,
        raw=dict(data),
    )


async def list_models(endpoint: ApiEndpoint) -> list[ModelInfo]:
    """The models of an endpoint, in its order (GET /v1/models, all pages).

    Raises ApiError. Accepts {"data": [...]}, {"models": [...]} and a bare list.
    """
    client = await asyncio.to_thread(make_client, endpoint)
    found: list[ModelInfo] = []
    after = ""
    try:
        async with client:
            for _ in range(MAX_PAGES):
                page = await _get(client, endpoint, f"/v1/models?limit=1000{after}")
                entries = _entries(page)
                found += [m for m in map(_entry_info, entries) if m is not None]
                last = cast(dict[str, Any], page).get("last_id") if isinstance(page, dict) else None
                more = isinstance(page, dict) and cast(dict[str, Any], page).get("has_more") is True
                if not more or not isinstance(last, str) or not entries:
                    break
                after = f"&after_id={quote(last, safe='')}"
    except Exception as exc:
        raise map_exception(exc, secrets=endpoint.secrets) from exc
    return found


async def retrieve_model(endpoint: ApiEndpoint, model: str) -> ModelInfo:
    """One model's capabilities (GET /v1/models/{id}). Raises ApiError."""
    client = await asyncio.to_thread(make_client, endpoint)
    try:
        async with client:
            data = await _get(client, endpoint, f"/v1/models/{quote(model, safe='')}")
            info = _entry_info(data)
            if info is None:
                raise InvalidResponseError("The server's description of the model has no id.")
            return info
    except Exception as exc:
        raise map_exception(exc, secrets=endpoint.secrets) from exc


async def _get(client: Any, endpoint: ApiEndpoint, path: str) -> Any:
    import httpx2

    timeout = min(LIST_TIMEOUT_S, endpoint.idle_timeout_s)
    response = await client.get(path, cast_to=httpx2.Response, options={"timeout": timeout})
    return response.json()


def _entries(page: Any) -> list[Any]:
    if isinstance(page, dict):
        fields = cast(dict[str, Any], page)
        page = fields.get("data", fields.get("models"))
    return cast(list[Any], page) if isinstance(page, list) else []


def _entry_info(entry: Any) -> ModelInfo | None:
    if isinstance(entry, str):
        entry = {"id": entry}
    return info_from_api(cast(dict[str, Any], entry)) if isinstance(entry, dict) else None


def _sub(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _supported(value: Any) -> bool:
    if isinstance(value, dict):
        return cast(dict[str, Any], value).get("supported") is True
    return value is True


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _foreign_window(data: Mapping[str, Any]) -> int | None:
    """The context size under the names that local servers give it (vLLM, LM Studio, llama.cpp)."""
    for key in ("context_window", "max_model_len", "max_context_length", "context_length"):
        if (value := _int(data.get(key))) is not None:
            return value
    return _int(_sub(data, "meta").get("n_ctx"))
