"""What the next request would hold, before it is sent: built like it, counted by the service."""

from dataclasses import replace
from typing import Any

from agent_tui.agent.agent import Agent
from agent_tui.agent.llm_messages import convert_to_llm
from agent_tui.agent.loop import LLMContext, StreamOptions
from agent_tui.agent.messages import AgentMessage, AssistantMessage, Message, UserMessage
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.meters import Meters
from agent_tui.conversation.model_call import ModelCall
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.messages_api.count_tokens import count_tokens
from agent_tui.messages_api.request import build_request
from agent_tui.settings import Settings

PROMPT_TO_COME = "."
"""Stands for what the user has not yet said: a request ends with a user message."""


class ContextMeasure:
    """Call it while no run is on; the meters tell the result (ContextChangedEvent)."""

    def __init__(
        self,
        agent: Agent,
        model_call: ModelCall,
        meters: Meters,
        models: ModelChoice,
        endpoint: Endpoint,
        settings: Settings,
    ) -> None:
        self._agent = agent
        self._model_call = model_call
        self._meters = meters
        self._models = models
        self._endpoint = endpoint
        self._settings = settings

    async def __call__(self) -> None:
        agent, settings = self._agent, self._settings
        model, info = agent.state.model, self._models.info(agent.state.model)
        messages = agent.context_messages()
        context = LLMContext(agent.system_prompt, [], list(agent.config.tools))
        options = StreamOptions(settings.max_tokens, agent.state.thinking_level)

        def build() -> dict[str, Any]:
            whole = replace(context, messages=_with_a_prompt(messages))
            sent = self._model_call.preview(whole)
            return build_request(model, sent, options, info)

        async def count(request: dict[str, Any]) -> int | None:
            return await count_tokens(self._endpoint.api, request, tuple(settings.betas))

        await self._meters.measure(build, count)


def _with_a_prompt(messages: list[AgentMessage]) -> list[Message]:
    converted = convert_to_llm(messages, cut_unstarted=True)
    if not converted or isinstance(converted[-1], AssistantMessage):
        converted.append(UserMessage(content=PROMPT_TO_COME))  # type: ignore[arg-type]
    return converted
