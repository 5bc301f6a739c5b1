"""/usage: tokens, cost and speed of each answer and of the session; what broke the cache.
/context: what the next request holds, by source.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING

from agent_tui.conversation.commands.registry import CommandRegistry, wrong_form
from agent_tui.conversation.context_words import SOURCE_WORDS
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.usage import AnswerUsage, UsageTotals

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

ROWS = 20
"""Answers with a row of their own; those before them are one row."""

HEAD = "| answer | model | new in | cache read | written | out | thinking | tok/s | cost |"
RULE = "|---|---|--:|--:|--:|--:|--:|--:|--:|"


NARROW_HEAD = "| answer | in | cached | written | out | cost |"
NARROW_RULE = "|---|--:|--:|--:|--:|--:|"
_NARROW_CELLS = (0, 2, 3, 4, 5, 8)
"""The columns of HEAD that a narrow table keeps."""


def narrowed(text: str) -> str:
    """The text of /usage for a face in which its table does not fit: fewer columns, and
    tokens from ten thousand on in thousands or millions. Any other text as it is."""
    lines = text.split("\n")
    if lines[:2] != [HEAD, RULE]:
        return text
    end = lines.index("") if "" in lines else len(lines)
    rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:end]]
    short = [
        _row([_short(row[at]) if at in range(2, 6) else row[at] for at in _NARROW_CELLS])
        for row in rows
    ]
    return "\n".join([NARROW_HEAD, NARROW_RULE, *short, *lines[end:]])


def _short(cell: str) -> str:
    """ "152,634" → "152.6k"; "≥ 1,234,567" → "≥ 1.23M"; "9,999" stays."""
    sign = "≥ " if cell.startswith("≥ ") else ""
    number = cell.removeprefix(sign).replace(",", "")
    if not number.isdigit() or int(number) < 10_000:
        return cell
    # A thousand thousands is a million, also after rounding.
    if int(number) < 999_950:
        return f"{sign}{int(number) / 1e3:.1f}k"
    return f"{sign}{int(number) / 1e6:.2f}M"


async def usage(conversation: "Conversation", arguments: str) -> CommandResult:
    if arguments:
        return wrong_form("/usage")
    totals = conversation.usage
    if not totals.answers:
        return CommandResult(text="Nothing was asked yet.", data={"answers": []})
    lines = [HEAD, RULE, *_rows(totals), ""]
    lines += _below(conversation)
    data = {
        "answers": [asdict(answer) for answer in totals.answers],
        "input": totals.input,
        "output": totals.output,
        "cache_read": totals.cache_read,
        "cache_write": totals.cache_write,
        "thinking": totals.thinking,
        "server_tools": dict(totals.server_tools),
        "cost": totals.cost,
        "cost_at_least": totals.cost_at_least,
    }
    return CommandResult(text="\n".join(lines), data=data)


def _rows(totals: UsageTotals) -> list[str]:
    early, shown = totals.answers[:-ROWS], totals.answers[-ROWS:]
    rows = [_row(_sum(f"1-{len(early)}", early))] if early else []
    rows += [
        _row(
            [
                str(answer.number),
                f"`{answer.model.removeprefix('claude-') or '?'}`",
                f"{answer.input:,}",
                f"{answer.cache_read:,}",
                f"{answer.cache_write:,}",
                f"{answer.output:,}" if answer.whole else f"≥ {answer.output:,}",
                "" if answer.thinking is None else f"{answer.thinking:,}",
                "" if answer.rate is None else f"{answer.rate:.0f}",
                dollars(answer.cost if answer.priced else None, answer.cost or 0.0),
            ]
        )
        for answer in shown
    ]
    return [*rows, _row(_sum("**session**", totals.answers))]


def _sum(name: str, answers: list[AnswerUsage]) -> list[str]:
    totals = UsageTotals()
    for answer in answers:
        totals.count(answer)
    return [
        name,
        "",
        f"{totals.input:,}",
        f"{totals.cache_read:,}",
        f"{totals.cache_write:,}",
        f"{totals.output:,}",
        "" if totals.thinking is None else f"{totals.thinking:,}",
        "",
        dollars(totals.cost, totals.cost_at_least),
    ]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def dollars(cost: float | None, at_least: float = 0.0) -> str:
    """ "$0.0421"; "≥ $0.0421" where only so much is known; "?" where nothing is."""
    if cost is None:
        return f"≥ {dollars(at_least)}" if at_least else "?"
    return f"${cost:,.4f}" if cost < 1 else f"${cost:,.2f}"


def _below(conversation: "Conversation") -> list[str]:
    totals = conversation.usage
    lines: list[str] = []
    for tool, requests in totals.server_tools.items():
        lines.append(f"- {tool.replace('_', ' ')}: {requests:,}")
    if totals.cost is None:
        lines.append(
            "- The cost is not known in full: the price of a model is unknown, or an answer was "
            "cut off before its tokens were told."
        )
    broken = conversation.meters.last_break
    if broken is not None:
        lines.append(
            f"- The prompt cache broke last at answer {broken.number}: {broken.detail} "
            f"({broken.lost:,} tokens not read)."
        )
    return lines


async def context(conversation: "Conversation", arguments: str) -> CommandResult:
    if arguments:
        return wrong_form("/context")
    await conversation.measure_context()
    told = conversation.meters.context
    if told is None:
        return CommandResult(text="Nothing is known of the context yet.")
    lines = ["| source | tokens ≈ | share |", "|---|--:|--:|"]
    lines += [
        f"| {SOURCE_WORDS.get(source, source)} | {tokens:,} | {100 * tokens / told.total:.0f} % |"
        for source, tokens in told.sources.items()
    ]
    of = f"of {told.window:,} ({100 * told.total / told.window:.0f} %)" if told.window else "of ?"
    how = "counted by the service" if told.exact else "an estimate: nothing was counted"
    lines += ["", f"{told.total:,} tokens {of}, {how}."]
    return CommandResult(text="\n".join(lines), data=asdict(told))


def register(registry: CommandRegistry) -> None:
    registry.add("usage", "/usage", "tokens, cost and speed, answer by answer", usage)
    registry.add("context", "/context", "what fills the context, by source", context)
