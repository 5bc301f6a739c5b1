"""Turns events into what the panels and the status line show. Plain data, no Textual.

`apply` takes every event and says whether something visible may have changed. The cost of a
delta does not grow with what came before.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent_tui.agent.events import (
    AgentEvent,
    OpaqueEvent,
    StreamEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    UsageEvent,
)
from agent_tui.conversation.events import ContainerChangedEvent, ConversationEvent
from agent_tui.tui.context_state import ContextState
from agent_tui.tui.lines import count, one_line
from agent_tui.tui.loop_state import LoopState
from agent_tui.tui.status_state import RetryState, StatusState
from agent_tui.tui.transcript.api_kinds import make_block
from agent_tui.tui.transcript.lines import Look
from agent_tui.tui.transcript.program_calls import GROUPED, CallState, Tally
from agent_tui.tui.transcript.tool_text import was_stopped

RowState = Literal[
    "arguments", "waiting", "asking", "ready", "running", "done", "failed", "stopped"
]
"""ready: it may run, and does once no other call of its message asks (DESIGN: no parallel call
executes before all are prepared)."""
MAX_ROWS = 300
"""Rows kept in the timeline; older ones are counted only (the transcript has them all)."""
CHARS_PER_TOKEN = 4.0
"""A rough measure for the live rate; the real count replaces it when the server sends it."""
RATE_WINDOW_S = 3.0
SILENT_FROM_S = 3.0
"""A shorter silence of the server is not worth a word."""
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
            f"{program}/done", count(done.total(), "call"),
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
        self._add(ToolRow(call_id, one_line(name, 60), parent=_program_of(caller)))

    def call_complete(self, call_id: str, arguments: dict[str, Any]) -> None:
        if (row := self.rows.get(call_id)) is not None and row.state == "arguments":
            row.state = "waiting"
            row.argument = short_argument(arguments)

    def program_begins(self, call_id: str, tool: str = "code_execution") -> None:
        if call_id in self.rows:
            return
        self._programs += tool == "code_execution"
        name = f"program {self._programs}" if tool == "code_execution" else _CONTAINER_TOOLS[tool]
        self._add(ToolRow(call_id, name, state="running", started=self._clock(), program=True))

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

    def server_block(self, raw: dict[str, Any]) -> bool:
        """A block of the API, verbatim: a program or a call of its own tools begins or ends.
        False for any other."""
        kind = str(raw.get("type") or "")
        tool = str(raw.get("name") or "")
        if kind == "server_tool_use" and (tool == "code_execution" or tool in _CONTAINER_TOOLS):
            self.program_begins(str(raw.get("id") or ""), tool)
            if tool in _CONTAINER_TOOLS:
                self._server_call(raw)
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


class Rate:
    """Tokens a second over the last seconds of the stream under way."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._marks: list[tuple[float, int]] = []
        self._chars = 0
        self._began: float | None = None

    def begin(self) -> None:
        self._marks, self._chars, self._began = [], 0, None

    def add(self, chars: int) -> None:
        now = self._clock()
        if self._began is None:
            self._began = now
        self._chars += chars
        # At most ten marks a second, so a burst of deltas costs no list growth.
        if not self._marks or now - self._marks[-1][0] >= 0.1:
            self._marks.append((now, self._chars))
            if len(self._marks) > RATE_WINDOW_S * 12:
                del self._marks[0]

    def tokens_per_second(self) -> float | None:
        """None until half a second of stream has been seen."""
        now = self._clock()
        marks = [m for m in self._marks if now - m[0] <= RATE_WINDOW_S]
        if not marks or now - marks[0][0] < 0.5:
            return None
        return (self._chars - marks[0][1]) / CHARS_PER_TOKEN / (now - marks[0][0])


