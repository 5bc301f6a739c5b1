"""What the benchmarks stream: numbered units of prose, or of everything that markdown can hold.

Each unit carries its number in several places, so that no cache of equal lines helps and what a
screen shows can be told to be the right place.
"""

_PROSE = (
    "In step {n} the cart asks the database for *each* line, so `total_{n}()` takes a second for "
    "a hundred lines; **batching** the prices makes it one query, as "
    "[note {n}](https://example.org/{n}) says. Nobody had measured it before, and the numbers of "
    "run {n} are what decided it.\n\n"
)
_DENSE = """## Finding {n}

- the first thing is `cart.total_{n}`
- the second is **much** larger: {n} items
  - a nested one, with *stress*
  - 注文 {n} の合計は毎回計算されています

| file | calls | time |
|------|------:|-----:|
| cart_{n}.py | {n} | 1.2 s |
| prices.py | 3 | 0.1 s |
| 見積もり.py | 12 | 0.4 s |

```python
def total_{n}(items):
    prices = db.prices(items)  # one query, not {n}
    return sum(prices[i] for i in items)
```

1. measure run {n}
2. change
3. measure again

> 数えなかったものほど遅いものはない: nothing is as slow as what nobody measured ({n}).

"""
UNITS = {"prose": _PROSE, "dense": _DENSE}


def text_of(kind: str, size: int, first: int = 100_000, end: str = "") -> str:
    """About `size` bytes of UTF-8 of that kind, units numbered from `first`; `end` is the last
    line."""
    unit = UNITS[kind]
    parts: list[str] = []
    length, number = 0, first
    while length < size:
        parts.append(unit.replace("{n}", str(number)))
        length += len(parts[-1].encode())
        number += 1
    return "".join(parts) + end
