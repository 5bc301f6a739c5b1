"""The tools timeline of a conversation that is opened again."""

from collections.abc import Iterator, Mapping, Sequence

from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    OpaqueContent,
    ToolCall,
    ToolResultMessage,
)
from agent_tui.agent.repair_turns import INTERRUPTED
from agent_tui.tui.tools_state import MAX_ROWS, ToolsState
from agent_tui.tui.transcript.cut_arguments import as_arguments
from agent_tui.tui.transcript.tool_text import was_stopped


def show_past(
    tools: ToolsState, messages: Sequence[AgentMessage], durations: Mapping[str, int]
) -> None:
    """Fill an empty timeline with the last calls of `messages`; those before are counted only.
    durations: milliseconds, by tool_call_id."""
    blocks = list(_blocks(messages))
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    shown = blocks[-MAX_ROWS:]
    tools.dropped += len(calls) - sum(isinstance(block, ToolCall) for block in shown)
    tools.programs_before(b.raw for b in blocks[:-MAX_ROWS] if isinstance(b, OpaqueContent))
    results = {m.tool_call_id: m for m in messages if isinstance(m, ToolResultMessage)}
    may_have_run = set(_may_have_run(messages))
    for block in shown:
        if isinstance(block, ToolCall):
            tools.call_begins(block.id, block.name, block.caller)
            tools.call_complete(block.id, block.arguments or as_arguments(block))
            result = results.get(block.id)
            row = tools.rows.get(block.id)
            if result is None and row is not None:
                row.unanswered = block.id in may_have_run
            elif result is not None:
                took = durations.get(block.id)
                tools.ends(block.id, result.is_error, took, was_stopped(result))
                if took and row is not None:
                    row.started = 0.0  # it ran; when does not matter any more
        elif tools.server_block(block.raw):
            row = tools.rows.get(str(block.raw.get("id") or ""))
            if row is not None:
                row.started = None  # how long it took is not known any more
    tools.run_over()


def _may_have_run(messages: Sequence[AgentMessage]) -> Iterator[str]:
    """Ids of whole calls; none of an answer that broke off has run."""
    for message in messages:
        if isinstance(message, AssistantMessage) and message.stop_reason not in INTERRUPTED:
            yield from (call.id for call in message.tool_calls if call.complete)


def _blocks(messages: Sequence[AgentMessage]) -> Iterator[ToolCall | OpaqueContent]:
    for message in messages:
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, ToolCall | OpaqueContent):
                    yield block
