"""Toolset: which tools the next request offers, and who may call each: the model, programs.

Tools come from sources (the built-in ones, the service's own, an MCP server each). The user
chooses an exposure by name, for a server (`server__*`) or for all; what the API does not allow
for programs (facts, "Not together with") stays direct, with the reason. Pure: no request is
made here, and nothing is asked.
"""

import difflib
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from agent_tui.agent.tools import AgentTool
from agent_tui.messages_api.server_tools import (
    CODE_EXECUTION,
    CODE_EXECUTION_TYPE,
    DIRECT,
    SERVER_TOOLS,
    TOOL_SEARCH_TOOL,
    TOOLSET_TYPE,
    for_programs,
    is_deferred,
    is_server_run,
    server_tool,
)
from agent_tui.messages_api.tool_schemas import may_recur

Exposure = Literal["direct", "programmatic", "both", "off"]
EXPOSURES: tuple[Exposure, ...] = get_args(Exposure)

BUILTIN, SERVER, CONNECTOR = "builtin", "server tools", "connector"
"""Sources of their own; every other is an MCP server's name."""

_ORDER = {BUILTIN: 0, CONNECTOR: 2, SERVER: 3}

ALL = "all"
"""In place of a name: every tool that runs here."""

_CALLERS: dict[Exposure, list[str]] = {
    "direct": [DIRECT],
    "programmatic": [CODE_EXECUTION_TYPE],
    "both": [DIRECT, CODE_EXECUTION_TYPE],
}
_SEARCH = server_tool(TOOL_SEARCH_TOOL)
_EXECUTION = next(server_tool(kind) for kind in SERVER_TOOLS if kind.name == CODE_EXECUTION)


class ToolChoiceError(ValueError):
    """What was asked for cannot be: one sentence that says what can."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool as /tools shows it. wanted: what was chosen or is the default; exposure: what
    holds now; note: why these differ, or what else is to be known. here: its calls run here."""

    name: str
    source: str
    exposure: Exposure
    wanted: Exposure
    note: str = ""
    here: bool = True


