"""ToolsState: the timeline of the tools panel, as plain data."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent_tui.text import counted
from agent_tui.tui.lines import one_line
from agent_tui.tui.transcript.api_kinds import make_block
from agent_tui.tui.transcript.lines import Look
from agent_tui.tui.transcript.program_calls import GROUPED, CallState, Tally

RowState = Literal[
    "arguments", "waiting", "asking", "ready", "running", "done", "failed", "stopped"
]
"""ready: it may run, and does once no other call of its message asks (DESIGN: no parallel call
executes before all are prepared)."""
MAX_ROWS = 300
"""Rows kept in the timeline; older ones are counted only (the transcript has them all)."""
_TELLING = ("command", "path", "pattern", "query", "url", "file", "name", "sql", "code")


def short_argument(arguments: dict[str, Any], limit: int = 120) -> str:
    """The argument that says most, as one safe line: a command, a path, else the first value."""
    for name in _TELLING:
        if isinstance(arguments.get(name), str):
            return one_line(arguments[name], limit)
    for name, value in arguments.items():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return one_line(f"{name}={value}", limit)
    return ""


def progress_words(partial: Mapping[str, Any]) -> str:
    """A server's word on how far a call is: `2 of 3  counting`; "" for anything else."""
    done, total, message = (partial.get(key) for key in ("progress", "total", "message"))
    parts: list[str] = []
    if isinstance(done, int | float) and not isinstance(done, bool):
        of = f" of {total:g}" if isinstance(total, int | float) and total else ""
        parts.append(f"{done:g}{of}")
    if isinstance(message, str):
        parts.append(message)
    return "  ".join(parts)


_ENDED = frozenset({"done", "failed", "stopped"})
_CONTAINER_TOOLS = {"bash_code_execution": "bash", "text_editor_code_execution": "file"}
"""What the API's tools in the container are called besides programs, which are numbered."""


@dataclass(slots=True)
class ToolRow:
    """One line of the tools timeline. depth 1: called by the program in the row above it.

    started: clock seconds, None before it runs. seconds: how long it took, once it ended.
    tail: the last line of its live output; lines: how many came so far.
    """

    id: str
    name: str
    argument: str = ""
    state: RowState = "arguments"
    started: float | None = None
    seconds: float | None = None
    tail: str = ""
    lines: int = 0
    parent: str | None = None
    program: bool = False
    remote: bool = False
    """The API runs it: it waits for nobody here and cannot be stopped alone."""
    waits: int = 0
    """Calls that a program waits for."""
    unanswered: bool = False
    """Nothing in a stored history answers it: whether it ran is not known."""
    tallied: CallState | None = None

    @property
    def depth(self) -> int:
        return 1 if self.parent else 0


