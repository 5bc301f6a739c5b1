"""How an answer ended, where that is not the usual way: one line below it that says what it
means and what to do (facts: stop reasons)."""

from agent_tui.agent.messages import AssistantMessage, OpaqueContent
from agent_tui.messages_api.errors import is_retryable_type
from agent_tui.text import clean, count
from agent_tui.tui.transcript.notices import NoticeBlock

_USUAL = frozenset({"end_turn", "tool_use"})


def ending(message: AssistantMessage) -> NoticeBlock | None:
    """The mark of an answer's end; None where it ended in the usual way."""
    match message.stop_reason:
        case "aborted":
            return NoticeBlock("info", "interrupted", glyph="stopped")
        case "error":
            text = message.error_message or message.error_type or "the answer broke off"
            if is_retryable_type(message.error_type):
                text = f"{text.rstrip(' .')}; /retry asks again"
            return NoticeBlock("error", text)
        case "max_tokens":
            return NoticeBlock("warning", _cut(message))
        case "model_context_window_exceeded":
            text = (
                "the answer was cut: the context window is full; /clear begins a new conversation"
            )
            return NoticeBlock("warning", text)
        case "refusal":
            return NoticeBlock("warning", _declined(message))
        case "stop_sequence":
            sequence = clean(message.stop_sequence or "")
            text = "the answer ended at a stop sequence" + (f": {sequence}" if sequence else "")
            return NoticeBlock("info", text)
        case "pause_turn":
            # A program that waits for calls shows that itself.
            return None if message.tool_calls else NoticeBlock("info", "paused by the API; goes on")
        case "compaction":
            if _has(message, "compaction"):
                return None
            return NoticeBlock("info", "the API compacted the conversation; goes on")
        case reason if reason in _USUAL:
            return None
        case "":
            return NoticeBlock(
                "warning", 'the answer ended without a reason; say "go on" to resume'
            )
        case reason:
            text = (
                f"the answer ended for a reason this version does not know: {clean(reason)}; "
                'say "go on" to resume'
            )
            return NoticeBlock("warning", text)


def _has(message: AssistantMessage, kind: str) -> bool:
    return any(isinstance(b, OpaqueContent) and b.raw.get("type") == kind for b in message.content)


def _cut(message: AssistantMessage) -> str:
    output = message.usage.output if message.usage else None
    size = f" of {count(output)} tokens" if output else ""
    return (
        f"the answer was cut: it reached its limit{size}; "
        'say "go on" to resume, or raise the setting max_tokens'
    )


def _declined(message: AssistantMessage) -> str:
    """With what the API says of it: (category), explanation, recommended model (fault A36)."""
    details = message.stop_details or {}
    category, explanation, other = (
        clean(str(details.get(key) or ""))
        for key in ("category", "explanation", "recommended_model")
    )
    text = "the model declined to answer" + (f" ({category})" if category else "")
    text += f": {explanation.rstrip('.')}" if explanation else ""
    advice = f"/model {other} may answer" if other else "ask in another way, or choose a /model"
    return f"{text}; {advice}"
