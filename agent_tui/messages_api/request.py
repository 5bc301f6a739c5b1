"""build_request: what the model sees → the body of POST /v1/messages.

Pure and deterministic: the same history gives the same bytes, and a longer history the same
bytes with more behind them, so that the prompt cache holds (A29). The history it is handed
is repaired (agent/repair.py: ids, pairs of calls and results, programs); here are the rules
of a valid request (facts) that are matters of the wire: roles merged, results first, images,
characters, marks.
"""

import itertools
import logging
import threading
from collections.abc import Sequence
from typing import Any, Final, Literal

from agent_tui.agent.loop import LLMContext, StreamOptions, ThinkingLevel
from agent_tui.agent.messages import (
    AssistantMessage,
    Message,
    ThinkingContent,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.models import EFFORTS, ModelInfo, model_info
from agent_tui.messages_api.server_tools import TOOLSET_TYPE, connector_servers, is_deferred
from agent_tui.messages_api.tool_references import without_lost_tools
from agent_tui.messages_api.tool_schemas import object_schema, usable_tools
from agent_tui.messages_api.wire_blocks import Block, text_block
from agent_tui.messages_api.wire_history import WireHistory
from agent_tui.messages_api.wire_text import clean_tree
from agent_tui.text import wire_text

log = logging.getLogger(__name__)

BUDGETS: Final[dict[ThinkingLevel, int]] = {
    "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_000,
}  # fmt: skip
MIN_BUDGET: Final = 1024

CacheSetting = Literal["5m", "1h", "off"]
"""How long the service keeps what a mark covers; off: no marks."""


def build_request(
    model: str,
    context: LLMContext,
    options: StreamOptions,
    info: ModelInfo | None = None,
    *,
    strip_thinking: bool = False,
    eager_input_streaming: bool = False,
    cache: CacheSetting = "5m",
) -> dict[str, Any]:
    """The request body, without "stream". JSON values only.

    info: what is known of the model (None: models.model_info). strip_thinking: leave out all
    thinking (the one retry after ApiError kind "thinking_signature", A12).
    eager_input_streaming: mark the client's tools for live arguments. cache: the marks.

    Raises ApiError when there is nothing to send.
    """
    return RequestBuilder().build(
        model,
        context,
        options,
        info,
        strip_thinking=strip_thinking,
        eager_input_streaming=eager_input_streaming,
        cache=cache,
    )


class RequestBuilder:
    """Builds the requests of one conversation: what a request has in common with the one before
    is taken from it. Safe in any thread; the result must not be changed."""

    def __init__(self) -> None:
        self._history = WireHistory(programs=False)
        self._lock = threading.Lock()

    def build(
        self,
        model: str,
        context: LLMContext,
        options: StreamOptions,
        info: ModelInfo | None = None,
        *,
        strip_thinking: bool = False,
        eager_input_streaming: bool = False,
        cache: CacheSetting = "5m",
    ) -> dict[str, Any]:
        """As build_request."""
        info = info or model_info(model)
        offered, left_out = usable_tools(context.tools)
        messages = self._messages(context, offered, strip_thinking=strip_thinking)
        if not messages:
            raise ApiError("There is nothing to send.", kind="invalid_request",
                           advice="Write a message first.")  # fmt: skip
        max_tokens = options.max_tokens
        if info.max_output is not None:
            max_tokens = min(max_tokens, info.max_output)
        for name, why in left_out.items():
            log.warning("the tool %r is left out of the request: %s", name, why)
        # Deferred tools stand first: the mark of the cache is on the last, and never on such.
        offered.sort(key=lambda tool: not is_deferred(tool))
        tools = [_tool(t, eager=eager_input_streaming) for t in offered]
        system = wire_text(context.system_prompt)

        request: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
        if system.strip():
            request["system"] = [text_block(system)]
        if tools:
            request["tools"] = tools
        if servers := connector_servers(offered):
            request["mcp_servers"] = servers
        request["messages"] = messages
        request |= _thinking(options.thinking_level, info, max_tokens, messages)
        if options.container_id:
            request["container"] = options.container_id
        if cache != "off":
            _mark(request, cache)
        return request

    def _messages(
        self, context: LLMContext, offered: Sequence[AgentTool], *, strip_thinking: bool
    ) -> list[Block]:
        programs = any(
            str(tool.wire.get("type")).startswith("code_execution_") for tool in context.tools
        )
        history = without_thinking(context.messages) if strip_thinking else context.messages
        with self._lock:
            self._history = self._history.follow(history, programs=programs)
            messages, searches = self._history.messages(), self._history.searches
            if not offered or not searches:
                return messages
            return without_lost_tools(messages, {tool.name for tool in offered}, searches)


def without_thinking(messages: Sequence[Message]) -> list[Message]:
    """Copies of the messages without any thinking block; the originals are not changed (A12)."""
    kept: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and any(
            isinstance(b, ThinkingContent) for b in message.content
        ):
            content = [b for b in message.content if not isinstance(b, ThinkingContent)]
            message = message.model_copy(update={"content": content})
        kept.append(message)
    return kept


def _tool(tool: AgentTool, *, eager: bool) -> Block:
    """A tool's definition. A `type` in its wire fields makes it one of the API's own tools."""
    kind = tool.wire.get("type")
    if kind not in (None, "custom"):
        named = {} if kind == TOOLSET_TYPE else {"name": tool.name}
        return (
            {"type": kind}
            | named
            | {k: v for k, v in tool.wire.items() if k not in ("type", "name")}
        )
    definition: Block = {"name": tool.name, "description": wire_text(tool.description)}
    definition["input_schema"] = clean_tree(object_schema(tool.parameters))
    definition |= clean_tree(tool.wire)
    if eager:
        definition["eager_input_streaming"] = True
    return definition


def _thinking(
    level: ThinkingLevel, info: ModelInfo, max_tokens: int, messages: list[dict[str, Any]]
) -> dict[str, Any]:
    """The `thinking` and `output_config` fields for a level, as the model accepts them."""
    modes = info.thinking
    if level == "off":
        if "disabled" in modes and "adaptive" not in modes:
            return {}  # off is the default of these models
        if "disabled" in modes:
            return {"thinking": {"type": "disabled"}}
        if "between_tools" in modes:
            return {"thinking": {"type": "between_tools"}}
        return {"output_config": {"effort": info.efforts[0]}} if info.efforts else {}
    effort = _effort(level, info.efforts)
    fields: dict[str, Any] = {"output_config": {"effort": effort}} if effort else {}
    if "adaptive" in modes:
        return {"thinking": {"type": "adaptive", "display": "summarized"}} | fields
    if modes and "enabled" not in modes:
        return fields
    budget = thinking_budget(level, max_tokens)
    if budget is None or not _may_start_thinking(messages):
        return fields
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} | fields


