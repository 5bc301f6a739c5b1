"""/tools: every tool with where it comes from, who may call it and who is asked; and to change
who may call it."""

import difflib
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agent_tui.conversation.commands.registry import CommandRegistry, Completion, wrong_form
from agent_tui.conversation.results import CommandResult
from agent_tui.conversation.toolset import ALL, EXPOSURES, Exposure, ToolChoiceError, ToolRow
from agent_tui.text import clean
from agent_tui.tools.permissions import READING

if TYPE_CHECKING:
    from agent_tui.conversation.conversation import Conversation

USAGE = "/tools [NAME... direct|programmatic|both|off]"
WORDS: dict[Exposure, str] = {
    "direct": "model",
    "programmatic": "programs",
    "both": "model, programs",
    "off": "off",
}
"""Who may call, in a cell of the table."""

_HELP: dict[Exposure, str] = {
    "direct": "only the model itself calls it",
    "programmatic": "only programs of the model call it; results stay out of its context",
    "both": "the model and its programs call it",
    "off": "it is not offered",
}


async def tools(conversation: "Conversation", arguments: str) -> CommandResult:
    *names, last = arguments.split() or [""]
    if not last:
        return _listed(conversation, conversation.toolset.rows())
    exposure = _exposure(last)
    if exposure is None or not names:
        return _some(conversation, [*names, last])
    before, choices = conversation.toolset.tools(), conversation.toolset.choices()
    try:
        for name in names:
            conversation.toolset.set_exposure(name, exposure)
    except ToolChoiceError as error:
        conversation.toolset.restore(choices)  # all of the names, or none
        return CommandResult(error=str(error))
    conversation.session.record_tools(conversation.toolset.choices())
    return _changed(conversation, names, exposure, changed=conversation.toolset.tools() != before)


def _exposure(word: str) -> Exposure | None:
    return next((e for e in EXPOSURES if e == word.lower()), None)


def _some(conversation: "Conversation", words: Sequence[str]) -> CommandResult:
    """The rows named; an error for a name that there is not, or a word that was to be an
    exposure and is none."""
    rows = {row.name: row for row in conversation.toolset.rows()}
    unknown = [word for word in words if word not in rows]
    if not unknown:
        return _listed(conversation, [rows[word] for word in words])
    wrong = unknown[-1]
    near = difflib.get_close_matches(wrong, EXPOSURES, 1)
    if len(words) > 1 and wrong == words[-1]:
        hint = f"Did you mean {near[0]}?" if near else f"It is one of {', '.join(EXPOSURES)}."
        return CommandResult(error=f"{clean(wrong)} does not say who may call. {hint}")
    try:
        conversation.toolset.exposure(wrong)
    except ToolChoiceError as error:
        if wrong not in (ALL, *EXPOSURES):
            return CommandResult(error=str(error))
    return wrong_form(USAGE)


def _listed(conversation: "Conversation", rows: Sequence[ToolRow]) -> CommandResult:
    lines = ["| tool | from | called by | approval |", "|---|---|---|---|"]
    data: list[Any] = []
    for row in rows:
        approval = _approval(conversation, row)
        cells = (row.source, WORDS[row.exposure], approval)
        plain = " | ".join(clean(cell).replace("|", "\\|") for cell in cells)
        lines.append(f"| `{row.name}` | {plain} |")
        data.append(asdict(row) | {"approval": approval})
    notes = "".join(f"- `{row.name}`: {row.note}\n" for row in rows if row.note)
    text = "\n".join([*lines, "", notes, _waits(conversation)])
    return CommandResult(text=text.rstrip(), data={"tools": data})


def _approval(conversation: "Conversation", row: ToolRow) -> str:
    """Whether the user is asked before a call runs."""
    if not row.here:
        return "runs at the service"
    if conversation.approvals.allowed(row.name):
        return "allowed"
    return "asks outside folder" if row.name in READING else "asks"


def _changed(
    conversation: "Conversation", names: Sequence[str], exposure: Exposure, *, changed: bool
) -> CommandResult:
    rows = conversation.toolset.rows()
    data: dict[str, Any] = {"tools": [asdict(row) for row in rows]}
    if not changed:
        return CommandResult(text=f"Nothing changes. {_notes(rows, names)}".strip(), data=data)
    whom = ", ".join(f"`{name}`" for name in names)
    if names == [ALL]:
        whom = "every tool that runs here"
    when = _waits(conversation) or "From the next request on."
    return CommandResult(
        text=f"For {whom}: {_HELP[exposure]}. {_notes(rows, names)}{when}", data=data
    )


def _notes(rows: Sequence[ToolRow], names: Sequence[str]) -> str:
    """Why a tool named is not as it was wanted."""
    notes = [f"`{row.name}`: {row.note}. " for row in rows if row.note and row.name in names]
    return "".join(notes)


def _waits(conversation: "Conversation") -> str:
    if not conversation.tool_offer.waits:
        return ""
    return "The change waits until the program that is paused has ended: it needs its tools."


def complete(conversation: "Conversation", arguments: str) -> list[Completion]:
    """A tool's name first; behind it the exposures."""
    *before, last = arguments.split(" ")
    head = "".join(word + " " for word in before)
    found: list[Completion] = []
    if before and before[-1]:
        found += [Completion(head + e, _HELP[e]) for e in EXPOSURES if e.startswith(last)]
    if ALL not in before and (not found or not last):
        rows = {row.name: row for row in conversation.toolset.rows()}
        for name in conversation.toolset.names():
            if name.startswith(last) and name not in before:
                about = WORDS[rows[name].exposure] if name in rows else "more than one tool"
                found.append(Completion(f"{head}{name} ", about))
    return found


def register(registry: CommandRegistry) -> None:
    registry.add("tools", USAGE, "the tools, and who may call them", tools, complete)
