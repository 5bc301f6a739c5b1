"""What a tool call says in one line: the argument that tells most, and how it ended.

Known tools (DESIGN "Built-in tools") have their own words; any other shows its arguments.
Everything that comes back is safe text.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rich.cells import cell_len

from agent_tui.agent.messages import ToolResultMessage
from agent_tui.agent.tool_calls import STOPPED_WRITING
from agent_tui.text import SafeText, clean, count
from agent_tui.tui.transcript.lines import Runs

_MAIN = {
    "read": "path",
    "write": "path",
    "edit": "path",
    "list": "path",
    "glob": "pattern",
    "grep": "pattern",
    "shell": "command",
}
_SUMMARY_LIMIT = 200

_WIDEST_KEY = 20
"""Cells of the column of keys; a longer key pushes its own value only."""


NOT_RUN = ("Not run:", "Skipped by the user")
_STOPPED = (*NOT_RUN, "Interrupted: the user", "Interrupted by the user")
"""How results begin that agent/ makes for calls the user stopped."""

NO_RESULT = "no result"
"""Shown for a call of a stored history that nothing answers (a crash): it may have run."""

REFUSED = "The user refused this call."
"""How the result of a refused one begins; what the user said follows."""


def was_stopped(result: ToolResultMessage) -> bool:
    """The user ended the call, before it started or while it ran."""
    if isinstance(result.details, Mapping) and result.details.get("ending") == "cancelled":
        return True
    return result.is_error and result.text.startswith(_STOPPED)


def why_cut(result: ToolResultMessage) -> str:
    """What the user said when stopping a call that was still being written."""
    head = STOPPED_WRITING.removesuffix(".") + ": "
    first = result.text.partition("\n")[0]
    return clean(first.removeprefix(head)[:_SUMMARY_LIMIT]) if first.startswith(head) else ""


def main_argument(name: str) -> str | None:
    """The argument that names what the call works on."""
    return _MAIN.get(name)


def summary(name: str, arguments: Mapping[str, Any]) -> str:
    """`"def total"`, `shop/cart.py`, `pytest -q`, or `year=2025, sql=SELECT …`."""
    key = _MAIN.get(name)
    value = arguments.get(key) if key else None
    if isinstance(value, str) and value:
        first = value.strip().partition("\n")[0]
        text = clean(first[:_SUMMARY_LIMIT])
        if name in ("grep", "glob"):
            path = arguments.get("path")
            return f'"{text}"' + (f" in {clean(path)}" if isinstance(path, str) else "")
        return text
    return pairs(arguments)


def pairs(arguments: Mapping[str, Any]) -> str:
    shown: list[str] = []
    size = 0
    for key, value in arguments.items():
        text = value if isinstance(value, str) else _json(value)
        item = f"{clean(key)}={clean(text[:_SUMMARY_LIMIT])}"
        shown.append(item)
        size += len(item)
        if size > _SUMMARY_LIMIT:
            break
    return ", ".join(shown)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def pretty(value: Any) -> str:
    """JSON for reading; never raises."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError):
        return str(value)


def outcome(name: str, result: ToolResultMessage) -> str:
    """`3 matches`, `lines 1-80`, `+4 -1`, `41 lines`; for an error its first line."""
    details: Mapping[str, Any] = result.details if isinstance(result.details, dict) else {}
    if result.is_error:
        if details.get("ending") == "timed out":
            return "timed out"
        exit_code = details.get("exit_code")
        if isinstance(exit_code, int):
            return f"exit {exit_code}"
        first = _first_line(result.text)
        if first.startswith(REFUSED):
            reason = first.removeprefix(REFUSED).removeprefix(" The user said: ").strip()
            first = f"refused: {reason}" if reason else "refused"
        return clean(first[:_SUMMARY_LIMIT])
    match name:
        case "read" if "first_line" in details:
            first, last = details.get("first_line"), details.get("last_line")
            return "empty" if not last else f"lines {first}-{last}"
        case "grep" if "count" in details:
            return number(details["count"], "match", "matches")
        case "glob" | "list" if "count" in details:
            return number(details["count"], "entry" if name == "list" else "file",
                           "entries" if name == "list" else "files")  # fmt: skip
        case "edit" | "write" if isinstance(details.get("diff"), str):
            added, removed = diff_counts(details["diff"])
            return f"+{added} -{removed}"
        case "shell" if isinstance(details.get("exit_code"), int) and details["exit_code"]:
            return f"exit {details['exit_code']}"
        case "shell" if result.text.strip() == "[no output]":
            return "no output"
        case _:
            return _size(result)


