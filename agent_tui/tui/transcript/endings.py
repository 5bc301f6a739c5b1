"""How an answer ended, where that is not the usual way: one line below it."""

from agent_tui.agent.messages import AssistantMessage
from agent_tui.text import clean
from agent_tui.tui.transcript.notices import NoticeBlock

_STOPS = {
    "max_tokens": "the answer was cut: it reached the limit of output tokens",
    "model_context_window_exceeded": "the answer was cut: the context window is full",
    "refusal": "the model declined to answer",
}
_USUAL = frozenset({"end_turn", "tool_use", "stop_sequence", "pause_turn", "compaction"})


def ending(message: AssistantMessage) -> NoticeBlock | None:
    """The mark of an answer's end; None where it ended in the usual way."""
    reason = message.stop_reason
    if reason == "aborted":
        return NoticeBlock("info", "interrupted", glyph="stopped")
    if reason == "error":
        text = message.error_message or message.error_type or "the answer broke off"
        return NoticeBlock("error", text)
    if reason in _STOPS:
        return NoticeBlock("warning", _STOPS[reason] + _details(message))
    if reason not in _USUAL:
        text = f"the answer ended for a reason this version does not know: {clean(reason)}"
        return NoticeBlock("warning", text)
    return None


def _details(message: AssistantMessage) -> str:
    """What the API says of a refusal: " (category): explanation" (fault A36)."""
    details = message.stop_details or {}
    category, explanation = (clean(str(details.get(k) or "")) for k in ("category", "explanation"))
    return (f" ({category})" if category else "") + (f": {explanation}" if explanation else "")
