"""The repair of a history for the wire; llm_messages.py says what it promises.

The history is read as assistant messages and the gaps between them. A gap answers the
message before it: results first, then text. Messages whose gaps hold results only (or
nothing, where the API paused) form one turn of the API, in which a server's tool call may
get its result in a later message. A turn that ends before such a result came is cut at that
call, as the API takes it no more, and a note says what the calls after it had given.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from agent_tui.agent.memo import Memo
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
    legal_id,
    legal_name,
    result_as_text,
    sound_result,
    sound_user_message,
)
from agent_tui.text import sendable

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
                message.stop_reason in PAUSES
                or any(c.programmatic and c.complete for c in message.tool_calls)
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
    return Repair(program_lost).run(messages)


@dataclass(slots=True)
class Kept:
    """A repair up to the message at `at`: what was made by then no later message changes."""

    at: int
    out: list[Message]
    ids: set[str]
    held_back: list[UserMessage]


@dataclass(slots=True)
class _Step:
    """An assistant message with the blocks that may be sent, and the gap after it, in order.
    at: its place in the history."""

    message: AssistantMessage
    content: list[AssistantBlock]
    gap: list[UserMessage | ToolResultMessage] = field(
        default_factory=list[UserMessage | ToolResultMessage]
    )
    plain: tuple[str, ...] | None = None
    """Of a message that goes out as it is: the ids of its calls (see _plain_calls)."""
    at: int = 0

    @property
    def goes_on(self) -> bool:
        """Nothing but results stands between this message and the next answer."""
        return (
            self.message.stop_reason not in _INTERRUPTED
            and not any(isinstance(m, UserMessage) for m in self.gap)
            and (
                self.message.stop_reason in PAUSES
                or any(isinstance(block, ToolCall) for block in self.content)
            )
        )

    @property
    def server_ids(self) -> set[str]:
        """Ids of the server's calls that are made, continued or answered here."""
        if self.plain is not None:
            return set()
        ids = self.programs
        for block in self.content:
            if isinstance(block, OpaqueContent):
                ids |= {str(block.raw.get("id")), str(block.raw.get("tool_use_id"))}
        return ids

    @property
    def programs(self) -> set[str]:
        """Ids of the programs whose calls are in this message."""
        if self.plain is not None:
            return set()
        return {
            str((block.caller or {}).get("tool_id"))
            for block in self.content
            if isinstance(block, ToolCall) and block.programmatic
        }


@dataclass(slots=True)
class _Cut:
    """What the cutting of a turn left over, for the note."""

    server_calls: list[str] = field(default_factory=list[str])
    calls: list[tuple[ToolCall, ToolResultMessage | None]] = field(
        default_factory=list[tuple[ToolCall, ToolResultMessage | None]]
    )

    def __bool__(self) -> bool:
        return bool(self.server_calls or self.calls)


