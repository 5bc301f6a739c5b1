"""From the transcript to what the model is sent: convert_to_llm, and the repair.

The repair makes of every stored history, whatever an abort, a crash, a cut or an edit left,
a list that a valid request can be made of (facts, "Rules of a valid request"). It is pure,
and append-stable: what a message became in one request it stays in all later ones, so that
the prompt cache and the signatures of thinking hold. Merging neighbours of one role, wire
templates and the mark "interrupted" are messages_api/request.py's.
"""

from collections.abc import Sequence

from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
    UserMessage,
    text_content,
)
from agent_tui.agent.repair import PAUSES, awaits_results_only, repair, waits_for_server

__all__ = [
    "PAUSES", "awaits_results_only", "convert_message", "convert_to_llm", "repair",
    "waits_for_server",
]  # fmt: skip


def convert_to_llm(
    messages: Sequence[AgentMessage], *, program_lost: bool = False, cut_unstarted: bool = False
) -> list[Message]:
    """The diagram's convert_to_llm: every kind to a Message or to nothing, then the repair.

    Summaries, commands of the user (unless excluded) and custom messages become user
    messages; unknown kinds are left out. program_lost, cut_unstarted: see repair().
    """
    converted = (convert_message(message) for message in messages)
    return repair(
        [m for m in converted if m is not None],
        program_lost=program_lost,
        cut_unstarted=cut_unstarted,
    )


def convert_message(message: AgentMessage) -> Message | None:
    """One message as the model sees it; None for what it does not see."""
    match message:
        case UserMessage() | AssistantMessage() | ToolResultMessage():
            return message
        case BranchSummaryMessage():
            return _user(
                message,
                f"A branch of this conversation was left. What it held:\n\n{message.summary}",
            )
        case CompactionSummaryMessage():
            return _user(
                message,
                f"Earlier parts of this conversation were summarised:\n\n{message.summary}",
            )
        case BashExecutionMessage():
            return None if message.exclude else _user(message, bash_text(message))
        case CustomMessage():
            return UserMessage(
                id=message.id,
                timestamp=message.timestamp,
                content=message.content,
                queue_item_id=message.queue_item_id,
            )
        case _:
            return None


def _user(
    message: BranchSummaryMessage | CompactionSummaryMessage | BashExecutionMessage, text: str
) -> UserMessage:
    return UserMessage(id=message.id, timestamp=message.timestamp, content=text_content(text))


def bash_text(message: BashExecutionMessage) -> str:
    """A command the user ran, its output and how it ended, for the model."""
    parts = [f"I ran a command:\n$ {message.command}"]
    if message.output.strip():
        parts.append(message.output.rstrip("\n"))
    else:
        parts.append("(no output)")
    if message.truncated:
        where = f"; all of it is in {message.full_output_path}" if message.full_output_path else ""
        parts.append(f"(the output is cut{where})")
    if message.cancelled:
        parts.append("(the command was cancelled)")
    elif message.exit_code:
        parts.append(f"(exit code {message.exit_code})")
    return "\n".join(parts)
