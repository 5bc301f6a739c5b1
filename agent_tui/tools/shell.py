"""shell: one command in bash, seen while it runs, ended for certain.

The command has no terminal, no input and no key of ours. command_run.py has the thread that
reads it; here is what a caller sees.
"""

import asyncio
import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agent_tui.agent.tools import ToolContext, ToolResult
from agent_tui.tools.command_run import CommandOutcome, CommandRun
from agent_tui.tools.output import OutputBuffer
from agent_tui.tools.workspace import ToolError, Work, Workspace, whole

MAX_TIMEOUT_S = 3600.0
_SETTLE_S = 1.8

_SECRETS = (
    "ANTHROPIC_*KEY*", "ANTHROPIC_*TOKEN*", "ANTHROPIC_*SECRET*", "ANTHROPIC_CUSTOM_HEADERS",
    "AGENT_TUI_*KEY*", "AGENT_TUI_*TOKEN*", "AGENT_TUI_*SECRET*",
)  # fmt: skip

# Nothing may wait for an editor, a pager, a password or a person.
_NEUTRAL = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}


def child_environment(environ: Mapping[str, str], hidden: Sequence[str] = ()) -> dict[str, str]:
    """The environment of a command: `environ` without our own keys and without what `hidden`
    (patterns such as "*_TOKEN") names, and with editors, pagers and prompts made harmless."""
    patterns = (*_SECRETS, *(pattern.upper() for pattern in hidden))
    kept = {
        name: value
        for name, value in environ.items()
        if not any(fnmatch.fnmatchcase(name.upper(), pattern) for pattern in patterns)
    }
    kept.pop("SUDO_ASKPASS", None)
    return kept | _NEUTRAL


def shell_tool(
    workspace: Workspace, output_dir: str | None, timeout_s: float, hidden: Sequence[str]
) -> Work:
    """execute() of shell {command, timeout?}."""

    async def shell(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        command = arguments["command"]
        outcome = await run_command(
            command,
            workspace.cwd,
            timeout_s=float(arguments.get("timeout") or timeout_s),
            output_dir=output_dir,
            name=ctx.call_id,
            hidden_env=hidden,
            update=ctx.update,
            stopped=ctx.cancelled.is_set,
        )
        return _result(command, outcome)

    return shell


def _result(command: str, outcome: CommandOutcome) -> ToolResult:
    details: dict[str, Any] = {
        "command": command,
        "exit_code": outcome.exit_code,
        "duration_s": round(outcome.duration_s, 3),
        "ending": outcome.ending,
    }
    for name in ("output_path", "styled", "background", "survivors"):
        if value := getattr(outcome, name):
            details[name] = value
    body = outcome.text.rstrip("\n")
    notes = [f"[{note}]" for note in outcome.notes]
    if not body.strip():
        body = "" if notes else "[no output]"
    text = "\n".join(part for part in (body, *notes) if part)
    failed = outcome.ending != "exited" or outcome.exit_code != 0
    return ToolResult.text(text, is_error=failed, details=details)


async def run_command(
    command: str,
    cwd: str,
    *,
    timeout_s: float = 120.0,
    output_dir: str | None = None,
    name: str = "command",
    hidden_env: Sequence[str] = (),
    update: Callable[[str], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> CommandOutcome:
    """Run `command` in bash in `cwd`, at most `timeout_s` seconds.

    update gets the output as it comes, about ten pieces of text a second, each at most some
    8,000 characters (a flood is shown in part). The pieces joined and read by text.ansi_spans
    are what a terminal would show: a piece may hold colours, and begins with CR and an erase
    where the unfinished line shown last is written anew.

    When the task is cancelled the command and all that it started are ended (TERM, KILL after
    0.5 s) within 2 s. If `stopped` then says that the call was meant, the outcome with the
    output so far is given; otherwise CancelledError is raised.
    Raises ToolError when there is no such folder or the command cannot be one.
    """
    Workspace(cwd).require_cwd()
    command = whole(command)
    if "\0" in command:
        raise ToolError("The command holds a NUL character, which no command can have.")
    if not command.strip():
        raise ToolError("The command is empty.")
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def post(call: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended before the command
            loop.call_soon_threadsafe(call, *arguments)

    def show(piece: str) -> None:
        if update is not None and not done.is_set():
            update(piece)

    run = CommandRun(
        command,
        cwd,
        timeout_s=min(timeout_s, MAX_TIMEOUT_S),
        environ=child_environment(os.environ, hidden_env),
        buffer=OutputBuffer(output_dir, name),
        show=lambda piece: post(show, piece),
        finished=lambda: post(done.set),
    )
    run.start()
    try:
        await done.wait()
    except asyncio.CancelledError:
        run.cancel()
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _SETTLE_S)
        task = asyncio.current_task()
        if not stopped() or task is None:
            raise
        task.uncancel()
    return run.outcome()
