"""ContainerState: what is known of the code-execution container, from StreamEvents and results.

It follows the facts of programmatic calling (facts, "Programmatic tool calling"): a program
pauses at its calls, is answered with results only, and goes on in the same container. Nothing
here asks the service; what was never said stays None. The state is derived from what is
pending and what runs, so no order of events can leave one that contradicts the rest.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Literal, cast

from agent_tui.agent.events import (
    ContainerEvent,
    DoneEvent,
    ErrorEvent,
    OpaqueEvent,
    StreamEvent,
    ToolCallEndEvent,
)
from agent_tui.agent.messages import (
    AssistantMessage,
    Container,
    OpaqueContent,
    ToolCall,
    ToolResultMessage,
)
from agent_tui.agent.repair_turns import INTERRUPTED
from agent_tui.messages_api.container_programs import Program, ProgramCall, Totals

State = Literal["created", "busy", "paused", "idle", "expired"]

ANSWER_WITHIN_S = 240.0
"""A call that is not answered for about so long ends in a TimeoutError inside the program."""

OUTPUT_KEPT = 4000
"""Characters kept of the last program's output, its end."""

PROGRAM_TOOLS = frozenset({"code_execution", "bash_code_execution"})
"""Names of server_tool_use that run a program in the container. Only the first can call tools,
and only its programs are numbered."""

GONE = frozenset({"container_expired", "container_not_found"})
"""Error codes of a program whose container is used no more; an open set (facts)."""

Estimate = Callable[[str], int]