class ToolsState:
    """The timeline: rows in order, a program's calls right below it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.rows: dict[str, ToolRow] = {}
        self.dropped = 0
        self._programs = 0
        self._tallies: dict[str, Tally] = {}
        """Of the calls of each program, by its id."""

    @property
    def running(self) -> list[ToolRow]:
        return [r for r in self.rows.values() if r.state == "running"]

    @property
    def under_way(self) -> bool:
        """A call is there that can be stopped alone."""
        ended = ("done", "failed", "stopped")
        here = (r for r in self.rows.values() if not r.program and not r.remote)
        return any(r.state not in ended for r in here)

    @property
    def active(self) -> bool:
        """True while a row's elapsed time moves."""
        return any(r.state == "running" for r in self.rows.values())

    def ordered(self) -> list[ToolRow]:
        """Rows as shown: in order of arrival, children below their program; of a program that
        makes many calls those that went well are one row."""
        children: dict[str, list[ToolRow]] = {}
        for row in self.rows.values():
            if row.parent in self.rows:
                children.setdefault(row.parent or "", []).append(row)
        shown: list[ToolRow] = []
        for row in self.rows.values():
            if row.parent not in self.rows:
                below = children.get(row.id, [])
                row.waits = sum(r.state not in _ENDED for r in below) if row.program else 0
                shown.append(row)
                shown += self._grouped(row.id, below) if len(below) > GROUPED else below
        return shown

    def _grouped(self, program: str, rows: list[ToolRow]) -> list[ToolRow]:
        done = Counter(row.name for row in rows if row.state == "done")
        if not done:
            return rows
        tally = self._tallies.get(program)
        summed = ToolRow(
            f"{program}/done", counted(done.total(), "call"),
            ", ".join(f"{n:,} {name}" for name, n in done.most_common()),
            state="done", seconds=(tally and tally.seconds) or None, parent=program,
        )  # fmt: skip
        return [summed, *(row for row in rows if row.state != "done")]

    def _tally(self, row: ToolRow, state: CallState) -> None:
        """A program's call is in this state now."""
        if row.parent is not None and row.tallied != state:
            tally = self._tallies.setdefault(row.parent, Tally())
            tally.moved(row.id, row.tallied, state, row.seconds)
            row.tallied = state

    def call_begins(self, call_id: str, name: str, caller: dict[str, Any] | None) -> None:
        if call_id in self.rows:
            return
        if (parent := _program_of(caller)) in self.rows:
            self.program_begins(parent or "")  # what calls is whole
        self._add(ToolRow(call_id, one_line(name, 60), parent=parent))

    def call_complete(self, call_id: str, arguments: dict[str, Any]) -> None:
        row = self.rows.get(call_id)
        if row is not None and row.state in ("arguments", "stopped"):
            row.argument = short_argument(arguments)
            row.state = "waiting" if row.state == "arguments" else row.state

    def program_begins(
        self, call_id: str, tool: str = "code_execution", *, written: bool = True
    ) -> None:
        """written: its code is whole, it runs. Until then it is being written, and no time
        counts (as in the transcript)."""
        if (row := self.rows.get(call_id)) is not None:
            if written and row.state == "arguments":
                row.state, row.started = "running", self._clock()
            return
        self._programs += tool == "code_execution"
        name = f"program {self._programs}" if tool == "code_execution" else _CONTAINER_TOOLS[tool]
        row = ToolRow(call_id, name, program=True)
        if written:
            row.state, row.started = "running", self._clock()
        self._add(row)

    def programs_before(self, raws: Iterable[dict[str, Any]]) -> None:
        """Blocks that are not shown: the programs among them have had their numbers."""
        self._programs += sum(
            raw.get("type") == "server_tool_use" and raw.get("name") == "code_execution"
            for raw in raws
        )

    def program_ends(self, call_id: str, *, failed: bool) -> None:
        if (row := self.rows.get(call_id)) is not None:
            self._end(row, "failed" if failed else "done")

    def starts(self, call_id: str, name: str, arguments: dict[str, Any], caller: Any) -> None:
        self.call_begins(call_id, name, caller)
        row = self.rows[call_id]
        row.state, row.started = "running", self._clock()
        row.argument = short_argument(arguments) or row.argument
        self._tally(row, "running")
        if self._asking:
            self._hold(row)

    def asks(self, call_id: str, name: str, arguments: dict[str, Any], caller: Any) -> None:
        """The call waits for the user; no time counts until it may run."""
        self.call_begins(call_id, name, caller)
        row = self.rows[call_id]
        row.state, row.started = "asking", None
        row.argument = short_argument(arguments) or row.argument
        for other in self.rows.values():
            self._hold(other)

    def answered(self, call_id: str) -> None:
        if (row := self.rows.get(call_id)) is not None and row.state == "asking":
            row.state = "ready"
        if not self._asking:
            for row in self.rows.values():
                if row.state == "ready":
                    row.state, row.started = "running", self._clock()

    @property
    def _asking(self) -> bool:
        return any(row.state == "asking" for row in self.rows.values())

    def _hold(self, row: ToolRow) -> None:
        """What has written something does run, whoever asks."""
        if row.state == "running" and not (row.program or row.remote or row.tail):
            row.state, row.started = "ready", None

    def output(self, call_id: str, partial: Any) -> None:
        """A piece of live output: only its last line is kept."""
        row = self.rows.get(call_id)
        if row is None:
            return
        if row.state == "ready":
            row.state, row.started = "running", self._clock()
        if isinstance(partial, Mapping):
            row.tail = one_line(progress_words(partial), 200) or row.tail
        if not isinstance(partial, str):
            return
        text = partial[-4000:].rstrip("\r\n")
        cut = max(text.rfind("\n"), text.rfind("\r"))
        row.tail = one_line(text[cut + 1 :], 200) or row.tail
        row.lines += partial.count("\n")

    def server_block(self, raw: dict[str, Any], *, whole: bool = True) -> bool:
        """A block of the API, verbatim: a program or a call of its own tools begins or ends.
        False for any other. whole: all of it has come, not only its beginning."""
        kind = str(raw.get("type") or "")
        tool = str(raw.get("name") or "")
        if kind == "server_tool_use" and (tool == "code_execution" or tool in _CONTAINER_TOOLS):
            is_program = tool == "code_execution"
            self.program_begins(str(raw.get("id") or ""), tool, written=whole or not is_program)
            if tool in _CONTAINER_TOOLS:
                self._server_call(raw)
            return True
        if kind.endswith("_tool_result") and not whole:
            return True
        if kind.endswith("code_execution_tool_result"):
            content = raw.get("content")
            content = content if isinstance(content, dict) else {}
            failed = "error" in str(content.get("type") or "") or bool(content.get("return_code"))
            self.program_ends(str(raw.get("tool_use_id") or ""), failed=failed)
            return True
        if kind.endswith("_tool_use"):
            self._server_call(raw)
            return True
        if kind.endswith("_tool_result"):
            block = make_block(raw)
            block.close(raw)
            self.program_ends(str(raw.get("tool_use_id") or ""), failed=block.failed)
            return True
        return False

    def _server_call(self, raw: dict[str, Any]) -> None:
        """A call that the API makes: a search, a page, a server of the connector."""
        call_id = str(raw.get("id") or "")
        if not call_id:
            return
        block = make_block(raw)
        block.close(raw)
        if call_id not in self.rows:
            parent, now = _program_of(raw.get("caller")), self._clock()
            name = one_line(block.name(Look()), 60)
            self._add(ToolRow(call_id, name, "", "running", now, parent=parent, remote=True))
        self.rows[call_id].argument = one_line(block.summary(), 120)

    def ends(self, call_id: str, is_error: bool, duration_ms: int | None, stopped: bool) -> None:
        """duration_ms None: not known."""
        row = self.rows.get(call_id)
        if row is None:
            return
        self._end(row, "stopped" if stopped else "failed" if is_error else "done")
        row.seconds = None if duration_ms is None else duration_ms / 1000
        self._tally(row, "stopped" if stopped else "failed" if is_error else "done")

    def will_not_run(self, call_id: str) -> None:
        """The user stopped it before it began; its end comes later."""
        row = self.rows.get(call_id)
        if row is not None and row.state in ("arguments", "waiting", "asking", "ready"):
            row.state, row.started = "stopped", None

    def run_over(self) -> None:
        """Whatever has not ended by now will not."""
        for row in self.rows.values():
            if row.state in ("arguments", "waiting", "asking", "ready", "running"):
                self._end(row, "stopped")

    def clear(self) -> None:
        self.rows.clear()
        self._tallies.clear()
        self.dropped = self._programs = 0

    def _end(self, row: ToolRow, state: RowState) -> None:
        if row.seconds is None and row.started is not None:
            row.seconds = self._clock() - row.started
        row.state, row.tail = state, ""

    def _add(self, row: ToolRow) -> None:
        self.rows[row.id] = row
        if len(self.rows) > MAX_ROWS:
            oldest = next(iter(self.rows))
            del self.rows[oldest]
            self._tallies.pop(oldest, None)
            self.dropped += 1


def _program_of(caller: dict[str, Any] | None) -> str | None:
    """Id of the server_tool_use whose program made the call; None for a direct call."""
    if caller is None or caller.get("type", "direct") == "direct":
        return None
    return str(caller.get("tool_id") or "") or None
