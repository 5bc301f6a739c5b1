"""The built-in tools: read, write, edit, list, glob, grep, shell; and who may run what.
Each is an agent.tools.AgentTool made by a factory that knows the working folder.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_tui.tools.builtin import builtin_tools, kill_all, reap_leftovers
    from agent_tui.tools.output import CappedText, cap_text
    from agent_tui.tools.permissions import approval_rule, needs_approval
    from agent_tui.tools.shell import CommandOutcome, run_command

__all__ = [
    "CappedText",
    "CommandOutcome",
    "approval_rule",
    "builtin_tools",
    "cap_text",
    "kill_all",
    "needs_approval",
    "reap_leftovers",
    "run_command",
]

_HOMES = {
    "builtin_tools": "builtin",
    "kill_all": "builtin",
    "reap_leftovers": "builtin",
    "CappedText": "output",
    "cap_text": "output",
    "approval_rule": "permissions",
    "needs_approval": "permissions",
    "CommandOutcome": "shell",
    "run_command": "shell",
}


def __getattr__(name: str) -> Any:
    # Resolved on first use: grep's worker process imports this package on every search and
    # must not pay for the rest of it.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
