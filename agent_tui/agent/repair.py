"""The repair of a history for the wire; llm_messages.py says what it promises.

The history is read as assistant messages and the gaps between them. A gap answers the
message before it: results first, then text. Messages whose gaps hold results only (or
nothing, where the API paused) form one turn of the API, in which a server's tool call may
get its result in a later message. A turn that ends before such a result came is cut at that
call, as the API takes it no more, and a note says what the calls after it had given.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agent_tui.agent.messages import (
    AgentMessage,
    AssistantBlock,
    AssistantMessage,
    BashExecutionMessage,
    Message,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.repair_blocks import (
    call_note,
    changed,
    clean_json,
    clean_text,
    legal_id,
    legal_name,
    result_as_text,
    sound_result,
    sound_user_message,
)

PAUSES = frozenset({"pause_turn", "compaction"})
"""Stop reasons after which the conversation goes back unchanged, without user text."""

_INTERRUPTED = frozenset({"error", "aborted"})
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})

START_TEXT = "(Earlier parts of this conversation are left out.)"
CONTINUE_TEXT = "Continue."
NOT_RUN_TEXT = "Not run: the answer was interrupted."
NO_RESULT_TEXT = "Interrupted: this call has no result."


def awaits_results_only(messages: Sequence[AgentMessage]) -> bool:
    """Whether the next request may hold no user text: the API paused the turn, or a program
    waits for the results of its calls (DESIGN: then steering is held)."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message.stop_reason not in _INTERRUPTED and (
                message.stop_reason in PAUSES or any(_programmatic(message))
            )
        unseen = isinstance(message, UnknownMessage) or (
            isinstance(message, BashExecutionMessage) and message.exclude
        )
        if not unseen and not isinstance(message, ToolResultMessage):
            return False
    return False


def repair(messages: Sequence[Message], *, program_lost: bool = False) -> list[Message]:
    """A list that a valid request can be made of; messages that need no change are the same.

    program_lost: the program that waits at the end of the history cannot be resumed (its
    container is gone), so it is cut as if the user had interrupted it.
    """
    return _Repair(program_lost).run(messages)


@dataclass(slots=True)
class _Step:
    """An assistant message and the gap after it, in order."""

    message: AssistantMessage
    gap: list[UserMessage | ToolResultMessage] = field(
        default_factory=list[UserMessage | ToolResultMessage]
    )

    @property
    def goes_on(self) -> bool:
        """Nothing but results stands between this message and the next answer."""
        message = self.message
        return (
            message.stop_reason not in _INTERRUPTED
            and not any(isinstance(m, UserMessage) for m in self.gap)
            and (message.stop_reason in PAUSES or any(c.complete for c in message.tool_calls))
        )


@dataclass(slots=True)
class _Cut:
    """What the cutting of a turn left over for the note."""

    server_calls: list[str] = field(default_factory=list[str])
    calls: list[tuple[ToolCall, ToolResultMessage | None]] = field(
        default_factory=list[tuple[ToolCall, ToolResultMessage | None]]
    )


