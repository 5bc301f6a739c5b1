"""Every way out: close the conversation within a bound, then end; by force if that hangs."""

import asyncio
import logging
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.tui.glyphs import choose
from agent_tui.tui.money import money
from agent_tui.tui.terminal_restore import ExitLadder

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation
    from agent_tui.tui.app import AgentTuiApp

log = logging.getLogger(__name__)

CLOSE_WITHIN_S = 3.5


class Leaving:
    """ladder: the watchdog that forces the end (none in tests, where nothing may be killed)."""

    def __init__(self, app: "AgentTuiApp", ladder: ExitLadder | None) -> None:
        self._app, self._ladder = app, ladder
        self.code: int | None = None
        self.last_words = ""
        """Printed on stderr once the terminal is as it was."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def begin(self, code: int) -> None:
        """On the event loop. A second call forces the end where there is a ladder."""
        if self.code is not None:
            if self._ladder is not None:
                self._ladder.force(self.code or 130)
            return
        self.code = code
        if self._ladder is not None:
            self._ladder.begin(code)
        self._app.flash("leaving")
        self._app.run_worker(self._close(code), name="leaving", exit_on_error=False)

    def begin_from_signal(self, code: int) -> None:
        """In a signal handler: also right when the loop hangs or has not begun."""
        if self._ladder is not None:
            self._ladder.begin(code)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._after_signal, code)

    def _after_signal(self, code: int) -> None:
        if self.code is None:
            self.code = code
            self._app.run_worker(self._close(code), name="leaving", exit_on_error=False)

    def crashed(self) -> None:
        """The screen is about to go; what remains must not hang."""
        if self._ladder is not None and not self._ladder.begun:
            self._ladder.begin(1)

    async def _close(self, code: int) -> None:
        conversation = self._app.desk.conversation
        self._app.drafts.record()
        self._app.signals.end()
        if conversation is not None and not self.last_words:
            self.last_words = how_to_go_on(conversation)
        if conversation is not None:
            try:
                async with asyncio.timeout(CLOSE_WITHIN_S):
                    await conversation.close()
            except TimeoutError:
                log.error("the conversation did not close within %s s", CLOSE_WITHIN_S)
            except Exception:
                log.exception("the conversation did not close well")
        await asyncio.to_thread(self._app.history.close)
        self._app.exit(code, return_code=code)


def how_to_go_on(conversation: "Conversation") -> str:
    """The command that opens this session again, and what it has cost; "" where nothing was
    said or nothing was kept."""
    if not (conversation.keeps and conversation.messages):
        return ""
    usage = conversation.usage
    cost = money(usage.cost, usage.cost_at_least, choose().at_least)
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
