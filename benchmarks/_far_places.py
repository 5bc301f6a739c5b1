"""Getting about in a long conversation: each way, with what has to stand on the screen then."""

import re
import time
from collections.abc import Callable, Iterator, Mapping

from _terminal import COLUMNS, CTRL_END, CTRL_F, ESC, PAGE_UP, ROWS, Terminal

_NUMBER = re.compile(r"(?<![0-9])(2[0-9]{5})(?![0-9])")
_TIMES = 3
"""Each way is gone so often; the longest counts."""


def units(lines: list[str]) -> list[int]:
    """The numbers of the units whose text stands in the transcript, from top to bottom."""
    edge = lines[0].find("│")
    left = [line[:edge] if edge > 0 else line for line in lines[2:-3]]
    return [int(number) for line in left for number in _NUMBER.findall(line)]


def in_order(found: list[int]) -> bool:
    """One place of the text: neighbours, in order, whole units among them."""
    return len(found) > 4 and found == sorted(found) and found[-1] - found[0] <= 6


def get_about(
    terminal: Terminal, texts: Mapping[str, str], answers: int
) -> Iterator[tuple[str, float]]:
    """(what, seconds of the slowest try) for resize, scroll, jump and search."""
    last = f"Part {answers - 1} ends here."
    terminal.look()
    everything = [int(n) for k in texts if k.startswith("part") for n in (_ends(texts[k]))]
    low, high = min(everything), max(everything)

    def at_end(lines: list[str]) -> bool:
        return any(last in line for line in lines) and in_order(units(lines))

    yield (
        "resize until the text stands",
        _slowest(
            lambda n: _timed(terminal, lambda: terminal.resize(100 - n, 30), at_end, "the end"),
            lambda: _timed(terminal, lambda: terminal.resize(COLUMNS, ROWS), at_end, "the end"),
        ),
    )

    def scrolled(before: int) -> Callable[[list[str]], bool]:
        return lambda lines: in_order(units(lines)) and units(lines)[-1] < before

    def page_up(_: int) -> float:
        before = units(terminal.lines())[-1]
        return _timed(terminal, lambda: terminal.send(PAGE_UP * 2), scrolled(before), "above")

    yield "scroll until the text stands", _slowest(page_up)

    def to_end() -> float:
        return _timed(terminal, lambda: terminal.send(CTRL_END), at_end, "the end")

    to_end()
    part = answers // 2
    middle = range(200_000 + 10_000 * (part - 1), 200_000 + 10_000 * (part + 1))

    def drag(row: int) -> float:
        """The thumb of the scroll bar, held by the mouse, is let go of at this row."""
        column = terminal.lines()[0].find("│") - 1
        terminal.send(f"\x1b[<0;{column};{ROWS - 4}M")
        time.sleep(0.1)
        return _timed(
            terminal,
            lambda: terminal.send(f"\x1b[<32;{column};{row}M\x1b[<0;{column};{row}m"),
            there,
            f"{low} to {high}",
        )

    def there(lines: list[str]) -> bool:
        found = units(lines)
        return in_order(found) and all(n in middle for n in found)

    yield (
        "jump to the middle until the text stands",
        _slowest(
            lambda n: _timed(terminal, lambda: drag(ROWS // 2 - n), there, f"{low} to {high}"),
            to_end,
        ),
    )
    sought = f"Finding {200_077 + 10_000 * (answers // 3)}"
    terminal.send(CTRL_F)
    terminal.send(sought[:-1])
    terminal.settle(0.1)

    def found(lines: list[str]) -> bool:
        return any(sought in line for line in lines[2:-6]) and in_order(units(lines[:-3]))

    yield (
        "search until the match stands",
        _timed(terminal, lambda: terminal.send(sought[-1]), found, sought),
    )
    terminal.send(ESC)
    terminal.settle(0.1)
    to_end()


def _ends(text: str) -> tuple[str, str]:
    found = _NUMBER.findall(text)
    return found[0], found[-1]


def _timed(
    terminal: Terminal, do: Callable[[], object], test: Callable[[list[str]], bool], what: str
) -> float:
    began = time.monotonic()
    do()
    return terminal.wait_screen(test, what, 20) - began


def _slowest(there: Callable[[int], float], back: Callable[[], float] | None = None) -> float:
    took: list[float] = []
    for n in range(_TIMES):
        took.append(there(n))
        if back is not None:
            took.append(back())
    return max(took)
