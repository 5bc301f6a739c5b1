"""Servers that a project brings (.mcp.json): used once the user has seen what they are."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_tui.text import SafeText, clean

if TYPE_CHECKING:
    from agent_tui.conversation.mcp.link import McpLink

Choose = Callable[[str, str, Sequence[Any]], Awaitable[str]]
"""A face's (title, text, options with key and label) → the key chosen."""

NO, YES, NONE = "no", "yes", "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer."""

    key: str
    label: str


async def ask_for_project_servers(link: "McpLink", choose: Choose) -> None:
    """Ask for each server of the project that nobody has said anything of with just this
    content; the answers are remembered. The safe answer stands first: it is what a hasty Enter
    chooses."""
    manager = await link.opened()
    if manager is None:
        return
    waiting = link.awaiting_approval()
    for at, server in enumerate(waiting):
        options = [Choice(NO, "do not use it"), Choice(YES, "use it")]
        if more := len(waiting) - at - 1:
            options.append(Choice(NONE, f"use neither this one nor the other {more}"))
        title = f"This project brings the MCP server {clean(server.name)}"
        text = f"{SafeText(server.approval_text)}\nFrom {clean(server.approval_source)}. "
        text += "Use it only if you trust who wrote it."
        if server.hidden:
            text += f"\nUntil then your own {clean(server.name)} of {clean(server.source)} is used."
        key = await choose(title, text, options)
        if key == YES:
            link.expect(server.name)
        for each in waiting[at:] if key == NONE else [server]:
            if each.name in manager.servers():
                link.forget_allowed(each.name)
                manager.approve(each.name, key == YES)
        if key == NONE:
            return
