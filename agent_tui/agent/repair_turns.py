"""A stored history read as turns of the API (repair.py): what may be sent of each answer, and
the gaps between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_tui.agent.memo import Memo
from agent_tui.agent.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.agent.repair_blocks import (
    clean_json,
    legal_id,
    legal_name,
    sound_result,
    sound_user_message,
)
from agent_tui.text import sendable

PAUSES = frozenset({"pause_turn", "compaction"})
"""Stop reasons after which the conversation goes back unchanged, without user text."""

INTERRUPTED = frozenset({"error", "aborted"})
"""Stop reasons of our own: the answer broke off."""

SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Blocks of calls that the server answers itself."""


@dataclass(slots=True)
class Step:
    """An assistant message with the blocks that may be sent, and the gap after it, in order.
    at: its place in the history."""

    message: AssistantMessage
    content: list[AssistantBlock]
    gap: list[UserMessage | ToolResultMessage] = field(
        default_factory=list[UserMessage | ToolResultMessage]
    )
    plain: tuple[str, ...] | None = None
    """Of a message that goes out as it is: the ids of its calls (see plain_calls)."""
    at: int = 0

    @property
    def goes_on(self) -> bool:
        """Nothing but results stands between this message and the next answer."""
        return (
            self.message.stop_reason not in INTERRUPTED
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


def turns_of(
    messages: Sequence[Message], begin: int
) -> tuple[list[UserMessage | ToolResultMessage], list[list[Step]]]:
    """The gap before the first assistant message from `begin` on, and the turns of the API.

    A message without any block that may be sent is left out: its gap belongs to the message
    before. An answer that says nothing of the server's calls that wait for results was given
    after those had been cut (their program was lost); it begins a turn of its own.
    """
    head: list[UserMessage | ToolResultMessage] = []
    turns: list[list[Step]] = []
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


def _sound_step(message: AssistantMessage, waiting: set[str]) -> tuple[Step, set[str]]:
    """The message with what may be sent of it, and the server's calls that then wait."""
    plain = plain_calls(message)
    if plain is not None:
        return Step(message, message.content, plain=plain), waiting
    still_waiting = set(waiting)
    content = [block for block in message.content if _may_be_sent(block, still_waiting)]
    return Step(message, content), still_waiting


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


plain_calls = Memo(_find_plain_calls)


def _find_sound(message: UserMessage | ToolResultMessage) -> bool:
    """Whether a result of a call that no program made goes out as it is."""
    return (
        isinstance(message, ToolResultMessage)
        and sound_result(message, message.tool_call_id, programmatic=False) is message
    )


is_sound = Memo(_find_sound)


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
            if block.raw.get("type") in SERVER_CALLS:
                server_calls.add(str(block.raw.get("id")))
                return True
            answered = answered_by(block)
            if answered is None:
                return True
            known = answered in server_calls
            server_calls.discard(answered)
            return known


def answered_by(block: OpaqueContent) -> str | None:
    """The id of the server's call that this block is the result of."""
    if str(block.raw.get("type")).endswith("_tool_result") and "tool_use_id" in block.raw:
        return str(block.raw["tool_use_id"])
    return None
