"""Programs of the model in a conversation: which are there, and what became of their containers."""

from collections.abc import Iterator, Sequence
from typing import Any

from agent_tui.agent.messages import AgentMessage, AssistantMessage, OpaqueContent
from agent_tui.agent.tools import AgentTool
from agent_tui.messages_api.container import GONE
from agent_tui.messages_api.models import ModelInfo
from agent_tui.messages_api.server_tools import CODE_EXECUTION, for_programs


def program_ids(messages: Sequence[AgentMessage]) -> Iterator[str]:
    """The ids of the programs that were started, oldest first."""
    for message in messages:
        if isinstance(message, AssistantMessage):
            for raw in _raw(message):
                if raw.get("type") == "server_tool_use" and raw.get("name") == CODE_EXECUTION:
                    yield str(raw.get("id"))


def program_number(messages: Sequence[AgentMessage], tool_id: str) -> int | None:
    """Which program of the conversation this is, counted from 1; None: none that is known."""
    for number, program_id in enumerate(program_ids(messages), 1):
        if program_id == tool_id:
            return number
    return None


def says_gone(message: AssistantMessage) -> bool:
    """Whether a program of this answer ended because its container was gone."""
    return any(
        str(raw.get("type")).endswith("code_execution_tool_result")
        and isinstance(content := raw.get("content"), dict)
        and content.get("error_code") in GONE
        for raw in _raw(message)
    )


def may_go_on(message: AssistantMessage, tools: Sequence[AgentTool]) -> bool:
    """Whether what the programs of this answer wait for is still on offer as it was (facts: the
    same tools go with the results)."""
    offered = {tool.name for tool in tools if for_programs(tool)}
    execution = any(str(tool.wire.get("type")).startswith("code_execution_") for tool in tools)
    return execution and all(
        call.name in offered for call in message.tool_calls if call.programmatic
    )


def why_no_programs(model: ModelInfo) -> str | None:
    """Why no tool can be for programs of this model; None: the endpoint does not say that it
    runs none."""
    capabilities = model.raw.get("capabilities")
    execution = capabilities.get("code_execution") if isinstance(capabilities, dict) else None
    if isinstance(execution, dict) and execution.get("supported") is False:
        return f"{model.id} runs no programs"
    return None


def _raw(message: AssistantMessage) -> Iterator[dict[str, Any]]:
    return (block.raw for block in message.content if isinstance(block, OpaqueContent))