class Toolset:
    """See module docstring. default: of tools that run here; chosen: exposures by name or
    pattern (`github__*`), from the settings. A tool that brings `allowed_callers` of its own has
    these until something is chosen."""

    def __init__(
        self, *, default: Exposure = "direct", chosen: Mapping[str, Exposure] | None = None
    ) -> None:
        self._settings: tuple[Exposure, dict[str, Exposure]] = (default, dict(chosen or {}))
        self._default: Exposure = default
        self._all_chosen = False
        self._chosen: dict[str, Exposure] = dict(chosen or {})
        self._made_here: dict[str, str] = {}
        self._sources: dict[str, tuple[AgentTool, ...]] = {
            SERVER: tuple(server_tool(kind) for kind in SERVER_TOOLS)
        }
        self._own: dict[str, dict[str, Exposure]] = {}
        self._subscribers: tuple[Callable[[], None], ...] = ()
        self._no_programs: str | None = None
        self._made: dict[tuple[int, Exposure], tuple[AgentTool, AgentTool]] = {}
        self._recurs: dict[int, tuple[Any, bool]] = {}

    # --- where tools come from ------------------------------------------------------------

    def offer(
        self, source: str, tools: Sequence[AgentTool], own: Mapping[str, Exposure] | None = None
    ) -> None:
        """These are the tools of the source from now on; own: exposures that it asks for, by
        name, until others are chosen. The service's own are kept beside what is offered as
        "server tools"."""
        kept = tuple(tools)
        self._own[source] = dict(own or {})
        if source == SERVER:
            names = {tool.name for tool in kept}
            rest = (server_tool(kind) for kind in SERVER_TOOLS if kind.name not in names)
            kept = (*rest, *kept)
        self._sources[source] = kept
        self._forget()

    def withdraw(self, source: str) -> None:
        """The source has no tools any more (its server is gone)."""
        if self._sources.pop(source, None):
            self._forget()

    def programs_refused(self, why: str | None) -> None:
        """Why no tool can be for programs at present (the model cannot run them); None: it can."""
        if why != self._no_programs:
            self._no_programs = why
            self._changed()

    def subscribe(self, fn: Callable[[], None]) -> Callable[[], None]:
        """fn() after each change of what tools() gives. Returns the unsubscriber."""
        self._subscribers = (*self._subscribers, fn)

        def unsubscribe() -> None:
            self._subscribers = tuple(f for f in self._subscribers if f is not fn)

        return unsubscribe

    def _forget(self) -> None:
        self._made.clear()
        self._recurs.clear()
        self._changed()

    def _changed(self) -> None:
        for fn in self._subscribers:
            fn()

    # --- who may call ------------------------------------------------------------------------

    def exposure(self, name: str) -> Exposure:
        """What was chosen for the tool, or is its default. Raises ToolChoiceError."""
        source, tool = self._find(name)
        return self._wanted(source, tool)

    def set_exposure(self, name: str, exposure: Exposure) -> None:
        """name: a tool's, a pattern for some (`github__*`), or "all" (every tool that runs here,
        also those of servers that come later). Raises ToolChoiceError."""
        if exposure not in EXPOSURES:
            raise ToolChoiceError(f"{exposure!r} is no exposure; there are {', '.join(EXPOSURES)}.")
        if name != ALL and _is_pattern(name):
            if not any(fnmatch.fnmatchcase(tool.name, name) for _, tool in self._each()):
                raise ToolChoiceError(f"No tool is named like {name}. /tools lists them.")
        elif name != ALL:
            source, tool = self._find(name)
            self._check(source, tool, exposure)
        self._choose(name, exposure)
        self._changed()

    def choices(self) -> dict[str, str]:
        """What set_exposure has chosen and holds still, in order, for restore(); what the
        settings say is not in it."""
        return dict(self._made_here)

    def restore(self, choices: Mapping[str, str]) -> None:
        """These in place of what was chosen since the settings were read. A tool that there is
        not (yet) keeps its choice; an exposure that this version does not know has no effect."""
        default, chosen = self._settings
        self._default, self._all_chosen, self._chosen = default, False, dict(chosen)
        self._made_here = {}
        for name, word in choices.items():
            known: list[Exposure] = [e for e in EXPOSURES if e == word]
            exposure = known[0] if known else None
            if exposure is None:
                self._made_here[name] = word
            else:
                self._choose(name, exposure)
        self._changed()

    def _choose(self, name: str, exposure: Exposure) -> None:
        """Above all that was chosen before for the same tools."""
        for choices in (self._chosen, self._made_here):
            for known in [p for p in choices if self._covers(name, p)]:
                del choices[known]
        if name == ALL:
            self._default, self._all_chosen = exposure, True
        else:
            self._chosen[name] = exposure
        self._made_here[name] = exposure

    def _covers(self, name: str, other: str) -> bool:
        if name == ALL:
            return not self._is_the_services(other)
        # As the name itself first: a pattern may not match its own text ("a[bc]").
        return name == other or (_is_pattern(name) and fnmatch.fnmatchcase(other, name))

    def tools(self) -> list[AgentTool]:
        """What the next request offers: `allowed_callers` set where programs may call, and the
        code execution tool where one may."""
        offered: list[AgentTool] = []
        programs = False
        for source, tool in self._each():
            if _is_execution(source, tool):
                continue
            exposure, _ = self._standing(source, tool)
            if exposure != "off":
                offered.append(self._made_for(tool, exposure))
                programs = programs or for_programs(offered[-1])
        if (programs or self._wanted(SERVER, _EXECUTION) != "off") and all(
            tool.name != CODE_EXECUTION for tool in offered
        ):
            offered.append(_EXECUTION)
        if any(map(is_deferred, offered)):
            offered.append(_SEARCH)
        return offered

    def rows(self) -> list[ToolRow]:
        """Every tool, source by source, also those that are off; the service's own last."""
        callable_ = 0
        rows: list[ToolRow] = []
        for source, tool in sorted(self._each(), key=lambda each: _ORDER.get(each[0], 1)):
            exposure, note = self._standing(source, tool)
            callable_ += exposure in ("programmatic", "both") and not _is_execution(source, tool)
            wanted = self._wanted(source, tool)
            rows.append(ToolRow(tool.name, source, exposure, wanted, note, not is_server_run(tool)))
        deferred = sum(map(is_deferred, self.tools()))
        if deferred:
            note = f"on: it finds {'1 tool' if deferred == 1 else f'{deferred} tools'} by words"
            rows.append(ToolRow(_SEARCH.name, SERVER, "direct", "direct", note, here=False))
        return [self._with_programs(row, callable_) for row in rows]

    def _with_programs(self, row: ToolRow, callable_: int) -> ToolRow:
        if row.source != SERVER or row.name != CODE_EXECUTION or not callable_:
            return row
        tools = "1 tool" if callable_ == 1 else f"{callable_} tools"
        return replace(row, exposure="direct", note=f"on: programs may call {tools}")

    def held_back(self) -> dict[str, str]:
        """The tools that programs were to call and may not, and why, by name."""
        return {
            tool.name: note
            for source, tool in self._each()
            for exposure, note in [self._standing(source, tool)]
            if exposure == "direct" and self._wanted(source, tool) in ("programmatic", "both")
        }

    def unknown(self) -> dict[str, str]:
        """Choices of the settings that are for no tool there is (and for no server's, which may
        come later), each with what to do."""
        names = [tool.name for _, tool in self._each()]
        lost = [n for n in self._settings[1] if "__" not in n and not fnmatch.filter(names, n)]
        near = {name: difflib.get_close_matches(name, names, 1) for name in lost}
        return {
            name: f"did you mean {near[name][0]}?" if near[name] else "/tools lists them all."
            for name in lost
        }

    def names(self) -> list[str]:
        """For completion: the tools', then a pattern for each MCP server, then "all"."""
        names = [tool.name for _, tool in self._each()]
        servers = [s for s in self._sources if s not in (BUILTIN, SERVER, CONNECTOR)]
        return [*names, *(f"{s}__*" for s in servers if any(n.startswith(f"{s}__") for n in names)),
                ALL]  # fmt: skip

    # --- inside ------------------------------------------------------------------------------

    def _each(self) -> list[tuple[str, AgentTool]]:
        return [(source, tool) for source, tools in self._sources.items() for tool in tools]

    def _find(self, name: str) -> tuple[str, AgentTool]:
        for source, tool in self._each():
            if tool.name == name:
                return source, tool
        near = difflib.get_close_matches(name, self.names(), 1)
        hint = f" Did you mean {near[0]}?" if near else " /tools lists them."
        raise ToolChoiceError(f"There is no tool {name}.{hint}")

    def _is_the_services(self, name: str) -> bool:
        """A choice that "all" leaves alone: its tool does not run here."""
        return any(
            tool.name == name and (source == SERVER or is_server_run(tool))
            for source, tool in self._each()
        )

    def _wanted(self, source: str, tool: AgentTool) -> Exposure:
        chosen = self._chosen.get(tool.name)
        if chosen is not None:
            return chosen
        for pattern, exposure in reversed(self._chosen.items()):
            if _is_pattern(pattern) and fnmatch.fnmatchcase(tool.name, pattern):
                return exposure
        if source == SERVER:
            return "off"
        if source == CONNECTOR:
            return "direct"
        if not self._all_chosen and (own := self._own.get(source, {}).get(tool.name)):
            return own
        if not self._all_chosen and "allowed_callers" in tool.wire:
            return _own_exposure(tool)
        return self._default

    def _standing(self, source: str, tool: AgentTool) -> tuple[Exposure, str]:
        """What holds for the tool, and why that is not what is wanted."""
        wanted = self._wanted(source, tool)
        if wanted in ("programmatic", "both") and (why := self._obstacle(source, tool)):
            return "direct", why
        return wanted, ""

    def _obstacle(self, source: str, tool: AgentTool) -> str:
        if source == CONNECTOR or tool.wire.get("type") == TOOLSET_TYPE:
            return "programs cannot call the connector's tools"
        if _is_execution(source, tool):
            return "it runs the programs"
        if self._no_programs is not None:
            return self._no_programs
        if servers := self._connected():
            return f"programs do not go together with the connector ({', '.join(servers)})"
        if tool.wire.get("strict"):
            return "it is strict, which programs cannot call"
        if tool.wire.get("type") in (None, "custom") and self._may_recur(tool):
            return "its schema refers to itself, which programs cannot call"
        return ""

    def _connected(self) -> list[str]:
        return [
            tool.name
            for tool in self._sources.get(CONNECTOR, ())
            if self._wanted(CONNECTOR, tool) != "off"
        ]

    def _may_recur(self, tool: AgentTool) -> bool:
        # Each is looked at once: an MCP server's schemas can be large.
        known = self._recurs.get(id(tool))
        if known is None or known[0] is not tool:
            known = self._recurs[id(tool)] = (tool, may_recur(tool.parameters))
        return known[1]

    def _check(self, source: str, tool: AgentTool, exposure: Exposure) -> None:
        """What makes no sense for this tool is refused; what may later be possible is not."""
        programs = exposure in ("programmatic", "both")
        if programs and (source == CONNECTOR or _is_execution(source, tool)):
            raise ToolChoiceError(
                f"{tool.name} can be direct or off: {self._obstacle(source, tool)}."
            )

    def _made_for(self, tool: AgentTool, exposure: Exposure) -> AgentTool:
        """The tool with its callers on the wire; the same object each time, itself where nothing
        changes."""
        key = (id(tool), exposure)
        known = self._made.get(key)
        if known is None or known[0] is not tool:
            known = self._made[key] = (tool, _with_callers(tool, exposure))
        return known[1]


def _with_callers(tool: AgentTool, exposure: Exposure) -> AgentTool:
    if tool.wire.get("type") == TOOLSET_TYPE:
        return tool
    callers = _CALLERS[exposure]
    # Without the field a tool is direct; the service's newest ones are then for programs.
    needs = exposure != "direct" or is_server_run(tool)
    if (
        (tool.wire.get("allowed_callers") == callers)
        if needs
        else ("allowed_callers" not in tool.wire)
    ):
        return tool
    wire = {k: v for k, v in tool.wire.items() if k != "allowed_callers"}
    return replace(tool, wire=wire | {"allowed_callers": list(callers)} if needs else wire)


def _own_exposure(tool: AgentTool) -> Exposure:
    callers = tool.wire.get("allowed_callers") or [DIRECT]
    if not for_programs(tool):
        return "direct"
    return "both" if DIRECT in callers else "programmatic"


def _is_execution(source: str, tool: AgentTool) -> bool:
    return source == SERVER and tool.name == CODE_EXECUTION


def _is_pattern(name: str) -> bool:
    return any(c in name for c in "*?[")
