"""/mcp: attach MCP servers and see to them (conversation/mcp/actions.py does it)."""

from typing import TYPE_CHECKING

from agent_tui.conversation.commands.registry import CommandRegistry, Completion
from agent_tui.conversation.results import CommandResult

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

USAGE = "/mcp [add|remove|list|get|enable|disable|reconnect|login|tools|log ...]"
_WITH_NAME = (
    "remove", "get", "enable", "disable", "reconnect", "login", "logout", "tools", "resources",
    "prompts", "log",
)  # fmt: skip
_LEVELS = ("debug", "info", "notice", "warning", "error")


async def mcp(conversation: "Conversation", arguments: str) -> CommandResult:
    from agent_tui.conversation.mcp.actions import McpActions
    from agent_tui.conversation.mcp.words import WrongForm, split

    try:
        words = split(arguments)
    except WrongForm as wrong:
        return CommandResult(error=f"{wrong} The form is: /mcp {wrong.form}".strip())
    actions = McpActions(conversation.mcp, command="/mcp", scope="conversation")
    return await actions.run(words)


def complete(conversation: "Conversation", arguments: str) -> list[Completion]:
    """The action first, then the server."""
    from agent_tui.conversation.mcp.words import FORMS, HELP

    action, space, rest = arguments.partition(" ")
    if not space:
        return [
            Completion(name if FORMS[name] == name else f"{name} ", HELP[name])
            for name in FORMS
            if name.startswith(action)
        ]
    if " " in rest:
        return []
    if action == "level":
        return [Completion(f"level {name}") for name in _LEVELS if name.startswith(rest)]
    if action not in _WITH_NAME:
        return []
    return [
        Completion(f"{action} {s.name}", s.state)
        for s in conversation.mcp.snapshots()
        if s.name.startswith(rest) and _fits(action, s.state, s.transport, bool(s.hidden))
    ]


def _fits(action: str, state: str, transport: str, hides: bool) -> bool:
    """Whether the action makes sense for a server in this state."""
    match action:
        case "enable":
            return hides or state in ("disabled", "awaiting_approval")
        case "disable":
            return state != "disabled"
        case "login" | "logout":
            return transport != "stdio"
        case _:
            return True


def register(registry: CommandRegistry) -> None:
    registry.add("mcp", USAGE, "MCP servers: attach, list, see to them", mcp, complete)
