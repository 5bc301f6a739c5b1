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
)
from agent_tui.agent.repair_cuts import cuts_of, follow, unresolved_in
from agent_tui.agent.repair_turns import (
    INTERRUPTED,
    PAUSES,
    SERVER_CALLS,
    Step,
    answered_by,
    is_sound,
    turns_of,
)
from agent_tui.text import sendable

START_TEXT = "(Earlier parts of this conversation are left out.)"
CONTINUE_TEXT = "Continue."
NOT_RUN_TEXT = "Not run: the answer was interrupted."
CUT_TEXT = "Not run: this call ended before its arguments were complete."
NO_RESULT_TEXT = "Interrupted: this call has no result."


def awaits_results_only(messages: Sequence[AgentMessage]) -> bool:
    """Whether the next request may hold no user text: the API paused the turn, or a program
    waits for the results of its calls (DESIGN: then steering is held)."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message.stop_reason not in INTERRUPTED and (
                message.stop_reason in PAUSES
                or any(c.programmatic and c.complete for c in message.tool_calls)
            )
        if not _is_unseen(message) and not isinstance(message, ToolResultMessage):
            return False
    return False


def waits_for_server(messages: Sequence[AgentMessage]) -> bool:
    """Whether a call of the server, or a program, has no result yet in the turn of the API that
    this history ends with: its last answer must then come whole, or the turn is lost."""
    answered: set[str] = set()
    last = True
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            if message.stop_reason in INTERRUPTED:
                return False
            for block in reversed(message.content):
                match block:
                    case OpaqueContent() if (call_id := answered_by(block)) is not None:
                        answered.add(call_id)
                    case OpaqueContent() if block.raw.get("type") in SERVER_CALLS:
                        if block.complete and str(block.raw.get("id")) not in answered:
                            return True
                    case ToolCall() if last and block.programmatic:
                        return True
                    case _:
                        pass
            last = False
        elif not isinstance(message, ToolResultMessage) and not _is_unseen(message):
            return False
    return False


def _is_unseen(message: AgentMessage) -> bool:
    return isinstance(message, UnknownMessage) or (
        isinstance(message, BashExecutionMessage) and message.exclude
    )


def repair(
    messages: Sequence[Message], *, program_lost: bool = False, cut_unstarted: bool = False
) -> list[Message]:
    """A list that a valid request can be made of; messages that need no change are the same.

    program_lost: the program that waits at the end of the history cannot be resumed (its
    container is gone), so it is cut as if the user had interrupted it. cut_unstarted: in turns
    that have ended, calls of programs that were not started in them are cut as well: the API
    refuses them for good. The law of the loop has such calls, so this is for who sends them.
    """
    return Repair(program_lost, cut_unstarted=cut_unstarted).run(messages)


@dataclass(slots=True)
class Kept:
    """A repair up to the message at `at`: what was made by then no later message changes."""

    at: int
    out: list[Message]
    ids: set[str]
    held_back: list[UserMessage]


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
    """One repair. before: goes on from there and uses it up, for a history that begins with the
    one it was kept of. kept: where the next may go on from, once it has run."""

    def __init__(
        self,
        program_lost: bool = False,
        before: Kept | None = None,
        *,
        cut_unstarted: bool = False,
    ) -> None:
        self._program_lost = program_lost
        self._cut_unstarted = cut_unstarted
        self._begin = before.at if before is not None else 0
        self._out: list[Message] = before.out if before is not None else []
        self._ids: set[str] = before.ids if before is not None else set()
        self._held_back: list[UserMessage] = before.held_back if before is not None else []
        """Texts that wait for the next gap that may hold text."""
        self._keep_before: Step | None = None
        self.kept: Kept | None = None

    def run(self, messages: Sequence[Message]) -> list[Message]:
        head, turns = turns_of(messages, self._begin)
        if head:  # else what is held back waits on
            self._add_texts(m if isinstance(m, UserMessage) else result_as_text(m) for m in head)
        if turns:
            # What follows can cut a turn at the calls of servers and programs, nowhere else.
            *done, final = turns[-1]
            self._keep_before = next((step for step in done if step.plain is None), final)
        for turn in turns:
            self._add_turn(turn, last=turn is turns[-1])
        return self._out

    def _add_turn(self, turn: list[Step], *, last: bool) -> None:
        final = turn[-1]
        unresolved = unresolved_in(turn)
        waits = bool(unresolved or final.programs)
        is_open = last and final.goes_on and not (self._program_lost and waits)
        cuts: list[int | None] = [None] * len(turn)
        if not is_open:
            cuts = cuts_of(turn, unresolved, unstarted=self._cut_unstarted)
        cut = _Cut()
        waiting: set[str] = set()
        for step, cut_at in zip(turn, cuts, strict=True):
            if step is self._keep_before:
                self.kept = Kept(step.at, [*self._out], {*self._ids}, [*self._held_back])
            follow(step, waiting)
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

    def _add_step(self, step: Step, cut_at: int | None, cut: _Cut) -> list[UserMessage]:
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
                    elif block.raw.get("type") in SERVER_CALLS:
                        cut.server_calls.append(str(block.raw.get("name") or "a server tool"))
        if content:
            if not self._out:
                self._out.append(_synthetic_user(message, START_TEXT))
            same = len(content) == len(message.content) and all(
                a is b for a, b in zip(content, message.content, strict=True)
            )
            self._out.append(message if same else changed(message, content=content))
        return self._add_results(step, kept, lost, cut)

    def _add_plain(self, step: Step, ids: tuple[str, ...], cut: _Cut) -> list[UserMessage]:
        """As _add_step, for a message that needs no change."""
        if not self._out:
            self._out.append(_synthetic_user(step.message, START_TEXT))
        self._ids.update(ids)
        self._out.append(step.message)
        results, texts = step.gap[: len(ids)], step.gap[len(ids) :]
        if (
            [m.tool_call_id for m in results if isinstance(m, ToolResultMessage)] == list(ids)
            and all(map(is_sound, results))
            and all(isinstance(m, UserMessage) for m in texts)
        ):
            self._out += results
            return cast("list[UserMessage]", texts)
        return self._add_results(
            step, [(call, call.id) for call in step.message.tool_calls], [], cut
        )

    def _add_results(
        self,
        step: Step,
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
        lost_text = NOT_RUN_TEXT if step.message.stop_reason in INTERRUPTED else NO_RESULT_TEXT
        for call, wire_id in open_calls:
            self._out.append(
                ToolResultMessage(
                    id=f"{step.message.id}-{wire_id}",
                    timestamp=step.message.timestamp,
                    tool_call_id=wire_id,
                    tool_name=legal_name(call.name),
                    content=text_content(CUT_TEXT if call.cut_arguments is not None else lost_text),
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


def _synthetic_user(after: AssistantMessage, text: str) -> UserMessage:
    """A user message of ours, the same each time the same history is repaired."""
    return UserMessage(id=f"{after.id}-note", timestamp=after.timestamp, content=text_content(text))
