"""What is known of models: window, output limit, thinking modes, prices; and GET /v1/models.

The service's own answer (capabilities) wins; a table (model_table.py) covers the time before
it came.
"""

import asyncio
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, cast
from urllib.parse import quote

from agent_tui.messages_api.client import ApiEndpoint, make_client
from agent_tui.messages_api.errors import InvalidResponseError, map_exception
from agent_tui.messages_api.model_names import plain_name
from agent_tui.messages_api.model_table import EFFORTS, PRICES_ONLY, TABLE, ThinkingMode
from agent_tui.messages_api.prices import Prices
from agent_tui.text import whole_surrogates

__all__ = [
    "EFFORTS", "ModelInfo", "Prices", "ThinkingMode", "info_from_api", "list_models",
    "model_info", "retirement_warning", "retrieve_model",
]  # fmt: skip

RETIRES_SOON_DAYS = 60
LIST_TIMEOUT_S = 15.0
MAX_PAGES = 20


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


_VERSION = re.compile(r"(?:^|[./])claude-[a-z]+-(\d{1,2})(?:-(\d{1,2})(?!\d))?")


@functools.lru_cache(maxsize=512)
def model_info(model: str) -> ModelInfo:
    """What the table knows of a model id, dated or not; a careful guess for other names."""
    plain = plain_name(model)
    row = TABLE.get(model) or TABLE.get(plain)
    if row is not None:
        return ModelInfo(
            model,
            row.name,
            row.window,
            row.output,
            frozenset(row.modes),
            EFFORTS if row.efforts else (),
            row.prices,
            row.lifecycle,
            row.retires_at,
        )
    version = _VERSION.search(model)
    if version is None:
        return ModelInfo(model, known=False)
    number = (int(version.group(1)), int(version.group(2) or 0))
    modes: tuple[ThinkingMode, ...] = ("enabled", "disabled")
    efforts: tuple[str, ...] = ()
    if number >= (4, 7):
        modes, efforts = ("adaptive",), EFFORTS
    elif number >= (4, 6):
        modes, efforts = ("adaptive", "disabled"), ("low", "medium", "high")
    prices = PRICES_ONLY.get(plain)
    return ModelInfo(model, "", None, None, frozenset(modes), efforts, prices, known=False)


def retirement_warning(info: ModelInfo, today: date | None = None) -> str | None:
    """A sentence for the user when the model is retired, or will be within RETIRES_SOON_DAYS."""
    if info.lifecycle == "retired":
        return f"{info.id} is retired: requests will fail. Choose another with /model."
    day = _day(info.retires_at)
    if day is None:
        return None
    left = (day - (today or datetime.now(UTC).date())).days
    if left > RETIRES_SOON_DAYS:
        return None
    when = "today" if left == 0 else f"on {day.isoformat()}"
    what = "was to be retired" if left < 0 else "will be retired"
    return f"{info.id} {what} {when}. Choose another with /model."


def _day(moment: str | None) -> date | None:
    try:
        return datetime.fromisoformat(moment).date() if moment else None
    except ValueError:
        return None


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

    Raises ApiError. Accepts {"data": [...]}, {"models": [...]} and a bare list. Empty, without
    asking, for a provider that has no such list.
    """
    if not endpoint.lists_models:
        return []
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
    """One model's capabilities (GET /v1/models/{id}); what the table knows, for a provider that
    cannot be asked. Raises ApiError."""
    if not endpoint.lists_models:
        return model_info(model)
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
