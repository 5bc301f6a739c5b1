"""The command that goes on with a session: said by a face when it ends."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.money import money

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation


def how_to_go_on(conversation: "Conversation", at_least: str = "≥") -> str:
    """The command that opens this session again, and what it has cost; "" where nothing was
    said, typed or put away, or nothing is kept. at_least: the sign before a cost that is known in
    part."""
    if not (conversation.keeps and (conversation.messages or conversation.session.draft)):
        return ""
    usage = conversation.usage
    cost = money(usage.cost, usage.cost_at_least, at_least)
    demo = " --demo" if conversation.endpoint.demo else ""
    command = f"{command_to_start(sys.argv[0])}{demo} -r {conversation.session.id}"
    return f"Go on with: {command}   (so far {cost})"


def command_to_start(program: str) -> str:
    """What starts this program again from the folder it was started in, for a shell. program:
    sys.argv[0]."""
    path = Path(program).absolute()
    if path.name == "__main__.py":
        return f"{_shell_name(Path(sys.executable))} -m agent_tui"
    return _shell_name(path)


def _shell_name(path: Path) -> str:
    """Its name where the shell finds it by that; else the path, relative in the folder."""
    found = shutil.which(path.name)
    # Not the same file: the Python of a virtualenv is a link to the one that lacks its packages.
    if not path.exists() or (found is not None and Path(found).absolute() == path):
        return shlex.quote(path.name)
    if path.is_relative_to(Path.cwd()):
        relative = path.relative_to(Path.cwd())
        # Without a slash the shell would look for it elsewhere.
        return shlex.quote(str(relative) if len(relative.parts) > 1 else f"./{relative}")
    return shlex.quote(str(path))
