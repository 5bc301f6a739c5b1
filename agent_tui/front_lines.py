"""The plain lines, from the parsed command line to the exit code."""

from typing import TYPE_CHECKING

from agent_tui import front_settings, heap
from agent_tui.front_options import Options
from agent_tui.headless.exit_codes import USAGE
from agent_tui.lines.face import LinesFace
from agent_tui.lines.run import run_lines
from agent_tui.settings import Loaded

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation


def lines(options: Options, cwd: str, loaded: Loaded | None, first_prompt: str) -> int:
    """loaded: the settings, where they had to be read already."""
    from dataclasses import replace

    from agent_tui.front import complain, end_with

    try:
        start = loaded or front_settings.prepare_screen(options, cwd)
    except front_settings.CANNOT_START as error:
        complain(str(error))
        return USAGE
    heap.keep_tight()
    first = [True]

    async def open_(face: LinesFace) -> "Conversation":
        from agent_tui.conversation.opening import open_conversation

        wish, demo = options.wish, options.demo
        if not first[0]:  # after /login: a new one, and not the demo
            wish, demo = replace(wish, continue_newest=False, resume=False, resume_id=""), False
        conversation = await open_conversation(
            start,
            cwd,
            face,
            demo=demo,
            allow=options.allow,
            wish=wish,
            reload=lambda: front_settings.load(options, cwd, on_screen=True),
        )
        first[0] = False
        return conversation

    return end_with(
        lambda: run_lines(settings=start.settings, open_=open_, first_prompt=first_prompt)
    )
