"""What tokens cost. An unknown price is None and shown "?", never 0."""

from dataclasses import dataclass

WEB_SEARCH_USD = 0.01
"""One search of the web search tool; fetching and running code cost no more than their tokens
(code execution has free hours that are counted for a whole organisation)."""


@dataclass(slots=True, frozen=True)
class Prices:
    """US dollars per million tokens; None where unknown.

    cache_write: kept for five minutes, cache_write_1h: for an hour. long: the prices of a
    request whose prompt, cached or not, has more than long_from tokens.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    long: "Prices | None" = None
    long_from: int = 0
    web_search: float = WEB_SEARCH_USD

    def cost(
        self,
        *,
        input: int,
        output: int,
        cache_read: int = 0,
        cache_write: int = 0,
        cache_write_1h: int = 0,
    ) -> float | None:
        """Dollars of one request with these token counts (input: the part not cached); None
        where the price of one that is not 0 is unknown."""
        if self.long is not None and (
            input + cache_read + cache_write + cache_write_1h > self.long_from
        ):
            return self.long.cost(
                input=input,
                output=output,
                cache_read=cache_read,
                cache_write=cache_write,
                cache_write_1h=cache_write_1h,
            )
        total = 0.0
        for tokens, price in (
            (input, self.input),
            (output, self.output),
            (cache_read, self.cache_read),
            (cache_write, self.cache_write),
            (cache_write_1h, self.cache_write_1h),
        ):
            if tokens and price is None:
                return None
            total += tokens * (price or 0)
        return total / 1e6


FREE = Prices(0, 0, 0, 0, 0, web_search=0)
"""Nobody is paid for a script."""
