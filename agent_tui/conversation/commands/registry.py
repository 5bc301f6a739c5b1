"""The registry of slash commands: parse a line, find the command, say the right form."""

import difflib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tui.conversation.results import CommandInfo, CommandResult

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Completion:
    """arguments: all that would stand behind the command's name. help: a word about it."""

    arguments: str
    help: str = ""


Run = Callable[["Conversation", str], Awaitable[CommandResult]]
Complete = Callable[["Conversation", str], list[Completion]]
"""What the arguments typed so far may become, the likeliest first."""


@dataclass(slots=True)
class Command:
    """info for /help and completion; run(conversation, arguments as typed, stripped).
    free: what `complete` gives are proposals; other arguments are as good."""

    info: CommandInfo
    run: Run
    complete: Complete | None = None
    free: bool = False


class CommandRegistry:
    """Commands by name. Faces and later rooms add theirs with add()."""

    def __init__(self) -> None:
        self._own: dict[str, Command] = {}
        self._sources: list[Callable[[], Mapping[str, Command]]] = []

    def add_source(self, source: Callable[[], Mapping[str, Command]]) -> None:
        """source(): commands that come and go, by name (prompts of servers)."""
        self._sources.append(source)

    @property
    def _commands(self) -> dict[str, Command]:
        """All that there are now."""
        if not self._sources:
            return self._own
        found = {name: command for source in self._sources for name, command in source().items()}
        return found | self._own

    def add(
        self,
        name: str,
        usage: str,
        help: str,
        run: Run,
        complete: Complete | None = None,
        *,
        free: bool = False,
    ) -> None:
        self._own[name] = Command(CommandInfo(name, usage, help), run, complete, free)

    def infos(self) -> list[CommandInfo]:
        return [c.info for _, c in sorted(self._commands.items())]

    def completions(self, conversation: "Conversation", line: str) -> list[tuple[str, str]]:
        """(whole line, a word about it) for what "/name arguments" may become; empty for a
        command that completes no arguments."""
        name, space, arguments = line.removeprefix("/").partition(" ")
        command = self._commands.get(name)
        if not space or command is None or command.complete is None:
            return []
        made = command.complete(conversation, arguments)
        return [(f"/{name} {c.arguments}", c.help) for c in made]

    def takes_any(self, line: str) -> bool:
        """The command of this line may be given other arguments than completions() has."""
        command = self._commands.get(line.removeprefix("/").partition(" ")[0])
        return command is not None and command.free

    async def run(self, conversation: "Conversation", line: str) -> CommandResult:
        """Runs "/name arguments". Never raises for what was typed; the result says the error."""
        name, _, arguments = line.strip().removeprefix("/").partition(" ")
        commands = self._commands
        command = commands.get(name)
        if command is None:
            near = difflib.get_close_matches(name, commands, 1)
            hint = f" Did you mean /{near[0]}?" if near else " /help lists them."
            return CommandResult(error=f"There is no command /{name}.{hint}")
        return await command.run(conversation, arguments.strip())


def wrong_form(info_usage: str) -> CommandResult:
    """The error for arguments that do not fit: it shows the right form."""
    return CommandResult(error=f"The form is: {info_usage}")
