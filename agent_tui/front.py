"""What the front door does once the command line is parsed: settings, endpoint, face.

One clear line on stderr and exit code 2 for what can be known to be wrong before a face opens.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_tui import logs, trust
from agent_tui.conversation import endpoint as endpoints
from agent_tui.conversation.build import build_conversation
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.session_choice import SessionWish, open_wished
from agent_tui.headless.exit_codes import USAGE
from agent_tui.headless.print_mode import Output, run_print
from agent_tui.headless.rpc import run_rpc
from agent_tui.sessions.errors import SessionError
from agent_tui.settings import Loaded, SettingsError, load_settings
from agent_tui.tools import kill_all


@dataclass(slots=True)
class Options:
    """The common options of all faces. flags: settings given on the command line."""

    flags: dict[str, Any] = field(default_factory=dict[str, Any])
    demo: bool = False
    allow: list[str] = field(default_factory=list[str])
    config: str | None = None
    keep: bool = True
    continue_newest: bool = False
    resume: bool = False
    resume_id: str = ""


class StartError(Exception):
    """Nothing can start; str() is one line that says what to do."""


def complain(message: str) -> None:
    print(f"agent-tui: {message}", file=sys.stderr)  # noqa: T201


def _working_folder() -> str:
    try:
        cwd = os.getcwd()  # noqa: PTH109 - Path.cwd() is the same call
        os.listdir(cwd)  # noqa: PTH208 - asks only whether it can be read
    except FileNotFoundError:
        raise StartError("this folder no longer exists: change to one that does") from None
    except PermissionError:
        raise StartError(
            "this folder cannot be read: change to another or mend its rights"
        ) from None
    return cwd


def _load(options: Options, cwd: str) -> Loaded:
    return load_settings(
        cwd=cwd, flags=options.flags, config=options.config, trusted=trust.is_trusted(cwd)
    )


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


_CANNOT_START = (StartError, SettingsError, endpoints.EndpointError, OSError)


def _prepare_headless(options: Options) -> _Headless:
    """Raises one of _CANNOT_START: each one clear line."""
    cwd = _working_folder()
    loaded = _load(options, cwd)
    configured = None if options.demo else endpoints.configured_endpoint(loaded.settings)
    if configured is None and not options.demo:
        raise StartError(endpoints.NO_ENDPOINT)
    logs.set_up_logging(secrets=configured.secrets if configured else [])
    if options.resume and not options.resume_id:
        raise StartError("give the id of the session after -r; /resume lists them on the screen")
    for warning in loaded.warnings:
        complain(warning)
    return _Headless(cwd, loaded, configured)


async def _converse(options: Options, start: _Headless, *, interactive: bool) -> Conversation:
    """Raises SessionError."""
    endpoint = start.configured or await endpoints.start_demo(start.loaded.settings)
    session = await asyncio.to_thread(open_wished, _wish(options), start.cwd, endpoint)
    return await build_conversation(
        start.loaded,
        endpoint,
        start.cwd,
        session=session,
        interactive=interactive,
        allow=options.allow,
    )


def _wish(options: Options) -> SessionWish:
    return SessionWish(
        keep=options.keep,
        continue_newest=options.continue_newest,
        resume=options.resume,
        resume_id=options.resume_id,
    )


def print_once(options: Options, text: str, output: Output) -> int:
    """`-p`: gives the exit code."""
    try:
        start = _prepare_headless(options)
    except _CANNOT_START as error:
        complain(str(error))
        return USAGE
    piped = read_stdin()
    prompt = "\n\n".join(part for part in (text, piped.strip("\n")) if part.strip())
    if not prompt:
        complain("there is no text to send: give it after -p or on stdin")
        return USAGE

    async def run() -> int:
        try:
            conversation = await _converse(options, start, interactive=False)
        except SessionError as error:
            complain(str(error))
            return USAGE
        return await run_print(conversation, prompt, output)

    return _end_with(lambda: asyncio.run(run()))


def rpc(options: Options) -> int:
    """`agent-tui rpc`: gives the exit code."""
    try:
        start = _prepare_headless(options)
    except _CANNOT_START as error:
        complain(str(error))
        return USAGE

    async def run() -> int:
        try:
            conversation = await _converse(options, start, interactive=True)
        except SessionError as error:
            complain(str(error))
            return USAGE
        return await run_rpc(conversation)

    return _end_with(lambda: asyncio.run(run()))


def interactive(options: Options, first_prompt: str) -> int:
    """The Textual app: gives the exit code. The endpoint is chosen after the first paint."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        complain("the screen needs a terminal; use -p TEXT for a run without one")
        return USAGE
    try:
        cwd = _working_folder()
        loaded = _load(options, cwd)
        if not options.demo:
            endpoints.configured_endpoint(loaded.settings)
        logs.set_up_logging()
    except _CANNOT_START as error:
        complain(str(error))
        return USAGE
    from agent_tui.tui.run import run_app
    from agent_tui.tui.starter import Starter

    starter = Starter(
        loaded,
        cwd,
        demo=options.demo,
        allow=options.allow,
        wish=_wish(options),
        reload=lambda: _load(options, cwd),
    )
    return _end_with(
        lambda: run_app(settings=loaded.settings, starter=starter, first_prompt=first_prompt)
    )


def _end_with(run: Callable[[], int]) -> int:
    """Runs a face; at its end nothing that a command started is left running (fault C04)."""
    try:
        return run()
    finally:
        kill_all()
