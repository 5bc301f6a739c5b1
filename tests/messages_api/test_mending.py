"""What may be changed, once, in a request that was refused (A12, A25)."""

from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import (
    AssistantMessage,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.mending import mend

THOUGHT = AssistantMessage(
    content=[ThinkingContent(thinking="t", signature="s"), TextContent(text="a")]
)
OPTIONS = StreamOptions(container_id="container_1")


def context(*messages: UserMessage | AssistantMessage | ToolResultMessage) -> LLMContext:
    return LLMContext("s", list(messages), [])


def test_a12_thinking_is_left_out_of_the_copy_only() -> None:
    before = context(UserMessage(content="q"), THOUGHT, UserMessage(content="r"))
    mended = mend(ApiError("x", kind="thinking_signature"), before, OPTIONS)
    assert mended is not None
    after, options = mended
    assert options == OPTIONS
    assert [len(m.content) for m in after.messages] == [1, 1, 1]
    assert len(THOUGHT.content) == 2 and before.messages[1] is THOUGHT


def test_a12_without_thinking_there_is_nothing_to_mend() -> None:
    error = ApiError("x", kind="thinking_signature")
    assert mend(error, context(UserMessage(content="q")), OPTIONS) is None


def test_a25_the_id_goes_and_a_waiting_program_counts_as_interrupted() -> None:
    program = OpaqueContent(
        raw={"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}
    )
    call = ToolCall(
        id="A", name="read", caller={"type": "code_execution_20260120", "tool_id": "s1"}
    )
    waits = AssistantMessage(content=[TextContent(text="I run it."), program, call],
                             stop_reason="tool_use")  # fmt: skip
    result = ToolResultMessage(tool_call_id="A", content=[TextContent(text="contents of a")])
    error = ApiError("x", kind="container")
    mended = mend(error, context(UserMessage(content="q"), waits, result), OPTIONS)
    assert mended is not None
    after, options = mended
    assert options.container_id is None
    assert not any(m.tool_calls for m in after.messages if isinstance(m, AssistantMessage))
    last = after.messages[-1]
    assert isinstance(last, UserMessage) and "contents of a" in last.text
    assert mend(error, after, options) is None


def test_other_faults_are_not_mended() -> None:
    for kind in ("invalid_request", "rate_limit", "context_window"):
        assert mend(ApiError("x", kind=kind), context(THOUGHT), OPTIONS) is None
