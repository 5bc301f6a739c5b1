"""What the front door does once the command line is parsed: settings, endpoint, face.

One clear line on stderr and exit code 2 for what can be known to be wrong before a face opens.
Nothing here is heavy: the first paint waits for every import (docs/performance.md). What is, is
in front_settings.py, and the faces without a screen in front_headless.py.
"""

import gc
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent_tui.first_look import first_look
from agent_tui.front_options import Options, StartError, working_folder
from agent_tui.headless.exit_codes import USAGE

if TYPE_CHECKING:
    from agent_tui.settings import Loaded


def complain(message: str) -> None:
    from agent_tui.text import SafeText  # it may quote a file, or what a server said

    print(f"agent-tui: {SafeText(message)}", file=sys.stderr)  # noqa: T201


def interactive(options: Options, first_prompt: str) -> int:
    """The Textual app, or plain lines: gives the exit code. Settings that are plainly right are
    loaded after the first paint, the others before it; the endpoint is chosen after it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        complain("a conversation needs a terminal; use -p TEXT for a run without one")
        return USAGE
    # What is made until the conversation is there stays: looking through it for garbage, again
    # and again while it grows, is a tenth of the start. heap.settle switches it on again.
    gc.disable()
    loaded: Loaded | None = None
    try:
        cwd = working_folder()
    except StartError as error:
        complain(str(error))
        return USAGE
    look = first_look(cwd=cwd, flags=options.flags, config=options.config)
    if look is None:
        from agent_tui import front_settings

        try:
            loaded = front_settings.prepare_screen(options, cwd)
        except front_settings.CANNOT_START as error:
            complain(str(error))
            return USAGE
    if plain_lines_wanted(options, loaded.settings if loaded else look):
        from agent_tui.front_lines import lines

        return lines(options, cwd, loaded, first_prompt)
    from agent_tui.tui.run import run_app
    from agent_tui.tui.starter import CannotStartError, Starter

    def load() -> "Loaded":
        from agent_tui import front_settings

        try:
            return front_settings.prepare_screen(options, cwd)
        except front_settings.CANNOT_START as error:
            raise CannotStartError(f"agent-tui: {error}", USAGE) from None

    def reload() -> "Loaded":
        from agent_tui import front_settings

        return front_settings.load(options, cwd, on_screen=True)

    starter = Starter(
        cwd,
        load=load,
        loaded=loaded,
        demo=options.demo,
        allow=options.allow,
        wish=options.wish,
        reload=reload,
    )
    settings = loaded.settings if loaded else look
    return end_with(lambda: run_app(settings=settings, starter=starter, first_prompt=first_prompt))


def plain_lines_wanted(options: Options, settings: Any) -> bool:
    """--plain, the setting screen_reader, or a terminal on which nothing can be drawn."""
    return bool(options.flags.get("screen_reader") or settings.screen_reader) or (
        os.environ.get("TERM") == "dumb"
    )


def end_with(run: Callable[[], int]) -> int:
    """Runs a face; at its end nothing that a command started is left running (fault C04)."""
    try:
        return run()
    finally:
        from agent_tui.tools import kill_all

        kill_all()