class Presenter:
    """All the states; one per conversation on screen."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.tools = ToolsState(clock)
        self.loop = LoopState(clock)
        self.container: ContainerChangedEvent | None = None
        self.context = ContextState()
        self.status = StatusState()
        self.retry = RetryState()
        self.rate = Rate(clock)
        self._heard = clock()

    @property
    def moving(self) -> bool:
        """True while something shown changes with time alone: then the screen ticks."""
        return (
            self.tools.active
            or self.loop.running
            or self.status.status in ("waiting", "streaming", "stopping")
            or self.retry.attempt > 0
        )

    def stream(self, event: StreamEvent) -> bool:
        """One StreamEvent of the message under way; True when a panel has to be drawn anew."""
        self._over_retry()
        self._heard = self._clock()
        match event.type:
            case "text_delta" | "thinking_delta":
                self.rate.add(len(event.delta))
                return False
            case "toolcall_delta":
                self.rate.add(len(event.delta))
                return False
            case "toolcall_start" | "toolcall_end":
                return self._call(event)
            case "opaque":
                return self._opaque(event)
            case "usage":
                return self._usage(event)
            case _:
                return False

    def _call(self, event: ToolCallStartEvent | ToolCallEndEvent) -> bool:
        block = event.block
        self.tools.call_begins(block.id, block.name, block.caller)
        if event.type == "toolcall_end":
            self.tools.call_complete(block.id, block.arguments)
        return True

    def _opaque(self, event: OpaqueEvent) -> bool:
        if event.phase == "delta":
            self.rate.add(len(event.delta))
            return False
        return self.tools.server_block(event.block.raw) if event.block is not None else False

    def _usage(self, event: UsageEvent) -> bool:
        usage = event.usage
        parts = (usage.input, usage.cache_read, usage.cache_write)
        if any(part is not None for part in parts):
            self.status.context_tokens = sum(part or 0 for part in parts) + (usage.output or 0)
        return False

    def apply(self, event: AgentEvent | ConversationEvent) -> bool:
        """Any event; True when what is shown may have changed. Unknown kinds change nothing."""
        in_loop = self.loop.apply(event)
        return self._apply(event) or in_loop

    def _apply(self, event: AgentEvent | ConversationEvent) -> bool:
        match event.type:
            case "message_update":
                return self.stream(event.event)
            case "message_start" if event.message.role == "assistant":
                self.rate.begin()
            case "tool_execution_start":
                self.tools.starts(
                    event.tool_call_id, event.tool_name, event.arguments, event.caller
                )
            case "tool_execution_update":
                self.tools.output(event.tool_call_id, event.partial)
            case "tool_execution_end":
                self.tools.ends(
                    event.tool_call_id, event.is_error, event.duration_ms, was_stopped(event.result)
                )
            case "permission_request":
                self.tools.asks(event.tool_call_id, event.tool_name, event.arguments, event.caller)
            case "permission_resolved":
                self.tools.answered(event.tool_call_id)
            case "agent_end":
                self.tools.run_over()
            case "status":
                self._status_changed(event.status)
            case "usage":
                self.status.cost, self.status.cost_at_least = event.cost, event.cost_at_least
                self.status.context_tokens = event.context_tokens
                self.status.context_window = event.context_window
                self.status.last_rate = event.rate
                self.context.apply(event)
            case "cache" | "context":
                self.context.apply(event)
            case "setting_changed":
                if event.name in ("model", "thinking"):
                    setattr(self.status, event.name, event.value)
                    self.context.stale = True
            case "container_changed":
                self.container = event
            case "retry":
                self.retry = RetryState(
                    event.attempt, self._clock() + event.wait_s, one_line(event.reason, 300)
                )
                self.status.retrying, self.status.rate = True, None
            case _:
                return False
        return True

    def clear(self) -> None:
        """A new conversation: what the panels show of the old one goes."""
        self.tools.clear()
        self.loop = LoopState(self._clock)
        self.container = None
        self.context = ContextState()

    def tick(self) -> None:
        """Once a second while `moving`."""
        streams = self._streaming and not self.status.retrying
        self.status.rate = self.rate.tokens_per_second() if streams else None
        self.status.silent_s = self._silence()

    def _silence(self) -> int:
        """Of the request that is out; while a retry waits there is none."""
        if self.status.status not in ("waiting", "streaming"):
            return 0
        silent = self._clock() - max(self._heard, self.retry.until)
        return int(silent) if silent >= SILENT_FROM_S else 0

    @property
    def _streaming(self) -> bool:
        return self.status.status == "streaming"

    def _status_changed(self, status: str) -> None:
        self.status.status = status
        self.status.silent_s = 0
        self._heard = self._clock()
        if status in ("ready", "streaming", "stopping"):
            self._over_retry()
        if status != "streaming":
            self.status.rate = None

    def _over_retry(self) -> None:
        if self.retry.attempt:
            self.retry = RetryState()
            self.status.retrying = False