class ContainerState:
    """The container of one conversation. Feed it every StreamEvent and result, in order.

    id: None before the first, and again once it is given up; last_id stays. created_at,
    seen_at: seconds of the caller's clock at its first and last response. expires_at: ISO 8601
    as sent. pending: ids of the calls of a paused program that have no result yet; awaited: how
    many the service waits for, which also waits for results that have not gone out; paused_at:
    since when.
    held_until: a paused program was given up, and the service holds it until about then.
    reused: responses after the first that named the same container. programs: those that ran
    in this container, by id. last_output, files: the end of what the last finished program
    wrote; file blocks of all. past: sums over earlier containers. lost: it is gone, by the
    service's word.

    estimate: tokens of a text (an estimate; see kept_out).
    """

    def __init__(self, estimate: Estimate = lambda text: len(text) // 4) -> None:
        self._estimate = estimate
        self.id: str | None = None
        self.last_id: str | None = None
        self.created_at: float | None = None
        self.seen_at: float | None = None
        self.expires_at: str | None = None
        self.paused_at: float | None = None
        self.held_until: float | None = None
        self.reused = 0
        self.programs: dict[str, Program] = {}
        self.last_output = ""
        self.files: list[dict[str, Any]] = []
        self.past = Totals()
        self.numbered = 0
        """Numbered programs of the conversation so far, in whatever container."""
        self.lost = False
        self._pending: dict[str, ProgramCall] = {}
        self._answered: list[ProgramCall] = []
        """Results that go out with the next request: not with their program yet."""
        self._open: dict[str, Program] = {}
        self._response: dict[str, Program] = {}
        """Programs that this response began or called from: they run in the container it
        names, perhaps only at its end."""
        self._begun: set[str] = set()
        """Ids of those that it began."""
        self._files_before = 0
        """Files that it found here."""
        self._named = self._wrote = False
        self._ended = True

    # --- what is so --------------------------------------------------------------------

    @property
    def pending(self) -> list[str]:
        return list(self._pending)

    @property
    def awaited(self) -> int:
        return len(self._pending) + len(self._answered)

    @property
    def state(self) -> State:
        """By what was said; state_at() also looks at the time."""
        if self.lost:
            return "expired"
        if self.awaited:
            return "paused"
        if any(program.state == "running" for program in self._open.values()):
            return "busy"
        if self.held_until is not None:
            return "paused"
        return "idle" if self.programs else "created"

    def state_at(self, now: float) -> State:
        """As `state`, but expired once its time is over (wall clock), which stands while a
        program runs; and idle once a program that was given up is held no more."""
        if self.held_until is not None and self.held_until <= now:
            self.held_until = None
        state, left = self.state, self.seconds_left(now)
        return "expired" if left is not None and left <= 0 and state != "busy" else state

    def seconds_left(self, wall_clock: float) -> float | None:
        """Seconds until expiry by the wall clock (epoch), None if the service did not say."""
        expiry = parse_time(self.expires_at)
        return None if expiry is None else expiry - wall_clock

    @property
    def answer_due_at(self) -> float | None:
        """When it is too late to send the results, about; None while none is awaited."""
        if not self.awaited or self.paused_at is None:
            return None
        return self.paused_at + ANSWER_WITHIN_S

    @property
    def totals(self) -> Totals:
        """Of this container's programs."""
        return Totals.of(self.programs.values())

    @property
    def kept_out(self) -> int:
        """Tokens that results of programmatic calls would have put into the model's context,
        in this conversation: the sum of the estimates of all results that reached their
        program. What the programs printed did enter the context and is not subtracted."""
        return self.past.kept_out + self.totals.kept_out

    @property
    def round_trips_saved(self) -> int:
        """Samplings of the model that the conversation's programs saved: a program to which n
        results went counts n - 1, as each result of a direct call is followed by a sampling
        and all those of a program by one. Against calls made one after the other: the model
        may make several direct calls at once."""
        return self.past.round_trips_saved + self.totals.round_trips_saved

    # --- what happens ------------------------------------------------------------------

    def feed(self, event: StreamEvent, now: float) -> bool:
        """Take in one event; True when something changed. now: seconds of the caller's clock."""
        if self._ended and _failed(event):  # it never began: the results went to nobody
            self._response, self._begun = {}, set()
            return False
        began = self._begin()
        match event:
            case ContainerEvent():
                self._name(event.container.id, event.container.expires_at, now)
                return True
            case OpaqueEvent(phase="start" | "end", block=block) if block is not None:
                return self._block(block.raw, event.phase == "end", now) or began
            case ToolCallEndEvent() if event.block.programmatic and event.block.complete:
                self._call(event.block, now)
                return True
            case DoneEvent() | ErrorEvent():
                return self._end(event.message, now) or began
            case _:
                return began

    def answered(self, call_id: str, *, failed: bool = False, text: str = "") -> bool:
        """A call has its result, which goes to the program with the next request. False: it did
        not wait for this one."""
        call = self._pending.pop(call_id, None)
        if call is None:
            return False
        call.state = "failed" if failed else "ok"
        call.tokens = self._estimate(text) if text else 0
        call.program.ended(call)
        self._answered.append(call)
        return True

    def interrupted(self, now: float) -> None:
        """The run was stopped: nothing is waited for any more, and what the last calls gave
        never reached their program. One that was paused stays so at the service."""
        if self.paused_at is not None and self.awaited:
            self.held_until = self.paused_at + ANSWER_WITHIN_S
        for call in (*self._pending.values(), *self._answered):
            call.program.undelivered(call)
        self._pending.clear()
        self._answered.clear()
        for program in self._open.values():
            program.end("stopped", now)
        self._open.clear()
        self._ended = True

    def struck(self) -> None:
        """The last response, which broke, is taken out of the history and tried again."""
        for call in self._calls_of(self._response.values()):
            call.program.forget(call)
        for id in self._begun & self.programs.keys():
            self.numbered -= bool(self.programs.pop(id).number)
            self._open.pop(id, None)
        self._begun.clear()
        self._response.clear()

    def gone(self, now: float) -> None:
        """The service says that the container is gone (A25): its id is used no more."""
        self.interrupted(now)
        self.held_until = None
        self.id = None
        self.lost = True

    def forgotten(self, now: float) -> None:
        """The user wants a new one: the next request goes out without its id."""
        self.interrupted(now)
        self._retire(whole=True)
        self.id = self.last_id = None
        self.created_at = self.seen_at = self.expires_at = self.held_until = None
        self.lost = False

    def replay(self, messages: Iterable[Any], container: Container | None) -> None:
        """What a stored history tells, oldest message first; container: the one that is live
        now by the session's record. Costs little for what is neither program nor result."""
        exact, self._estimate = self._estimate, _Rough(self._estimate)
        now = 0.0
        for message in messages:
            if isinstance(message, AssistantMessage):
                now = message.timestamp
                self._replay_answer(message)
            elif isinstance(message, ToolResultMessage) and message.tool_call_id in self._pending:
                self.answered(message.tool_call_id, failed=message.is_error, text=message.text)
        self._estimate = exact
        self.interrupted(now)
        self.held_until = None  # how long ago it was paused is not known
        for program in self.programs.values():
            program.about = True
        if container is not None:
            self._begin()
            if container.id != self.id:
                self._name(container.id, container.expires_at, now)
            self.expires_at = container.expires_at or self.expires_at
            self._ended = True
        elif self.id is not None:
            self.gone(now)

    def _replay_answer(self, message: AssistantMessage) -> None:
        now = message.timestamp
        self._begin()
        if message.container is not None:
            self._name(message.container.id, message.container.expires_at, now)
        for block in message.content:
            if isinstance(block, OpaqueContent):
                self._block(block.raw, block.complete, now)
            elif isinstance(block, ToolCall) and block.programmatic and block.complete:
                self._call(block, now)
        self._end(message, now)

    # --- inside ------------------------------------------------------------------------

    def _begin(self) -> bool:
        """The first event of a response: all that was answered has reached the program."""
        if not self._ended:
            return False
        held, self.held_until = self.held_until, None  # the service has gone on without it
        self._ended = self._named = self._wrote = False
        self._files_before = len(self.files)
        self._response = {}
        self._begun = set()
        changed = bool(self._answered) or held is not None
        for call in self._answered:
            call.program.delivered(call)
        self._answered.clear()
        return changed

    def _end(self, message: AssistantMessage, now: float) -> bool:
        self._ended = True
        if message.stop_reason in INTERRUPTED:
            # None of its calls will run. Programs of earlier responses may still go on.
            for call in self._calls_of(self._response.values()):
                call.program.forget(call)
            for program in [self._open.pop(id) for id in self._begun & self._open.keys()]:
                program.end("stopped", now)
            return bool(self._response)
        if self._pending or message.stop_reason == "pause_turn" or not self._open:
            return False
        # The model has gone on without their results: they will not come any more.
        for program in self._open.values():
            program.end("stopped", now)
        self._open.clear()
        return True

    def _name(self, container_id: str, expires_at: str | None, now: float) -> None:
        if container_id != self.id:
            self._retire()
            self.id = self.last_id = container_id
            self.created_at = now
        elif not self._named:
            self.reused += 1
        self.lost = False
        self._named = True
        self.seen_at = now
        self.expires_at = expires_at

    def _retire(self, *, whole: bool = False) -> None:
        """Another container: what ran in the old one counts in `past` from here on. What this
        response did stays, unless `whole`."""
        stay = {} if whole else {p.id: p for p in self._response.values()}
        gone = [p for id, p in self.programs.items() if id not in stay]
        self.past = self.past.plus(Totals.of(gone))
        self.programs = {id: p for id, p in self.programs.items() if id in stay}
        self.reused = 0
        self.files = [] if whole else self.files[self._files_before :]
        self._files_before = 0
        if whole or not self._wrote:
            self.last_output = ""
        for program in gone:
            self._open.pop(program.id, None)
        for call in self._calls_of(gone):
            call.program.undelivered(call)

    def _calls_of(self, programs: Iterable[Program]) -> list[ProgramCall]:
        """The pending calls of these programs, which are pending no more."""
        of = {program.id for program in programs}
        calls = [call for call in self._pending.values() if call.program.id in of]
        for call in calls:
            del self._pending[call.id]
        return calls

    def _program(self, program_id: str, name: object = "code_execution") -> Program:
        program = self.programs.get(program_id)
        if program is None:
            numbered = name == "code_execution"
            self.numbered += numbered
            program = Program(program_id, self.numbered if numbered else 0)
            self._begun.add(program_id)
            self.programs[program_id] = self._open[program_id] = program
        self._response[program_id] = program
        return program

    def _runs(self, program: Program, now: float) -> None:
        program.begin(now)
        self._open[program.id] = program

    def _call(self, block: ToolCall, now: float) -> None:
        if block.id in self._pending:
            return
        program = self._program(str((block.caller or {}).get("tool_id") or block.id))
        self._runs(program, now)
        if not self._pending:
            self.paused_at = now
        self._pending[block.id] = program.called(block.id, block.name)

    def _block(self, raw: dict[str, Any], ended: bool, now: float) -> bool:
        kind = str(raw.get("type", ""))
        if kind == "server_tool_use" and raw.get("name") in PROGRAM_TOOLS:
            program = self._program(str(raw.get("id", "")), raw["name"])
            if ended and program.state not in ("done", "failed"):
                self._runs(program, now)
            return True
        if not ended or not kind.endswith("code_execution_tool_result"):
            return False
        self._result(raw, kind.removesuffix("_tool_result"), now)
        return True

    def _result(self, raw: dict[str, Any], name: str, now: float) -> None:
        content = raw.get("content")
        fields = cast(dict[str, Any], content) if isinstance(content, dict) else {}
        if name in PROGRAM_TOOLS:
            self._program_ends(self._program(str(raw.get("tool_use_id", "")), name), fields, now)
        listed = fields.get("content")
        if isinstance(listed, list):
            known = {file.get("file_id") for file in self.files}
            self.files += [
                cast(dict[str, Any], file)
                for file in cast(list[Any], listed)
                if isinstance(file, dict) and cast(dict[str, Any], file).get("file_id") not in known
            ]
        if fields.get("error_code") in GONE:
            self.gone(now)

    def _program_ends(self, program: Program, fields: dict[str, Any], now: float) -> None:
        self._open.pop(program.id, None)
        for call in self._calls_of([program]):
            program.undelivered(call)  # it ended without its answer: that came too late
        code = fields.get("return_code")
        error = fields.get("error_code")
        program.exit_code = code if isinstance(code, int) else None
        program.error_code = error if isinstance(error, str) else None
        failed = str(fields.get("type", "")).endswith("_error") or bool(program.exit_code)
        program.end("failed" if failed else "done", now)
        texts = [fields.get("stdout"), fields.get("stderr")]
        self.last_output = "".join(t for t in texts if isinstance(t, str))[-OUTPUT_KEPT:]
        self._wrote = True


class _Rough:
    """An estimate that costs a bounded time over any number of texts: when EXACT_CHARS were
    estimated, the tokens per character of those hold for the rest."""

    EXACT_CHARS = 100_000

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate
        self._chars = self._tokens = 0

    def __call__(self, text: str) -> int:
        if self._chars > self.EXACT_CHARS:
            return round(len(text) * self._tokens / self._chars)
        tokens = self._estimate(text)
        self._chars += len(text)
        self._tokens += tokens
        return tokens


def _failed(event: StreamEvent) -> bool:
    """The end of a response that broke off."""
    ended = isinstance(event, DoneEvent | ErrorEvent)
    return ended and event.message.stop_reason in INTERRUPTED


def parse_time(text: str | None) -> float | None:
    """ISO 8601 as the API sends it → seconds since 1970; None when it is no time."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
