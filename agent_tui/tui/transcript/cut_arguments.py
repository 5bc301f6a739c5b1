"""What had come of the arguments of a call that the user stopped while they streamed."""

from agent_tui.agent.messages import ToolCall
from agent_tui.text import cut

MOST_READ = 16_384
"""Characters of the text that are read for the screen."""


def so_far(call: ToolCall) -> list[tuple[str, str]]:
    """Its readable parts as (path, text), like those of a call that streams; [] for any other
    call."""
    if not call.cut_arguments:
        return []
    from agent_tui.messages_api.partial_json import PartialJson

    return PartialJson().feed(cut(call.cut_arguments, MOST_READ))


def as_arguments(call: ToolCall) -> dict[str, str]:
    """The same as an object, for a line that says which call it was; {} for any other call."""
    found: dict[str, str] = {}
    for path, text in so_far(call):
        found[path] = found.get(path, "") + text
    return found
