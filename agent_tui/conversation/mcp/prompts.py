"""Prompts of servers as slash commands: `/zoo:feed who=Ann`, or `/zoo:feed Ann`."""

import re
import shlex
from typing import TYPE_CHECKING, Any

from agent_tui.agent.messages import CustomMessage, ImageContent, TextContent
from agent_tui.conversation.commands.registry import Command, Completion
from agent_tui.conversation.results import CommandInfo, CommandResult
from agent_tui.text import clean

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.conversation.mcp.link import McpLink
    from agent_tui.mcp_servers.types import PromptInfo, PromptMessage

KIND = "prompt"
"""The kind of the CustomMessage that a prompt becomes."""

_UNFIT = re.compile(r"[^\w.:-]+")


class ServerPrompts:
    """The commands there are now; link gives the prompts."""

    def __init__(self, link: "McpLink") -> None:
        self._link = link

    def names(self) -> dict[tuple[str, str], str]:
        """The command of each prompt, by (server, prompt), without its slash."""
        taken: set[str] = set()
        found: dict[tuple[str, str], str] = {}
        for prompt in self._prompts():
            wanted = f"{_word(prompt.server)}:{_word(prompt.name)}"
            name, number = wanted, 2
            while name in taken:
                name, number = f"{wanted}-{number}", number + 1
            taken.add(name)
            found[prompt.server, prompt.name] = name
        return found

    def commands(self) -> dict[str, Command]:
        """For the registry: by name."""
        names = self.names()
        return {
            names[prompt.server, prompt.name]: self._command(
                names[prompt.server, prompt.name], prompt
            )
            for prompt in self._prompts()
        }

    def _prompts(self) -> "list[PromptInfo]":
        return self._link.manager.prompts() if self._link.manager is not None else []

    def _command(self, name: str, prompt: "PromptInfo") -> Command:
        wanted = [
            f"{clean(a.name)}=..." if a.required else f"[{clean(a.name)}=...]"
            for a in prompt.arguments
        ]
        usage = " ".join([f"/{name}", *wanted])
        about = prompt.description or prompt.title or "a prompt"
        info = CommandInfo(name, usage, f"{clean(about)} ({clean(prompt.server)})")

        async def run(conversation: "Conversation", arguments: str) -> CommandResult:
            return await self._run(conversation, name, prompt, arguments, usage)

        def complete(conversation: "Conversation", arguments: str) -> list[Completion]:
            return completions(prompt, arguments)

        return Command(info, run, complete)

    async def _run(
        self, conversation: "Conversation", name: str, prompt: "PromptInfo", typed: str, usage: str
    ) -> CommandResult:
        from agent_tui.mcp_servers import McpError

        try:
            given = read_arguments(prompt, typed)
            manager = await self._link.get_manager()
            messages = await manager.get_prompt(prompt.server, prompt.name, given)
        except ValueError as error:
            return CommandResult(error=f"{error} The form is: {usage}")
        except McpError as error:
            return CommandResult(error=str(error))
        content = contents(messages)
        if not content:
            return CommandResult(error=f"/{name} is an empty prompt: there is nothing to send.")
        details = {"server": prompt.server, "prompt": prompt.name, "arguments": given}
        said = CustomMessage(kind=f"{KIND} {name}", content=content, details=details)
        submitted = conversation.submit_message(said)
        return CommandResult(data={"kind": submitted.kind, "item_id": submitted.item_id})


def _word(name: str) -> str:
    """A name as it can be typed: no space, no slash, beginning with a letter."""
    word = _UNFIT.sub("_", name).strip("_") or "unnamed"
    return word if word[0].isalpha() else f"mcp-{word}"


def read_arguments(prompt: "PromptInfo", typed: str) -> dict[str, str]:
    """`name=value` for those named; other words fill the rest in order, and what is left over
    belongs to the last of these. Raises ValueError: one sentence."""
    try:
        words = shlex.split(typed)
    except ValueError:
        raise ValueError("A quote in this line does not end.") from None
    names = [argument.name for argument in prompt.arguments]
    given: dict[str, str] = {}
    loose: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            given[name] = value
        else:
            loose.append(word)
    free = [name for name in names if name not in given]
    if loose and not free:
        raise ValueError(f"{clean(loose[0])!r} belongs to no argument.")
    for at, name in enumerate(free[: len(loose)]):
        last = at == len(free) - 1
        given[name] = " ".join(loose[at:]) if last else loose[at]
    missing = [a.name for a in prompt.arguments if a.required and a.name not in given]
    if missing:
        raise ValueError(f"{clean(', '.join(missing))} must be given.")
    return given


def completions(prompt: "PromptInfo", typed: str) -> list[Completion]:
    """The names of arguments not yet given."""
    *before, last = typed.split(" ")
    done = {word.partition("=")[0] for word in before}
    head = "".join(word + " " for word in before)
    return [
        Completion(f"{head}{a.name}=", a.description or ("required" if a.required else ""))
        for a in prompt.arguments
        if a.name not in done and a.name.startswith(last) and "=" not in last
    ]


def contents(messages: "list[PromptMessage]") -> list[Any]:
    """One message of the user: what a prompt lets the assistant say is marked as such."""
    blocks: list[TextContent | ImageContent] = []
    for message in messages:
        for block in message.content:
            if message.role == "assistant" and isinstance(block, TextContent):
                block = TextContent(text=f"(An answer to go by:)\n{block.text}")
            blocks.append(block)
    return [b for b in blocks if not isinstance(b, TextContent) or b.text.strip()]
