"""build_request: what the model sees → the body of POST /v1/messages.

Pure and deterministic: the same history gives the same bytes, and a longer history the same
bytes with more behind them, so that the prompt cache holds (A29). The history it is handed
is repaired (agent/repair.py: ids, pairs of calls and results, programs); here are the rules
of a valid request (facts) that are matters of the wire: roles merged, results first, images,
characters, marks.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from agent_tui.agent.loop import LLMContext, StreamOptions, ThinkingLevel
from agent_tui.agent.memo import Memo
from agent_tui.agent.messages import (
    AssistantMessage,
    ImageContent,
    Message,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
)
from agent_tui.agent.tools import AgentTool
from agent_tui.messages_api.errors import ApiError
from agent_tui.messages_api.models import EFFORTS, ModelInfo, model_info
from agent_tui.messages_api.server_tools import TOOLSET_TYPE, connector_servers
from agent_tui.messages_api.tool_schemas import object_schema, usable_tools
from agent_tui.messages_api.wire_blocks import (
    Block,
    ImageBudget,
    assistant_blocks,
    result_block,
    text_block,
    upload_blocks,
    user_blocks,
)
from agent_tui.messages_api.wire_text import clean_tree
from agent_tui.text import wire_text

log = logging.getLogger(__name__)

BUDGETS: Final[dict[ThinkingLevel, int]] = {
    "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 32_000,
}  # fmt: skip
MIN_BUDGET: Final = 1024

CacheSetting = Literal["5m", "1h", "off"]
"""How long the service keeps what a mark covers; off: no marks."""

ABORTED: Final = "[The answer before this was interrupted by the user before it was complete.]"
FAILED: Final = "[The answer before this was cut off by an error before it was complete.]"


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
    info = info or model_info(model)
    history = without_thinking(context.messages) if strip_thinking else context.messages
    programs = any(
        str(tool.wire.get("type")).startswith("code_execution_") for tool in context.tools
    )
    messages = _Conversation(history, programs=programs).build()
    if not messages:
        raise ApiError("There is nothing to send.", kind="invalid_request",
                       advice="Write a message first.")  # fmt: skip
    max_tokens = options.max_tokens
    if info.max_output is not None:
        max_tokens = min(max_tokens, info.max_output)
    offered, left_out = usable_tools(context.tools)
    for name, why in left_out.items():
        log.warning("the tool %r is left out of the request: %s", name, why)
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


class _Conversation:
    """Builds the `messages` list: one user message for all that stands between two replies."""

    def __init__(self, history: Sequence[Message], *, programs: bool) -> None:
        self._history = history
        self._programs = programs
        self._images = ImageBudget(list(_images(history)))
        self._wire: list[dict[str, Any]] = []
        self._results: list[Block] = []
        self._texts: list[Block] = []
        self._note: str | None = None
        self._program_calls: set[str] = set()

    def build(self) -> list[dict[str, Any]]:
        for message in self._history:
            match message:
                case AssistantMessage():
                    self._reply(message)
                case ToolResultMessage():
                    self._result(message)
                case UserMessage():
                    self._texts += upload_blocks(message.uploads, taken=self._programs)
                    self._texts += user_blocks(message.content, self._images)
        self._close_group()
        if self._wire and self._wire[-1]["role"] == "assistant":
            _strip_end(self._wire[-1]["content"])
        return self._wire

    def _reply(self, message: AssistantMessage) -> None:
        blocks, program_calls = _reply_parts(message)
        if not blocks:
            return
        self._close_group()
        self._program_calls.update(program_calls)
        if self._wire and self._wire[-1]["role"] == "assistant":
            self._wire[-1]["content"] += blocks
        else:
            self._wire.append({"role": "assistant", "content": [*blocks]})
        if message.stop_reason in ("aborted", "error"):
            self._note = ABORTED if message.stop_reason == "aborted" else FAILED

    def _result(self, message: ToolResultMessage) -> None:
        programmatic = message.tool_call_id in self._program_calls
        if (made := _result_of_text(message)) is not None:
            self._results.append(made)
            return
        self._results.append(
            result_block(
                message.tool_call_id,
                message.content,
                is_error=message.is_error,
                text_only=message.is_error or programmatic,
                images_left=self._images,
            )
        )

    def _close_group(self) -> None:
        """End the user message between two replies: all results first, then the texts (A03)."""
        blocks = self._results + self._texts
        if blocks and self._note is not None:
            blocks.insert(len(self._results), text_block(self._note))
            self._note = None
        if blocks:
            self._wire.append({"role": "user", "content": blocks})
        self._results, self._texts = [], []


def _make_reply_parts(message: AssistantMessage) -> tuple[list[Block], list[str]]:
    """The blocks of a reply, and the ids of those of its calls that a program made."""
    return assistant_blocks(message), [c.id for c in message.tool_calls if c.programmatic]


_reply_parts = Memo(_make_reply_parts)


def _make_result_of_text(message: ToolResultMessage) -> Block | None:
    """The block of a result without images, which is the same in every request."""
    if any(isinstance(block, ImageContent) for block in message.content):
        return None
    return result_block(
        message.tool_call_id, message.content, is_error=message.is_error, text_only=True,
        images_left=ImageBudget([]),
    )  # fmt: skip


_result_of_text = Memo(_make_result_of_text)


def _images(history: Sequence[Message]) -> Iterator[ImageContent]:
    for message in history:
        if not isinstance(message, AssistantMessage):
            yield from (b for b in message.content if isinstance(b, ImageContent))


def _strip_end(content: list[Block]) -> None:
    """The last text of a list that ends with a reply may not end in white space."""
    last = content[-1]
    if last.get("type") == "text":
        content[-1] = {**last, "text": last["text"].rstrip()}


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
    if "adaptive" in modes:
        fields: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
        if effort := _effort(level, info.efforts):
            fields["output_config"] = {"effort": effort}
        return fields
    if modes and "enabled" not in modes:
        return {}
    budget = min(BUDGETS[level], max_tokens - MIN_BUDGET)
    if budget < MIN_BUDGET or not _may_start_thinking(messages):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


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
    much an answer and its results have put between.
    """
    mark = {"type": "ephemeral"} | ({"ttl": "1h"} if keep == "1h" else {})
    for key in ("tools", "system"):
        if request.get(key):
            blocks = [_without_mark(b) for b in request[key]]
            request[key] = [*blocks[:-1], _with_mark(blocks[-1], mark)]
    users = [m for m in request["messages"] if m["role"] == "user"]
    for message in users[-2:]:
        message["content"] = [*message["content"][:-1], _with_mark(message["content"][-1], mark)]


def _with_mark(block: Block, mark: Block) -> Block:
    return {**block, "cache_control": mark}


def _without_mark(block: Block) -> Block:
    return {k: v for k, v in block.items() if k != "cache_control"}