def _first_line(text: str) -> str:
    return next((line for line in text.split("\n") if line.strip()), "")


def number(n: Any, one: str, many: str) -> str:
    """`1 line`, `3 lines`; "" for what is no number."""
    return f"{count(n)} {one if n == 1 else many}" if isinstance(n, int) else ""


def fits_its_line(command: str) -> bool:
    """The line of the call shows the whole of it."""
    return "\n" not in command.strip() and len(command) < 100


def readable(name: str, arguments: Mapping[str, Any]) -> str:
    """The arguments as an opened call shows them, for searching."""
    match name:
        case "edit":
            return "\n".join(text for text, _ in edit_lines(arguments))
        case "shell":
            command = str(arguments.get("command", ""))
            return "" if fits_its_line(command) else command
        case "write":
            return str(arguments.get("content", ""))
        case "read" | "list" | "glob" | "grep":
            return ""
        case _:
            return "\n".join("".join(text for text, _ in row) for row in table(arguments))


def key_cells(keys: Iterable[object]) -> int:
    """How wide the column of the keys is in a table of them."""
    return min(_WIDEST_KEY, max((cell_len(clean(key)) for key in keys), default=0))


def table_rows(key: str, value: str, cells: int) -> list[Runs]:
    """A key (safe text) and its value as rows of a table, the key at the first."""
    first, *others = value.split("\n")
    space = " " * max(0, cells - cell_len(key)) + "  "
    return [
        [(key + space, "muted"), (first, "output")],
        *([(" " * (cells + 2), ""), (other, "output")] for other in others),
    ]


def table(arguments: Mapping[str, Any]) -> list[Runs]:
    """A plain object as a table: a row for each key, more where a value has several lines."""
    cells = key_cells(arguments)
    rows: list[Runs] = []
    for key, value in arguments.items():
        text = SafeText(value if isinstance(value, str) else pretty(value))
        rows += table_rows(clean(key), text, cells)
    return rows


def first_lines(text: str, lines: int) -> tuple[str, int]:
    """The first `lines` lines, and how many more there are."""
    text = text.rstrip("\n")
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
        if at < 0:
            return text, 0
    return text[:at], text.count("\n", at)


def _size(result: ToolResultMessage) -> str:
    text = result.text.strip("\n")
    images = sum(1 for block in result.content if block.type == "image")
    notes: list[str] = []
    if text.strip():
        lines = text.count("\n") + 1
        notes.append(number(lines, "line", "lines"))
    if images:
        notes.append(number(images, "image", "images"))
    return ", ".join(notes)


def diff_counts(diff: str) -> tuple[int, int]:
    """(added, removed) lines of a unified diff."""
    added = removed = 0
    for line in diff.split("\n"):
        if line.startswith("+") and not line.startswith("+++"):
            added += 1
        elif line.startswith("-") and not line.startswith("---"):
            removed += 1
    return added, removed


def edit_lines(arguments: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """(text, style) lines of the edits of an `edit` call: what goes out, what comes in; what
    both begin and end with is context."""
    edits = arguments.get("edits")
    for number, edit in enumerate(edits if isinstance(edits, list) else []):
        if not isinstance(edit, dict):
            continue
        if number:
            yield "", ""
        old, new = str(edit.get("old", "")).split("\n"), str(edit.get("new", "")).split("\n")
        least = min(len(old), len(new))
        same = next((n for n in range(least) if old[n] != new[n]), least)
        last = next((n for n in range(least - same) if old[-1 - n] != new[-1 - n]), least - same)
        yield from ((f" {line}", "output") for line in old[:same])
        yield from ((f"-{line}", "diff-del") for line in old[same : len(old) - last])
        yield from ((f"+{line}", "diff-add") for line in new[same : len(new) - last])
        yield from ((f" {line}", "output") for line in old[len(old) - last :])


def diff_style(line: str) -> str:
    """The style of a line of a unified diff."""
    if line.startswith("@@"):
        return "diff-hunk"
    if line.startswith("+") and not line.startswith("+++"):
        return "diff-add"
    if line.startswith("-") and not line.startswith("---"):
        return "diff-del"
    return "output"
