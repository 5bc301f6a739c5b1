"""Slash commands, a file per family; a command returns data (CommandResult).
A face registers its own (such as /keys).
"""

from agent_tui.conversation.commands import (
    basic,
    changes,
    container,
    copying,
    mcp,
    sessions,
    settings,
    tools,
    usage,
)
from agent_tui.conversation.commands.registry import CommandRegistry


def default_registry() -> CommandRegistry:
    """The commands every conversation has."""
    registry = CommandRegistry()
    basic.register(registry)
    changes.register(registry)
    container.register(registry)
    copying.register(registry)
    mcp.register(registry)
    sessions.register(registry)
    settings.register(registry)
    tools.register(registry)
    usage.register(registry)
    return registry