class Repair:
    """One repair. before: goes on from there, for a history that begins with the one it was
    kept of. kept: where the next may go on from, once it has run."""

    def __init__(self, program_lost: bool = False, before: Kept | None = None) -> None:
        self._program_lost = program_lost
        self._begin = before.at if before is not None else 0
        self._out: list[Message] = list(before.out) if before is not None else []
        self._ids: set[str] = set(before.ids) if before is not None else set()
        self._held_back: list[UserMessage] = list(before.held_back) if before is not None else []
        """Texts that wait for the next gap that may hold text."""
        self._keep_before: _Step | None = None
        self.kept = before

    def run(self, messages: Sequence[Message]) -> list[Message]:
        head, turns = _turns(messages, self._begin)
        if head:  # else what is held back waits on
            self._add_texts(m if isinstance(m, UserMessage) else result_as_text(m) for m in head)
        if turns:
            # What follows can cut a turn at the calls of servers and programs, nowhere else.
            *done, final = turns[-1]
            self._keep_before = next((step for step in done if step.plain is None), final)
        for turn in turns:
            self._add_turn(turn, last=turn is turns[-1])
        return self._out

    def _add_turn(self, turn: list[_Step], *, last: bool) -> None:
        final = turn[-1]
        unresolved = _unresolved(turn)
        waits = bool(unresolved or final.programs)
        is_open = last and final.goes_on and not (self._program_lost and waits)
        cuts = [None] * len(turn) if is_open else _cuts(turn, unresolved)
        cut = _Cut()
        waiting: set[str] = set()
        for step, cut_at in zip(turn, cuts, strict=True):
            if step is self._keep_before:
                self.kept = Kept(step.at, [*self._out], {*self._ids}, [*self._held_back])
            _follow(step, waiting)
            texts = self._add_step(step, cut_at, cut)
            if step is final and not is_open:
                if cut:
                    note = call_note(cut.server_calls, cut.calls)
                    self._out.append(_synthetic_user(step.message, note))
                self._add_texts(texts)
                if self._out and isinstance(self._out[-1], AssistantMessage):
                    self._out.append(_synthetic_user(step.message, CONTINUE_TEXT))
            elif waiting or step.programs or step.message.stop_reason in PAUSES:
                self._held_back += texts
            else:
                self._add_texts(texts)

    def _add_step(self, step: _Step, cut_at: int | None, cut: _Cut) -> list[UserMessage]:
        """The message and the results of its calls. Gives the texts of its gap."""
        message = step.message
        if step.plain is not None and not cut and self._ids.isdisjoint(step.plain):
            return self._add_plain(step, step.plain, cut)
        content: list[AssistantBlock] = []
        kept: list[tuple[ToolCall, str]] = []
        lost: list[ToolCall] = []
        # Signatures of thinking are bound to what stands before: after a cut they are void.
        tainted = bool(cut)
        for index, block in enumerate(step.content):
            gone = cut_at is not None and index >= cut_at
            match block:
                case TextContent():
                    content.append(changed(block, text=sendable(block.text)))
                case ThinkingContent():
                    if not (gone or tainted):
                        content.append(block)
                case ToolCall():
                    if gone:
                        lost.append(block)
                    else:
                        call = self._sound_call(block)
                        kept.append((block, call.id))
                        content.append(call)
                case OpaqueContent():
                    if not gone:
                        content.append(changed(block, raw=clean_json(block.raw)))
                    elif block.raw.get("type") in _SERVER_CALLS:
                        cut.server_calls.append(str(block.raw.get("name") or "a server tool"))
        if content:
            if not self._out:
                self._out.append(_synthetic_user(message, START_TEXT))
            same = len(content) == len(message.content) and all(
                a is b for a, b in zip(content, message.content, strict=True)
            )
            self._out.append(message if same else changed(message, content=content))
        return self._add_results(step, kept, lost, cut)

    def _add_plain(self, step: _Step, ids: tuple[str, ...], cut: _Cut) -> list[UserMessage]:
        """As _add_step, for a message that needs no change."""
        if not self._out:
            self._out.append(_synthetic_user(step.message, START_TEXT))
        self._ids.update(ids)
        self._out.append(step.message)
        results, texts = step.gap[: len(ids)], step.gap[len(ids) :]
        if (
            [m.tool_call_id for m in results if isinstance(m, ToolResultMessage)] == list(ids)
            and all(map(_is_sound, results))
            and all(isinstance(m, UserMessage) for m in texts)
        ):
            self._out += results
            return cast("list[UserMessage]", texts)
        return self._add_results(
            step, [(call, call.id) for call in step.message.tool_calls], [], cut
        )

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


def _turns(
    messages: Sequence[Message], begin: int
) -> tuple[list[UserMessage | ToolResultMessage], list[list[_Step]]]:
    """The gap before the first assistant message from `begin` on, and the turns of the API.

    A message without any block that may be sent is left out: its gap belongs to the message
    before. An answer that says nothing of the server's calls that wait for results was given
    after those had been cut (their program was lost); it begins a turn of its own.
    """
    head: list[UserMessage | ToolResultMessage] = []
    turns: list[list[_Step]] = []
    waiting: set[str] = set()
    for at, message in enumerate(messages[begin:], begin):
        step = turns[-1][-1] if turns else None
        if isinstance(message, AssistantMessage):
            goes_on = step is not None and step.goes_on
            new, still_waiting = _sound_step(message, waiting if goes_on else set())
            if goes_on and new.content and waiting and not waiting & new.server_ids:
                goes_on = False
                new, still_waiting = _sound_step(message, set())
            if new.content:
                new.at = at
                waiting = still_waiting
                if goes_on:
                    turns[-1].append(new)
                else:
                    turns.append([new])
            continue
        gap = step.gap if step is not None else head
        if isinstance(message, ToolResultMessage):
            gap.append(message)
        elif (sound := sound_user_message(message)) is not None:
            gap.append(sound)
    return head, turns


def _sound_step(message: AssistantMessage, waiting: set[str]) -> tuple[_Step, set[str]]:
    """The message with what may be sent of it, and the server's calls that then wait."""
    plain = _plain_calls(message)
    if plain is not None:
        return _Step(message, message.content, plain=plain), waiting
    still_waiting = set(waiting)
    content = [block for block in message.content if _may_be_sent(block, still_waiting)]
    return _Step(message, content), still_waiting


def _find_plain_calls(message: AssistantMessage) -> tuple[str, ...] | None:
    """The ids of the message's calls, if it goes out as it is wherever it stands: all of it
    may be sent, nothing of it is a server's or a program's, and all is legal and clean."""
    ids: list[str] = []
    for block in message.content:
        match block:
            case TextContent():
                plain = sendable(block.text) is block.text
            case ToolCall():
                plain = (
                    not block.programmatic
                    and legal_id(block.id, set(ids)) == block.id
                    and legal_name(block.name) == block.name
                    and clean_json(block.arguments) is block.arguments
                )
                ids.append(block.id)
            case ThinkingContent():
                plain = True
            case OpaqueContent():
                return None
        if not (plain and _may_be_sent(block, set())):
            return None
    return tuple(ids) if message.content else None


