"""Texts of servers in markdown of ours: shown as they are, never read as markup."""

import re

from agent_tui.text import SafeText, clean, cut

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~!&$])")


def plain(text: object, limit: int = 200) -> str:
    """One line in which nothing is markup."""
    line = " ".join(clean(text).split())
    short = cut(line, limit)
    return _SPECIAL.sub(r"\\\1", short) + ("…" if len(short) < len(line) else "")


def code(text: object, limit: int = 200) -> str:
    """One line as code, fit for a cell of a table."""
    line = cut(" ".join(clean(text).split()), limit).replace("|", "\\|")
    ticks = _fence(line, 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}" if line else ""


def block(text: object) -> str:
    """Lines as they are."""
    lines = SafeText(text)
    fence = _fence(lines, 3)
    return f"{fence}text\n{lines}\n{fence}"


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Of cells that are markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
