"""/copy: what shall go to the clipboard. Only a face with a terminal can do it, so the command
says what; the face finds the text and copies it."""

from typing import TYPE_CHECKING

from agent_tui.conversation.commands.registry import CommandRegistry, Completion, wrong_form
from agent_tui.conversation.results import CommandResult

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

FORM = "/copy [last | code] [N]"


async def copy(conversation: "Conversation", arguments: str) -> CommandResult:
    """data: what ("last" or "code") and number (1: the last, 2: the one before, ...)."""
    words = arguments.lower().split()
    what = words.pop(0) if words and words[0] in ("last", "code") else "last"
    number = words.pop(0) if words else "1"
    if words or not number.isdecimal() or not 1 <= int(number) <= 10_000:
        return wrong_form(f"{FORM}, N counts from the last one: 1, 2, ...")
    return CommandResult(action="copy", data={"what": what, "number": int(number)})


def _complete(conversation: "Conversation", typed: str) -> list[Completion]:
    known = [
        Completion("last", "the last answer, as markdown"),
        Completion("code", "the last code block"),
        Completion("2", "the answer before the last"),
        Completion("code 2", "the code block before the last"),
    ]
    return [choice for choice in known if choice.arguments.startswith(typed)]


def register(registry: CommandRegistry) -> None:
    registry.add("copy", FORM, "the last answer or code block to the clipboard", copy, _complete)
