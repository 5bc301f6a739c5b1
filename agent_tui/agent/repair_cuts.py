"""Where an ended turn of the API is cut (repair.py): at what still waited for the server."""

import re

from agent_tui.agent.messages import OpaqueContent, TextContent, ThinkingContent, ToolCall
from agent_tui.agent.repair_turns import SERVER_CALLS, Step, answered_by

_CALLER = re.compile(r"code_execution_\d{8}")
"""Kinds of programs that the API knows (facts)."""


def unresolved_in(turn: list[Step]) -> set[str]:
    """Ids of the server's calls in this turn that got no result in it."""
    waiting: set[str] = set()
    for step in turn:
        follow(step, waiting)
    return waiting


def follow(step: Step, waiting: set[str]) -> None:
    """Keep the ids of the server's calls that wait for their results."""
    if step.plain is not None:
        return
    for block in step.content:
        if isinstance(block, OpaqueContent):
            if block.raw.get("type") in SERVER_CALLS:
                waiting.add(str(block.raw.get("id")))
            elif (answered := answered_by(block)) is not None:
                waiting.discard(answered)


def cuts_of(turn: list[Step], unresolved: set[str], *, unstarted: bool = False) -> list[int | None]:
    """Where each message of an ended turn is cut: at a server's call without result, or at a
    call of a program that got no further; unstarted: also at one of a program that was not
    started in this turn, or of a kind of caller that does not exist. What a cut takes the
    result from is cut as well."""
    if not unresolved and not any(step.programs for step in turn):
        return [None] * len(turn)
    ended: dict[str, int] = {}
    """Programs that wait in the last message that is left, and where their last calls begin."""
    while True:
        gone: set[str] = set()
        started: set[str] | None = set() if unstarted else None
        cuts: list[int | None] = []
        for number, step in enumerate(turn):
            gone |= {program for program, begins in ended.items() if begins == number}
            cuts.append(_cut_at(step, unresolved, gone, started))
        lost = {
            answered
            for step, at in zip(turn, cuts, strict=True)
            if at is not None
            for block in step.content[at:]
            if isinstance(block, OpaqueContent) and (answered := answered_by(block)) is not None
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


def _last_left(turn: list[Step], cuts: list[int | None]) -> tuple[int, Step]:
    """What the cuts leave of the last message that they leave something of, and its number."""
    left = (0, Step(turn[0].message, []))
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
            left = (number, Step(step.message, content))
    return left


def _cut_at(
    step: Step, unresolved: set[str], gone: set[str], started: set[str] | None
) -> int | None:
    """gone: server's calls that were cut already; grows by those of this message, as does
    started by those that it leaves. started None: whatever is not gone counts as started."""
    at: int | None = None
    for index, block in enumerate(step.content):
        match block:
            case OpaqueContent() if block.raw.get("type") in SERVER_CALLS:
                call_id = str(block.raw.get("id"))
                cut = call_id in unresolved
                if cut or at is not None:  # also one behind the cut that has its result later
                    gone.add(call_id)
                elif started is not None:
                    started.add(call_id)
            case OpaqueContent():
                cut = answered_by(block) in gone
            case ToolCall() if block.programmatic:
                program = str((block.caller or {}).get("tool_id"))
                cut = program in gone or (
                    started is not None and not (program in started and _is_a_caller(block))
                )
            case _:
                cut = False
        if cut and at is None:
            at = index
    return at


def _is_a_caller(call: ToolCall) -> bool:
    return _CALLER.fullmatch(str((call.caller or {}).get("type"))) is not None
