"""build_conversation: settings and an endpoint in, a working Conversation out."""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from agent_tui import paths
from agent_tui.agent.loop import StreamFunction
from agent_tui.conversation.conversation import Conversation
from agent_tui.conversation.endpoint import Endpoint
from agent_tui.conversation.limits import Limits
from agent_tui.conversation.mcp.plan import McpPlan
from agent_tui.conversation.meters import RequestWatch
from agent_tui.conversation.model_choice import ModelChoice
from agent_tui.conversation.retry import RetryPolicy
from agent_tui.conversation.session_settings import SessionSettings
from agent_tui.messages_api.stream_function import make_stream_function, warm_up
from agent_tui.sessions.store import Session
from agent_tui.settings import Loaded, Settings
from agent_tui.tools.builtin import builtin_tools, reap_leftovers

log = logging.getLogger(__name__)


async def build_conversation(
    loaded: Loaded,
    endpoint: Endpoint,
    cwd: str,
    *,
    session: Session | None = None,
    interactive: bool = True,
    allow: Collection[str] = (),
    retry_policy: RetryPolicy | None = None,
    waits: bool = False,
) -> Conversation:
    """Wires the parts. The SDK is imported in a thread meanwhile; nothing here blocks long.

    session: the one to go on in; None: one in memory, never written. waits: the first request
    waits for MCP servers that still connect (setting mcp_wait_s).
    """
    of_session = SessionSettings(loaded, endpoint)
    settings = loaded.settings if session is None else of_session.of(session)
    warming = asyncio.create_task(warm_up(endpoint.api), name="import the SDK")
    warming.add_done_callback(_log_failure)
    explicit = loaded.explicit("model")
    reaping = asyncio.create_task(asyncio.to_thread(reap_leftovers), name="end what was left over")
    reaping.add_done_callback(_log_failure)
    models = ModelChoice(endpoint, settings.model, explicit=explicit)
    await models.settle()
    tools = await asyncio.to_thread(
        builtin_tools,
        cwd,
        output_dir=str(paths.outputs_dir()),
        shell_timeout_s=settings.shell_timeout_s,
    )
    watch = RequestWatch(settings.cache)
    models.learn()

    def side_stream() -> StreamFunction:
        return make_stream_function(endpoint.api, models=models.info, cache="off")

    conversation = Conversation(
        settings=settings,
        endpoint=endpoint,
        stream_function=make_stream_function(
            endpoint.api,
            models=models.info,
            eager_input_streaming=_eager(settings, endpoint),
            cache=settings.cache,
            betas=settings.betas,
            on_request=watch,
        ),
        tools=tools,
        cwd=cwd,
        models=models,
        session=session or Session.in_memory(cwd),
        interactive=interactive,
        allow={*allow, *settings.allow},
        readable=[str(paths.outputs_dir())],
        limits=Limits(settings.max_turns, settings.max_cost, settings.max_seconds),
        retry_policy=retry_policy,
        of_session=of_session,
        watch=watch,
        servers=McpPlan(
            user_toml=loaded.user_file,
            project_toml=loaded.project_file,
            output_dir=str(paths.outputs_dir()),
            wait_s=settings.mcp_wait_s if waits else None,
            defer_share=settings.mcp_defer_share,
            can_defer=endpoint.demo
            or (endpoint.is_service and endpoint.api.provider == "anthropic"),
            interactive=interactive,
            side_stream=side_stream,
        ),
    )
    conversation.held_settings.loaded = replace(loaded, settings=settings)
    conversation.mcp.begin()
    return conversation


def _eager(settings: Settings, endpoint: Endpoint) -> bool:
    """Other servers may refuse a tool with a field that they do not know."""
    wanted = settings.eager_input_streaming
    return endpoint.is_service or endpoint.demo if wanted is None else wanted


def _log_failure(task: "asyncio.Task[Any]") -> None:
    # A first request meets the same failure and shows it; here it only must not be lost.
    if not task.cancelled() and task.exception() is not None:
        log.info("%s failed: %s", task.get_name(), task.exception())
