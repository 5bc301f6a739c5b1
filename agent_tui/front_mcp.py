"""`agent-tui mcp ...`: the actions of /mcp without a conversation, answered on stdout."""

import asyncio
import contextlib
import json
import shutil
import sys
import threading
from typing import Any

from agent_tui import logs
from agent_tui.conversation.events import ConversationEvent, NoticeEvent, ServerQuestionEvent
from agent_tui.conversation.mcp.actions import McpActions
from agent_tui.conversation.mcp.browser import open_in_browser
from agent_tui.conversation.mcp.link import McpLink
from agent_tui.conversation.mcp.plan import McpPlan
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.toolset import Toolset
from agent_tui.front import complain, end_with
from agent_tui.front_options import Options, working_folder
from agent_tui.front_settings import CANNOT_START, load
from agent_tui.headless.exit_codes import DONE, ERROR, USAGE
from agent_tui.mcp_servers import McpError
from agent_tui.text import clean

_LOOKING = ("list", "get", "tools", "resources", "prompts")
"""Actions that want to see the servers connected."""
CATALOGS_S = 2.0
"""So long resources and prompts are waited for."""


def run(words: list[str], config: str | None, *, as_json: bool = False) -> int:
    """Gives the exit code: 2 for what cannot be done as it was said, 1 for what failed."""
    try:
        cwd = working_folder()
        loaded = load(Options(config=config), cwd)
        logs.set_up_logging()
    except CANNOT_START as error:
        complain(str(error))
        return USAGE
    plan = McpPlan(
        user_toml=loaded.user_file,
        project_toml=loaded.project_file,
        wait_s=loaded.settings.mcp_wait_s,
        interactive=False,
        connects=words[0] in _LOOKING and len(words) == 1,
    )
    return end_with(lambda: asyncio.run(_act(words, cwd, plan, as_json)))


async def _act(words: list[str], cwd: str, plan: McpPlan, as_json: bool) -> int:
    failures: list[str] = []

    def on_event(event: ConversationEvent) -> None:
        match event:
            case NoticeEvent():
                complain(event.text)
                if event.level == "error":
                    failures.append(event.text)
            case ServerQuestionEvent(kind="login"):
                _ask_for_code(link, event)
            case _:
                pass

    link = McpLink(cwd, plan, Toolset(), on_event)
    try:
        # Notes stand in these answers.
        link.tells_notes = words[0] not in ("get", "tools")
        link.begin()
        if words[0] in _LOOKING:
            await _connect(link, words[0], words[1:])
        adds = words[0] in ("add", "add-json")
        before = set((await link.get_manager()).servers()) if adds else set[str]()
        result = await McpActions(link, command="agent-tui mcp", scope="user").run(words)
        if adds and result.error is None:
            await link.wait_for(set(link.servers()) - before, plan.wait_s or 0)
        await link.settled()
    finally:
        await link.close()
    return _tell(result, as_json) or (ERROR if failures else DONE)


async def _connect(link: McpLink, action: str, names: list[str]) -> None:
    """To the servers named, or to all, as long as they may take."""
    manager = await link.get_manager()
    for name in names:
        if name in manager.servers() and manager.state(name) == "connecting":
            with contextlib.suppress(McpError):  # the answer says what hinders it
                manager.reconnect(name)
    await link.wait_ready()
    if action in ("get", "resources", "prompts"):
        await link.wait_for_catalogs(CATALOGS_S, names)


def _tell(result: CommandResult, as_json: bool) -> int:
    if result.error is not None:
        complain(result.error)
        return USAGE
    if as_json:
        print(json.dumps(result.data, ensure_ascii=False, indent=2))  # noqa: T201
    else:
        _print(result.text)
    return DONE


_TABLE_COLUMNS = 1000


def _print(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    # A table keeps its cells whole: the terminal breaks its lines where they are too long.
    wide = _TABLE_COLUMNS if "| ---" in text else shutil.get_terminal_size((160, 24)).columns
    shown = Console(width=wide)
    with shown.capture() as capture:
        shown.print(Markdown(text))
    for line in capture.get().splitlines():
        print(line.rstrip())  # noqa: T201


def _ask_for_code(link: McpLink, event: ServerQuestionEvent) -> None:
    """Show where to log in, and read a code from the terminal, whichever comes first."""
    loop = asyncio.get_running_loop()
    print(f"Log in at {clean(event.server)}:\n{clean(event.url)}")  # noqa: T201
    print("Then come back here; or paste the code, or the address you ended at:", flush=True)  # noqa: T201
    link.in_background(asyncio.to_thread(open_in_browser, event.url), "open a browser")

    def read() -> None:
        line = sys.stdin.readline().strip() if sys.stdin is not None else ""
        answer: tuple[str, dict[str, Any]] = ("accept", {"code": line}) if line else ("cancel", {})
        with contextlib.suppress(RuntimeError):  # the login ended first, and the program with it
            loop.call_soon_threadsafe(link.questions.answer, event.request_id, *answer)

    threading.Thread(target=read, name="read a code", daemon=True).start()
