"""The system prompt: own and short; made once a conversation, so that caching holds."""

import datetime
import platform
from collections.abc import Sequence

from agent_tui.agent.tools import AgentTool
from agent_tui.settings import Settings

_INTRO = """You are agent-tui, an agent that works in the user's terminal. You help with software
and other work in the folder below, by answering and by calling tools.

Folder: {cwd}
System: {system}
Date: {date}

How to work
- Look before you change: read a file before you edit it, search before you guess.
- Call tools in parallel when they do not depend on each other.
- The user may send a message while you work. It comes after your tool results: follow it from
  there on.
- Some calls need the user's approval. If one is refused, do not try to get round it; say what
  you would need.
- Say briefly what you did and what you saw. If something failed, say so plainly.
"""


def build_system_prompt(
    settings: Settings, cwd: str, tools: Sequence[AgentTool], today: datetime.date | None = None
) -> str:
    """settings.system_prompt if given, else the built-in one; append_system_prompt follows."""
    if settings.system_prompt:
        prompt = settings.system_prompt
    else:
        prompt = _INTRO.format(
            cwd=cwd,
            system=f"{platform.system()} {platform.release()}",
            date=(today or datetime.date.today()).isoformat(),
        )
        if tools:
            names = ", ".join(sorted(t.name for t in tools))
            prompt += f"\nTools: {names}.\n"
    if settings.append_system_prompt:
        prompt = prompt.rstrip() + "\n\n" + settings.append_system_prompt
    return prompt
