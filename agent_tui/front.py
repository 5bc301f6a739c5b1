"""What the front door does once the command line is parsed: settings, endpoint, face.

One clear line on stderr and exit code 2 for what can be known to be wrong before a face opens.
Faces without a screen are in front_headless.py: their imports must not delay the first paint.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_tui import logs, trust
from agent_tui.conversation import endpoint as endpoints
from agent_tui.conversation.session_wish import SessionWish
from agent_tui.headless.exit_codes import USAGE
from agent_tui.settings import Loaded, SettingsError, load_settings


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


CANNOT_START = (StartError, SettingsError, endpoints.EndpointError, OSError)
"""What working_folder, load and configured_endpoint raise: each one clear line."""


def complain(message: str) -> None:
    print(f"agent-tui: {message}", file=sys.stderr)  # noqa: T201


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


def load(options: Options, cwd: str) -> Loaded:
    """The settings of all layers for this folder. Raises SettingsError, OSError."""
    return load_settings(
        cwd=cwd, flags=options.flags, config=options.config, trusted=trust.is_trusted(cwd)
    )


def interactive(options: Options, first_prompt: str) -> int:
    """The Textual app: gives the exit code. The endpoint is chosen after the first paint."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        complain("the screen needs a terminal; use -p TEXT for a run without one")
        return USAGE
    try:
        cwd = working_folder()
        loaded = load(options, cwd)
        if not options.demo:
            endpoints.configured_endpoint(loaded.settings)
        logs.set_up_logging()
    except CANNOT_START as error:
        complain(str(error))
        return USAGE
    from agent_tui.tui.run import run_app
    from agent_tui.tui.starter import Starter

    starter = Starter(
        loaded,
        cwd,
        demo=options.demo,
        allow=options.allow,
        wish=options.wish,
        reload=lambda: load(options, cwd),
    )
    return end_with(
        lambda: run_app(settings=loaded.settings, starter=starter, first_prompt=first_prompt)
    )


def end_with(run: Callable[[], int]) -> int:
    """Runs a face; at its end nothing that a command started is left running (fault C04)."""
    try:
        return run()
    finally:
        from agent_tui.tools import kill_all

        kill_all()