def thinking_budget(level: ThinkingLevel, max_tokens: int) -> int | None:
    """The budget of a level beside an answer of at least MIN_BUDGET tokens; None where max_tokens
    leaves less than the API takes (A43)."""
    budget = min(BUDGETS[level], max_tokens - MIN_BUDGET)
    return budget if budget >= MIN_BUDGET else None


def may_think(level: ThinkingLevel, info: ModelInfo, max_tokens: int) -> bool:
    """False where the level asks for thinking, and the model's way of it does not fit."""
    by_budget = "enabled" in info.thinking and "adaptive" not in info.thinking
    return level == "off" or not by_budget or thinking_budget(level, max_tokens) is not None


def _effort(level: ThinkingLevel, efforts: tuple[str, ...]) -> str | None:
    """The level, or the nearest lower one that the model accepts."""
    wanted = EFFORTS.index(level)
    usable = [e for e in EFFORTS[: wanted + 1] if e in efforts]
    return usable[-1] if usable else (efforts[0] if efforts else None)


def _may_start_thinking(messages: list[dict[str, Any]]) -> bool:
    """With a budget, a turn whose calls are being answered must have begun with thinking."""
    for message in reversed(messages):
        content = message["content"]
        if message["role"] == "assistant":
            return content[0]["type"] in ("thinking", "redacted_thinking")
        if content[0]["type"] != "tool_result":
            return True
    return True


def _mark(request: dict[str, Any], keep: CacheSetting) -> None:
    """Set the cache_control marks: last tool, system, and the last two user messages (A28).

    A mark covers all before it, so those that tools brought themselves are not needed. From a
    mark the service looks back over 20 blocks at most for what it has kept; the end of the last
    user message but one is where the request before had its last mark, so it is found however
    much an answer and its results have put between. What answers a program the model does not
    read, so no mark there would hold.
    """
    mark = {"type": "ephemeral"} | ({"ttl": "1h"} if keep == "1h" else {})
    for key in ("tools", "system"):
        if request.get(key):
            blocks = [_without_mark(b) for b in request[key]]
            request[key] = [*blocks[:-1], _with_mark(blocks[-1], mark)]
    messages: list[Block] = request["messages"]
    read = (at for at in reversed(range(len(messages))) if _is_read(messages, at))
    for at in itertools.islice(read, 2):
        *before, last = messages[at]["content"]
        messages[at] = {**messages[at], "content": [*before, _with_mark(last, mark)]}


def _is_read(messages: list[Block], at: int) -> bool:
    """Whether the model reads this message of the user's, which may be for a program alone."""
    message = messages[at]
    if message["role"] != "user":
        return False
    first = message["content"][0]
    if first["type"] != "tool_result" or at == 0:
        return True
    blocks: list[Block] = messages[at - 1]["content"]
    callers: list[Block] = [
        b.get("caller") or {} for b in blocks if b.get("id") == first["tool_use_id"]
    ]
    return all(caller.get("type", "direct") == "direct" for caller in callers)


def _with_mark(block: Block, mark: Block) -> Block:
    return {**block, "cache_control": mark}


def _without_mark(block: Block) -> Block:
    return {k: v for k, v in block.items() if k != "cache_control"}
