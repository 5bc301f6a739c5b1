"""mend: the one change that may make a refused request pass (faults A12, A25)."""

from dataclasses import replace

from agent_tui.agent.llm_messages import repair
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.request import without_thinking


def mend(
    error: ApiError, context: LLMContext, options: StreamOptions
) -> tuple[LLMContext, StreamOptions] | None:
    """What to send instead, once, after this error; None when nothing can be mended.

    kind "thinking_signature": the same without thinking, for a signature that one turn carries
    is refused in every later turn as well. kind "container": without the container's id, and a
    program that waited in it counts as interrupted. The caller tells the user (the error's
    sentence says it), tries once only, and keeps what it learned: the thinking stays out, the
    id is dropped.
    """
    match error.kind:
        case "thinking_signature":
            messages = without_thinking(context.messages)
            if all(a is b for a, b in zip(messages, context.messages, strict=True)):
                return None
            return replace(context, messages=messages), options
        case "container" if options.container_id is not None:
            messages = repair(context.messages, program_lost=True)
            return replace(context, messages=messages), replace(options, container_id=None)
        case _:
            return None
