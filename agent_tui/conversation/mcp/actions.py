"""What can be done with MCP servers, by words: `/mcp add zoo -- zoo-server`, `agent-tui mcp list`.

The same for the slash command, the command line and RPC. Everything acts at once, also in the
middle of a run; what a server brings joins at the next request of the model.
"""

import asyncio
import difflib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict
from typing import Any, get_args

from agent_tui.conversation.mcp import lists
from agent_tui.conversation.mcp.link import McpLink
from agent_tui.conversation.mcp.markdown import code, plain
from agent_tui.conversation.mcp.words import (
    FORMS,
    Line,
    WrongForm,
    read,
    server_of,
    server_of_json,
)
from agent_tui.conversation.results import CommandResult
from agent_tui.mcp_servers.config import ServerConfig
from agent_tui.mcp_servers.types import LogLevel, McpError, Scope
from agent_tui.text import clean

LOG_LINES = 50
_LOG_BYTES = 200_000


class McpActions:
    """link: the servers. command: what the user types before the action, for the forms that
    errors show. scope: where servers are kept if the line does not say."""

    def __init__(self, link: McpLink, *, command: str, scope: Scope) -> None:
        self._link, self._command = link, command
        self._scope: Scope = scope
        self._actions: dict[str, Callable[[Line], Coroutine[Any, Any, CommandResult]]] = {
            "add": self._add,
            "add-json": self._add_json,
            "remove": self._remove,
            "list": self._list,
            "get": self._get,
            "enable": self._enable,
            "disable": self._disable,
            "reconnect": self._reconnect,
            "login": self._login,
            "logout": self._logout,
            "tools": self._tools,
            "resources": self._resources,
            "prompts": self._prompts,
            "log": self._log,
            "level": self._level,
        }

    async def run(self, words: Sequence[str]) -> CommandResult:
        """Never raises for what the words say."""
        action, *rest = words or ["list"]
        if action not in self._actions:
            near = difflib.get_close_matches(action, FORMS, 1)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(FORMS)}."
            return CommandResult(error=f"{self._command} {clean(action)} is not known. {hint}")
        try:
            return await self._actions[action](read(action, rest))
        except WrongForm as wrong:
            form = f"The form is: {self._command} {wrong.form or FORMS[action]}"
            return CommandResult(error=" ".join(part for part in (str(wrong), form) if part))
        except McpError as error:
            return CommandResult(error=str(error))

    def _name(self, line: Line, action: str) -> str:
        """The one name of a line. Raises WrongForm."""
        if line.command is None and len(line.names) == 1:
            return line.names[0]
        # Files may have names with spaces: whoever types one means it, quotes or not.
        if line.command is None and (whole := " ".join(line.names)) in self._link.servers():
            return whole
        spaces = "A name with spaces stands in quotes." if len(line.names) > 1 else ""
        raise WrongForm(FORMS[action], spaces)

    # --- attaching --------------------------------------------------------------------------

    async def _add(self, line: Line) -> CommandResult:
        return await self._attach(server_of(line), line)

    async def _add_json(self, line: Line) -> CommandResult:
        return await self._attach(server_of_json(line), line)

    async def _attach(self, config: ServerConfig, line: Line) -> CommandResult:
        manager = await self._link.get_manager()
        scope = line.scope or self._scope
        self._link.expect(config.name)
        manager.add(config, scope)
        snapshot = manager.snapshot(config.name)
        where = f"It is kept in {code(snapshot.source, 300)}."
        if scope == "conversation":
            where = "It is there until agent-tui ends; --user or --project keeps it."
        text = f"{code(config.name)} is added: {code(snapshot.target)}. {where}"
        if not config.enabled:
            text = f"{code(config.name)} is added, but disabled. {where}"
        return CommandResult(text=text, data={"server": asdict(snapshot)})

    async def _remove(self, line: Line) -> CommandResult:
        name = self._name(line, "remove")
        manager = await self._link.get_manager()
        if line.scope is not None and (is_in := manager.snapshot(name).scope) != line.scope:
            raise McpError(f"{clean(name)} is a server of the {is_in}, not of the {line.scope}.")
        return CommandResult(text=plain(await manager.remove(name), 500))

    async def _enable(self, line: Line) -> CommandResult:
        name = self._name(line, "enable")
        manager = await self._link.get_manager()
        self._link.expect(name)
        before = manager.config_lines(name)
        await manager.set_enabled(name, True)
        self._forget_another(name, before, manager.config_lines(name))
        source = manager.snapshot(name).source
        where = f" It is the one of {code(source, 300)}." if source else ""
        return CommandResult(text=f"{code(name)} is switched on.{where}")

    async def _disable(self, line: Line) -> CommandResult:
        name = self._name(line, "disable")
        await (await self._link.get_manager()).set_enabled(name, False)
        return CommandResult(
            text=f"{code(name)} is switched off; its tools are gone with the next request."
        )

    async def _reconnect(self, line: Line) -> CommandResult:
        name = self._name(line, "reconnect")
        manager = await self._link.get_manager()
        self._link.expect(name)
        before = manager.config_lines(name)
        manager.reconnect(name)
        self._forget_another(name, before, manager.config_lines(name))
        return CommandResult(text=f"{code(name)} is being connected anew.")

    def _forget_another(self, name: str, before: list[str], now: list[str]) -> None:
        """What was allowed to a server does not hold for another by its name."""
        if now != before:
            self._link.forget_allowed(name)

    async def _login(self, line: Line) -> CommandResult:
        name = self._name(line, "login")
        manager = await self._link.get_manager()
        if manager.snapshot(name).transport == "stdio":
            raise McpError(f"{clean(name)} is a program on this computer; it has no login.")
        self._link.log_in(name)
        return CommandResult(text=f"The login at {code(name)} begins.")

    async def _logout(self, line: Line) -> CommandResult:
        name = self._name(line, "logout")
        had = await (await self._link.get_manager()).logout(name)
        said = "The login is forgotten." if had else "There was no login."
        return CommandResult(text=f"{code(name)}: {said}")

    # --- looking ----------------------------------------------------------------------------

    async def _list(self, line: Line) -> CommandResult:
        if line.names or line.command is not None:
            raise WrongForm(FORMS["list"])
        snapshots = (await self._link.get_manager()).snapshots()
        if not snapshots:
            text = f"No MCP server is configured. The form is: {self._command} {FORMS['add']}"
            return CommandResult(text=plain(text, 300), data={"servers": []})
        return CommandResult(
            text=lists.servers_text(snapshots),
            data={"servers": [asdict(snapshot) for snapshot in snapshots]},
        )

    async def _get(self, line: Line) -> CommandResult:
        name = self._name(line, "get")
        manager = await self._link.get_manager()
        snapshot = manager.snapshot(name)
        text = lists.server_text(snapshot, manager.config_lines(name))
        return CommandResult(text=text, data={"server": asdict(snapshot)})

    async def _some(self, line: Line, action: str) -> list[Any]:
        """Snapshots of the server named, or of all."""
        manager = await self._link.get_manager()
        if not line.names and line.command is None:
            return manager.snapshots()
        return [manager.snapshot(self._name(line, action))]

    async def _one_or_all(self, line: Line, action: str) -> str | None:
        """The name of the server that a line names; None: all. Raises McpError."""
        await self._some(line, action)
        return self._name(line, action) if line.names else None

    async def _tools(self, line: Line) -> CommandResult:
        snapshots = await self._some(line, "tools")
        tools = [asdict(tool) for snapshot in snapshots for tool in snapshot.tools]
        return CommandResult(text=lists.tools_text(snapshots), data={"tools": tools})

    async def _resources(self, line: Line) -> CommandResult:
        name = await self._one_or_all(line, "resources")
        found = (await self._link.get_manager()).resources(name)
        return CommandResult(
            text=lists.resources_text(found), data={"resources": [asdict(r) for r in found]}
        )

    async def _prompts(self, line: Line) -> CommandResult:
        name = await self._one_or_all(line, "prompts")
        found = (await self._link.get_manager()).prompts(name)
        shown = self._link.prompts.names()
        return CommandResult(
            text=lists.prompts_text(found, shown), data={"prompts": [asdict(p) for p in found]}
        )

    async def _log(self, line: Line) -> CommandResult:
        manager = await self._link.get_manager()
        *before, last = line.names or [""]
        count = LOG_LINES
        if before and last.isdecimal() and " ".join(line.names) not in manager.servers():
            count = int(last[:9])
            line.names = before
        name = self._name(line, "log")
        lines = manager.log_tail(name, count)
        path = manager.log_path(name)
        if not lines:
            lines = await asyncio.to_thread(_last_lines, path, count)
        return CommandResult(text=lists.log_text(lines, path), data={"lines": lines, "path": path})

    async def _level(self, line: Line) -> CommandResult:
        level = self._name(line, "level")
        known: tuple[LogLevel, ...] = get_args(LogLevel)
        chosen: LogLevel | None = next((k for k in known if k == level), None)
        if chosen is None:
            raise WrongForm(FORMS["level"])
        await (await self._link.get_manager()).set_log_level(chosen)
        return CommandResult(text=f"Servers that log send {chosen} and above from now on.")


def _last_lines(path: str, count: int) -> list[str]:
    """Of the file, where this program has not written any (secrets were masked when it was)."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _LOG_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return text.splitlines()[-count:]
