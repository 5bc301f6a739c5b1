"""What a face gets back: CommandResult, CommandInfo, Submitted."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(slots=True)
class CommandResult:
    """What a slash command gives back: data for the face, never printed by the command.

    text: markdown for the transcript. error: the right form, if the line was wrong.
    action: what only a face can do ("quit", "clear", "reload", "login", "help",
    "resume_picker", "image": data names a file of the service); "queued": it waits for the end
    of the run, see CommandRanEvent.
    """

    text: str = ""
    error: str | None = None
    action: str | None = None
    data: dict[str, Any] | None = None


@dataclass(slots=True)
class CommandInfo:
    """For /help and completion: name without slash, the whole form, one line of help."""

    name: str
    usage: str
    help: str


@dataclass(slots=True)
class Submitted:
    """What became of a submitted text: started a run, queued, or was a command."""

    kind: Literal["started", "steer", "follow_up", "command", "resumed", "nothing"]
    item_id: str | None = None
    command: CommandResult | None = None
