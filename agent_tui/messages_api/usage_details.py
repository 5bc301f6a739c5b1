"""What a response's usage object tells beside the four counts, and what the response cost.

Source: the API's `usage` (facts: cumulative; BetaUsage of the SDK). `iterations` lists each
sampling of a response: its top-level counts are the sum of the message iterations; those of a
compaction and of an advisor come on top, the latter at its own model's prices.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from agent_tui.agent.messages import Usage
from agent_tui.messages_api.prices import Prices

PricesOf = Callable[[str], Prices | None]
"""The prices of a model by its id; None where unknown."""

US_ONLY = 1.1
"""inference_geo "us" costs so many times the price (public price list)."""

_OWN = ("message", "fallback_message")
"""Iterations whose counts the top level holds already."""


@dataclass(slots=True, frozen=True)
class Sampling:
    """Counts of one sampling; None: the server did not say. model: "" for the response's own."""

    model: str
    input: int | None
    output: int | None
    cache_read: int
    cache_write: int
    cache_write_1h: int

    def cost(self, prices: Prices | None) -> float | None:
        if prices is None or self.input is None or self.output is None:
            return None
        return prices.cost(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            cache_write_1h=self.cache_write_1h,
        )


def thinking_tokens(usage: Usage) -> int | None:
    """Output tokens spent on thinking, whether shown or not; None where the server is silent."""
    return _count(_sub(usage.raw, "output_tokens_details").get("thinking_tokens"))


def server_tools(usage: Usage) -> dict[str, int]:
    """Requests that the API's own tools made: {"web_search": 3}; those at 0 are left out."""
    used = _sub(usage.raw, "server_tool_use")
    found = {name.removesuffix("_requests"): _count(n) for name, n in used.items()}
    return {name: n for name, n in found.items() if n}


def context_tokens(usage: Usage) -> int | None:
    """What the model had before it at the end of the response, its answer included."""
    prompt, answer = context_parts(usage)
    return prompt + answer or None


def context_parts(usage: Usage) -> tuple[int, int]:
    """(tokens of the prompt, of the answer) of the response's last sampling.

    A response of several samplings (server tools) counts the same context again for each:
    only the last one of its own tells how long it has become.
    """
    own = [s for s in _iterations(usage) if s.get("type") in _OWN]
    last = _sampling(own[-1]) if own else _whole(usage)
    prompt = (last.input or 0) + last.cache_read + last.cache_write + last.cache_write_1h
    return prompt, last.output or 0


def was_sampled(usage: Usage) -> bool:
    """False for a response that only hands on what a program wants: it says 0 of everything."""
    return bool(usage.input or usage.output or usage.cache_read or usage.cache_write)


def is_split(usage: Usage) -> bool:
    """Whether the counts of each sampling are told."""
    return bool(_iterations(usage))


def cache_parts(usage: Usage) -> tuple[int, int]:
    """(tokens read of what the requests before had left, tokens that are kept now).

    A response of several samplings sums up what each of them read; the first tells what was
    there before it, the last what there is after it.
    """
    own = [_sampling(s) for s in _iterations(usage) if s.get("type") in _OWN] or [_whole(usage)]
    last = own[-1]
    return own[0].cache_read, last.cache_read + last.cache_write + last.cache_write_1h


def cost(usage: Usage, model: str, prices_of: PricesOf) -> float | None:
    """Dollars of one response; None where a price or a count that matters is unknown."""
    if usage.raw.get("speed") == "fast" or usage.raw.get("service_tier") == "priority":
        return None  # these have prices of their own, by contract
    total = 0.0
    for sampling in _samplings(usage):
        part = sampling.cost(prices_of(sampling.model or model))
        if part is None:
            return None
        total += part
    if usage.raw.get("inference_geo") == "us":
        total *= US_ONLY
    prices = prices_of(model)
    searches = server_tools(usage).get("web_search", 0)
    return total + (searches * prices.web_search if prices is not None else 0)


def _samplings(usage: Usage) -> Iterator[Sampling]:
    iterations = _iterations(usage)
    own = [_sampling(i) for i in iterations if i.get("type") in _OWN]
    if any(s.model for s in own):
        yield from own  # a fallback: each at the prices of the model that did it
    else:
        yield _whole(usage)
    yield from (_sampling(i) for i in iterations if i.get("type") not in _OWN)


def _whole(usage: Usage) -> Sampling:
    split = _sub(usage.raw, "cache_creation")
    hour = min(_count(split.get("ephemeral_1h_input_tokens")) or 0, usage.cache_write or 0)
    return Sampling(
        "",
        usage.input,
        usage.output,
        usage.cache_read or 0,
        (usage.cache_write or 0) - hour,
        hour,
    )


def _sampling(entry: dict[str, Any]) -> Sampling:
    whole = _whole(
        Usage(
            input=_count(entry.get("input_tokens")),
            output=_count(entry.get("output_tokens")),
            cache_read=_count(entry.get("cache_read_input_tokens")),
            cache_write=_count(entry.get("cache_creation_input_tokens")),
            raw=entry,
        )
    )
    model = entry.get("model")
    return Sampling(
        model if isinstance(model, str) else "",
        whole.input, whole.output, whole.cache_read, whole.cache_write, whole.cache_write_1h,
    )  # fmt: skip


def _iterations(usage: Usage) -> list[dict[str, Any]]:
    value = usage.raw.get("iterations")
    entries = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], e) for e in entries if isinstance(e, dict)]


def _sub(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
