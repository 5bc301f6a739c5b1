"""What a script of the demo sees and says.

A script is a generator: it yields what to say and which calls to make, and is sent the outcomes
of those calls. For each request it runs from its start, fed with the outcomes that the request
holds: so the next thing to say follows from the request alone.
"""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from agent_tui.offline.demo.turn import Outcome, Turn


@dataclass(slots=True)
class Call:
    name: str
    input: dict[str, Any]


@dataclass(slots=True)
class Say:
    """One message of the demo. Without calls and program it is the turn's last.

    program: code that runs in the container; its outcome is a single one, and comes in the same
    message. Not together with calls.
    """

    text: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    program: str = ""
    thinking: str = ""
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None


@dataclass(slots=True)
class Scene:
    """What a script may look at. tools: those of the request that may be called directly.

    program_tools: those that a program may call; None when the request offers no code execution.
    """

    turn: Turn
    tools: dict[str, dict[str, Any]]
    all_tools: list[dict[str, Any]]
    messages: list[dict[str, Any]]
    thinking: bool
    why_no_tools: str = ""
    program_tools: dict[str, dict[str, Any]] | None = None

    def missing(self, *names: str) -> str:
        """A sentence when a tool is not there to be called, else ""."""
        lost = [name for name in names if name not in self.tools]
        if not lost:
            return ""
        wanted = " and ".join(f"`{name}`" for name in lost)
        in_programs = [name for name in lost if name in (self.program_tools or {})]
        if in_programs:
            return (
                f"Here {wanted} may be called by programs only; ask me for a program, or let me "
                "call it directly too (`/tools`)."
            )
        if self.why_no_tools:
            return f"For that I would call {wanted}, but {self.why_no_tools}."
        have = ", ".join(f"`{name}`" for name in self.tools) or "none at all"
        return (
            f"For that I need the tool {wanted}, which this request does not offer. It has: {have}."
        )


Script = Generator[Say, list[Outcome], None]
ScriptFn = Callable[[Scene, re.Match[str]], Script]
