"""The loop: messages, events, tools, queue, Agent.
Knows no SDK, no Textual, no disk: asyncio and pydantic only.
"""

from agent_tui.agent.agent import Agent, AgentBusyError, AgentState, Phase
from agent_tui.agent.control import RunControl
from agent_tui.agent.events import AgentEvent, StreamEvent, to_json
from agent_tui.agent.llm_messages import convert_to_llm, repair
from agent_tui.agent.loop import (
    AgentContext,
    AgentLoopConfig,
    LLMContext,
    StreamFunction,
    StreamOptions,
    continue_agent_loop,
    run_agent_loop,
)
from agent_tui.agent.message_queue import MessageQueue, QueueError, QueueItem
from agent_tui.agent.messages import AgentMessage, AssistantMessage, Message, UserMessage
from agent_tui.agent.partial import PartialMessage
from agent_tui.agent.tools import AgentTool, ToolContext, ToolResult

__all__ = [
    "Agent",
    "AgentBusyError",
    "AgentContext",
    "AgentEvent",
    "AgentLoopConfig",
    "AgentMessage",
    "AgentState",
    "AgentTool",
    "AssistantMessage",
    "LLMContext",
    "Message",
    "MessageQueue",
    "PartialMessage",
    "Phase",
    "QueueError",
    "QueueItem",
    "RunControl",
    "StreamEvent",
    "StreamFunction",
    "StreamOptions",
    "ToolContext",
    "ToolResult",
    "UserMessage",
    "continue_agent_loop",
    "convert_to_llm",
    "repair",
    "run_agent_loop",
    "to_json",
]
