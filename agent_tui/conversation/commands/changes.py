"""/diff: all that the write and edit calls of this session have changed."""

import asyncio
from typing import TYPE_CHECKING

from agent_tui.conversation.commands.registry import CommandRegistry, Completion
from agent_tui.conversation.mcp.markdown import block, code
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.session_diff import (
    MOST_FILES,
    FileDiff,
    calls_that_changed,
    session_diffs,
)
from agent_tui.text import count

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

USAGE = "/diff [FILE]"
MOST_SHOWN = 200_000
"""Characters of diffs in one answer; what lies beyond is listed."""
NOT_WHOLE = (
    "Something else has changed this file too, so these are the diffs of the calls, one after "
    "the other."
)


async def diff(conversation: "Conversation", arguments: str) -> CommandResult:
    messages = list(conversation.messages)
    found = await asyncio.to_thread(session_diffs, messages, conversation.cwd)
    if arguments:
        wanted = [one for one in found if one.path == arguments.removeprefix("./")]
        if not wanted:
            known = ", ".join(code(one.path) for one in found[:20])
            hint = f" It has changed {known}." if known else ""
            return CommandResult(
                error=f"This session has not changed {code(arguments)} by write or edit.{hint}"
            )
        found = wanted
    data = {
        "files": [
            {"path": one.path, "diff": one.diff, "whole": one.whole, "calls": one.calls}
            for one in found
        ]
    }
    if not found:
        return CommandResult(text="This session has changed no file by write or edit.", data=data)
    return CommandResult(text=_shown(found), data=data)


def _shown(found: list[FileDiff]) -> str:
    parts: list[str] = []
    room = MOST_SHOWN
    for one in found:
        added, removed = one.counts
        calls = f", {one.calls} calls" if one.calls > 1 else ""
        title = f"{code(one.path)}  +{added} -{removed}{calls}"
        room -= len(one.diff)
        if room < 0 and parts:
            parts.append(f"{title}: left out here, `/diff {one.path}` shows it.")
            continue
        note = "" if one.whole else f"\n\n{NOT_WHOLE}"
        shown = block(one.diff.rstrip("\n")).replace("text\n", "diff\n", 1)
        parts.append(f"{title}{note}\n\n{shown}")
    if len(found) == MOST_FILES:
        parts.append(f"Shown are the first {count(MOST_FILES)} files.")
    return "\n\n".join(parts)


def _complete(conversation: "Conversation", typed: str) -> list[Completion]:
    paths = [path for path, _, _ in calls_that_changed(conversation.messages)]
    return [Completion(path) for path in dict.fromkeys(paths) if path.startswith(typed)][:50]


def register(registry: CommandRegistry) -> None:
    registry.add("diff", USAGE, "what write and edit have changed in this session", diff, _complete)