_plain_calls = Memo(_find_plain_calls)


def _find_sound(message: UserMessage | ToolResultMessage) -> bool:
    """Whether a result of a call that no program made goes out as it is."""
    return (
        isinstance(message, ToolResultMessage)
        and sound_result(message, message.tool_call_id, programmatic=False) is message
    )


_is_sound = Memo(_find_sound)


def _may_be_sent(block: AssistantBlock, server_calls: set[str]) -> bool:
    """Whole blocks only. server_calls: ids of the turn's server calls that wait; kept so."""
    match block:
        case TextContent():
            return bool(block.text.strip())
        case ThinkingContent():
            return bool(block.signature) or block.redacted is not None
        case ToolCall():
            return block.complete
        case OpaqueContent():
            if not block.complete:
                return False
            if block.raw.get("type") in _SERVER_CALLS:
                server_calls.add(str(block.raw.get("id")))
                return True
            answered = _answered(block)
            if answered is None:
                return True
            known = answered in server_calls
            server_calls.discard(answered)
            return known


def _answered(block: OpaqueContent) -> str | None:
    """The id of the server's call that this block is the result of."""
    if str(block.raw.get("type")).endswith("_tool_result") and "tool_use_id" in block.raw:
        return str(block.raw["tool_use_id"])
    return None


def _unresolved(turn: list[_Step]) -> set[str]:
    """Ids of the server's calls in this turn that got no result in it."""
    waiting: set[str] = set()
    for step in turn:
        _follow(step, waiting)
    return waiting


def _follow(step: _Step, waiting: set[str]) -> None:
    """Keep the ids of the server's calls that wait for their results."""
    if step.plain is not None:
        return
    for block in step.content:
        if isinstance(block, OpaqueContent):
            if block.raw.get("type") in _SERVER_CALLS:
                waiting.add(str(block.raw.get("id")))
            elif (answered := _answered(block)) is not None:
                waiting.discard(answered)


def _cuts(turn: list[_Step], unresolved: set[str]) -> list[int | None]:
    """Where each message of an ended turn is cut: at a server's call without result, or at a
    call of a program that got no further. What a cut takes the result from is cut as well."""
    if not unresolved and not any(step.programs for step in turn):
        return [None] * len(turn)
    ended: dict[str, int] = {}
    """Programs that wait in the last message that is left, and where their last calls begin."""
    while True:
        gone: set[str] = set()
        cuts: list[int | None] = []
        for number, step in enumerate(turn):
            gone |= {program for program, begins in ended.items() if begins == number}
            cuts.append(_cut_at(step, unresolved, gone))
        lost = {
            answered
            for step, at in zip(turn, cuts, strict=True)
            if at is not None
            for block in step.content[at:]
            if isinstance(block, OpaqueContent) and (answered := _answered(block)) is not None
        }
        # Text follows the last message that is left, so no program may wait in it; also not
        # one that began before this history.
        number, last_left = _last_left(turn, cuts)
        if lost <= unresolved and not last_left.programs:
            return cuts
        unresolved = unresolved | lost
        for program in last_left.programs:
            begins = number
            while begins > 0 and program in turn[begins - 1].programs:
                begins -= 1
            ended[program] = begins


def _last_left(turn: list[_Step], cuts: list[int | None]) -> tuple[int, _Step]:
    """What the cuts leave of the last message that they leave something of, and its number."""
    left = (0, _Step(turn[0].message, []))
    tainted = False
    for number, (step, at) in enumerate(zip(turn, cuts, strict=True)):
        content = [
            block
            for index, block in enumerate(step.content)
            if isinstance(block, TextContent)
            or not (
                (at is not None and index >= at) or (tainted and isinstance(block, ThinkingContent))
            )
        ]
        tainted = tainted or at is not None
        if content:
            left = (number, _Step(step.message, content))
    return left


def _cut_at(step: _Step, unresolved: set[str], gone: set[str]) -> int | None:
    """gone: server's calls that were cut already; grows by those of this message."""
    at: int | None = None
    for index, block in enumerate(step.content):
        match block:
            case OpaqueContent() if block.raw.get("type") in _SERVER_CALLS:
                call_id = str(block.raw.get("id"))
                cut = call_id in unresolved
                if cut or at is not None:  # also one behind the cut that has its result later
                    gone.add(call_id)
            case OpaqueContent():
                cut = _answered(block) in gone
            case ToolCall() if block.programmatic:
                cut = str((block.caller or {}).get("tool_id")) in gone
            case _:
                cut = False
        if cut and at is None:
            at = index
    return at


def _synthetic_user(after: AssistantMessage, text: str) -> UserMessage:
    """A user message of ours, the same each time the same history is repaired."""
    return UserMessage(id=f"{after.id}-note", timestamp=after.timestamp, content=text_content(text))
