"""The models that are known without asking: windows, limits, thinking, prices.

From the public model overview and price list of 2026-11. It covers the time before the service
has answered, and the prices, which its list of models does not tell.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from agent_tui.messages_api.prices import Prices

ThinkingMode = Literal["adaptive", "enabled", "disabled", "between_tools"]
Modes = tuple[ThinkingMode, ...]


class Row(NamedTuple):
    """As models.ModelInfo has it; modes: the accepted thinking.type values; efforts: whether it
    takes output_config.effort, at every level."""

    name: str
    window: int
    output: int
    modes: Modes
    efforts: bool
    prices: Prices
    lifecycle: str = ""
    retires_at: str | None = None


EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")

_M: Final = 1_000_000
_ALWAYS: Final[Modes] = ("adaptive",)
_OR_OFF: Final[Modes] = ("adaptive", "disabled")
_BUDGET: Final[Modes] = ("enabled", "disabled")
_FABLE_5: Final = Prices(10, 50, 1, 12.5, 20)
_OPUS_4_5: Final = Prices(5, 25, 0.5, 6.25, 10)
_HAIKU_LONG: Final = Prices(0.5, 2.5, 0.05, 0.625, 1.0)

TABLE: Final[Mapping[str, Row]] = {
    "claude-fable-5-2": Row(
        "Claude Fable 5.2", _M, 128_000, _ALWAYS, True, Prices(8, 40, 0.2, 10, 16)
    ),
    "claude-fable-5-1": Row(
        "Claude Fable 5.1", _M, 128_000, _ALWAYS, True, Prices(10, 50, 0.25, 12.5, 20)
    ),
    "claude-fable-5": Row("Claude Fable 5", _M, 128_000, _ALWAYS, True, _FABLE_5),
    "claude-opus-5-5": Row(
        "Claude Opus 5.5", _M, 128_000, _ALWAYS, True, Prices(4, 20, 0.2, 5, 8)
    ),
    "claude-sonnet-5-5": Row(
        "Claude Sonnet 5.5", _M, 128_000, ("adaptive", "between_tools"), True,
        Prices(2, 10, 0.1, 2.5, 4),
    ),
    "claude-haiku-5-5": Row(
        "Claude Haiku 5.5", _M, 128_000, _OR_OFF, True,
        Prices(0.1, 0.5, 0.01, 0.125, 0.2, long=_HAIKU_LONG, long_from=100_000),
    ),
    "claude-opus-5": Row("Claude Opus 5", _M, 128_000, _OR_OFF, True, _OPUS_4_5),
    "claude-sonnet-5": Row(
        "Claude Sonnet 5", _M, 128_000, _OR_OFF, True, Prices(2, 10, 0.2, 2.5, 4)
    ),
    "claude-opus-4-8": Row("Claude Opus 4.8", _M, 128_000, _OR_OFF, True, _OPUS_4_5),
    "claude-opus-4-7": Row("Claude Opus 4.7", _M, 128_000, _OR_OFF, True, _OPUS_4_5),
    "claude-haiku-4-5": Row(
        "Claude Haiku 4.5", 200_000, 64_000, _BUDGET, False, Prices(1, 5, 0.1, 1.25, 2)
    ),
    "claude-sonnet-4-5": Row(
        "Claude Sonnet 4.5", 200_000, 64_000, _BUDGET, False, Prices(3, 15, 0.3, 3.75, 6),
        "deprecated", "2026-11-30",
    ),
}  # fmt: skip
"""By id without its date."""

_SONNET_4: Final = Prices(3, 15, 0.3, 3.75, 6)
PRICES_ONLY: Final[Mapping[str, Prices]] = {
    "claude-opus-4-6": _OPUS_4_5,
    "claude-opus-4-5": _OPUS_4_5,
    "claude-sonnet-4-6": _SONNET_4,
}
"""Models whose window and limits are better asked for: they have changed since their release."""
