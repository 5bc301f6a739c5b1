"""Exit codes (DESIGN, Outside faces) and how the end of a run maps to them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the front door takes a number from here before the first paint
    from agent_tui.agent.messages import AssistantMessage

DONE = 0
ERROR = 1
USAGE = 2
LIMIT = 3
TEMPORARY = 75
SIGNALLED = 128

_USAGE_ERRORS = ("credentials", "setup")
"""Kinds of ApiError that say: nothing could be sent as it is set up."""
_LIMIT_REASONS = ("refusal", "max_tokens", "model_context_window_exceeded")


def exit_code(last: "AssistantMessage | None", limit_reached: str | None) -> int:
    """The code for a run that ended with this assistant message."""
    from agent_tui.messages_api.errors import is_retryable_type

    if limit_reached:
        return LIMIT
    if last is None:
        return ERROR
    if last.stop_reason in _LIMIT_REASONS:
        return LIMIT
    if last.stop_reason == "error":
        if last.error_type in _USAGE_ERRORS:
            return USAGE
        return TEMPORARY if is_retryable_type(last.error_type) else ERROR
    if last.stop_reason in ("end_turn", "stop_sequence", "tool_use"):
        return DONE
    return ERROR
