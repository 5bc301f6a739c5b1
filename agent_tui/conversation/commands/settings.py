"""/settings: every setting, where it comes from; change one."""

import difflib
from dataclasses import asdict
from typing import TYPE_CHECKING

from agent_tui.conversation.commands.registry import CommandRegistry, Completion
from agent_tui.conversation.mcp.markdown import code, plain, table
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.settings_change import BY_USE, SettingError, SettingRow
from agent_tui.settings import Settings

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

USAGE = "/settings [NAME [VALUE | unset]]"

_OTHER_NAMES = {"effort": "thinking"}
"""What a setting is called elsewhere: by the command that changes it."""


async def settings(conversation: "Conversation", arguments: str) -> CommandResult:
    held = conversation.held_settings
    if not arguments:
        rows = held.rows()
        cells = [
            [code(r.name), code(r.value, 60), plain(r.source, 120), plain(r.title)] for r in rows
        ]
        return CommandResult(
            text=table(["setting", "value", "from", ""], cells),
            action="settings",
            data={"settings": [asdict(row) for row in rows]},
        )
    name, _, value = arguments.partition(" ")
    name, value = name.replace("-", "_"), value.strip()
    name = _OTHER_NAMES.get(name, name)
    if name not in Settings.model_fields:
        close = difflib.get_close_matches(name, Settings.model_fields, n=1)
        hint = f"did you mean {close[0]}?" if close else "/settings lists them."
        return CommandResult(error=f"There is no setting {code(name)}: {hint}")
    if not value:
        row = held.row(name)
        return CommandResult(text=_one(row), data={"settings": [asdict(row)]})
    try:
        said = await held.change(name, None if value == "unset" else value)
    except SettingError as error:
        return CommandResult(error=str(error))
    row = held.row(name)
    return CommandResult(
        text=f"{code(name)} is {code(row.value)}. {plain(said, 400)}",
        data={"settings": [asdict(row)]},
    )


def _one(row: SettingRow) -> str:
    choices = f" One of {', '.join(row.choices)}." if row.choices else ""
    when = "at once" if row.live else "from the next start on"
    change = "" if row.secret else f" A change holds {when}."
    return (
        f"{code(row.name)} is {code(row.value)}, from {plain(row.source, 400)}.\n\n"
        f"{row.title}. {row.description}{choices}{change}"
    )


def _complete(conversation: "Conversation", typed: str) -> list[Completion]:
    name, space, value = typed.partition(" ")
    held = conversation.held_settings
    if not space:
        names = [n for n in BY_USE if n.startswith(name)]
        names += [n for n in BY_USE if name and name in n and n not in names]
        return [Completion(f"{n} ", held.row(n).title) for n in names]
    if name not in Settings.model_fields:
        return []
    row = held.row(name)
    return (
        []
        if row.secret
        else [
            Completion(f"{name} {c}", "now" if c == row.value else "")
            for c in (*row.choices, "unset")
            if c.startswith(value)
        ]
    )


async def theme(conversation: "Conversation", arguments: str) -> CommandResult:
    return await settings(conversation, f"theme {arguments}".rstrip())


def _complete_theme(conversation: "Conversation", typed: str) -> list[Completion]:
    found = _complete(conversation, f"theme {typed}")
    return [Completion(c.arguments.removeprefix("theme "), c.help) for c in found]


def register(registry: CommandRegistry) -> None:
    registry.add("settings", USAGE, "every setting; change one", settings, _complete)
    registry.add("theme", "/theme [NAME]", "the colours (setting theme)", theme, _complete_theme)
