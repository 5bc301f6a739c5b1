"""Arbitrary histories for hypothesis: what aborts, crashes, cuts and edits can leave, and worse.

Every piece of content carries a token of its own (u3, t7, r2, s5), so that a test can count
where it went.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from agent_tui.agent.messages import (
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    text_content,
)

CALL_IDS = ["a", "b", "c", "a b", "", "toolu_1"]
STOPS = [
    "end_turn", "tool_use", "pause_turn", "compaction", "max_tokens", "refusal", "aborted",
    "error", "brand_new",
]  # fmt: skip
DIRT = ["", "", "", "\x00", "\ud83d", "é"]
PICTURE = ImageContent(data="AAAA", media_type="image/png")


@dataclass
class History:
    """messages, and the tokens of what must survive, in order, by kind.

    server_ids: of the server's calls so far; the API makes each of them once.
    """

    messages: list[AgentMessage] = field(default_factory=list[AgentMessage])
    user_tokens: list[str] = field(default_factory=list[str])
    text_tokens: list[str] = field(default_factory=list[str])
    thinking_tokens: list[str] = field(default_factory=list[str])
    result_tokens: list[str] = field(default_factory=list[str])
    server_ids: list[str] = field(default_factory=lambda: ["srv_before_all"])


@st.composite
def histories(draw: st.DrawFn, *, programs: bool = True, max_size: int = 12) -> History:
    history = History()
    counter = iter(range(10_000))

    def token(kind: str, to: list[str]) -> str:
        to.append(f"[{kind}{next(counter)}]")
        return to[-1] + draw(st.sampled_from(DIRT))

    for number in range(draw(st.integers(0, max_size))):
        maker = draw(st.sampled_from([_assistant, _assistant, _result, _result, _user, _other]))
        message = maker(draw, history, token, programs)
        if not isinstance(message, UnknownMessage):
            message.timestamp = float(number)
        message.id = f"m{number}"
        history.messages.append(message)
    return history


def _user(draw: Any, history: History, token: Any, programs: bool) -> AgentMessage:
    blank = draw(st.sampled_from([False, False, False, True]))
    text = draw(st.sampled_from(["", " \n"])) if blank else token("u", history.user_tokens)
    pictures = [PICTURE] if draw(st.integers(0, 5)) == 0 else []
    content = [TextContent(text=text), *pictures]
    return draw(st.sampled_from([UserMessage, CustomMessage]))(content=content)


def _other(draw: Any, history: History, token: Any, programs: bool) -> AgentMessage:
    match draw(st.sampled_from(["bash", "excluded", "branch", "compaction", "unknown"])):
        case "bash":
            return BashExecutionMessage(command=token("u", history.user_tokens), output="\x00x")
        case "excluded":
            return BashExecutionMessage(command="secret", exclude=True)
        case "branch":
            return BranchSummaryMessage(summary=token("u", history.user_tokens))
        case "compaction":
            return CompactionSummaryMessage(summary=token("u", history.user_tokens))
        case _:
            return UnknownMessage(role="hologram", content="x")


def _result(draw: Any, history: History, token: Any, programs: bool) -> AgentMessage:
    blank = draw(st.integers(0, 4)) == 0
    content: list[Any] = text_content(" " if blank else token("r", history.result_tokens))
    if draw(st.integers(0, 4)) == 0:
        content.append(PICTURE)
    return ToolResultMessage(
        tool_call_id=draw(st.sampled_from(CALL_IDS)),
        tool_name="echo",
        content=content,
        is_error=draw(st.booleans()),
    )


def _assistant(draw: Any, history: History, token: Any, programs: bool) -> AgentMessage:
    kinds = ["text", "text", "blank", "thinking", "unsigned", "redacted", "call", "call", "opaque"]
    if programs:
        kinds += ["program_call", "server_call", "server_result"]
    content: list[Any] = []
    for _ in range(draw(st.integers(0, 5))):
        content.append(_block(draw, draw(st.sampled_from(kinds)), history, token))
    return AssistantMessage(content=content, stop_reason=draw(st.sampled_from(STOPS)))


def _block(draw: Any, kind: str, history: History, token: Any) -> Any:
    complete = draw(st.integers(0, 4)) > 0
    match kind:
        case "text":
            return TextContent(text=token("t", history.text_tokens))
        case "blank":
            return TextContent(text=draw(st.sampled_from(["", "\n "])))
        case "thinking":
            return ThinkingContent(
                thinking=token("s", history.thinking_tokens).rstrip("\x00\ud83d"), signature="sig"
            )
        case "unsigned":
            return ThinkingContent(
                thinking="unfinished", signature=draw(st.sampled_from([None, ""]))
            )
        case "redacted":
            return ThinkingContent(redacted="EmABC==")
        case "call" | "program_call":
            caller = None
            if kind == "program_call":
                server_id = draw(st.sampled_from(history.server_ids[-3:]))
                caller = {"type": "code_execution_20260120", "tool_id": server_id}
            return ToolCall(
                id=draw(st.sampled_from(CALL_IDS)),
                name=draw(st.sampled_from(["echo", "no such tool", ""])),
                arguments={"v": draw(st.sampled_from(["x", "\x00", "\udcb2"]))},
                caller=caller,
                complete=complete,
            )
        case "server_call":
            history.server_ids.append(f"srv{len(history.server_ids)}")
            raw = {
                "type": "server_tool_use",
                "id": history.server_ids[-1],
                "name": draw(st.sampled_from(["code_execution", "web_search"])),
                "input": {"code": "x"},
            }
            return OpaqueContent(raw=raw, complete=complete)
        case "server_result":
            raw = {
                "type": "code_execution_tool_result",
                "tool_use_id": draw(st.sampled_from(history.server_ids[-3:])),
                "content": {"stdout": "ok"},
            }
            return OpaqueContent(raw=raw, complete=complete)
        case _:
            return OpaqueContent(raw={"type": "hologram", "light": "\x00"}, complete=complete)