class _Repair:
    def __init__(self, program_lost: bool) -> None:
        self._program_lost = program_lost
        self._out: list[Message] = []
        self._ids: set[str] = set()
        self._held_back: list[UserMessage] = []
        """Texts that wait for the next gap that may hold text."""

    def run(self, messages: Sequence[Message]) -> list[Message]:
        head, steps = _split(messages)
        self._add_texts(m if isinstance(m, UserMessage) else result_as_text(m) for m in head)
        start = 0
        while start < len(steps):
            end = start + 1
            while end < len(steps) and steps[end - 1].goes_on:
                end += 1
            self._add_turn(steps[start:end], last=end == len(steps))
            start = end
        return self._out

    def _add_turn(self, turn: list[_Step], *, last: bool) -> None:
        unresolved = _unresolved(turn)
        final = turn[-1]
        waits = bool(unresolved) or any(_programmatic(final.message))
        is_open = last and final.goes_on and not (self._program_lost and waits)
        cut = _Cut()
        server_calls: set[str] = set()
        for step in turn:
            cut_at = None if is_open else _cut_at(step, unresolved, step is final)
            tainted = bool(cut.server_calls or cut.calls)
            leftovers = self._add_step(step, cut_at, tainted, server_calls, cut)
            if step is final and not is_open:
                self._add_note(cut, final.message)
                self._add_texts(leftovers)
                if self._out and isinstance(self._out[-1], AssistantMessage):
                    self._out.append(_synthetic_user(step.message, CONTINUE_TEXT))
            elif step.message.stop_reason in PAUSES or waits or unresolved:
                self._held_back += leftovers
            else:
                self._add_texts(leftovers)

    def _add_step(
        self,
        step: _Step,
        cut_at: int | None,
        tainted: bool,
        server_calls: set[str],
        cut: _Cut,
    ) -> list[UserMessage]:
        """The message and the results of its calls. Gives the texts of its gap."""
        message = step.message
        content: list[AssistantBlock] = []
        kept: list[tuple[ToolCall, str]] = []
        lost: list[ToolCall] = []
        for index, block in enumerate(message.content):
            gone = cut_at is not None and index >= cut_at
            match block:
                case TextContent():
                    if block.text.strip():
                        content.append(changed(block, text=clean_text(block.text)))
                case ThinkingContent():
                    # Signatures are bound to what stands before; after a cut they are void.
                    if (block.signature or block.redacted is not None) and not (gone or tainted):
                        content.append(block)
                case ToolCall():
                    if gone and block.complete:
                        lost.append(block)
                    elif block.complete:
                        call = self._sound_call(block)
                        kept.append((block, call.id))
                        content.append(call)
                case OpaqueContent():
                    kept_block = _sound_opaque(block, server_calls)
                    if kept_block is not None and not gone:
                        content.append(kept_block)
                    elif gone and index == cut_at and block.complete:
                        cut.server_calls.append(str(block.raw.get("name") or "a server tool"))
        if content:
            if not self._out:
                self._out.append(_synthetic_user(message, START_TEXT))
            same = len(content) == len(message.content) and all(
                a is b for a, b in zip(content, message.content, strict=True)
            )
            self._out.append(message if same else changed(message, content=content))
        return self._add_results(step, kept, lost, cut)

    def _add_results(
        self,
        step: _Step,
        kept: list[tuple[ToolCall, str]],
        lost: list[ToolCall],
        cut: _Cut,
    ) -> list[UserMessage]:
        lost_results: dict[int, ToolResultMessage] = {}
        texts: list[UserMessage] = []
        open_calls = list(kept)
        for message in step.gap:
            if isinstance(message, UserMessage):
                texts.append(message)
                continue
            at = next(
                (i for i, (c, _) in enumerate(open_calls) if c.id == message.tool_call_id), None
            )
            if at is not None:
                call, wire_id = open_calls.pop(at)
                self._out.append(sound_result(message, wire_id, call.programmatic))
                continue
            for i, call in enumerate(lost):
                if call.id == message.tool_call_id and i not in lost_results:
                    lost_results[i] = message
                    break
            else:
                texts.append(result_as_text(message))
        interrupted = step.message.stop_reason in _INTERRUPTED
        for call, wire_id in open_calls:
            self._out.append(
                ToolResultMessage(
                    id=f"{step.message.id}-{wire_id}",
                    timestamp=step.message.timestamp,
                    tool_call_id=wire_id,
                    tool_name=legal_name(call.name),
                    content=text_content(NOT_RUN_TEXT if interrupted else NO_RESULT_TEXT),
                    is_error=True,
                )
            )
        cut.calls += [(call, lost_results.get(i)) for i, call in enumerate(lost)]
        return texts

    def _add_note(self, cut: _Cut, message: AssistantMessage) -> None:
        if cut.server_calls or cut.calls:
            self._out.append(_synthetic_user(message, call_note(cut.server_calls, cut.calls)))

    def _add_texts(self, texts: Iterable[UserMessage]) -> None:
        self._out += self._held_back
        self._held_back.clear()
        self._out += texts

    def _sound_call(self, call: ToolCall) -> ToolCall:
        """The call under a legal id that no call before it has (faults A14)."""
        wire_id = legal_id(call.id, self._ids)
        self._ids.add(wire_id)
        return changed(
            call, id=wire_id, name=legal_name(call.name), arguments=clean_json(call.arguments)
        )


def _split(
    messages: Sequence[Message],
) -> tuple[list[UserMessage | ToolResultMessage], list[_Step]]:
    head: list[UserMessage | ToolResultMessage] = []
    steps: list[_Step] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            steps.append(_Step(message))
            continue
        gap = steps[-1].gap if steps else head
        if isinstance(message, ToolResultMessage):
            gap.append(message)
        elif (sound := sound_user_message(message)) is not None:
            gap.append(sound)
    return head, steps


def _programmatic(message: AssistantMessage) -> list[ToolCall]:
    return [c for c in message.tool_calls if c.programmatic and c.complete]


def _unresolved(turn: list[_Step]) -> set[str]:
    """Ids of the server's calls in this turn that got no result in it."""
    open_ids: set[str] = set()
    for step in turn:
        for block in step.message.content:
            if isinstance(block, OpaqueContent) and block.complete:
                if block.raw.get("type") in _SERVER_CALLS:
                    open_ids.add(str(block.raw.get("id")))
                else:
                    open_ids.discard(str(block.raw.get("tool_use_id")))
    return open_ids


def _cut_at(step: _Step, unresolved: set[str], is_final: bool) -> int | None:
    """Where a message of an ended turn is cut: at a call of the server without result, or
    at a call of a program that got no further."""
    for index, block in enumerate(step.message.content):
        if isinstance(block, OpaqueContent) and block.complete:
            if block.raw.get("type") in _SERVER_CALLS and str(block.raw.get("id")) in unresolved:
                return index
        elif isinstance(block, ToolCall) and block.complete and block.programmatic:
            caller = block.caller or {}
            if is_final or str(caller.get("tool_id")) in unresolved:
                return index
    return None


def _sound_opaque(block: OpaqueContent, server_calls: set[str]) -> OpaqueContent | None:
    """The block as it may be sent; None for one that was cut off, or a result without call."""
    if not block.complete:
        return None
    kind = str(block.raw.get("type"))
    if kind in _SERVER_CALLS:
        server_calls.add(str(block.raw.get("id")))
    elif kind.endswith("_tool_result") and "tool_use_id" in block.raw:
        if str(block.raw["tool_use_id"]) not in server_calls:
            return None
        server_calls.discard(str(block.raw["tool_use_id"]))
    return changed(block, raw=clean_json(block.raw))


def _synthetic_user(after: AssistantMessage, text: str) -> UserMessage:
    """A user message of ours, the same each time the same history is repaired."""
    return UserMessage(id=f"{after.id}-note", timestamp=after.timestamp, content=text_content(text))
