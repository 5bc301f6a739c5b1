"""What the command line asks for, whichever face it opens (light: before the first paint)."""

import os
from dataclasses import dataclass, field
from typing import Any

from agent_tui.conversation.session_wish import SessionWish


@dataclass(slots=True)
class Options:
    """The common options of all faces. flags: settings given on the command line."""

    flags: dict[str, Any] = field(default_factory=dict[str, Any])
    demo: bool = False
    allow: list[str] = field(default_factory=list[str])
    config: str | None = None
    wish: SessionWish = field(default_factory=SessionWish)


class StartError(Exception):
    """Nothing can start; str() is one line that says what to do."""


def working_folder() -> str:
    """The folder the program was started in. Raises StartError if it cannot be used."""
    try:
        cwd = os.getcwd()  # noqa: PTH109 - Path.cwd() is the same call
        os.listdir(cwd)  # noqa: PTH208 - asks only whether it can be read
    except FileNotFoundError:
        raise StartError("this folder no longer exists: change to one that does") from None
    except PermissionError:
        raise StartError(
            "this folder cannot be read: change to another or mend its rights"
        ) from None
    return cwd
