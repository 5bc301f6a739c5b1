"""The arguments of a call as a person reads them."""

import json
from typing import Any

_SPEAKS_FOR_ITSELF = frozenset({
    ("shell", "command"), ("read", "path"), ("list", "path"), ("glob", "pattern"),
    ("grep", "pattern"),
})  # fmt: skip
"""Tools of our own and the argument that, alone, needs no name beside it."""


def readable_arguments(tool: str, arguments: dict[str, Any]) -> str:
    """All arguments as text, nothing left out: "name: value", longer strings below their name;
    a command or a path of our own tools alone as it is. Not yet made safe.

    tool: its name, "" for one of an MCP server."""
    if len(arguments) == 1:
        name, only = next(iter(arguments.items()))
        if isinstance(only, str) and (tool, name) in _SPEAKS_FOR_ITSELF:
            return only
    lines: list[str] = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        if "\n" in text:
            lines.append(f"{name}:")
            lines += ["  " + line for line in text.split("\n")]
        else:
            lines.append(f"{name}: {text}")
    return "\n".join(lines) or "(no arguments)"
