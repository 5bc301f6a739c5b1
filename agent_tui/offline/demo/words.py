"""How the demo puts results and foreign strings into words (markdown)."""

import re
from typing import Any

from agent_tui.offline.demo.turn import Outcome

_SHOWN_LINES = 12
_SHOWN_WIDTH = 200


_NUMBERED = re.compile(r"^ *\d+\t", re.M)


def without_notes(text: str) -> str:
    """A result without the line numbers and the [bracketed] notes that a tool puts around it."""
    lines = [line for line in text.splitlines() if not re.fullmatch(r"\[.*\]", line)]
    if lines and all(_NUMBERED.match(line) for line in lines if line):
        lines = [_NUMBERED.sub("", line) for line in lines]
    return "\n".join(lines)


def plural(count: int, noun: str, many: str = "") -> str:
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def fenced(text: str, *, lines: int = _SHOWN_LINES) -> str:
    """The first lines of a text in a code fence that nothing in the text can close."""
    all_lines = text.splitlines()
    shown = [line[:_SHOWN_WIDTH] for line in all_lines[:lines]]
    longest = max((len(run) for run in re.findall(r"`+", "\n".join(shown))), default=0)
    fence = "`" * max(3, longest + 1)
    more = len(all_lines) - len(shown)
    rest = f"\n… and {plural(more, 'more line')}" if more else ""
    return f"{fence}text\n" + "\n".join(shown) + f"\n{fence}{rest}"


def code(text: str) -> str:
    """Inline code that holds any text on one line."""
    flat = " ".join(text.split())
    flat = flat if len(flat) <= 80 else flat[:79] + "…"
    ticks = "`" * (max((len(r) for r in re.findall(r"`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A markdown table; a bar inside a cell does not end it."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


_EXPLANATIONS: list[tuple[str, str]] = [
    (r"interrupt|abort|cancel|stopped|send now", "It was stopped before it could finish."),
    (
        r"denied by|refused|declined|not approved|permission rule|not allowed",
        "The call was not permitted, so nothing was done.",
    ),
    (
        r"no such file|not found|does not exist|cannot find",
        "There is nothing under that name; `list the files` shows what there is.",
    ),
    (r"permission denied", "The system does not let this user do that."),
    (r"timed? ?out|time limit", "It took longer than its time limit allows."),
    (r"is a (?:directory|folder)", "That is a folder, not a file."),
    (r"exit code [1-9]", "The command ran and reported a failure by its exit code."),
    (
        r"argument|schema|validation|required property|should be",
        "The arguments did not fit the tool's parameters, so it did not run.",
    ),
]


def explain_error(outcome: Outcome) -> str:
    """What a failed call said, and what that means as far as its words tell."""
    meaning = next(
        (words for pattern, words in _EXPLANATIONS if re.search(pattern, outcome.text, re.I)),
        "I can only pass on its words; I do not know more about it.",
    )
    said = fenced(outcome.text) if outcome.text.strip() else "(it gave no reason)"
    return f"`{outcome.name}` failed. {meaning} It said:\n\n{said}"


def report(outcome: Outcome) -> str:
    """A result in general: how much came back, and its first lines."""
    if outcome.is_error:
        return explain_error(outcome)
    pictures = f" and {plural(outcome.images, 'image')}" if outcome.images else ""
    if not outcome.text.strip():
        return f"`{outcome.name}` gave {'no text' + pictures if pictures else 'nothing back'}."
    return (
        f"`{outcome.name}` gave {plural(outcome.lines, 'line')}{pictures}:\n\n"
        f"{fenced(outcome.text)}"
    )


def report_all(outcomes: list[Outcome]) -> str:
    return "\n\n".join(report(o) for o in outcomes) or "No result of that call came back."


def headline(outcome: Outcome) -> str:
    """A result in a few words, for tables and acknowledgements."""
    first = next((line.strip() for line in outcome.text.splitlines() if line.strip()), "")
    if outcome.is_error:
        return f"failed: {first[:60] or 'no reason given'}"
    return f"{plural(outcome.lines, 'line')}" + (f", first {code(first[:40])}" if first else "")


def told(arguments: dict[str, Any]) -> str:
    return str(next(iter(arguments.values()), "no arguments"))


def unquoted(text: str | None) -> str:
    text = (text or "").strip()
    for quote in ("```", '"', "'", "`"):
        if len(text) >= 2 * len(quote) and text.startswith(quote) and text.endswith(quote):
            return text[len(quote) : -len(quote)]
    return text


def path_of(text: str | None) -> str:
    """A path as it was meant: without quotes, @, and the mark that ends the sentence."""
    path = unquoted(text)
    if path == (text or "").strip():
        path = re.sub(r"(?<=\w)[.!?]+$", "", path)
    return path.removeprefix("@")
