"""The faces without a screen, from the parsed command line to the exit code: print and RPC."""

import asyncio
import sys
from dataclasses import dataclass, replace

from agent_tui import logs
from agent_tui.conversation import endpoint as endpoints
from agent_tui.conversation.build import build_conversation
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.session_choice import open_wished
from agent_tui.front import complain, end_with
from agent_tui.front_options import Options, StartError, working_folder
from agent_tui.front_settings import CANNOT_START, load
from agent_tui.headless.exit_codes import USAGE
from agent_tui.headless.print_mode import Output, run_print
from agent_tui.headless.rpc import run_rpc
from agent_tui.sessions.errors import SessionError
from agent_tui.settings import Loaded


def read_stdin() -> str:
    """What is piped in, as text; bytes that are not UTF-8 are replaced, and said so on stderr."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    raw = sys.stdin.buffer.read()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        complain(
            f"stdin is not UTF-8 (byte {error.start}); what could not be read is replaced by \ufffd"
        )
        return raw.decode("utf-8", errors="replace")


@dataclass(slots=True)
class _Headless:
    """What a face without a screen starts from; nobody can be asked."""

    cwd: str
    loaded: Loaded
    configured: Endpoint | None


def _prepare_headless(options: Options) -> _Headless:
    """Raises one of CANNOT_START."""
    cwd = working_folder()
    loaded = load(options, cwd)
    configured = None if options.demo else endpoints.configured_endpoint(loaded.settings)
    if configured is None and not options.demo:
        raise StartError(endpoints.NO_ENDPOINT)
    logs.set_up_logging(secrets=configured.secrets if configured else [])
    if options.wish.resume and not options.wish.resume_id:
        raise StartError("give the id of the session after -r; /resume lists them on the screen")
    for warning in [*loaded.warnings, *(configured.notes if configured else [])]:
        complain(warning)
    return _Headless(cwd, loaded, configured)


async def _converse(options: Options, start: _Headless, *, interactive: bool) -> Conversation:
    """Raises SessionError."""
    endpoint = start.configured or await endpoints.start_demo(start.loaded.settings)
    wish = replace(options.wish, face="rpc" if interactive else "print")
    session = await asyncio.to_thread(open_wished, wish, start.cwd, endpoint)
    return await build_conversation(
        start.loaded,
        endpoint,
        start.cwd,
        session=session,
        interactive=interactive,
        allow=options.allow,
        waits=True,
    )


def print_once(options: Options, text: str, output: Output) -> int:
    """`-p`: gives the exit code."""
    try:
        start = _prepare_headless(options)
    except CANNOT_START as error:
        complain(str(error))
        return USAGE
    piped = read_stdin()
    piped = piped.strip("\n") if piped.strip() else ""
    if not text.strip():
        text = ""
    if not text and not piped:
        complain("there is no text to send: give it after -p or on stdin")
        return USAGE

    async def run() -> int:
        try:
            conversation = await _converse(options, start, interactive=False)
        except SessionError as error:
            complain(str(error))
            return USAGE
        rest = f"\n\n{piped}" if text and piped else piped
        return await run_print(conversation, text, output, piped=rest)

    return end_with(lambda: asyncio.run(run()))


def rpc(options: Options) -> int:
    """`agent-tui rpc`: gives the exit code."""
    try:
        start = _prepare_headless(options)
    except CANNOT_START as error:
        complain(str(error))
        return USAGE

    async def run() -> int:
        try:
            conversation = await _converse(options, start, interactive=True)
        except SessionError as error:
            complain(str(error))
            return USAGE
        return await run_rpc(conversation)

    return end_with(lambda: asyncio.run(run()))
